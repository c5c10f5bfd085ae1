"""Rule sets that Bazel's own BUILD files load."""

def distribution_rules():
    """Takes rule sets from this tree where Bazel comes from Debian or Ubuntu.

    Such a Bazel has no version, and it would fetch these from the network. A Bazel release
    knows which rules belong to it.
    """
    if getattr(native, "bazel_version", ""):
        return
    for name in ["rules_cc", "rules_java", "rules_proto"]:
        native.local_repository(name = name, path = "third_party/" + name)
