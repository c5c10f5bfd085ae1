"""`tfbuild inspect` as it is typed."""

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import DATA, need
from tests.libraries import compiled, need_tools, objdump
from tests.wheels import make_wheel

Run = Callable[..., "subprocess.CompletedProcess[str]"]
TAG = "cp312-cp312-manylinux_2_27_x86_64"


@pytest.fixture
def cache(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache")}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    need_tools()
    return compiled(tmp_path / "c", "-march=skylake-avx512", "-mprefer-vector-width=512")


@pytest.fixture
def wheel(library: Path, tmp_path: Path) -> Path:
    files: dict[str, bytes | str] = {
        "tensorflow/python/__init__.py": "",
        "tensorflow/libtensorflow_cc.so.2": library.read_bytes(),
    }
    return make_wheel(tmp_path, "tensorflow-cpu", "2.21.0+skylake", TAG, files=files)


def test_a_person_reads_a_table(
    tfbuild: Run, wheel: Path, library: Path, cache: dict[str, str]
) -> None:
    done = tfbuild("inspect", wheel, env=cache)
    assert done.returncode == 0, done.stderr
    lines = {line[:14].strip(): line[14:].strip() for line in done.stdout.splitlines()}
    assert lines["Distribution"] == "tensorflow-cpu 2.21.0+skylake"
    assert lines["Label"] == "skylake"
    assert lines["TensorFlow"] == "2.21.0"
    assert lines["Python"] == "3.12 (ABI cp312)"
    assert lines["Compilers"].startswith("GCC")
    zmm = re.search(r"zmm, 512 bits +([\d,]+)", done.stdout)
    assert zmm is not None
    assert int(zmm[1]) == objdump(library)["512"] > 0
    assert "What always runs needs" in done.stdout
    assert "Reading shared libraries" in done.stderr
    assert "Reading" not in done.stdout


def test_json_is_one_document_and_the_second_time_is_the_same(
    tfbuild: Run, wheel: Path, library: Path, cache: dict[str, str]
) -> None:
    first = tfbuild("inspect", wheel, "--json", env=cache)
    found = json.loads(first.stdout)
    assert found["schema"] == "tfbuild.inspection/2"
    assert found["code"]["total"]["widths"]["512"]["value"] == objdump(library)["512"]
    second = tfbuild("inspect", wheel, "--json", env=cache)
    assert second.stdout == first.stdout
    assert "Reading shared libraries" in first.stderr
    assert "Reading shared libraries" not in second.stderr
    anew = tfbuild("inspect", wheel, "--json", "--no-cache", env=cache)
    assert anew.stdout == first.stdout
    assert "Reading shared libraries" in anew.stderr


def test_kept_and_fresh_results_look_the_same(
    tfbuild: Run, wheel: Path, cache: dict[str, str]
) -> None:
    shown = [tfbuild("inspect", wheel, env=cache).stdout for _ in range(2)]
    assert shown[0] == shown[1]


def test_no_cache_writes_nothing(tfbuild: Run, wheel: Path, tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "TFBUILD_NO_CACHE": "1"}
    assert tfbuild("inspect", wheel, env=env).returncode == 0
    assert not (tmp_path / "cache").exists()


def test_installed_in_the_current_environment(
    tfbuild: Run, wheel: Path, tmp_path: Path, cache: dict[str, str]
) -> None:
    site = tmp_path / "env/lib/python3.12/site-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    here = {**cache, "VIRTUAL_ENV": str(tmp_path / "env")}
    done = tfbuild("inspect", "installed", "--json", env=here)
    found = json.loads(done.stdout)
    assert (found["source"], found["label"], found["sha256"]) == ("installed", "skylake", None)
    by_folder = tfbuild("inspect", tmp_path / "env", "--json", env=cache)
    assert by_folder.stdout == done.stdout
    (tmp_path / "empty").mkdir()
    none = tfbuild("inspect", "installed", env={**cache, "VIRTUAL_ENV": str(tmp_path / "empty")})
    assert (none.returncode, none.stdout) == (3, "")
    assert "No TensorFlow is installed here" in none.stderr


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("tensorflow-2.21.0-py3-none-any.whl", None, "Cannot read"),
        ("tensorflow-2.21.0-py3-none-any.whl", b"", "not a wheel"),
        ("tensorflow-2.21.0-py3-none-any.whl", b"PK\x03\x04 and no more", "not a wheel"),
        ("notes.txt", b"text", "not the name of a wheel"),
    ],
)
def test_a_file_that_is_no_wheel(
    name: str, data: bytes | None, says: str, tfbuild: Run, tmp_path: Path, cache: dict[str, str]
) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    done = tfbuild("inspect", name, env=cache)
    assert (done.returncode, done.stdout) == (7, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_wheel_without_libraries(tfbuild: Run, tmp_path: Path, cache: dict[str, str]) -> None:
    done = tfbuild("inspect", make_wheel(tmp_path), env=cache)
    assert done.returncode == 0
    assert "there is no compiled code in it" in done.stdout


def answers(text: str) -> dict[str, str]:
    """Return the first rows of the output: title -> text, continuation lines joined."""
    rows: dict[str, str] = {}
    title = ""
    for line in text.partition("\n\n")[0].splitlines():
        title = line[:14].strip() or title
        rows[title] = f"{rows.get(title, '')} {line[14:].strip()}".strip()
    return rows


def wheel_for(march: str, folder: Path) -> Path:
    """Return a wheel whose library gcc has compiled for a CPU."""
    need_tools()
    library = compiled(folder / march, f"-march={march}")
    files: dict[str, bytes | str] = {
        "tensorflow/python/__init__.py": "",
        "tensorflow/libtensorflow_cc.so.2": library.read_bytes(),
    }
    return make_wheel(folder / march, "tensorflow", "2.21.0", TAG, files=files)


@pytest.mark.parametrize(
    ("march", "cpu", "lacks"),
    [
        ("haswell", "cpuinfo/linux-rocky9-zen5", ""),
        ("sandybridge", "odd_cpus/celeron_j3455_no_avx.txt", "avx"),
        # Its /proc/cpuinfo lists AVX2 and FMA: the hypervisor hides AVX and lies about the rest.
        ("haswell", "odd_cpus/xeon_e5_2620v2_guest_no_avx.txt", "avx"),
        ("skylake-avx512", "odd_cpus/knights_landing.txt", "avx512vl"),
    ],
    ids=["newer", "no avx", "hidden avx", "other avx512"],
)
def test_whether_another_machine_can_run_it(
    march: str, cpu: str, lacks: str, tfbuild: Run, tmp_path: Path, cache: dict[str, str]
) -> None:
    wheel = wheel_for(march, tmp_path)
    done = tfbuild("inspect", wheel, "--cpuinfo", DATA / cpu, "--json", env=cache)
    told = json.loads(done.stdout)["host_match"]
    missing = {each["extension"]: each["first"] for each in told["missing"]}
    if not lacks:
        assert (done.returncode, told["verdict"], missing) == (0, "yes", {}), done.stderr
        return
    assert (done.returncode, told["verdict"]) == (4, "no")
    functions = {witness["function"] for witness in missing[lacks]}
    assert functions <= {"saxpy", "dot", "bytes", "masked", "gather", "bits", "shifts"}
    assert functions
    assert lacks in done.stderr
    shown = tfbuild("inspect", wheel, "--cpuinfo", DATA / cpu, env=cache)
    assert shown.returncode == 4
    row = answers(shown.stdout)["Runs there"]
    assert row.startswith("no ")
    assert any(f"{lacks}: {name} (" in row for name in functions)


def test_whether_this_machine_can_run_it(
    tfbuild: Run, tmp_path: Path, cache: dict[str, str]
) -> None:
    """The dynamic loader and the CPU decide: the library is loaded, and its code called."""
    wheel = wheel_for("x86-64", tmp_path)
    done = tfbuild("inspect", wheel, "--host", "--json", env=cache)
    found = json.loads(done.stdout)
    assert (done.returncode, found["host_match"]["verdict"]) == (0, "yes"), done.stderr
    code = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).bits(ctypes.c_uint64(7)))"
    library = tmp_path / "x86-64/kernels.so"
    ran = subprocess.run([sys.executable, "-c", code, library], capture_output=True, check=True)
    assert int(ran.stdout) > 0


