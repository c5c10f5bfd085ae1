"""The check "structure": what installers need to find, and names that agree with each other."""

import re
import stat
from collections import defaultdict
from collections.abc import Iterator
from email.message import Message
from email.parser import BytesParser

from packaging.metadata import Metadata, parse_email
from packaging.tags import parse_tag
from packaging.utils import canonicalize_name

from tfbuild.verify.judge import judged
from tfbuild.verify.model import Check
from tfbuild.verify.subject import Subject
from tfbuild.wheel import tags as wheel_tags

NAME = "structure"
_SCHEMES = {"purelib", "platlib", "headers", "scripts", "data"}
# PEP 600: the old names are aliases of these.
_ALIASES = {"manylinux1": "manylinux_2_5", "manylinux2010": "manylinux_2_12",
            "manylinux2014": "manylinux_2_17"}  # fmt: skip
_GRAVE = {"name", "version", "requires_dist", "requires_python", "metadata_version"}


def check(subject: Subject) -> Check:
    """Check a wheel that could be opened: its metadata, its names, its kinds of files."""
    faults = [
        *_unpacked(subject),
        *_wheel(subject),
        *_kinds(subject),
        *_data(subject),
        *_metadata(subject, grave=True),
    ]
    good = f"All {len(subject.files)} files can be unpacked; names, tags and metadata agree."
    return judged(
        NAME,
        good=good,
        faults=faults,
        oddities=[*_metadata(subject, grave=False), *_colliding(subject), *_purelib(subject)],
        why="It does not follow the specification of wheels, and installers may refuse it or "
        "install something else."
        if faults
        else "Installers take it, but it is not as it should be.",
        do="Build or download it again.",
    )


def same_platform(name: str) -> str:
    """Return a platform tag with manylinux's old names replaced: "manylinux2014_x86_64"."""
    old = next((old for old in _ALIASES if name.startswith(f"{old}_")), None)
    return _ALIASES[old] + name.removeprefix(old) if old else name


def _unpacked(subject: Subject) -> Iterator[str]:
    for name, why in subject.unreadable.items():
        yield f"{name} cannot be unpacked: {why}"
    for name in ("METADATA", "WHEEL", "RECORD"):
        if name not in subject.texts:
            yield f"{subject.dist_info}/{name} is missing or cannot be read."


def _wheel(subject: Subject) -> Iterator[str]:
    if "WHEEL" not in subject.texts:
        return
    fields = BytesParser().parsebytes(subject.texts["WHEEL"])
    version = str(fields.get("Wheel-Version", "")).strip()
    if not re.fullmatch(r"1\.\d+", version):
        yield f"WHEEL says Wheel-Version {version!r}; installers know 1.0."
    if str(fields.get("Root-Is-Purelib", "")).strip().lower() not in {"true", "false"}:
        yield "WHEEL does not say Root-Is-Purelib: true or false."
    yield from _tags(subject, fields)


def _tags(subject: Subject, fields: Message) -> Iterator[str]:
    lines = [str(line).strip() for line in fields.get_all("Tag", [])]
    if wheel_tags.are_too_many(lines):
        yield f"WHEEL has more than {wheel_tags.MOST} tags."
        return
    stated = set()
    for line in lines:
        try:
            stated |= {str(tag) for tag in parse_tag(line)}
        except ValueError:
            yield f"WHEEL has a tag that is none: {line[:100]!r}."
    named = {str(tag) for tag in subject.name.tags}
    if {_modern(tag) for tag in stated} != {_modern(tag) for tag in named}:
        yield (
            f"The file name says {', '.join(sorted(named))}; "
            f"WHEEL says {', '.join(sorted(stated)) or 'nothing'}."
        )


def _modern(tag: str) -> str:
    before, _, platform = tag.rpartition("-")
    return f"{before}-{same_platform(platform)}"


def _kinds(subject: Subject) -> Iterator[str]:
    for name, mode in subject.modes.items():
        kind = stat.S_IFMT(mode)
        if kind == stat.S_IFLNK:
            yield f"{name} is a symbolic link; installers write its target's name into a file."
        elif kind not in {0, stat.S_IFREG}:
            yield f"{name} is no regular file."


def _data(subject: Subject) -> Iterator[str]:
    own = subject.dist_info.removesuffix(".dist-info") + ".data"
    parts = [name.split("/") for name in subject.files]
    for folder in sorted({p[0] for p in parts if len(p) > 1 and p[0].endswith(".data")}):
        if folder != own:
            yield f"The folder {folder} should be called {own}."
    schemes = {p[1] for p in parts if len(p) > 2 and p[0].endswith(".data")}  # noqa: PLR2004
    for scheme in sorted(schemes - _SCHEMES):
        yield f"No installer knows where to put the files of {own}/{scheme}."


def _metadata(subject: Subject, *, grave: bool) -> Iterator[str]:
    if "METADATA" not in subject.texts:
        return
    raw, unparsed = parse_email(subject.texts["METADATA"])
    if not grave and unparsed:
        yield f"METADATA has fields that cannot be read: {', '.join(sorted(unparsed))}."
    try:
        metadata = Metadata.from_raw(raw)
    except ExceptionGroup as group:
        for error in group.exceptions:
            name = str(getattr(error, "field", "")).replace("-", "_").lower()
            text = " ".join(str(error).split())
            # setuptools wrote License-File for years before the specification had it.
            if (name in _GRAVE) == grave and "introduced in metadata version" not in text:
                yield f"METADATA: {text}"
        return
    if not grave:
        return
    same_name = canonicalize_name(metadata.name) == subject.name.name
    if not same_name or metadata.version != subject.name.version:
        yield (
            f"The file name says {subject.name.name} {subject.name.version}; "
            f"METADATA says {metadata.name} {metadata.version}."
        )


def _colliding(subject: Subject) -> Iterator[str]:
    folded: dict[str, list[str]] = defaultdict(list)
    for name in subject.files:
        folded[name.casefold()].append(name)
    for names in folded.values():
        if len(names) > 1:
            yield f"Where case does not count, these are one file: {', '.join(sorted(names))}."


def _purelib(subject: Subject) -> Iterator[str]:
    fields = BytesParser().parsebytes(subject.texts.get("WHEEL", b""))
    pure = str(fields.get("Root-Is-Purelib", "")).strip().lower() == "true"
    if pure and subject.libraries:
        yield "WHEEL says that it is pure Python, but it holds machine code."
