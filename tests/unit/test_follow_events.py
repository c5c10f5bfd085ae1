"""The program that tells Bazel's events, and the build script that starts and ends it."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import need, pyenv_python
from tfbuild import recipe, resources, target
from tfbuild.engine import events
from tfbuild.recipe import Options

PROGRAM = resources.folder("templates") / "follow_events.py"
PATIENCE = 60
SECRET = "x-key=very-secret"
# Events as Bazel 4.2.3 writes them, shortened, and those fields of 6.5.0 and 9.2.0 that differ.
OPTIONS = {
    "id": {"optionsParsed": {}},
    "optionsParsed": {"cmdLine": [f"--remote_header={SECRET}"]},
}
STARTED = {"id": {"started": {}}, "started": {"optionsDescription": f"--remote_header={SECRET}"}}
PROGRESS = {"id": {"progress": {"opaqueCount": 3}}, "progress": {"stderr": SECRET}}
FETCH = {"id": {"fetch": {"url": f"https://{SECRET}@example.org/x.tar.gz"}}, "fetch": {}}
FINISHED = {
    "id": {"buildFinished": {}},
    "finished": {"overallSuccess": True, "exitCode": {"name": "SUCCESS"}},
}
METRICS_6 = {
    "id": {"buildMetrics": {}},
    "buildMetrics": {
        "actionSummary": {
            "actionsExecuted": "8",
            "runnerCount": [
                {"count": 8, "name": "total"},
                {"count": 3, "name": "internal"},
                {"count": 5, "execKind": "Local", "name": "linux-sandbox"},
            ],
        }
    },
}
FAILED = {
    "id": {"actionCompleted": {"primaryOutput": "bazel-out/x.o", "label": "//a:x"}},
    "action": {"exitCode": 1, "type": "CppCompile", "commandLine": [SECRET]},
}


def completed(number: int) -> dict[str, Any]:
    output = f"bazel-out/k8-opt/bin/tensorflow/core/kernels/_objs/k{number}/k{number}.pic.o"
    return {
        "id": {
            "actionCompleted": {
                "primaryOutput": output,
                "label": f"//tensorflow/core/kernels:k{number}",
                "configuration": {"id": "a91fc084d4d2ac488bfa99eaa13ef60686b5350ad63fcb92372dc6cd"},
            }
        },
        "action": {"success": True, "type": "CppCompile"},
    }


def jsonl(*given: object) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in given)


class Follower:
    """The program, until `end`."""

    def __init__(self, *words: str | Path, python: str | Path = sys.executable) -> None:
        self.process = subprocess.Popen(
            [python, PROGRAM, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def end(self) -> list[str]:
        out, _ = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0
        return out.decode().splitlines()


def parsed(lines: Sequence[str]) -> list[events.Event]:
    found = [event for line in lines for _, event in [events.split(line)] if event is not None]
    assert len(found) == len(lines)
    return found


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} never came"
        time.sleep(0.05)


@pytest.mark.parametrize("version", ["3.8", "3.13"])
def test_only_what_is_harmless_gets_out(version: str, tmp_path: Path) -> None:
    python = pyenv_python(version)
    need(python, f"no Python {version} is here")
    assert python is not None
    file = tmp_path / "events.json"
    file.write_bytes(
        jsonl(STARTED, OPTIONS, PROGRESS, FETCH, completed(1), FAILED, FINISHED, METRICS_6)
    )
    lines = Follower(file, python=python).end()
    assert "very-secret" not in "\n".join(lines)
    found = parsed(lines)
    assert [action.output for event in found for action in event.actions] == [
        "bazel-out/k8-opt/bin/tensorflow/core/kernels/_objs/k1/k1.pic.o"
    ]
    failed = [event.failed for event in found if event.failed]
    assert failed == [
        events.Failed(kind="CppCompile", output="bazel-out/x.o", label="//a:x", code=1)
    ]
    counted = [event.actions_counted for event in found if event.actions_counted]
    assert [(each.total, each.cached, each.executed) for each in counted] == [(8, 0, 5)]
    assert [event.exit_name for event in found if event.exit_name] == ["SUCCESS"]
    assert found[-1].fetched == 1


def test_a_build_of_tensorflows_size_is_told_in_few_megabytes(tmp_path: Path) -> None:
    file = tmp_path / "events.json"
    file.write_bytes(jsonl(*map(completed, range(34131))))
    lines = Follower(file).end()
    found = parsed(lines)
    assert found[-1].done == 34131
    told = [action.output for event in found for action in event.actions]
    assert len(set(told)) == 34131
    assert [event.number for event in found] == list(range(1, len(found) + 1))
    # A write of that size to a pipe is not torn apart by what others write.
    assert max(map(len, lines)) < 4096
    assert sum(map(len, lines)) < 4e6


def test_lines_that_grow_and_the_last_ones(tmp_path: Path) -> None:
    file = tmp_path / "events.json"
    follower = Follower(file)
    data = jsonl(completed(1), completed(2)) + b"no json\n" + jsonl(completed(3), [1])
    time.sleep(0.7)  # it looks for a file that is not there
    with file.open("wb", buffering=0) as out:
        out.write(data[:300])
        time.sleep(0.7)
        out.write(data[300:])
    # At once: nothing of what is in the file may be lost.
    assert parsed(follower.end())[-1].done == 3


def test_no_file_at_all(tmp_path: Path) -> None:
    assert Follower(tmp_path / "never", tmp_path / "nowhere").end() == [
        'tfbuild-event: {"n":1,"done":0,"stored":0}'
    ]


def test_new_results_in_the_cache(tmp_path: Path) -> None:
    cache = tmp_path / "ac"
    for name in ("00", "ff"):
        (cache / name).mkdir(parents=True)
    (cache / "00/before").touch()
    follower = Follower(tmp_path / "never", cache)
    time.sleep(1)  # it counts what is there when it starts
    (cache / "00/one").touch()
    (cache / "aa").mkdir()
    (cache / "aa/two").touch()
    assert parsed(follower.end())[-1].stored == 2


FAKE = """#!/bin/bash
if [[ $* == --version ]]; then echo "bazel 4.2.3"; exit 0; fi
[[ " $* " == *" build "* ]] || exit 0
events=/dev/null
for word in "$@"; do
    case $word in --build_event_json_file=*) events=${word#*=} ;; esac
done
echo $$ >"$FAKE_PID"
[[ -z ${FAKE_FAILS-} ]] || exit "$FAKE_FAILS"
cat "$FAKE_EVENTS" >"$events"
stat -c %a "$(dirname "$events")" >"$FAKE_PID.mode"
[[ -z ${FAKE_WAITS-} ]] || sleep 600
mkdir -p bazel-bin/tensorflow/tools/pip_package
cat >bazel-bin/tensorflow/tools/pip_package/build_pip_package <<'PROGRAM'
#!/bin/bash
touch "$1/tensorflow-1-py3-none-any.whl"
PROGRAM
chmod +x bazel-bin/tensorflow/tools/pip_package/build_pip_package
echo "last line of bazel" >&2
"""


class Script:
    """A recipe's build.sh with a Bazel that writes the events that it is given."""

    def __init__(self, folder: Path, *given: object, **environment: str) -> None:
        need(shutil.which("bash"), "bash is not here")
        python = pyenv_python("3.11") or pyenv_python("3.12")
        need(python, "no Python with venv is here")
        self.folder = folder
        made = recipe.make(
            "2.15.1", "3.11", target.find("haswell"), options=Options(compiler="system")
        )
        made.write(folder / "context")
        (folder / "source/tensorflow/tools/pip_package").mkdir(parents=True)
        (folder / "bazel").write_text(FAKE)
        (folder / "bazel").chmod(0o755)
        (folder / "given").write_bytes(jsonl(*given))
        self.pid = folder / "pid"
        places = {
            "TFBUILD_SOURCE": folder / "source",
            "TFBUILD_CACHE": folder / "a cache",
            "TFBUILD_OUTPUT_BASE": folder / "an output base",
            "TFBUILD_OUT": folder / "out",
            "TFBUILD_BAZELRC": folder / "context/tfbuild.bazelrc",
            "TFBUILD_BAZEL": folder / "bazel",
            "TFBUILD_PYTHON": python,
            "FAKE_EVENTS": folder / "given",
            "FAKE_PID": self.pid,
            "TFBUILD_EVENTS": "yes",
        }
        self.environment = {
            **os.environ,
            **{name: str(value) for name, value in places.items()},
            **environment,
        }

    def start(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            ["bash", self.folder / "context/build.sh"],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def followers(self) -> list[str]:
        """Return the programs that still look at this folder's events."""
        words = ["pgrep", "-f", re.escape(str(self.folder / "an output base/tfbuild-events"))]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout.split()


def test_the_script_tells_all_events_and_clears_up(tmp_path: Path) -> None:
    script = Script(tmp_path, OPTIONS, *map(completed, range(500)), FINISHED)
    running = script.start()
    out, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, out
    lines = [line for line in out.splitlines() if line.startswith(events.PREFIX)]
    found = parsed(lines)
    told = [action.output for event in found for action in event.actions]
    assert len(told) == 500
    assert found[-1].phase == "packaging"
    assert "very-secret" not in out
    assert script.followers() == []
    assert not list((tmp_path / "an output base").glob("tfbuild-events*"))
    # What Bazel writes holds all options.
    assert Path(f"{script.pid}.mode").read_text().strip() == "700"


def test_without_tfbuild_nothing_is_told(tmp_path: Path) -> None:
    """Who runs the script alone reads its output."""
    script = Script(tmp_path, completed(1), FINISHED, TFBUILD_EVENTS="")
    running = script.start()
    out, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, out
    assert "tfbuild-event" not in out
    assert "last line of bazel" in out


def test_a_bazel_that_dies_at_once_keeps_its_exit_code(tmp_path: Path) -> None:
    script = Script(tmp_path, FAKE_FAILS="37")
    running = script.start()
    out, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 37, out
    assert script.followers() == []
    assert "Traceback" not in out


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_script_that_is_killed_leaves_nothing_running(
    number: signal.Signals, tmp_path: Path
) -> None:
    script = Script(tmp_path, completed(1), FAKE_WAITS="1")
    running = script.start()
    wait_for(script.pid)
    assert script.followers()
    # The script alone, as a person may do it. Its Bazel is ended as a client of a real one is.
    running.send_signal(number)
    os.kill(int(script.pid.read_text()), signal.SIGKILL)
    running.wait(timeout=PATIENCE)
    deadline = time.monotonic() + PATIENCE
    while script.followers():
        assert time.monotonic() < deadline, "the follower outlives the script"
        time.sleep(0.1)
    os.killpg(running.pid, signal.SIGKILL)  # the fake's own sleep
    running.communicate()
