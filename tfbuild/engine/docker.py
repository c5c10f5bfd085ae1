"""Docker, through its SDK.

The SDK speaks to the classic builder only, which every Docker still has; toolchain Dockerfiles
use nothing beyond it.
"""

import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import docker
import docker.errors
import requests
from docker.types import LogConfig, Mount
from docker.utils import parse_repository_tag
from docker.utils.config import load_general_config

from tfbuild import artifact
from tfbuild.engine import archives, docker_host, proxies, transfer
from tfbuild.engine.base import Exit, Facts, OnLine
from tfbuild.engine.client import NO_LABELS, Plan
from tfbuild.engine.follow import Follow
from tfbuild.errors import EngineError

P = ParamSpec("P")
R = TypeVar("R")
_CHUNK = 1 << 20
# Removing a container with many gigabytes in it takes a while.
_TIMEOUT_SECONDS = 300
# How long a daemon on another machine may be out of reach before a build gives up.
_PATIENCE_SECONDS = 900.0
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class DockerClient:
    """The Docker that DOCKER_HOST or the current context names."""

    name = "docker"

    def facts(self) -> Facts:
        """Ask the daemon what it is."""
        info = _guard(self._api.info)
        is_remote = self._is_far()
        return Facts(
            name=self.name,
            version=str(info["ServerVersion"]),
            architecture=str(info["Architecture"]).replace("arm64", "aarch64"),
            cpus=int(info["NCPU"]),
            memory=int(info["MemTotal"]),
            rootless="name=rootless" in (info.get("SecurityOptions") or ()),
            storage="" if is_remote else str(info["DockerRootDir"]),
            is_remote=is_remote,
        )

    def image(self, tag: str) -> str | None:
        """Return the image's ID, None if there is none."""
        try:
            return str(_guard(self._api.inspect_image, tag)["Id"])
        except _NotFoundError:
            return None

    def labels(self, image: str) -> Mapping[str, str]:
        """Return the labels of an image that is there."""
        return _guard(self._api.inspect_image, image)["Config"].get("Labels") or {}

    def digest(self, image: str) -> str:
        """Return the digest by which a registry knows an image that is there, else its ID."""
        found = _guard(self._api.inspect_image, image)
        known = sorted(name.partition("@")[2] for name in found.get("RepoDigests") or [])
        return str(known[0] if known else found["Id"])

    def pull(self, tag: str, on_line: OnLine) -> None:
        """Fetch an image from its registry."""
        # Of "name:tag@sha256:..." the digest counts.
        repository, version = parse_repository_tag(tag)
        if "@" in tag:
            repository = parse_repository_tag(repository)[0]
        for event in _guard(
            self._api.pull, repository, tag=version or "latest", stream=True, decode=True
        ):
            on_line(str(event.get("error") or event.get("status", "")))
            if "error" in event:
                raise EngineError(f"docker cannot fetch the image {tag}.", why=event["error"])

    def proxies(self) -> Mapping[str, str]:
        """Return what Docker's config.json has for containers of this daemon."""
        return proxies.of_docker(load_general_config(), docker_host.address())

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
        with tempfile.TemporaryFile() as file:
            archives.pack(context, file)
            file.seek(0)
            events = _guard(
                self._api.build,
                fileobj=file,
                custom_context=True,
                tag=tag,
                target=stage,
                labels=dict(labels),
                rm=True,
                forcerm=True,
                decode=True,
                buildargs=dict(proxies),
            )
            return _follow_build(_guarded(events), on_line)

    def commit(self, container: str, tag: str) -> str:
        """Make an image of a container that has ended; return its ID."""
        repository, _, name = tag.rpartition(":")
        # The command and the labels of the container are no concern of the image.
        changes = ['CMD ["bash"]', *(f'LABEL {label}=""' for label in NO_LABELS)]
        made = _guard(self._api.commit, container, repository, name, changes=changes)
        return str(made["Id"])

    def tag(self, image: str, tag: str) -> None:
        """Give an image a name."""
        repository, _, name = tag.rpartition(":")
        _guard(self._api.tag, image, repository, name, force=True)

    def untag(self, tag: str) -> None:
        """Take a name from an image."""
        _guard(self._api.remove_image, tag, noprune=True)

    def containers(self, label: str, value: str) -> dict[str, Mapping[str, str]]:
        """Return containers that have the label: ID -> all labels."""
        found = _guard(self._api.containers, all=True, filters={"label": f"{label}={value}"})
        return {str(entry["Id"]): entry.get("Labels") or {} for entry in found}

    def is_running(self, container: str) -> bool:
        """Return whether the container has been started and has not ended."""
        try:
            return bool(_guard(self._api.inspect_container, container)["State"]["Running"])
        except _NotFoundError:
            return False

    def make_volume(self, name: str, labels: Mapping[str, str]) -> None:
        """Make a volume; Docker leaves one that is there, with the labels that it has."""
        _guard(self._api.create_volume, name, labels=dict(labels))

    def usage(self) -> Mapping[str, Any]:
        """Return what takes the daemon's disk, as its API tells it."""
        return cast("Mapping[str, Any]", _guard(self._api.df))

    def changed(self, container: str, path: str) -> datetime | None:
        """Return when a file in a container or its volumes was last written, None without it."""
        try:
            stream, facts = _guard(self._api.get_archive, container, path)
        except _NotFoundError:
            return None
        stream.close()
        # Nine digits after the point are more than Python takes.
        return datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", str(facts["mtime"])))

    def remove_image(self, image: str) -> None:
        """Remove an image and its names, unless a container needs it."""
        tags = _guard(self._api.inspect_image, image)["RepoTags"]
        for name in tags or [image]:
            _guard(self._api.remove_image, name)

    def remove_volume(self, name: str) -> None:
        """Remove a volume, unless a container needs it."""
        _guard(self._api.remove_volume, name)

    def create(self, plan: Plan) -> str:
        """Make a container; volumes without labels come into being with it."""
        host = self._api.create_host_config(
            binds={name: {"bind": place, "mode": "rw"} for name, place in plan.volumes.items()},
            # Some log drivers that a daemon may have as its default cannot be read back.
            # And none that drops its beginning: a log is read again when a connection broke. Docker
            # 20.10 takes no "-1" for "without limit".
            log_config=LogConfig(type=LogConfig.types.JSON, config={"max-size": "1000g"}),
            network_mode=None if plan.network else "none",
            # Without a name: it goes with the container.
            mounts=[Mount(plan.private, None)] if plan.private else None,
        )
        made = _guard(
            self._api.create_container,
            plan.image,
            name=plan.name or None,
            command=list(plan.command),
            labels=dict(plan.labels),
            environment=dict(plan.environment),
            host_config=host,
        )
        return str(made["Id"])

    def put(
        self, container: str, folder: str, files: Mapping[str, bytes], *, mode: int = 0o755
    ) -> None:
        """Copy files into a folder of the container; it is made if need be."""
        # The daemon unpacks into folders that exist only; the root always does.
        packed = archives.packed(files, folder=folder.strip("/"), mode=mode)
        _guard(self._api.put_archive, container, "/", packed)

    def run(self, container: str, on_line: OnLine) -> Exit:
        """Start the container, hand over its output, wait for its end."""
        _guard(self._api.start, container)
        log, lost = Follow(on_line), 0.0
        while True:
            try:
                log.read(archives.lines(_guarded(_guard(self._log, container))))
                state = _guard(self._api.inspect_container, container)["State"]
            except _NotFoundError:
                raise
            except EngineError:
                # A connection may break in a build of hours; the container goes on.
                lost = lost or time.monotonic()
                if not self._is_far() or time.monotonic() - lost > _PATIENCE_SECONDS:
                    raise
            else:
                lost = 0.0
                if not state["Running"]:
                    return Exit(code=int(state["ExitCode"]), out_of_memory=bool(state["OOMKilled"]))
            time.sleep(1)

    def get(self, container: str, folder: str, into: Path) -> None:
        """Copy the files of a folder."""
        stream, _ = _guard(self._api.get_archive, container, folder, _CHUNK)
        archives.unpack(_guarded(stream), into)

    def save(self, tags: Sequence[str], path: Path) -> None:
        """Write images into one archive."""
        # The SDK saves one image only; its session speaks to the daemon wherever it is.
        address = f"{self._api.base_url}/v{self._api.api_version}/images/get"
        names = [("names", tag) for tag in tags]
        answer = _guard(self._api.get, address, params=names, stream=True, timeout=_TIMEOUT_SECONDS)
        if answer.status_code != HTTPStatus.OK:
            raise EngineError("docker cannot save the images.", why=answer.text.strip())
        with artifact.writing(path) as file:
            for block in _guarded(answer.iter_content(_CHUNK)):
                file.write(block)

    def load(self, path: Path, on_line: OnLine) -> None:
        """Read images from an archive."""
        with path.open("rb") as file:
            for event in _guarded(_guard(self._api.load_image, file)):
                if "error" in event:
                    raise EngineError(f"docker cannot load {path}.", why=str(event["error"]))
                on_line(str(event.get("stream", "")).rstrip())

    def send(self, container: str, folder: str, files: Mapping[str, Path]) -> None:
        """Copy large files into a folder of the container."""
        _guard(self._api.put_archive, container, "/", transfer.tar_stream(folder, files))

    def remove(self, container: str) -> None:
        """Stop and remove the container with its nameless volumes."""
        try:
            _guard(self._api.remove_container, container, force=True, v=True)
        except _NotFoundError:
            return

    def _log(self, container: str) -> Iterable[bytes]:
        return cast("Iterable[bytes]", self._api.logs(container, stream=True, follow=True))

    def _is_far(self) -> bool:
        return not docker_host.address().startswith("unix://")

    @cached_property
    def _api(self) -> docker.APIClient:
        return _guard(docker_host.connect, _TIMEOUT_SECONDS)


class _NotFoundError(EngineError):
    """There is no image or container of that name."""


def _guard(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call the SDK and turn its errors into ours."""
    try:
        return function(*args, **kwargs)
    except docker.errors.NotFound as error:
        raise _NotFoundError(f"docker does not have it: {error.explanation or error}.") from error
    except docker.errors.APIError as error:
        raise EngineError("docker refused.", why=str(error.explanation or error)) from error
    except (docker.errors.DockerException, requests.RequestException, OSError) as error:
        raise docker_host.unreachable(error) from error


def _guarded(stream: Iterable[R]) -> Iterator[R]:
    iterator = iter(stream)
    while True:
        try:
            item = _guard(next, iterator)
        except StopIteration:
            return
        yield item


def _follow_build(events: Iterable[Mapping[str, Any]], on_line: OnLine) -> bool:
    for event in events:
        if "error" in event:
            on_line(str(event["error"]))
            return False
        for line in str(event.get("stream") or event.get("status") or "").splitlines():
            # The builder colours what a step writes to stderr.
            plain = _COLOUR.sub("", line).rstrip()
            if plain:
                on_line(plain)
    return True
