"""What Docker keeps of tfbuild's."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tfbuild import signals
from tfbuild.cache import containers
from tfbuild.cache.containers import USED, Thing
from tfbuild.cache.model import Item
from tfbuild.engine.client import LABEL_CACHE, LABEL_OWNER, Plan
from tfbuild.engine.container import cache_volume
from tfbuild.engine.docker import DockerClient
from tfbuild.engine.owner import owner
from tfbuild.errors import EngineError


class DockerStore:
    """The Docker that DOCKER_HOST or the current context names."""

    name = "docker"

    def __init__(self) -> None:
        self._client = DockerClient()

    def items(self) -> list[Item]:
        """Ask the daemon what takes its disk, which may take it a while."""
        told = self._client.usage()
        images = [_image(entry) for entry in told["Images"] or ()]
        volumes = [_volume(entry) for entry in told["Volumes"] or ()]
        return containers.items(
            self.name,
            images,
            [replace(one, made=self._used(one, images) or one.made) for one in volumes],
            [_container(entry) for entry in told["Containers"] or ()],
        )

    def _used(self, volume: Thing, images: Iterable[Thing]) -> datetime | None:
        """Return when a build last began with the volume: a container that never starts sees it."""
        image = next((one for one in images if cache_volume(one.identity) == volume.name), None)
        if image is None or LABEL_CACHE not in volume.labels:
            return None
        plan = Plan(
            image=image.identity,
            command=("true",),
            volumes={volume.name: "/cache"},
            labels={LABEL_OWNER: owner()},
        )
        with signals.stoppable():
            container = self._client.create(plan)
            try:
                return self._client.changed(container, f"/cache/{USED}")
            finally:
                with signals.held(), suppress(EngineError):
                    self._client.remove(container)

    def remove(self, item: Item) -> None:
        """Remove it; the daemon refuses what a container uses."""
        containers.remove(self._client, item)


def _image(entry: Mapping[str, Any]) -> Thing:
    tags = [tag for tag in entry.get("RepoTags") or () if not tag.startswith("<none>")]
    return Thing(
        identity=entry["Id"],
        name=", ".join(tags) or entry["Id"].removeprefix("sha256:")[:12],
        # Layers that other images have too stay with them.
        size=max(0, int(entry["Size"]) - max(0, int(entry.get("SharedSize") or 0))),
        made=_at(entry["Created"]),
        labels=entry.get("Labels") or {},
    )


def _volume(entry: Mapping[str, Any]) -> Thing:
    usage = entry.get("UsageData") or {}
    return Thing(
        identity=entry["Name"],
        name=entry["Name"],
        size=max(0, int(usage.get("Size") or 0)),
        made=datetime.fromisoformat(entry["CreatedAt"]),
        labels=entry.get("Labels") or {},
    )


def _container(entry: Mapping[str, Any]) -> Thing:
    mounts: Iterable[Mapping[str, Any]] = entry.get("Mounts") or ()
    return Thing(
        identity=entry["Id"],
        name=", ".join(entry.get("Names") or ()).lstrip("/") or entry["Id"][:12],
        size=max(0, int(entry.get("SizeRw") or 0)),
        made=_at(entry["Created"]),
        labels=entry.get("Labels") or {},
        image=entry["ImageID"],
        volumes=frozenset(mount["Name"] for mount in mounts if mount.get("Name")),
        is_running=entry["State"] in {"running", "paused", "restarting"},
    )


def _at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
