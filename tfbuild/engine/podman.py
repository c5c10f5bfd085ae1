"""Podman, through its command. It needs no daemon and no root."""

import json
import os
import re
import resource
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from tfbuild import process
from tfbuild.engine.base import Exit, Facts, OnLine
from tfbuild.engine.client import NO_LABELS, Plan
from tfbuild.engine.proxies import NAMES
from tfbuild.errors import EngineError, SaveError

# The numbers that runc gives to limits, and podman's names for them.
_LIMITS = {
    "6": ("nproc", resource.RLIMIT_NPROC),
    "7": ("nofile", resource.RLIMIT_NOFILE),
    "NPROC": ("nproc", resource.RLIMIT_NPROC),
    "NOFILE": ("nofile", resource.RLIMIT_NOFILE),
}
_LIMIT = re.compile(r"rlimit(?: type|s?:? `?RLIMIT_)\s*(\w+)", re.IGNORECASE)
_RUNTIME = re.compile(r"(crun\b|cgroups? |OCI runtime)", re.IGNORECASE)
# podman itself (125), command not executable (126), command not found (127)
_OWN_FAILURES = frozenset({125, 126, 127})
_ANSWER_SECONDS = 60.0
_ATTEMPTS = 8
# Podman itself may run with lower limits than its caller.
_LOWER = (32768, 8192, 4096, 1024)


