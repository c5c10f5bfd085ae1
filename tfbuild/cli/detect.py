"""`tfbuild detect`: what this CPU can execute, and what to compile for it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tfbuild.detection import Detection
    from tfbuild.installed import Installed


def register(app: typer.Typer) -> None:
    """Attach the command."""
    app.command(name="detect")(detect)


def detect(
    cpuinfo: Annotated[
        Path | None,
        typer.Option(
            help="Read another machine's CPU from a saved /proc/cpuinfo.",
            envvar="TFBUILD_CPUINFO",
            show_default=False,
        ),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show what this CPU can execute, its best target, and what TensorFlow leaves unused.

    A feature counts only when the operating system has enabled it. TensorFlow is
    looked for in the current environment and never imported.

    Example: tfbuild detect --cpuinfo cpuinfo-of-another-machine.txt
    """
    from tfbuild import detection, host, installed

    if cpuinfo is None:
        found = detection.of(host.detect(), installed.find())
    else:
        found = detection.of(host.from_cpuinfo(cpuinfo), None)
    if json_:
        from tfbuild import artifact

        typer.echo(artifact.to_json(found), nl=False)
        return
    # Plain text: rich alone would take longer to load than everything else here.
    typer.echo("\n".join(_lines(found, live=cpuinfo is None)))
    for warning in found.host.warnings:
        typer.echo(f"warning: {warning}", err=True)


def _lines(found: "Detection", *, live: bool) -> list[str]:
    host = found.host
    cpus = f", {host.cpus} CPUs" if host.cpus and host.cpus > 1 else ""
    lines = [
        _row("CPU", f"{host.brand or host.vendor or 'unknown'} ({host.architecture}{cpus})"),
        _row("Microarchitecture", host.microarchitecture),
        _row("Read from", host.source),
        "",
        *(_row(group, " ".join(names) or "-") for group, names in found.instruction_sets.items()),
        "",
    ]
    if found.recommended is None:
        lines.append(_row("Target", "none: no target runs on this CPU (see `tfbuild targets`)"))
    else:
        best = found.recommended
        lines += [
            _row("Target", f"{best.name}: {best.description}"),
            _row("Compiler flags", " ".join(best.flags)),
            _row("Compile for it", found.command or ""),
        ]
    return [*lines, *(_tensorflow(found) if live else ())]


def _tensorflow(found: "Detection") -> list[str]:
    here = found.tensorflow
    if here is None:
        return ["", _row("TensorFlow here", "none in the current environment")]
    lines = ["", _row("TensorFlow here", f"{here.distribution} {here.version}")]
    if found.unused is None:
        return [*lines, _row("Leaves unused", f"unknown: {here.evidence}"), _ask()]
    if found.missing:
        needs = f"it needs {', '.join(found.missing)}, which this CPU does not offer"
        return [*lines, _row("Cannot run here", needs), _row("", f"({here.evidence})")]
    return [*lines, *_unused(here, found.unused)]


def _unused(here: "Installed", unused: tuple[str, ...]) -> list[str]:
    lines = [
        _row("Leaves unused", " ".join(unused) or "nothing"),
        _row("", f"({here.evidence})"),
    ]
    if unused:
        lines.append(
            _row(
                "", "oneDNN inside TensorFlow chooses its own kernels at run time and may use them."
            )
        )
    return lines


def _ask() -> str:
    return _row("", "see what its code really uses: tfbuild inspect installed")


def _row(title: str, text: str) -> str:
    return f"{title:<18} {text}".rstrip()
