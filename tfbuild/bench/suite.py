"""What a benchmark is asked to do, and everything it saw."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from tfbuild import stats
from tfbuild.bench.setting import Setting
from tfbuild.machine import Load, Machine

ARCHITECTURES = (
    "mnist_mlp",
    "mnist_cnn",
    "cifar10_cnn",
    "imdb_fasttext",
    "imdb_bidirectional_lstm",
    "lstm_text_generation",
)

_LEAST, _MOST = 1e-9, 1e12
"""Seconds and counts beyond these come from no measurement, and reckoning with them overflows."""


class Scale(StrEnum):
    """How much of the study's workload one process trains. Shapes are the same in all three."""

    SMOKE = "smoke"
    QUICK = "quick"
    FULL = "full"


class DataMode(StrEnum):
    """Which data the models learn from."""

    AUTO = "auto"
    REAL = "real"
    GENERATED = "generated"


class Stopped(StrEnum):
    """Why no further round was run."""

    ROUNDS = "rounds"
    """The number asked for, or the most allowed, is reached."""
    PRECISION = "precision"
    """Every interval is as narrow as asked."""
    VERDICT = "verdict"
    """Every verdict is clear, by bounds that hold over all looks."""
    TIME = "time"
    """The next round would end after the time allowed."""


@dataclass(frozen=True, kw_only=True)
class Script:
    """A user's own training script, in place of the six architectures."""

    name: str
    """Stands where an architecture's name stands: the file's name without its suffix."""
    path: str
    sha256: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A benchmark before it runs."""

    rounds: int
    """The most; in each, every contender gets one fresh process."""
    scale: Scale
    architectures: tuple[str, ...]
    """Names of the six, or that of the script."""
    seed: int
    """Decides all orders; round r (from 0) trains with seed + r, the same in each contender."""
    data: DataMode = DataMode.AUTO
    timeout: float | None = None
    """Seconds for one process; None waits for ever."""
    precision: float | None = None
    """Half-width wanted of each ratio's interval (0.02: 2 %); None runs all rounds."""
    max_seconds: float | None = None
    """No round begins that would probably end later; None knows no end."""
    noise: float = stats.NOISE
    """Share below which a difference counts as none: what a clear verdict must clear."""
    script: Script | None = None


@dataclass(frozen=True, kw_only=True)
class Layer:
    """One layer of a trained model, as far as its arithmetic depends on it."""

    kind: str
    """Keras's class, such as "Conv2D" or "LSTM"; "Bidirectional(LSTM)" for a wrapped one."""
    name: str
    input: tuple[int | None, ...]
    """Shape of one sample's input, batch left out; () where there are several inputs."""
    output: tuple[int | None, ...]
    weights: tuple[tuple[int, ...], ...]
    """Shapes of its weights in Keras's order."""
    options: dict[str, str] = field(default_factory=dict)
    """What else the formulas need: "return_sequences", "groups", "use_bias"."""


