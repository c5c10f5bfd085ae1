"""The figures of 2017 against what is known of them from elsewhere."""

import pytest

from tfbuild import reference
from tfbuild.bench import ARCHITECTURES

# Sums over the epochs of the study's public logs, added up independently: K80 seconds, then for
# 8, 16, 32 and 64 vCPU the seconds of the pip wheel, of the compiled one, and their ratio.
GOLDEN = {
    "mnist_mlp": (
        65.1,
        [(138.5, 87.8, 1.58), (95.2, 70.0, 1.36), (91.4, 97.3, 0.94), (91.8, 85.3, 1.08)],
    ),
    "mnist_cnn": (
        172.7,
        [(1116.2, 634.1, 1.76), (616.0, 426.5, 1.44), (408.2, 397.6, 1.03), (497.4, 504.9, 0.99)],
    ),
    "cifar10_cnn": (
        763.2,
        [
            (3151.5, 2088.4, 1.51),
            (1971.3, 1357.6, 1.45),
            (1373.5, 1163.6, 1.18),
            (1449.1, 1279.4, 1.13),
        ],
    ),
    "imdb_fasttext": (
        331.5,
        [
            (1756.3, 1325.2, 1.33),
            (1043.3, 1035.6, 1.01),
            (1021.3, 1130.5, 0.90),
            (1269.1, 1219.2, 1.04),
        ],
    ),
    "imdb_bidirectional_lstm": (
        1229.4,
        [(627.1, 577.3, 1.09), (560.5, 516.3, 1.09), (509.7, 549.2, 0.93), (545.1, 565.8, 0.96)],
    ),
    "lstm_text_generation": (
        957.4,
        [
            (1877.9, 1325.5, 1.42),
            (1776.2, 1245.2, 1.43),
            (1273.0, 1414.4, 0.90),
            (1421.1, 1346.5, 1.06),
        ],
    ),
}


def total(architecture: str, platform: str) -> float:
    run = reference.runs()[architecture, platform]
    return run.epochs * run.epoch_seconds


def test_every_architecture_has_every_platform() -> None:
    platforms = {"k80"} | {f"cpu{n}{b}" for n in (8, 16, 32, 64) for b in ("pip", "cmp")}
    assert set(reference.runs()) == {(a, p) for a in ARCHITECTURES for p in platforms}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_totals_and_speedups_of_the_study(architecture: str) -> None:
    k80, cpus = GOLDEN[architecture]
    assert total(architecture, "k80") == pytest.approx(k80, abs=0.051)
    for vcpus, (pip, compiled, speedup) in zip((8, 16, 32, 64), cpus, strict=True):
        a, b = total(architecture, f"cpu{vcpus}pip"), total(architecture, f"cpu{vcpus}cmp")
        assert (a, b) == pytest.approx((pip, compiled), abs=0.052)
        assert a / b == pytest.approx(speedup, abs=0.0051)
