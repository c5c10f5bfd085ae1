"""Real wheels: what is right passes, and faults put into one are found."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import DATA, need, pyenv_python
from tfbuild import environment, host, resources, spec
from tfbuild.bench.suite import ARCHITECTURES
from tfbuild.choice import choose
from tfbuild.installer import Installer
from tfbuild.progress import Silent
from tfbuild.verify import numbers, quantised, training
from tfbuild.verify.conversation import Request
from tfbuild.verify.difference import Difference, differences
from tfbuild.verify.running import Place, Running

pytestmark = pytest.mark.tensorflow

NAME = Path("tensorflow_cpu-2.8.4-cp310-cp310-manylinux2010_x86_64.whl")
WRONG = DATA / "wrong_checker.py"


@pytest.fixture(scope="module")
def running() -> Running:
    installer = Installer()
    here = environment.here(host.detect(), Path("wheels"), installer)
    return Running(here=here, installer=installer, progress=Silent())


@pytest.fixture(scope="module")
def places(running: Running) -> tuple[Place, Place]:
    """The official wheel and Intel's, in the user's own cache, so that other tests find them."""
    need(pyenv_python("3.10"), "no Python 3.10 here")
    specs = [spec.parse(text) for text in ("tensorflow-cpu==2.8.4", "intel-tensorflow==2.8.0")]
    official, intel = (
        Place(choice=one, python=environment.install(one, running.installer, running.progress))
        for one in choose(specs, running.here).choices
    )
    return official, intel


@pytest.fixture(autouse=True)
def _benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFBUILD_TEST_BENCHMARKS", str(resources.folder("benchmarks")))


def test_an_import_and_a_step(
    places: tuple[Place, Place], running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "place", lambda *_: places[0])
    imported, trained = training.check(NAME, running)
    assert (imported.status, trained.status) == ("passed", "passed")
    # As `readelf -p .comment` shows it in the libraries.
    assert any(line.startswith("compiler: 7.3.1") for line in imported.details)
    assert "changed all 8 variables" in trained.found


def test_quantised_ops_are_exact(
    places: tuple[Place, Place], running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quantised, "place", lambda *_: places[0])
    check = quantised.check(NAME, running)
    assert check.status == "passed", check.details
    assert "46 quantised ops" in check.found


def test_the_wrong_order_of_avx512_is_found(
    places: tuple[Place, Place], running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quantised, "place", lambda *_: places[0])
    check = quantised.check(NAME, replace(running, script=WRONG))
    assert check.status == "failed"
    assert [line.split(":")[0] for line in check.details] == [
        "quantize qint8 SCALED",
        "quantize by axis qint8 SCALED",
        "quantize qint8 MIN_COMBINED",
        "quantize by axis qint8 MIN_COMBINED",
        "quantize qint8 MIN_FIRST",
    ]
    assert all("(right numbers, wrong order)" in line for line in check.details)
    assert "49944" in check.why


@pytest.fixture(scope="module")
def steps(
    places: tuple[Place, Place], running: Running, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], list[Difference]]:
    """Return what tells how far a run of the official wheel is from one of Intel's."""
    folder = tmp_path_factory.mktemp("steps")

    def step(name: str, place: Place, how: Running) -> None:
        (folder / name).mkdir()
        told = numbers._stepped(place, Request(tasks=("steps",), folder=folder / name), how)
        assert told.ok, told

    def found(name: str) -> list[Difference]:
        step(name, places[0], running if name == "right" else replace(running, script=WRONG))
        return [
            one
            for architecture in ARCHITECTURES
            for one in differences(
                architecture,
                folder / name / f"{architecture}.npz",
                folder / "intel" / f"{architecture}.npz",
            )
        ]

    step("intel", places[1], running)
    return found


def test_two_wheels_agree_but_for_rounding(steps: Callable[[str], list[Difference]]) -> None:
    found = steps("right")
    check = numbers._judged(found, "intel-tensorflow 2.8.0")
    assert check.status == "passed", check.details
    assert {one.architecture for one in found} == set(ARCHITECTURES)
    # One has oneDNN's kernels and the other has not: if nothing differs, nothing was compared.
    assert any(one.norm > 0 for one in found if one.kind == "gradients")


def test_each_fault_is_found_where_it_is(steps: Callable[[str], list[Difference]]) -> None:
    wrong = [one for one in steps("wrong") if not one.is_tolerable]
    first: dict[str, str] = {}
    for kind in ("answers", "updates", "gradients", "predictions", "weights"):
        first |= {one.architecture: kind for one in wrong if one.kind == kind}
    assert first == {
        "mnist_mlp": "weights",
        "mnist_cnn": "predictions",
        "cifar10_cnn": "predictions",
        "imdb_bidirectional_lstm": "updates",
        "lstm_text_generation": "predictions",
    }
    assert numbers._judged(wrong, "intel-tensorflow 2.8.0").status == "failed"
