"""The store of results, and what it says of two of them."""

import hashlib
import math
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import scipy.stats

from tests.results import with_cpus
from tests.unit.test_compare import MACHINE, QUICK, THEN, subject, suite
from tfbuild import artifact
from tfbuild.bench import ARCHITECTURES, Plan, Scale, Subject, Suite
from tfbuild.bench.suite import Script
from tfbuild.errors import SaveError, UsageError
from tfbuild.history import Against, Entry, Index, Store, check
from tfbuild.history.entry import entry, place, setting_told
from tfbuild.history.trend import trends
from tfbuild.machine import Machine
from tfbuild.slower import Outcome

NAMES = ("mnist_mlp", "mnist_cnn")
FEW = replace(QUICK, architectures=NAMES)
PIP = subject("pip")


def built(build: int = 1) -> Subject:
    """A compiled wheel; each build has a hash of its own and the same version."""
    made = subject("compiled", "2.8.4")
    return replace(
        made, distribution="tensorflow", version="2.8.4+haswell", wheel_sha256=f"{build:064x}"
    )


def session(
    day: int,
    *,
    machine_takes: float = 1.0,
    wheel_takes: float = 1.0,
    subjects: Sequence[Subject] | None = None,
    on: Machine = MACHINE,
    plan: Plan = FEW,
    data: str = "real",
    rounds: int = 8,
) -> Suite:
    """A session in which the candidate takes two thirds of the baseline's time, times a factor."""
    rng = random.Random(day)

    def seconds(who: int, _round: int, _name: str) -> float:
        own = 10 * (wheel_takes / 1.5 if who else 1.0) * math.exp(rng.gauss(0, 0.003))
        return own * machine_takes

    made = suite(
        seconds, subjects=subjects or (PIP, built(day)), plan=plan, data=data, rounds=rounds
    )
    when = THEN + timedelta(days=day)
    return replace(made, started_at=when, finished_at=when, machine=on)


def known(made: Suite) -> Entry:
    text = artifact.to_json(made).encode()
    return entry(made, sha256=hashlib.sha256(text).hexdigest(), size=len(text))


@pytest.fixture
def save(tmp_path: Path) -> Callable[..., Path]:
    def write(made: Suite, name: str) -> Path:
        return artifact.save(made, tmp_path / "measured" / f"{name}.suite.json")

    return write


# --- The store ------------------------------------------------------------------------------


def test_results_are_kept_byte_for_byte_under_their_hash(
    tmp_path: Path, save: Callable[..., Path]
) -> None:
    first, second = save(session(1), "one"), save(session(0), "two")
    store = Store(folder=tmp_path / "h")
    added = store.add([first, second])
    for each, path in zip(added, (first, second), strict=True):
        told = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True)
        assert each.entry.sha256 == told.stdout.split()[0]
        kept = tmp_path / "h/results" / f"{each.entry.sha256}.suite.json"
        assert kept.read_bytes() == path.read_bytes()
    assert [each.is_new for each in added] == [True, True]
    # The oldest first, whatever the order in which they came.
    assert [each.started_at for each in store.read().entries] == [THEN, THEN + timedelta(days=1)]


def test_adding_again_changes_nothing(tmp_path: Path, save: Callable[..., Path]) -> None:
    path = save(session(0), "one")
    store = Store(folder=tmp_path / "h")
    assert [each.is_new for each in store.add([path, path])] == [True, False]
    before = (tmp_path / "h/index.json").read_bytes()
    assert [each.is_new for each in store.add([path])] == [False]
    assert (tmp_path / "h/index.json").read_bytes() == before
    assert len(store.read().entries) == 1


