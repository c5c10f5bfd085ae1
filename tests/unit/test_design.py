"""The architecture, said aloud: what may know what."""

import ast
import re
from pathlib import Path

import pytest

import tfbuild
from tfbuild import errors

PACKAGE = Path(tfbuild.__file__).parent
LEAVES = {"errors", "artifact", "process", "progress", "resources", "settings", "record", "signals"}


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


CORE = [
    path for path in PACKAGE.rglob("*.py") if "cli" not in path.parts and path.name != "__main__.py"
]


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=name_of)
def test_tensorflow_is_never_imported(path: Path) -> None:
    assert not {name for name in imports(path) if name.split(".")[0] in {"tensorflow", "keras"}}


@pytest.mark.parametrize("path", CORE, ids=name_of)
def test_rooms_know_nothing_of_the_command_line(path: Path) -> None:
    names = imports(path)
    assert not {name for name in names if name.startswith("tfbuild.cli")}
    assert not names & {"typer", "rich", "click"}


@pytest.mark.parametrize("path", CORE, ids=name_of)
def test_rooms_neither_print_nor_exit(path: Path) -> None:
    calls = {
        ast.unparse(node.func)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
    }
    assert not calls & {"print", "exit", "sys.exit", "sys.stdout.write", "sys.stderr.write"}


@pytest.mark.parametrize("path", CORE, ids=name_of)
def test_there_is_one_door_to_other_programs(path: Path) -> None:
    if path.name != "process.py":
        assert not imports(path) & {"subprocess", "os.system", "pty"}


@pytest.mark.parametrize("leaf", sorted(LEAVES))
def test_leaves_import_no_room(leaf: str) -> None:
    ours = {name for name in imports(PACKAGE / f"{leaf}.py") if name.startswith("tfbuild.")}
    assert {name.split(".")[1] for name in ours} <= LEAVES


def test_each_error_has_an_exit_code_of_its_own_and_the_tree_shows_it() -> None:
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.TfbuildError)
    ]
    codes = [kind.exit_code for kind in kinds]
    assert len(set(codes)) == len(codes)
    assert errors.__doc__ is not None
    drawn = dict(re.findall(r"(\w+Error)\s+(\d+)", errors.__doc__))
    assert drawn == {kind.__name__: str(kind.exit_code) for kind in kinds}
