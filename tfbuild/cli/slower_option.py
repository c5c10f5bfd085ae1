"""`--fail-if-slower`: the exit code for a continuous integration, and GitHub's annotations.

Format of these: docs.github.com, "Workflow commands for GitHub Actions". They go to stderr, which
the runner reads too, so that stdout holds results only.
"""

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfbuild.compare import Comparison
    from tfbuild.slower import Judged
    from tfbuild.stats import Estimate

_PANEL = "When to fail"

FailIfSlower_ = Annotated[
    str | None,
    typer.Option(
        envvar="TFBUILD_FAIL_IF_SLOWER",
        metavar="PERCENT",
        help="End with 12 if something is slower by more than this, for sure: 3%.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
Strict_ = Annotated[
    bool,
    typer.Option(
        "--strict",
        envvar="TFBUILD_STRICT",
        help="With --fail-if-slower: end with 12 on what stays open, too.",
        rich_help_panel=_PANEL,
    ),
]


def limit(text: str | None) -> float | None:
    """Return the limit, None if none was given; to be called before anything is measured."""
    if text is None:
        return None
    from tfbuild import slower

    return slower.limit(text)


def judged(comparison: "Comparison", most: float) -> "tuple[Judged, ...]":
    """Return all ratios of a comparison, judged together."""
    from tfbuild import slower

    several = len(comparison.contrasts) > 1
    speedups: dict[str, Estimate] = {}
    for number, contrast in enumerate(comparison.contrasts, 1):
        of = f" of {contrast.candidate.spec} ({number})" if several else ""
        speedups |= {f"{row.architecture}{of}": row.speedup for row in contrast.rows}
        if len(contrast.rows) > 1:
            speedups[f"geometric mean{of}"] = contrast.overall
    return slower.judge(speedups, most)


def act(what: str, found: "Sequence[Judged]", most: float, *, is_strict: bool) -> None:
    """Say what stays open, let GitHub Actions show both, and refuse what is too slow.

    Raises:
        SlowerError: something is slower, or with `is_strict` not known not to be.
    """
    from tfbuild import slower
    from tfbuild.cli import console

    too_slow = [slower.told(each) for each in found if each.outcome == slower.Outcome.SLOWER]
    unclear = [slower.told(each) for each in found if each.outcome == slower.Outcome.INCONCLUSIVE]
    by = f"by more than {most * 100:.3g} %"
    if too_slow:
        _annotate("error", what, f"Slower {by}: {', '.join(too_slow)}")
    if unclear:
        open_ = f"not known whether slower {by}: {', '.join(unclear)}"
        console.say(f"{what}: {open_}.")
        _annotate("warning", what, f"N{open_[1:]}")
    slower.refuse(what, found, most, is_strict=is_strict)


def _annotate(level: str, title: str, text: str) -> None:
    if os.environ.get("GITHUB_ACTIONS") == "true":
        sys.stderr.write(f"::{level} title={_escaped(title, ':,')}::{_escaped(text)}\n")
        sys.stderr.flush()


def _escaped(text: str, more: str = "") -> str:
    """Return the text with what would end a command, or a property, as codes."""
    for sign in f"%\r\n{more}":
        text = text.replace(sign, f"%{ord(sign):02X}")
    return text
