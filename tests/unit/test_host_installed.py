"""What is known about an installed TensorFlow from names and small files alone."""

import json
import sys
from pathlib import Path

import pytest

from tests.conftest import DATA
from tfbuild import artifact, detection, host, installed


def install(
    folder: Path,
    name: str = "tensorflow_cpu",
    version: str = "2.8.4",
    *,
    installer: str = "pip",
    tag: str = "cp310-cp310-manylinux_2_17_x86_64",
    **files: str,
) -> Path:
    """Make what pip would leave of a wheel, as far as it is looked at."""
    (folder / "tensorflow").mkdir(parents=True, exist_ok=True)
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "INSTALLER").write_text(f"{installer}\n")
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nTag: {tag}\n")
    for file, text in files.items():
        (info / f"{file}.json").write_text(text)
    return folder


@pytest.mark.parametrize(
    ("name", "version", "has", "lacks"),
    [
        ("tensorflow", "2.21.0", "avx", "avx2 fma avx512f"),
        ("tensorflow_cpu", "2.8.4", "avx", "avx2 fma"),
        ("tensorflow", "2.20.0rc0", "avx", "avx2"),
        ("intel_tensorflow", "2.8.0", "avx", "avx2 fma"),
        ("intel_tensorflow_avx512", "2.8.0", "avx2 fma avx512f avx512vl", "avx512_vnni"),
    ],
)
def test_published_wheels(tmp_path: Path, name: str, version: str, has: str, lacks: str) -> None:
    found = installed.find_in(install(tmp_path, name, version))
    assert found
    assert (found.distribution, found.version) == (name.replace("_", "-"), version)
    assert found.features
    assert set(has.split()) <= found.features
    assert not set(lacks.split()) & found.features


@pytest.mark.parametrize(
    ("name", "version", "installer", "files"),
    [
        ("tensorflow", "2.21.0", "conda", {}),
        ("tensorflow", "2.21.0+haswell", "pip", {}),
        ("tensorflow", "2.21.0", "pip", {"direct_url": "{}"}),
        ("tensorflow", "2.99.0", "pip", {}),
        ("tensorflow", "1.5.0", "pip", {}),
        ("tensorflow_rocm", "2.14.0", "pip", {}),
        ("tf_nightly", "2.22.0.dev20260101", "pip", {}),
        ("intel_tensorflow", "2.15.0", "pip", {}),
    ],
)
def test_nobody_knows_other_builds(
    tmp_path: Path, name: str, version: str, installer: str, files: dict[str, str]
) -> None:
    found = installed.find_in(install(tmp_path, name, version, installer=installer, **files))
    assert found
    assert found.features is None
    assert found.evidence


@pytest.mark.parametrize(
    "tag",
    [
        "cp312-cp312-manylinux_2_17_aarch64",
        "cp310-cp310-macosx_12_0_x86_64",
        "cp310-cp310-win_amd64",
    ],
)
def test_nobody_knows_wheels_for_other_systems(tmp_path: Path, tag: str) -> None:
    found = installed.find_in(install(tmp_path, tag=tag))
    assert found
    assert found.features is None


def test_a_wheel_of_ours_says_it_itself(tmp_path: Path) -> None:
    record = json.dumps({"requires": ["avx", "avx2"], "target": "haswell"})
    install(tmp_path, "tensorflow", "2.21.0+haswell", tfbuild=record)
    found = installed.find_in(tmp_path)
    assert found
    assert found.features == frozenset({"avx", "avx2"})
    assert "haswell" in found.evidence


@pytest.mark.parametrize("record", ["", "[]", "{", '{"requires": 3, "target": "x"}', "null"])
def test_a_damaged_record_is_no_record(tmp_path: Path, record: str) -> None:
    found = installed.find_in(install(tmp_path, version="2.8.4+x", tfbuild=record))
    assert found
    assert found.features is None


def test_the_known_one_beats_a_bare_name(tmp_path: Path) -> None:
    install(tmp_path, "tensorflow", "2.8.0", installer="conda")
    install(tmp_path, "tensorflow_cpu", "2.8.4")
    found = installed.find_in(tmp_path)
    assert found
    assert found.distribution == "tensorflow-cpu"


def test_neighbours_are_not_tensorflow(tmp_path: Path) -> None:
    install(tmp_path, "tensorflow_estimator", "2.8.0")
    install(tmp_path, "tensorflow_io_gcs_filesystem", "0.37.1")
    assert installed.find_in(tmp_path) is None
    assert installed.find_in(tmp_path / "absent") is None


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_the_current_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    install(tmp_path / "lib" / "python3.10" / "site-packages")
    found = installed.find()
    assert found
    assert found.version == "2.8.4"


def test_without_variables_it_is_the_one_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    folders = installed.site_folders()
    assert any((folder / "pytest").is_dir() for folder in folders)
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    assert installed.site_folders() == folders


def test_unused(tmp_path: Path) -> None:
    skylake = host.from_cpuinfo(DATA / "cpuinfo" / "linux-rhel7-skylake_avx512")
    pip = installed.find_in(install(tmp_path / "pip"))
    intel = installed.find_in(install(tmp_path / "intel", "intel_tensorflow_avx512", "2.8.0"))
    assert detection.of(skylake, pip).unused == (
        *("AVX2", "FMA", "F16C"),
        *("AVX-512-F", "AVX-512-CD", "AVX-512-BW", "AVX-512-DQ", "AVX-512-VL"),
    )
    assert detection.of(skylake, intel).unused == ()
    assert detection.of(skylake, None).unused is None
    assert detection.of(skylake, intel).missing == ()


def test_what_an_installed_wheel_needs_and_does_not_get(tmp_path: Path) -> None:
    haswell = host.from_cpuinfo(DATA / "cpuinfo" / "linux-rhel7-haswell")
    intel = installed.find_in(install(tmp_path, "intel_tensorflow_avx512", "2.8.0"))
    missing = detection.of(haswell, intel).missing
    assert missing == ("avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")
    assert detection.of(haswell, None).missing == ()


def test_detection_survives_its_json(tmp_path: Path) -> None:
    found = detection.of(
        host.from_cpuinfo(DATA / "cpuinfo" / "linux-unknown-sapphirerapids"),
        installed.find_in(install(tmp_path)),
    )
    assert artifact.from_json(detection.Detection, artifact.to_json(found)) == found
    assert found.instruction_sets["AMX"] == ("TILE", "INT8", "BF16")
    assert len(found.instruction_sets["AVX-512"]) == 13
