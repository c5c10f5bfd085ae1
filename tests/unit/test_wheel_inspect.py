"""Inspections of tiny wheels made from compiled libraries, and of installed ones."""

import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import need
from tests.libraries import compiled, need_tools, objdump
from tests.wheels import make_wheel
from tfbuild import artifact
from tfbuild.code import library as code
from tfbuild.code import sample
from tfbuild.code.evidence import Evidence
from tfbuild.errors import NothingToDoError, SaveError, WheelError
from tfbuild.resources import DATA
from tfbuild.verify import static
from tfbuild.verify.context import Asked, Context
from tfbuild.wheel import examine
from tfbuild.wheel.inspect import inspect, installed
from tfbuild.wheel.inspection import Inspection
from tfbuild.wheel.label import relabel

TAG = "cp312-cp312-manylinux_2_27_x86_64"
LARGEST = "tensorflow/libtensorflow_cc.so.2"
HEADER = "tensorflow/include/tensorflow/core/public/version.h"
SKYLAKE = ("-march=skylake-avx512", "-mprefer-vector-width=512")
CALLS_LIBC = "int rand(void); int f(void) { return rand(); }"


@pytest.fixture
def library(tmp_path: Path) -> Path:
    need_tools()
    return compiled(tmp_path / "c", *SKYLAKE)


def wheel_of(folder: Path, **files: bytes | str) -> Path:
    named = {name.replace("__", "/").replace("_so", ".so"): data for name, data in files.items()}
    return make_wheel(folder, "tensorflow-cpu", tag=TAG, files=named)


@pytest.fixture
def wheel(library: Path, tmp_path: Path) -> Path:
    small = compiled(tmp_path / "d", name="small.so", source=CALLS_LIBC)
    return make_wheel(
        tmp_path / "in",
        "tensorflow-cpu",
        version="2.21.0.1",
        tag=TAG,
        files={
            "tensorflow/python/__init__.py": "raise SystemExit('imported')\n",
            LARGEST: library.read_bytes() + bytes(20_000),
            "tensorflow/python/_small.so": small.read_bytes(),
            "tensorflow/not_a_library.so": "INPUT(libtensorflow_cc.so.2)\n",
            HEADER: "#define TF_MAJOR_VERSION 2\n#define TF_MINOR_VERSION 21\n"
            '#define TF_PATCH_VERSION 0\n#define TF_VERSION_SUFFIX "-rc1"\n',
        },
    )


def readelf_floor(library: Path, family: str) -> str:
    text = subprocess.run(
        ["readelf", "-V", library], capture_output=True, text=True, check=True
    ).stdout
    found: list[str] = re.findall(rf"Name: {family}_([\d.]+)", text)
    return max(found, key=lambda version: [int(part) for part in version.split(".")])


def test_a_wheel_is_told_apart_and_counted(wheel: Path, library: Path, tmp_path: Path) -> None:
    found = inspect(wheel)
    assert (found.source, found.file) == ("wheel", wheel.name)
    assert (found.distribution, found.version, found.label) == ("tensorflow-cpu", "2.21.0.1", None)
    assert found.tensorflow == "2.21.0-rc1"
    assert (found.python, found.abi, found.tags) == ("3.12", "cp312", (TAG,))
    assert found.size == wheel.stat().st_size
    with zipfile.ZipFile(wheel) as zipped:
        assert found.unpacked_size == sum(info.file_size for info in zipped.infolist())
        assert found.files == len(zipped.infolist())
    assert found.sha256 == hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert [each.name for each in found.libraries] == [
        LARGEST,
        "tensorflow/python/_small.so",
        "tensorflow/not_a_library.so",
    ]
    assert [each.machine for each in found.libraries] == ["x86_64", "x86_64", None]
    version = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True)
    assert len(found.compilers) == 1
    assert found.compilers[0].removeprefix("GCC: ") in version.stdout
    assert (found.glibc, found.glibcxx) == (readelf_floor(tmp_path / "d/small.so", "GLIBC"), None)
    assert found.code is not None
    assert (found.code.machine, found.libraries[0].stripped) == ("x86_64", False)
    assert found.code.total.widths[512].value == objdump(library)["512"] > 0
    assert (found.record, found.notes) == (None, ())


