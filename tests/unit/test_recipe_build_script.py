"""build.sh with a Bazel that only writes down how it was called."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from tests.conftest import need, pyenv_python
from tfbuild import recipe, release, target
from tfbuild.recipe import Options

HASWELL = target.find("haswell")
FAKE = """#!/bin/bash
if [[ $* == --version ]]; then echo "bazel $FAKE_VERSION"; exit 0; fi
if [[ " $* " != *" build "* ]]; then exit 2; fi
printf '%s\\n' "$@" >>"$FAKE_CALLS"
[[ -z ${FAKE_FAILS-} ]] || exit "$FAKE_FAILS"
package=bazel-bin/tensorflow/tools/pip_package
mkdir -p $package/wheel_house
cat >$package/build_pip_package <<'PROGRAM'
#!/bin/bash
echo "$PYTHON_BIN_PATH" >"$1/../python_bin_path"
touch "$1/tensorflow-1-py3-none-any.whl"
PROGRAM
chmod +x $package/build_pip_package
for number in $(seq "${FAKE_WHEELS-1}"); do
    touch $package/wheel_house/tensorflow-$number-py3-none-any.whl
done
"""

Run = Callable[..., "tuple[subprocess.CompletedProcess[str], list[str], Path]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a recipe's build.sh; gives the process, Bazel's arguments, and the output folder."""
    need(shutil.which("bash"), "bash is not here")
    python = pyenv_python("3.11") or pyenv_python("3.12")
    need(python, "no Python with venv is here")

    def build(
        tensorflow: str,
        bazel: str,
        options: Options | None = None,
        wanted: target.Target = HASWELL,
        **environment: str,
    ) -> tuple[subprocess.CompletedProcess[str], list[str], Path]:
        one = release.find(tensorflow)
        made = recipe.make(one.version, one.default_python, wanted, options=options)
        made.write(tmp_path / "context")
        (tmp_path / "source/tensorflow/tools/pip_package").mkdir(parents=True, exist_ok=True)
        (tmp_path / "bazel").write_text(FAKE)
        (tmp_path / "bazel").chmod(0o755)
        calls = tmp_path / "calls"
        calls.unlink(missing_ok=True)
        places = {
            "TFBUILD_SOURCE": tmp_path / "source",
            "TFBUILD_CACHE": tmp_path / "a cache",
            "TFBUILD_OUTPUT_BASE": tmp_path / "output base",
            "TFBUILD_OUT": tmp_path / "the out",
            "TFBUILD_BAZELRC": tmp_path / "context/tfbuild.bazelrc",
            "TFBUILD_BAZEL": tmp_path / "bazel",
            "TFBUILD_PYTHON": python,
            "FAKE_VERSION": bazel,
            "FAKE_CALLS": calls,
        }
        done = subprocess.run(
            ["bash", tmp_path / "context/build.sh"],
            env={**os.environ, **{name: str(value) for name, value in places.items()}}
            | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        arguments = calls.read_text().splitlines() if calls.exists() else []
        return done, arguments, tmp_path / "the out"

    return build


@pytest.mark.parametrize("tensorflow", ["2.8", "2.12", "2.13", "2.16", "2.17", "2.20", "2.21"])
def test_one_wheel_and_what_made_it(run: Run, tensorflow: str) -> None:
    # `system`, as the release's own compiler need not be here.
    done, arguments, out = run(tensorflow, "5.3.0", Options(compiler="system"))
    assert done.returncode == 0, done.stderr
    assert [path.suffix for path in sorted(out.iterdir())] == [".json", ".whl"]
    told = json.loads((out / "build.json").read_text())
    assert told["bazel"] == "5.3.0"
    gcc = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True)
    assert told["compiler"] == gcc.stdout.splitlines()[0]
    assert told["python"].startswith(("3.11.", "3.12."))
    libc = subprocess.run(
        ["getconf", "GNU_LIBC_VERSION"], capture_output=True, text=True, check=True
    )
    assert told["libc"] == libc.stdout.strip()
    # What this Bazel was asked afterwards it did not answer.
    assert (told["repositories"], told["external"]) == (None, "")
    goal = "wheel" if release.find(tensorflow).kind in "BC" else "build_pip_package"
    assert arguments[-1] == f"//tensorflow/tools/pip_package:{goal}"


