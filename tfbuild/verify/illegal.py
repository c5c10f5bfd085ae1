"""Finds the instruction of which a check's process died."""

from pathlib import Path

from tfbuild import illegal
from tfbuild.illegal import Place
from tfbuild.verify.conversation import Request, script, variables
from tfbuild.verify.running import Running


def find(python: Path, request: Request, running: Running) -> Place | None:
    """Run the request once more, watched; None where it cannot be watched or does not die again."""
    return illegal.watched(
        python,
        script(running),
        input_text=request.to_json(),
        variables=variables(),
        timeout=running.timeout,
    )
