"""Finds the instruction of which a process died."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tfbuild import process, resources
from tfbuild.code import headers
from tfbuild.code.source import FileSource
from tfbuild.errors import WheelError
from tfbuild.process import ProcessError
from tfbuild.verify.conversation import Request, script, variables
from tfbuild.verify.running import Running
from tfbuild.wheel import archive


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

    @property
    def sentence(self) -> str:
        """It in words."""
        if not self.library:
            return f"{self.instruction} in code that was written at run time"
        return f"{self.instruction} at {self.address:#x} in {self.library}"


class _Answer(msgspec.Struct):
    ended: str
    file: str = ""
    offset: int = 0
    bytes: str = ""


def find(python: Path, request: Request, running: Running) -> Place | None:
    """Run the request once more, watched; None where it cannot be watched or does not die again.

    Containers may forbid one process to watch another, and it is done on x86-64 only.
    """
    if running.here.host.architecture != "x86_64":
        return None
    try:
        done = process.run(
            [python, resources.folder("benchmarks") / "trace.py", script(running)],
            env=variables(),
            timeout=running.timeout,
            input_text=request.to_json(),
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
