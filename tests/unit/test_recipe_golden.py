"""Whole rendered contexts, so that a change of any line is seen and meant.

After a change that is meant: TFBUILD_TEST_REFRESH=1 pytest tests/unit/test_recipe_golden.py,
then read the difference in git. tests/unit/test_recipe.py holds what must be true of any context.
"""

import os
from pathlib import Path

import pytest

from tests.conftest import DATA
from tfbuild import recipe, target
from tfbuild.recipe import Options, Sources

GOLDEN = DATA / "golden"
PLAIN = (Sources(), Options())
# Everything replaced, and Bazel from the distribution, as in a rehearsal without the internet.
REPLACED = (
    Sources(
        base_image="debian:bookworm",
        source="https://git.example/tensorflow.git#r2.21",
        bazel="apt",
        pip_index="http://pypi.example:8080/simple",
        apt_mirror="http://apt.example/debian",
        llvm_mirror="https://llvm.example",
    ),
    Options(compiler="system", jobs=4, memory=8192, vector_width=512),
)
CASES = {
    "2.8.4-skylake": ("2.8.4", "3.10", PLAIN),
    "2.12.1-haswell": ("2.12.1", "3.11", PLAIN),
    "2.15.1-skylake": ("2.15.1", "3.11", PLAIN),
    "2.16.2-zen3": ("2.16.2", "3.12", PLAIN),
    "2.18.1-skylake": ("2.18.1", "3.12", PLAIN),
    "2.20.0-nehalem": ("2.20.0", "3.13", PLAIN),
    "2.21.0-skylake": ("2.21.0", "3.12", PLAIN),
    "2.12.1-neoverse-n1": ("2.12.1", "3.11", PLAIN),
    "2.21.0-neoverse-v2": ("2.21.0", "3.12", PLAIN),
    "2.21.0-skylake-replaced": ("2.21.0", "3.11", REPLACED),
}


def test_no_golden_context_is_left_over() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_golden_context(name: str) -> None:
    version, python, (sources, options) = CASES[name]
    wanted = target.find(name.partition("-")[2].removesuffix("-replaced"))
    made = recipe.make(version, python, wanted, sources, options)
    folder = GOLDEN / name
    if os.environ.get("TFBUILD_TEST_REFRESH"):
        made.write(folder)
    found = {path.name: path.read_text() for path in sorted(Path(folder).iterdir())}
    assert found == {file: data.decode() for file, data in made.files.items()}