def test_a_wheel_for_another_system_or_architecture(
    tfbuild: Run, tmp_path: Path, cache: dict[str, str]
) -> None:
    mac = make_wheel(tmp_path, tag="cp312-cp312-macosx_12_0_arm64")
    done = tfbuild("inspect", mac, "--host", env=cache)
    assert done.returncode == 4
    assert "It is for macOS, and this is Linux." in done.stderr
    graviton = DATA / "cpuinfo/linux-amazon-neoverse_n1"
    done = tfbuild("inspect", wheel_for("x86-64", tmp_path), "--cpuinfo", graviton, env=cache)
    assert done.returncode == 4
    assert "Its code is for x86_64, and this CPU is aarch64." in done.stderr


def test_questions_that_do_not_fit(tfbuild: Run, tmp_path: Path, cache: dict[str, str]) -> None:
    wheel, saved = make_wheel(tmp_path), DATA / "cpuinfo/linux-rhel7-haswell"
    for words, code, says in (
        (("--host", "--cpuinfo", saved), 2, "--host is this machine"),
        (("--cpuinfo", "nowhere"), 4, "Cannot read nowhere"),
        (("--distribution", "numpy"), 2, "among installed ones"),
    ):
        done = tfbuild("inspect", wheel, *words, env=cache)
        assert (done.returncode, done.stdout) == (code, "")
        assert says in done.stderr


