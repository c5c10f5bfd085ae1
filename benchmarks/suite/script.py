"""A user's training script as a workload: README.md has the contract.

def train(context):
model.fit(x, y, epochs=3, callbacks=[context.clock(samples=len(x))])
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import math
import sys
import time
import traceback
from typing import TYPE_CHECKING, Any, Iterator

import tensorflow as tf

from suite.clock import EpochClock
from suite.layers import layers_of

if TYPE_CHECKING:
    from pathlib import Path

    from suite.request import Request, Script


class ScriptError(Exception):
    """The script cannot be loaded, failed, or does not keep the contract."""


class Context:
    """What a script is given, and what it tells us."""

    def __init__(
        self, *, seed: int, scale: str, arguments: list[str], batch: int | None, xla: bool
    ) -> None:
        self.seed = seed
        self.scale = scale
        self.arguments = arguments
        self.clocks: list[_Clock] = []
        self._batch = batch
        self._xla = xla
        self._read: set[str] = set()

    @property
    def batch(self) -> int | None:
        """Samples in a batch that were asked for; None leaves it to the script."""
        self._read.add("batch")
        return self._batch

    @property
    def xla(self) -> bool:
        """Whether `compile` shall be given `jit_compile=True`."""
        self._read.add("xla")
        return self._xla

    def clock(self, samples: int, validation_samples: int = 0) -> Any:
        """Return a callback for `fit`; the first epoch is its warm-up and does not count.

        Args:
            samples: trained in one epoch.
            validation_samples: evaluated at its end.
        """
        for value in (samples, validation_samples):
            if not isinstance(value, int) or value < 0:
                raise ScriptError(f"clock(samples, validation_samples): {value!r} is no number")
        if samples == 0:
            raise ScriptError("clock(samples): an epoch has at least one sample")
        found = _Clock(samples, validation_samples)
        self.clocks.append(found)
        return found

    @contextlib.contextmanager
    def epoch(self, samples: int, validation_samples: int = 0) -> Iterator[_Epoch]:
        """Take the time of one epoch of a loop that does not use `fit`; the first is warm-up.

        The value has a `loss`, nan until the script sets it.
        """
        loop = next((one for one in self.clocks if one.is_loop), None)
        if loop is None:
            loop = self.clock(samples, validation_samples)
            loop.is_loop = True
        elif (loop.samples, loop.validation_samples) != (samples, validation_samples):
            raise ScriptError("epochs of one script must have the same number of samples")
        told = _Epoch()
        begun = loop.begin()
        yield told
        loop.seconds.append(time.perf_counter() - begun)
        loop.losses.append(float(told.loss))
        loop.steps.append(0)

    def check(self) -> None:
        """Refuse a script that was asked for what it never looked at.

        Raises:
            ScriptError: it did not use a batch size or XLA that were asked for.
        """
        if self._batch is not None and "batch" not in self._read:
            raise ScriptError("a batch size was asked for, and the script never uses context.batch")
        if self._xla and "xla" not in self._read:
            raise ScriptError("XLA was asked for, and the script never uses context.xla")


class _Epoch:
    loss = math.nan


class _Clock(EpochClock):
    """One training's clock, with what the script says of its epochs."""

    def __init__(self, samples: int, validation_samples: int) -> None:
        super().__init__()
        self.samples = samples
        self.validation_samples = validation_samples
        self.is_loop = False
        self.trained: Any = None
        self.begun = math.nan

    def begin(self) -> float:
        """Return the time, and keep the first."""
        now = time.perf_counter()
        if math.isnan(self.begun):
            self.begun = now
        return now

    def on_train_begin(self, logs: Any = None) -> None:  # noqa: ARG002
        """Keep the model: Keras takes it away later."""
        self.trained = self.model
        self.begin()


def run(script: Script, request: Request) -> dict[str, Any]:
    """Run the script and return its sample.

    Raises:
        ScriptError: it cannot be loaded, failed, or timed nothing.
    """
    context = Context(
        seed=request.seed,
        scale=request.scale,
        arguments=script.arguments,
        batch=request.setting.batch,
        xla=request.setting.xla,
    )
    tf.keras.utils.set_random_seed(request.seed)
    begun = time.perf_counter()
    with _explained(script.path):
        train = getattr(_loaded(script), "train", None)
        if not callable(train):
            raise ScriptError(f"{script.path} has no function train(context)")
        train(context)
    context.check()
    return _sample(context.clocks, begun, layers=request.layers)


def _loaded(script: Script) -> Any:
    path = script.path
    if not path.is_file():
        raise ScriptError(f"{path} is no file")
    sys.argv = [str(path), *script.arguments]
    sys.path.insert(0, str(path.resolve().parent))
    # A name that no package has; and any suffix will do for the file.
    name = "tfbuild_user_script"
    loader = importlib.machinery.SourceFileLoader(name, str(path))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None  # noqa: S101 - there is one for every loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    return module


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn whatever a script raises into a ScriptError that shows where."""
    try:
        yield
    except ScriptError as error:
        raise ScriptError(f"{error}{_places(error, path)}") from error
    except SyntaxError as error:
        text = (error.text or "").strip()
        raise ScriptError(
            f"{error.filename}, line {error.lineno}: {error.msg}{': ' if text else ''}{text}"
        ) from error
    except SystemExit as error:
        raise ScriptError(f"it called sys.exit({error.code!r}){_places(error, path)}") from error
    except Exception as error:
        # TensorFlow's messages can fill a screen; where it happened must not be cut off.
        said = f"{type(error).__name__}: {error}"[:1200]
        raise ScriptError(f"{said}{_places(error, path)}") from error


def _places(error: BaseException, path: Path) -> str:
    """Return the lines of the user's own files that led to the error, the last one last."""
    folder = str(path.resolve().parent)
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path)
        or (frame.filename.startswith(folder) and "site-packages" not in frame.filename)
    ]
    return "".join(
        f"\n  {frame.filename}, line {frame.lineno}, in {frame.name}: {frame.line}"
        for frame in frames[-5:]
    )


def _sample(clocks: list[_Clock], begun: float, *, layers: bool) -> dict[str, Any]:
    timed = [one for one in clocks if len(one.seconds) > 1]
    if not timed:
        epochs = sum(len(one.seconds) for one in clocks)
        raise ScriptError(
            f"no epoch was timed: {epochs} ran under context.clock or context.epoch, and the first "
            "of a training is its warm-up"
        )
    last = timed[-1]
    if {(one.samples, one.validation_samples) for one in timed} != {
        (last.samples, last.validation_samples)
    }:
        raise ScriptError("epochs of one script must have the same number of samples")
    steps = last.steps[-1]
    model = last.trained
    return {
        "data": "own",
        "parameters": int(model.count_params()) if model is not None else 0,
        "epoch_seconds": [seconds for one in timed for seconds in one.seconds[1:]],
        "train_samples": last.samples,
        "validation_samples": last.validation_samples,
        "batch_size": math.ceil(last.samples / steps) if steps else 0,
        "steps_per_epoch": steps,
        "full_train_samples": last.samples,
        "full_validation_samples": last.validation_samples,
        "full_epochs": len(last.seconds),
        "warmup_seconds": sum(one.seconds[0] for one in timed),
        "first_step_seconds": None,
        "prepare_seconds": timed[0].begun - begun,
        "losses": [loss for one in timed for loss in one.losses[1:]],
        "first_loss": timed[0].losses[0],
        "layers": layers_of(model) if layers and model is not None else [],
    }
