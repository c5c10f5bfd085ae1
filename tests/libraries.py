"""Small shared libraries made by the compiler, and objdump's opinion of any."""

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

from tests.conftest import need
from tfbuild.code.evidence import Evidence

KERNELS = """
#include <stddef.h>
#include <stdint.h>
void saxpy(float *restrict y, const float *restrict x, float a, size_t n)
{ for (size_t i = 0; i < n; i++) y[i] += a * x[i]; }
double dot(const double *a, const double *b, size_t n)
{ double s = 0; for (size_t i = 0; i < n; i++) s += a[i] * b[i]; return s; }
int32_t bytes(const int8_t *a, const uint8_t *b, size_t n)
{ int32_t s = 0; for (size_t i = 0; i < n; i++) s += a[i] * b[i]; return s; }
void masked(float *y, const float *x, size_t n)
{ for (size_t i = 0; i < n; i++) if (x[i] > 0) y[i] = x[i] * 2; }
void gather(float *y, const float *x, const int *ix, size_t n)
{ for (size_t i = 0; i < n; i++) y[i] = x[ix[i]]; }
int bits(uint64_t x)
{ return __builtin_popcountll(x) + __builtin_ctzll(x) + __builtin_clzll(x); }
uint64_t shifts(uint64_t x, int n) { return (x << n) ^ (x >> (n + 1)); }
"""
_LINE = re.compile(r"^ *[0-9a-f]+:\t((?:[0-9a-f]{2} )+) *\t(.*)$")
_FUSED = re.compile(r"^(?:\{\w+\} )?vfn?m(?:add|sub)")


def need_tools() -> None:
    """Skip where there is no x86 compiler or no objdump."""
    for tool in ("gcc", "objdump", "strip"):
        need(shutil.which(tool), f"{tool} is missing")
    machine = subprocess.run(["gcc", "-dumpmachine"], capture_output=True, text=True, check=True)
    need(machine.stdout.startswith("x86_64"), "gcc is not for x86-64")


def compiled(folder: Path, *flags: str, name: str = "kernels.so", source: str = KERNELS) -> Path:
    """Compile C into a shared library."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernels.c").write_text(source)
    command = ["gcc", "-O3", "-ffast-math", *flags, "-shared", "-fPIC", "kernels.c", "-o", name]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / name


def assembled(folder: Path, text: str) -> Path:
    """Assemble text into an object file."""
    (folder / "code.s").write_text(text + "\n")
    subprocess.run(["gcc", "-c", "code.s", "-o", "code.o"], cwd=folder, check=True)
    return folder / "code.o"


def objdump(library: Path) -> Counter[str]:
    """Count what objdump prints: by registers' names, first opcode byte, and mnemonic."""
    done = subprocess.run(
        ["objdump", "-d", "--insn-width=16", library], capture_output=True, text=True, check=True
    )
    counts: Counter[str] = Counter()
    for match in filter(None, map(_LINE.match, done.stdout.splitlines())):
        raw, text = match[1].split(), re.split(r"[#<]", match[2])[0]
        if "(bad)" in text:
            counts["bad"] += 1
            continue
        counts["instructions"] += 1
        counts["fused"] += bool(_FUSED.match(text))
        for register, width in (("%zmm", "512"), ("%ymm", "256"), ("%xmm", "128")):
            if register in text:
                counts[width] += 1
                # In 64-bit mode 62 begins EVEX, c4 and c5 begin VEX, and nothing else.
                encoding = {"62": "evex", "c4": "vex", "c5": "vex"}.get(raw[0], "sse")
                counts[encoding] += 1
                break
    return counts


# What awk counts among objdump's lines, by mnemonics and registers, and which of our counts say the
# same: a register's name tells the width, a mnemonic the extension.
_AWK = r"""
/^ +[0-9a-f]+:\t/ {
  s = $0; sub(/^[^\t]*\t/, "", s); sub(/[ \t]*[#<].*$/, "", s)
  if (s ~ /\(bad\)/) { bad++; next }
  n++
  if (s ~ /%zmm/) z++; else if (s ~ /%ymm/) y++; else if (s ~ /%xmm/) x++
  if (s !~ /^[{vabplcrstm]/) next
  if (s ~ /^([{][a-z]+[}] +)?vfn?m(add|sub)/) fused++
  if (s ~ /^([{][a-z]+[}] +)?vpdp(busd|wssd)/) vnni++
  if (s ~ /^vcvtne.*bf16|^vdpbf16/) bf16++
  if (s ~ /^(andn[^p]|bextr|bls)/) bmi1++
  if (s ~ /^(bzhi|pdep|pext[^r]|sarx|shlx|shrx|mulx|rorx)/) bmi2++
  if (s ~ /^popcnt/) popcnt++
  if (s ~ /^lzcnt/) lzcnt++
  if (s ~ /^vcvtp[hs]2p[hs]/) f16c++
  if (s ~ /^crc32/) crc++
  if (s ~ /^v?aes/) aes++
  if (s ~ /tmm|^ldtilecfg|^tilerelease|^sttilecfg/) amx++
}
END {
  print "instructions", n+0; print "512", z+0; print "256", y+0; print "128", x+0
  print "fused", fused+0; print "vnni", vnni+0; print "bf16", bf16+0; print "bmi1", bmi1+0
  print "bmi2", bmi2+0; print "popcnt", popcnt+0; print "lzcnt", lzcnt+0; print "f16c", f16c+0
  print "crc32", crc+0; print "aes", aes+0; print "amx", amx+0; print "bad", bad+0
}
"""
_WIDTHS = (128, 256, 512)
_OURS = {
    "vnni": ("avx512_vnni", "avx_vnni"),
    "bf16": ("avx512_bf16",),
    "bmi1": ("bmi1",),
    "bmi2": ("bmi2",),
    "popcnt": ("popcnt",),
    "lzcnt": ("lzcnt",),
    "aes": ("aes", "vaes"),
    "amx": ("amx_tile", "amx_int8", "amx_bf16", "amx_fp16", "amx_complex"),
}
AWK_CLASSES = ("instructions", "512", "256", "128", "fused", *_OURS, "bad")


def counted_by_awk(library: Path) -> dict[str, int]:
    """Count classes in objdump's lines, as a shell's pipeline does."""
    listing = subprocess.Popen(
        ["objdump", "-d", "--no-show-raw-insn", library], stdout=subprocess.PIPE
    )
    done = subprocess.run(
        ["awk", _AWK], stdin=listing.stdout, capture_output=True, text=True, check=True
    )
    assert listing.stdout is not None
    listing.stdout.close()
    assert listing.wait() == 0
    return {name: int(number) for name, number in map(str.split, done.stdout.splitlines())}


def classes_of(code: Evidence) -> dict[str, int]:
    """Return our counts of the same classes."""
    total = code.total
    widths = {str(key): total.widths[key].value if key in total.widths else 0 for key in _WIDTHS}
    by_extension = {name: sum(map(total.has, some)) for name, some in _OURS.items()}
    return {
        "instructions": total.instructions.value,
        **widths,
        "fused": total.fused.value,
        **by_extension,
        "bad": code.undecodable,
    }