@dataclass(frozen=True, kw_only=True)
class Peak:
    """What a contender's libraries reach on this machine, measured with the same setting."""

    gflops: float
    """Best of several float32 matrix products, 10^9 operations a second."""
    gbytes: float
    """Best of several passes over arrays larger than the caches, 10^9 bytes a second."""
    product_size: int
    """N of the N x N products."""
    array_bytes: int


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One architecture, trained in one process. Warm-up is not part of `epoch_seconds`."""

    architecture: str
    data: str
    """"real" or "generated"."""
    parameters: int
    epoch_seconds: tuple[float, ...]
    """Of each timed epoch at this scale, validation included as in the study."""
    train_samples: int
    """Of one timed epoch, as `validation_samples`."""
    validation_samples: int
    batch_size: int
    steps_per_epoch: int
    full_train_samples: int
    """Of one epoch of the study, as `full_validation_samples`."""
    full_validation_samples: int
    full_epochs: int
    warmup_seconds: float
    """Of the untimed steps before, the first among them."""
    prepare_seconds: float
    """Of making data and building the model."""
    losses: tuple[float | None, ...]
    """Mean training loss of each timed epoch; None where it is not a finite number."""
    first_loss: float | None
    first_step_seconds: float | None = None
    """Of the very first step, in which TensorFlow traces the graph; part of the warm-up."""
    layers: tuple[Layer, ...] = ()
    """Of the model; the same in all rounds, so told in the first only."""

    @property
    def is_timed(self) -> bool:
        """Whether it holds times and counts that mean something; a user's script may err."""
        parts = (
            (self.train_samples, self.validation_samples),
            (self.full_train_samples, self.full_validation_samples),
            (self.full_epochs,),
        )
        times = self.epoch_seconds
        return (
            bool(times)
            and all(_LEAST < each < _MOST for each in times)
            and all(min(each) >= 0 and 0 < sum(each) < _MOST for each in parts)
        )

    @property
    def study_epoch_seconds(self) -> float:
        """Seconds for one epoch of the study: the one number that stands for this process.

        Mean seconds of a timed epoch, divided by the samples seen in it (training and validation)
        and multiplied by those of the study's epoch. So it does not depend on the scale, as long
        as the scale keeps the share of validation.
        """
        seen = self.train_samples + self.validation_samples
        full = self.full_train_samples + self.full_validation_samples
        return stats.mean(self.epoch_seconds) / seen * full


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A contender: an environment in a setting, and what its libraries say of themselves."""

    spec: str
    description: str
    distribution: str
    version: str
    tensorflow: str
    python: str
    keras: str
    numpy: str
    onednn: bool | None
    intra_threads: int
    inter_threads: int
    cpu_features_built: str | None
    wheel_sha256: str | None
    packages: tuple[str, ...]
    setting: Setting
    is_control: bool = False
    """The first subject once more, for the A/A comparison: no difference is the truth there."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One fresh process: its place in the order, its samples in the order trained, its trouble."""

    subject: int
    """Index into the suite's subjects."""
    round: int
    position: int
    """Place within the round; the order is drawn anew for each round."""
    seed: int
    started_at: datetime
    seconds: float
    """Wall-clock time of the whole process."""
    cpu_seconds: float | None
    involuntary_switches: int | None
    """How often the kernel took the CPU away from it."""
    peak_rss_bytes: int | None
    before: Load
    after: Load
    samples: tuple[Sample, ...]
    startup_seconds: float | None = None
    """From the start of the process until TensorFlow was imported and had run its first op."""

    def sample(self, architecture: str) -> Sample:
        """Return the sample of one architecture."""
        return next(each for each in self.samples if each.architecture == architecture)

    @property
    def others_cpus(self) -> float | None:
        """Mean number of CPUs that everything else on the machine used meanwhile, steal included.

        The load average cannot tell this: it still counts the process before.
        """
        counters = (self.before.busy_seconds, self.after.busy_seconds, self.cpu_seconds)
        before, after, own = counters
        if before is None or after is None or own is None or self.seconds <= 0:
            return None
        stolen = (self.after.steal_seconds or 0) - (self.before.steal_seconds or 0)
        return max(0.0, after - before - own + stolen) / self.seconds


@dataclass(frozen=True, kw_only=True)
class Suite:
    """One session of measurement: every sample of every process, and what is needed to judge it."""

    SCHEMA: ClassVar[str] = "tfbuild.suite"
    VERSION: ClassVar[int] = 2

    tfbuild: str
    started_at: datetime
    finished_at: datetime | None
    """None while rounds are missing: the session was interrupted, or failed."""
    plan: Plan
    machine: Machine
    settings: tuple[dict[str, str], ...]
    """Of each subject: the variables that its processes were given."""
    subjects: tuple[Subject, ...]
    runs: tuple[Run, ...]
    notes: tuple[str, ...] = ()
    """What a reader must know besides, such as which wheel stands in for another."""
    peaks: tuple[Peak | None, ...] = ()
    """Of each subject; empty where they were not measured."""
    looks: tuple[int, ...] = ()
    """Finished rounds at which it was asked whether to stop early."""
    level: float = stats.CONFIDENCE
    """Confidence that each interval has to be computed with so that 95 % hold over all looks."""
    stopped: Stopped | None = None
    """None while unfinished."""
    command: tuple[str, ...] = ()
    """The words that repeat the measurement: "tfbuild", "compare", ..."""

    @property
    def rounds(self) -> int:
        """Finished rounds."""
        return len(self.runs) // len(self.subjects)

    def of(self, subject: int) -> tuple[Run, ...]:
        """Return the runs of one subject in the order of the rounds."""
        return tuple(each for each in self.runs if each.subject == subject)

    def seconds(self, subject: int, architecture: str) -> tuple[float, ...]:
        """Return one number a round: seconds for one epoch of the study."""
        return tuple(each.sample(architecture).study_epoch_seconds for each in self.of(subject))


@dataclass(frozen=True, kw_only=True)
class Side:
    """One environment of one session: what can stand on one side of a comparison."""

    suite: Suite
    subject: int

    @property
    def who(self) -> Subject:
        """What was measured."""
        return self.suite.subjects[self.subject]

    @property
    def settings(self) -> dict[str, str]:
        """The variables that its processes were given."""
        return self.suite.settings[self.subject]

    @property
    def runs(self) -> tuple[Run, ...]:
        """Its processes."""
        return self.suite.of(self.subject)

    def seconds(self, architecture: str) -> tuple[float, ...]:
        """Return one number a round."""
        return self.suite.seconds(self.subject, architecture)

    def data(self, architecture: str) -> str:
        """Return "real", "generated" or "mixed"."""
        kinds = {run.sample(architecture).data for run in self.runs}
        return kinds.pop() if len(kinds) == 1 else "mixed"
