"""Finds the Docker daemon, by DOCKER_HOST or a context, and says why it does not answer."""

import os
import socket

import docker
from docker.context import Context, ContextAPI
from docker.utils import kwargs_from_env

from tfbuild.errors import EngineError

DEFAULT = "unix:///var/run/docker.sock"
_KNOCK_SECONDS = 10.0


def address() -> str:
    """Return DOCKER_HOST, or the address of the context that `docker` itself would use.

    Raises:
        EngineError: there is no context of the name that DOCKER_CONTEXT or Docker's settings say.
    """
    return os.environ.get("DOCKER_HOST") or _context().Host or DEFAULT


def connect(timeout: int) -> docker.APIClient:
    """Return the API client for the address. Raises whatever the SDK does, and EngineError."""
    where = address()
    _knock(where)
    named = os.environ.get("DOCKER_HOST")
    # DOCKER_HOST has its TLS in DOCKER_TLS_VERIFY and DOCKER_CERT_PATH.
    given = kwargs_from_env() if named else {"tls": _context().TLSConfig}
    return docker.APIClient(
        base_url=given.get("base_url", where),
        tls=given.get("tls") or False,
        version="auto",
        timeout=timeout,
        # With `ssh` itself the user's keys, agent and settings count.
        use_ssh_client=True,
    )


def _context() -> Context:
    name = os.environ.get("DOCKER_CONTEXT")
    found = ContextAPI.get_context(name) if name else ContextAPI.get_current_context()
    if found is None:
        raise EngineError(
            f"Docker has no context {name!r}." if name else "Docker's current context is missing.",
            # The SDK finds the folder of contexts by that file, which Docker itself can do without.
            do="See which there are with: docker context ls. Docker's config.json has to be beside "
            "them; one that holds {} will do.",
        )
    return found


def _knock(where: str) -> None:
    """Connect once to a socket of this machine: the SDK leaves it open when nobody answers."""
    scheme, _, path = where.partition("://")
    if scheme in {"unix", "http+unix"}:
        with socket.socket(socket.AF_UNIX) as door:
            door.settimeout(_KNOCK_SECONDS)
            door.connect(path)


def unreachable(error: BaseException) -> EngineError:
    """Return the error for a daemon that does not answer, with what to do about its cause."""
    text = str(error)
    where = address()
    if "PermissionError" in text or "Permission denied" in text:
        return EngineError(
            "docker does not let this user in.",
            why=f"No permission for {where}.",
            do="Join its group: sudo usermod -aG docker $USER, then log in again. "
            "Or use --engine podman, which needs no daemon.",
        )
    if "FileNotFoundError" in text or "No such file" in text:
        return EngineError(
            "docker does not answer.",
            why=f"Nothing is there at {where}: it is not installed, or its daemon is not running.",
            do="Start it (sudo systemctl start docker), install it (Debian, Ubuntu: sudo apt "
            "install docker.io), or take --engine podman or --engine local.",
        )
    if "Connection refused" in text or "ConnectionRefused" in text:
        return EngineError(
            "docker does not answer.",
            why=f"{where} refuses the connection: the daemon is not running.",
            do="Start it: sudo systemctl start docker",
        )
    return EngineError(
        "docker does not answer.", why=text, do="Try: docker version. Is DOCKER_HOST right?"
    )
