"""The journal of attempts: what is counted, and what a kill at any moment leaves."""

from pathlib import Path

import pytest

from tfbuild import attempts, recipe, target
from tfbuild.attempts import Journal
from tfbuild.engine.events import Action
from tfbuild.errors import BuildError
from tfbuild.record import Actions, Attempts

ONE = recipe.make("2.15.1", "3.11", target.find("haswell"))
OTHER = recipe.make("2.15.1", "3.11", target.find("skylake"))
COMPILE = Action(kind="CppCompile", output="a.o")
LINK = Action(kind="Symlink", output="b")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "tfbuild/attempts"


def count(executed: int, cached: int) -> Actions:
    return Actions(total=executed + cached, cached=cached, executed=executed)


def ignore(_: str) -> None:
    pass


def killed(one: recipe.Recipe = ONE, finished: int = 3) -> None:
    """Leave a journal as a process that ends without a word does."""
    journal = Journal(one, "docker")
    context = journal.kept(ignore)
    context.__enter__()("a line")
    for _ in range(finished):
        journal.finished([COMPILE, LINK])
    # Python ends the generator politely.
    journal._append = lambda **_: None  # type: ignore[method-assign]


def finish(
    executed: int, stored: int | None, one: recipe.Recipe = ONE, failed: int = 0
) -> Attempts:
    journal = Journal(one, "docker")
    with journal.kept(ignore) as line:
        line("a line")
        return journal.counted(count(executed, 9), stored, failed)


def test_a_build_that_is_not_disturbed() -> None:
    assert finish(18, 18) == Attempts(count=1, finished=0, repeated=0)
    # What may not be cached, or another target had stored: no earlier attempt of this recipe.
    assert finish(18, 10) == Attempts(count=1, finished=0, repeated=0)


def test_after_a_kill() -> None:
    killed(finished=3)
    assert finish(18, 16) == Attempts(count=2, finished=3, repeated=2)


def test_a_wheel_ends_the_series() -> None:
    killed()
    finish(18, 18)
    assert finish(5, 2).count == 1


def test_each_attempts_repetitions_add_up(folder: Path) -> None:
    killed()
    journal = Journal(ONE, "docker")

    def fail() -> None:
        with journal.kept(ignore) as line:
            line("a line")
            # One of the three failed, one was new.
            assert journal.counted(count(3, 0), 1, failed=1).repeated == 1
            raise BuildError("The compile failed.")

    with pytest.raises(BuildError):
        fail()
    assert finish(10, 8) == Attempts(count=3, finished=3, repeated=3)
    assert [one.how for one in attempts.read(next(folder.iterdir()))] == [
        "",
        "BuildError: The compile failed.",
        "wheel",
    ]


def test_what_cannot_be_told_is_not_told() -> None:
    killed()
    assert finish(10, None).repeated is None


def test_others_that_write_the_same_cache_blur_the_count() -> None:
    killed()
    journal = Journal(ONE, "docker")
    with journal.kept(ignore) as line:
        line("a line")
        finish(4, 4, OTHER)
        assert journal.counted(count(10, 0), 10).repeated is None


def test_a_refused_build_is_no_attempt(folder: Path) -> None:
    with pytest.raises(BuildError), Journal(ONE, "docker").kept(ignore):
        raise BuildError("Busy.")
    assert not folder.exists()


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_line_that_a_full_disk_cut_off(cut: int, folder: Path) -> None:
    killed()
    path = next(folder.iterdir())
    path.write_bytes(path.read_bytes()[:-cut])
    assert finish(10, 10).count == 2
    assert [one.how for one in attempts.read(path)][-1] == "wheel"


def test_a_journal_that_cannot_be_written_costs_nothing(folder: Path) -> None:
    folder.parent.mkdir(parents=True)
    folder.write_text("in the way")
    assert finish(3, 3).count == 1
