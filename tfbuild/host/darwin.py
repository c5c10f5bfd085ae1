"""Reads macOS's `sysctl`, this machine's or a saved listing."""

import re

from tfbuild.host.model import Facts

# Arm's names for features (Arm ARM, A2.2) and what Linux calls them (Documentation/arch/arm64/
# elf_hwcaps.rst). Old systems have only the names without FEAT_.
_ARM = {
    "arm.FEAT_AES": "aes",
    "arm.FEAT_BF16": "bf16",
    "arm.FEAT_CRC32": "crc32",
    "arm.FEAT_DotProd": "asimddp",
    "arm.FEAT_FCMA": "fcma",
    "arm.FEAT_FHM": "asimdfhm",
    "arm.FEAT_FP16": "fphp asimdhp",
    "arm.FEAT_FRINTTS": "frint",
    "arm.FEAT_I8MM": "i8mm",
    "arm.FEAT_JSCVT": "jscvt",
    "arm.FEAT_LRCPC": "lrcpc",
    "arm.FEAT_LSE": "atomics",
    "arm.FEAT_PMULL": "pmull",
    "arm.FEAT_RDM": "asimdrdm",
    "arm.FEAT_SHA1": "sha1",
    "arm.FEAT_SHA256": "sha2",
    "arm.FEAT_SHA3": "sha3",
    "arm.FEAT_SHA512": "sha512",
    "arm.FEAT_SME": "sme",
    "arm.FEAT_SME2": "sme2",
    "armv8_1_atomics": "atomics",
    "armv8_2_fhm": "asimdfhm",
    "armv8_2_sha3": "sha3",
    "armv8_2_sha512": "sha512",
    "armv8_crc32": "crc32",
    "floatingpoint": "fp",
    "neon": "asimd",
    "neon_fp16": "fphp asimdhp",
}
_CHIP = re.compile(r"Apple (M\d+)")
_X86_LISTS = ("features", "leaf7_features", "extfeatures")


def parse(text: str) -> Facts | None:
    """Return what the listing says, or None when it is not one of sysctl's."""
    values = {
        key.strip(): value.strip()
        for key, separator, value in (line.partition(":") for line in text.splitlines())
        if separator
    }
    brand = values.get("machdep.cpu.brand_string", "")
    if "machdep.cpu.vendor" in values:
        return Facts(
            system="Darwin",
            architecture="x86_64",
            vendor=values["machdep.cpu.vendor"],
            brand=brand,
            features=_x86(values),
            cpus=_count(values),
        )
    if brand.startswith("Apple"):
        return Facts(
            system="Darwin",
            architecture="aarch64",
            vendor="Apple",
            brand=brand,
            features=_arm(values),
            cpus=_count(values),
            model=_chip(brand),
        )
    return None


def _x86(values: dict[str, str]) -> frozenset[str]:
    from tfbuild.host.names import conversions

    features = set()
    for part in _X86_LISTS:
        features.update(values.get(f"machdep.cpu.{part}", "").lower().split())
    for theirs, linux in conversions("darwin_flags").items():
        if features.issuperset(theirs.split()):
            features.update(linux.split())
    # sysctl has its own words for three that archspec's table leaves out.
    features.update(
        {"prefetchw": "3dnowprefetch", "em64t": "lm"}[x] for x in features & {"prefetchw", "em64t"}
    )
    if "sse3" in features:
        features.add("pni")
    return frozenset(features)


def _arm(values: dict[str, str]) -> frozenset[str]:
    return frozenset(
        name
        for key, linux in _ARM.items()
        if values.get(f"hw.optional.{key}") == "1"
        for name in linux.split()
    )


def _chip(brand: str) -> str:
    if chip := _CHIP.match(brand):
        return chip[1].lower()
    # The first Apple systems for Arm did not yet know the name of their chip.
    return "m1" if brand == "Apple processor" else ""


def _count(values: dict[str, str]) -> int | None:
    text = values.get("hw.ncpu") or values.get("machdep.cpu.thread_count") or ""
    return int(text) if text.isdecimal() else None
