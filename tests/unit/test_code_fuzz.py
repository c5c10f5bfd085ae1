"""Damaged and hostile libraries: a result or a WheelError, in bounded time and memory."""

import random
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from tests.conftest import need
from tests.libraries import KERNELS, assembled, compiled, need_tools, objdump
from tests.wheels import make_wheel
from tfbuild.code import headers
from tfbuild.code import library as code
from tfbuild.code.source import MemorySource
from tfbuild.errors import WheelError
from tfbuild.wheel import elf
from tfbuild.wheel.inspect import inspect

BOUNDED = settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
TAG = "cp312-cp312-linux_x86_64"


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Return a small library: with symbols, without, and without sections."""
    need_tools()
    folder = tmp_path_factory.mktemp("fuzz")
    library = compiled(folder, "-march=haswell", source=KERNELS)
    whole = library.read_bytes()
    subprocess.run(["strip", library], check=True)
    stripped = library.read_bytes()
    headless = bytearray(whole)
    struct.pack_into("<Q", headless, 0x28, 0)
    struct.pack_into("<HH", headless, 0x3C, 0, 0)
    return [whole, stripped, bytes(headless)]


def read_or_refuse(data: bytes, folder: Path) -> bool:
    """Read facts and code; return whether nothing was wrong. Anything but WheelError fails."""
    path = folder / "fuzzed.so"
    path.write_bytes(data)
    try:
        with path.open("rb") as file:
            elf.facts(file, "fuzzed.so")
        whole, drawn = code.read_bytes(data), code.read_bytes(data, full=False)
    except WheelError:
        return False
    assert whole.total.instructions.value <= whole.total.bytes <= len(data)
    assert drawn.total.bytes == whole.total.bytes
    return True


@BOUNDED
@given(data=some.data())
def test_flipped_and_cut_libraries(
    data: some.DataObject, originals: list[bytes], tmp_path: Path
) -> None:
    original = data.draw(some.sampled_from(originals))
    changed = bytearray(original)
    tables = struct.unpack_from("<Q", original, 0x28)[0] or 64
    # Where headers and tables lie, and anywhere.
    place = some.one_of(
        some.integers(0, 0x400),
        some.integers(tables, min(tables + 0x900, len(original) - 1)),
        some.integers(0, len(original) - 1),
    )
    for at, value in data.draw(some.lists(some.tuples(place, some.integers(0, 255)), max_size=12)):
        changed[min(at, len(changed) - 1)] = value
    cut = data.draw(some.one_of(some.none(), some.integers(0, len(original))))
    read_or_refuse(bytes(changed[:cut]), tmp_path)


@BOUNDED
@given(
    ident=some.sampled_from([b"\x02\x01", b"\x01\x01", b"\x02\x02", b"\x01\x02"]),
    machine=some.sampled_from([62, 3, 183, 21]),
    header=some.binary(min_size=44, max_size=44),
    rest=some.binary(max_size=2000),
)
def test_headers_of_chance(
    ident: bytes, machine: int, header: bytes, rest: bytes, tmp_path: Path
) -> None:
    order = "<" if ident[1] == 1 else ">"
    begin = b"\x7fELF" + ident + bytes(10) + struct.pack(order + "HH", 3, machine)
    read_or_refuse(begin + header + rest, tmp_path)


@BOUNDED
@given(
    rows=some.lists(
        some.tuples(
            some.sampled_from([1, 2, 3, 4, 8, 11, 0x6FFFFFFE]),
            some.sampled_from([0, 2, 6, 0x806]),
            *[some.one_of(some.integers(0, 0x900), some.integers(0, 2**64 - 1))] * 3,
            some.integers(0, 9),
        ),
        max_size=8,
    ),
    body=some.binary(min_size=0x200, max_size=0x600),
)
def test_sections_of_chance(
    rows: list[tuple[int, int, int, int, int, int]], body: bytes, tmp_path: Path
) -> None:
    """Sections that overlap, lead out, name each other, and are of no size or too large."""
    at = 64 + len(body)
    head = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 0, at, 0, 64, 56, 0, 64, len(rows), 0,
    )  # fmt: skip
    table = b"".join(
        struct.pack("<IIQQQQIIQQ", 0, kind, flags, address, offset, size, link, 0, 1, 24)
        for kind, flags, address, offset, size, link in rows
    )
    read_or_refuse(head + body + table, tmp_path)


def test_symbols_of_no_size_in_no_order_and_far_away(
    originals: list[bytes], tmp_path: Path
) -> None:
    library = originals[0]
    expected = code.read_bytes(library).total
    head = headers.read(MemorySource(library), "x")
    (table,) = head.sections[head.sections["type"] == headers.SYMTAB]
    start, count = int(table["offset"]), int(table["size"]) // 24
    rows = [library[start + 24 * n : start + 24 * (n + 1)] for n in range(1, count)]
    shuffled = bytearray(library)
    random.Random(4).shuffle(rows)
    for number, row in enumerate(rows):
        name, info, other, index, value, size = struct.unpack("<IBBHQQ", row)
        size = (0, size, 2**64 - 1)[number % 3]
        value = 2**64 - 5 if number % 7 == 0 and not info & 0xF else value
        struct.pack_into(
            "<IBBHQQ", shuffled, start + 24 * (number + 1), name, info, other, index, value, size
        )
    found = code.read_bytes(bytes(shuffled)).total
    assert (found.bytes, found.widths) == (expected.bytes, expected.widths)


def test_more_symbols_than_any_library_has(originals: list[bytes]) -> None:
    library = bytearray(originals[0])
    sections = struct.unpack_from("<Q", library, 0x28)[0]
    head = headers.read(MemorySource(bytes(library)), "x")
    row = next(n for n, each in enumerate(head.sections) if each["type"] == headers.SYMTAB)
    struct.pack_into("<Q", library, sections + 64 * row + 32, 24 * 5_000_000)
    with pytest.raises(WheelError, match="not a usable") as caught:
        code.read_bytes(bytes(library))
    assert "5000000 symbols" in caught.value.why


@pytest.mark.parametrize(("mode", "gigabytes"), [("sample", 4), ("full", 1)])
def test_sparse_gigabytes(mode: str, gigabytes: int, tmp_path: Path) -> None:
    """A file that claims to be code, of which all but a page was never written."""
    need(shutil.disk_usage(tmp_path).free > 1 << 30, "less than 1 GB of disk")
    size = gigabytes << 30
    head = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 64, 0, 0, 64, 56, 1, 64, 0, 0,
    )  # fmt: skip
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0x1000, 0x1000, 0, size, size, 0x1000)
    library = tmp_path / "sparse.so"
    with library.open("wb") as file:
        file.write(head + segment)
        file.seek(0x1000)
        file.write(b"\xc5\xfc\x77\xc3")
        file.truncate(size + 0x1000)
    script = (
        "import re, sys; from pathlib import Path; from tfbuild.code import library\n"
        "found = library.read(Path(sys.argv[1]), full=sys.argv[2] == 'full')\n"
        # Not ru_maxrss: that begins with the peak of the process which starts this one.
        "status = Path('/proc/self/status').read_text()\n"
        "peak = int(re.search(r'VmHWM:\\s+(\\d+) kB', status)[1]) // 1024\n"
        "print(found.total.bytes, found.total.has('avx'), peak)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, library, mode], capture_output=True, text=True, check=True
    )
    total, avx, peak = map(int, done.stdout.split())
    assert total == size
    assert peak < 300
    if mode == "full":
        assert avx == 1


@pytest.mark.parametrize("seed", range(6))
def test_bytes_of_chance_decode_as_objdump_decodes_them(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    data = ", ".join(str(chance.randrange(256)) for _ in range(3000))
    library = assembled(tmp_path, f".byte {data}")
    found, theirs = code.read(library), objdump(library)
    assert found.undecodable > 50
    # Two decoders need not agree on each prefix that means nothing.
    assert found.total.instructions.value == pytest.approx(theirs["instructions"], rel=0.05)
    assert not found.needs


def test_junk_beside_code_is_counted_and_is_no_need(tmp_path: Path) -> None:
    # 0f 0f c1 9e is an addition of 3DNow!, ec reads a port: a table of constants, not code.
    table = (
        ".type table, @function\ntable: .byte 0x0f, 0x0f, 0xc1, 0x9e, 0xec, 0xc3\n.size table, 6\n"
    )
    text = ".type f, @function\nf: vaddps %ymm1, %ymm2, %ymm3\nret\n.size f, 5\n"
    found = code.read(assembled(tmp_path, table + text))
    assert found.total.has("3dnow") == 1
    assert [need.extension for need in found.needs] == ["avx"]


def test_a_wheel_of_odd_libraries_is_told_and_not_fallen_over(
    originals: list[bytes], tmp_path: Path
) -> None:
    whole, stripped, _ = originals
    arm = bytearray(whole)
    struct.pack_into("<H", arm, 0x12, 183)
    empty = compiled(tmp_path / "e", "-nostdlib", source="const int x = 1;")
    files: dict[str, bytes | str] = {
        "x/a.so": whole + bytes(50_000),
        "x/arm.so": bytes(arm),
        "x/cut.so": whole[: len(whole) // 2],
        "x/empty.so": empty.read_bytes(),
        "x/nothing.so": b"",
        "x/stripped.so": stripped,
        "x/text.so": "INPUT(a.so)",
    }
    found = inspect(make_wheel(tmp_path, "odd", "1", TAG, files=files))
    by_name = {each.name.removeprefix("x/"): each for each in found.libraries}
    codes = {name: each.code for name, each in by_name.items()}
    assert {name for name, each in codes.items() if each} == {"a.so", "empty.so", "stripped.so"}
    assert "aarch64" in by_name["arm.so"].unknown
    assert [note for note in found.notes if "cut.so" in note]
    assert codes["empty.so"] is not None
    assert codes["empty.so"].total.instructions.value == 0
    assert codes["stripped.so"] is not None
    assert codes["stripped.so"].symbols == "exported"
