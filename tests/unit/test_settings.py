import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tfbuild import settings
from tfbuild.errors import SaveError, UsageError

if TYPE_CHECKING:
    import subprocess

OPTIONS = {
    "wheel": frozenset({"target", "engine", "pip_index"}),
    "render": frozenset({"target", "pip_index"}),
    "detect": frozenset({"json"}),
}


def project(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(text)
    return folder


def test_the_nearest_table_upwards_is_read(tmp_path: Path) -> None:
    project(tmp_path, '[tool.tfbuild]\nengine = "podman"')
    project(tmp_path / "a", '[project]\nname = "other"')
    found = settings.find(tmp_path / "a")
    assert found.values == {"engine": "podman"}
    assert found.path == tmp_path / "pyproject.toml"


def test_no_table_means_no_settings(tmp_path: Path) -> None:
    assert settings.find(project(tmp_path, "[tool.other]")).values == {}


def test_a_key_reaches_every_command_that_has_the_option(tmp_path: Path) -> None:
    found = settings.find(project(tmp_path, '[tool.tfbuild]\npip-index = "https://i/simple"'))
    assert settings.default_map(found, OPTIONS) == {
        "wheel": {"pip_index": "https://i/simple"},
        "render": {"pip_index": "https://i/simple"},
        "detect": {},
    }


@pytest.mark.parametrize("order", [0, 1])
def test_a_commands_own_table_wins(tmp_path: Path, order: int) -> None:
    lines = ['[tool.tfbuild]\ntarget = "haswell"', '[tool.tfbuild.wheel]\ntarget = "skylake"']
    found = settings.find(project(tmp_path, "\n".join(lines[:: -1 if order else 1])))
    filled = settings.default_map(found, OPTIONS)
    assert (filled["wheel"]["target"], filled["render"]["target"]) == ("skylake", "haswell")


@pytest.mark.parametrize("text", ["engin = 'docker'", "[tool.tfbuild.wheel]\nengin = 'docker'"])
def test_an_unknown_key_is_refused_with_the_nearest_name(tmp_path: Path, text: str) -> None:
    found = settings.find(project(tmp_path, f"[tool.tfbuild]\n{text}"))
    with pytest.raises(UsageError, match="unknown key") as caught:
        settings.default_map(found, OPTIONS)
    assert caught.value.do == "Did you mean 'engine'?"


def test_broken_toml_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not valid TOML"):
        settings.find(project(tmp_path, "[tool.tfbuild\n"))


def test_a_user_without_a_home_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `docker run --user 12345` makes one: no HOME, and no entry in /etc/passwd."""

    def nobody(number: int) -> object:
        raise KeyError(number)

    monkeypatch.setattr("pwd.getpwuid", nobody)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    with pytest.raises(SaveError, match="no home") as caught:
        settings.cache_folder("logs")
    assert "XDG_CACHE_HOME" in caught.value.do
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert settings.cache_folder("logs") == Path("/somewhere/tfbuild/logs")


def test_what_is_no_table_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a table"):
        settings.find(project(tmp_path, "[tool]\ntfbuild = 3\n"))


def test_a_tool_that_is_no_table_holds_no_settings(tmp_path: Path) -> None:
    assert settings.find(project(tmp_path, "tool = 3\n")).values == {}


def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = project(tmp_path, "[tool.tfbuild]\n")

    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(UsageError, match="Cannot read"):
        settings.find(path)


@pytest.mark.parametrize("value", ['"-g1"', '["-g1"]'])
def test_one_word_serves_where_several_may(
    value: str, tmp_path: Path, tfbuild: Callable[..., "subprocess.CompletedProcess[str]"]
) -> None:
    project(tmp_path, f"[tool.tfbuild]\ncopt = {value}")
    shown = tfbuild("wheel", "--target", "haswell", "--dry-run", "--json")
    assert json.loads(shown.stdout)["flags"][-1] == "-g1"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("copt = 3", "--copt: '3'"),
        ('copt = [["-g1"]]', "copt cannot be"),
        ("mirror = {a = 1}", "mirror cannot be"),
        ('engine = ["docker"]', "engine cannot be"),
        ('offline = ["x"]', "offline cannot be"),
    ],
)
def test_a_value_of_another_shape_is_refused(
    line: str,
    expected: str,
    tmp_path: Path,
    tfbuild: Callable[..., "subprocess.CompletedProcess[str]"],
) -> None:
    project(tmp_path, f"[tool.tfbuild]\n{line}")
    done = tfbuild("wheel", "--target", "haswell", "--dry-run")
    assert done.returncode == UsageError.exit_code
    assert expected in done.stderr
