"""Instruction counts, against objdump and against instructions whose needs are known."""

import random
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import need
from tests.libraries import assembled, compiled, need_tools, objdump
from tfbuild.code import decode
from tfbuild.code import library as code
from tfbuild.code.evidence import Count, Tally
from tfbuild.errors import WheelError


@pytest.fixture(autouse=True)
def _tools() -> None:
    need_tools()


def widths(tally: Tally) -> dict[int, int]:
    """Return the exact counts of all widths, absent ones too."""
    assert all(count.is_exact for count in tally.widths.values())
    return {key: tally.widths.get(key, NONE).value for key in (128, 256, 512)}


def encodings(tally: Tally) -> dict[str, int]:
    return {key: tally.encodings.get(key, NONE).value for key in ("sse", "vex", "evex")}


def agree(ours: Tally, theirs: dict[str, int]) -> None:
    assert widths(ours) == {width: theirs[str(width)] for width in (128, 256, 512)}
    assert encodings(ours) == {name: theirs[name] for name in ("sse", "vex", "evex")}
    assert ours.fused.value == theirs["fused"]


NONE = Count.exactly(0)
MARCHES = {
    "x86-64": set(),
    "nehalem": {"popcnt", "ssse3"},
    "sandybridge": {"avx"},
    "haswell": {"avx", "avx2", "fma", "bmi2", "lzcnt"},
    "skylake-avx512": {"avx", "fma", "avx512f", "avx512vl", "avx512bw"},
    "icelake-server": {"avx512f", "avx512_vnni"},
    "sapphirerapids": {"avx512f", "avx_vnni"},
}


@pytest.mark.parametrize("width", [256, 512])
@pytest.mark.parametrize("march", MARCHES)
def test_compiled_kernels_count_as_objdump_counts_them(
    march: str, width: int, tmp_path: Path
) -> None:
    library = compiled(tmp_path, f"-march={march}", f"-mprefer-vector-width={width}")
    found, theirs = code.read(library), objdump(library)
    ours = found.total
    assert (ours.instructions.value, found.undecodable) == (theirs["instructions"], 0)
    agree(ours, theirs)
    assert set(ours.extensions) >= MARCHES[march]
    has_avx512 = "avx512f" in MARCHES[march]
    assert bool(widths(ours)[512]) == (has_avx512 and width == 512)
    if not has_avx512:
        assert not any(name.startswith("avx512") for name in ours.extensions)
    if march in {"x86-64", "nehalem"}:
        assert not any(name.startswith(("avx", "bmi", "fma")) for name in ours.extensions)


