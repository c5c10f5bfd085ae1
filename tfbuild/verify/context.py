"""The wheel that is verified, read once for all checks."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tfbuild import environment, host
from tfbuild.code.evidence import Evidence
from tfbuild.errors import HostError, WheelError
from tfbuild.installer import Installer
from tfbuild.progress import Progress, Silent
from tfbuild.target import Target
from tfbuild.verify import static
from tfbuild.verify.expected import claimed
from tfbuild.verify.model import Check
from tfbuild.verify.running import Running
from tfbuild.wheel import archive, match, own
from tfbuild.wheel.inspect import inspect
from tfbuild.wheel.inspection import Inspection

_SILENT = Silent()


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked of the wheel."""

    target: Target | None = None
    """What its code shall be made for; None: what the wheel itself claims."""
    against: str = "pip"
    """What its numbers are compared with: a spec, as `tfbuild.spec` has them."""
    cache: Path | None = None
    """Folder of earlier inspections; None reads anew."""
    wheels_dir: Path = Path("wheels")
    """Where a spec looks for compiled wheels."""
    installer: Installer | None = None
    """How environments are made; None where none shall be."""


class Context:
    """A wheel, and what several checks want to know of it."""

    def __init__(self, path: Path, asked: Asked, progress: Progress = _SILENT) -> None:
        self.path = path
        self.asked = asked
        self.progress = progress

    @property
    def name(self) -> str:
        """What it is called in results."""
        return self.path.name

    @property
    def runnable(self) -> Path:
        """What the checks that run it are given: a wheel, or an interpreter that has it."""
        return self.path

    def static(self) -> tuple[Check, ...]:
        """Do the checks that read every file."""
        return static.checks(self.path, progress=self.progress)

    @cached_property
    def sha256(self) -> str | None:
        """Digest of the file. Raises WheelError where it cannot be read."""
        # Told apart before it is read: a pipe would keep us waiting, a device never ends.
        with archive.regular(self.path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    @cached_property
    def inspection(self) -> Inspection:
        """What the files say, all code read. Raises WheelError, SaveError."""
        return inspect(self.path, full=True, progress=self.progress, cache=self.asked.cache)

    @cached_property
    def code(self) -> Evidence | None:
        """What its code uses, None where there is none that can be decoded. Raises WheelError."""
        return self.inspection.code

    @cached_property
    def target(self) -> Target | None:
        """The target to check against, None where nobody names one."""
        if self.asked.target is not None:
            return self.asked.target
        return claimed(self.path.name, _own_record(self.path))

    @cached_property
    def why_not_here(self) -> str:
        """Why this machine cannot run the wheel, "" where nothing speaks against it."""
        try:
            here = host.detect()
        except HostError as error:
            return error.what
        found = match.match(self.inspection, here, glibc=match.glibc_here())
        return " ".join(found.obstacles)

    @cached_property
    def running(self) -> Running:
        """How it is run here. Raises HostError."""
        installer = self.asked.installer or Installer()
        return Running(
            here=environment.here(host.detect(), self.asked.wheels_dir, installer),
            installer=installer,
            progress=self.progress,
            evidence=self.inspection.code,
        )


def own_record(text: Callable[[str], bytes | None]) -> dict[str, Any] | None:
    """Return what tfbuild wrote into a wheel, None where it did not or nobody can read it.

    Args:
        text: reads a file of .dist-info.
    """
    try:
        said = text(own.NAME)
    except WheelError:
        return None
    return own.decoded(said) if said else None


def _own_record(path: Path) -> dict[str, Any] | None:
    try:
        with archive.opened(path) as wheel:
            return own_record(wheel.text)
    except WheelError:
        return None
