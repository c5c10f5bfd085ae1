"""What is kept, whose it is, and what may go."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tfbuild import cache
from tfbuild.cache import Item, Kind, containers
from tfbuild.cache.containers import Thing
from tfbuild.cache.folders import FolderStore
from tfbuild.engine.owner import owner
from tfbuild.errors import EngineError, SaveError

NOW = datetime(2026, 11, 30, tzinfo=UTC)
OLD = NOW - timedelta(days=40)
IMAGE = "sha256:" + "ab" * 32
VOLUME = "tfbuild-cache-" + "ab" * 8


def item(name: str, kind: Kind = Kind.ACTIONS, used: datetime = OLD, **more: str) -> Item:
    return Item(place="docker", kind=kind, name=name, identity=name, size=1, used=used, **more)


def going(items: list[Item], *, everything: bool = False) -> list[str]:
    found = cache.chosen(items, timedelta(days=30), everything=everything, now=NOW)
    return [one.name for one in found]


def test_what_is_old_goes_and_what_is_used_or_precious_stays() -> None:
    items = [
        item("old image", Kind.IMAGE),
        item("old"),
        item("new", used=NOW - timedelta(days=29)),
        item("busy", busy="container x uses it"),
        item("lost", used=NOW, orphaned="its toolchain image is gone"),
        item("wheel", Kind.WHEEL),
        item("downloads", Kind.DOWNLOADS),
        item("left", Kind.CONTAINER, used=NOW, orphaned="its tfbuild has ended"),
    ]
    # Containers before volumes before images: each holds the next.
    assert going(items) == ["left", "old", "lost", "old image"]
    assert set(going(items, everything=True)) == {one.name for one in items} - {"busy", "wheel"}


def things(labels: dict[str, str], **more: object) -> list[Item]:
    image = Thing(identity=IMAGE, name="t", size=1, made=OLD, labels={"tfbuild.toolchain": "x"})
    volume = Thing(
        identity=VOLUME, name=VOLUME, size=1, made=NOW, labels={"tfbuild.cache": "actions"}
    )
    one = Thing(identity="c", name="c", size=1, made=NOW, labels=labels, **more)  # type: ignore[arg-type]
    return containers.items("docker", [image], [volume], [one])


def test_nothing_without_a_label_is_tfbuilds() -> None:
    plain = Thing(identity="x", name=VOLUME, size=1, made=OLD)
    assert containers.items("docker", [plain], [plain], [plain]) == []


def test_anybodys_container_keeps_its_image_and_volume() -> None:
    found = things({}, image=IMAGE, volumes=frozenset({VOLUME}))
    assert [(one.kind, one.busy) for one in found] == [
        (Kind.IMAGE, "container c uses it"),
        (Kind.ACTIONS, "container c uses it"),
    ]


def test_an_image_was_used_when_its_volume_was() -> None:
    assert {one.kind: one.used for one in things({})}[Kind.IMAGE] == NOW


def test_a_volume_without_its_image_is_lost() -> None:
    volume = Thing(
        identity=VOLUME, name=VOLUME, size=1, made=NOW, labels={"tfbuild.cache": "actions"}
    )
    downloads = Thing(
        identity="d", name="d", size=1, made=NOW, labels={"tfbuild.cache": "downloads"}
    )
    found = containers.items("docker", [], [volume, downloads], [])
    assert [one.orphaned for one in found] == ["its toolchain image is gone", ""]


@pytest.mark.parametrize(
    ("by", "is_running", "is_busy"),
    [
        (owner(), False, True),
        ("vm-that-is-not-here:12:34", True, True),
        ("vm-that-is-not-here:12:34", False, False),
        (f"{owner().rpartition(':')[0]}:1", True, False),
        ("", True, False),
    ],
    ids=["this process", "far, running", "far, ended", "an earlier process", "nobody"],
)
def test_a_container_is_left_behind_when_nobody_can_be_at_work(
    by: str, is_running: bool, is_busy: bool
) -> None:
    found = things({"tfbuild.owner": by}, is_running=is_running)[0]
    assert found.kind is Kind.CONTAINER
    assert bool(found.busy) == is_busy == (not found.orphaned)


class Broken:
    name = "docker"

    def items(self) -> list[Item]:
        raise EngineError("docker does not answer.", why="It is not there.")

    def remove(self, item: Item) -> None:
        raise EngineError("It is in use.", why=item.name)


def test_an_engine_that_does_not_answer_is_named() -> None:
    found = cache.survey([Broken()])
    assert found.unasked == ("docker: docker does not answer. It is not there.",)
    assert found.total == 0


def test_what_cannot_go_does_not_keep_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "logs/a.log"
    file.parent.mkdir()
    file.write_text("x")
    here = FolderStore(tmp_path)
    (log,) = here.items()
    done = cache.remove([item("v"), log], [Broken(), here])
    assert [one.error for one in done] == ["It is in use. v", ""]
    assert not file.exists()


def test_folders_have_the_size_that_du_tells_and_their_last_use(tmp_path: Path) -> None:
    place = tmp_path / "local/output/0123456789abcdef-01234567"
    (place / "deep").mkdir(parents=True)
    (place / "deep/file").write_bytes(b"x" * 100_000)
    os.link(place / "deep/file", place / "second")
    (place / "link").symlink_to("/usr")
    os.utime(place / "deep/file", (OLD.timestamp(), OLD.timestamp()))
    os.utime(place / "link", (OLD.timestamp(), OLD.timestamp()), follow_symlinks=False)
    note = tmp_path / "local/about/0123456789abcdef"
    note.parent.mkdir()
    note.write_text("TensorFlow 2.15.1 for Python 3.11")
    (found,) = FolderStore(tmp_path).items()
    told = subprocess.run(["du", "-sk", place], capture_output=True, text=True, check=True)
    assert found.size == int(told.stdout.split()[0]) * 1024
    assert (found.used, found.what) == (OLD, "TensorFlow 2.15.1 for Python 3.11")


def test_folders_that_bazel_made_unwritable_go_too(tmp_path: Path) -> None:
    place = tmp_path / "local/output/0123456789abcdef-01234567"
    (place / "inner").mkdir(parents=True)
    (place / "inner/file").write_text("x")
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o500)
    (place / "inner/link").symlink_to(outside)
    (place / "inner").chmod(0o500)
    place.chmod(0o500)
    here = FolderStore(tmp_path)
    here.remove(here.items()[0])
    assert not place.exists()
    assert outside.stat().st_mode & 0o777 == 0o500, "a link leads out: nothing behind it changes"


def test_what_a_build_works_with_stays(tmp_path: Path) -> None:
    place = tmp_path / "local/source/0123456789abcdef"
    place.mkdir(parents=True)
    lock = tmp_path / "local/.0123456789abcdef.lock"
    code = (
        "import sys; from pathlib import Path; from tfbuild.engine.alone import alone\n"
        "with alone(Path(sys.argv[1]), 'x'): print('held', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        here = FolderStore(tmp_path)
        (found,) = here.items()
        assert found.busy
        with pytest.raises(SaveError, match="in use"):
            here.remove(found)
        other.communicate(b"")
    here.remove(here.items()[0])
    assert not place.exists()


def _runs(process: int) -> bool:
    # Not by its command line: the kernel sets that only after the exec() that Popen waits for.
    try:
        state = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


def test_a_build_refuses_another_by_its_number_and_follows_a_dead_one(tmp_path: Path) -> None:
    from tfbuild.engine.alone import alone

    lock = tmp_path / "lock"
    code = (
        "import os, subprocess, sys; from pathlib import Path\n"
        "from tfbuild.engine.alone import alone\n"
        "with alone(Path(sys.argv[1]), 'TensorFlow') as started:\n"
        "    script = subprocess.Popen(['sleep', '600'], start_new_session=True, stdout=-3)\n"
        "    started(script.pid); print(script.pid, flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        script = int(other.stdout.readline())
        with pytest.raises(EngineError) as caught, alone(lock, "x"):
            pass
        assert f"Process {other.pid} compiles TensorFlow." in caught.value.why
        other.kill()
        other.communicate()
    assert _runs(script)
    with alone(lock, "x"):
        assert not _runs(script)
