"""Operations and bytes by formula; every expected number is worked out by hand."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.test_compare import suite
from tfbuild import roofline
from tfbuild.bench.suite import Layer, Peak, Side
from tfbuild.roofline import flops, traffic


def layer(kind: str, *weights: tuple[int, ...], **more: Any) -> Layer:
    fields = {"name": kind.lower(), "input": (), "output": (), **more}
    return Layer(kind=kind, weights=weights, **fields)


DENSE = layer("Dense", (784, 512), (512,), input=(784,), output=(512,))
LSTM = layer("LSTM", (57, 512), (128, 512), (512,), input=(40, 57), output=(128,))


@pytest.mark.parametrize(
    ("told", "forward"),
    [
        # 784 products and additions for each of 512 outputs, and its bias.
        (DENSE, 512 * (2 * 784 + 1)),
        (layer("Dense", (8, 4), input=(3, 8), output=(3, 4)), 3 * 4 * 2 * 8),
        # 26 x 26 places, 32 filters, windows of 3 x 3 x 1.
        (
            layer("Conv2D", (3, 3, 1, 32), (32,), input=(28, 28, 1), output=(26, 26, 32)),
            26 * 26 * 32 * (2 * 9 + 1),
        ),
        # Two groups: each output sees half of 8 channels.
        (
            layer("Conv1D", (5, 4, 6), input=(20, 8), output=(16, 6)),
            16 * 6 * 2 * 5 * 4,
        ),
        (
            layer("DepthwiseConv2D", (3, 3, 8, 2), (16,), input=(10, 10, 8), output=(8, 8, 16)),
            8 * 8 * 16 * (2 * 9 + 1),
        ),
        (
            layer(
                "SeparableConv2D", (3, 3, 8, 2), (1, 1, 16, 5), (5,),
                input=(10, 10, 8), output=(8, 8, 5),
            ),
            8 * 8 * (16 * 2 * 9 + 5 * 2 * 16 + 5),
        ),
        # Every one of 4 x 4 x 3 inputs goes to 2 x 2 x 6 outputs.
        (
            layer("Conv2DTranspose", (2, 2, 6, 3), input=(4, 4, 3), output=(8, 8, 6)),
            4 * 4 * 3 * 2 * 2 * 2 * 6,
        ),
        # 40 steps: four gates of 128 from 57 inputs and 128 states, biases, the two sums of
        # products, then two products and a sum for c, one product for h.
        (LSTM, 40 * (4 * 128 * 2 * (57 + 128) + 4 * 128 + 4 * 128 + 4 * 128)),
        (
            layer("SimpleRNN", (6, 5), (5, 5), (5,), input=(7, 6), output=(5,)),
            7 * (5 * 2 * (6 + 5) + 5 + 5),
        ),
        # Two biases; r h, three sums of products, 1 - z and two products and a sum.
        (
            layer("GRU", (6, 15), (5, 15), (2, 15), input=(7, 6), output=(5,)),
            7 * (15 * 2 * (6 + 5) + 2 * 15 + 5 * (1 + 3 + 4)),
        ),
        (
            layer(
                "Bidirectional(LSTM)",
                *[(128, 256), (64, 256), (256,)] * 2,
                input=(100, 128), output=(128,),
            ),
            2 * 100 * (256 * 2 * (128 + 64) + 256 * 3),
        ),
        (
            layer("TimeDistributed(Dense)", (10, 4), (4,), input=(12, 10), output=(12, 4)),
            12 * 4 * (2 * 10 + 1),
        ),
        # 2 heads of 8 over 12 queries and 20 values of 16: four projections; scores; sums.
        (
            layer(
                "MultiHeadAttention",
                (16, 2, 8), (2, 8), (16, 2, 8), (2, 8), (16, 2, 8), (2, 8), (2, 8, 16), (16,),
                input=(12, 16), output=(12, 16), options={"value_length": "20"},
            ),
            2 * 16 * 16 * (12 + 20 + 20 + 12) + 16 * (12 + 20 + 20 + 12) + 2 * 2 * 12 * 20 * 16,
        ),
        (layer("Embedding", (20_000, 128), input=(100,), output=(100, 128)), 0),
        (
            layer("MaxPooling2D", input=(24, 24, 64), output=(12, 12, 64), options={"pool": "4"}),
            24 * 24 * 64,
        ),
        (layer("GlobalAveragePooling1D", input=(400, 50), output=(50,)), 400 * 50),
        (layer("BatchNormalization", (8,), (8,), (8,), (8,), input=(4, 8), output=(4, 8)), 64),
        (replace(DENSE, options={"calls": "3"}), 3 * 512 * (2 * 784 + 1)),
    ],
    ids=lambda value: f"{value.kind}-{len(value.weights)}" if isinstance(value, Layer) else "",
)  # fmt: skip
def test_operations_forward(told: Layer, forward: int) -> None:
    work = flops.work_of(told)
    assert work is not None
    assert work.forward == forward


@pytest.mark.parametrize(
    "told",
    [
        layer("EinsumDense", (4, 4), input=(4,), output=(4,)),
        layer("Dense", (4, 4)),
        layer("Dense", input=(4,), output=(4,)),
        layer("Dense", (4, 4, 4), input=(4,), output=(4,)),
        replace(LSTM, input=(None, 57)),
        replace(LSTM, weights=((57, 128), (128, 128))),
        layer("Bidirectional(ConvLSTM2D)", (3, 3, 4, 8), input=(4,), output=(4,)),
        layer("MyWrapper(Dense)", (4, 4), input=(4,), output=(4,)),
        layer("MaxPooling2D", input=(4, 4, 1), output=(2, 2, 1), options={"pool": "two"}),
        layer("Dense", (4, 4), input=(4,), output=(-4,)),
        layer("Dense", (4, 4), input=(4,), output=(2**62,) * 20),
        layer("Dense", (4, 4), input=(4,), output=(4,), options={"calls": "9" * 400}),
        layer("SeparableConv2D", (3, 3, 4, 1), (0,), input=(4, 4, 4), output=(4, 4, 4)),
    ],
    ids=range(13),
)
def test_what_has_no_formula_or_no_size_is_left_out(told: Layer) -> None:
    assert flops.work_of(told) is None


def test_the_first_layer_hands_no_gradient_on() -> None:
    second = layer("Dense", (512, 10), (10,), input=(512,), output=(10,))
    found = flops.of_layers([DENSE, second])
    # Forward, weights' gradient; in the second layer the gradient of its input besides.
    assert found.training == (
        2 * 2 * 784 * 512 + 2 * 512 + 3 * 2 * 512 * 10 + 2 * 10
    )  # fmt: skip
    assert found.coverage == 1
    # The state of an LSTM needs its gradient in the first layer too.
    assert flops.of_layers([LSTM]).training == 40 * (
        2 * 2 * 512 * 57 + 3 * 2 * 512 * 128 + 2 * 3 * 512
    )


def test_frozen_weights_get_no_gradient() -> None:
    frozen = replace(DENSE, options={"frozen": "yes"})
    second = layer("Dense", (512, 10), (10,), input=(512,), output=(10,))
    found = flops.of_layers([frozen, second])
    assert found.training == 512 * (2 * 784 + 1) + 2 * 2 * 512 * 10 + 2 * 10
    after = flops.of_layers([second, replace(frozen, input=(10,), weights=((10, 512), (512,)))])
    assert after.training == 2 * 2 * 512 * 10 + 2 * 10 + 2 * 2 * 10 * 512 + 2 * 512


def test_coverage_is_the_share_of_weights() -> None:
    strange = layer("Strange", (100, 10))
    found = flops.of_layers([DENSE, strange, layer("Stranger")])
    assert found.coverage == pytest.approx((784 * 512 + 512) / (784 * 512 + 512 + 1000))
    assert found.missing == ("Strange",)
    assert flops.of_layers([layer("Stranger")]).coverage == 0


def test_bytes_that_have_to_be_moved() -> None:
    second = layer("Dense", (512, 10), (10,), input=(512,), output=(10,))
    found = traffic.of_layers([DENSE, layer("Dropout", input=(512,), output=(512,)), second])
    weights = 4 * (784 * 512 + 512 + 512 * 10 + 10)
    assert found.training(128) == 2 * weights + 128 * 4 * (784 + 2 * (512 + 10))
    assert found.validation(16) == weights + 16 * 4 * 784
    words = [
        layer("Embedding", (1_200_001, 50), input=(400,), output=(400, 50)),
        layer("GlobalAveragePooling1D", input=(400, 50), output=(50,)),
        layer("Dense", (50, 1), (1,), input=(50,), output=(1,)),
    ]
    # Of the 60 million weights only the rows of 400 words and pairs.
    assert traffic.of_layers(words).training(32) == 2 * 4 * 51 + 32 * 4 * (
        2 * 400 * 50 + 2 * (50 + 1) + 400
    )
    # The state of each of 40 steps is needed on the way back.
    assert traffic.of_layers([LSTM]).training(1) == 4 * (
        2 * (57 * 512 + 128 * 512 + 512) + 2 * 40 * 128 + 40 * 57
    )


NAME = "mnist_mlp"


def measured(layers: tuple[Layer, ...], peak: Peak | None, batch: int = 128) -> Side:
    """6,000 and 1,000 samples an epoch, in 2 s and in 8 s; the first round tells the layers."""
    plain = suite(lambda _subject, number, _name: 20.0 * 4**number, rounds=2)
    runs = tuple(
        replace(
            run,
            samples=tuple(
                replace(one, layers=() if run.round else layers, batch_size=batch)
                for one in run.samples
            ),
        )
        for run in plain.runs
    )
    return Side(suite=replace(plain, runs=runs, peaks=(peak, None)), subject=0)


PEAK = Peak(gflops=0.001, gbytes=0.000_1, product_size=2048, array_bytes=1 << 26)


def test_operations_over_the_time_of_epochs() -> None:
    found = roofline.of(measured((DENSE,), PEAK), NAME)
    assert found is not None
    operations = 6_000 * (2 * 2 * 784 * 512 + 2 * 512) + 1_000 * 512 * (2 * 784 + 1)
    # The geometric mean of 2 s and 8 s.
    assert found.gflops == pytest.approx(operations / 4 / 1e9)
    weights = 4 * (784 * 512 + 512)
    moved = 6_000 / 128 * 2 * weights + 6_000 * 4 * (784 + 2 * 512)
    moved += 8 * weights + 1_000 * 4 * 784
    assert found.intensity == pytest.approx(operations / moved)
    assert (found.roof, found.bound) == (0.001, "compute")
    assert found.fraction == pytest.approx(operations / 4 / 1e9 / 0.001)
    slow = roofline.of(measured((DENSE,), replace(PEAK, gbytes=1e-6)), NAME)
    assert slow is not None
    assert slow.roof == pytest.approx(operations / moved * 1e-6)
    assert slow.bound == "memory"


def test_no_fraction_without_a_peak_a_batch_or_enough_formulas() -> None:
    bare = roofline.of(measured((DENSE,), None), NAME)
    assert bare is not None
    assert (bare.roof, bare.fraction, bare.bound) == (None, None, None)
    assert bare.gflops is not None
    loose = roofline.of(measured((DENSE,), PEAK, batch=0), NAME)
    assert loose is not None
    assert (loose.intensity, loose.fraction) == (None, None)
    # 401,920 weights with a formula: a twentieth of all may have none, and no more.
    enough = roofline.of(measured((DENSE, layer("Strange", (21_153,))), PEAK), NAME)
    short = roofline.of(measured((DENSE, layer("Strange", (21_155,))), PEAK), NAME)
    assert enough is not None
    assert short is not None
    assert enough.fraction is not None
    assert (short.gflops, short.fraction, short.intensity) == (None, None, None)
    assert short.coverage == pytest.approx(401_920 / 423_075)
    assert roofline.of(measured((), PEAK), NAME) is None
    assert roofline.of(measured((layer("Strange", (9,)),), PEAK), NAME) is None
    older = measured((DENSE,), PEAK)
    older = replace(older, suite=replace(older.suite, peaks=()))
    assert roofline.of(older, NAME) is not None


def test_the_best_peak_of_a_session_on_the_same_cpus_counts() -> None:
    """One was measured while the machine was busy; another on other CPUs is no measure at all."""
    side = measured((DENSE,), PEAK)
    first, second, *_ = side.suite.subjects
    better = replace(PEAK, gflops=0.004, gbytes=0.000_05)
    both = replace(side, suite=replace(side.suite, peaks=(PEAK, better)))
    found = roofline.of(both, NAME)
    assert found is not None
    assert found.roof == 0.004
    far = replace(second, setting=replace(second.setting, cpus=(7,)))
    apart = replace(both, suite=replace(both.suite, subjects=(first, far)))
    found = roofline.of(apart, NAME)
    assert found is not None
    assert found.roof == 0.001


@pytest.mark.parametrize(
    "told",
    [
        layer("Embedding", (100, 8), input=(2,), output=(2, 8)),
        layer("Dense", (0, 4), input=(0,), output=(4,)),
    ],
    ids=["embedding", "empty"],
)
def test_a_model_that_computes_nothing_has_no_figure(told: Layer) -> None:
    """Such as one of embeddings whose products are no layers with weights."""
    one = suite(lambda *_: 100.0, rounds=2)
    runs = tuple(
        replace(run, samples=tuple(replace(each, layers=(told,)) for each in run.samples))
        for run in one.runs
    )
    assert roofline.of(Side(suite=replace(one, runs=runs), subject=0), "mnist_mlp") is None


def test_bytes_of_shapes_that_no_model_has_are_bounded() -> None:
    huge = layer("Embedding", (2**62, 2**62), input=(2**62,) * 20, output=(2**62,) * 20)
    assert 0 < traffic.of_layers([huge]).training(32) < 1e22
