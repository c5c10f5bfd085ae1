"""Places that compile: Docker, Podman, this machine."""

from tfbuild.engine.base import Engine, Exit, Facts, OnLine
from tfbuild.engine.choose import NAMES, choose

__all__ = ["NAMES", "Engine", "Exit", "Facts", "OnLine", "choose"]