def test_the_floor_of_the_cpp_library(tmp_path: Path) -> None:
    need(shutil.which("g++"), "needs g++")
    library = tmp_path / "small.so"
    source = "#include <string>\nstd::string f(int x) { return std::to_string(x); }\n"
    words = ["g++", "-shared", "-fPIC", "-O2", "-x", "c++", "-o", str(library), "-"]
    subprocess.run(words, input=source, text=True, check=True)
    found = inspect(wheel_of(tmp_path, tensorflow__small_so=library.read_bytes()))
    assert found.glibcxx == readelf_floor(library, "GLIBCXX")


def test_the_floor_is_the_newest_that_any_library_needs(library: Path, tmp_path: Path) -> None:
    # Versions of our own, so that nothing depends on this system's glibc; 2.10 is after 2.9.
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / "lib.map").write_text("GLIBC_2.9 { pow2; }; GLIBC_2.10 { rand2; };")
    exported = "int pow2(void) { return 1; } int rand2(void) { return 2; }"
    compiled(folder, "-Wl,--version-script=lib.map", name="libnew.so", source=exported)
    calls = "int pow2(void); int rand2(void); int f(void) { return pow2() + rand2(); }"
    (folder / "needs.c").write_text(calls)
    command = ["gcc", "-shared", "-fPIC", "needs.c", "-L.", "-lnew", "-o", "m.so"]
    subprocess.run(command, cwd=folder, check=True)
    needs = folder / "m.so"
    both = {"large.so": library.read_bytes() + bytes(99_999), "m.so": needs.read_bytes()}
    found = inspect(make_wheel(tmp_path / "in", "x", "1", TAG, files=both))
    assert found.glibc == readelf_floor(needs, "GLIBC") == "2.10"


def test_a_label_and_a_record_are_shown(wheel: Path, tmp_path: Path) -> None:
    record = {"target": "skylake", "flags": ["-march=skylake-avx512"]}
    labelled = relabel(
        wheel, "skylake", tmp_path / "out", {"tfbuild.json": json.dumps(record).encode()}
    )
    found = inspect(labelled)
    assert (found.version, found.label, found.record) == ("2.21.0.1+skylake", "skylake", record)
    assert found.sboms == ()
    listed = relabel(wheel, "zen2", tmp_path / "out", {"sboms/a.cdx.json": b"{}"})
    assert inspect(listed).sboms == ("sboms/a.cdx.json",)


@pytest.mark.parametrize(
    "text",
    [b"[1]", b"\xff", b'{"a":' * 100_000, b'{"a": [' + b"{}," * 400_000 + b"{}]}"],
    ids=["no object", "no UTF-8", "too deep", "too large"],
)
def test_a_record_that_is_none_of_ours(text: bytes, wheel: Path, tmp_path: Path) -> None:
    odd = relabel(wheel, "zen3", tmp_path / "out", {"tfbuild.json": text})
    assert inspect(odd).record is None
    assert "not a JSON object of ours" in inspect(odd).notes[0]
    found = Context(odd, Asked()).target
    assert found is not None
    assert found.name == "zen3"


def test_a_wheel_without_libraries(tmp_path: Path) -> None:
    found = inspect(make_wheel(tmp_path))
    assert (found.libraries, found.code, found.glibc, found.tensorflow) == ((), None, None, None)
    assert (found.python, found.abi) == ("3", "none")


def test_a_library_without_code(tmp_path: Path) -> None:
    need_tools()
    flags = ("-nostdlib", "-Wl,--build-id=none")
    empty = compiled(tmp_path / "c", *flags, source="const int x = 1;")
    found = inspect(wheel_of(tmp_path, tensorflow__empty_so=empty.read_bytes()))
    assert found.code is not None
    assert found.code.total.instructions.value == 0
    assert found.reading == ("It holds no instructions.",)


