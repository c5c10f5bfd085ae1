"""Numbers and names in words, short and safe to show."""

import re
from collections.abc import Sequence

from tfbuild.bench.suite import Subject
from tfbuild.prices import Price
from tfbuild.stats import Estimate, Verdict

TITLES = {
    "mnist_mlp": "MNIST, dense layers",
    "mnist_cnn": "MNIST, convolutions",
    "cifar10_cnn": "CIFAR-10, convolutions",
    "imdb_fasttext": "IMDb, fastText",
    "imdb_bidirectional_lstm": "IMDb, bidirectional LSTM",
    "lstm_text_generation": "Text generation, LSTM",
}
"""What the study trained, for readers who do not know its names."""
MEAN = "Geometric mean"
NONE = "\N{EN DASH}"
"""Stands where there is no value."""
TIMES = "\N{MULTIPLICATION SIGN}"
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\uffff\ud800-\udfff]"
)
_LONG = 40
"""Letters of a name; longer ones are cut in labels, and stand whole in the table."""
_DIGITS = ((100, 0), (10, 1), (1, 2), (0.1, 3), (0.01, 4), (0.001, 5), (1e-4, 6))


def safe(text: str) -> str:
    """Return a text without characters that are not seen, but turn or end what stands beside."""
    return _UNSAFE.sub("\ufffd", text)


def cut(text: str, letters: int) -> str:
    """Return at most so many letters; what is left out in the middle shows as an ellipsis."""
    text = safe(text)
    if len(text) <= letters:
        return text
    tail = (letters - 1) // 3
    return f"{text[: letters - 1 - tail]}…{text[-tail:]}"


def title(architecture: str) -> str:
    """Return an architecture's name for people; a user's script keeps its own."""
    return TITLES.get(architecture, architecture or MEAN)


def number(value: float) -> str:
    """Return three significant digits, and no more than six characters for usual values."""
    if value == 0:
        return "0"
    for limit, digits in _DIGITS:
        if abs(value) >= limit:
            return f"{value:.{digits}f}" if abs(value) < 1e6 else f"{value:.2e}"  # noqa: PLR2004
    return f"{value:.2e}"


def times_as(value: float) -> str:
    """Return "1.31"; extreme ratios keep three digits."""
    return f"{value:.2f}" if 0.1 <= value < 100 else number(value)  # noqa: PLR2004


def ratio(value: float) -> str:
    """Return the number with the sign of multiplication."""
    return f"{times_as(value)}{TIMES}"


def axis(value: float) -> str:
    """Return a label of an axis: no digit more than needed."""
    return f"{value:g}" if 1e-4 <= abs(value) < 1e6 or value == 0 else f"{value:.0e}"  # noqa: PLR2004


def percent(value: float) -> str:
    """Return "45 %", from 0.45."""
    return f"{100 * value:.3g} %" if value < 1 else f"{100 * value:.0f} %"


def interval(estimate: Estimate) -> str:
    """Return "1.20 to 1.40", or a dash where one pair gives none."""
    if estimate.low is None or estimate.high is None:
        return NONE
    return f"{times_as(estimate.low)} to {times_as(estimate.high)}"


def estimate(value: Estimate) -> str:
    """Return the ratio, and its interval in brackets."""
    around = "" if value.low is None else f" ({interval(value)})"
    return f"{ratio(value.ratio)}{around}"


def rounds(count: int) -> str:
    """Return "1 round" or "6 rounds"."""
    return f"{count} round{'' if count == 1 else 's'}"


def money(amount: float, currency: str) -> str:
    """Return "USD 0.0123"."""
    return f"{currency} {number(amount)}"


def price(value: Price) -> str:
    """Return a price in words, with its date and its source."""
    return (
        f"{value.machine} ({value.vcpus} vCPU{'' if value.vcpus == 1 else 's'}), "
        f"{value.provider} {value.region}, {value.kind}: "
        f"{money(value.per_hour, value.currency)} an hour on {value.as_of.isoformat()}; "
        f"{value.source}"
    )


