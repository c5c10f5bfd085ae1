"""Options of `bazel build` that a user adds: which are refused, and what serves instead."""

import re

from tfbuild.errors import UsageError

# Bazel's rc file sees them: no spaces, quotes, $ or #.
_ARGUMENT = re.compile(r"--[a-z][a-z0-9_]*(?:=[A-Za-z0-9_./:,=+@%~^-]*)?")
_CODE = "The recipe decides how code is optimised: --optimize, --lto."
_PLACE = "The recipe decides compiler and platform: --target, --compiler, --platform."
_CACHE = "tfbuild places its caches."
_OUTPUT = "tfbuild reads Bazel's output and its results."
_SERVER = "How a run reaches servers is no part of a recipe, and may be a secret."
_START = "It is an option for Bazel's start, not for `bazel build`."
# Variables that Bazel's rules for the machine's compiler read (tools/cpp/unix_cc_configure.bzl).
_COMPILERS = re.compile(r"--(?:repo_env|action_env)=(?:CC|BAZEL_(?:\w*OPTS|LINKLIBS|COMPILER))=")
# Options that a recipe or a run sets itself, without a leading "no" -> what to use.
_OWNED = {
    r"copt|cxxopt|conlyopt|per_file_copt": "Compiler flags go through --copt, which checks them.",
    r"host_(c|cxx|conly)opt|host_per_file_copt": "Tools that run during the build get the flags of "
    "any CPU: they must run on the machine that compiles.",
    r"config": "Use tfbuild's own --config.",
    r"jobs": "Use tfbuild's own --jobs.",
    r"local_ram_resources|local_resources": "Use tfbuild's own --memory.",
    r"compilation_mode|strip|(cs_)?fdo_\w+|propeller_\w+": _CODE,
    r"(host_)?cpu|(host_)?platforms?|(host_)?crosstool_top|extra_\w+|(host_)?compiler": _PLACE,
    r"distinct_host_configuration": "The recipe sets it as the release needs it.",
    r"disk_cache|repository_cache|distdir|experimental_repository_\w+": _CACHE,
    r"remote_\w+|bes_\w+|build_event_\w+|google_\w+|credential_helper|tls_\w+": _SERVER,
    r"python_path|python_top": "Use tfbuild's own --python.",
    r"color|curses|show_progress\w*|announce_rc|symlink_prefix|build": _OUTPUT,
    r"output_\w*(base|root)|bazelrc|\w+_rc|host_jvm_\w+|max_idle_secs|install_base": _START,
}


def check(word: str) -> str:
    """Return the option, checked.

    Raises:
        UsageError: it is none, or a recipe or a run sets it itself.
    """
    if not _ARGUMENT.fullmatch(word):
        raise UsageError(
            f"--bazel-arg: {word!r} is not an option that tfbuild passes on.",
            why="Expected one word like --define=name=value, without spaces or quotes.",
        )
    if found := _COMPILERS.match(word):
        raise UsageError(
            f"--bazel-arg: {found[0]} is not for a recipe.",
            why="The variable changes the compiler or its flags, and nothing would check them.",
            do="Use tfbuild's own --compiler and --copt.",
        )
    name = word.removeprefix("--").partition("=")[0]
    for pattern, instead in _OWNED.items():
        if re.fullmatch(f"(no)?({pattern})", name):
            raise UsageError(f"--bazel-arg: --{name} is not for a recipe.", do=instead)
    return word
