"""Who finds which library: what the real loader says of the unpacked wheel is right."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.libraries import need_tools
from tests.wheels import make_wheel
from tfbuild.verify import static
from tfbuild.verify.model import Check

TAG = "py3-none-manylinux_2_36_x86_64"
_DTAGS = {"RUNPATH": "-Wl,--enable-new-dtags", "RPATH": "-Wl,--disable-new-dtags"}


def library(
    folder: Path, name: str, *, calls: str = "", rpath: str = "", dtags: str = "RUNPATH"
) -> bytes:
    """Compile libX.so with function X, which calls the function of another one."""
    need_tools()
    own = name.removeprefix("lib").removesuffix(".so")
    source = f"int {calls}(void); int {own}(void) {{ return {calls}(); }}" if calls else ""
    (folder / f"{own}.c").write_text(source or f"int {own}(void) {{ return 1; }}")
    flags = [f"-Wl,-rpath,{rpath}", _DTAGS[dtags]] if rpath else []
    flags += ["-L.", f"-l{calls}"] if calls else []
    command = ["gcc", "-shared", "-fPIC", f"{own}.c", f"-Wl,-soname,{name}", "-o", name, *flags]
    subprocess.run(command, cwd=folder, check=True)
    return (folder / name).read_bytes()


def loads(wheel: Path, name: str, folder: Path) -> bool:
    """Whether the real loader can load a library of the unpacked wheel."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    code = f"import ctypes; ctypes.CDLL({str(folder / name)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False,
                          env={k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"},
                          cwd="/")  # fmt: skip
    return done.returncode == 0


def check_of(wheel: Path) -> Check:
    return next(check for check in static.checks(wheel) if check.name == "libraries")


@pytest.mark.parametrize("dtags", list(_DTAGS))
@pytest.mark.parametrize(
    ("rpath", "place"),
    [
        ("$ORIGIN", "pkg/liblower.so"),
        ("${ORIGIN}/../pkg.libs", "pkg.libs/liblower.so"),
        ("/nowhere:$ORIGIN/sub/..:$ORIGIN/deep/er", "pkg/deep/er/liblower.so"),
        ("$ORIGIN", "pkg.libs/liblower.so"),
        ("$ORIGIN/..", "pkg/liblower.so"),
        ("$ORIGINAL", "pkg/liblower.so"),
        ("", "pkg/liblower.so"),
        ("$ORIGIN", ""),
    ],
)
def test_a_library_is_found_where_the_loader_finds_it(
    rpath: str, place: str, dtags: str, tmp_path: Path
) -> None:
    lower = library(tmp_path, "liblower.so")
    upper = library(tmp_path, "libupper.so", calls="lower", rpath=rpath, dtags=dtags)
    files: dict[str, bytes | str] = {"pkg/libupper.so": upper}
    files |= {place: lower} if place else {}
    wheel = make_wheel(tmp_path / "w", "pkg", "1", TAG, files=files)
    found = check_of(wheel)
    assert (found.status == "passed") == loads(wheel, "pkg/libupper.so", tmp_path / "x")
    if found.status == "passed":
        assert "1 times in the wheel" in found.found
    elif place:
        assert found.status == "warning"
        assert f"in the wheel as {place}" in found.found
    else:
        assert found.status == "failed"
        assert "liblower.so is not in the wheel; pkg/libupper.so needs it." in found.found


@pytest.mark.parametrize("dtags", list(_DTAGS))
def test_only_the_old_kind_of_path_serves_further_libraries(dtags: str, tmp_path: Path) -> None:
    """ld.so(8): DT_RPATH is searched for what dependencies need too, DT_RUNPATH is not."""
    lower = library(tmp_path, "liblower.so")
    middle = library(tmp_path, "libmiddle.so", calls="lower")
    upper = library(tmp_path, "libupper.so", calls="middle", rpath="$ORIGIN/libs", dtags=dtags)
    files: dict[str, bytes | str] = {
        "pkg/libupper.so": upper, "pkg/libs/libmiddle.so": middle, "pkg/libs/liblower.so": lower,
    }  # fmt: skip
    wheel = make_wheel(tmp_path / "w", "pkg", "1", TAG, files=files)
    passed = check_of(wheel).status == "passed"
    assert passed == loads(wheel, "pkg/libupper.so", tmp_path / "x") == (dtags == "RPATH")


def test_data_folders_lie_beside_after_installation(tmp_path: Path) -> None:
    lower = library(tmp_path, "liblower.so")
    upper = library(tmp_path, "libupper.so", calls="lower", rpath="$ORIGIN")
    files: dict[str, bytes | str] = {
        "pkg-1.data/platlib/pkg/libupper.so": upper, "pkg/liblower.so": lower,
    }  # fmt: skip
    wheel = make_wheel(tmp_path / "w", "pkg", "1", TAG, files=files)
    assert check_of(wheel).status == "passed"


def test_what_tensorflow_loads_first_is_there_for_all(tmp_path: Path) -> None:
    """As in the official wheels: modules deep in the tree name no path to the framework."""
    lower = library(tmp_path, "libframework.so")
    first = library(tmp_path, "lib_internal.so", calls="framework", rpath="$ORIGIN/..")
    deep = library(tmp_path, "libdeep.so", calls="framework")
    files: dict[str, bytes | str] = {
        "tensorflow/libframework.so": lower,
        "tensorflow/python/_pywrap_tensorflow_internal.so": first,
        "tensorflow/python/data/deep/deep.so": deep,
    }
    wheel = make_wheel(tmp_path / "w", "tensorflow", "2.15.0", TAG, files=files)
    assert check_of(wheel).status == "passed"
    del files["tensorflow/python/_pywrap_tensorflow_internal.so"]
    wheel = make_wheel(tmp_path / "v", "tensorflow", "2.15.0", TAG, files=files)
    assert check_of(wheel).status == "warning"


def test_a_damaged_library_fails_and_is_named(tmp_path: Path) -> None:
    whole = library(tmp_path, "liblower.so")
    files: dict[str, bytes | str] = {"pkg/liblower.so": whole[: len(whole) // 2]}
    found = check_of(make_wheel(tmp_path / "w", "pkg", "1", TAG, files=files))
    assert found.status == "failed"
    assert "pkg/liblower.so cannot be read" in found.found


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (("libone.so",), "Its library needs no other."),
        (("liblower.so", "libupper.so"), "2 libraries find what they need: 1 times in the wheel"),
    ],
)
def test_how_many_find_what_they_need(names: tuple[str, ...], says: str, tmp_path: Path) -> None:
    calls = {"libupper.so": "lower"}
    files: dict[str, bytes | str] = {
        f"pkg/{name}": library(tmp_path, name, calls=calls.get(name, ""), rpath="$ORIGIN")
        for name in names
    }
    found = check_of(make_wheel(tmp_path / "w", "pkg", "1.0", TAG, files=files))
    assert found.status == "passed"
    assert found.found.startswith(says)
