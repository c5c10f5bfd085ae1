"""Claims from samples, with suites made by hand."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from scipy import stats as oracle

from tests.unit.test_bench import HOST, PLAN, SETTING
from tfbuild import artifact, machine, reference, stats
from tfbuild.bench import ARCHITECTURES, Plan, Run, Sample, Scale, Subject, Suite
from tfbuild.bench.suite import Script, Side
from tfbuild.compare import Comparison, Contrast, compare, of_suite, times
from tfbuild.concerns import Kind, about_one
from tfbuild.errors import NothingToDoError, UsageError
from tfbuild.machine import Load
from tfbuild.stats import Verdict

THEN = datetime(2026, 11, 30, tzinfo=UTC)
QUIET = Load(load_1min=0.0, pressure_avg10=0.0, busy_seconds=0.0, steal_seconds=0.0)
QUICK = replace(PLAN, architectures=ARCHITECTURES, scale=Scale.QUICK)
TWO = replace(SETTING, intra_threads=2, inter_threads=2, omp_threads=2)
MACHINE = replace(machine.read(HOST, Path("/nothing")), cpus=2, cpus_allowed=2)

Seconds = Callable[[int, int, str], float]
"""(subject, round, architecture) -> seconds for one epoch of the study."""


def sample(architecture: str, seconds: float, loss: float = 2.3, data: str = "real") -> Sample:
    """A tenth of the study's epoch, so its time is a tenth too."""
    return Sample(
        architecture=architecture,
        data=data,
        parameters=1,
        epoch_seconds=(seconds / 10 * 0.9, seconds / 10 * 1.1),
        train_samples=6_000,
        validation_samples=1_000,
        batch_size=128,
        steps_per_epoch=47,
        full_train_samples=60_000,
        full_validation_samples=10_000,
        full_epochs=20,
        warmup_seconds=1.0,
        prepare_seconds=1.0,
        losses=(loss, loss),
        first_loss=loss,
    )


def subject(name: str = "a", tensorflow: str = "2.8.4") -> Subject:
    return Subject(
        spec=name,
        description=name,
        distribution="tensorflow-cpu",
        version=tensorflow,
        tensorflow=tensorflow,
        python="3.10.14",
        keras="2.8.0",
        numpy="1.26.4",
        onednn=False,
        intra_threads=2,
        inter_threads=2,
        cpu_features_built=None,
        wheel_sha256="0" * 64,
        packages=("numpy==1.26.4",),
        setting=TWO,
    )


def suite(
    seconds: Seconds,
    *,
    subjects: Sequence[Subject] = (subject("a"), subject("b")),
    rounds: int = 5,
    plan: Plan = QUICK,
    loss: Seconds = lambda _subject, _round, _name: 2.3,
    data: str = "real",
) -> Suite:
    runs = [
        Run(
            subject=each,
            round=number,
            position=each,
            seed=plan.seed + number,
            started_at=THEN,
            seconds=10.0,
            cpu_seconds=20.0,
            involuntary_switches=0,
            peak_rss_bytes=None,
            before=QUIET,
            after=replace(QUIET, busy_seconds=20.0),
            samples=tuple(
                sample(name, seconds(each, number, name), loss(each, number, name), data)
                for name in plan.architectures
            ),
        )
        for number in range(rounds)
        for each in range(len(subjects))
    ]
    return Suite(
        tfbuild="0",
        started_at=THEN,
        finished_at=THEN,
        plan=replace(plan, rounds=rounds),
        machine=MACHINE,
        settings=({"OMP_NUM_THREADS": "2"},) * len(subjects),
        subjects=tuple(subjects),
        runs=tuple(runs),
    )


def versus(one: Suite, other: Suite | None = None) -> Contrast:
    """Subject 0 against subject 1 of the same suite, or against subject 0 of another."""
    candidate = Side(suite=one, subject=1) if other is None else Side(suite=other, subject=0)
    return compare(Side(suite=one, subject=0), [candidate]).contrasts[0]


def kinds(contrast: Contrast) -> set[Kind]:
    return {concern.kind for concern in contrast.concerns}


def drifting(ratios: dict[str, float]) -> Seconds:
    """The machine doubles its times from round to round; the candidate is `ratio` times as fast."""
    rng = random.Random(3)

    def seconds(who: int, number: int, name: str) -> float:
        level: float = 10 * 2**number * math.exp(rng.gauss(0, 0.001))
        return level / ratios[name] if who else level

    return seconds


