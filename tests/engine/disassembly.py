"""What objdump says of a wheel: the oracle for what tfbuild's own decoder says."""

import re
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path

# One instruction for 64-bit integers in vectors, which AVX-512 alone has.
_ONLY_AVX512 = re.compile(r"\t(vpmullq|vpternlog[dq]|vcvtuqq2pd|vpmuldq\s.*\{|kmov\w)\b")


@dataclass(frozen=True, kw_only=True)
class Disassembly:
    zmm: int
    ymm: int
    vex: int
    """Instructions whose name begins with v: VEX or EVEX encoded."""
    avx512: int
    fused: int
    packed: int
    """Instructions on xmm, ymm or zmm."""


def of_wheel(wheel: Path, folder: Path) -> Disassembly:
    """Disassemble every library of the wheel with objdump."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith(".so")]
        assert names
        archive.extractall(folder, names)
    text = "".join(
        subprocess.run(
            ["objdump", "-d", "--no-show-raw-insn", folder / name],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for name in names
    )
    lines = text.splitlines()
    return Disassembly(
        zmm=sum("%zmm" in line for line in lines),
        ymm=sum("%ymm" in line for line in lines),
        vex=sum(bool(re.search(r"\tv[a-z0-9]+ ", line)) for line in lines),
        avx512=sum(bool(_ONLY_AVX512.search(line)) for line in lines),
        fused=sum("\tvfm" in line or "\tvfnm" in line for line in lines),
        packed=sum(bool(re.search(r"%[xyz]mm", line)) for line in lines),
    )
