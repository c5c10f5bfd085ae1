"""Stand-in for TensorFlow's configure.py: writes the interpreter's place where Bazel reads it."""

import os
import pathlib
import sys


def main():
    python = os.environ.get("PYTHON_BIN_PATH") or sys.executable
    lines = [
        f'build --action_env PYTHON_BIN_PATH="{python}"',
        f'build --repo_env PYTHON_BIN_PATH="{python}"',
    ]
    for flag in os.environ.get("CC_OPT_FLAGS", "-Wno-sign-compare").split():
        # Both, as TensorFlow does it: a recipe that puts target flags here would break host tools.
        lines += [f"build:opt --copt={flag}", f"build:opt --host_copt={flag}"]
    pathlib.Path(".tf_configure.bazelrc").write_text("\n".join(lines) + "\n")
    print("Configuration finished")


main()