def test_ratios_of_2017_come_out_when_its_figures_go_in() -> None:
    platforms = ("cpu8pip", "cpu8cmp")
    found = versus(suite(lambda who, _, name: reference.epoch_seconds(name, platforms[who])))
    expected = {
        "mnist_mlp": 138.4567 / 87.8402,
        "mnist_cnn": 1116.1711 / 634.1003,
        "cifar10_cnn": 3151.4711 / 2088.3898,
        "imdb_fasttext": 1756.3221 / 1325.2076,
        "imdb_bidirectional_lstm": 627.1307 / 577.2790,
        "lstm_text_generation": 1877.9084 / 1325.5399,
    }
    for row in found.rows:
        assert row.speedup.ratio == pytest.approx(expected[row.architecture], rel=5e-5)
        assert row.baseline.seconds == pytest.approx(row.baseline.cpu_pip_2017)
        assert row.candidate.seconds == pytest.approx(row.candidate.cpu_compiled_2017)
    product = math.prod(expected.values()) ** (1 / 6)
    assert found.overall.ratio == pytest.approx(product, rel=5e-5)
    bilstm = next(row for row in found.rows if row.architecture == "imdb_bidirectional_lstm")
    assert bilstm.candidate.of_k80 == pytest.approx(577.2790 / 1229.4174, rel=1e-4)


def test_verdicts_stand_though_the_machine_slows_down_meanwhile() -> None:
    ratios = dict(zip(ARCHITECTURES, (1.5, 0.7, 1.0, 1.01, 1.1, 1.0), strict=True))
    found = versus(suite(drifting(ratios)))
    assert [row.verdict for row in found.rows] == [
        Verdict.FASTER,
        Verdict.SLOWER,
        Verdict.EQUIVALENT,
        Verdict.EQUIVALENT,
        Verdict.FASTER,
        Verdict.EQUIVALENT,
    ]
    assert found.overall.ratio == pytest.approx(math.prod(ratios.values()) ** (1 / 6), rel=0.002)
    assert kinds(found) == set()


def test_the_interval_of_the_mean_is_over_rounds_not_architectures() -> None:
    # The architectures differ widely, the rounds do not: the interval must be narrow.
    ratios = dict(zip(ARCHITECTURES, (3.0, 0.5, 2.0, 1.0, 1.5, 0.9), strict=True))
    overall = versus(suite(drifting(ratios))).overall
    assert overall.low is not None
    assert overall.high is not None
    assert overall.high / overall.low < 1.01
    assert overall.pairs == 5


def test_one_round_gives_a_ratio_without_interval() -> None:
    found = versus(suite(lambda who, *_: 10.0 - 5 * who, rounds=1))
    assert [row.verdict for row in found.rows] == [Verdict.INCONCLUSIVE] * 6
    assert found.rows[0].speedup.ratio == pytest.approx(2)
    assert kinds(found) == {Kind.FEW_PAIRS}
    assert "no interval" in found.concerns[0].what


def test_sessions_apart_are_not_paired_and_say_so() -> None:
    levels = drifting(dict.fromkeys(ARCHITECTURES, 1.5))
    one, other = suite(levels, subjects=[subject("a")]), suite(levels, subjects=[subject("b")])
    found = versus(one, other)
    assert Kind.NOT_INTERLEAVED in kinds(found)
    speedup = found.rows[0].speedup
    assert not speedup.paired
    expected = stats.unpaired(one.seconds(0, "mnist_mlp"), other.seconds(0, "mnist_mlp"))
    assert speedup == expected
    assert found.rows[0].verdict is Verdict.INCONCLUSIVE  # the drift is in it


def flat(*_: object) -> float:
    return 10.0


def test_other_machine_and_settings_are_said() -> None:
    one = suite(flat, subjects=[subject("a")])
    other = replace(
        suite(flat, subjects=[subject("b")]),
        machine=replace(MACHINE, brand="Another CPU"),
        settings=({"OMP_NUM_THREADS": "8"},),
    )
    found = versus(one, other)
    assert kinds(found) == {Kind.NOT_INTERLEAVED, Kind.OTHER_MACHINE, Kind.OTHER_SETTINGS}
    assert any("Another CPU" in concern.what for concern in found.concerns)


def test_other_release_is_said() -> None:
    found = versus(suite(flat, subjects=[subject("a"), subject("b", "2.8.0")]))
    assert kinds(found) == {Kind.OTHER_TENSORFLOW}
    assert "2.8.4 against 2.8.0" in found.concerns[0].what