def claim(better: str, than: str, found: Estimate, verdict: Verdict, noise: float) -> str:
    """Return the answer as one sentence.

    Args:
        better: the candidate's label.
        than: the baseline's.
        found: the speedup.
        verdict: what may be said of it.
        noise: share below which a difference counts as none.
    """
    sure = f"95 % interval {interval(found)}"
    ratio = f"{times_as(found.ratio)} times"
    if found.low is None:
        return (
            f"In one round, {better} was {ratio} as fast as {than} on this machine; one round "
            "cannot tell how sure that is"
        )
    if verdict is Verdict.EQUIVALENT:
        return (
            f"{better} is as fast as {than} on this machine, within {percent(noise)} "
            f"({ratio}, {sure})"
        )
    if verdict is Verdict.INCONCLUSIVE:
        return (
            f"It is not clear whether {better} is faster than {than} on this machine "
            f"({ratio} as fast, {sure})"
        )
    return f"{better} is {ratio} as fast as {than} on this machine ({sure})"


def labels(subjects: Sequence[Subject]) -> list[str]:
    """Return a short name for each contender that tells it from all others."""
    packages = [package(each) for each in subjects]
    specs: dict[str, set[str]] = {}
    for name, subject in zip(packages, subjects, strict=True):
        specs.setdefault(name, set()).add(subject.spec)
    found = []
    for name, subject, setting in zip(packages, subjects, differing(subjects), strict=True):
        spec = [cut(subject.spec.rpartition("/")[2], _LONG)] if len(specs[name]) > 1 else []
        again = ["control"] if subject.is_control else []
        apart = ", ".join((*spec, *setting, *again))
        found.append(f"{name} ({apart})" if apart else name)
    seen: dict[str, int] = {}
    for place, name in enumerate(found):
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            found[place] = f"{name}, no. {seen[name]}"
    return found


def package(subject: Subject) -> str:
    """Return "tensorflow-cpu 2.8.4"."""
    return f"{cut(subject.distribution, _LONG)} {cut(subject.version, _LONG)}"


def apart(labels: Sequence[str], subjects: Sequence[Subject]) -> list[str]:
    """Return labels without the package, where all have the same one."""
    names = {package(each) for each in subjects}
    if len(labels) < 2 or len(names) > 1:  # noqa: PLR2004
        return list(labels)
    start = f"{names.pop()} ("
    if not all(each.startswith(start) and each.endswith(")") for each in labels):
        return list(labels)
    return [each[len(start) : -1] for each in labels]


def differing(subjects: Sequence[Subject]) -> list[tuple[str, ...]]:
    """Return, for each, what it has in its setting that not all have."""
    described = [described_setting(each) for each in subjects]
    return [
        tuple(
            text
            for key, text in each.items()
            if text and len({other[key] for other in described}) > 1
        )
        for each in described
    ]


def described_setting(subject: Subject) -> dict[str, str]:
    """Return a setting in words, by what it sets."""
    own = subject.setting
    count = len(own.cpus)
    threads = {own.intra_threads, own.inter_threads, own.omp_threads}
    return {
        "cpus": f"{count} vCPU{'' if count == 1 else 's'}",
        "threads": (
            ""
            if threads == {count}
            else f"{own.intra_threads} threads"
            if len(threads) == 1
            else f"threads {own.intra_threads}/{own.inter_threads}/{own.omp_threads}"
        ),
        "numa": "any NUMA node" if own.numa_node is None else f"NUMA node {own.numa_node}",
        "onednn": "oneDNN default" if own.onednn is None else f"oneDNN {_switch(own.onednn)}",
        "batch": "study's batch" if own.batch is None else f"batch {own.batch}",
        "xla": f"XLA {_switch(own.xla)}",
        "allocator": f"{own.allocator} allocator",
    }


def _switch(is_on: bool) -> str:
    return "on" if is_on else "off"
