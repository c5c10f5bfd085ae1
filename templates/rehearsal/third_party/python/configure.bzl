"""Finds the Python that the wheel is made for, with its headers."""

# The interpreter's path wins; then the version, by TensorFlow's newer and older name.
_VARIABLES = ["PYTHON_BIN_PATH", "HERMETIC_PYTHON_VERSION", "TF_PYTHON_VERSION", "PATH"]

_FACTS = """
import sys, sysconfig
print(sysconfig.get_paths()["include"])
print("cp%d%d" % sys.version_info[:2])
print(sysconfig.get_platform().replace("-", "_").replace(".", "_"))
"""

_BUILD = """
package(default_visibility = ["//visibility:public"])

cc_library(
    name = "headers",
    hdrs = glob(["include/**/*.h"]),
    includes = ["include"],
)
"""

_DEFS = """
PYTHON = {python}
TAG = {tag}
PLATFORM = {platform}
WHEEL_NAME = {name}
VERSION = {version}
"""

def _interpreter(ctx):
    env = ctx.os.environ
    version = env.get("HERMETIC_PYTHON_VERSION") or env.get("TF_PYTHON_VERSION")
    names = [env.get("PYTHON_BIN_PATH"), "python" + version if version else None, "python3"]
    for name in [name for name in names if name]:
        path = ctx.path(name) if name.startswith("/") else ctx.which(name)
        if path and path.exists:
            return path
    fail("No Python found: " + ", ".join([name for name in names if name]))

def _python_configure_impl(ctx):
    python = _interpreter(ctx)
    result = ctx.execute([python, "-c", _FACTS])
    if result.return_code:
        fail("%s does not run: %s" % (python, result.stderr))
    include, tag, platform = result.stdout.strip().split("\n")
    if not ctx.path(include + "/Python.h").exists:
        fail("%s has no headers: %s/Python.h is missing" % (python, include))
    ctx.symlink(include, "include")
    version = ctx.read(Label("//:VERSION")).strip()
    ctx.file("BUILD", _BUILD)
    ctx.file("defs.bzl", _DEFS.format(
        python = repr(str(python)),
        tag = repr(tag),
        platform = repr(platform),
        name = repr(ctx.os.environ.get("WHEEL_NAME", "tensorflow")),
        version = repr(version),
    ))

python_configure = repository_rule(
    implementation = _python_configure_impl,
    environ = _VARIABLES + ["WHEEL_NAME"],
    local = True,
)