def test_a_stripped_library(library: Path, tmp_path: Path) -> None:
    before = code.read(library).total
    subprocess.run(["strip", library], check=True)
    found = inspect(wheel_of(tmp_path, tensorflow__a_so=library.read_bytes()))
    assert found.code is not None
    assert found.libraries[0].stripped is True
    assert found.code.total.widths == before.widths


def test_another_architecture_is_told_and_not_counted(library: Path, tmp_path: Path) -> None:
    arm = bytearray(library.read_bytes())
    struct.pack_into("<H", arm, 0x12, 183)  # e_machine = EM_AARCH64
    found = inspect(wheel_of(tmp_path, tensorflow__a_so=bytes(arm)))
    assert (found.libraries[0].machine, found.code) == ("aarch64", None)
    assert found.reading[0].startswith("Unknown: Code for aarch64")
    assert found.compilers
    assert "but it holds code for aarch64" in found.notes[0]


@pytest.mark.parametrize(
    ("start", "says"), [(b"\xcf\xfa\xed\xfe", "Mach-O"), (b"MZ", "PE"), (b"INPUT", "no library")]
)
def test_other_formats_are_unknown(start: bytes, says: str, tmp_path: Path) -> None:
    found = inspect(wheel_of(tmp_path, tensorflow__a_so=start + bytes(100)))
    assert (found.libraries[0].machine, found.code) == (None, None)
    assert says in found.reading[0]


def test_code_in_a_wheel_for_any_platform_is_noted(library: Path, tmp_path: Path) -> None:
    files = {"tensorflow/a.so": library.read_bytes()}
    found = inspect(make_wheel(tmp_path, files=files))
    assert "runs anywhere" in found.notes[0]


def test_damage_to_the_largest_library_is_an_error_and_to_another_a_note(
    library: Path, tmp_path: Path
) -> None:
    broken = b"\x7fELF" + bytes(40)
    found = inspect(
        wheel_of(tmp_path, tensorflow__a_so=library.read_bytes(), tensorflow__b_so=broken)
    )
    assert "tensorflow/b.so is not a usable shared library" in found.notes[0]
    with pytest.raises(WheelError, match="not a usable shared library"):
        inspect(wheel_of(tmp_path, tensorflow__b_so=broken))


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfbuild.wheel.members._BOMB_SIZE", 1 << 20)
    bomb = wheel_of(tmp_path, tensorflow__a_so=bytes(2 << 20))
    with pytest.raises(WheelError, match="damaged") as caught:
        inspect(bomb)
    assert "bomb" in caught.value.why


def test_a_size_that_lies_unpacks_no_further(tmp_path: Path) -> None:
    honest = wheel_of(tmp_path, tensorflow__a_so=bytes(3 << 20))
    data = bytearray(honest.read_bytes())
    # The central directory's uncompressed size, which is what is believed.
    place = data.index(struct.pack("<I", 3 << 20), data.index(b"PK\x01\x02"))
    struct.pack_into("<I", data, place, 1000)
    honest.write_bytes(data)
    with pytest.raises(WheelError, match="damaged"):
        inspect(honest)


