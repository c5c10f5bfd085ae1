"""What stands in a process's environment before anything is imported."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import need
from tests.unit.test_bench import SETTING
from tfbuild.bench import allocators, variables
from tfbuild.bench.allocators import ALLOCATORS
from tfbuild.errors import UsageError

USERS = {
    "LD_PRELOAD": "/nowhere/libfaster.so",
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_CONF": "narenas:1",
    "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES": "1",
    "GLIBC_TUNABLES": "glibc.malloc.arena_max=1",
    "OPENBLAS_NUM_THREADS": "9",
    "GOMP_CPU_AFFINITY": "0",
    "OMP_PROC_BIND": "close",
    "KMP_AFFINITY": "compact",
    "TF_XLA_FLAGS": "--tf_xla_auto_jit=2",
    "KERAS_HOME": "/home/someone/.keras",
    "HOME": "/home/someone",
}


def of(**change: object) -> dict[str, str]:
    """Return the whole environment of a process for a setting, with a user's variables."""
    setting = replace(SETTING, **change)  # type: ignore[arg-type]
    return variables.environment(variables.settings(setting, USERS), USERS)


def test_nothing_of_the_users_that_would_change_times_or_numbers_is_left() -> None:
    found = of()
    assert {name: found.get(name) for name in USERS} == {
        **dict.fromkeys(USERS),
        "OPENBLAS_NUM_THREADS": "3",
        "KERAS_HOME": "/dev/null/keras",
        "HOME": "/home/someone",
    }


def test_each_kind_of_threads_has_its_own_variable() -> None:
    found = of(intra_threads=5, inter_threads=6, omp_threads=7)
    assert (found["TF_NUM_INTRAOP_THREADS"], found["TF_NUM_INTEROP_THREADS"]) == ("5", "6")
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    assert {found[name] for name in names} == {"7"}


def test_onednn_is_as_the_setting_says_or_the_user() -> None:
    user = {"TF_ENABLE_ONEDNN_OPTS": "0"}
    told = {
        on: variables.settings(replace(SETTING, onednn=on), user)["TF_ENABLE_ONEDNN_OPTS"]
        for on in (None, False, True)
    }
    assert told == {None: "0", False: "0", True: "1"}
    assert "TF_ENABLE_ONEDNN_OPTS" not in variables.settings(SETTING, {})


def test_a_script_keeps_the_users_keras_folder() -> None:
    assert "KERAS_HOME" not in variables.settings(SETTING, {}, has_script=True)
    kept = variables.settings(SETTING, USERS, has_script=True)
    assert kept["KERAS_HOME"] == "/home/someone/.keras"


@pytest.mark.parametrize("name", ALLOCATORS)
def test_a_missing_allocator_names_the_package(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} is not installed") as caught:
        variables.settings(replace(SETTING, allocator=name), {}, root=tmp_path)
    assert "apt-get install lib" in caught.value.do
    assert name in caught.value.do


@pytest.mark.parametrize("name", ALLOCATORS)
def test_each_allocator_is_loaded_and_gives_out_the_memory(name: str) -> None:
    """Seen from outside: the kernel's map of the process, and whose symbol malloc is."""
    need(name in allocators.installed(), f"{name} is not installed")
    chosen = variables.settings(replace(SETTING, allocator=name), {})
    code = (
        "import ctypes, json\n"
        "class Info(ctypes.Structure):\n"
        "    _fields_ = [(n, t) for n, t in (('file', ctypes.c_char_p), ('base', ctypes.c_void_p),"
        " ('symbol', ctypes.c_char_p), ('address', ctypes.c_void_p))]\n"
        "own, info = ctypes.CDLL(None), Info()\n"
        "own.dladdr(ctypes.cast(own.malloc, ctypes.c_void_p), ctypes.byref(info))\n"
        "print(json.dumps([info.file.decode(), open('/proc/self/maps').read()]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=variables.environment(chosen, os.environ),
        capture_output=True,
        text=True,
        check=True,
    )
    file, maps = json.loads(done.stdout)
    assert name in Path(file).name
    assert os.path.realpath(chosen["LD_PRELOAD"]) in maps
    assert done.stderr == ""
