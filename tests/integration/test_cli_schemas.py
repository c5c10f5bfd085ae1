"""`--json-schema`: what it promises, real documents keep, and others do not."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from jsonschema import Draft202012Validator

from tests.conftest import DATA
from tests.libraries import compiled, need_tools
from tests.wheels import make_wheel

Run = Callable[..., CompletedProcess[str]]
TAG = "cp312-cp312-manylinux_2_27_x86_64"
HASWELL = DATA / "cpuinfo/linux-rhel7-haswell"


@pytest.fixture
def wheels(tmp_path: Path) -> list[Path]:
    """A wheel without code, with code, and with code that is not decoded."""
    need_tools()
    library = compiled(tmp_path / "c", "-march=haswell").read_bytes()
    arm = library[:0x12] + b"\xb7\x00" + library[0x14:]  # e_machine = EM_AARCH64
    made = [make_wheel(tmp_path / "plain")]
    for name, code in (("x86", library), ("arm", arm)):
        files: dict[str, bytes | str] = {
            "tensorflow/__init__.py": "",
            "tensorflow/libtensorflow_cc.so.2": code,
        }
        made.append(make_wheel(tmp_path / name, "tensorflow", "2.21.0+haswell", TAG, files=files))
    return made


def schema_of(command: str, tfbuild: Run) -> Draft202012Validator:
    """Return what `tfbuild COMMAND --json-schema` prints; it needs no other argument."""
    done = tfbuild(command, "--json-schema")
    assert (done.returncode, done.stderr) == (0, "")
    schema = json.loads(done.stdout)
    assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.mark.parametrize(
    ("command", "ways"),
    [
        ("inspect", [(), ("--full",), ("--cpuinfo", str(HASWELL))]),
        ("verify", [("--static",)]),
    ],
    ids=["inspect", "verify"],
)
def test_documents_keep_what_the_schema_promises(
    command: str, ways: list[tuple[str, ...]], tfbuild: Run, wheels: list[Path], tmp_path: Path
) -> None:
    schema = schema_of(command, tfbuild)
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    for wheel in wheels:
        for way in ways:
            done = tfbuild(command, wheel, "--json", *way, env=env)
            assert done.stdout, done.stderr
            document = json.loads(done.stdout)
            assert [error.message for error in schema.iter_errors(document)] == []
            for key in ("schema", "sha256", "libraries" if command == "inspect" else "checks"):
                assert not schema.is_valid({**document, key: 7}), key
                assert not schema.is_valid({k: document[k] for k in document if k != key}), key