@pytest.mark.parametrize(
    ("loss", "release", "warned"),
    [
        (2.3 * (1 + 2**-22), "2.8.4", False),  # the last digits of a float
        (2.3 * 1.0001, "2.8.4", True),
        (2.3 * 1.05, "2.8.4", True),
        (2.3 * 1.05, "2.8.0", True),
        (2.3 * 1.05, "2.21.0", False),  # another release may initialise otherwise
    ],
)
def test_first_losses_tell_whether_both_compute_the_same(
    loss: float, release: str, warned: bool
) -> None:
    def losses(who: int, number: int, name: str) -> float:
        return loss if who and number == 3 and name == "mnist_cnn" else 2.3

    found = versus(suite(flat, loss=losses, subjects=[subject("a"), subject("b", release)]))
    assert (Kind.OTHER_LOSSES in kinds(found)) is warned
    if warned:
        what = next(c.what for c in found.concerns if c.kind is Kind.OTHER_LOSSES)
        assert "do not compute the same thing" in what
        # Over the larger of the two.
        assert f"mnist_cnn by {'4.8' if loss > 2.4 else '0.01'} %" in what
        assert "mnist_mlp" not in what


@pytest.mark.parametrize("change", [{"xla": True}, {"batch": 64}], ids=["xla", "batch"])
def test_first_losses_of_other_batches_or_another_dropout_are_not_compared(
    change: dict[str, Any],
) -> None:
    other = subject("b")
    other = replace(other, setting=replace(other.setting, **change))
    found = versus(
        suite(flat, loss=lambda who, _round, _name: 2.3 + who, subjects=[subject("a"), other])
    )
    assert Kind.OTHER_LOSSES not in kinds(found)


def test_other_releases_are_told_that_losses_are_not_compared() -> None:
    found = versus(suite(flat, subjects=[subject("a"), subject("b", "2.21.0")]))
    told = next(c.do for c in found.concerns if c.kind is Kind.OTHER_TENSORFLOW)
    assert "first losses are not compared" in told
    near = versus(suite(flat, subjects=[subject("a"), subject("b", "2.8.0")]))
    told = next(c.do for c in near.concerns if c.kind is Kind.OTHER_TENSORFLOW)
    assert "losses" not in told


def test_first_losses_of_a_script_are_compared_roughly() -> None:
    plan = replace(
        QUICK, architectures=("own",), script=Script(name="own", path="own.py", sha256="0" * 64)
    )

    def found(factor: float) -> set[Kind]:
        return kinds(
            versus(suite(flat, plan=plan, loss=lambda who, _r, _n: 2.0 * factor if who else 2.0))
        )

    assert Kind.OTHER_LOSSES not in found(1.14)
    assert Kind.OTHER_LOSSES in found(2)


def test_a_loss_that_is_no_number_is_not_the_same_as_one_that_is() -> None:
    one = suite(flat)
    bad = tuple(replace(each, first_loss=None) for each in one.runs[1].samples)
    spoilt = replace(one, runs=(one.runs[0], replace(one.runs[1], samples=bad), *one.runs[2:]))
    assert Kind.OTHER_LOSSES in kinds(versus(spoilt))
    assert Kind.NO_LOSS in kinds(versus(spoilt))


def test_a_loss_that_is_no_number_on_both_sides_is_told() -> None:
    one = suite(flat)
    assert Kind.NO_LOSS not in kinds(versus(one))
    name = one.runs[0].samples[0].architecture
    runs = [
        replace(run, samples=(replace(run.samples[0], losses=(None,)), *run.samples[1:]))
        for run in one.runs
    ]
    found = versus(replace(one, runs=tuple(runs)))
    assert kinds(found) == {Kind.NO_LOSS}
    assert name in found.concerns[0].what


def test_other_data_is_said() -> None:
    one = suite(flat, subjects=[subject("a")])
    other = suite(flat, subjects=[subject("b")], data="generated")
    assert Kind.OTHER_DATA in kinds(versus(one, other))


@pytest.mark.parametrize(
    ("onednn", "found"), [(True, {Kind.OTHER_ONEDNN}), (False, set()), (None, set())]
)
def test_onednn_on_one_side_alone_is_said(onednn: bool | None, found: set[Kind]) -> None:
    other = replace(subject("b"), onednn=onednn)  # the first one's is off
    contrast = versus(suite(flat, subjects=[subject("a"), other]))
    assert kinds(contrast) == found
    if found:
        assert contrast.concerns[0].what == "oneDNN is off in a and on in b."


