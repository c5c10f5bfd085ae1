"""Which listed features code can really use.

Vector registers wider than 128 bits work only when the operating system saves them (Intel SDM
volume 1, 13.2 to 13.5 and 14.3: CPUID, then OSXSAVE, then XCR0). Linux drops `avx` from its list
when it does not, but hypervisors have been seen to hide `avx` or `xsave` alone and leave `avx2` and
`fma` standing.
"""

from tfbuild.host.model import Facts

_NEEDS_AVX = frozenset({"f16c", "fma", "fma4", "vaes", "vpclmulqdq", "xop"})
_AVX512_NEEDS = ("avx2", "avx512f")


def usable(facts: Facts) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the usable features, and a sentence for each group that is listed in vain."""
    features = facts.features | _implied(facts.features)
    if facts.architecture != "x86_64":
        return features, ()
    warnings: list[str] = []
    for lacks, family, reason in (
        (_lacking(features, "avx", "xsave"), _avx(features), "no AVX-family code can run"),
        (_lacking(features, *_AVX512_NEEDS), _avx512(features), "no AVX-512 code can run"),
    ):
        if not (lacks and family):
            continue
        features -= family
        warnings.append(
            f"{_listed(family)} {'is' if len(family) == 1 else 'are'} reported without "
            f"{_listed(lacks)}: the operating system or a hypervisor has not enabled "
            f"{'it' if len(family) == 1 else 'them'}, so {reason} here."
        )
    if "hypervisor" in features and "avx" not in features:
        warnings.append(
            "This is a virtual machine without AVX; if the real CPU has AVX, its hypervisor hides "
            "it (QEMU and libvirt show it with the CPU mode host-passthrough)."
        )
    return features, tuple(warnings)


def _implied(features: frozenset[str]) -> frozenset[str]:
    """Return the two names that compilers use and Linux does not."""
    more = set()
    if features & {"pni", "ssse3"}:
        more.add("sse3")
    if "abm" in features:
        more.add("lzcnt")
    return frozenset(more)


def _lacking(features: frozenset[str], *needed: str) -> frozenset[str]:
    return frozenset(needed) - features


def _avx(features: frozenset[str]) -> frozenset[str]:
    return frozenset(
        name for name in features if name.startswith(("avx", "amx")) or name in _NEEDS_AVX
    )


def _avx512(features: frozenset[str]) -> frozenset[str]:
    return frozenset(name for name in features if name.startswith("avx512"))


def _listed(names: frozenset[str]) -> str:
    first, *rest = sorted(names)
    return f"{', '.join([first, *rest[:-1]])} and {rest[-1]}" if rest else first
