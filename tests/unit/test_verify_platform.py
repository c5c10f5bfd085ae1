"""Tags against what libraries need: auditwheel and the loader are the judges."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import need
from tests.libraries import need_tools
from tests.wheels import make_wheel
from tfbuild.process import run
from tfbuild.verify import policies, static
from tfbuild.verify.model import Check

# Functions by the version of glibc that brought them (their symbol version on x86-64, as
# `readelf --dyn-syms` of a program that calls them shows).
_CALLS = {
    "2.2.5": "long f(const char *s) { return atol(s); }",
    "2.14": "void *f(void *a, const void *b, size_t n) { return memcpy(a, b, n); }",
    "2.17": "char *f(const char *s) { return secure_getenv(s); }",
    "2.25": "int f(void *a, size_t n) { return getentropy(a, n); }",
    "2.27": "ssize_t f(int a, int b, size_t n) { return copy_file_range(a, 0, b, 0, n, 0); }",
    "2.28": "int f(void) { return fcntl64(0, 0); } ",
    "2.34": "int f(pthread_t t) { return pthread_join(t, 0); }",
    "2.36": "void f(void *a, size_t n) { arc4random_buf(a, n); }",
}
_HEAD = """#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int fcntl64(int, int, ...);
void arc4random_buf(void *, size_t);
"""


def library(
    folder: Path, source: str, *flags: str, name: str = "m.so", compiler: str = "gcc"
) -> bytes:
    need_tools()
    folder.mkdir(parents=True, exist_ok=True)
    code = folder / ("code.c" if compiler != "g++" else "code.cc")
    code.write_text(source)
    # Nothing but what the source asks for: no start-up files, no stack protector, old hash too.
    options = ["-shared", "-fPIC", "-O1", "-fno-builtin", "-fno-stack-protector"]
    subprocess.run([compiler, *options, code.name, "-o", name, *flags], cwd=folder, check=True)
    return (folder / name).read_bytes()


def wheel_of(folder: Path, tag: str, **files: bytes) -> Path:
    contents = {f"pkg/{name.replace('_so', '.so')}": data for name, data in files.items()}
    return make_wheel(folder, "pkg", "1", tag, files=contents)


def check_of(wheel: Path, name: str = "platform") -> Check:
    return next(check for check in static.checks(wheel) if check.name == name)


def auditwheel(wheel: Path) -> str:
    """Return the tag that auditwheel finds."""
    done = run([sys.executable, "-m", "auditwheel", "show", "--json", str(wheel)], check=False)
    found = json.loads(done.stdout)
    return str(found["overall_tag"])


@pytest.mark.parametrize("glibc", list(_CALLS))
def test_each_glibc_allows_the_tag_that_auditwheel_finds(glibc: str, tmp_path: Path) -> None:
    built = library(tmp_path / "c", _HEAD + _CALLS[glibc], "-nostartfiles")
    shown = subprocess.run(
        ["readelf", "-V", "-W", tmp_path / "c/m.so"], capture_output=True, text=True, check=True
    )
    assert f"GLIBC_{glibc}" in shown.stdout, "another glibc than this test knows"
    wheel = wheel_of(tmp_path, "py3-none-linux_x86_64", m_so=built)
    best = auditwheel(wheel)
    found = check_of(wheel)
    assert found.status == "warning"
    assert best.startswith("manylinux_")
    assert best in found.found
    kept = wheel_of(tmp_path / "kept", f"py3-none-{best}", m_so=built)
    assert check_of(kept).status == "passed"
    for policy in policies.known("glibc", "x86_64"):
        promised = wheel_of(tmp_path / policy.name, f"py3-none-{policy.name}", m_so=built)
        expected = "passed" if policy.release >= policies.promise(best).release else "failed"  # type: ignore[union-attr]
        assert check_of(promised).status == expected, policy.name


def test_a_broken_promise_names_symbol_version_and_library(tmp_path: Path) -> None:
    built = library(tmp_path / "c", _HEAD + _CALLS["2.14"], "-nostartfiles")
    wheel = wheel_of(tmp_path, "py3-none-manylinux2010_x86_64", m_so=built)
    found = check_of(wheel)
    assert found.status == "failed"
    assert "pkg/m.so needs memcpy@GLIBC_2.14 of libc.so.6" in found.found
    assert "manylinux_2_17_x86_64" in found.do


def test_the_oldest_of_several_tags_counts(tmp_path: Path) -> None:
    built = library(tmp_path / "c", _HEAD + _CALLS["2.25"], "-nostartfiles")
    both = wheel_of(tmp_path, "py3-none-manylinux_2_17_x86_64.manylinux_2_28_x86_64", m_so=built)
    assert check_of(both).status == "failed"
    # A release between those that auditwheel has a policy for.
    between = wheel_of(tmp_path, "py3-none-manylinux_2_29_x86_64", m_so=built)
    assert check_of(between).status == "passed"


CPLUSPLUS = """
#include <charconv>
#include <stdexcept>
double f(const char *a, const char *b)
{
  double x;
  if (std::from_chars(a, b, x).ec != std::errc()) throw std::runtime_error("no");
  return x;
}
"""


def test_the_runtime_of_cplusplus_counts_too(tmp_path: Path) -> None:
    built = library(tmp_path / "c", CPLUSPLUS, compiler="g++")
    wheel = wheel_of(tmp_path, "py3-none-linux_x86_64", m_so=built)
    best = auditwheel(wheel)  # std::from_chars for double: GLIBCXX_3.4.29, so not before 2.34
    assert best == "manylinux_2_34_x86_64"
    assert best in check_of(wheel).found
    older = wheel_of(tmp_path, "py3-none-manylinux_2_28_x86_64", m_so=built)
    assert "@GLIBCXX_3.4.29" in "\n".join((check_of(older).found, *check_of(older).details))


def test_a_library_of_the_system_that_no_policy_has(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    library(folder, "int g(void) { return 1; }", "-Wl,-soname,libown.so.1", name="libown.so")
    built = library(folder, "int g(void); int f(void) { return g(); }", "-L.", "-lown")
    wheel = wheel_of(tmp_path, "py3-none-manylinux_2_36_x86_64", m_so=built)
    assert auditwheel(wheel) == "linux_x86_64"
    found = check_of(wheel)
    assert found.status == "failed"
    assert "pkg/m.so needs libown.so.1, which is not in the wheel." in "\n".join(
        (found.found, *found.details)
    )
    plain = wheel_of(tmp_path, "py3-none-linux_x86_64", m_so=built)
    assert (check_of(plain).status, check_of(plain, "libraries").status) == ("warning", "warning")
    assert "no tag but linux_x86_64" in check_of(plain).found


@pytest.mark.parametrize("compiler", ["aarch64-linux-gnu-gcc"])
def test_another_machine(compiler: str, tmp_path: Path) -> None:
    import shutil

    need(shutil.which(compiler), f"{compiler} is missing")
    ours = library(tmp_path / "c", _HEAD + _CALLS["2.2.5"], "-nostartfiles")
    theirs = library(tmp_path / "d", _HEAD + _CALLS["2.2.5"], "-nostartfiles", compiler=compiler)
    arm = wheel_of(tmp_path / "1", "py3-none-manylinux_2_17_aarch64", m_so=theirs)
    assert check_of(arm).status == "passed"
    wrong = check_of(wheel_of(tmp_path / "2", "py3-none-manylinux_2_17_x86_64", m_so=theirs))
    assert wrong.status == "failed"
    assert "the libraries are for aarch64" in wrong.found
    # A foreign library as data is not Python's business; one that Python would load is.
    mixed = wheel_of(tmp_path / "3", "py3-none-manylinux_2_17_x86_64", m_so=ours, n_so=theirs)
    assert check_of(mixed).status == "warning"
    source = "void Py_IncRef(void *); void f(void *x) { Py_IncRef(x); }"
    extension = library(tmp_path / "e", source, compiler=compiler)
    bad = wheel_of(tmp_path / "4", "py3-none-manylinux_2_17_x86_64", m_so=ours, n_so=extension)
    assert "pkg/n.so extends Python, but is for aarch64" in check_of(bad).found


def test_machine_code_for_any_platform(tmp_path: Path) -> None:
    built = library(tmp_path / "c", _HEAD + _CALLS["2.2.5"])
    found = check_of(wheel_of(tmp_path, "py3-none-any", m_so=built))
    assert found.status == "failed"
    assert "runs anywhere, but it holds code for x86_64" in found.found
    windows = check_of(wheel_of(tmp_path, "py3-none-win_amd64", m_so=built))
    assert "the libraries are for Linux" in windows.found
    assert check_of(make_wheel(tmp_path, "pkg", "1")).status == "passed"


def test_musl_and_glibc_are_not_mixed(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    library(folder, "int g(void) { return 1; }", "-Wl,-soname,libc.musl-x86_64.so.1",
            "-nostdlib", name="libmusl.so")  # fmt: skip
    source = "int g(void); int f(void) { return g(); }"
    musl = library(folder, source, "-nostdlib", "-L.", "-lmusl")
    glibc = library(tmp_path / "d", _HEAD + _CALLS["2.2.5"], "-nostartfiles")
    good = wheel_of(tmp_path / "1", "py3-none-musllinux_1_2_x86_64", m_so=musl)
    assert check_of(good).status == "passed"
    assert auditwheel(wheel_of(tmp_path, "py3-none-linux_x86_64", m_so=musl)).startswith(
        "musllinux"
    )
    bad = check_of(wheel_of(tmp_path / "2", "py3-none-musllinux_1_2_x86_64", m_so=glibc))
    assert bad.status == "failed"
    assert "pkg/m.so is linked against glibc" in "\n".join((bad.found, *bad.details))
    other = check_of(wheel_of(tmp_path / "3", "py3-none-manylinux_2_17_x86_64", m_so=musl))
    assert "pkg/m.so is linked against musl" in "\n".join((other.found, *other.details))


@pytest.mark.parametrize("level", ["baseline", "v2", "v3", "v4"])
def test_a_library_that_names_a_level_of_cpu(level: str, tmp_path: Path) -> None:
    """glibc does not load it on a lesser CPU, so no tag fits."""
    source = _HEAD + _CALLS["2.2.5"]
    built = library(tmp_path / "c", source, "-nostartfiles", f"-Wl,-z,x86-64-{level}")
    shown = subprocess.run(
        ["readelf", "-n", tmp_path / "c/m.so"], capture_output=True, text=True, check=True
    )
    assert f"x86 ISA needed: x86-64-{level}" in shown.stdout
    wheel = wheel_of(tmp_path, "py3-none-manylinux_2_17_x86_64", m_so=built)
    found = check_of(wheel)
    assert (found.status == "passed") == (auditwheel(wheel) != "linux_x86_64")
    assert (f"needs x86-64-{level}" in found.found) == (level != "baseline")


def test_a_forbidden_symbol_of_an_allowed_library(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    source = "int inflate_fast(void) { return 1; }"
    library(folder, source, "-Wl,-soname,libz.so.1", "-nostdlib", name="libz.so")
    built = library(folder, "int inflate_fast(void); int f(void) { return inflate_fast(); }",
                    "-nostdlib", "-L.", "-lz", "-lc")  # fmt: skip
    wheel = wheel_of(tmp_path, "py3-none-manylinux_2_17_x86_64", m_so=built)
    assert auditwheel(wheel) == "linux_x86_64"
    assert "inflate_fast of libz.so.1, which not every system has" in check_of(wheel).found


def test_policies_are_complete_and_in_order() -> None:
    releases = [policy.release for policy in policies.known("glibc", "x86_64")]
    assert releases == sorted(set(releases))
    assert releases[:3] == [(2, 5), (2, 12), (2, 17)]  # PEP 513, 571, 599
    assert policies.known("glibc", "vax") == ()
    assert [p.name for p in policies.known("musl", "aarch64")] == [
        "musllinux_1_1_aarch64", "musllinux_1_2_aarch64",
    ]  # fmt: skip


@pytest.mark.network
@pytest.mark.parametrize("requirement", ["ml-dtypes==0.2.0", "cffi==1.16.0"])
def test_real_wheels_get_the_tag_that_auditwheel_finds(requirement: str, tmp_path: Path) -> None:
    wheel = downloaded(requirement, tmp_path)
    expected = auditwheel(wheel)
    found = check_of(wheel)
    assert (found.status, expected in found.found) == ("passed", True)
    assert check_of(wheel, "libraries").status == "passed"
    assert check_of(wheel, "python").status == "passed"


@pytest.mark.network
def test_an_extension_of_tensorflow_finds_its_library_loaded(tmp_path: Path) -> None:
    wheel = downloaded("tensorflow-io-gcs-filesystem==0.37.1", tmp_path)
    assert check_of(wheel).status == "passed"
    found = check_of(wheel, "libraries")
    assert found.status == "warning"
    assert "libtensorflow_framework.so.2" in found.found


def downloaded(requirement: str, folder: Path, python: str = "311") -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:",
               "--python-version", python, "--implementation", "cp", "--abi", f"cp{python}",
               "--platform", "manylinux2014_x86_64", "-d", str(folder), requirement]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    need(done.returncode == 0, f"PyPI does not answer: {done.stderr[-300:]}")
    return next(folder.glob("*.whl"))


def test_versions_are_read_without_section_headers(tmp_path: Path) -> None:
    """The loader needs none, so a library without them hides nothing from us either."""
    built = bytearray(library(tmp_path / "c", _HEAD + _CALLS["2.14"], "-nostartfiles"))
    built[0x28:0x30] = bytes(8)  # e_shoff
    built[0x3C:0x40] = bytes(4)  # e_shnum, e_shstrndx
    wheel = wheel_of(tmp_path, "py3-none-manylinux2010_x86_64", m_so=bytes(built))
    assert "memcpy@GLIBC_2.14" in check_of(wheel).found


def test_nothing_of_the_wheel_is_left_in_the_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "t"))
    (tmp_path / "t").mkdir()
    monkeypatch.setattr("tfbuild.verify.subject._IN_MEMORY", 100)
    built = library(tmp_path / "c", _HEAD + _CALLS["2.14"], "-nostartfiles")
    assert (
        check_of(wheel_of(tmp_path, "py3-none-manylinux2014_x86_64", m_so=built)).status == "passed"
    )
    assert list((tmp_path / "t").iterdir()) == []
    assert zipfile.is_zipfile(next(tmp_path.glob("*.whl")))