@pytest.mark.parametrize("index", [None, "", "{}", '{"schema": "tfbuild.history/99"}', "half"])
def test_a_lost_index_is_made_again(
    tmp_path: Path, save: Callable[..., Path], index: str | None
) -> None:
    store = Store(folder=tmp_path / "h")
    store.add([save(session(0), "one"), save(session(1), "two")])
    file = tmp_path / "h/index.json"
    before = file.read_text()
    file.unlink()
    if index is not None:
        file.write_text(before[: len(before) // 2] if index == "half" else index)
    assert len(store.read().entries) == 2
    assert file.read_text() == before


def test_a_folder_that_cannot_be_written_can_be_read(
    tmp_path: Path, save: Callable[..., Path]
) -> None:
    store = Store(folder=tmp_path / "h")
    store.add([save(session(0), "one")])
    (tmp_path / "h/index.json").unlink()
    (tmp_path / "h/index.json/in the way").mkdir(parents=True)
    assert len(store.read().entries) == 1
    with pytest.raises(SaveError):
        store.add([save(session(1), "two")])


def test_a_place_that_is_no_folder(tmp_path: Path, save: Callable[..., Path]) -> None:
    path = save(session(0), "one")
    (tmp_path / "file").write_text("")
    assert Store(folder=tmp_path / "none").read().entries == ()
    with pytest.raises(SaveError, match="Cannot write in"):
        Store(folder=tmp_path / "file/h").add([path])


def test_a_damaged_result_is_said_passed_over_and_mended_by_adding_it_again(
    tmp_path: Path, save: Callable[..., Path]
) -> None:
    path = save(session(0), "one")
    store = Store(folder=tmp_path / "h")
    [added] = store.add([path])
    store.add([save(session(1), "two")])
    kept = store.results / f"{added.entry.sha256}.suite.json"
    kept.write_bytes(path.read_bytes()[:-20])
    (store.results / f".{kept.name}.x.part").write_text("left by a kill")
    found = store.read()
    assert [each.started_at for each in found.entries] == [THEN + timedelta(days=1)]
    assert [(where, "not JSON" in why) for where, why in found.damaged] == [(kept, True)]
    # Whole and still another one: somebody has edited it.
    artifact.save(replace(session(0), tfbuild="edited"), kept)
    [(_, why)] = store.read().damaged
    assert "hash" in why
    assert store.add([path])[0].is_new
    assert store.read().damaged == ()
    assert len(store.read().entries) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("no", "not JSON"),
        ('{"schema": "tfbuild.wheel/1"}', "not a tfbuild.suite file"),
        ('{"schema": "tfbuild.suite/1"}', "version 1"),
        ('{"schema": "tfbuild.suite/2"}', "damaged"),
    ],
)
def test_what_is_no_result_adds_nothing(
    tmp_path: Path, save: Callable[..., Path], text: str, said: str
) -> None:
    (tmp_path / "bad.json").write_text(text)
    store = Store(folder=tmp_path / "h")
    with pytest.raises(UsageError, match=said):
        store.add([save(session(0), "one"), tmp_path / "bad.json"])
    assert store.read().entries == ()


def test_an_unfinished_session_is_refused_with_what_to_do(
    tmp_path: Path, save: Callable[..., Path]
) -> None:
    path = save(replace(session(0), finished_at=None), "one")
    with pytest.raises(UsageError, match="not finished") as refused:
        Store(folder=tmp_path / "h").add([path])
    assert f"--resume {path}" in refused.value.do


def test_several_may_add_at_a_time(tmp_path: Path, save: Callable[..., Path]) -> None:
    """Four processes, each with two results, one of them the same for all."""
    shared = save(session(0), "shared")
    code = (
        "import sys; from pathlib import Path; from tfbuild.history import Store\n"
        "Store(folder=Path(sys.argv[1])).add([Path(each) for each in sys.argv[2:]])"
    )
    paths = [save(session(day), str(day)) for day in range(1, 5)]
    running = [
        subprocess.Popen([sys.executable, "-c", code, tmp_path / "h", path, shared])
        for path in paths
    ]
    assert [each.wait() for each in running] == [0] * len(paths)
    index = artifact.load(Index, tmp_path / "h/index.json")
    assert [each.started_at for each in index.entries] == [
        THEN + timedelta(days=day) for day in range(5)
    ]


def test_an_entry_is_found_by_how_its_hash_begins(
    tmp_path: Path, save: Callable[..., Path]
) -> None:
    store = Store(folder=tmp_path / "h")
    [added] = store.add([save(session(0), "one")])
    assert store.find(added.entry.sha256[:6]) == added.entry
    for wrong in ("zz", ""):
        with pytest.raises(UsageError, match="begin with"):
            store.find(wrong)


# --- Then against now -----------------------------------------------------------------------


def outcomes(now: Suite, *before: Suite, **more: object) -> dict[str, Outcome]:
    found = check(known(now), [known(each) for each in before], **more)  # type: ignore[arg-type]
    return {each.name: each.outcome for each in found.judged}


def test_the_machine_cancels_in_the_ratio_of_ratios() -> None:
    """A machine that has become 20 % slower is no slower wheel, and hides none that is."""
    same = session(1, machine_takes=1.2)
    assert set(outcomes(same, session(0)).values()) == {Outcome.FINE}
    slow = session(1, machine_takes=0.8, wheel_takes=1.08)
    assert set(outcomes(slow, session(0)).values()) == {Outcome.SLOWER}
    found = check(known(slow), [known(session(0))])
    [finding] = found.findings
    assert finding.baseline == "tensorflow-cpu 2.8.4"
    assert [each.speedup.ratio for each in finding.judged] == pytest.approx(
        [1 / 1.08] * 3, rel=0.01
    )
    assert any("takes 0.80x as long: the machine" in each for each in finding.changes)


