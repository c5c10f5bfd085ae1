"""Options that change the code, with a real Bazel and real compilers."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import need
from tests.engine.script import PYTHON, Workspace
from tfbuild import recipe, target
from tfbuild.recipe import Options, Recipe, Sources

pytestmark = pytest.mark.engine
# Runs on any builder.
NEHALEM = target.find("nehalem")
KERNELS = "tensorflow/core/kernels/"
TOOL = "gen_coefficients.cc"
# One kernel with a branch that is nearly always taken, and one that is never called.
RUN = """
import importlib.machinery, importlib.util, array, sys
loader = importlib.machinery.ExtensionFileLoader("_pywrap_kernels", sys.argv[1])
spec = importlib.util.spec_from_file_location("_pywrap_kernels", sys.argv[1], loader=loader)
kernels = importlib.util.module_from_spec(spec)
loader.exec_module(kernels)
values = array.array("f", [1.0] * 1000)
print(kernels.dot(values, values))
"""


def made(compiler: str, **options: object) -> Recipe:
    need(shutil.which("bazel"), "bazel is not here")
    need(Path("/usr/bin", compiler).exists(), f"needs {compiler}")
    chosen = Options(compiler=compiler, jobs=2, **options)  # type: ignore[arg-type]
    return recipe.make("2.15.1", PYTHON, NEHALEM, Sources(bazel="system"), chosen)


def extension(out: Path, folder: Path) -> Path:
    (wheel,) = out.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    (path,) = folder.rglob("_pywrap_kernels.so")
    return path


def run(path: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", RUN, path],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def check_target_only(actions: list[str], flag: str) -> None:
    kernels = [text for text in actions if KERNELS in text]
    tools = [text for text in actions if TOOL in text]
    assert len(kernels) >= 10
    assert tools
    assert all(flag in text for text in kernels)
    assert not any(flag in text for text in tools)


def test_clang_counts_uses_the_counts_and_optimises_across_files(tmp_path: Path) -> None:
    need(shutil.which("llvm-profdata-14"), "needs llvm-14")
    with Workspace(folder=tmp_path / "w") as workspace:
        out = workspace.build(made("clang-14", instrument=True), "counting")
        check_target_only(workspace.compilations(), "-fprofile-generate=/tmp/tfbuild-profile")
        path = extension(out, tmp_path / "counting")
        counts = tmp_path / "counts"
        assert run(path, LLVM_PROFILE_FILE=f"{counts}/%m.profraw") == "1000.0"
        raw = sorted(counts.glob("*.profraw"))
        assert raw
        profile = tmp_path / "merged.profdata"
        subprocess.run(["llvm-profdata-14", "merge", "-o", profile, *raw], check=True)

        out = workspace.build(
            made(
                "clang-14", profile=profile, lto="thin", optimize="speed", configs=("monolithic",)
            ),
            "using",
        )
        actions = workspace.compilations()
        for flag in ("-fprofile-use=", "-flto=thin", "-O3"):
            check_target_only(actions, flag)
        told = json.loads((out / "build.json").read_text())
        assert {"-flto=thin", "-O3", "-fprofile-use"} <= set(told["flags"].split())
        assert "clang version 14" in told["compiler"]
        assert run(extension(out, tmp_path / "using")) == "1000.0"
        (compiled,) = workspace.tree.glob("bazel-bin/tensorflow/core/kernels/_objs/dot/dot.pic.o")
        # LLVM's bitcode, and not machine code.
        assert compiled.read_bytes()[:4] in {b"BC\xc0\xde", b"\xde\xc0\x17\x0b"}


def test_gcc_finds_the_counts_of_every_file(tmp_path: Path) -> None:
    with Workspace(folder=tmp_path / "w") as workspace:
        out = workspace.build(made("gcc-12", instrument=True), "counting")
        counts = tmp_path / "counts"
        path = extension(out, tmp_path / "counting")
        assert run(path, GCOV_PREFIX=str(counts), GCOV_PREFIX_STRIP="2") == "1000.0"
        files = sorted(counts.glob("*.gcda"))
        assert len(files) >= 10
        profile = tmp_path / "counts.zip"
        with zipfile.ZipFile(profile, "w") as archive:
            for file in files:
                archive.write(file, file.name)
        # A file whose counts are not found would fail to compile.
        strict = made("gcc-12", profile=profile, copts=("-Werror=missing-profile",))
        out = workspace.build(strict, "using")
        check_target_only(workspace.compilations(), "-fprofile-use=")
        assert run(extension(out, tmp_path / "using")) == "1000.0"
        told = json.loads((out / "build.json").read_text())
        assert "-fprofile-use" in told["flags"].split()