def test_another_installed_package(tfbuild: Run, tmp_path: Path, cache: dict[str, str]) -> None:
    site = tmp_path / "env/lib/python3.12/site-packages"
    made = make_wheel(tmp_path, "other-thing", "1.5", files={"other/__init__.py": ""})
    with zipfile.ZipFile(made) as archive:
        archive.extractall(site)
    words = ("inspect", tmp_path / "env", "--distribution")
    done = tfbuild(*words, "Other_Thing", "--json", env=cache)
    found = json.loads(done.stdout)
    assert (found["distribution"], found["version"]) == ("other-thing", "1.5")
    none = tfbuild(*words, "another", env=cache)
    assert (none.returncode, none.stdout) == (3, "")
    assert "No another is installed here" in none.stderr


def test_a_stripped_library_leaves_doubts(
    tfbuild: Run, tmp_path: Path, cache: dict[str, str]
) -> None:
    need_tools()
    library = compiled(tmp_path / "c", "-march=skylake-avx512")
    subprocess.run(["strip", library], check=True)
    files: dict[str, bytes | str] = {"package/code.so": library.read_bytes()}
    wheel = make_wheel(tmp_path, "package", "1.0", TAG, files=files)
    haswell = DATA / "cpuinfo/linux-rhel7-haswell"
    done = tfbuild("inspect", wheel, "--cpuinfo", haswell, "--json", env=cache)
    found = json.loads(done.stdout)
    assert (done.returncode, found["host_match"]["verdict"]) == (0, "unknown")
    assert any("avx512f" in doubt for doubt in found["host_match"]["doubts"])


@pytest.mark.network
def test_a_real_wheel_from_the_index(tfbuild: Run, tmp_path: Path, cache: dict[str, str]) -> None:
    need_tools()
    command = [sys.executable, "-m", "pip", "download", "msgspec==0.19.0", "--no-deps"]
    command += ["--only-binary", ":all:", "--python-version", "3.12", "--dest", str(tmp_path)]
    command += ["--platform", "manylinux_2_17_x86_64"]
    fetched = subprocess.run(command, capture_output=True, text=True, check=False)
    need(fetched.returncode == 0, f"PyPI does not answer: {fetched.stderr[-300:]}")
    (wheel,) = tmp_path.glob("*.whl")
    done = tfbuild("inspect", wheel, "--json", env=cache)
    found = json.loads(done.stdout)
    with zipfile.ZipFile(wheel) as archive:
        library = Path(archive.extract(found["libraries"][0]["name"], tmp_path / "x"))
    theirs = objdump(library)
    widths = found["code"]["total"]["widths"]
    for width in ("128", "256", "512"):
        # What is absent is zero.
        assert widths.get(width, {"value": 0})["value"] == theirs[width], width
    assert theirs["128"] > 100
    versions = subprocess.run(
        ["readelf", "-V", library], capture_output=True, text=True, check=True
    ).stdout
    floors = re.findall(r"Name: GLIBC_([\d.]+)", versions)
    assert found["glibc"] in floors
    assert found["glibc"] == max(floors, key=lambda floor: [int(n) for n in floor.split(".")])
    assert (found["python"], found["tensorflow"], found["label"]) == ("3.12", None, None)


def test_names_and_marks_of_strangers_are_shown_as_they_are(
    tfbuild: Run, library: Path, cache: dict[str, str], tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    mark.write_bytes(b"GCC [/bold] [red]odd\0")
    subprocess.run(["objcopy", "--update-section", f".comment={mark}", library], check=True)
    files: dict[str, bytes | str] = {"tensorflow/odd[/x].so": library.read_bytes()}
    wheel = make_wheel(tmp_path, "tensorflow", "2.21.0", TAG, files=files)
    done = tfbuild("inspect", wheel, env=cache)
    assert done.returncode == 0, done.stderr
    assert "GCC [/bold] [red]odd" in done.stdout
    assert "largest tensorflow/odd[/x].so (" in done.stdout