def test_without_a_common_baseline_the_machine_counts_and_that_is_said() -> None:
    other = replace(PIP, version="2.8.5", tensorflow="2.8.5")
    now = session(1, machine_takes=1.2, subjects=(other, built(1)))
    [finding] = check(known(now), [known(session(0))]).findings
    assert finding.baseline is None
    assert {each.outcome for each in finding.judged} == {Outcome.SLOWER}
    alone = [session(day, subjects=(PIP,)) for day in (0, 1)]
    [finding] = check(known(alone[1]), [known(alone[0])]).findings
    assert (finding.wheel, finding.baseline) == ("tensorflow-cpu", None)
    assert {each.outcome for each in finding.judged} == {Outcome.FINE}


def test_the_interval_is_welchs_of_the_logarithms_of_ratios() -> None:
    """Against scipy, at a level shared by two architectures and their mean."""
    then, now = session(0), session(1, rounds=5, wheel_takes=1.02)

    def logs(one: Suite, name: str) -> list[float]:
        pairs = zip(one.seconds(0, name), one.seconds(1, name), strict=True)
        return [math.log(a / b) for a, b in pairs]

    found = check(known(now), [known(then)]).judged
    assert [each.name for each in found] == [*NAMES, "geometric mean"]
    for each in found[:2]:
        test = scipy.stats.ttest_ind(logs(now, each.name), logs(then, each.name), equal_var=False)
        interval = test.confidence_interval(1 - 0.05 / 3)
        ours = (each.speedup.low, each.speedup.high)
        assert ours == pytest.approx((math.exp(interval.low), math.exp(interval.high)), rel=1e-9)


def test_machines_never_mix() -> None:
    other = replace(MACHINE, brand="Another CPU")
    found = check(known(session(2)), [known(session(0, on=other)), known(session(1, on=other))])
    assert (found.judged, found.elsewhere) == ((), 2)
    assert found.findings[0].reference is None


