"""A real process with TensorFlow, where the setting wants it: seen from outside while it trains."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import need, pyenv_python
from tfbuild import environment, host, spec
from tfbuild.bench import Plan, Scale, Setting, allocators, variables, worker
from tfbuild.choice import choose
from tfbuild.environment import Installer
from tfbuild.machine import topology
from tfbuild.progress import Silent

pytestmark = pytest.mark.tensorflow


def test_a_process_is_where_and_what_its_setting_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(pyenv_python("3.10"), "no Python 3.10 here")
    need("jemalloc" in allocators.installed(), "jemalloc is not installed")
    here = topology.read()
    need(here.nodes, "no memory nodes here")
    cpu, installer = host.detect(), Installer()
    places = environment.here(cpu, tmp_path, installer)
    choice = choose([spec.parse("tensorflow-cpu==2.8.4")], places).choices[0]
    made = environment.prepare(choice, installer, cpu, Silent())
    # What a user may have in the home folder: Keras would compute in float64.
    (tmp_path / ".keras").mkdir()
    (tmp_path / ".keras/keras.json").write_text('{"floatx": "float64"}')
    monkeypatch.setenv("HOME", str(tmp_path))
    setting = Setting(
        cpus=(here.cpus[-1].number,),
        intra_threads=3,
        inter_threads=2,
        omp_threads=1,
        numa_node=here.cpus[-1].node,
        onednn=False,
        allocator="jemalloc",
    )
    seen: dict[str, str] = {}

    def look(_architecture: str) -> None:
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        pid = children[-1]
        words = ["taskset", "--cpu-list", "--pid", pid]
        seen["taskset"] = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        for name in ("status", "numa_maps", "maps", "environ"):
            seen[name] = Path(f"/proc/{pid}/{name}").read_text()

    answer = worker.ask(
        made.python,
        worker.Request(
            architectures=("mnist_mlp",),
            plan=Plan(rounds=1, scale=Scale.SMOKE, architectures=("mnist_mlp",), seed=1),
            setting=setting,
            seed=1,
            data_folder=None,
        ),
        name="tensorflow-cpu",
        chosen=variables.settings(setting, os.environ),
        on_start=look,
    )
    assert seen["taskset"].rstrip().endswith(f": {setting.cpus[0]}")
    assert re.search(rf"^Cpus_allowed_list:\s+{setting.cpus[0]}$", seen["status"], re.MULTILINE)
    assert f"bind:{setting.numa_node}" in seen["numa_maps"]
    assert "libjemalloc" in seen["maps"]
    assert "TF_ENABLE_ONEDNN_OPTS=0" in seen["environ"].split("\0")
    # TensorFlow's own answers.
    software = answer.software
    assert (software.intra_threads, software.inter_threads, software.onednn) == (3, 2, False)
    assert answer.samples[0].parameters == 669_706
    # The file in the home folder counts elsewhere, and not here.
    code = "import tensorflow as tf; print(tf.keras.backend.floatx())"
    own = variables.environment(variables.settings(setting, os.environ), os.environ)
    for environ, floatx in ((dict(os.environ), "float64"), (own, "float32")):
        words = [str(made.python), "-c", code]
        done = subprocess.run(words, env=environ, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == floatx
