"""Rule sets that Bazel's own BUILD files load."""

_DEBIAN = "/usr/share/bazel/rules"

def distribution_rules():
    """Takes rule sets from this machine where Bazel comes from Debian or Ubuntu.

    Such a Bazel has no version, and it would fetch these from the network. A Bazel release
    knows which rules belong to it.
    """
    if getattr(native, "bazel_version", ""):
        return
    native.local_repository(name = "rules_cc", path = "third_party/rules_cc")
    native.local_repository(name = "rules_java", path = _DEBIAN + "/java")
    native.local_repository(name = "rules_proto", path = _DEBIAN + "/proto")
