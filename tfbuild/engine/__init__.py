"""Places that compile: Docker, Podman, this machine."""

from tfbuild.engine.base import NO_SETUP, Engine, Exit, Facts, OnLine, Setup, joined
from tfbuild.engine.choose import NAMES, choose

__all__ = ["NAMES", "NO_SETUP", "Engine", "Exit", "Facts", "OnLine", "Setup", "choose", "joined"]
