"""Curves over sizes of machine, on the study's own figures of 2017."""

import csv
import math
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

import tfbuild
from tests.unit.test_bench import SETTING
from tests.unit.test_compare import QUICK, sample, subject, suite
from tfbuild import sweep
from tfbuild.bench import ARCHITECTURES, Suite
from tfbuild.bench.setting import words
from tfbuild.bench.suite import Side
from tfbuild.prices import Price
from tfbuild.sweep import Curve, Point, curve, curves

SIZES = (8, 16, 32, 64)
DATA = Path(tfbuild.__file__).parent / "data/k80_2017.csv"


def logged() -> dict[tuple[str, str], tuple[float, int]]:
    """(architecture, platform) -> seconds of the whole run, epochs; straight from the table."""
    lines = [line for line in DATA.read_text().splitlines() if not line.startswith("#")]
    rows = csv.DictReader(lines)
    return {
        (row["architecture"], row["platform"]): (float(row["total_seconds"]), int(row["epochs"]))
        for row in rows
    }


LOGGED = logged()
BUILDS = {"pip": "pip", "compiled": "cmp"}


def price(vcpus: int, per_hour: float, currency: str = "USD") -> Price:
    return Price(
        provider="Google Compute Engine",
        region="us-central1",
        machine=f"n1-highcpu-{vcpus}",
        device="cpu",
        vcpus=vcpus,
        kind="spot",
        currency=currency,
        per_hour=per_hour,
        as_of=date(2017, 7, 5),
        source="the study",
        billing_seconds=0,
    )


# The study's notebook: 0.060 for 8 vCPU, 6.07 % more for Skylake, in proportion.
PRICES = [price(vcpus, 0.060 * 1.0607 * vcpus / 8) for vcpus in SIZES]


def study() -> Suite:
    """The runs of 2017 as one session: each wheel in four sizes."""
    contenders = [(spec, size) for spec in BUILDS for size in SIZES]
    subjects = [
        replace(
            subject(spec),
            setting=replace(
                SETTING,
                cpus=tuple(range(size)),
                intra_threads=size,
                inter_threads=size,
                omp_threads=size,
            ),
        )
        for spec, size in contenders
    ]

    def seconds(who: int, _round: int, name: str) -> float:
        spec, size = contenders[who]
        total, epochs = LOGGED[name, f"cpu{size}{BUILDS[spec]}"]
        return total / epochs

    found = suite(seconds, subjects=subjects, rounds=2, plan=QUICK)

    def epochs(name: str) -> int:
        return LOGGED[name, "k80"][1]

    runs = [
        replace(
            run,
            samples=tuple(replace(s, full_epochs=epochs(s.architecture)) for s in run.samples),
        )
        for run in found.runs
    ]
    return replace(found, runs=tuple(runs))


STUDY = study()
SIDES = [Side(suite=STUDY, subject=each) for each in range(len(STUDY.subjects))]
FOUND = {(one.wheel, one.architecture): one for one in curves(SIDES, PRICES)}


def test_there_is_a_curve_for_each_wheel_and_architecture_and_the_mean() -> None:
    assert list(FOUND) == [(spec, name) for spec in BUILDS for name in (*ARCHITECTURES, "")]
    for one in FOUND.values():
        assert [point.vcpus for point in one.points] == list(SIZES)
        assert one.currency == "USD"


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize("spec", list(BUILDS))
def test_times_and_costs_are_those_of_the_study(spec: str, name: str) -> None:
    one = FOUND[spec, name]
    for point in one.points:
        total, _ = LOGGED[name, f"cpu{point.vcpus}{BUILDS[spec]}"]
        assert point.seconds == pytest.approx(total, rel=1e-9)
        # 0.0636420 dollars an hour for 8 vCPU.
        assert point.amount == pytest.approx(total / 3600 * 0.063642 * point.vcpus / 8, rel=1e-9)
    # In the order of the sizes, as numbers to look at.
    totals = [LOGGED[name, f"cpu{size}{BUILDS[spec]}"][0] for size in SIZES]
    assert one.fastest == SIZES[totals.index(min(totals))]
    bills = [total * size for total, size in zip(totals, SIZES, strict=True)]
    assert one.cheapest == SIZES[bills.index(min(bills))]


@pytest.mark.parametrize(
    ("spec", "name", "fastest", "pareto"),
    [
        # Read off the table by eye: doubling the price never halves the time, so 8 vCPUs are always
        # cheapest, and a larger size is worth it only as long as it is faster.
        ("pip", "mnist_mlp", 32, (8, 16, 32)),  # 138.5, 95.2, 91.4, 91.8 s
        ("compiled", "mnist_mlp", 16, (8, 16)),  # 87.8, 70.0, 97.3, 85.3 s
        ("pip", "mnist_cnn", 32, (8, 16, 32)),  # 1116, 616, 408, 497 s
        ("compiled", "cifar10_cnn", 32, (8, 16, 32)),  # 2088, 1358, 1164, 1279 s
        ("pip", "imdb_fasttext", 32, (8, 16, 32)),  # 1756, 1043, 1021, 1269 s
    ],
)
def test_the_best_choices_of_2017(
    spec: str, name: str, fastest: int, pareto: tuple[int, ...]
) -> None:
    one = FOUND[spec, name]
    assert (one.fastest, one.cheapest, one.pareto) == (fastest, 8, pareto)