# Needs from Intel's manual (volume 2, each instruction's "CPUID feature flag" column).
KNOWN = [
    ("addps %xmm1, %xmm0", "baseline", 128, "sse"),
    ("addss %xmm1, %xmm0", "baseline", 128, "sse"),
    ("imul %rax, %rbx", "baseline", 0, None),
    ("endbr64", "baseline", 0, None),
    ("pause", "baseline", 0, None),
    ("tzcnt %eax, %ebx", "baseline", 0, None),
    ("haddps %xmm1, %xmm0", "sse3", 128, "sse"),
    ("pshufb %xmm1, %xmm0", "ssse3", 128, "sse"),
    ("pblendw $1, %xmm1, %xmm0", "sse4_1", 128, "sse"),
    ("crc32b %al, %ebx", "sse4_2", 0, None),
    ("popcnt %eax, %ebx", "popcnt", 0, None),
    ("lzcnt %eax, %ebx", "lzcnt", 0, None),
    ("movbe (%rax), %ebx", "movbe", 0, None),
    ("andn %eax, %ebx, %ecx", "bmi1", 0, None),
    ("shlx %eax, %ebx, %ecx", "bmi2", 0, None),
    ("adcx %eax, %ebx", "adx", 0, None),
    ("aesenc %xmm1, %xmm0", "aes", 128, "sse"),
    ("sha1rnds4 $1, %xmm1, %xmm0", "sha_ni", 128, "sse"),
    ("vaddps %xmm1, %xmm2, %xmm3", "avx", 128, "vex"),
    ("vaddps %ymm1, %ymm2, %ymm3", "avx", 256, "vex"),
    ("vzeroupper", "avx", 0, None),
    ("vpaddd %xmm1, %xmm2, %xmm3", "avx", 128, "vex"),
    ("vpaddd %ymm1, %ymm2, %ymm3", "avx2", 256, "vex"),
    ("vgatherdps %xmm0, (%rax,%xmm1,4), %xmm2", "avx2", 128, "vex"),
    ("vfmadd231ps %ymm1, %ymm2, %ymm3", "fma", 256, "vex"),
    ("vcvtps2ph $0, %ymm1, %xmm0", "f16c", 256, "vex"),
    ("vaddps %zmm1, %zmm2, %zmm3", "avx512f", 512, "evex"),
    ("vaddps {rn-sae}, %zmm1, %zmm2, %zmm3", "avx512f", 512, "evex"),
    ("vaddps %xmm16, %xmm2, %xmm3", "avx512f avx512vl", 128, "evex"),
    ("vaddps %ymm1, %ymm2, %ymm3{%k1}", "avx512f avx512vl", 256, "evex"),
    ("vaddss %xmm16, %xmm2, %xmm3", "avx512f", 128, "evex"),
    ("vfmadd231ps %zmm1, %zmm2, %zmm3", "avx512f", 512, "evex"),
    ("kmovw %eax, %k1", "avx512f", 0, None),
    ("kmovd %eax, %k1", "avx512bw", 0, None),
    ("vpgatherqd (%rax,%zmm1,4), %ymm0{%k1}", "avx512f", 512, "evex"),
    ("vcvtpd2ps (%rdi), %ymm0{%k1}", "avx512f", 512, "evex"),
    ("vpaddb %zmm1, %zmm2, %zmm3", "avx512bw", 512, "evex"),
    ("vandps %zmm1, %zmm2, %zmm3", "avx512dq", 512, "evex"),
    ("vpconflictd %zmm1, %zmm2", "avx512cd", 512, "evex"),
    ("vpermb %zmm1, %zmm2, %zmm3", "avx512vbmi", 512, "evex"),
    ("vpmadd52luq %zmm1, %zmm2, %zmm3", "avx512ifma", 512, "evex"),
    ("vpopcntd %zmm1, %zmm2", "avx512_vpopcntdq", 512, "evex"),
    ("vpdpbusd %zmm1, %zmm2, %zmm3", "avx512_vnni", 512, "evex"),
    ("{evex} vpdpbusd %ymm1, %ymm2, %ymm3", "avx512vl avx512_vnni", 256, "evex"),
    ("{vex} vpdpbusd %ymm1, %ymm2, %ymm3", "avx_vnni", 256, "vex"),
    ("vdpbf16ps %zmm1, %zmm2, %zmm3", "avx512f avx512_bf16", 512, "evex"),
    ("vaddph %zmm1, %zmm2, %zmm3", "avx512_fp16", 512, "evex"),
    ("tileloadd (%rax,%rbx,1), %tmm1", "amx_tile", 0, None),
    ("tdpbssd %tmm1, %tmm2, %tmm3", "amx_int8", 0, None),
    ("tdpbf16ps %tmm1, %tmm2, %tmm3", "amx_bf16", 0, None),
]


@pytest.mark.parametrize(
    ("text", "needs", "width", "encoding"), KNOWN, ids=[row[0] for row in KNOWN]
)
def test_each_instruction_is_counted_under_what_it_needs(
    text: str, needs: str, width: int, encoding: str | None, tmp_path: Path
) -> None:
    counts = code.read(assembled(tmp_path, text)).total
    assert counts.instructions.value == 1
    assert counts.extensions == dict.fromkeys(needs.split(), Count.exactly(1))
    assert widths(counts) == {each: int(each == width) for each in (128, 256, 512)}
    assert encodings(counts) == {each: int(each == encoding) for each in ("sse", "vex", "evex")}
    assert counts.fused.value == text.startswith("vfmadd")


def test_bytes_that_are_no_instruction_are_counted_apart(tmp_path: Path) -> None:
    # 06 was "push es" and is nothing in 64-bit mode.
    found = code.read(assembled(tmp_path, "ret\n.byte 0x06, 0x06, 0x06\nret"))
    assert (found.total.instructions.value, found.undecodable, found.total.bytes) == (2, 3, 5)


def test_data_that_a_symbol_declares_are_not_decoded(tmp_path: Path) -> None:
    table = ".type table, @object\ntable: .fill 16, 4, 0x7cf2ef62\n.size table, 64\n"
    found = code.read(assembled(tmp_path, f"f: ret\n{table}g: vaddps %zmm1, %zmm2, %zmm3\nret"))
    assert (found.total.instructions.value, found.data, widths(found.total)[512]) == (3, 64, 1)


def test_decoding_begins_anew_at_each_symbol(tmp_path: Path) -> None:
    # 48 b8 begins "movabs" and would swallow the eight bytes that follow.
    text = ".byte 0x48, 0xb8\n.type f, @function\nf: vaddps %zmm1, %zmm2, %zmm3\nret\nret\nret"
    with_symbol = code.read(assembled(tmp_path, text))
    assert (widths(with_symbol.total)[512], with_symbol.undecodable) == (1, 2)
    without = code.read(assembled(tmp_path, text.replace(".type f, @function\nf: ", "")))
    assert widths(without.total)[512] == 0


