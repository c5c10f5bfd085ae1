"""What a search for the fastest setting has tried, and what came of it."""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from tfbuild.bench.setting import Setting
from tfbuild.bench.suite import Plan
from tfbuild.compare import Contrast
from tfbuild.machine import Machine
from tfbuild.stats import Verdict


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One setting against the best one known before."""

    setting: Setting
    ratio: float | None
    """How many times as fast: geometric mean over architectures and rounds; None: it failed."""
    rounds: int
    """Rounds behind the ratio; a hopeless one gets a single round."""
    failure: str = ""
    """Why it could not be measured."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """All values of one dimension, the rest as the best setting known before has it.

    Its ratios choose and claim nothing: the best of several noisy values is too good to be true.
    """

    dimension: str
    base: Setting
    trials: tuple[Trial, ...]
    chosen: Setting
    """The base again where nothing was clearly faster."""
    samples: tuple[str, ...] = ()
    """Names of the files that hold the samples, beside this one."""


@dataclass(frozen=True, kw_only=True)
class Advice:
    """One thing to set."""

    what: str
    """In words: "1 inter-op thread"."""
    kind: str
    """"variable", "command" (in front of the program), or "code"."""
    line: str


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """A search for the fastest setting of one environment on this machine."""

    SCHEMA: ClassVar[str] = "tfbuild.tuning"
    VERSION: ClassVar[int] = 1

    tfbuild: str
    started_at: datetime
    finished_at: datetime | None
    """None while anything is missing."""
    machine: Machine
    plan: Plan
    """Of the confirmation; the search used fewer rounds and other seeds."""
    spec: str
    description: str
    distribution: str
    version: str
    wheel_sha256: str | None
    dimensions: tuple[str, ...]
    default: Setting
    steps: tuple[Step, ...] = ()
    left_out: tuple[str, ...] = ()
    """Dimensions that the time did not suffice for."""
    best: Setting | None = None
    """What the search chose; the default where nothing was clearly faster; None: not yet."""
    confirmed: Contrast | None = None
    """The default against the choice, in rounds that had no part in choosing."""
    advice: tuple[Advice, ...] = ()
    """What to set; empty where the gain is not confirmed."""
    batch: Contrast | None = None
    """Another batch size on top of that, confirmed alike. It changes what is learned."""
    batch_advice: tuple[Advice, ...] = ()
    samples: tuple[str, ...] = ()
    """Names of the files with the samples of the confirmations."""
    notes: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    """The words that repeat the search."""

    @property
    def is_worth_it(self) -> bool:
        """Whether the choice is faster than the default beyond doubt and noise."""
        return self.confirmed is not None and self.confirmed.overall_verdict is Verdict.FASTER

    @property
    def tried(self) -> int:
        """How many settings besides the default were tried."""
        return len({trial.setting for step in self.steps for trial in step.trials})
