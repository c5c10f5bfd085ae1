"""Results made by hand for tests of reports: every kind that a report can meet."""

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from tests.unit.test_compare import QUICK, Seconds, drifting, subject, suite
from tfbuild import artifact, compare
from tfbuild.bench import ARCHITECTURES, Scale, Setting, Subject, Suite
from tfbuild.bench.suite import Peak, Script
from tfbuild.compare import Comparison, Contrast, Times
from tfbuild.concerns import Concern, Kind
from tfbuild.cost import Cost
from tfbuild.prices import Price
from tfbuild.roofline import Achieved
from tfbuild.stats import Estimate
from tfbuild.sweep import Curve, Point

RATIOS = dict(zip(ARCHITECTURES, (1.52, 0.81, 1.0, 1.2, 1.012, 1.95), strict=True))
LEVELS = dict(zip(ARCHITECTURES, (5.1, 96.0, 160.0, 88.0, 150.0, 130.0), strict=True))
HOSTILE = "\"><script>alert(1)</script>'&amp;|`_*[x](javascript:1)\u202e\x07\n@someone " + "x" * 300
PRICE = Price(
    provider="Google Cloud",
    region="us-central1",
    machine="n2-highcpu-2",
    device="cpu",
    vcpus=2,
    kind="spot",
    currency="USD",
    per_hour=0.0169,
    as_of=date(2026, 11, 2),
    source="https://cloud.google.com/spot-vms/pricing",
)


def noisy(ratios: Sequence[float] = (1.0, 1.31), spread: float = 0.02) -> Seconds:
    """Times near the study's, with noise from round to round; `ratios` scale each subject's."""
    rng = random.Random(7)
    drawn: dict[tuple[int, int, str], float] = {}

    def seconds(who: int, number: int, name: str) -> float:
        key = who, number, name
        if key not in drawn:
            factor = RATIOS[name] ** (who > 0) * ratios[who] / 1.31 ** (who > 0)
            drawn[key] = LEVELS[name] / factor * math.exp(rng.gauss(0, spread))
        return drawn[key]

    return seconds


def named(spec: str, distribution: str, version: str, **changes: object) -> Subject:
    made = replace(subject(spec, version), distribution=distribution)
    return replace(made, **changes)  # type: ignore[arg-type]  # names of its own fields


PIP = named("pip", "tensorflow-cpu", "2.8.4")
INTEL = named("intel-tensorflow==2.8.0", "intel-tensorflow", "2.8.0")
OWN = named("compiled", "tensorflow-cpu", "2.8.4+zen")


def two(rounds: int = 6) -> Suite:
    """Two wheels, six rounds."""
    made = suite(noisy(), subjects=[PIP, INTEL], rounds=rounds)
    words = ("tfbuild", "compare", "pip", "intel-tensorflow==2.8.0", "--seed", "3")
    runs = tuple(replace(run, startup_seconds=2.5 + run.subject) for run in made.runs)
    return replace(made, command=words, runs=runs)


def several() -> Suite:
    """Three wheels and the control."""
    again = replace(PIP, is_control=True)
    rates = noisy((1.0, 1.31, 1.1, 1.31))
    rng = random.Random(2)

    def seconds(who: int, number: int, name: str) -> float:
        if who < 3:
            return rates(who, number, name)
        return rates(0, number, name) * math.exp(rng.gauss(0, 0.005))

    return suite(seconds, subjects=[PIP, INTEL, OWN, again], rounds=6)


def alone() -> Suite:
    return suite(noisy((1.0,)), subjects=[PIP])


def one_round() -> Suite:
    return two(rounds=1)


def unfinished() -> Suite:
    made = two()
    return replace(made, finished_at=None, runs=made.runs[:6])


def single() -> Suite:
    plan = replace(QUICK, architectures=("mnist_cnn",))
    return suite(noisy(), subjects=[PIP, INTEL], plan=plan)


def script() -> Suite:
    """A user's own script."""
    own = Script(
        name="train_resnet", path="train_resnet.py", sha256="1" * 64, arguments=("-e", "2")
    )
    plan = replace(QUICK, architectures=("train_resnet",), script=own)
    rates = noisy()
    return suite(
        lambda who, number, _: rates(who, number, "mnist_cnn"), subjects=[PIP, INTEL], plan=plan
    )


