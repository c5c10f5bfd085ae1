"""The static index on disk: layout, what is refused, and what survives a kill or a full disk."""

import fcntl
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urldefrag
from urllib.request import url2pathname

import pytest

from tests.wheels import make_wheel
from tfbuild.errors import PublishError, SaveError, UsageError, WheelError
from tfbuild.index import links
from tfbuild.publish import Action, Receipt, publish


def snapshot(root: Path) -> dict[str, tuple[bytes, int]]:
    """Return every file's bytes and inode: a file written again has another inode."""
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_ino)
        for path in root.rglob("*")
        if path.is_file()
    }


def listed(root: Path) -> dict[str, list[str]]:
    """Check every link of every page and return root -> file names. The oracle is the disk."""
    names: dict[str, list[str]] = {}
    for page in root.glob("*/simple/*/index.html"):
        found = links.parse(page.read_text(), url=page.as_uri())
        for link in found:
            path = Path(url2pathname(urldefrag(link.url).url.removeprefix("file://")))
            data = path.read_bytes()
            assert hashlib.sha256(data).hexdigest() == link.sha256
            assert path.with_name(path.name + ".metadata").is_file()
        names[page.relative_to(root).parts[0]] = [link.filename for link in found]
    return names


def one(wheel: Path, root: Path) -> Receipt:
    (receipt,) = publish([wheel], root)
    return receipt


def test_each_label_has_a_root_of_its_own(tmp_path: Path) -> None:
    root = tmp_path / "index"
    versions = ("2.21.0", "2.21.0+skylake", "2.21.0+haswell", "2.20.0+skylake")
    wheels = [make_wheel(tmp_path, version=version) for version in versions]
    receipts = publish(wheels, root)
    assert listed(root) == {
        "unlabelled": ["tensorflow-2.21.0-py3-none-any.whl"],
        "haswell": ["tensorflow-2.21.0+haswell-py3-none-any.whl"],
        "skylake": [
            "tensorflow-2.20.0+skylake-py3-none-any.whl",
            "tensorflow-2.21.0+skylake-py3-none-any.whl",
        ],
        "all": [
            "tensorflow-2.20.0+skylake-py3-none-any.whl",
            "tensorflow-2.21.0-py3-none-any.whl",
            "tensorflow-2.21.0+haswell-py3-none-any.whl",
            "tensorflow-2.21.0+skylake-py3-none-any.whl",
        ],
    }
    assert [receipt.action for receipt in receipts] == [Action.UPLOADED] * 4
    assert receipts[1].simple_url == (root / "skylake/simple").as_uri() + "/"
    assert receipts[1].url.endswith("/files/tensorflow-2.21.0%2Bskylake-py3-none-any.whl")
    assert receipts[1].sha256 == hashlib.sha256(wheels[1].read_bytes()).hexdigest()
    assert len(list((root / "files").glob("*.whl"))) == 4


def test_the_json_page_says_the_same(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, version="2.21.0+skylake", requires_python=">=3.10")
    root = tmp_path / "index"
    one(wheel, root)
    page = json.loads((root / "skylake/simple/tensorflow/index.v1_json").read_text())
    (file,) = page["files"]
    assert page["meta"] == {"api-version": "1.1"}
    assert (page["name"], page["versions"]) == ("tensorflow", ["2.21.0+skylake"])
    assert file["url"] == "../../../files/tensorflow-2.21.0%2Bskylake-py3-none-any.whl"
    assert file["hashes"] == {"sha256": hashlib.sha256(wheel.read_bytes()).hexdigest()}
    assert (file["size"], file["requires-python"]) == (wheel.stat().st_size, ">=3.10")
    metadata = root / "files/tensorflow-2.21.0+skylake-py3-none-any.whl.metadata"
    assert file["core-metadata"] == {"sha256": hashlib.sha256(metadata.read_bytes()).hexdigest()}
    projects = json.loads((root / "skylake/simple/index.v1_json").read_text())
    assert projects["projects"] == [{"name": "tensorflow"}]