def test_zeros_between_functions_are_not_additions(tmp_path: Path) -> None:
    text = ".type f, @function\nf: ret\n.size f, 1\n.fill 15, 1, 0\n.type g, @function\ng: ret"
    found = code.read(assembled(tmp_path, text))
    assert (found.total.instructions.value, found.data, found.undecodable) == (2, 15, 0)


def test_blocks_end_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = compiled(tmp_path, "-march=skylake-avx512", "-mprefer-vector-width=512")
    subprocess.run(["strip", library], check=True)
    whole = code.read(library)
    for size in (16, 17, 61, 256):
        monkeypatch.setattr(decode, "BLOCK", size)
        assert code.read(library).total == whole.total


def test_a_stripped_library_counts_the_same(tmp_path: Path) -> None:
    library = compiled(tmp_path, "-march=haswell")
    before = code.read(library)
    subprocess.run(["strip", library], check=True)
    after = code.read_bytes(library.read_bytes())
    assert (before.symbols, after.symbols) == ("full", "exported")
    assert (after.total.widths, after.total.encodings, after.total.fused) == (
        before.total.widths,
        before.total.encodings,
        before.total.fused,
    )


def test_without_section_headers_the_executable_segments_are_read(tmp_path: Path) -> None:
    library = compiled(tmp_path, "-march=skylake-avx512", "-mprefer-vector-width=512")
    data = bytearray(library.read_bytes())
    whole = widths(code.read_bytes(bytes(data)).total)[512]
    struct.pack_into("<Q", data, 0x28, 0)  # e_shoff
    struct.pack_into("<HH", data, 0x3C, 0, 0)  # e_shnum, e_shstrndx
    assert widths(code.read_bytes(bytes(data)).total)[512] == whole > 0


@pytest.mark.parametrize("name", ["libm.so.6", "libmvec.so.1"])
def test_a_real_library_counts_as_objdump_counts_it(name: str) -> None:
    library = Path("/lib/x86_64-linux-gnu") / name
    need(library.exists(), f"{library} is missing")
    found, theirs = code.read(library), objdump(library)
    ours = found.total
    assert theirs["128"] > 1000
    assert (theirs["512"] > 1000) == (name == "libmvec.so.1")
    assert ours.fused.value == theirs["fused"]
    assert found.undecodable <= theirs["bad"]
    # An instruction counts by its form: reading 512 bits from memory into ymm is one for 512 bits,
    # though no zmm register is named. Such are few.
    for width in (128, 256, 512):
        assert widths(ours)[width] == pytest.approx(theirs[str(width)], rel=0.01)


def patched(library: Path, offset: int, value: int) -> bytes:
    data = bytearray(library.read_bytes())
    struct.pack_into("<H", data, offset, value)
    return bytes(data)


def test_another_architecture_is_refused(tmp_path: Path) -> None:
    arm = patched(compiled(tmp_path), 0x12, 183)  # e_machine = EM_AARCH64
    with pytest.raises(WheelError, match="cannot be counted"):
        code.read_bytes(arm)


def test_no_elf_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WheelError, match="ELF tables"):
        code.read_bytes(b"MZ" + bytes(200))
    with pytest.raises(WheelError, match="Cannot read"):
        code.read(tmp_path / "missing.so")


def test_damaged_tables_end_in_an_error_and_never_hang(tmp_path: Path) -> None:
    original = compiled(tmp_path, "-march=haswell").read_bytes()
    choice = random.Random(7)
    survived = 0
    for _ in range(150):
        data = bytearray(original)
        start = choice.choice([0x10, struct.unpack_from("<Q", original, 0x28)[0]])
        for _ in range(4):
            data[min(start + choice.randrange(400), len(data) - 1)] = choice.randrange(256)
        try:
            code.read_bytes(bytes(data[: choice.randrange(64, len(data) + 1)]))
            survived += 1
        except WheelError:
            pass
    assert survived < 150


def test_a_large_library_needs_little_memory(tmp_path: Path) -> None:
    # Five million nops of eight bytes, without a symbol that would divide them.
    library = assembled(tmp_path, ".fill 5000000, 8, 0x841f0f")
    script = (
        "import resource, sys; from pathlib import Path; from tfbuild.code import library\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024\n"
        "library.read(Path('small.o')); before = peak()\n"
        "found = library.read(Path('code.o')).total.instructions.value\n"
        "print(found, peak() - before)"
    )
    large = library.read_bytes()
    assembled(tmp_path, "nop").rename(tmp_path / "small.o")
    library.write_bytes(large)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    instructions, grown_mb = map(int, done.stdout.split())
    assert instructions == 5_000_000
    assert grown_mb < 15
