"""How much of a machine's measured peak a training reached."""

import math
from dataclasses import dataclass, replace

from tfbuild import stats
from tfbuild.bench.suite import Peak, Sample, Side, Subject
from tfbuild.roofline import flops, traffic
from tfbuild.roofline.flops import Operations
from tfbuild.roofline.traffic import Traffic

LEAST_COVERAGE = 0.95


@dataclass(frozen=True, kw_only=True)
class Achieved:
    """One architecture in one contender, against the machine's peak."""

    coverage: float
    """Share of the model's weights in layers with a formula, 0 to 1; weightless layers aside."""
    gflops: float | None
    """10^9 floating-point operations a second in timed epochs; None below the least coverage."""
    intensity: float | None
    """Operations for each byte that has to be moved at least: an upper bound."""
    roof: float | None
    """The least of peak and intensity times bandwidth, 10^9 operations a second."""
    fraction: float | None
    """`gflops` over `roof`; None below the least coverage, or without a measured peak."""
    bound: str | None
    """"compute" or "memory": which of the two is the roof."""


def of(side: Side, architecture: str) -> Achieved | None:
    """Return how close to its limit one architecture came, over all rounds of one contender.

    None where no layers were told (an older result, a script without a Keras model), and where none
    of them computes anything that is counted.
    """
    samples = [run.sample(architecture) for run in side.runs]
    layers = next((each.layers for each in samples if each.layers), ())
    operations = flops.of_layers(layers)
    if operations.coverage == 0:
        return None
    if operations.coverage >= LEAST_COVERAGE and operations.forward == 0:
        return None
    if operations.coverage < LEAST_COVERAGE:
        return _without_figures(operations)
    gflops = stats.geometric_mean(
        [_operations(each, operations) / stats.mean(each.epoch_seconds) / 1e9 for each in samples]
    )
    return _under_roof(
        operations,
        gflops,
        _intensity(samples[0], operations, traffic.of_layers(layers)),
        _peak(side),
    )


def _without_figures(operations: Operations) -> Achieved:
    return Achieved(
        coverage=operations.coverage,
        gflops=None,
        intensity=None,
        roof=None,
        fraction=None,
        bound=None,
    )


def _under_roof(
    operations: Operations, gflops: float, intensity: float | None, peak: Peak | None
) -> Achieved:
    roof = bound = None
    if peak is not None and intensity is not None:
        by_memory = intensity * peak.gbytes
        roof, bound = min((peak.gflops, "compute"), (by_memory, "memory"))
    return Achieved(
        coverage=operations.coverage,
        gflops=gflops,
        intensity=intensity,
        roof=roof,
        fraction=gflops / roof if roof else None,
        bound=bound,
    )


def _peak(side: Side) -> Peak | None:
    """Return the machine's peak on the contender's CPUs, with as many threads.

    A measured peak is a lower bound, lowest where others used the machine meanwhile. So the best
    counts of all that were measured in the session on the same CPUs, by whichever libraries.
    """
    mine = _place(side.who)
    measured = zip(side.suite.subjects, side.suite.peaks, strict=False)
    known = [peak for who, peak in measured if peak is not None and _place(who) == mine]
    if not known:
        return None
    best = max(known, key=lambda peak: peak.gflops)
    return replace(best, gbytes=max(peak.gbytes for peak in known))


def _place(who: Subject) -> tuple[object, ...]:
    own = who.setting
    return own.cpus, own.numa_node, own.intra_threads


def _operations(sample: Sample, operations: Operations) -> float:
    """Return the operations of one timed epoch, validation included."""
    return (
        sample.train_samples * operations.training + sample.validation_samples * operations.forward
    )


def _intensity(sample: Sample, operations: Operations, moved: Traffic) -> float | None:
    if sample.batch_size < 1:
        return None
    batch = sample.batch_size
    steps = sample.train_samples / batch
    # The last batch of validation may be smaller, and reads all weights all the same.
    checks = math.ceil(sample.validation_samples / batch)
    share = sample.validation_samples / (checks * batch) if checks else 0
    moved_bytes = steps * moved.training(batch) + checks * moved.validation(round(share * batch))
    return _operations(sample, operations) / moved_bytes if moved_bytes else None