@pytest.mark.parametrize(
    "changes",
    [
        {"kernel": "6.99"},
        {"libc": "glibc 2.99"},
        {"microcode": "0x99"},
        {"governor": "powersave"},
        # What a newer kernel shows besides says nothing of code that was compiled.
        {"features": MACHINE.features | {"a_mitigation"}},
        {"memory_bytes": (24 << 30) - (300 << 20)},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_the_same_machine_after_a_change(changes: dict[str, object]) -> None:
    before = replace(MACHINE, memory_bytes=(24 << 30) - (400 << 20))
    after = replace(before, **changes)  # type: ignore[arg-type]
    assert place(after).key == place(before).key
    told = {"kernel", "libc", "microcode", "governor"} & set(changes)
    [finding] = check(known(session(1, on=after)), [known(session(0, on=before))]).findings
    expected = [f"{key} {getattr(before, key)} is now {changes[key]}" for key in told]
    assert list(finding.changes) == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"brand": "Another CPU"},
        {"cpus": 4},
        {"cpus_allowed": 1},
        {"cpu_quota": 1.5},
        {"memory_bytes": 48 << 30},
        {"memory_limit_bytes": 8 << 30},
        {"hypervisor": "Amazon EC2 m5.xlarge"},
        {"features": MACHINE.features - {"avx2"}},
        {"smt": True},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_another_machine(changes: dict[str, object]) -> None:
    before = replace(
        MACHINE, memory_bytes=24 << 30, smt=False, features=frozenset({"avx", "avx2", "fma"})
    )
    if "features" in changes:
        changes = {"features": before.features - {"avx2"}}
    after = replace(before, **changes)  # type: ignore[arg-type]
    assert place(after).key != place(before).key


def test_only_like_is_set_beside_like() -> None:
    then = session(0)
    assert outcomes(session(1, plan=replace(FEW, scale=Scale.SMOKE)), then) == {}
    assert outcomes(session(1, data="generated"), then) == {}
    threads = replace(PIP.setting, intra_threads=1, inter_threads=1, omp_threads=1)
    other = tuple(replace(who, setting=threads) for who in (PIP, built(1)))
    assert outcomes(session(1, subjects=other), then) == {}
    one = session(1, plan=replace(FEW, architectures=("mnist_cnn",)))
    assert list(outcomes(one, then)) == ["mnist_cnn"]
    # A result is never its own reference, nor is a later one.
    assert outcomes(then, then, session(1)) == {}


def test_another_text_of_a_script_is_another_workload() -> None:
    def scripted(day: int, sha256: str, *arguments: str) -> Suite:
        script = Script(name="train", path="train.py", sha256=sha256 * 64, arguments=arguments)
        return session(day, plan=replace(FEW, architectures=("train",), script=script))

    then = scripted(0, "a", "--fast")
    assert len(outcomes(scripted(1, "a", "--fast"), then)) == 1
    assert outcomes(scripted(1, "b", "--fast"), then) == {}
    assert outcomes(scripted(1, "a"), then) == {}


def test_a_change_of_the_measuring_tfbuild_is_told() -> None:
    now = replace(session(1), tfbuild="0.2")
    assert check(known(now), [known(session(0))]).findings[0].changes == ("tfbuild 0 is now 0.2",)


def test_previous_best_and_a_certain_one() -> None:
    takes = {0: 1.05, 1: 1.0, 2: 1.10}
    before = [session(day, wheel_takes=each, machine_takes=1 + day) for day, each in takes.items()]
    now = known(session(3, wheel_takes=1.05))
    entries = [known(each) for each in before]

    def reference(against: Against | Entry) -> tuple[str | None, float]:
        [finding] = check(now, entries, against=against).findings
        return finding.reference, round(finding.judged[-1].speedup.ratio, 2)

    assert reference(Against.PREVIOUS) == (entries[2].sha256, 1.05)
    assert reference(Against.BEST) == (entries[1].sha256, 0.95)
    assert reference(entries[0]) == (entries[0].sha256, 1.0)
    assert check(now, entries, against=now).judged == ()


def test_the_limit_moves_the_outcome() -> None:
    then, now = session(0), session(1, wheel_takes=1.05)
    assert set(outcomes(now, then, limit=0.03).values()) == {Outcome.SLOWER}
    assert set(outcomes(now, then, limit=0.10).values()) == {Outcome.FINE}
    one = session(1, wheel_takes=1.5, rounds=1)
    assert set(outcomes(one, then).values()) == {Outcome.INCONCLUSIVE}


def test_names_last_from_build_to_build_and_tell_apart_within_a_session() -> None:
    again = replace(PIP, is_control=True)
    newer = replace(PIP, version="2.14.1", tensorflow="2.14.1")
    made = known(session(0, subjects=(PIP, newer, built(1), built(2), again)))
    assert [each.wheel for each in made.measured] == [
        "tensorflow-cpu 2.8.4",
        "tensorflow-cpu 2.14.1",
        "tensorflow+haswell 2.8.4+haswell",
        "tensorflow+haswell 2.8.4+haswell (2)",
    ]
    assert [each.baseline for each in made.measured] == [None, 0, 0, 0]
    assert [each.wheel for each in known(session(0)).candidates] == ["tensorflow+haswell"]


def test_one_wheel_in_several_settings_has_a_line_for_each() -> None:
    settings = [replace(PIP.setting, onednn=each) for each in (False, True)]
    made = known(session(0, subjects=[replace(PIP, setting=each) for each in settings]))
    assert [each.wheel for each in made.measured] == ["tensorflow-cpu"] * 2
    assert [each.setting.rpartition(", ")[2] for each in made.measured] == [
        "oneDNN off",
        "oneDNN on",
    ]


# --- Lines over time ------------------------------------------------------------------------


def test_lines_of_a_wheel_over_time() -> None:
    factors = (1.0, 1.25, 1.0)
    made = [session(day, wheel_takes=each) for day, each in enumerate(factors)]
    other = session(1, on=replace(MACHINE, brand="Another CPU"))
    found = trends([known(each) for each in (*made, other)])
    assert [each.sessions for each in found.machines] == [3, 1]
    assert len(found.lines) == 2 * 2 * len(NAMES)
    line = next(each for each in found.lines if each.wheel == "tensorflow+haswell")
    assert line.speeds == pytest.approx([1.5, 1.2, 1.5], rel=0.01)
    assert line.change is not None
    assert line.change.ratio == pytest.approx(1.25, rel=0.01)
    assert (line.change_over_baseline, line.trend_over_baseline) == (True, True)
    alone = next(each for each in found.lines if each.machine == found.machines[1].key)
    assert alone.change is None


def test_a_store_of_all_six_keeps_every_round() -> None:
    made = session(0, plan=QUICK)
    [_, candidate] = known(made).measured
    assert list(candidate.seconds) == list(ARCHITECTURES)
    assert candidate.seconds["mnist_mlp"] == made.seconds(1, "mnist_mlp")


@pytest.mark.parametrize(("count", "told"), [(1, "1 CPU, 1 thread"), (2, "2 CPUs, 2 threads")])
def test_a_setting_is_told_in_words(count: int, told: str) -> None:
    assert setting_told(with_cpus(count)) == told