@pytest.mark.parametrize("spec", list(BUILDS))
def test_the_mean_over_architectures_is_geometric(spec: str) -> None:
    for place, size in enumerate(SIZES):
        totals = [LOGGED[name, f"cpu{size}{BUILDS[spec]}"][0] for name in ARCHITECTURES]
        product = math.prod(totals) ** (1 / 6)
        point = FOUND[spec, ""].points[place]
        assert point.seconds == pytest.approx(product, rel=1e-9)
        assert point.amount == pytest.approx(product / 3600 * 0.063642 * size / 8, rel=1e-9)


def test_a_size_without_a_price_has_a_time_alone() -> None:
    some = [one for one in PRICES if one.vcpus in {16, 32}]
    found = {(one.wheel, one.architecture): one for one in curves(SIDES, some)}
    one = found["pip", "mnist_mlp"]
    assert [point.amount is None for point in one.points] == [True, False, False, True]
    assert (one.fastest, one.cheapest, one.pareto) == (32, 16, (16, 32))
    assert found["pip", ""].points[0].amount is None


def test_without_prices_there_is_nothing_cheapest() -> None:
    one = curves(SIDES, [])[0]
    assert (one.fastest, one.cheapest, one.pareto, one.currency) == (32, None, (), None)


def points(*rows: tuple[int, float, float | None]) -> list[Point]:
    return [Point(vcpus=v, subject=0, seconds=s, amount=a) for v, s, a in rows]


@pytest.mark.parametrize(
    ("rows", "fastest", "cheapest", "pareto"),
    [
        ([(4, 10.0, 1.0), (2, 20.0, 1.0)], 4, 4, (4,)),  # as cheap and faster
        ([(2, 10.0, 1.0), (4, 10.0, 2.0)], 2, 2, (2,)),  # as fast and cheaper
        ([(2, 10.0, 1.0), (4, 10.0, 1.0)], 2, 2, (2, 4)),  # the same: none beats the other
        ([(2, 10.0, 3.0), (4, 9.0, 4.0), (8, 8.0, 2.0)], 8, 8, (8,)),  # one beats all
        ([(2, 30.0, 1.0), (4, 20.0, 2.0), (8, 25.0, 3.0)], 4, 2, (2, 4)),
        ([(2, 10.0, None)], 2, None, ()),
        ([(2, 10.0, 0.0), (4, 5.0, 0.0)], 4, 4, (4,)),  # free machines
    ],
)
def test_ties_and_gaps(
    rows: list[tuple[int, float, float | None]],
    fastest: int,
    cheapest: int | None,
    pareto: tuple[int, ...],
) -> None:
    one = curve("w", "a", points(*rows), "USD")
    assert (one.fastest, one.cheapest, one.pareto) == (fastest, cheapest, pareto)
    assert [point.vcpus for point in one.points] == sorted(row[0] for row in rows)


def swept(change: Callable[[int], object]) -> tuple[Curve, ...]:
    """One wheel with 1 and 2 CPUs in two settings each, which `change` makes from 0 to 3."""
    subjects = []
    for number in range(4):
        size = number % 2 + 1
        setting = replace(
            SETTING,
            cpus=tuple(range(size)),
            intra_threads=size,
            inter_threads=size,
            omp_threads=size,
        )
        subjects.append(replace(subject("w"), setting=replace(setting, **change(number))))  # type: ignore[arg-type]
    plan = replace(QUICK, architectures=("mnist_mlp",))
    made = suite(lambda who, _round, _name: 1.0 + who, subjects=subjects, plan=plan)
    return curves([Side(suite=made, subject=each) for each in range(4)])


def test_other_dimensions_make_curves_of_their_own() -> None:
    found = swept(lambda number: {"onednn": number > 1})
    assert [one.wheel for one in found] == ["w, oneDNN off", "w, oneDNN on"]
    assert [[point.subject for point in one.points] for one in found] == [[0, 1], [2, 3]]
    # Fixed threads are a setting of their own; threads that follow the CPUs are not.
    found = swept(lambda number: {"omp_threads": 7} if number > 1 else {})
    assert found[0].wheel == "w"
    # There is one size only of each of the others, which is no curve.
    assert len(found) == 1


def test_one_size_is_no_curve_and_the_control_is_left_out() -> None:
    assert curves(SIDES[:1]) == ()
    again = replace(
        STUDY, subjects=(*STUDY.subjects[:1], replace(STUDY.subjects[1], is_control=True))
    )
    assert curves([Side(suite=again, subject=each) for each in range(2)]) == ()


def test_whole_cores_are_rented() -> None:
    """Four cores with one thread each, on a machine with Hyper-Threading: 8 vCPUs are paid."""
    here = replace(STUDY.machine, cores_shared=tuple(f"{n},{n + 24}" for n in range(24)))
    assert sweep.rented(replace(SETTING, cpus=(0, 1, 2, 3)), here) == 8
    assert sweep.rented(replace(SETTING, cpus=(0, 24, 1, 25)), here) == 4
    assert sweep.rented(replace(SETTING, cpus=(0, 1, 2, 3)), STUDY.machine) == 4


def test_settings_in_words() -> None:
    assert words(SETTING) == ("3 threads",)
    odd = replace(SETTING, inter_threads=1, onednn=False, batch=64, xla=True, allocator="jemalloc")
    assert words(odd) == (
        "threads: 3 intra-op, 1 inter-op, 3 OpenMP",
        "oneDNN off",
        "batches of 64",
        "XLA",
        "jemalloc",
    )


def test_the_samples_of_these_tests_stand_for_what_they_say() -> None:
    assert sample("mnist_mlp", 7.0).study_epoch_seconds == pytest.approx(7.0)
