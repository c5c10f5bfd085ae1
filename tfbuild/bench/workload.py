"""A user's own training script as a workload."""

import ast
import re
import shlex
from pathlib import Path

from tfbuild import artifact
from tfbuild.bench.suite import ARCHITECTURES, Script
from tfbuild.errors import UsageError

_LONGEST = 60
"""Letters of a name in a table."""


def parse(text: str) -> Script:
    """Return the script that a text names, with its arguments as a shell would split them.

    Raises:
        UsageError: there is no such file, it has no `train`, or the text cannot be split.
    """
    # A path may hold spaces; where the whole is a file, nothing is split.
    words = [text] if artifact.is_file(Path(text)) else _split(text)
    if not words:
        raise UsageError("--workload names no script.", do="Example: --workload 'train.py --small'")
    path = Path(words[0]).expanduser()
    if not artifact.is_file(path):
        raise UsageError(
            f"--workload: {path} is no file.",
            why="It is a Python script that trains, with its arguments behind it.",
            do="Example: --workload 'train.py --small'",
        )
    _need_train(path)
    return Script(
        name=_name(path),
        path=str(path.resolve()),
        sha256=_digest(path),
        arguments=tuple(words[1:]),
    )


def check(script: Script | None) -> None:
    """Refuse a script that is another one by now: its times would not belong together.

    Raises:
        UsageError: the file is gone or has changed.
    """
    if script is None:
        return
    path = Path(script.path)
    if not path.is_file():
        raise UsageError(f"The workload {path} is not there any more.")
    if _digest(path) != script.sha256:
        raise UsageError(
            f"The workload {path} has changed since the measurement began.",
            why="What was measured before and after would not be the same.",
            do="Put it back as it was, or measure anew.",
        )


def _need_train(path: Path) -> None:
    """Refuse a plain script now, and not when the environments are made."""
    try:
        found = list(ast.walk(ast.parse(path.read_bytes())))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return  # The measured Python may read it all the same, and says what is wrong.
    if not {"train", "*"}.intersection(name for each in found for name in _bound(each)):
        raise UsageError(
            f"--workload: {path} has no function train(context).",
            why="Times are taken between epochs, so the script is called and given a clock.",
            do="Put its training into `def train(context):` and give fit the argument "
            "callbacks=[context.clock(samples=len(x))]; the first epoch is warm-up.",
        )


def _bound(node: ast.AST) -> tuple[str, ...]:
    """Return the names that a statement may give to something."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return (node.name,)
    if isinstance(node, ast.alias):
        return (node.asname or node.name,)
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return (node.id,)
    return ()


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--workload {text!r} cannot be read.", why=str(error)) from error


def _name(path: Path) -> str:
    name = re.sub(r"[^\w.+-]+", "-", path.stem)[:_LONGEST] or "script"
    return f"{name}.py" if name in ARCHITECTURES else name


def _digest(path: Path) -> str:
    try:
        return artifact.sha256(path)
    except OSError as error:
        raise UsageError(f"Cannot read {path}.", why=error.strerror or str(error)) from error
