"""Of which instruction a process died, and which CPUs would have run it."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tfbuild import host, process, resources, settings
from tfbuild.code import headers, minimum
from tfbuild.code.source import FileSource
from tfbuild.errors import BenchError, HostError, TfbuildError, WheelError
from tfbuild.process import ProcessError
from tfbuild.progress import Progress
from tfbuild.wheel import archive

_SECONDS = 600.0
_MOST = 4
"""Extensions that are told with their functions."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """An illegal instruction and where it stands."""

    instruction: str
    """"vaddps zmm0,zmm2,zmm1"."""
    extensions: tuple[str, ...]
    """What it needs, Linux spelling."""
    library: str
    """File name; "" for code written at run time."""
    address: int
    """As the library's own tables count it; 0 for code written at run time."""
    is_known: bool = True
    """False for bytes that are no instruction."""

    @property
    def sentence(self) -> str:
        """It in words."""
        if not self.library:
            return f"{self.instruction} in code that was written at run time"
        return f"{self.instruction} at {self.address:#x} in {self.library}"

    def runs_on(self, features: frozenset[str]) -> bool:
        """Whether a CPU with these features can run it; an unknown instruction none can."""
        return self.is_known and set(self.extensions) <= features

    @property
    def is_deliberate(self) -> bool:
        """Whether it is the instruction that exists to stop a program (__builtin_trap)."""
        return self.instruction.startswith("ud2")


@dataclass(frozen=True, kw_only=True)
class Death:
    """A process that died of an illegal instruction, and what is needed to let it die again."""

    name: str
    """What was run, in the user's words."""
    doing: str
    """"while training mnist_cnn", "while importing TensorFlow"."""
    python: Path
    script: Path
    request: str
    """Its standard input."""
    variables: Mapping[str, str]
    timeout: float | None = None


class _Answer(msgspec.Struct):
    ended: str
    file: str = ""
    offset: int = 0
    bytes: str = ""


def explain(death: Death, progress: Progress) -> TfbuildError:
    """Return the error that names the instruction, the extension it needs, and CPUs that have it.

    The process is run once more, watched, and the code of the TensorFlow in its environment is read
    as a whole, which takes half a minute. What cannot be found out is left out.
    """
    progress.phase(f"Finding the instruction of which {death.name} died")
    found = watched(
        death.python,
        death.script,
        input_text=death.request,
        variables=death.variables,
        timeout=min(death.timeout or _SECONDS, _SECONDS),
    )
    here = host.detect()
    if found is not None and found.is_deliberate:
        return BenchError(
            f"{death.name} stopped itself {death.doing}.",
            why=f"{found.sentence} is there to stop a program whose own checks have failed. "
            "No CPU would run it.",
            do="That is a defect of the wheel, not of this CPU; try another version.",
        )
    lines = _of_the_code(death.python, here, progress)
    if found is not None and not lines and found.runs_on(here.features):
        return BenchError(
            f"{death.name} was killed by SIGILL {death.doing}.",
            why=f"It stood at {found.sentence}, which this CPU can run: the signal was sent to it.",
        )
    return HostError(
        f"This CPU cannot run {death.name}.",
        why="\n".join([*_of_the_place(death, found), *lines, _of_the_cpu(here)]),
        do=f"See what it needs: tfbuild inspect {death.python} --host\n"
        "Take a wheel for this CPU: pip, or compile one with tfbuild wheel.",
    )


def _of_the_place(death: Death, found: Place | None) -> list[str]:
    lines = [f"It died of an illegal instruction (SIGILL) {death.doing}."]
    if found is not None:
        needs = f", which needs {', '.join(found.extensions)}" if found.extensions else ""
        lines.append(f"The instruction is {found.sentence}{needs}.")
    return lines


def _of_the_cpu(here: host.Host) -> str:
    return f"This CPU is {here.microarchitecture or 'unknown'} ({here.brand})."


def _of_the_code(python: Path, here: host.Host, progress: Progress) -> list[str]:
    """Return what the code that always runs needs beyond this CPU, and the lowest CPU for it."""
    from tfbuild.wheel.inspect import installed

    try:
        cache = settings.cache_folder("inspections")
        code = installed(python, full=True, progress=progress, cache=cache).code
    except TfbuildError:
        return []
    lacking = () if code is None else minimum.excess(code, here.features)
    if code is None or not lacking:
        return []
    lowest = minimum.of(code)
    needed = ", ".join(need.extension for need in lacking)
    least = f" It runs on {lowest.target} and newer." if lowest.target else ""
    lines = [f"The wheel's code needs {needed}, which this CPU lacks.{least}"]
    return lines + [
        f"{need.extension}: {need.first[0].function} in {need.first[0].library}, for one."
        for need in lacking[:_MOST]
        if need.first
    ]


def watched(
    python: Path,
    script: Path,
    *,
    input_text: str,
    variables: Mapping[str, str],
    timeout: float,
) -> Place | None:
    """Run a script watched; None where it cannot be watched or does not die of an instruction.

    Containers may forbid one process to watch another, and it is done on x86-64 only.
    """
    if platform.machine() != "x86_64":
        return None
    try:
        done = process.run(
            [python, resources.folder("benchmarks") / "trace.py", script],
            env=variables,
            timeout=timeout,
            input_text=input_text,
            check=False,
        )
        answer = msgspec.json.decode(done.stdout, type=_Answer)
        found = _place(answer) if answer.ended == "illegal" and answer.bytes else None
    except (ProcessError, msgspec.DecodeError, ValueError):
        # The process may have been made to say anything.
        return None
    return found


def _place(answer: _Answer) -> Place:
    address = _address(Path(answer.file), answer.offset) if answer.file else 0
    instruction, extensions = _decoded(bytes.fromhex(answer.bytes), address)
    return Place(
        instruction=instruction,
        extensions=extensions,
        library=Path(answer.file).name if answer.file else "",
        address=address,
        is_known=not instruction.startswith("bytes "),
    )


def _decoded(code: bytes, address: int) -> tuple[str, tuple[str, ...]]:
    from iced_x86 import Decoder, Formatter, FormatterSyntax

    from tfbuild.code.extensions import BASELINE, INVALID, OTHER, form

    instruction = Decoder(64, code, ip=address).decode()
    kind: Any = instruction.code
    if kind == INVALID:
        return f"bytes {code.hex(' ')} (no known instruction)", ()
    extensions = set(form(kind).extensions) - {BASELINE, OTHER}
    return Formatter(FormatterSyntax.INTEL).format(instruction), tuple(sorted(extensions))


def _address(file: Path, offset: int) -> int:
    """Return the virtual address of a place in an ELF file; the place itself if it is none."""
    try:
        with archive.regular(file) as stream:
            segments = headers.read(FileSource(stream.fileno()), file.name).segments
    except WheelError:
        return offset
    for row in segments[segments["type"] == headers.LOAD]:
        begin = int(row["offset"])
        if begin <= offset < begin + int(row["filesz"]):
            return int(row["vaddr"]) + offset - begin
    return offset
