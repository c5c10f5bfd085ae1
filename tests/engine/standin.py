"""`tfbuild wheel` on the bundled workspace as a process, and Bazel's own word on what it ran."""

import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import pytest

from tfbuild.rehearse import copy_workspace
from tfbuild.verify import fresh

PATIENCE = 900
ENOUGH = 5
ALL = 21  # what a compile from nothing executes, as Bazel's execution log counts
_OUTPUT = re.compile(rb"bazel-out/[\w./+-]+")


def workspace(folder: Path, log: str, *, mark: str = "") -> Path:
    """Copy the bundled workspace; Bazel writes its execution log to that path, within the build."""
    copy_workspace(folder, "2.15.1")
    # Unlike any other: its image and cache volume are this test's own.
    (folder / "UNIQUE").write_text(f"{folder}{mark}")
    # A query that takes the options of `build` would leave an empty log in its place.
    (folder / "release.bazelrc").write_text(
        f"build --execution_log_json_file={log}\ncquery --execution_log_json_file={log}.query\n"
    )
    return folder


class Build:
    """One recipe, run as often as need be."""

    def __init__(
        self,
        engine: str,
        source: Path,
        folder: Path,
        cache: Path,
        *,
        target: str = "nehalem",
        base_image: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.command = [
            *(sys.executable, "-m", "tfbuild", "wheel", "--engine", engine, "--json"),
            *("--target", target, "--tensorflow", "2.15.1", "--python", "3.11"),
            *("--compiler", "system", "--bazel", "system" if engine == "local" else "apt"),
            *("--jobs", "1", "--no-preflight", "--source", str(source)),
            *(("--base-image", base_image) if base_image else ()),
        ]
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self.cache = cache
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(cache), **(env or {})}

    @property
    def wheels(self) -> Path:
        """Where the wheels go."""
        return self.folder / "wheels"

    def start(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            self.command,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self) -> tuple[int, str, str]:
        """Run to the end; return exit code, stdout, stderr."""
        process = self.start()
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out, err

    def finish(self) -> dict[str, Any]:
        """Run to the end, which has to be a wheel; return its record."""
        code, out, err = self.run()
        assert code == 0, err
        document = json.loads(out)
        assert isinstance(document, dict)
        checks = {check["name"]: check["status"] for check in document["checks"]}
        assert list(checks) == list(fresh.NAMES)
        assert "failed" not in checks.values(), document["checks"]
        return document

    def recipe(self) -> str:
        """Return the recipe's digest."""
        return str(self.plan()["recipe_digest"])

    def plan(self) -> dict[str, Any]:
        """Return what `--dry-run` tells."""
        done = subprocess.run(
            [*self.command, "--dry-run"],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        document = json.loads(done.stdout)
        assert isinstance(document, dict)
        return document


def until(
    true: Callable[[], Any], what: str, running: "subprocess.Popen[str] | None" = None
) -> Any:
    """Wait until something is true, as long as a process runs, and return it."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        ended = running is not None and running.poll() is not None
        found = true()
        if found:
            return found
        if ended and running is not None:
            pytest.fail(f"ended with {running.returncode} before {what}: {running.communicate()}")
        time.sleep(0.1)
    pytest.fail(f"never came: {what}")


def stored(disk: Path) -> set[str]:
    """Return the first output of each action whose result Bazel's disk cache holds."""
    found = set()
    for path in disk.glob("ac/*/*"):
        outputs = _OUTPUT.findall(path.read_bytes())
        if outputs:
            found.add(min(outputs).decode())
    return found


def executed(log: Path) -> list[dict[str, Any]]:
    """Return what Bazel's execution log says was run, and not answered by a cache."""
    return [spawn for spawn in _documents(log.read_text()) if not spawn.get("remoteCacheHit")]


def names(spawns: list[dict[str, Any]]) -> set[str]:
    """Return the first output of each, as `stored` has it."""
    return {min(spawn["listedOutputs"]) for spawn in spawns}


def is_of_host(spawn: dict[str, Any]) -> bool:
    """Return whether the action is of a tool that runs during the build."""
    return any(
        output.startswith("bazel-out/host/") or "-exec" in output.split("/")[1]
        for output in spawn["listedOutputs"]
    )


def _documents(text: str) -> Iterator[dict[str, Any]]:
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        document, at = decoder.raw_decode(text, at)
        yield document
        while at < len(text) and text[at].isspace():
            at += 1


def fill(path: Path) -> None:
    """Make a file that takes all that is free on its disk, at once."""
    free = os.statvfs(path.parent)
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        os.posix_fallocate(file.fileno(), 0, max(1, free.f_bavail * free.f_frsize - (1 << 20)))
        file.seek(0, os.SEEK_END)
        while True:
            file.write(b"\0" * (1 << 12))


class Onlooker:
    """Looks at a folder all the time: each wheel that is seen must be whole and have its record."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seen = 0
        self.looks = 0
        self.wrong: list[str] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        assert self.looks > 0
        assert self.wrong == []

    def _look(self) -> None:
        while not self._stop.is_set():
            self.looks += 1
            for wheel in self.folder.glob("*.whl"):
                self.seen += 1
                self._check(wheel)
            time.sleep(0.005)

    def _check(self, wheel: Path) -> None:
        try:
            data = wheel.read_bytes()
            record = json.loads(wheel.with_name(wheel.name + ".json").read_text())
            with zipfile.ZipFile(wheel) as archive:
                damaged = archive.testzip()
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            self.wrong.append(f"{wheel.name}: {error!r}")
            return
        if damaged or record["sha256"] != hashlib.sha256(data).hexdigest():
            self.wrong.append(f"{wheel.name}: damaged {damaged}, recorded {record['sha256']}")
