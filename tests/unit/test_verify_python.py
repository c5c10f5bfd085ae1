"""Extension modules against the Python that the tag names: Python itself is the judge."""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.conftest import need, pyenv_python
from tests.libraries import need_tools
from tests.wheels import make_wheel
from tfbuild.verify import static
from tfbuild.verify.model import Check
from tfbuild.verify.python import exported as table

MODULE = """
#include <Python.h>
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, "m", 0, -1, 0};
PyMODINIT_FUNC PyInit_m(void) { return PyModule_Create(&def); }
"""
OWN = f"cp3{sys.version_info[1]}"


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    need_tools()
    folder = tmp_path_factory.mktemp("module")
    (folder / "m.c").write_text(MODULE)
    headers = sysconfig.get_path("include")
    need(Path(headers, "Python.h").exists(), "Python.h is missing")
    command = ["gcc", "-shared", "-fPIC", f"-I{headers}", "m.c", "-o", "m.so"]
    subprocess.run(command, cwd=folder, check=True)
    return (folder / "m.so").read_bytes()


def check_of(
    folder: Path, tag: str, name: str, data: bytes, requires_python: str | None = None
) -> Check:
    wheel = make_wheel(
        folder, "pkg", "1", tag, files={f"pkg/{name}": data}, requires_python=requires_python
    )
    return next(check for check in static.checks(wheel) if check.name == "python")


SUFFIXES = [
    ("cp310-cp310", "m.cpython-310-x86_64-linux-gnu.so", True),
    ("cp310-cp310", "m.cpython-311-x86_64-linux-gnu.so", False),
    ("cp311-cp311", "m.cpython-310-x86_64-linux-gnu.so", False),
    ("cp310-cp310", "m.so", True),
    ("cp310-cp310", "m.abi3.so", True),
    ("cp38-abi3", "m.abi3.so", True),
    ("cp38-abi3", "m.cpython-310-x86_64-linux-gnu.so", False),
    ("cp313-cp313t", "m.cpython-313t-x86_64-linux-gnu.so", True),
    ("cp313-cp313", "m.cpython-313t-x86_64-linux-gnu.so", False),
    ("cp313-cp313t", "m.cpython-313-x86_64-linux-gnu.so", False),
    ("cp310-cp310", "m.cpython-310d-x86_64-linux-gnu.so", False),
    ("pp310-pypy310_pp73", "m.pypy310-pp73-x86_64-linux-gnu.so", True),
    ("cp310-cp311", "m.so", False),
    ("py3-none", "m.so", False),
]


@pytest.mark.parametrize(("tag", "name", "good"), SUFFIXES)
def test_the_tag_is_that_of_the_modules(
    tag: str, name: str, good: bool, module: bytes, tmp_path: Path
) -> None:
    found = check_of(tmp_path, f"{tag}-manylinux_2_36_x86_64", name, module)
    assert found.status == ("passed" if good else "failed")
    assert f"pkg/{name}" in found.found or found.status == "passed" or tag == "cp310-cp311"


def test_pythons_own_list_of_suffixes_agrees(module: bytes, tmp_path: Path) -> None:
    from importlib.machinery import EXTENSION_SUFFIXES

    assert len(EXTENSION_SUFFIXES) == 3
    for number, suffix in enumerate(EXTENSION_SUFFIXES):
        tag = f"{OWN}-{OWN}-manylinux_2_36_x86_64"
        found = check_of(tmp_path / str(number), tag, f"m{suffix}", module)
        assert found.status == "passed", suffix


def test_a_wheel_without_extension_modules(tmp_path: Path) -> None:
    found = check_of(tmp_path, "py3-none-any", "a.py", b"")
    assert (found.status, found.found) == ("skipped", "It holds no extension module.")


@pytest.mark.parametrize(
    ("requires", "good"),
    [(">=3.9", True), (">=3.10,<3.11", True), (">=3.11", False), ("<3.10", False),
     (">=3.10.5", True), ("==3.10.*", True), ("!=3.10.*", False), (None, True)],
)  # fmt: skip
def test_requires_python_allows_the_tag(
    requires: str | None, good: bool, module: bytes, tmp_path: Path
) -> None:
    tag = "cp310-cp310-manylinux_2_36_x86_64"
    found = check_of(tmp_path, tag, "m.so", module, requires)
    assert found.status == ("passed" if good else "failed")
    assert good or f"Requires-Python is {requires}" in found.found


