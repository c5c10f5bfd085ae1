"""What is said of heat, limits and cores, with made values."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.test_compare import MACHINE, QUICK, QUIET, subject, suite
from tfbuild.bench import Setting, Suite
from tfbuild.bench.suite import Run, Side
from tfbuild.concerns import Concern, Kind, about, about_one

CPUS = Setting(cpus=(0, 1), intra_threads=2, inter_threads=2, omp_threads=2, cores=2)
PLAN = replace(QUICK, architectures=("mnist_mlp", "mnist_cnn"))


def session(
    *,
    rounds: int = 9,
    growth: float = 0.0,
    only: int | None = None,
    setting: Setting = CPUS,
    machine: dict[str, Any] | None = None,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    fall: float = 0.0,
) -> Suite:
    """Two wheels, whose times grow by `growth` over the session while the clock rate falls."""

    def seconds(who: int, number: int, _name: str) -> float:
        grows = only is None or who == only
        return 10.0 * (1 + growth * number / (rounds - 1)) if grows and rounds > 1 else 10.0

    subjects = [replace(subject(name), setting=setting) for name in ("a", "b")]
    made = suite(seconds, subjects=subjects, rounds=rounds, plan=PLAN)

    def run(each: Run) -> Run:
        part = each.round / (rounds - 1) if rounds > 1 else 0
        rate = 3000.0 * (1 - fall * part) if fall else None
        return replace(
            each,
            before=replace(QUIET, **(before or {})),
            after=replace(each.after, mhz=rate, **(after or {})),
        )

    return replace(
        made,
        runs=tuple(map(run, made.runs)),
        machine=replace(MACHINE, **{"allowed": "0-1", **(machine or {})}),
    )


def said(made: Suite) -> list[Concern]:
    a, b = Side(suite=made, subject=0), Side(suite=made, subject=1)
    return list(about(a, b, is_paired=True))


def kinds(made: Suite) -> set[Kind]:
    return {concern.kind for concern in said(made)}


def test_a_quiet_session_raises_no_concern() -> None:
    assert said(session()) == []


@pytest.mark.parametrize(
    ("growth", "fall", "rounds", "only", "is_drift"),
    [
        (0.10, 0.10, 9, None, True),
        (0.10, 0.10, 6, None, True),
        (0.10, 0.0, 9, None, False),  # times alone: the clock rate is not known
        (0.10, 0.01, 9, None, False),  # nor did it fall
        (0.0, 0.10, 9, None, False),  # idle cores clock down
        (0.02, 0.10, 9, None, False),
        (0.10, 0.10, 5, None, False),  # too few rounds to tell
        (0.10, 0.10, 9, 1, False),  # one side alone: heat slows down both
    ],
)
def test_drift_needs_times_of_all_and_the_clock_rate(
    growth: float, fall: float, rounds: int, only: int | None, is_drift: bool
) -> None:
    found = kinds(session(growth=growth, fall=fall, rounds=rounds, only=only))
    assert (Kind.THERMAL_DRIFT in found) == is_drift


def test_counters_of_heat_say_it_at_once() -> None:
    made = session(rounds=2, before={"hot_events": 7}, after={"hot_events": 9})
    concern = next(one for one in said(made) if one.kind is Kind.THERMAL_DRIFT)
    assert "8 times" in concern.what  # two in each of four processes
    assert Kind.THERMAL_DRIFT not in kinds(
        session(before={"hot_events": 7}, after={"hot_events": 7})
    )
    # A counter that starts anew is no event.
    assert Kind.THERMAL_DRIFT not in kinds(
        session(before={"hot_events": 7}, after={"hot_events": 0})
    )


@pytest.mark.parametrize(
    ("before", "after", "is_swap"),
    [
        ((0, 0), (0, 0), False),
        ((5, 5), (5, 36), True),  # 31 in each of 18 processes
        ((5, 5), (36, 5), True),
        ((5, 5), (5, 10), False),
        ((None, None), (9999, 9999), False),
    ],
)
def test_swap(before: tuple[int | None, int | None], after: tuple[int, int], is_swap: bool) -> None:
    names = ("swapped_in_pages", "swapped_out_pages")
    made = session(
        before=dict(zip(names, before, strict=True)), after=dict(zip(names, after, strict=True))
    )
    assert (Kind.SWAP in kinds(made)) == is_swap


@pytest.mark.parametrize(("stopped", "is_quota"), [(0.0, False), (0.04, False), (0.06, True)])
def test_quota(stopped: float, is_quota: bool) -> None:
    """Each process lasts 10 s."""
    made = session(
        machine={"cpu_quota": 2.0},
        before={"throttled_seconds": 100.0},
        after={"throttled_seconds": 100.0 + stopped},
    )
    assert (Kind.QUOTA in kinds(made)) == is_quota
    if is_quota:
        concern = next(one for one in said(made) if one.kind is Kind.QUOTA)
        assert "quota of 2 CPUs" in concern.what
        assert "1.1 s in 180.0 s" in concern.what  # 18 x 0.06


@pytest.mark.parametrize(
    ("setting", "machine", "kind", "words"),
    [
        (
            CPUS,
            {"allowed": "0-1", "cores_shared": ("0,8", "1,9")},
            Kind.HYPER_THREADS_SHARED,
            "CPUs 8-9",
        ),
        (replace(CPUS, cores=1), {"cores_shared": ("0-1",)}, Kind.SMT, "2 threads ran on 1 cores"),
        (
            replace(CPUS, intra_threads=4),
            {},
            Kind.OVERSUBSCRIBED,
            "4 threads of a kind shared 2 CPUs",
        ),
        (replace(CPUS, omp_threads=3), {}, Kind.OVERSUBSCRIBED, "3 threads"),
        (CPUS, {"cpu_quota": 1.5}, Kind.OVERSUBSCRIBED, "the time of 1.5 CPUs"),
        (CPUS, {"governor": "powersave", "driver": "acpi-cpufreq"}, Kind.POWERSAVE, "lowest"),
        (CPUS, {"unequal_cores": True, "cpus_allowed": 2}, Kind.UNEQUAL_CORES, "slow cores"),
    ],
)
def test_cores(setting: Setting, machine: dict[str, Any], kind: Kind, words: str) -> None:
    found = said(session(setting=setting, machine=machine))
    assert [one.kind for one in found] == [kind]
    assert words in found[0].what
    # The same is said of one side alone, and once of two.
    made = session(setting=setting, machine=machine)
    assert kind in {one.kind for one in about_one(Side(suite=made, subject=0))}


@pytest.mark.parametrize(
    ("setting", "machine"),
    [
        # One thread on each of two cores, whose siblings are ours too and idle.
        (CPUS, {"allowed": "0-1,8-9", "cores_shared": ("0,8", "1,9"), "cpus_allowed": 4}),
        (replace(CPUS, cores=1, intra_threads=1, omp_threads=1), {"cores_shared": ("0-1",)}),
        (CPUS, {"governor": "powersave", "driver": "intel_pstate"}),  # it follows the load
        (CPUS, {"governor": "performance", "driver": "acpi-cpufreq"}),
        (CPUS, {"unequal_cores": True, "cpus_allowed": 8, "allowed": "0-7"}),
        (replace(CPUS, cpus=(), cores=None), {"allowed": ""}),  # a system that does not bind
    ],
)
def test_cores_that_are_as_they_should_be(setting: Setting, machine: dict[str, Any]) -> None:
    assert said(session(setting=setting, machine=machine)) == []