def test_onednn_that_the_settings_ask_for_is_what_is_compared() -> None:
    off, on, deaf = (
        replace(subject("a"), onednn=is_on, setting=replace(subject("a").setting, onednn=asked))
        for is_on, asked in ((False, False), (True, True), (False, True))
    )
    assert kinds(versus(suite(flat, subjects=[off, on]))) == set()
    # A wheel that does not do what was asked of it is told.
    assert kinds(versus(suite(flat, subjects=[on, deaf]))) == {Kind.OTHER_ONEDNN}


@pytest.mark.parametrize("change", [{"parameters": 2}, {"train_samples": 5_000}])
def test_other_models_or_amounts_are_said(change: dict[str, Any]) -> None:
    one = suite(flat)
    runs = [
        replace(run, samples=(replace(run.samples[0], **change), *run.samples[1:]))
        if run.subject
        else run
        for run in one.runs
    ]
    found = versus(replace(one, runs=tuple(runs)))
    assert kinds(found) == {Kind.OTHER_WORK}
    assert found.concerns[0].what.endswith("amounts: mnist_mlp.")


@pytest.mark.parametrize(("others", "warned"), [(0.0, False), (1.0, False), (3.0, True)])
def test_a_busy_machine_is_said(others: float, warned: bool) -> None:
    """`others` CPU seconds in each process of 10 s, on 2 CPUs: more than 2 is more than 10 %."""
    one = suite(flat)
    busy = replace(QUIET, busy_seconds=20.0 + others)
    found = versus(replace(one, runs=tuple(replace(run, after=busy) for run in one.runs)))
    assert (Kind.BUSY_MACHINE in kinds(found)) is warned


def test_an_unfinished_session_counts_and_is_said() -> None:
    one = suite(flat)
    cut = replace(one, finished_at=None, runs=one.runs[:6])
    found = versus(cut)
    assert found.rows[0].speedup.pairs == 3
    assert kinds(found) == {Kind.UNFINISHED, Kind.FEW_PAIRS}


def test_one_environment_alone_is_judged_too() -> None:
    one = suite(flat, subjects=[subject("a")])
    assert not list(about_one(Side(suite=one, subject=0)))
    busy = replace(QUIET, busy_seconds=25.0)
    cut = replace(
        one, finished_at=None, runs=tuple(replace(run, after=busy) for run in one.runs[:3])
    )
    found = [concern.kind for concern in about_one(Side(suite=cut, subject=0))]
    assert found == [Kind.UNFINISHED, Kind.BUSY_MACHINE]


def test_scales_do_not_mix() -> None:
    full = suite(flat, plan=replace(PLAN, scale=Scale.FULL))
    smoke = suite(flat, plan=replace(PLAN, scale=Scale.SMOKE))
    with pytest.raises(UsageError, match="at scale full"):
        versus(full, smoke)


def test_architectures_do_not_mix() -> None:
    few = suite(flat, plan=replace(PLAN, architectures=("mnist_mlp",), scale=Scale.QUICK))
    with pytest.raises(UsageError, match="different architectures"):
        versus(few, suite(flat))


def test_the_order_of_architectures_does_not_matter() -> None:
    backwards = replace(PLAN, architectures=ARCHITECTURES[::-1], scale=Scale.QUICK)
    other = suite(lambda _who, _round, name: 10.0 + len(name), plan=backwards)
    one = suite(lambda _who, _round, name: 10.0 + len(name))
    assert all(row.speedup.ratio == pytest.approx(1) for row in versus(one, other).rows)


def test_nothing_measured_is_nothing_to_compare() -> None:
    with pytest.raises(NothingToDoError, match="No round"):
        times(Side(suite=replace(suite(flat), runs=()), subject=0))


def test_mixed_data_is_named() -> None:
    one = suite(flat)
    odd = tuple(replace(each, data="generated") for each in one.runs[0].samples)
    mixed = replace(one, runs=(replace(one.runs[0], samples=odd), *one.runs[1:]))
    assert times(Side(suite=mixed, subject=0))[0].data == "mixed"


def test_a_comparison_survives_its_file(tmp_path: Path) -> None:
    one = replace(suite(drifting(dict.fromkeys(ARCHITECTURES, 1.2))), notes=("A stands in.",))
    made = compare(Side(suite=one, subject=0), [Side(suite=one, subject=1)])
    assert made.notes == ("A stands in.",)
    artifact.save(made, tmp_path / "c.json")
    assert artifact.load(Comparison, tmp_path / "c.json") == made


