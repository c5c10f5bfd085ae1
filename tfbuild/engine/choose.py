"""Finds the engine that a word names."""

from tfbuild.engine.base import Engine
from tfbuild.errors import EngineError, UsageError, suggestion

NAMES = ("auto", "docker", "podman", "local")


def choose(name: str) -> Engine:
    """Return the engine, which has answered.

    Args:
        name: "docker", "podman", "local", or "auto": Docker if it answers, else Podman.

    Raises:
        UsageError: another word.
        EngineError: it does not answer; says how to install or start it.
    """
    check_name(name)
    if name != "auto":
        engine = _make(name)
        engine.facts()
        return engine
    reasons = []
    for candidate in ("docker", "podman"):
        engine = _make(candidate)
        try:
            engine.facts()
        except EngineError as error:
            reasons.append(f"{candidate}: {error.what} {error.why}".strip())
        else:
            return engine
    raise EngineError(
        "No container engine answers.",
        why="\n".join(reasons),
        do="Install one (Debian, Ubuntu: sudo apt install docker.io, or podman) and start it "
        "(sudo systemctl start docker); or take --engine local on a machine that has Bazel.",
    )


def check_name(name: str) -> None:
    """Raise UsageError for a word that names no engine."""
    if name not in NAMES:
        raise UsageError(
            f"There is no engine {name!r}.",
            why=f"Known: {', '.join(NAMES)}.",
            do=suggestion(name, list(NAMES)),
        )


def _make(name: str) -> Engine:
    # Each is imported when it is asked for: the Docker SDK takes a while.
    from tfbuild.engine.container import ContainerEngine

    if name == "docker":
        from tfbuild.engine.docker import DockerClient

        return ContainerEngine(client=DockerClient())
    if name == "podman":
        from tfbuild.engine.podman import PodmanClient

        return ContainerEngine(client=PodmanClient())
    from tfbuild.engine.local import LocalEngine

    return LocalEngine()
