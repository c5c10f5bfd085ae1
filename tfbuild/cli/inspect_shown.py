"""Shows an inspection: the answers first, then what it is, then what its code uses."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from tfbuild.cli import code_shown, console
from tfbuild.cli.code_shown import size

if TYPE_CHECKING:
    from tfbuild.code.evidence import Evidence
    from tfbuild.wheel.inspection import Inspection
    from tfbuild.wheel.match import HostMatch

_FEW = 20
_HERE = {"/proc/cpuinfo", "sysctl", "py-cpuinfo"}
"""Where this machine's CPU is read; others are saved files."""
_VERDICTS = {"yes": ("yes", "bold green"), "no": ("no", "bold red"), "unknown": ("?", "yellow")}


def show(found: "Inspection") -> None:
    """Print an inspection to stdout, its notes to stderr."""
    out = console.results()
    facts = Table.grid(padding=(0, 2))
    facts.add_column(no_wrap=True, style="bold")
    facts.add_column(overflow="fold")
    for title, text in (*_answers(found), *_facts(found)):
        # Names and compilers' marks are anybody's: no markup of Rich's in them.
        facts.add_row(title, text if isinstance(text, Text) else Text(text, overflow="fold"))
    out.print(facts)
    if found.reading:
        out.print()
    for sentence in found.reading:
        out.print(Text(sentence))
    if found.code is not None and found.code.total.instructions.value:
        out.print()
        code_shown.show(found.code, out)
    for note in found.notes:
        console.say(f"note: {note}")


def _answers(found: "Inspection") -> Iterator[tuple[str, "str | Text"]]:
    yield "Runs on", _runs_on(found)
    if found.code is not None:
        yield "Always uses", _always(found.code)
        if chosen := _chosen(found.code):
            yield "At run time", chosen
        if found.code.mode == "sample":
            yield "Read", _sample(found.code)
    if found.host_match is not None:
        here = found.host_match.source in _HERE
        yield ("Runs here" if here else "Runs there"), _verdict(found.host_match)


def _runs_on(found: "Inspection") -> str:
    minimum, code = found.minimum, found.code
    if code is None or minimum is None:
        unknown = next((one.unknown for one in found.libraries if one.unknown), "")
        return f"unknown: {unknown}" if found.libraries else "any CPU: it holds no compiled code"
    if minimum.target is None:
        return f"no CPU that tfbuild knows: it needs {', '.join(minimum.required)}"
    if not minimum.required:
        return "any x86-64 CPU"
    sampled = ", as far as the sample shows" if minimum.is_bound else ""
    families = code_shown.told(minimum.required)
    what = f" ({', '.join(families)})" if families else ""
    if code.symbols != "full":
        return (
            f"{minimum.target} or newer{what}; perhaps older ones too, because without names code "
            "that is chosen at run time looks like any other"
        )
    unsure = ", ".join(need.extension for need in code.unsure)
    doubt = f"; perhaps not all: code without names uses {unsure}" if unsure else ""
    return f"{minimum.target} or newer{what}{sampled}{doubt}"


def _always(code: "Evidence") -> str:
    uses = code_shown.families(code.required)
    lacks = [f"no {name}" for name in code_shown.NARROW if name not in uses]
    told = ", ".join(f"{name}{_where(name, code)}" for name in uses)
    return "; ".join(part for part in (told, ", ".join(lacks)) if part)


def _where(family: str, code: "Evidence") -> str:
    """Return how few functions a family is in: that tells a stray one from a compiler's flag."""
    mine = [need for need in code.needs if family in code_shown.families([need.extension])]
    number = max(need.functions for need in mine)
    if number > _FEW:
        return ""
    return f" (in {number} function{'s' if number > 1 else ''})"


def _chosen(code: "Evidence") -> str:
    from tfbuild.code import components

    always = code_shown.families(code.required)
    by_family: dict[str, list[str]] = {}
    for part in code.parts:
        if family := code_shown.widest(part.dispatched, always):
            by_family.setdefault(family, []).append(components.title(part.component))
    newest = sorted(by_family, key=code_shown.BEST.index)
    told = [f"{family} in {', '.join(by_family[family])}" for family in newest]
    if writers := [components.title(one.component) for one in code.generators]:
        told.append(f"code that {' and '.join(writers)} generate{'' if writers[1:] else 's'}")
    return "; ".join(told)


def _sample(code: "Evidence") -> str:
    total = code.total
    share = total.decoded / total.bytes if total.bytes else 0
    return (
        f"a random sample, {share:.1%} of the code (seed {code.seed}); intervals are 95 %; "
        "--full reads all"
    ).replace("%", " %", 1)


def _verdict(told: "HostMatch") -> Text:
    word, style = _VERDICTS[told.verdict]
    sentences = told.obstacles or (*told.doubts, *told.conditions)
    text = Text.assemble((word, style), f"  {told.cpu}")
    for sentence in sentences:
        text.append(f"\n{sentence}")
    for need in told.missing:
        for witness in need.first[:2]:
            text.append(f"\n{need.extension}: {code_shown.witness(witness)}")
    return text


def _facts(found: "Inspection") -> Iterator[tuple[str, str]]:
    unknown = "unknown"
    yield ("Wheel" if found.source == "wheel" else "Installed"), found.file
    yield "Distribution", f"{found.distribution} {found.version}"
    yield "Label", found.label or "none"
    yield "TensorFlow", found.tensorflow or "none inside"
    yield "Python", f"{found.python or unknown} (ABI {found.abi or unknown})"
    yield "Tags", " ".join(found.tags) or unknown
    if found.source == "wheel":
        yield (
            "Size",
            f"{size(found.size)}, unpacked {size(found.unpacked_size)}",
        )
        yield "SHA-256", found.sha256 or unknown
    else:
        yield "Size", size(found.unpacked_size)
    yield "Libraries", _libraries(found)
    yield "Compilers", "\n".join(found.compilers) or unknown
    yield "Needs", _needs(found)
    if found.record is not None:
        from tfbuild.cli import made_by

        yield from ((title, text) for title, text in made_by.rows(found.record) if text)
    if found.sboms:
        yield "Components", ", ".join(found.sboms)


def _libraries(found: "Inspection") -> str:
    if not found.libraries:
        return "none: there is no compiled code in it"
    largest = found.libraries[0]
    return f"{len(found.libraries)}, largest {largest.name} ({size(largest.size)})"


def _needs(found: "Inspection") -> str:
    floors = {"glibc": found.glibc, "GLIBCXX": found.glibcxx}
    return ", ".join(f"{name} {floor} or newer" for name, floor in floors.items() if floor) or (
        "no glibc of a certain age" if found.libraries else "no glibc"
    )