def test_a_module_that_needs_libpython(tmp_path: Path) -> None:
    need_tools()
    (tmp_path / "lower.c").write_text("int g(void) { return 1; }")
    (tmp_path / "upper.c").write_text("int g(void); int f(void) { return g(); }")
    library = "libpython3.9.so.1.0"
    for sources in (["lower.c", f"-Wl,-soname,{library}", "-o", library],
                    ["upper.c", library, "-o", "m.so"]):  # fmt: skip
        subprocess.run(["gcc", "-shared", "-fPIC", *sources], cwd=tmp_path, check=True)
    data = (tmp_path / "m.so").read_bytes()
    tag = "cp310-cp310-manylinux_2_36_x86_64"
    found = check_of(tmp_path / "w", tag, "m.cpython-310-x86_64-linux-gnu.so", data)
    assert found.status == "failed"
    assert "needs libpython3.9.so.1.0, another version than cp310" in found.found


@pytest.mark.parametrize("version", ["3.10", "3.11"])
def test_another_python_refuses_a_module_for_ours(
    version: str, module: bytes, tmp_path: Path
) -> None:
    """What the check is for: the loader of another version does not even see the file."""
    python = pyenv_python(version)
    need(python, f"no Python {version}")
    suffix = f".cpython-3{sys.version_info[1]}-x86_64-linux-gnu.so"
    (tmp_path / f"m{suffix}").write_bytes(module)
    command = [str(python), "-c", "import m"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    theirs = f"cp{version.replace('.', '')}"
    tag = f"{theirs}-{theirs}-manylinux_2_36_x86_64"
    found = check_of(tmp_path, tag, f"m{suffix}", module)
    assert (done.returncode != 0) == (found.status == "failed") == (theirs != OWN)


def test_each_python_exports_what_the_table_says() -> None:
    names = sorted(table())
    code = "import ctypes, sys; api = ctypes.pythonapi; names = sys.stdin.read().split(); "
    code += "print([hasattr(api, name) for name in names])"
    seen = []
    for minor in range(8, 14):
        python = pyenv_python(f"3.{minor}")
        if python is None:
            continue
        command = [str(python), "-c", code]
        done = subprocess.run(
            command, input=" ".join(names), capture_output=True, text=True, check=True
        )
        has = dict(zip(names, json.loads(done.stdout.lower()), strict=True))
        expected = {name: first <= minor <= last for name, (first, last) in table().items()}
        assert {name for name in names if has[name] != expected[name]} == set(), minor
        seen.append(minor)
    need({10, 11} <= set(seen), "no Python 3.10 and 3.11")


CALLS = "void {0}(void); void f(void) {{ Py_IncRef(); {0}(); }}"


@pytest.mark.parametrize(
    ("name", "tag", "says"),
    [
        ("PyCode_New", "cp311-cp311", ""),  # removed in 3.12: What's New In Python 3.12
        ("PyCode_New", "cp312-cp312", "PyCode_New, which is not in Python after 3.11"),
        ("PyCode_New", "cp38-abi3", "PyCode_New, which is not in Python after 3.11"),
        ("PyObject_CallNoArgs", "cp38-cp38", "not in Python before 3.9"),  # added in 3.9
        ("PyObject_CallNoArgs", "cp39-cp39", ""),
        ("PyObject_CallNoArgs", "cp38-abi3", "not in Python before 3.9"),
        ("PyObject_CallNoArgs", "cp39-abi3", ""),
        ("PyObject_Call", "cp38-cp38", ""),
        ("PyObject_Unheard", "cp38-cp38", ""),
    ],
)
def test_a_module_that_uses_what_its_python_lacks(
    name: str, tag: str, says: str, tmp_path: Path
) -> None:
    need_tools()
    (tmp_path / "c.c").write_text("void Py_IncRef(void);" + CALLS.format(name))
    subprocess.run(["gcc", "-shared", "-fPIC", "c.c", "-o", "m.so"], cwd=tmp_path, check=True)
    data = (tmp_path / "m.so").read_bytes()
    found = check_of(tmp_path / "w", f"{tag}-manylinux_2_36_x86_64", "m.so", data)
    assert found.status == ("failed" if says else "passed")
    assert not says or says in found.found


def test_an_endless_requires_python_is_not_compared(module: bytes, tmp_path: Path) -> None:
    endless = ",".join(f"!=3.11.{patch}" for patch in range(20_000))
    found = check_of(tmp_path, "cp311-cp311-linux_x86_64", "m.so", module, requires_python=endless)
    assert found.status == "failed"
    assert "characters long" in found.found
