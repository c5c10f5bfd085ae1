"""What a measurement must say about the machine it was made on, and how busy that was.

Nothing here fails: what cannot be read is None. The machine's name is left out on purpose, so
that a result can be shown to strangers.
"""

from tfbuild.machine.busy import load
from tfbuild.machine.facts import read, threads
from tfbuild.machine.model import Load, Machine

__all__ = ["Load", "Machine", "load", "read", "threads"]
