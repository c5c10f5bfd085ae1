"""Reads raw CPUID: lines of leaf, subleaf, EAX, EBX, ECX, EDX as decimal numbers.

Which bit is which feature is archspec's data. CPUID tells what the CPU has; whether the operating
system has enabled it is told by OSXSAVE alone (leaf 1, ECX bit 27), XCR0 not being in CPUID.
"""

import re
import struct

from tfbuild.host.model import Facts

_LINE = re.compile(r"\s*(\d{1,10})(?:\s*,\s*(\d{1,10})){5}\s*")
_WORD = 1 << 32
_OSXSAVE = 27
_BRAND_LEAVES = (0x80000002, 0x80000003, 0x80000004)

Registers = dict[str, int]


def parse(text: str) -> Facts | None:
    """Return what the registers say, or None when the text is not such a table."""
    leaves = _leaves(text)
    if (0, 0) not in leaves or (1, 0) not in leaves:
        return None
    zero = leaves[0, 0]
    features = _features(leaves)
    if not leaves[1, 0]["ecx"] >> _OSXSAVE & 1:
        features -= {"xsave"}
    return Facts(
        system="Windows",
        architecture="x86_64" if "lm" in features else "unknown",
        vendor=_ascii(zero["ebx"], zero["edx"], zero["ecx"]),
        brand=_brand(leaves),
        features=features,
    )


def _leaves(text: str) -> dict[tuple[int, int], Registers]:
    leaves: dict[tuple[int, int], Registers] = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        if not _LINE.fullmatch(line):
            return {}
        leaf, subleaf, *registers = (int(word) for word in line.split(","))
        if any(value >= _WORD for value in registers):
            return {}
        leaves[leaf, subleaf] = dict(zip(("eax", "ebx", "ecx", "edx"), registers, strict=True))
    return leaves


def _features(leaves: dict[tuple[int, int], Registers]) -> frozenset[str]:
    from tfbuild.host.names import table

    tables = table("cpuid")
    features: set[str] = set()
    for one in (*tables["flags"], *tables["extension-flags"]):
        registers = leaves.get((one["input"]["eax"], one["input"]["ecx"]), {})
        features.update(
            bit["name"]
            for bit in one["bits"]
            if registers.get(bit["register"], 0) >> bit["bit"] & 1
        )
    # AMD APM volume 3, appendix E.4: what archspec's table leaves out of leaf 0x80000001.
    extended = leaves.get((0x80000001, 0), {})
    for register, bit, name in (("edx", 29, "lm"), ("ecx", 8, "3dnowprefetch"), ("ecx", 5, "abm")):
        if extended.get(register, 0) >> bit & 1:
            features.add(name)
    return frozenset(features)


def _brand(leaves: dict[tuple[int, int], Registers]) -> str:
    return "".join(
        _ascii(*leaves[leaf, 0].values()) for leaf in _BRAND_LEAVES if (leaf, 0) in leaves
    ).strip()


def _ascii(*words: int) -> str:
    data = struct.pack(f"<{len(words)}I", *words)
    return "".join(chr(byte) for byte in data if 0x20 <= byte < 0x7F)  # noqa: PLR2004 - printable