def settings() -> Suite:
    """Two wheels on 1, 2, 4 and 8 CPUs, with the limits of each."""
    subjects = [replace(each, setting=with_cpus(n)) for n in (1, 2, 4, 8) for each in (PIP, INTEL)]
    rates = noisy()

    def seconds(who: int, number: int, name: str) -> float:
        level: float = rates(who % 2, number, name) / (who // 2 + 1) ** 0.8
        return level

    return suite(seconds, subjects=subjects, rounds=4)


def with_cpus(count: int) -> Setting:
    return Setting(
        cpus=tuple(range(count)), intra_threads=count, inter_threads=count, omp_threads=count
    )


def hostile() -> Suite:
    """Names that would be markup, in every field that a stranger may fill."""
    bad = named(HOSTILE, HOSTILE, HOSTILE, packages=(HOSTILE,), keras=HOSTILE, python=HOSTILE)
    plan = replace(QUICK, scale=Scale.SMOKE)
    made = suite(noisy(), subjects=[bad, INTEL], plan=plan)
    here = replace(made.machine, brand=HOSTILE, kernel=HOSTILE)
    return replace(
        made,
        machine=here,
        notes=(HOSTILE,),
        command=("tfbuild", "compare", HOSTILE),
        settings=({"OMP_NUM_THREADS": HOSTILE}, {}),
        tfbuild=HOSTILE,
    )


SUITES = {
    "two": two,
    "several": several,
    "alone": alone,
    "one_round": one_round,
    "unfinished": unfinished,
    "single": single,
    "script": script,
    "settings": settings,
    "hostile": hostile,
}


def save(made: Suite, folder: Path, name: str = "x") -> Path:
    """Save a session and return its file."""
    return artifact.save(made, folder / f"{name}.suite.json")


def full(folder: Path) -> Path:
    """Save a comparison that has everything: cost, roofline, curves; return its file."""
    peaks = (
        Peak(gflops=98.0, gbytes=21.0, product_size=2048, array_bytes=2**28),
        Peak(gflops=121.0, gbytes=22.0, product_size=2048, array_bytes=2**28),
    )
    made = replace(two(), peaks=peaks)
    save(made, folder, "full")
    found = compare.of_suite(made, samples=["full.suite.json"])
    contrasts = tuple(_priced(each) for each in found.contrasts)
    found = replace(found, contrasts=contrasts, curves=curves())
    return artifact.save(found, folder / "full.comparison.json")


def _priced(contrast: Contrast) -> Contrast:
    rows = tuple(
        replace(
            row,
            bootstrap=_narrower(row.speedup),
            baseline=_with(row.baseline, 98.0, 21.0, place),
            candidate=_with(row.candidate, 121.0, 22.0, place),
        )
        for place, row in enumerate(contrast.rows)
    )
    concern = Concern(kind=Kind.OTHER_TENSORFLOW, what="2.8.4 against 2.8.0.", do="Both at once.")
    return replace(
        contrast,
        rows=rows,
        overall_bootstrap=_narrower(contrast.overall),
        concerns=(concern,),
    )


def _narrower(found: Estimate) -> Estimate:
    """Stand for another interval of the same ratio."""
    assert found.low is not None
    assert found.high is not None
    return replace(found, low=found.low * 1.001, high=found.high / 1.001)


def _with(times: Times, peak: float, bandwidth: float, place: int) -> Times:
    seconds = times.seconds * 20
    amount = seconds * PRICE.per_hour / 3600
    cost = Cost(price=PRICE, seconds=seconds, amount=amount, of_k80=amount / (0.004 + 0.01 * place))
    intensity = (14.0, 60.0, 55.0, 0.6, 9.0, 8.5)[place]
    roof = min(peak, intensity * bandwidth)
    share = (0.35, 0.62, 0.58, 0.2, 0.31, 0.28)[place]
    achieved = Achieved(
        coverage=1.0,
        gflops=roof * share,
        intensity=intensity,
        roof=roof,
        fraction=share,
        bound="compute" if roof == peak else "memory",
    )
    if place == 3:
        achieved = replace(achieved, coverage=0.4, gflops=None, fraction=None, bound=None)
    return replace(times, cost=cost, achieved=achieved)


def curves() -> tuple[Curve, ...]:
    """Time and cost against vCPUs, for two wheels and three architectures."""
    made = []
    for wheel, speed in (("pip", 1.0), ("intel-tensorflow==2.8.0", 1.3)):
        for name, share in (("", 0.8), ("mnist_cnn", 0.92), ("lstm_text_generation", 0.35)):
            points = tuple(
                Point(
                    vcpus=n,
                    subject=0,
                    seconds=3600 / speed * (1 - share + share / n),
                    amount=0.01 * n / speed * (1 - share + share / n),
                )
                for n in (1, 2, 4, 8)
            )
            made.append(
                Curve(
                    wheel=wheel,
                    architecture=name,
                    points=points,
                    fastest=8,
                    cheapest=1,
                    pareto=(1, 2, 4, 8),
                    currency="USD",
                )
            )
    return tuple(made)


def comparison(path: Path) -> Comparison:
    return artifact.load(Comparison, path)


__all__ = ["RATIOS", "SUITES", "drifting"]
