"""Which wheel on which Python; an index and interpreters that are tables."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.wheels import make_wheel
from tfbuild import artifact, published, release, spec
from tfbuild.choice import Choices, Here, choose
from tfbuild.errors import BenchError, HostError, NothingToDoError, UsageError, WheelError
from tfbuild.host import Host
from tfbuild.pythons import Python
from tfbuild.record import BuiltWheel, record_path

AVX2 = frozenset(
    {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse", "sse2"}
    | {"sse3", "sse4_1", "sse4_2", "ssse3"}
)
AVX512 = AVX2 | {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}
HOST = Host(
    system="Linux",
    architecture="x86_64",
    vendor="GenuineIntel",
    brand="Test CPU",
    microarchitecture="haswell",
    features=AVX2,
    cpus=2,
    source="test",
)
INDEX = {
    # (project, Python) -> versions, oldest first
    ("tensorflow-cpu", "3.12"): ("2.16.2", "2.21.0"),
    ("tensorflow-cpu", "3.11"): ("2.12.1", "2.14.0", "2.21.0"),
    ("other-tf", "3.10"): ("2.10.1",),
}


def resolve(requirement: str, python: Python) -> str:
    from packaging.requirements import Requirement

    wanted = Requirement(requirement)
    versions = INDEX.get((wanted.name, python.version), ())
    fitting = [one for one in versions if wanted.specifier.contains(one)]
    if not fitting:
        raise BenchError(f"{requirement} has nothing for Python {python.version}.")
    return fitting[-1]


def look(python: Path) -> tuple[str, str, str]:
    del python
    return "3.10.13", "tensorflow-cpu", "2.8.4"


def here(tmp_path: Path, pythons: str = "3.12 3.11 3.10 3.9", host: Host = HOST) -> Here:
    return Here(
        host=host,
        pythons=tuple(
            Python(path=Path(f"/py/{version}"), full=f"{version}.1") for version in pythons.split()
        ),
        wheels=tmp_path,
        resolve=resolve,
        look=look,
    )


def chosen(words: Sequence[str], at: Here) -> Choices:
    return choose([spec.parse(word) for word in words], at)


def told(choices: Choices) -> list[str]:
    return [choice.description for choice in choices.choices]


def built(folder: Path, version: str, target: str, requires: str, *, python: str = "3.11") -> Path:
    tag = f"cp{python.replace('.', '')}"
    wheel = make_wheel(folder, "tensorflow", f"{version}+{target}", f"{tag}-{tag}-linux_x86_64")
    age = timedelta(hours=len(list(folder.glob("*.whl"))))
    record = BuiltWheel(
        file=wheel.name,
        sha256=artifact.sha256(wheel),
        size=1,
        distribution="tensorflow",
        version=f"{version}+{target}",
        tensorflow=version,
        python=python,
        architecture="x86_64",
        target=target,
        requires=frozenset(requires.split()),
        flags=(),
        recipe_digest="0" * 64,
        engine="local",
        image=None,
        compiler="gcc",
        bazel="7.4.1",
        actions=None,
        seconds=1.0,
        built_at=datetime(2026, 1, 1, tzinfo=UTC) + age,
        tfbuild="0",
    )
    artifact.save(record, record_path(wheel))
    return wheel


def test_pip_alone_is_the_newest_release_on_the_newest_python(tmp_path: Path) -> None:
    newest = release.known()[-1]
    choices = chosen(["pip"], here(tmp_path))
    assert told(choices) == [f"tensorflow-cpu {newest.version} on Python 3.12"]
    assert choices.choices[0].install == f"tensorflow-cpu=={newest.version}"
    assert choices.choices[0].interpreter == Path("/py/3.12")
    assert choices.first_line is None


def test_pip_takes_an_older_release_where_only_an_older_python_is(tmp_path: Path) -> None:
    newest = [one.version for one in release.known() if "3.8" in one.pythons][-1]
    assert told(chosen(["pip"], here(tmp_path, "3.8"))) == [
        f"tensorflow-cpu {newest} on Python 3.8"
    ]


def test_nothing_compiled_takes_the_best_published_wheel_and_says_so_first(tmp_path: Path) -> None:
    choices = chosen(["pip", "compiled"], here(tmp_path))
    assert told(choices) == [
        "tensorflow-cpu 2.14.0 on Python 3.11",
        "intel-tensorflow 2.14.0 on Python 3.11",
    ]
    line = choices.first_line
    assert line is not None
    assert "No wheel has been compiled" in line
    assert "intel-tensorflow 2.14.0" in line
    assert "same TensorFlow version as the baseline" in line
    assert any("compiled for AVX, as the official wheel" in note for note in choices.notes)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["compiled"], "at TensorFlow 2.14.0, on Python 3.11."),
        (["compiled", "pip"], "at the same TensorFlow version as the candidate, on Python 3.11."),
    ],
)
def test_the_first_line_names_no_baseline_where_there_is_no_other(
    words: list[str], said: str, tmp_path: Path
) -> None:
    line = chosen(words, here(tmp_path)).first_line
    assert line is not None
    assert line.endswith(said)
    assert "baseline" not in line


def test_a_wheel_for_another_architecture_without_a_record_is_told_by_its_tag(
    tmp_path: Path,
) -> None:
    for platform in ("linux_aarch64", "manylinux2014_aarch64", "manylinux_2_27_aarch64"):
        wheel = make_wheel(tmp_path / platform, tag=f"cp311-cp311-{platform}")
        with pytest.raises(HostError, match="cannot run") as caught:
            chosen([str(wheel)], here(tmp_path))
        assert "lacks aarch64" in caught.value.why
        with pytest.raises(HostError, match="none of the wheels"):
            chosen(["compiled"], here(wheel.parent))


def test_on_a_cpu_with_avx512_the_avx512_build_is_the_best(tmp_path: Path) -> None:
    at = here(tmp_path, host=replace(HOST, features=AVX512))
    assert told(chosen(["pip", "compiled"], at)) == [
        "tensorflow-cpu 2.14.0 on Python 3.11",
        "intel-tensorflow-avx512 2.14.0 on Python 3.11",
    ]


def test_the_stand_in_follows_a_pinned_baseline(tmp_path: Path) -> None:
    choices = chosen(["tensorflow-cpu==2.8.4", "compiled"], here(tmp_path))
    assert told(choices) == [
        "tensorflow-cpu 2.8.4 on Python 3.10",
        "intel-tensorflow 2.8.0 on Python 3.10",
    ]
    assert choices.first_line is not None
    assert "the baseline has 2.8.4" in choices.first_line


def test_without_a_fitting_python_one_is_fetched_or_the_reason_given(tmp_path: Path) -> None:
    at = here(tmp_path, "3.13")
    assert told(chosen(["pip", "compiled"], at)) == [
        "tensorflow-cpu 2.14.0 on Python 3.11",
        "intel-tensorflow 2.14.0 on Python 3.11",
    ]
    assert [one.interpreter for one in chosen(["pip", "compiled"], at).choices] == [None, None]
    with pytest.raises(NothingToDoError, match=r"Python 3\.13"):
        chosen(["pip", "compiled"], replace(at, fetch_pythons=False))


def test_on_arm_no_published_wheel_differs_from_the_official_one(tmp_path: Path) -> None:
    arm = replace(HOST, architecture="aarch64", features=frozenset({"asimd"}))
    with pytest.raises(NothingToDoError, match="No wheel has been compiled yet"):
        chosen(["pip", "compiled"], here(tmp_path, host=arm))
    assert told(chosen(["pip"], here(tmp_path, host=arm)))[0].startswith("tensorflow 2.")


def test_the_newest_wheel_that_runs_here_is_taken_and_pip_follows(tmp_path: Path) -> None:
    built(tmp_path, "2.18.0", "haswell", "avx2 fma")
    mine = built(tmp_path, "2.19.0", "haswell", "avx2 fma")
    built(tmp_path, "2.19.1", "skylake", "avx2 avx512f")
    choices = chosen(["pip", "compiled"], here(tmp_path))
    assert told(choices) == [
        "tensorflow-cpu 2.19.0 on Python 3.11",
        "tensorflow 2.19.0+haswell on Python 3.11",
    ]
    assert choices.choices[1].install == str(mine)
    assert choices.first_line is None


def test_a_compiled_wheel_of_the_baselines_version_goes_before_a_newer_one(tmp_path: Path) -> None:
    built(tmp_path, "2.14.0", "haswell", "avx2")
    built(tmp_path, "2.19.0", "haswell", "avx2")
    choices = chosen(["tensorflow-cpu==2.14.0", "compiled"], here(tmp_path))
    assert told(choices)[1] == "tensorflow 2.14.0+haswell on Python 3.11"


def test_wheels_that_this_cpu_cannot_run_are_named(tmp_path: Path) -> None:
    wheel = built(tmp_path, "2.19.0", "skylake", "avx2 avx512f avx512bw")
    with pytest.raises(HostError) as caught:
        chosen(["pip", "compiled"], here(tmp_path))
    assert f"{wheel.name} needs avx512bw, avx512f" in caught.value.why
    with pytest.raises(HostError, match="cannot run"):
        chosen([str(wheel)], here(tmp_path))


def test_a_bare_wheel_is_read_by_its_tags(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, "tensorflow", "2.20.0", "cp310-cp310-linux_x86_64")
    assert told(chosen(["compiled"], here(tmp_path))) == ["tensorflow 2.20.0 on Python 3.10"]
    old = make_wheel(tmp_path, "tensorflow", "2.3.0", "cp36-cp36m-linux_x86_64")
    with pytest.raises(WheelError, match="no Python that can be measured"):
        chosen([str(old)], here(tmp_path))
    assert told(chosen([str(wheel), "pip"], here(tmp_path)))[1] == (
        "tensorflow-cpu 2.20.0 on Python 3.10"
    )


def test_a_published_wheel_that_needs_more_is_refused_before_any_download(tmp_path: Path) -> None:
    with pytest.raises(HostError) as caught:
        chosen(["tensorflow-cpu==2.8.4", "intel-tensorflow-avx512==2.8.0"], here(tmp_path))
    assert "avx512f" in caught.value.why
    assert caught.value.exit_code == 4


def test_all_share_the_newest_python_that_serves_all(tmp_path: Path) -> None:
    choices = chosen(["tensorflow-cpu>=2.12", "intel-tensorflow==2.14.0"], here(tmp_path))
    assert told(choices) == [
        "tensorflow-cpu 2.21.0 on Python 3.11",
        "intel-tensorflow 2.14.0 on Python 3.11",
    ]
    assert choices.notes == ()


def test_without_a_common_python_each_has_its_own_and_a_note_says_so(tmp_path: Path) -> None:
    choices = chosen(["tensorflow-cpu>=2.15", "other-tf>=2"], here(tmp_path))
    assert told(choices) == [
        "tensorflow-cpu 2.21.0 on Python 3.12",
        "other-tf 2.10.1 on Python 3.10",
    ]
    assert any("different Pythons" in note for note in choices.notes)


def test_an_interpreter_is_taken_as_it_is_and_pip_follows_it(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("")
    program.chmod(0o755)
    choices = chosen(["pip", str(program)], here(tmp_path / "none"))
    assert told(choices) == [
        "tensorflow-cpu 2.8.4 on Python 3.10",
        "tensorflow-cpu 2.8.4 on Python 3.10",
    ]
    assert choices.choices[1].install is None
    assert choices.choices[1].interpreter == program


def test_what_no_index_has_is_told_in_its_words(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"other-tf==9 has nothing for Python 3\.12"):
        chosen(["other-tf==9"], here(tmp_path))


def test_pip_beside_a_version_without_an_official_wheel(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, "tensorflow", "2.7.1", "cp39-cp39-linux_x86_64")
    with pytest.raises(UsageError, match=r"no TensorFlow 2\.7\.1"):
        chosen(["pip", str(wheel)], here(tmp_path))


def test_a_saved_result_needs_no_environment(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("{}")
    with pytest.raises(UsageError, match="saved result"):
        chosen([str(path)], here(tmp_path))


@pytest.mark.parametrize("one", published.all_(), ids=lambda one: one.distribution)
def test_each_published_release_has_an_official_wheel_of_the_same_version(
    one: published.Published,
) -> None:
    official = {known.version: known.pythons for known in release.known()}
    assert one.releases
    for version, each in one.releases.items():
        assert set(each.pythons) - {"3.7"} <= set(official[version])