def test_no_room_for_the_largest_library(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(SaveError, match="temporary file") as caught:
        inspect(wheel)
    assert "TMPDIR" in caught.value.do


@pytest.mark.parametrize("read", [inspect, static.checks], ids=["inspect", "static"])
def test_no_folder_for_temporary_files(
    read: Callable[[Path], object], wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As where every disk is full: Python tries them all by writing a file.
    def none(*_: object, **__: object) -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_get_default_tempdir", none)
    with pytest.raises(SaveError, match="temporary file") as caught:
        read(wheel)
    assert "No usable" in caught.value.why
    assert "TMPDIR" in caught.value.do


def refuse(*_: object, **__: object) -> Evidence:
    raise AssertionError("decoded again")


def test_a_second_inspection_decodes_nothing(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    first = inspect(wheel, cache=cache)
    (kept,) = cache.iterdir()
    assert artifact.load(Inspection, kept) == first
    kept.write_text("{")
    assert inspect(wheel, cache=cache) == first
    monkeypatch.setattr(code, "opened", refuse)
    assert inspect(wheel, cache=cache) == first
    with pytest.raises(AssertionError, match="decoded again"):
        inspect(wheel)
    # One more byte of comment, and it is another wheel.
    with zipfile.ZipFile(wheel, "a") as zipped:
        zipped.comment = b"x"
    with pytest.raises(AssertionError, match="decoded again"):
        inspect(wheel, cache=cache)


@pytest.mark.parametrize("full", [False, True])
def test_several_processes_find_what_one_finds(
    wheel: Path, environment: Path, full: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone, installed_alone = inspect(wheel, full=full), installed(environment, full=full)
    monkeypatch.setattr(examine, "_FEW", 0)
    monkeypatch.setattr(examine, "_LARGE", 20_000)
    monkeypatch.setattr("tfbuild.code.parallel.workers", lambda: 2)
    monkeypatch.setattr(examine, "_alone", refuse)
    assert inspect(wheel, full=full) == alone
    assert installed(environment, full=full) == installed_alone
    assert alone.code is not None
    assert alone.code.total.instructions.value > 0


def test_damage_is_told_by_several_processes_too(
    wheel: Path, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examine, "_FEW", 0)
    monkeypatch.setattr("tfbuild.code.parallel.workers", lambda: 2)
    broken = b"\x7fELF" + bytes(40)
    files = {"tensorflow__a_so": library.read_bytes(), "tensorflow__b_so": broken}
    assert "tensorflow/b.so is not a usable" in inspect(wheel_of(tmp_path, **files)).notes[0]
    data = bytearray(wheel.read_bytes())
    with zipfile.ZipFile(wheel) as zipped:
        info = zipped.getinfo(LARGEST)
    data[info.header_offset + 2000] ^= 0xFF
    wheel.write_bytes(data)
    with pytest.raises(WheelError, match="damaged"):
        inspect(wheel)


def test_a_full_result_serves_who_asks_for_less_and_not_the_reverse(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample, "UNIT", 1)
    monkeypatch.setattr(sample, "FEWEST", 10)
    cache = tmp_path / "cache"
    sampled = inspect(wheel, cache=cache)
    whole = inspect(wheel, cache=cache, full=True)
    assert sampled.code is not None
    assert whole.code is not None
    assert (sampled.code.mode, whole.code.mode) == ("sample", "full")
    assert inspect(wheel, cache=cache) == whole
    (cache / min(cache.iterdir(), key=lambda path: path.stat().st_mtime_ns)).unlink()
    monkeypatch.setattr(code, "opened", refuse)
    assert inspect(wheel, cache=cache) == whole


def test_new_facts_or_another_version_make_a_result_anew(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    inspect(wheel, cache=cache)
    monkeypatch.setattr(code, "opened", refuse)
    inspect(wheel, cache=cache)
    with monkeypatch.context() as other:
        other.setattr("tfbuild.wheel.inspect.__version__", "9.9")
        with pytest.raises(AssertionError, match="decoded again"):
            inspect(wheel, cache=cache)
    facts = tmp_path / "facts"
    shutil.copytree(DATA, facts)
    (facts / "components.toml").write_text("# changed")
    monkeypatch.setattr("tfbuild.wheel.inspect.DATA", facts)
    with pytest.raises(AssertionError, match="decoded again"):
        inspect(wheel, cache=cache)


def test_a_cache_that_cannot_be_written_is_only_noted(wheel: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = inspect(wheel, cache=tmp_path / "file")
    assert "not kept" in found.notes[-1]


@pytest.fixture
def environment(wheel: Path, tmp_path: Path) -> Path:
    prefix = tmp_path / "env"
    site = prefix / "lib/python3.12/site-packages"
    with zipfile.ZipFile(relabel(wheel, "skylake", tmp_path / "labelled")) as zipped:
        zipped.extractall(site)
    (prefix / "bin").mkdir()
    (prefix / "bin/python").symlink_to(sys.executable)
    return prefix


@pytest.mark.parametrize(
    "place", [lambda p: p, lambda p: p / "bin/python", lambda p: p / "lib/python3.12/site-packages"]
)
def test_an_installed_one_is_read_and_not_imported(
    place: Callable[[Path], Path], environment: Path, library: Path
) -> None:
    found = installed(place(environment))
    assert (found.source, found.distribution) == ("installed", "tensorflow-cpu")
    assert (found.version, found.label) == ("2.21.0.1+skylake", "skylake")
    assert (found.tensorflow, found.python, found.tags) == ("2.21.0-rc1", "3.12", (TAG,))
    assert found.sha256 is None
    assert found.code is not None
    assert found.code.total.widths[512].value == objdump(library)["512"]
    site = environment / "lib/python3.12/site-packages"
    assert found.unpacked_size == sum(f.stat().st_size for f in site.rglob("*") if f.is_file())


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_the_current_environment(
    variable: str, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.setenv(variable, str(environment))
    assert installed().version == "2.21.0.1+skylake"


def test_an_installed_one_is_remembered_until_it_changes(
    environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = installed(environment, cache=tmp_path / "cache")
    monkeypatch.setattr(code, "opened", refuse)
    assert installed(environment, cache=tmp_path / "cache") == first
    library = environment / "lib/python3.12/site-packages" / LARGEST
    library.write_bytes(library.read_bytes() + b"\0")
    with pytest.raises(AssertionError, match="decoded again"):
        installed(environment, cache=tmp_path / "cache")


def test_no_tensorflow_there(environment: Path, tmp_path: Path) -> None:
    with pytest.raises(NothingToDoError, match="No TensorFlow"):
        installed(tmp_path / "nowhere")
    shutil.rmtree(environment / "lib/python3.12/site-packages/tensorflow")
    with pytest.raises(NothingToDoError):
        installed(environment)


def test_an_installed_one_without_record(environment: Path) -> None:
    for record in environment.rglob("RECORD"):
        record.unlink()
    with pytest.raises(WheelError, match="no RECORD"):
        installed(environment)


def test_a_record_that_leads_out_is_not_followed(environment: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.so").write_bytes(b"\x7fELF")
    for record in environment.rglob("RECORD"):
        record.write_text(f"{record.read_text()}../../../../outside.so,,\n/etc/passwd,,\n")
    names = [each.name for each in installed(environment).libraries]
    assert len(names) == 3
    assert installed(environment).files == inspect_files(environment)


@pytest.mark.parametrize(
    "row", [b"a" * 300, b"a\0b", b"\xff"], ids=["longer than any name", "nul", "no UTF-8"]
)
def test_a_name_in_a_record_that_no_file_can_have(row: bytes, environment: Path) -> None:
    before = installed(environment).files
    for record in environment.rglob("RECORD"):
        record.write_bytes(record.read_bytes() + row + b",,\n")
    assert installed(environment).files == before


def test_a_record_that_is_no_table(environment: Path) -> None:
    for record in environment.rglob("RECORD"):
        record.write_text('"' + "a" * 200_000)
    with pytest.raises(WheelError, match="cannot be read"):
        installed(environment)


def test_tags_that_stand_for_more_than_memory_holds(environment: Path) -> None:
    part = ".".join("a" * 800)
    for wheel_file in environment.rglob("WHEEL"):
        wheel_file.write_text(f"Tag: {part}-{part}-{part}\n")
    assert installed(environment).tags == ()


def test_a_pipe_in_the_place_of_a_file(environment: Path) -> None:
    for wheel_file in environment.rglob("WHEEL"):
        wheel_file.unlink()
        os.mkfifo(wheel_file)
    assert installed(environment).tags == ()


def test_a_folder_whose_name_is_no_text(environment: Path, tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"odd\xff")
    environment.rename(odd)
    found = installed(odd, cache=tmp_path / "cache")
    assert "odd\ufffd" in found.file
    assert installed(odd, cache=tmp_path / "cache") == found
    assert json.loads(artifact.to_json(found))["file"] == found.file


def inspect_files(environment: Path) -> int:
    site = environment / "lib/python3.12/site-packages"
    return sum(1 for path in site.rglob("*") if path.is_file())