def test_the_time_is_that_of_the_newest_file_or_of_the_commit(run: Run, tmp_path: Path) -> None:
    tree = tmp_path / "source"
    (tree / "tensorflow/tools/pip_package").mkdir(parents=True)
    for name, moment in {
        "tensorflow/a.py": 1_500_000_000,
        "tensorflow/b.py": 1_600_000_000,
        "tensorflow/c.pyc": 1_700_000_000,
        # As Bazel 7 writes it during the build.
        "MODULE.bazel.lock": 1_700_000_000,
    }.items():
        (tree / name).touch()
        os.utime(tree / name, (moment, moment))
    (tree / ".tfbuild-commit").write_text("0123456789abcdef0123456789abcdef01234567\n")
    _, _, out = run("2.21", "7.4.1", Options(compiler="system"))
    told = json.loads((out / "build.json").read_text())
    assert told["source_date_epoch"] == 1_600_000_000
    assert told["commit"] == "0123456789abcdef0123456789abcdef01234567"

    def git(*words: str) -> str:
        dated = {"GIT_COMMITTER_DATE": "1650000000 +0000", "GIT_AUTHOR_DATE": "1600000001 +0000"}
        who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        done = subprocess.run(
            ["git", *who, *words],
            cwd=tree,
            env={**os.environ, **dated},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    git("init", "--quiet")
    git("add", "--all")
    git("commit", "--quiet", "--message", "x")
    _, _, out = run("2.21", "7.4.1", Options(compiler="system"))
    told = json.loads((out / "build.json").read_text())
    assert (told["source_date_epoch"], told["commit"]) == (1_650_000_000, git("rev-parse", "HEAD"))


def test_places_and_numbers_of_jobs_are_not_among_the_options(run: Run) -> None:
    _, arguments, out = run("2.12", "5.3.0", Options(compiler="system", jobs=3, memory=4000))
    told = json.loads((out / "build.json").read_text())["options"]
    assert "--distinct_host_configuration=true" in told
    assert set(told) < set(arguments)
    left = {word.partition("=")[0] for word in arguments[arguments.index("build") :]} - {
        word.partition("=")[0] for word in told
    }
    assert {"--jobs", "--local_ram_resources", "--disk_cache", "--python_path"} <= left
    assert str(out.parent) not in json.dumps(told)


def test_places_may_have_spaces(run: Run) -> None:
    _, arguments, out = run("2.21", "7.4.1")
    assert f"--disk_cache={out.parent}/a cache/disk" in arguments
    assert f"--repository_cache={out.parent}/a cache/repository" in arguments
    assert f"--output_base={out.parent}/output base" in arguments
    before = arguments[: arguments.index("build")]
    assert {"--nosystem_rc", "--nohome_rc"} <= set(before)
    assert any(word.startswith("--bazelrc=") for word in before)


@pytest.mark.parametrize(
    ("tensorflow", "bazel", "emitted"),
    [
        ("2.12", "5.3.0", True),
        ("2.8", "4.2.1", True),
        ("2.8", "4.2.3-", True),
        # Bazel 6 took the option without effect, later ones refuse it.
        ("2.12", "6.0.0", False),
        ("2.12", "7.4.1", False),
        ("2.12", "10.0.0", False),
        ("2.13", "5.3.0", False),
        ("2.21", "5.3.0", False),
        ("2.21", "7.4.1", False),
    ],
)
def test_an_option_that_bazel_does_not_know_is_not_given(
    run: Run, tensorflow: str, bazel: str, emitted: bool
) -> None:
    _, arguments, _ = run(tensorflow, bazel, Options(compiler="system"))
    assert ("--distinct_host_configuration=true" in arguments) == emitted


@pytest.mark.parametrize(
    ("compiler", "bazel", "option"),
    [
        ("release", "7.4.1", "--incompatible_enable_cc_toolchain_resolution"),
        ("release", "4.2.3", None),
        ("system", "7.4.1", "--noincompatible_enable_cc_toolchain_resolution"),
    ],
)
def test_the_compiler_that_bazel_downloads(
    run: Run, compiler: Literal["release", "system"], bazel: str, option: str | None
) -> None:
    _, arguments, _ = run("2.21", bazel, Options(compiler=compiler))
    said = [word for word in arguments if "cc_toolchain_resolution" in word]
    assert said == ([option] if option else [])


def test_a_bazel_that_tells_no_version(run: Run) -> None:
    _, arguments, out = run("2.12", "no_version", Options(compiler="system"))
    expected = "5.3.0"
    if Path("/usr/share/bazel").exists():
        command = [
            "dpkg-query",
            "--show",
            "--showformat",
            "${source:Upstream-Version}",
            "bazel-bootstrap",
        ]
        package = subprocess.run(command, capture_output=True, text=True, check=True)
        expected = package.stdout.partition("+")[0]
    assert json.loads((out / "build.json").read_text())["bazel"] == expected
    assert "--distinct_host_configuration=true" in arguments


def test_python_of_the_image_where_bazel_brings_none(run: Run) -> None:
    _, arguments, out = run("2.12", "5.3.0", Options(compiler="system"))
    (python,) = [word for word in arguments if word.startswith("--python_path=")]
    path = python.partition("=")[2]
    assert f"--action_env=PYTHON_BIN_PATH={path}" in arguments
    assert (out.parent / "python_bin_path").read_text().strip() == path
    _, arguments, _ = run("2.14", "6.1.0", Options(compiler="system"))
    assert not [word for word in arguments if "PYTHON" in word or "python_path" in word]


def test_jobs_and_memory(run: Run) -> None:
    _, arguments, _ = run("2.21", "7.4.1")
    assert not [word for word in arguments if word.startswith(("--jobs", "--local_ram"))]
    _, arguments, _ = run("2.21", "7.4.1", Options(jobs=3, memory=5000))
    assert {"--jobs=3", "--local_ram_resources=5000"} <= set(arguments)
    _, arguments, _ = run("2.21", "7.4.1", Options(jobs=3), TFBUILD_JOBS="7")
    assert "--jobs=7" in arguments
    assert "--jobs=3" not in arguments


def test_kernels_that_gcc_does_not_know_are_left_out(run: Run) -> None:
    _, arguments, _ = run("2.21", "7.4.1", Options(compiler="system"))
    for kernels in release.xnnpack_kernels(release.find("2.21")):
        command = ["gcc", kernels.option, "-E", "-x", "c", "/dev/null"]
        knows = subprocess.run(command, capture_output=True, check=False).returncode == 0
        assert (f"--define=xnn_enable_{kernels.isa}=false" in arguments) != knows


def test_a_failing_bazel_leaves_no_wheel(run: Run) -> None:
    done, _, out = run("2.21", "7.4.1")
    assert list(out.glob("*.whl"))
    done, _, out = run("2.21", "7.4.1", FAKE_FAILS="37")
    assert done.returncode == 37
    assert not list(out.iterdir())


@pytest.mark.parametrize("wheels", ["0", "2"])
def test_anything_but_one_wheel_is_an_error(run: Run, wheels: str) -> None:
    done, _, out = run("2.21", "7.4.1", FAKE_WHEELS=wheels)
    assert done.returncode != 0
    assert not (out / "build.json").exists()


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"TFBUILD_SOURCE": "/nowhere"}, "/nowhere is no TensorFlow tree"),
        ({"TFBUILD_BAZEL": "/nowhere/bazel"}, "Bazel was not found"),
        ({"TFBUILD_PYTHON": "python9.9"}, "python9.9 was not found"),
    ],
)
def test_what_is_missing_is_said_first(run: Run, environment: dict[str, str], said: str) -> None:
    done, arguments, _ = run("2.21", "7.4.1", **environment)
    assert done.returncode == 1
    assert said in done.stderr
    assert arguments == []