class PodmanClient:
    """The `podman` on the PATH."""

    name = "podman"

    def __init__(self) -> None:
        self._global: list[str] = []
        self._limits: dict[str, int] = {}
        self._adapted = False

    def facts(self) -> Facts:
        """Ask podman what it is."""
        if shutil.which("podman") is None:
            raise EngineError(
                "podman is not installed.",
                why="No program of that name is on the PATH.",
                do="Install it (Debian, Ubuntu: sudo apt install podman), or take "
                "--engine docker or --engine local.",
            )
        info = json.loads(self._call("info", "--format", "json", timeout=_ANSWER_SECONDS))
        host = info["host"]
        is_remote = bool(host.get("serviceIsRemote"))
        return Facts(
            name=self.name,
            version=str(info["version"]["Version"]),
            architecture={"amd64": "x86_64", "arm64": "aarch64"}.get(host["arch"], host["arch"]),
            cpus=int(host["cpus"]),
            memory=int(host["memTotal"]),
            rootless=bool(host.get("security", {}).get("rootless")),
            storage="" if is_remote else str(info["store"]["graphRoot"]),
            is_remote=is_remote,
        )

    def image(self, tag: str) -> str | None:
        """Return the image's ID, None if there is none."""
        found = self._try("image", "inspect", "--format", "{{.Id}}", tag)
        return found.stdout.strip() if found.ok else None

    def labels(self, image: str) -> Mapping[str, str]:
        """Return the labels of an image that is there."""
        found: dict[str, str] | None = self._image(image)["Config"].get("Labels")
        return found or {}

    def digest(self, image: str) -> str:
        """Return the digest by which a registry knows an image that is there, else its ID."""
        found = self._image(image)
        # Podman gives images that were never in a registry such names too; those are local.
        known = sorted(
            name.partition("@")[2]
            for name in found.get("RepoDigests") or []
            if not name.startswith("localhost/")
        )
        return known[0] if known else f"sha256:{str(found['Id']).removeprefix('sha256:')}"

    def _image(self, image: str) -> dict[str, Any]:
        described: list[dict[str, Any]] = json.loads(self._call("image", "inspect", image))
        return described[0]

    def pull(self, tag: str, on_line: OnLine) -> None:
        """Fetch an image from its registry."""
        done = self._stream(on_line, "pull", tag)
        if not done.ok:
            raise EngineError(f"podman cannot fetch the image {tag}.", why=done.stdout)

    def proxies(self) -> Mapping[str, str]:
        """Return nothing: what Podman is told comes from this machine's environment."""
        return {}

    def build(
        self,
        context: Path,
        *,
        stage: str,
        tag: str,
        labels: Mapping[str, str],
        on_line: OnLine,
        proxies: Mapping[str, str],
    ) -> bool:
        """Build a stage of the Dockerfile in the folder; False if a step failed."""
        named = [word for key, value in labels.items() for word in ("--label", f"{key}={value}")]
        words = [
            # The Docker format keeps SHELL instructions, which the OCI format has no room for.
            *("--format", "docker", "--target", stage, "--tag", tag, *named),
            # Podman hands its own proxy variables on, and writes them down nowhere.
            "--http-proxy=true" if proxies else "--http-proxy=false",
            *("--file", str(context / "Dockerfile"), str(context)),
        ]
        theirs = {name for one in NAMES for name in (one, one.lower())}
        environment = {key: value for key, value in os.environ.items() if key not in theirs}
        for _ in range(_ATTEMPTS):
            done = self._stream(
                on_line, "build", *self._ulimits(), *words, environment={**environment, **proxies}
            )
            # What was built before a container could not be started is in the builder's cache.
            if done.ok or not self._learn(done.stdout):
                return done.ok
        return False

    def commit(self, container: str, tag: str) -> str:
        """Make an image of a container that has ended; return its ID."""
        # The command and the labels of the container are no concern of the image.
        changes = ['CMD ["bash"]', *(f"LABEL {label}=" for label in NO_LABELS)]
        changed = [word for change in changes for word in ("--change", change)]
        words = ("commit", "--quiet", "--format", "docker", *changed, container, tag)
        return self._call(*words).strip()

    def tag(self, image: str, tag: str) -> None:
        """Give an image a name."""
        self._call("tag", image, tag)

    def untag(self, tag: str) -> None:
        """Take a name from an image."""
        # Without the second word all names of the image would go.
        self._call("untag", tag, tag)

    def containers(self, label: str, value: str) -> dict[str, Mapping[str, str]]:
        """Return containers that have the label: ID -> all labels."""
        text = self._call("ps", "--all", "--filter", f"label={label}={value}", "--format", "json")
        return {entry["Id"]: entry.get("Labels") or {} for entry in json.loads(text or "[]")}

    def is_running(self, container: str) -> bool:
        """Return whether the container has been started and has not ended."""
        done = self._try("container", "inspect", "--format", "{{.State.Running}}", container)
        return done.stdout.strip() == "true"

    def make_volume(self, name: str, labels: Mapping[str, str]) -> None:
        """Make a volume; one that is there stays as it is."""
        named = [word for key, value in labels.items() for word in ("--label", f"{key}={value}")]
        if not self._try("volume", "exists", name).ok:
            made = self._try("volume", "create", *named, name)
            # Another build may have been quicker.
            if not made.ok and not self._try("volume", "exists", name).ok:
                raise EngineError("podman cannot make a volume.", why=made.stderr.strip())

    def ask(self, *words: str) -> list[dict[str, Any]]:
        """Return what a command of podman's lists."""
        format_ = () if "inspect" in words else ("--format", "json")
        return cast("list[dict[str, Any]]", json.loads(self._call(*words, *format_) or "[]"))

    def remove_image(self, image: str) -> None:
        """Remove an image and its names, unless a container needs it."""
        names = self._call("image", "inspect", "--format", "{{json .RepoTags}}", image)
        self._call("rmi", *(json.loads(names) or [image]))

    def remove_volume(self, name: str) -> None:
        """Remove a volume, unless a container needs it."""
        self._call("volume", "rm", name)

    def create(self, plan: Plan) -> str:
        """Make a container; volumes without labels come into being with it."""
        self._adapt(plan.image)
        # Variables come from the plan alone.
        words = ["--http-proxy=false"]
        if plan.name:
            words += ["--name", plan.name]
        if plan.private:
            # Without a name: it goes with the container.
            words += ["--volume", plan.private]
        for name, place in plan.volumes.items():
            words += ["--volume", f"{name}:{place}"]
        for key, value in plan.labels.items():
            words += ["--label", f"{key}={value}"]
        for key in plan.environment:
            # The value comes from podman's own environment: an argument list is public.
            words += ["--env", key]
        if not plan.network:
            words += ["--network", "none"]
        return self._call(
            "create",
            *self._ulimits(),
            *words,
            plan.image,
            *plan.command,
            environment=plan.environment,
        ).strip()

    def put(
        self, container: str, folder: str, files: Mapping[str, bytes], *, mode: int = 0o755
    ) -> None:
        """Copy files into a folder of the container; it is made if need be."""
        with tempfile.TemporaryDirectory(prefix="tfbuild-") as name:
            for file, data in files.items():
                path = Path(name) / file
                path.touch(mode=mode)
                path.write_bytes(data)
                path.chmod(mode)
            # With the dot it is the content that is copied, and a missing folder is made.
            self._call("cp", f"{name}/.", f"{container}:{folder}")

    def run(self, container: str, on_line: OnLine) -> Exit:
        """Start the container, hand over its output, wait for its end."""
        done = self._stream(on_line, "start", "--attach", container)
        state = json.loads(self._call("inspect", "--format", "{{json .State}}", container))
        if done.exit_code in _OWN_FAILURES and not str(state.get("StartedAt", "")) > "0002":
            raise EngineError("podman cannot start the container.", why=done.stdout)
        return Exit(code=int(state["ExitCode"]), out_of_memory=bool(state["OOMKilled"]))

    def get(self, container: str, folder: str, into: Path) -> None:
        """Copy the files of a folder; they belong to the caller."""
        self._call("cp", f"{container}:{folder}/.", str(into))

    def save(self, tags: Sequence[str], path: Path) -> None:
        """Write images into one archive."""
        form = ("--format", "docker-archive", "--multi-image-archive")
        done = self._try("save", *form, "--output", str(path), *tags)
        if not done.ok:
            with suppress(OSError):
                path.unlink()
            if "no space left" in done.stderr.lower():
                raise SaveError(f"Cannot save {path}: the disk is full.", why=done.stderr.strip())
            raise EngineError("podman cannot save the images.", why=done.stderr.strip())

    def load(self, path: Path, on_line: OnLine) -> None:
        """Read images from an archive."""
        for line in self._call("load", "--quiet", "--input", str(path)).splitlines():
            on_line(line)

    def send(self, container: str, folder: str, files: Mapping[str, Path]) -> None:
        """Copy large files into a folder of the container."""
        self.put(container, folder, {})
        for name, path in files.items():
            self._call("cp", str(path), f"{container}:{folder}/{name}")

    def remove(self, container: str) -> None:
        """Stop and remove the container with its nameless volumes."""
        done = self._try("rm", "--force", "--time", "0", "--volumes", container)
        if not done.ok and "no such container" not in done.stderr.lower():
            raise EngineError("podman cannot remove a container.", why=done.stderr)

    def _adapt(self, image: str) -> None:
        """Find the runtime and limits with which a container starts here, by podman's own errors.

        Inside another container or virtual machine, podman may ask for higher limits than its
        own, and crun refuses a machine with both generations of cgroups.
        """
        for _ in range(_ATTEMPTS):
            if self._adapted:
                return
            done = self._try("run", "--rm", *self._ulimits(), "--entrypoint", "true", image)
            if done.ok:
                self._adapted = True
            elif not self._learn(done.stderr):
                raise EngineError("podman cannot start a container.", why=done.stderr.strip())
        if not self._adapted:
            raise EngineError("podman cannot start a container, whatever its limits and runtime.")

    def _learn(self, message: str) -> bool:
        found = _LIMIT.search(message)
        if found and found[1].upper() in _LIMITS:
            name, number = _LIMITS[found[1].upper()]
            return self._lower(name, resource.getrlimit(number)[1])
        runc = shutil.which("runc")
        if _RUNTIME.search(message) and runc and not self._global:
            self._global = ["--runtime", runc]
            return True
        return False

    def _lower(self, name: str, hard: int) -> bool:
        """Set a limit to the highest value that was not refused yet; False when none is left."""
        before = self._limits.get(name)
        candidates = [hard, *_LOWER] if hard > 0 else list(_LOWER)
        left = [value for value in candidates if before is None or value < before]
        if not left:
            return False
        self._limits[name] = left[0]
        return True

    def _ulimits(self) -> list[str]:
        return [
            word
            for name, value in self._limits.items()
            for word in ("--ulimit", f"{name}={value}:{value}")
        ]

    def _try(
        self,
        *words: str,
        timeout: float | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> process.Completed:
        env = {**os.environ, **environment} if environment else None
        try:
            return process.run(
                ["podman", *self._global, *words], timeout=timeout, env=env, check=False
            )
        except process.ProcessError as error:
            raise EngineError("podman does not answer.", why=str(error)) from error

    def _call(
        self,
        *words: str,
        timeout: float | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> str:
        done = self._try(*words, timeout=timeout, environment=environment)
        if not done.ok:
            raise EngineError(f"podman {words[0]} failed.", why=done.stderr.strip())
        return done.stdout

    def _stream(
        self, on_line: OnLine, *words: str, environment: Mapping[str, str] | None = None
    ) -> process.Completed:
        try:
            return process.stream(
                ["podman", *self._global, *words], on_line, env=environment, check=False
            )
        except process.ProcessError as error:
            raise EngineError("podman does not answer.", why=str(error)) from error
