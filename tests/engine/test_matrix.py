"""A matrix on the bundled workspace with the local engine: one failure, one done, one interrupt."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import need
from tests.engine.test_resume import bazels_own_count

pytestmark = pytest.mark.engine
PATIENCE = 300
TARGETS = ("nehalem", "haswell", "sandybridge")
# A compiler that cannot do one of the targets; to ask it for its version does no harm.
COMPILER = """\
#!/bin/sh
for word; do
    case $word in -march=haswell) echo "cc: error: no haswell here" >&2; exit 1;; esac
done
exec /usr/bin/gcc "$@"
"""


def command(source: Path, *more: str) -> list[str]:
    release = ("--tensorflow", "2.15.1", "--python", "3.11")
    wheel = ("--engine", "local", "--bazel", "system", "--compiler", "system", "--jobs", "1")
    return [
        *(sys.executable, "-m", "tfbuild", "matrix", *release, *more),
        *(word for target in TARGETS for word in ("--target", target)),
        *("--", *wheel, "--no-preflight", "--source", str(source)),
    ]


def test_one_failure_does_not_stop_the_rest(workspace: Path, tmp_path: Path) -> None:
    import shutil

    need(shutil.which("bazel"), "there is no Bazel")
    compiler = tmp_path / "cc"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "CC": str(compiler)}
    wheels = tmp_path / "wheels"

    # An interrupt in the second job: the wheel of the first stays. SIGTERM does what Ctrl-C does,
    # and is not ignored where tests run in the background.
    running = subprocess.Popen(
        command(workspace), cwd=tmp_path, env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + PATIENCE
    while not list(wheels.glob("*.whl.json")):
        assert time.monotonic() < deadline
        assert running.poll() is None, running.communicate()[1]
        time.sleep(0.1)
    running.send_signal(signal.SIGTERM)
    out, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130, err
    assert "not begun" in out
    (first,) = wheels.glob("*.whl")
    made = first.stat().st_mtime_ns

    done = subprocess.run(
        command(workspace, "--json"), cwd=tmp_path, env=environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 6, done.stderr
    rows = {row["job"]["target"]: row for row in json.loads(done.stdout)["rows"]}
    assert {name: row["outcome"] for name, row in rows.items()} == {
        "nehalem": "there",
        "haswell": "failed",
        "sandybridge": "built",
    }
    assert first.stat().st_mtime_ns == made
    assert "failed with" in rows["haswell"]["why"]
    assert "no haswell here" in done.stderr
    # The host's tools were compiled for the first target: the second one's own actions alone run.
    log = next((tmp_path / "cache/tfbuild/logs").glob("*sandybridge*.log"))
    counted = (rows["sandybridge"]["cached"], rows["sandybridge"]["executed"])
    assert counted == bazels_own_count(log)
    assert counted[1] < 21
    assert (wheels / rows["sandybridge"]["wheel"]).is_file()
