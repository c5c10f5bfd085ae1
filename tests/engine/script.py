"""Runs a recipe's build script on the bundled workspace with this machine's own Bazel."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tfbuild import rehearse
from tfbuild.recipe import Recipe

RECORDING = """#!/bin/bash
if [[ $* == *" build "* ]]; then printf '%s\\n' "$@" >"$CALL"; fi
exec bazel "$@"
"""
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """A copy of the bundled workspace with one output base; shuts its Bazel down at the end."""

    folder: Path

    def __enter__(self) -> Self:
        program = self.folder / "bazel"
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(RECORDING)
        program.chmod(0o755)
        return self

    def __exit__(self, *_: object) -> None:
        base = f"--output_base={self.folder}/output_base"
        subprocess.run(["bazel", base, "shutdown"], cwd=self.tree, check=False)

    @property
    def tree(self) -> Path:
        return self.folder / "source"

    def build(self, recipe: Recipe, name: str, **environment: str) -> Path:
        """Run the recipe's build.sh; return the folder with the wheel and its build.json."""
        if not self.tree.exists():
            rehearse.copy_workspace(self.tree, recipe.tensorflow)
        recipe.write(self.folder / name / "context")
        places = {
            "TFBUILD_SOURCE": self.tree,
            "TFBUILD_CACHE": self.folder / "cache",
            "TFBUILD_OUTPUT_BASE": self.folder / "output_base",
            "TFBUILD_OUT": self.folder / name / "out",
            "TFBUILD_BAZELRC": self.folder / name / "context/tfbuild.bazelrc",
            "TFBUILD_BAZEL": self.folder / "bazel",
            "TFBUILD_PYTHON": sys.executable,
            "CALL": self.folder / "call",
        }
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", self.folder / name / "context/build.sh"],
            env={
                **os.environ,
                "PATH": path,
                **{key: str(value) for key, value in places.items()},
                **environment,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
        return self.folder / name / "out"

    def compilations(self) -> list[str]:
        """Return the text of each C++ compilation that the last call of Bazel implies."""
        call = [
            word
            for word in (self.folder / "call").read_text().splitlines()
            if not word.startswith("--build_event")
        ]
        at = call.index("build")
        query = f'mnemonic("CppCompile", deps({call[-1]}))'
        done = subprocess.run(
            ["bazel", *call[:at], "aquery", *call[at + 1 : -1], query],
            cwd=self.tree,
            capture_output=True,
            text=True,
            check=True,
        )
        return [text for text in done.stdout.split("\n\n") if "CppCompile" in text]
