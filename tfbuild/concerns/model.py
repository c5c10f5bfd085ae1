"""What a concern is."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """A reason to trust a comparison less."""

    FEW_PAIRS = "few pairs"
    BUSY_MACHINE = "busy machine"
    THERMAL_DRIFT = "thermal drift"
    SWAP = "swap used"
    QUOTA = "cgroup quota"
    HYPER_THREADS_SHARED = "hyper-threads shared"
    SMT = "several threads on a core"
    OVERSUBSCRIBED = "more threads than CPUs"
    POWERSAVE = "governor powersave"
    UNEQUAL_CORES = "unequal cores"
    NOT_INTERLEAVED = "not interleaved"
    OTHER_MACHINE = "other machine"
    OTHER_SETTINGS = "other settings"
    OTHER_DATA = "other data"
    OTHER_WORK = "other work"
    OTHER_TENSORFLOW = "other TensorFlow"
    OTHER_ONEDNN = "other oneDNN"
    OTHER_LOSSES = "other losses"
    NO_LOSS = "no finite loss"
    UNFINISHED = "unfinished"
    BIASED_MACHINE = "biased machine"
    OLD_PRICES = "old prices"
    NO_PRICE = "no price"


@dataclass(frozen=True, kw_only=True)
class Concern:
    """One concern, in words, with advice."""

    kind: Kind
    what: str
    do: str