def test_samples_are_not_compared_with_themselves() -> None:
    one = Side(suite=suite(flat), subject=0)
    with pytest.raises(UsageError, match="very same samples"):
        compare(one, [one])


def in_setting(name: str, threads: int, **more: Any) -> Subject:
    setting = replace(SETTING, intra_threads=threads)
    return replace(subject(name), setting=setting, **more)


def whos(found: Comparison) -> list[tuple[str, int, str, int]]:
    return [
        (
            each.baseline.spec,
            each.baseline.setting.intra_threads,
            each.candidate.spec,
            each.candidate.setting.intra_threads,
        )
        for each in found.contrasts
    ]


def test_environments_meet_in_the_same_setting() -> None:
    subjects = [in_setting(name, threads) for threads in (1, 2) for name in "abc"]
    found = of_suite(suite(lambda who, *_: 10.0 + who, subjects=subjects))
    assert whos(found) == [
        ("a", 1, "b", 1),
        ("a", 1, "c", 1),
        ("a", 2, "b", 2),
        ("a", 2, "c", 2),
    ]
    ratios = [each.rows[0].speedup.ratio for each in found.contrasts]
    assert ratios == pytest.approx([10 / 11, 10 / 12, 13 / 14, 13 / 15])
    assert found.baseline == subjects[0]
    assert found.control is None


def test_one_environment_in_several_settings_meets_its_first() -> None:
    subjects = [in_setting("a", threads) for threads in (4, 1, 2)]
    found = of_suite(suite(flat, subjects=subjects))
    assert whos(found) == [("a", 4, "a", 1), ("a", 4, "a", 2)]


def test_one_environment_alone_has_no_contrast() -> None:
    assert of_suite(suite(flat, subjects=[subject("a")])).contrasts == ()


@pytest.mark.parametrize(
    ("again", "biased"),
    [(10.0, False), (10.0 / 1.015, False), (10.0 / 1.03, True), (10.0 * 1.03, True)],
)
def test_the_control_stands_apart_and_its_bias_is_told_of_all(again: float, biased: bool) -> None:
    subjects = [
        in_setting("a", 1),
        in_setting("b", 1),
        in_setting("c", 1),
        in_setting("a", 1, is_control=True),
    ]

    def seconds(who: int, _round: int, name: str) -> float:
        return again if who == 3 and name == "mnist_cnn" else 10.0

    found = of_suite(suite(seconds, subjects=subjects))
    assert whos(found) == [("a", 1, "b", 1), ("a", 1, "c", 1)]
    assert found.control is not None
    assert found.control.candidate == subjects[3]
    assert [Kind.BIASED_MACHINE in kinds(each) for each in found.contrasts] == [biased] * 2
    if biased:
        said = found.contrasts[1].concerns[0]
        assert said.what.endswith(f"mnist_cnn {10 / again:.2f}x.")
        assert "Repeat" in said.do


def test_the_bias_of_a_single_architecture_is_told_once() -> None:
    plan = replace(QUICK, architectures=("mnist_cnn",))
    subjects = [in_setting("a", 1), in_setting("b", 1), in_setting("a", 1, is_control=True)]
    found = of_suite(suite(lambda who, *_: 10.0 - 2 * (who == 2), subjects=subjects, plan=plan))
    said = found.contrasts[0].concerns[0]
    assert said.what.endswith("differs from itself: mnist_cnn 1.25x.")


def test_the_suite_says_how_sure_an_interval_must_be_and_what_counts_as_noise() -> None:
    ratios = dict.fromkeys(ARCHITECTURES, 1.05)
    one = replace(suite(drifting(ratios)), level=0.99)
    wide = of_suite(replace(one, plan=replace(one.plan, noise=0.06)), samples=["s.json"])
    row = wide.contrasts[0].rows[0]
    a, b = one.seconds(0, row.architecture), one.seconds(1, row.architecture)
    expected = oracle.ttest_rel(list(map(math.log, a)), list(map(math.log, b)))
    low, high = expected.confidence_interval(0.99)
    assert (row.speedup.low, row.speedup.high) == pytest.approx((math.exp(low), math.exp(high)))
    assert (wide.noise, row.verdict, wide.samples) == (0.06, Verdict.EQUIVALENT, ("s.json",))
    assert of_suite(one, noise=0.02).contrasts[0].rows[0].verdict is Verdict.FASTER
