import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tfbuild import artifact, matrix
from tfbuild.errors import UsageError
from tfbuild.matrix import Job, Row
from tfbuild.record import Actions, BuiltWheel

RELEASES = [("2.21.0", "3.12"), ("2.8.4", "3.10")]


def job(target: str = "haswell", tensorflow: str = "2.21.0", python: str = "3.12") -> Job:
    return Job(target=target, tensorflow=tensorflow, python=python)


def test_jobs_of_one_toolchain_follow_each_other() -> None:
    made = matrix.jobs(["haswell", "skylake"], RELEASES, [])
    assert [(j.tensorflow, j.python, j.target) for j in made] == [
        ("2.21.0", "3.12", "haswell"),
        ("2.21.0", "3.12", "skylake"),
        ("2.8.4", "3.10", "haswell"),
        ("2.8.4", "3.10", "skylake"),
    ]


def test_pythons_in_place_of_the_releases_own() -> None:
    made = matrix.jobs(["haswell"], RELEASES[:1], ["3.10", "3.11"])
    assert [j.python for j in made] == ["3.10", "3.11"]


def test_what_is_named_twice_is_built_once() -> None:
    assert len(matrix.jobs(["haswell", "haswell"], RELEASES[:1] * 2, [])) == 1


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("haswell:2.8*", 3),
        ("haswell", 2),
        ("*:2.21.0:3.12", 2),
        ("*:*:3.1?", 0),
        ("sky*:*:3.10", 3),
    ],
)
def test_exclusions(pattern: str, left: int) -> None:
    assert len(matrix.jobs(["haswell", "skylake"], RELEASES, [], [pattern])) == left


@pytest.mark.parametrize("pattern", ["zen3:*", "haswell:2.21.0:3.12:x", "", "haswell:2.9"])
def test_an_exclusion_of_nothing_is_a_mistake(pattern: str) -> None:
    with pytest.raises(UsageError, match="excludes nothing"):
        matrix.jobs(["haswell", "skylake"], RELEASES, [], [pattern])


def wheel(folder: Path, digest: str, data: bytes = b"wheel") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"tensorflow-2.21.0+{digest}-cp312-cp312-linux_x86_64.whl"
    path.write_bytes(data)
    record = BuiltWheel(
        file=path.name,
        sha256=hashlib.sha256(data).hexdigest(),
        size=len(data),
        distribution="tensorflow",
        version=f"2.21.0+{digest}",
        tensorflow="2.21.0",
        python="3.12",
        architecture="x86_64",
        target="haswell",
        requires=frozenset(),
        flags=(),
        recipe_digest=digest,
        engine="local",
        image=None,
        compiler="gcc",
        bazel="7.4.1",
        actions=Actions(total=30, cached=20, executed=10),
        seconds=5.5,
        built_at=datetime.now(UTC),
        tfbuild="0",
    )
    artifact.save(record, folder / f"{path.name}.json")
    return path


def todo(digest: str) -> Row:
    return Row(job=job(), outcome="to do", recipe_digest=digest, command=("tfbuild", "--version"))


def test_a_wheel_of_the_same_recipe_is_not_built_again(tmp_path: Path) -> None:
    path = wheel(tmp_path, "a")
    (row,) = matrix.with_wheels([todo("a")], tmp_path)
    assert (row.outcome, row.wheel, row.executed, row.cached) == ("there", path.name, 10, 20)


def test_a_wheel_that_differs_from_its_record_is_built_again(tmp_path: Path) -> None:
    wheel(tmp_path, "a").write_bytes(b"whee1")
    assert matrix.with_wheels([todo("a")], tmp_path)[0].outcome == "to do"


def test_a_wheel_without_a_record_or_of_another_recipe_does_not_count(tmp_path: Path) -> None:
    wheel(tmp_path, "a")
    (tmp_path / f"{wheel(tmp_path, 'b').name}.json").write_text("{")
    rows = matrix.with_wheels([todo("b"), todo("c")], tmp_path)
    assert [row.outcome for row in rows] == ["to do", "to do"]


def test_what_was_left_out_stays_so(tmp_path: Path) -> None:
    wheel(tmp_path, "a")
    (row,) = matrix.with_wheels([replace(todo("a"), outcome="left out")], tmp_path)
    assert row.outcome == "left out"


def test_a_command_that_leaves_no_wheel_has_failed(tmp_path: Path) -> None:
    seen: list[str] = []
    changes: list[list[str]] = []
    begun: list[int] = []
    rows = matrix.run(
        [todo("a"), replace(todo("b"), command=("tfbuild", "nonsense")), todo("c")],
        tmp_path,
        lambda _row, number: begun.append(number),
        seen.append,
        lambda state: changes.append([row.outcome for row in state]),
    )
    assert [row.outcome for row in rows] == ["failed"] * 3
    assert rows[0].why == "It ended with 0."
    assert rows[1].why == "tfbuild has no command 'nonsense'."
    assert begun == [1, 2, 3]
    assert changes[0] == ["failed", "to do", "to do"]
    assert any("tfbuild 0" in line for line in seen)


def test_an_interrupt_tells_the_job_that_ran_from_those_to_come(tmp_path: Path) -> None:
    changes: list[list[str]] = []

    def interrupt(_line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        matrix.run(
            [todo("a"), todo("b")],
            tmp_path,
            lambda _row, _number: None,
            interrupt,
            lambda state: changes.append([row.outcome for row in state]),
        )
    assert changes == [["stopped", "to do"]]