def test_the_same_wheel_again_changes_nothing(tmp_path: Path) -> None:
    root = tmp_path / "index"
    wheel = make_wheel(tmp_path, version="2.21.0+skylake")
    one(wheel, root)
    before = snapshot(root)
    assert one(wheel, root).action is Action.ALREADY_THERE
    assert snapshot(root) == before


def test_other_bytes_under_a_name_are_refused(tmp_path: Path) -> None:
    root = tmp_path / "index"
    one(make_wheel(tmp_path / "a"), root)
    before = snapshot(root)
    other = make_wheel(tmp_path / "b", files={"tensorflow/x.py": "1"})
    with pytest.raises(PublishError, match="holds another"):
        publish([other], root)
    assert snapshot(root) == before


def test_other_projects_and_names_are_normalised(tmp_path: Path) -> None:
    root = tmp_path / "index"
    publish([make_wheel(tmp_path, "Demo_Tool", "1.0"), make_wheel(tmp_path)], root)
    assert (root / "unlabelled/simple/demo-tool/index.html").is_file()
    projects = (root / "unlabelled/simple/index.html").read_text()
    assert 'href="demo-tool/"' in projects
    assert 'href="tensorflow/"' in projects


@pytest.mark.parametrize("label", ["all", "files", "unlabelled", "index.html"])
def test_labels_that_would_break_the_layout_are_refused(tmp_path: Path, label: str) -> None:
    with pytest.raises(PublishError, match="fixed part"):
        publish([make_wheel(tmp_path, version=f"1.0+{label}")], tmp_path / "index")
    assert not (tmp_path / "index").exists()


def record_of(wheel: Path, sha256: str) -> Path:
    record = wheel.with_name(wheel.name + ".json")
    record.write_text(json.dumps({"schema": "tfbuild.wheel/1", "sha256": sha256}))
    return record


def test_the_record_goes_along(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path)
    record = record_of(wheel, hashlib.sha256(wheel.read_bytes()).hexdigest())
    one(wheel, tmp_path / "index")
    assert (tmp_path / "index/files" / record.name).read_bytes() == record.read_bytes()


def test_the_record_of_another_wheel_is_refused(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path)
    record_of(wheel, "0" * 64)
    with pytest.raises(WheelError, match="another wheel"):
        publish([wheel], tmp_path / "index")
    assert not (tmp_path / "index").exists()


def test_a_wheel_that_was_deleted_leaves_the_pages(tmp_path: Path) -> None:
    root = tmp_path / "index"
    wheels = [make_wheel(tmp_path, version=v) for v in ("1.0+skylake", "1.0+haswell")]
    publish(wheels, root)
    (root / "files" / wheels[0].name).unlink()
    one(wheels[1], root)
    assert listed(root) == {
        "all": [wheels[1].name],
        "haswell": [wheels[1].name],
        "skylake": [],
    }


def test_lost_and_damaged_pages_are_made_again(tmp_path: Path) -> None:
    root = tmp_path / "index"
    wheels = [make_wheel(tmp_path, version=v) for v in ("1.0+skylake", "1.0+haswell")]
    publish(wheels, root)
    before = {name: data for name, (data, _) in snapshot(root).items()}
    (root / "all/simple/tensorflow/index.v1_json").write_text("{")
    (root / "skylake/simple/tensorflow/index.html").unlink()
    (root / "files" / (wheels[0].name + ".metadata")).unlink()
    one(wheels[1], root)
    assert {name: data for name, (data, _) in snapshot(root).items()} == before


def test_a_front_page_of_the_users_own_stays(tmp_path: Path) -> None:
    root = tmp_path / "index"
    root.mkdir()
    (root / "index.html").write_text("<h1>Lab</h1>")
    one(make_wheel(tmp_path), root)
    assert (root / "index.html").read_text() == "<h1>Lab</h1>"


