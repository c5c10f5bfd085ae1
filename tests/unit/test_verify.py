"""Which checks are done, in which order, and what happens when one of them meets damage."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.conftest import DATA
from tests.wheels import make_wheel
from tfbuild import artifact, host, target
from tfbuild.errors import HostError, SaveError, UsageError, WheelError
from tfbuild.progress import Silent
from tfbuild.verify import steps
from tfbuild.verify.context import Asked, Context
from tfbuild.verify.model import Check, Status, Verification
from tfbuild.verify.verify import Step, chosen, verify


@dataclass
class Script:
    """Steps that say what they were told to, and remember that they were done."""

    outcomes: dict[str, Status] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)

    def step(self, *names: str, runs_wheel: bool = False) -> Step:
        def run(wheel: Context) -> tuple[Check, ...]:
            self.done += names
            outcomes = self.outcomes
            return tuple(
                Check(name=name, status=outcomes.get(name, "passed"), found="Fine.")
                for name in names
            )

        return Step(names=names, title="Doing", run=run, runs_wheel=runs_wheel)

    @property
    def steps(self) -> tuple[Step, ...]:
        return (
            self.step("structure", "record"),
            self.step("instructions"),
            self.step("import", "training", runs_wheel=True),
        )


NAMES = ("structure", "record", "instructions", "import", "training")


def outcome(found: Verification) -> dict[str, str]:
    return {check.name: check.status for check in found.checks}


def test_all_in_their_order(tmp_path: Path) -> None:
    script, wheel = Script(), make_wheel(tmp_path)
    found = verify(wheel, script.steps, NAMES, Asked())
    assert script.done == list(outcome(found)) == list(NAMES)
    assert (found.is_good, found.failed) == (True, ())
    assert (found.wheel, found.sha256) == (wheel.name, artifact.sha256(wheel))
    assert artifact.from_json(Verification, artifact.to_json(found)) == found


def test_only_what_was_asked_for(tmp_path: Path) -> None:
    script = Script()
    found = verify(make_wheel(tmp_path), script.steps, ("record", "training"), Asked())
    assert list(outcome(found)) == ["record", "training"]
    assert "instructions" not in script.done


@pytest.mark.parametrize(
    ("only", "skip", "left"),
    [
        ([], [], NAMES),
        ([], ["record", "import"], ("structure", "instructions", "training")),
        (["training", "structure"], [], ("structure", "training")),
        (["training", "structure"], ["structure"], ("training",)),
    ],
    ids=["all", "skip", "only", "both"],
)
def test_names_are_chosen(only: list[str], skip: list[str], left: tuple[str, ...]) -> None:
    assert chosen(Script().steps, only, skip) == left


def test_names_that_do_not_exist() -> None:
    with pytest.raises(UsageError, match="'instruction'") as caught:
        chosen(Script().steps, [], ["instruction"])
    assert "Did you mean 'instructions'?" in caught.value.why
    assert all(name in caught.value.do for name in NAMES)
    with pytest.raises(UsageError, match="No check is left"):
        chosen(Script().steps, ["record"], ["record"])


@pytest.mark.parametrize("name", ["structure", "record"])
def test_nothing_is_run_of_a_wheel_that_is_not_what_it_says(name: str, tmp_path: Path) -> None:
    script = Script({name: "failed"})
    found = verify(make_wheel(tmp_path), script.steps, NAMES, Asked())
    assert outcome(found)[name] == "failed"
    assert outcome(found)["instructions"] == "passed"
    assert {outcome(found)[each] for each in ("import", "training")} == {"skipped"}
    assert name in found.checks[-1].found
    assert "import" not in script.done
    assert not found.is_good


def test_nothing_is_run_that_this_machine_cannot_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script()
    wheel = make_wheel(tmp_path, tag="cp312-cp312-macosx_12_0_arm64")
    here = host.from_cpuinfo(DATA / "cpuinfo/linux-rhel7-haswell")
    monkeypatch.setattr(host, "detect", lambda: here)
    found = verify(wheel, script.steps, NAMES, Asked())
    assert outcome(found)["import"] == "skipped"
    assert found.checks[-1].found == "Not run: It is for macOS, and this is Linux."
    assert found.is_good


def test_a_cpu_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise HostError("Cannot find out what this CPU can execute.")

    monkeypatch.setattr(host, "detect", fail)
    found = verify(make_wheel(tmp_path), Script().steps, NAMES, Asked())
    assert found.checks[-1].status == "skipped"
    assert "Cannot find out" in found.checks[-1].found


def raising(error: Exception) -> Callable[[Context], tuple[Check, ...]]:
    def run(wheel: Context) -> tuple[Check, ...]:
        raise error

    return run


def test_damage_that_a_check_did_not_expect_is_a_failure(tmp_path: Path) -> None:
    broken = raising(WheelError("It is damaged.", why="Cut off.", do="Get it again."))
    odd = Step(names=("platform", "python"), title="Doing", run=broken)
    found = verify(make_wheel(tmp_path), (odd, *Script().steps), ("platform", *NAMES), Asked())
    assert found.checks[0] == Check(
        name="platform", status="failed", found="It is damaged.", why="Cut off.", do="Get it again."
    )
    assert [check.name for check in found.checks] == ["platform", *NAMES]


def test_a_wheel_that_cannot_be_opened_is_one_failure(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path)
    wheel.write_bytes(wheel.read_bytes()[:200])
    names = chosen(steps.ALL, (), ())
    found = verify(wheel, steps.ALL, names, Asked())
    assert [check.name for check in found.failed] == ["structure"]
    assert set(outcome(found).values()) == {"failed", "skipped"}
    assert outcome(verify(wheel, steps.ALL, ("flags",), Asked())) == {"flags": "failed"}


def test_a_machine_that_fails_is_no_finding(tmp_path: Path) -> None:
    full = Step(names=("platform",), title="Doing", run=raising(SaveError("The disk is full.")))
    with pytest.raises(SaveError):
        verify(make_wheel(tmp_path), (full,), ("platform",), Asked())


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(WheelError, match="Cannot read"):
        verify(tmp_path / "tensorflow-2.21.0-py3-none-any.whl", (), (), Asked())


def test_the_target_is_what_was_asked_or_what_the_wheel_claims(tmp_path: Path) -> None:
    labelled = make_wheel(tmp_path, version="2.21.0+haswell")
    plain = make_wheel(tmp_path)
    assert verify(labelled, (), (), Asked()).target == "haswell"
    assert verify(labelled, (), (), Asked(target=target.find("zen3"))).target == "zen3"
    assert verify(plain, (), (), Asked()).target is None
    record = "tensorflow-2.21.0+mine.dist-info/tfbuild.json"
    claims = make_wheel(tmp_path, version="2.21.0+mine", files={record: '{"target": "skylake"}'})
    assert verify(claims, (), (), Asked()).target == "skylake"


def test_each_check_has_one_name_and_the_static_ones_come_first() -> None:
    names = [name for step in steps.ALL for name in step.names]
    assert len(set(names)) == len(names)
    assert steps.ALL[: len(steps.STATIC)] == steps.STATIC
    assert not any(step.runs_wheel for step in steps.STATIC)
    assert all(step.runs_wheel for step in steps.ALL[len(steps.STATIC) :])


def test_progress_names_what_goes_on(tmp_path: Path) -> None:
    class Heard(Silent):
        phases: tuple[str, ...] = ()

        def phase(self, text: str, total: int | None = None) -> None:  # noqa: ARG002
            self.phases += (text,)

    heard = Heard()
    verify(make_wheel(tmp_path), Script().steps[:2], NAMES, Asked(), heard)
    assert heard.phases == ("Doing", "Doing")
