"""What this user's Podman keeps of tfbuild's."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tfbuild.cache import containers
from tfbuild.cache.containers import USED, Thing
from tfbuild.cache.folders import measure
from tfbuild.cache.model import Item
from tfbuild.engine.client import LABEL_CACHE, LABEL_TOOLCHAIN
from tfbuild.engine.podman import PodmanClient


class PodmanStore:
    """The `podman` on the PATH."""

    name = "podman"

    def __init__(self) -> None:
        self._client = PodmanClient()

    def items(self) -> list[Item]:
        """Ask podman what it has."""
        ask = self._client.ask
        return containers.items(
            self.name,
            (_image(one) for one in ask("images", "--filter", f"label={LABEL_TOOLCHAIN}")),
            (_volume(one) for one in ask("volume", "ls", "--filter", f"label={LABEL_CACHE}")),
            self._containers(),
        )

    def _containers(self) -> list[Thing]:
        found = self._client.ask("ps", "--all", "--size")
        if not found:
            return []
        told = self._client.ask("container", "inspect", *(one["Id"] for one in found))
        mounts = {one["Id"]: one.get("Mounts") or () for one in told}
        return [_container(one, mounts.get(one["Id"], ())) for one in found]

    def remove(self, item: Item) -> None:
        """Remove it; podman refuses what a container uses."""
        containers.remove(self._client, item)


def _image(entry: Mapping[str, Any]) -> Thing:
    return Thing(
        identity=entry["Id"],
        name=", ".join(entry.get("Names") or ()) or entry["Id"][:12],
        # Podman does not tell here what other images share: at most so much.
        size=int(entry["Size"]),
        made=datetime.fromtimestamp(entry["Created"], UTC),
        labels=entry.get("Labels") or {},
    )


def _volume(entry: Mapping[str, Any]) -> Thing:
    return Thing(
        identity=entry["Name"],
        name=entry["Name"],
        size=measure(Path(entry["Mountpoint"]))[0],
        made=_used(Path(entry["Mountpoint"])) or datetime.fromisoformat(entry["CreatedAt"]),
        labels=entry.get("Labels") or {},
    )


def _container(entry: Mapping[str, Any], mounts: Iterable[Mapping[str, Any]]) -> Thing:
    return Thing(
        identity=entry["Id"],
        name=", ".join(entry.get("Names") or ()) or entry["Id"][:12],
        size=int((entry.get("Size") or {}).get("rwSize") or 0),
        made=datetime.fromtimestamp(entry["Created"], UTC),
        labels=entry.get("Labels") or {},
        image=entry["ImageID"],
        volumes=frozenset(mount["Name"] for mount in mounts if mount.get("Name")),
        is_running=entry["State"] in {"running", "paused"},
    )


def _used(folder: Path) -> datetime | None:
    """Return when a build last began with the volume, None if it does not tell."""
    try:
        return datetime.fromtimestamp((folder / USED).stat().st_mtime, UTC)
    except OSError:
        return None
