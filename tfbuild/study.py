"""The table of the 2017 study: six architectures on nine machines, time and cost against a K80."""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import ClassVar

from tfbuild import cost, prices, reference
from tfbuild.cost import Price

SOURCE = (
    "Max Woolf, Benchmarking TensorFlow on Cloud CPUs: Cheaper Deep Learning than Cloud GPUs, "
    "2017, https://minimaxir.com/2017/07/cpu-or-gpu/; logs: "
    "https://github.com/minimaxir/deep-learning-cpu-gpu-benchmark, commit 08adcf4 (MIT)"
)
_ONE_RUN = (
    "Each time is one run, all epochs with their validation, TensorFlow 1.2 on Google Compute "
    "Engine: no repeats, so no intervals."
)
_UNLIKE = (
    "The CPUs' prices are preemptible ones and the K80's is on demand, as in the study. On demand "
    "the same CPUs cost about five times as much, so the cost ratios would be five times as high."
)
_OTHER_PRICES = (
    "The CPUs' prices are those of the file that was named; the K80's is still that of 2017, on "
    "demand."
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One training run of 2017."""

    architecture: str
    platform: str
    """"k80", or "cpu<vcpus>pip" / "cpu<vcpus>cmp"."""
    device: str
    """"cpu" or "gpu"."""
    vcpus: int
    build: str
    """"pip", the prebuilt wheel, or "compiled"."""
    epochs: int
    seconds: float
    """Of the whole run."""
    seconds_of_k80: float
    """Over the K80's: less than 1 is faster than the K80."""
    machine: str | None
    """What the price is of; None where there is none."""
    price_kind: str | None
    per_hour: float | None
    amount: float | None
    """What the run cost."""
    currency: str | None
    amount_of_k80: float | None
    """Over what the K80's run cost; None without a price, or in a currency other than its."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """The whole table, in the study's order of machines."""

    SCHEMA: ClassVar[str] = "tfbuild.study"
    VERSION: ClassVar[int] = 1

    source: str
    notes: tuple[str, ...]
    prices: tuple[Price, ...]
    rows: tuple[Row, ...]


def table(chosen: Sequence[Price] | None = None) -> Study:
    """Return the 54 rows.

    Args:
        chosen: other prices for the CPUs, one for each size; the study's own if None.
    """
    cpus = tuple(prices.bundled() if chosen is None else chosen)
    is_own = set(cpus) <= set(prices.bundled())
    used = {prices.k80().machine: prices.k80()}
    rows = []
    for run in reference.runs().values():
        price = prices.k80() if run.device == "gpu" else prices.fitting(cpus, run.vcpus)
        if price is not None:
            used.setdefault(price.machine, price)
        rows.append(_row(run, price))
    return Study(
        source=SOURCE,
        notes=(_ONE_RUN, _UNLIKE if is_own else _OTHER_PRICES),
        prices=tuple(used.values()),
        rows=tuple(rows),
    )


def to_csv(study: Study) -> str:
    """Return the rows as CSV with a line of names; figures with all their digits."""
    out = io.StringIO()
    writer = csv.DictWriter(out, [field.name for field in fields(Row)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in study.rows)
    return out.getvalue()


def _row(run: reference.Run, price: Price | None) -> Row:
    spent = None if price is None else cost.of_run(run.architecture, run.total_seconds, price)
    k80 = reference.runs()[run.architecture, reference.GPU]
    return Row(
        architecture=run.architecture,
        platform=run.platform,
        device=run.device,
        vcpus=run.vcpus,
        build=run.build,
        epochs=run.epochs,
        seconds=run.total_seconds,
        seconds_of_k80=run.total_seconds / k80.total_seconds,
        machine=None if price is None else price.machine,
        price_kind=None if price is None else price.kind,
        per_hour=None if price is None else price.per_hour,
        amount=None if spent is None else spent.amount,
        currency=None if price is None else price.currency,
        amount_of_k80=None if spent is None else spent.of_k80,
    )
