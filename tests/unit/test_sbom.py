"""What Bazel prints goes in; out comes a list that CycloneDX's own schema takes."""

import json
from dataclasses import replace
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from tests.conftest import DATA
from tfbuild import sbom
from tfbuild.made import Made
from tfbuild.record import BuiltWheel, Source
from tfbuild.sbom import repositories

SHA = "319b6da705e4b3f4347fec0f4d4bc6d195eace19ede3abba3ed38e8f08469999"
COMMIT = "fb3621f4f897824c0dbe0615fa94543df6192f30"
# As Bazel 4.2.3 prints it, with rules and addresses of TensorFlow's kind.
EXTERNAL = (DATA / "bazel_external.txt").read_text()
RECORD = BuiltWheel(
    file="tensorflow-2.15.1+haswell-cp311-cp311-linux_x86_64.whl",
    distribution="tensorflow",
    version="2.15.1+haswell",
    tensorflow="2.15.1",
    python="3.11",
    architecture="x86_64",
    target="haswell",
    requires=frozenset({"avx2"}),
    flags=("-march=haswell",),
    recipe_digest="ab" * 32,
    compiler="gcc (Debian 12.2.0-14) 12.2.0",
    bazel="6.1.0",
    tfbuild="0.1.0",
    source=Source(
        kind="archive",
        url="https://github.com/tensorflow/tensorflow/archive/refs/tags/v2.15.1.tar.gz",
        ref="v2.15.1",
        commit=COMMIT,
        sha256=SHA,
    ),
    python_full="3.11.2",
    python_packages={"numpy": "1.26.4"},
    source_date_epoch=1_700_000_000,
)
USED = ("bazel_tools", "com_google_absl", "llvm-project", "local_config_cc", "local_xla", "zlib")


def made(*names: str) -> dict[str, Any]:
    written = sbom.document(RECORD, Made(repositories=names, external=EXTERNAL))
    problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str(written.decode())
    assert problem is None, problem
    document = json.loads(written)
    assert isinstance(document, dict)
    return document


def components(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["bom-ref"]: one for one in document["components"]}


def test_only_what_the_wheel_depends_on_is_listed() -> None:
    document = made(*USED)
    listed = components(document)
    repos = {"repository:com_google_absl", "repository:llvm-raw", "repository:zlib"}
    assert set(listed) == {"source", *repos}
    graph = {one["ref"]: one.get("dependsOn") for one in document["dependencies"]}
    assert graph["wheel"] == sorted(["source", *repos])
    assert document["compositions"] == [{"aggregate": "unknown", "assemblies": ["wheel"]}]


def test_addresses_and_hashes() -> None:
    zlib = components(made("zlib"))["repository:zlib"]
    assert zlib["version"] == "1.2.13"
    assert zlib["hashes"] == [{"alg": "SHA-256", "content": SHA}]
    assert [one["url"] for one in zlib["externalReferences"]] == [
        "https://storage.googleapis.com/mirror.tensorflow.org/zlib.net/zlib-1.2.13.tar.gz",
        "https://zlib.net/zlib-1.2.13.tar.gz",
    ]
    purl = PackageURL.from_string(zlib["purl"])
    assert (purl.type, purl.name, purl.version) == ("generic", "zlib", "1.2.13")
    assert isinstance(purl.qualifiers, dict)
    assert purl.qualifiers["checksum"] == f"sha256:{SHA}"
    assert purl.qualifiers["download_url"].endswith("/zlib-1.2.13.tar.gz")


@pytest.mark.parametrize(
    ("name", "purl"),
    [
        # The kind of names that vulnerability databases have.
        ("com_google_absl", f"pkg:github/abseil/abseil-cpp@{COMMIT}"),
        (
            "com_googlesource_code_re2",
            "pkg:github/google/re2@0123456789abcdef0123456789abcdef01234567",
        ),
        ("pypi_numpy", "pkg:pypi/numpy@1.26.4"),
    ],
)
def test_names_that_scanners_know(name: str, purl: str) -> None:
    assert components(made(name))[f"repository:{name}"]["purl"] == purl


def test_the_source_is_named_by_its_commit() -> None:
    source = components(made())["source"]
    assert source["purl"] == f"pkg:github/tensorflow/tensorflow@{COMMIT}"
    assert source["hashes"] == [{"alg": "SHA-256", "content": SHA}]
    folder = replace(RECORD, source=Source(kind="local", sha256=SHA))
    listed = json.loads(sbom.document(folder, Made(repositories=())))
    purl = PackageURL.from_string(components(listed)["source"]["purl"])
    assert (purl.type, purl.qualifiers) == ("generic", {"checksum": f"sha256:{SHA}"})


def test_changes_to_a_component_are_told() -> None:
    absl = components(made("com_google_absl"))["repository:com_google_absl"]
    assert {"name": "tfbuild:patch", "value": "//third_party/absl:absl.patch"} in absl["properties"]


def test_tools() -> None:
    tools = {one["name"]: one["version"] for one in made()["metadata"]["tools"]["components"]}
    assert tools == {
        "tfbuild": "0.1.0",
        "bazel": "6.1.0",
        "python": "3.11.2",
        "compiler": "gcc (Debian 12.2.0-14) 12.2.0",
        "numpy": "1.26.4",
    }


@pytest.mark.parametrize("names", [("strange",), ("nowhere",)])
def test_an_unknown_origin_makes_it_incomplete(names: tuple[str, ...]) -> None:
    document = made(*names)
    assert document["compositions"][0]["aggregate"] == "incomplete"
    noted = {"name": "tfbuild:repository-of-unknown-origin", "value": names[0]}
    assert noted in document["metadata"]["properties"]


def test_a_bazel_that_did_not_tell_makes_it_incomplete() -> None:
    document = json.loads(sbom.document(RECORD, Made()))
    assert document["compositions"][0]["aggregate"] == "incomplete"
    assert set(components(document)) == {"source"}


def test_same_facts_same_bytes() -> None:
    told = Made(repositories=USED, external=EXTERNAL)
    once = sbom.document(RECORD, told)
    assert sbom.document(RECORD, replace(told, repositories=USED[::-1])) == once
    assert b"2023-11-14T22:13:20" in once  # date --utc --date=@1700000000
    other = json.loads(sbom.document(replace(RECORD, bazel="6.1.1"), told))
    assert other["serialNumber"] != json.loads(once)["serialNumber"]


def test_files_of_the_machine_are_not_named() -> None:
    text = EXTERNAL.replace("https://zlib.net/", "file:///home/somebody/")
    assert repositories.read(text)["zlib"].urls == (
        "https://storage.googleapis.com/mirror.tensorflow.org/zlib.net/zlib-1.2.13.tar.gz",
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("https://me:hunter2@zlib.net/a.tar.gz", "https://zlib.net/a.tar.gz"),
        ("https://token@zlib.net/a.tar.gz?sig=hunter2#x", "https://zlib.net/a.tar.gz"),
        ("git@example.org:team/zlib.git", "ssh://example.org/team/zlib.git"),
        ("https://zlib.net/a@b/c.tar.gz", "https://zlib.net/a@b/c.tar.gz"),
    ],
)
def test_secrets_in_addresses_are_left_out(given: str, told: str) -> None:
    text = f'http_archive(\n  name = "zlib",\n  urls = ["{given}"],\n)\n'
    assert repositories.read(text)["zlib"].urls == (told,)
    written = sbom.document(RECORD, Made(repositories=("zlib",), external=text))
    assert b"hunter2" not in written