@pytest.mark.parametrize(
    ("compiler", "first"),
    [("gcc-12", "-march=znver3"), ("clang-14", "-march=znver3"), ("knows-all", "-march=znver4")],
)
def test_the_compiler_is_asked_for_the_targets_flags(
    run: Run, compiler: str, first: str, tmp_path: Path
) -> None:
    if compiler == "knows-all":
        # A GCC that is newer than any here: it takes whatever it is given.
        program = tmp_path / compiler
        program.write_text("#!/bin/sh\ncase $1 in -dumpversion) echo 12 ;; esac\n")
        program.chmod(0o755)
        compiler = str(program)
    need(shutil.which(compiler), f"needs {compiler}")
    done, arguments, out = run(
        "2.15", "6.1.0", Options(compiler="system"), target.find("zen4"), CC=compiler
    )
    assert done.returncode == 0, done.stderr
    chosen = [word for word in arguments if word.startswith("--copt=-m")]
    assert chosen[0] == f"--copt={first}"
    told = json.loads((out / "build.json").read_text())
    assert told["flags"].split()[0] == first
    assert bool(told["notices"]) == (first == "-march=znver3")
    assert ("tfbuild: note: " in done.stdout) == (first == "-march=znver3")


@pytest.mark.parametrize(
    ("tensorflow", "wanted", "version", "said", "flag"),
    [
        ("2.17", "haswell", "11", "cannot be built with gcc 11", None),
        ("2.14", "haswell", "13", "cannot be built with gcc 13", None),
        ("2.18", "sapphirerapids", "13", None, "--copt=-mno-avx512fp16"),
        ("2.18", "sapphirerapids", "12", None, None),
        ("2.18", "haswell", "13", None, None),
    ],
)
def test_a_compiler_that_is_known_to_fail_is_found_out_before_it_fails(
    run: Run,
    tensorflow: str,
    wanted: str,
    version: str,
    said: str | None,
    flag: str | None,
    tmp_path: Path,
) -> None:
    program = tmp_path / "cc"
    program.write_text(f"#!/bin/sh\ncase $1 in -dumpversion) echo {version} ;; esac\n")
    program.chmod(0o755)
    done, arguments, _ = run(
        tensorflow, "6.1.0", Options(compiler="system"), target.find(wanted), CC=str(program)
    )
    assert (done.returncode != 0) == bool(said)
    if said:
        assert said in done.stderr
        assert arguments == []
    assert [word for word in arguments if word.startswith("--copt=-mno")] == (
        [flag] if flag else []
    )
