"""What a library asks of the loader, as readelf reads it."""

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import need
from tests.libraries import need_tools
from tfbuild.errors import WheelError
from tfbuild.wheel import elf
from tfbuild.wheel.dynamic import Dynamic

SYSTEM = Path("/usr/lib/x86_64-linux-gnu")
LIBRARIES = ["libm.so.6", "libc.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libz.so.1"]


def readelf(library: Path, *options: str) -> str:
    done = subprocess.run(
        ["readelf", "-W", *options, library], capture_output=True, text=True, check=True
    )
    return done.stdout


def facts(library: Path) -> Dynamic:
    with library.open("rb") as file:
        return elf.facts(file, library.name).dynamic


def agree(library: Path) -> None:
    found = facts(library)
    dynamic = readelf(library, "-d")

    def tags(name: str) -> list[str]:
        return re.findall(rf"\({name}\).*\[(.*)\]", dynamic)

    assert list(found.needed) == tags("NEEDED")
    assert [found.soname] == (tags("SONAME") or [""])
    assert ":".join(found.runpath) == "".join(tags("RUNPATH"))
    assert ":".join(found.rpath) == ("" if tags("RUNPATH") else "".join(tags("RPATH")))
    needs = re.findall(r"Name: (\S+)  Flags: (\S+)  Version: (\d+)", readelf(library, "-V"))
    assert [each.name for each in found.versions] == [name for name, _, _ in needs]
    rows = re.findall(r" (WEAK|GLOBAL) +\w+ +UND (\S+?)(?:@(\S+) \(\d+\))?\n",
                      readelf(library, "--dyn-syms"))  # fmt: skip
    counts = Counter(version for _, _, version in rows if version)
    # A name may stand for two libraries, such as GLIBC_2.2.5; together they have its symbols.
    ours: Counter[str] = Counter()
    for each in found.versions:
        ours[each.name] += each.count
        assert set(each.symbols) <= {name for _, name, version in rows if version == each.name}
    assert +ours == counts
    assert found.imports == {
        name for bind, name, _ in rows if bind == "GLOBAL" and not name.startswith("_Z")
    }


@pytest.mark.parametrize("name", LIBRARIES)
def test_libraries_of_the_system(name: str) -> None:
    need_tools()
    library = next(iter(SYSTEM.glob(name)), None)
    need(library, f"{name} is not here")
    assert library is not None
    agree(library.resolve())


SOURCE = """
#include <stdio.h>
#include <string.h>
#include <math.h>
__attribute__((weak)) void perhaps(void);
double f(char *a, const char *b, size_t n)
{ if (perhaps) perhaps(); memcpy(a, b, n); puts(a); return exp(n); }
"""


@pytest.mark.parametrize("compiler", ["gcc", "aarch64-linux-gnu-gcc"])
@pytest.mark.parametrize(
    "flags",
    [
        [],
        ["-Wl,--hash-style=sysv"],
        ["-Wl,--hash-style=gnu"],
        ["-Wl,-rpath,/a:$ORIGIN/b", "-Wl,--enable-new-dtags"],
        ["-Wl,-rpath,/a:$ORIGIN/b", "-Wl,--disable-new-dtags", "-Wl,-soname,libx.so.3"],
        ["-fvisibility=hidden", "-Wl,--hash-style=gnu"],
        ["-nostartfiles", "-Wl,-z,noseparate-code"],
    ],
    ids=" ".join,
)
def test_libraries_of_each_make(compiler: str, flags: list[str], tmp_path: Path) -> None:
    need_tools()
    need(shutil.which(compiler), f"{compiler} is missing")
    (tmp_path / "x.c").write_text(SOURCE)
    command = [compiler, "-O1", "-fno-builtin", "-shared", "-fPIC", "x.c", "-lm", "-o", "x.so"]
    subprocess.run([*command, *flags], cwd=tmp_path, check=True)
    agree(tmp_path / "x.so")
    before = facts(tmp_path / "x.so")
    assert before.is_there
    assert before.imports >= {"memcpy", "puts", "exp"}
    assert "perhaps" not in before.imports
    # Stripped of its symbols it asks for the same.
    tool = compiler.replace("gcc", "strip")
    subprocess.run([tool, "x.so"], cwd=tmp_path, check=True)
    assert facts(tmp_path / "x.so") == before


def test_an_object_file_asks_for_nothing(tmp_path: Path) -> None:
    need_tools()
    (tmp_path / "x.c").write_text(SOURCE)
    subprocess.run(["gcc", "-c", "-O1", "x.c"], cwd=tmp_path, check=True)
    assert facts(tmp_path / "x.o") == Dynamic()


@pytest.mark.parametrize("cut", [64, 100, 500, 2000])
def test_tables_that_are_cut_off(cut: int, tmp_path: Path) -> None:
    need_tools()
    (tmp_path / "x.c").write_text(SOURCE)
    command = ["gcc", "-O1", "-shared", "-fPIC", "x.c", "-lm", "-o", "x.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    (tmp_path / "cut.so").write_bytes((tmp_path / "x.so").read_bytes()[:cut])
    with pytest.raises(WheelError, match="not a usable shared library"):
        facts(tmp_path / "cut.so")