def test_a_second_publish_waits_for_the_first(tmp_path: Path) -> None:
    root = tmp_path / "index"
    root.mkdir()
    notes: list[str] = []
    waiting = threading.Event()

    class Notes:
        def phase(self, text: str, total: int | None = None) -> None: ...
        def step(self, done: int, total: int | None = None, text: str = "") -> None: ...
        def note(self, text: str) -> None:
            notes.append(text)
            waiting.set()

    wheel = make_wheel(tmp_path)
    with (root / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        thread = threading.Thread(
            target=publish, args=([wheel], root), kwargs={"progress": Notes()}
        )
        thread.start()
        assert waiting.wait(60)
        assert not (root / "files").exists()
    thread.join(60)
    assert listed(root)["all"] == [wheel.name]
    assert len(notes) == 1


def test_an_index_that_stays_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfbuild.index.folder.LOCK_SECONDS", 0.0)
    root = tmp_path / "index"
    root.mkdir()
    with (root / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(PublishError, match="in use"):
            publish([make_wheel(tmp_path)], root)


def test_a_copy_that_differs_on_disk_is_not_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that loses a byte: the file reads back otherwise than it was written."""
    from tfbuild.index import folder

    real = folder._copy

    def lossy(wheel: object, target: Path, progress: object) -> None:
        real(wheel, target, progress)  # type: ignore[arg-type]
        with target.open("r+b") as file:
            file.seek(40)
            file.write(b"\xff")

    monkeypatch.setattr(folder, "_copy", lossy)
    root = tmp_path / "index"
    wheel = make_wheel(tmp_path)
    with pytest.raises(PublishError, match="not what was written"):
        publish([wheel], root)
    assert not (root / "files" / wheel.name).exists()
    assert listed(root) == {}


KILLED = """
import os, signal, sys
from pathlib import Path
from tfbuild.publish import publish

left = int(sys.argv[3])

def hook(event, args):
    global left
    if event == "os.rename":
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(hook)
publish([Path(sys.argv[1])], sys.argv[2])
"""


def test_a_kill_at_any_moment_leaves_the_index_whole(tmp_path: Path) -> None:
    """Die just before each rename in turn: until the last one, and then not at all."""
    old = make_wheel(tmp_path, version="2.20.0+skylake")
    new = make_wheel(tmp_path, version="2.21.0+skylake")
    for count in range(100):
        root = tmp_path / f"index{count}"
        one(old, root)
        done = subprocess.run(
            [sys.executable, "-c", KILLED, new, root, str(count)], capture_output=True, check=False
        )
        for names in listed(root).values():
            assert old.name in names
        if done.returncode == 0:
            assert count >= 6  # wheel, metadata, and two pages in each of two roots
            return
        assert done.returncode == -signal.SIGKILL, done.stderr
        one(new, root)
        assert listed(root) == {"all": [old.name, new.name], "skylake": [old.name, new.name]}
        assert not [path for path in (root / "files").iterdir() if path.name.endswith(".part")]
    pytest.fail("publish never came to its end")


LIMITED = """
import resource, sys
from pathlib import Path
from tfbuild.errors import TfbuildError
from tfbuild.publish import publish

resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    publish([Path(sys.argv[1])], sys.argv[2])
except TfbuildError as error:
    print(type(error).__name__)
"""


def test_a_disk_that_takes_no_more_leaves_the_index_as_it_was(tmp_path: Path) -> None:
    root = tmp_path / "index"
    one(make_wheel(tmp_path, version="2.20.0"), root)
    before = snapshot(root)
    big = make_wheel(tmp_path, files={"noise": os.urandom(200_000)})
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, big, root], capture_output=True, text=True, check=True
    )
    assert done.stdout == "SaveError\n", done.stderr
    assert snapshot(root) == before


def test_a_place_that_cannot_be_an_index(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path)
    with pytest.raises(UsageError, match="is a file"):
        publish([wheel], wheel)
    with pytest.raises(SaveError):
        publish([wheel], wheel / "below")
