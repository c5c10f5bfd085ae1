"""`tfbuild report`: a saved result as a page, as text for a pull request, or as tables."""

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tfbuild.report import Report

STDOUT = Path("-")


class Format(StrEnum):
    """Forms of a report."""

    HTML = "html"
    MARKDOWN = "markdown"
    CSV = "csv"
    RATIOS = "ratios"
    JSON = "json"


_SUFFIXES = {
    ".html": Format.HTML,
    ".htm": Format.HTML,
    ".md": Format.MARKDOWN,
    ".markdown": Format.MARKDOWN,
    ".csv": Format.CSV,
    ".json": Format.JSON,
}


def register(app: typer.Typer) -> None:
    """Attach the command."""
    app.command(name="report", no_args_is_help=True)(report)


def report(
    result: Annotated[
        Path,
        typer.Argument(
            help="A .suite.json or .comparison.json that tfbuild bench or compare saved.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            envvar="TFBUILD_REPORT_OUTPUT",
            help="Where it goes; - is the terminal. If not given: RESULT's name with .html.",
            show_default=False,
        ),
    ] = None,
    format_: Annotated[
        Format | None,
        typer.Option(
            "--format",
            envvar="TFBUILD_REPORT_FORMAT",
            help="By the end of --output if not given. csv: every sample; ratios: every ratio, "
            "as CSV; json: the comparison.",
            show_default=False,
        ),
    ] = None,
    step_summary: Annotated[
        bool,
        typer.Option(
            "--step-summary",
            envvar="TFBUILD_STEP_SUMMARY",
            help="Also append the Markdown to the file that GITHUB_STEP_SUMMARY names.",
        ),
    ] = False,
) -> None:
    """Show a saved result: one page for people, or Markdown, CSV and JSON.

    The page is one file without scripts that needs no network, and prints well. The same
    result gives the same bytes.

    Example: tfbuild report results/x.suite.json -o report.html
    """
    from tfbuild import artifact
    from tfbuild.cli import console
    from tfbuild.report import load

    summary = _summary() if step_summary else None
    target, chosen = _target(result, output, format_)
    made = load(result)
    text = _text(made, chosen)
    if target == STDOUT:
        # Bytes, so that they are the same whatever the terminal's encoding is.
        sys.stdout.buffer.write(text.encode())
        sys.stdout.flush()
    else:
        artifact.write_text(target, text)
        console.say(f"Saved: {target}")
    if summary is not None:
        _append(summary, made.to_markdown())


def _target(result: Path, output: Path | None, wanted: Format | None) -> tuple[Path, Format]:
    """Return where it goes, and in which form."""
    from tfbuild import artifact
    from tfbuild.errors import UsageError

    if output is None:
        output = STDOUT if wanted not in {None, Format.HTML} else _named(result)
    chosen = wanted or _SUFFIXES.get(output.suffix.lower())
    if output == STDOUT and chosen is None:
        chosen = Format.MARKDOWN
    if chosen is None:
        raise UsageError(
            f"What shall {output} be?",
            why=f"Known ends of a name are {', '.join(_SUFFIXES)}.",
            do="Say so with --format.",
        )
    if all(map(artifact.is_file, (output, result))) and output.samefile(result):
        raise UsageError(f"{output} is the result itself.", do="Choose another --output.")
    return output, chosen


def _named(result: Path) -> Path:
    stem = result.name.removesuffix(".json").removesuffix(".suite").removesuffix(".comparison")
    return result.with_name(f"{stem}.html")


def _text(made: "Report", chosen: Format) -> str:
    forms = {
        Format.HTML: made.to_html,
        Format.MARKDOWN: made.to_markdown,
        Format.CSV: made.to_csv,
        Format.RATIOS: made.to_ratios_csv,
        Format.JSON: made.to_json,
    }
    return forms[chosen]()


def _summary() -> Path:
    from tfbuild.errors import UsageError

    named = os.environ.get("GITHUB_STEP_SUMMARY")
    if not named:
        raise UsageError(
            "--step-summary needs GITHUB_STEP_SUMMARY.",
            why="GitHub Actions sets it to the file that a step's summary goes into.",
            do="Elsewhere, write the Markdown with: -o report.md",
        )
    return Path(named)


def _append(path: Path, text: str) -> None:
    from tfbuild.errors import SaveError

    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")
    except OSError as error:
        raise SaveError(f"Cannot write {path}.", why=error.strerror or str(error)) from error
