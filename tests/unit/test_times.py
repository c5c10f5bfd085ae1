"""What stands beside the seconds: 2017, cost, closeness to the limit, curves."""

from dataclasses import replace
from datetime import date

import pytest

from tests.unit.test_compare import QUICK, flat, in_setting, subject, suite
from tfbuild import stats
from tfbuild.bench import Suite
from tfbuild.bench.suite import Layer, Peak, Script, Side
from tfbuild.compare import compare, of_suite
from tfbuild.prices import Price
from tfbuild.times import Times, times

PRICE = Price(
    provider="X",
    region="Y",
    machine="x-2",
    device="cpu",
    vcpus=2,
    kind="on-demand",
    currency="USD",
    per_hour=0.36,
    as_of=date(2026, 11, 1),
    source="test",
)


def found(one: Suite, *prices: Price) -> Times:
    return times(Side(suite=one, subject=0), prices)[0]


def script(one: Suite) -> Suite:
    """The same, trained by a user's script that is called like one of the six."""
    name = one.plan.architectures[0]
    given = Script(name=name, path=f"{name}.py", sha256="0" * 64)
    return replace(one, plan=replace(one.plan, architectures=(name,), script=given))


def test_a_run_of_the_study_has_its_price() -> None:
    """20 epochs of 10 s are 200 s, at 0.0001 dollars a second."""
    cost = found(suite(flat), PRICE).cost
    assert cost is not None
    assert cost.price == PRICE
    assert (cost.seconds, cost.amount) == pytest.approx((200, 0.02))
    assert cost.of_k80 is not None


def test_without_a_price_for_this_size_there_is_no_cost() -> None:
    assert found(suite(flat)).cost is None
    assert found(suite(flat), replace(PRICE, vcpus=4)).cost is None


def test_a_script_has_no_figures_of_2017_whatever_its_name() -> None:
    one = suite(flat)
    six, own = found(one, PRICE), found(script(one), PRICE)
    assert None not in {six.k80_2017, six.cpu_pip_2017, six.cpu_compiled_2017, six.of_k80}
    assert {own.k80_2017, own.cpu_pip_2017, own.cpu_compiled_2017, own.of_k80} == {None}
    assert own.cost is not None
    assert own.cost.amount == pytest.approx(0.02)
    assert own.cost.of_k80 is None


def test_prices_reach_both_sides_of_a_comparison() -> None:
    one = suite(lambda who, *_: 10.0 * (1 + who))
    sides = [Side(suite=one, subject=each) for each in range(2)]
    for made in (of_suite(one, prices=[PRICE]), compare(sides[0], sides[1:], prices=[PRICE])):
        row = made.contrasts[0].rows[0]
        assert row.baseline.cost is not None
        assert row.candidate.cost is not None
        assert row.candidate.cost.amount == pytest.approx(0.04)


def test_a_product_of_known_size_reaches_a_known_share_of_the_peak() -> None:
    """Dense 10 to 20, 128 samples a batch: the formulas are tested with the roofline."""
    layer = Layer(kind="Dense", name="d", input=(10,), output=(20,), weights=((10, 20), (20,)))
    one = suite(flat)
    samples = tuple(replace(each, layers=(layer,)) for each in one.runs[0].samples)
    told = replace(one, runs=(replace(one.runs[0], samples=samples), *one.runs[1:]))
    assert found(one).achieved is None
    peak = Peak(gflops=10.0, gbytes=5.0, product_size=1024, array_bytes=1)
    achieved = found(replace(told, peaks=(peak, peak))).achieved
    assert achieved is not None
    assert achieved.coverage == 1
    assert achieved.gflops is not None
    assert achieved.fraction is not None
    assert 0 < achieved.fraction < 1


def test_a_sweep_over_sizes_has_curves() -> None:
    subjects = [in_setting("a", 1), in_setting("a", 2)]
    small, large = (
        replace(
            each,
            setting=replace(each.setting, cpus=tuple(range(n)), inter_threads=n, omp_threads=n),
        )
        for n, each in enumerate(subjects, 1)
    )
    one = suite(lambda who, *_: 10.0 - 4 * who, subjects=[small, large])
    assert of_suite(suite(flat)).curves == ()
    curves = of_suite(one, prices=[PRICE, replace(PRICE, vcpus=1, per_hour=0.18)]).curves
    by_name = {each.architecture: each for each in curves}
    assert [point.vcpus for point in by_name["mnist_mlp"].points] == [1, 2]
    assert by_name["mnist_mlp"].fastest == 2


@pytest.mark.parametrize("rounds", [9, 10])
def test_the_bootstrap_stands_beside_students_interval_where_pairs_suffice(rounds: int) -> None:
    plan = replace(QUICK, architectures=("mnist_mlp", "mnist_cnn"))

    def seconds(who: int, number: int, name: str) -> float:
        return 10.0 + who + (number * (7 + who) % 11) / 10 + (name == "mnist_cnn") * number % 5

    one = replace(suite(seconds, rounds=rounds, plan=plan), level=0.96)
    contrast = of_suite(one).contrasts[0]
    expected = [
        stats.bootstrap(one.seconds(0, name), one.seconds(1, name), 0.96)
        for name in plan.architectures
    ]
    assert [row.bootstrap for row in contrast.rows] == expected
    shown = [*expected, contrast.overall_bootstrap]
    assert [each is not None for each in shown] == [rounds == 10] * 3


def test_sessions_apart_have_no_bootstrap() -> None:
    one = suite(flat, subjects=[subject("a")], rounds=10)
    other = suite(lambda _who, number, _name: 10.0 + number, subjects=[subject("b")], rounds=10)
    made = compare(Side(suite=one, subject=0), [Side(suite=other, subject=0)])
    assert {row.bootstrap for row in made.contrasts[0].rows} == {None}
    assert made.contrasts[0].overall_bootstrap is None
