"""Words that a user writes."""

import sys
from pathlib import Path

import pytest

from tests.wheels import make_wheel
from tfbuild import spec
from tfbuild.errors import UsageError


def test_the_three_words() -> None:
    assert spec.parse("pip").kind == "pip"
    assert spec.parse("compiled").kind == "compiled"
    here = spec.parse("python")
    assert (here.kind, here.path) == ("python", Path(sys.executable))


def test_a_wheel(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, "tensorflow", "2.21.0+skylake", "cp312-cp312-linux_x86_64")
    found = spec.parse(str(wheel))
    assert (found.kind, found.path) == ("wheel", wheel)


@pytest.mark.parametrize(
    ("text", "requirement"),
    [
        ("intel-tensorflow-avx512==2.8.0", "intel-tensorflow-avx512==2.8.0"),
        ("tensorflow-cpu", "tensorflow-cpu"),
        ("tensorflow-cpu >= 2.8, < 2.10", "tensorflow-cpu<2.10,>=2.8"),
        ("mytf==1.0", "mytf==1.0"),
        (
            "tensorflow @ https://example.org/a/tensorflow-2.21.0-cp312-cp312-linux_x86_64.whl",
            "tensorflow@ https://example.org/a/tensorflow-2.21.0-cp312-cp312-linux_x86_64.whl",
        ),
    ],
)
def test_a_requirement(text: str, requirement: str) -> None:
    found = spec.parse(text)
    assert found.kind == "requirement"
    assert found.requirement is not None
    assert found.requirement.replace(" ", "") == requirement.replace(" ", "")


def test_an_interpreter_by_path_by_folder_and_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "env" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.symlink_to(sys.executable)
    (program.parent / "python3.7").symlink_to(sys.executable)
    assert spec.parse(str(program)).path == program
    assert spec.parse(str(tmp_path / "env")).path == program
    monkeypatch.setenv("PATH", str(program.parent))
    assert spec.parse("python3.7").path == program.parent / "python3.7"


def test_a_shim_that_leads_nowhere_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shim = tmp_path / "shims" / "python3.7"
    shim.parent.mkdir()
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(shim.parent))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    with pytest.raises(UsageError, match=r"python3\.7 was not found"):
        spec.parse("python3.7")


def test_a_saved_result(tmp_path: Path) -> None:
    path = tmp_path / "a.suite.json"
    path.write_text("{}")
    assert spec.parse(str(path)).kind == "result"


@pytest.mark.parametrize(
    ("text", "what", "do"),
    [
        ("", "empty", "Write pip"),
        ("compild", "not a spec", "'compiled'"),
        ("pipp", "not a spec", "'pip'"),
        ("numpy", "not a spec", "numpy==2.14.0"),
        ("pip==2.14.0", "pip itself", "tensorflow-cpu==2.14.0"),
        ("tensorflow-cpu=2.14.0", "not a spec", "tensorflow-cpu=="),
        ("wheels/none-1-py3-none-any.whl", "does not exist", ""),
        ("nothing/here", "does not exist", ""),
        ("results/none.json", "does not exist", ""),
        ("python3.99", "not found", "path"),
    ],
)
def test_what_is_no_spec(text: str, what: str, do: str) -> None:
    with pytest.raises(UsageError) as caught:
        spec.parse(text)
    assert what in caught.value.what
    assert do in caught.value.do
    assert caught.value.exit_code == 2


def test_a_wheel_under_a_wrong_name_a_folder_and_a_text(tmp_path: Path) -> None:
    wrong = tmp_path / "tensorflow.whl"
    wrong.write_bytes(b"")
    text = tmp_path / "notes.txt"
    text.write_text("hello")
    for path, why in ((wrong, "name"), (tmp_path, "folder"), (text, "cannot be measured")):
        with pytest.raises(UsageError, match=why):
            spec.parse(str(path))


def test_a_slip_in_a_wheels_name_is_put_right(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, "tensorflow", "2.21.0+zen3", "cp312-cp312-linux_x86_64")
    with pytest.raises(UsageError) as caught:
        spec.parse(str(wheel).replace("zen3", "zen2"))
    assert wheel.name in caught.value.do


@pytest.mark.parametrize("before", ["", "tensorflow @ ", "tensorflow@"])
def test_a_password_in_an_address_is_refused_and_not_repeated(before: str) -> None:
    with pytest.raises(UsageError) as caught:
        spec.parse(f"{before}https://ann:hunter2@example.org/tensorflow-2.21.0-py3-none-any.whl")
    assert "hunter2" not in str(caught.value)


def test_the_home_of_an_unknown_user_does_not_exist() -> None:
    with pytest.raises(UsageError, match="does not exist"):
        spec.parse("~nobody-of-that-name/bin/python")


def test_the_study_of_2017(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of that name does not hide it; a path does mean the folder."""
    (tmp_path / "2017/bin").mkdir(parents=True)
    (tmp_path / "2017/bin/python").symlink_to(sys.executable)
    monkeypatch.chdir(tmp_path)
    assert spec.parse("2017").kind == "study"
    assert spec.parse("./2017").kind == "python"


@pytest.mark.parametrize("end", ["", ".whl", ".json", "/python"])
def test_a_name_that_no_file_can_have_is_refused_as_any_other(end: str) -> None:
    with pytest.raises(UsageError):
        spec.parse("a" * 300 + " " + "b" * 5_000 + end)
