"""Instruction counts, against objdump and against instructions whose needs are known."""

import random
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import need
from tests.libraries import assembled, compiled, need_tools, objdump
from tfbuild.errors import WheelError
from tfbuild.progress import Silent
from tfbuild.wheel import isa
from tfbuild.wheel.isa import IsaCounts


@pytest.fixture(autouse=True)
def _tools() -> None:
    need_tools()


def agree(ours: IsaCounts, theirs: dict[str, int]) -> None:
    assert ours.widths == {width: theirs[str(width)] for width in (128, 256, 512)}
    assert ours.encodings == {name: theirs[name] for name in ("sse", "vex", "evex")}
    assert ours.fused == theirs["fused"]


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
    ours, theirs = isa.count(library), objdump(library)
    assert (ours.instructions, ours.undecodable) == (theirs["instructions"], 0)
    agree(ours, theirs)
    assert set(ours.extensions) >= MARCHES[march]
    has_avx512 = "avx512f" in MARCHES[march]
    assert bool(ours.widths[512]) == (has_avx512 and width == 512)
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
    counts = isa.count(assembled(tmp_path, text))
    assert counts.instructions == 1
    assert counts.extensions == dict.fromkeys(needs.split(), 1)
    assert counts.widths == {each: int(each == width) for each in (128, 256, 512)}
    assert counts.encodings == {each: int(each == encoding) for each in ("sse", "vex", "evex")}
    assert counts.fused == text.startswith("vfmadd")


def test_bytes_that_are_no_instruction_are_counted_apart(tmp_path: Path) -> None:
    # 06 was "push es" and is nothing in 64-bit mode.
    counts = isa.count(assembled(tmp_path, "ret\n.byte 0x06, 0x06, 0x06\nret"))
    assert (counts.instructions, counts.undecodable, counts.bytes) == (2, 3, 5)


def test_data_that_a_symbol_declares_are_not_decoded(tmp_path: Path) -> None:
    table = ".type table, @object\ntable: .fill 16, 4, 0x7cf2ef62\n.size table, 64\n"
    counts = isa.count(assembled(tmp_path, f"f: ret\n{table}g: vaddps %zmm1, %zmm2, %zmm3\nret"))
    assert (counts.instructions, counts.data, counts.widths[512]) == (3, 64, 1)


def test_decoding_begins_anew_at_each_symbol(tmp_path: Path) -> None:
    # 48 b8 begins "movabs" and would swallow the eight bytes that follow.
    code = ".byte 0x48, 0xb8\n.type f, @function\nf: vaddps %zmm1, %zmm2, %zmm3\nret\nret\nret"
    with_symbol = isa.count(assembled(tmp_path, code))
    assert (with_symbol.widths[512], with_symbol.undecodable) == (1, 2)
    without = isa.count(assembled(tmp_path, code.replace(".type f, @function\nf: ", "")))
    assert without.widths[512] == 0


def test_zeros_between_functions_are_not_additions(tmp_path: Path) -> None:
    code = ".type f, @function\nf: ret\n.size f, 1\n.fill 15, 1, 0\n.type g, @function\ng: ret"
    counts = isa.count(assembled(tmp_path, code))
    assert (counts.instructions, counts.data, counts.undecodable) == (2, 15, 0)


def test_blocks_end_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = compiled(tmp_path, "-march=skylake-avx512", "-mprefer-vector-width=512")
    subprocess.run(["strip", library], check=True)
    whole = isa.count(library)
    for size in (16, 17, 61, 256):
        monkeypatch.setattr(isa, "_BLOCK", size)
        assert isa.count(library) == whole


def test_a_stripped_library_counts_the_same(tmp_path: Path) -> None:
    library = compiled(tmp_path, "-march=haswell")
    before = isa.count(library)
    subprocess.run(["strip", library], check=True)
    after = isa.count(library.read_bytes())
    assert (after.widths, after.encodings, after.fused) == (
        before.widths,
        before.encodings,
        before.fused,
    )


def test_without_section_headers_the_executable_segments_are_read(tmp_path: Path) -> None:
    library = compiled(tmp_path, "-march=skylake-avx512", "-mprefer-vector-width=512")
    data = bytearray(library.read_bytes())
    whole = isa.count(bytes(data))
    struct.pack_into("<Q", data, 0x28, 0)  # e_shoff
    struct.pack_into("<HH", data, 0x3C, 0, 0)  # e_shnum, e_shstrndx
    assert isa.count(bytes(data)).widths[512] == whole.widths[512] > 0


@pytest.mark.parametrize("name", ["libm.so.6", "libmvec.so.1"])
def test_a_real_library_counts_as_objdump_counts_it(name: str) -> None:
    library = Path("/lib/x86_64-linux-gnu") / name
    need(library.exists(), f"{library} is missing")
    ours, theirs = isa.count(library), objdump(library)
    assert theirs["128"] > 1000
    assert (theirs["512"] > 1000) == (name == "libmvec.so.1")
    assert ours.fused == theirs["fused"]
    assert ours.undecodable <= theirs["bad"]
    # An instruction counts by its form: reading 512 bits from memory into ymm is one for 512 bits,
    # though no zmm register is named. Such are few.
    for width in (128, 256, 512):
        assert ours.widths[width] == pytest.approx(theirs[str(width)], rel=0.01)


def test_progress_ends_at_its_total(tmp_path: Path) -> None:
    told: list[tuple[str, int | None]] = []

    class Recorder(Silent):
        def phase(self, text: str, total: int | None = None) -> None:
            told.append((text, total))

        def step(self, done: int, total: int | None = None, text: str = "") -> None:
            told.append((f"step {text}{total or ''}".strip(), done))

    isa.count(compiled(tmp_path), Recorder())
    assert told == [("Reading code (MB)", 1), ("step", 1)]


def patched(library: Path, offset: int, value: int) -> bytes:
    data = bytearray(library.read_bytes())
    struct.pack_into("<H", data, offset, value)
    return bytes(data)


def test_another_architecture_is_refused(tmp_path: Path) -> None:
    arm = patched(compiled(tmp_path), 0x12, 183)  # e_machine = EM_AARCH64
    with pytest.raises(WheelError, match="aarch64"):
        isa.count(arm)


def test_no_elf_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WheelError, match="ELF tables"):
        isa.count(b"MZ" + bytes(200))
    with pytest.raises(WheelError, match="Cannot read"):
        isa.count(tmp_path / "missing.so")


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
            isa.count(bytes(data[: choice.randrange(64, len(data) + 1)]))
            survived += 1
        except WheelError:
            pass
    assert survived < 150


def test_a_large_library_needs_little_memory(tmp_path: Path) -> None:
    # Five million nops of eight bytes, without a symbol that would divide them.
    library = assembled(tmp_path, ".fill 5000000, 8, 0x841f0f")
    script = (
        "import resource, sys; from pathlib import Path; from tfbuild.wheel import isa\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024\n"
        "isa.count(Path('small.o')); before = peak()\n"
        "print(isa.count(Path('code.o')).instructions, peak() - before)"
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
