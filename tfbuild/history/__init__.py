"""Results over time: a folder of saved sessions, what changes in them, and what is slower now."""

from tfbuild.history.check import Check, Finding, check
from tfbuild.history.model import Entry, Index, Measured
from tfbuild.history.pair import Against
from tfbuild.history.store import Added, Store

__all__ = [
    "Added",
    "Against",
    "Check",
    "Entry",
    "Finding",
    "Index",
    "Measured",
    "Store",
    "check",
]
