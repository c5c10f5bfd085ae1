"""Mirrors of whole hosts: what a user may write, and where addresses are led."""

import re
import subprocess
from pathlib import Path

import pytest

from tfbuild import mirrors, recipe, target
from tfbuild.engine.base import Setup
from tfbuild.errors import UsageError
from tfbuild.recipe import Sources

GITHUB = "github.com=https://mirror.example/github"
ANY = "*=http://10.0.0.1:8081/all"
PINNED = "@sha256:" + "0a" * 32

ADDRESSES = [
    ((GITHUB,), "https://github.com/a/b.tar.gz", "https://mirror.example/github/a/b.tar.gz"),
    ((GITHUB,), "http://github.com/a", "https://mirror.example/github/a"),
    ((GITHUB,), "https://codeload.github.com/a", "https://codeload.github.com/a"),
    ((GITHUB,), "https://github.com.evil.example/a", "https://github.com.evil.example/a"),
    ((GITHUB,), "https://github.com:8443/a", "https://github.com:8443/a"),
    ((GITHUB,), "git@github.com:a/b.git", "git@github.com:a/b.git"),
    ((GITHUB, ANY), "https://github.com/a", "https://mirror.example/github/a"),
    ((ANY, GITHUB), "https://github.com/a", "https://mirror.example/github/a"),
    ((ANY, GITHUB), "https://pypi.org/simple", "http://10.0.0.1:8081/all/pypi.org/simple"),
    # A mirror is not led to a mirror.
    ((ANY, GITHUB), "https://mirror.example/x", "https://mirror.example/x"),
    ((ANY,), "http://10.0.0.1:8081/all/x", "http://10.0.0.1:8081/all/x"),
    ((), "https://github.com/a", "https://github.com/a"),
]


@pytest.mark.parametrize(("words", "address", "led"), ADDRESSES)
def test_addresses_are_led(words: tuple[str, ...], address: str, led: str) -> None:
    assert mirrors.rewrite(address, mirrors.parse(words)) == led


@pytest.mark.parametrize(("words", "address", "led"), ADDRESSES)
def test_the_steps_of_a_toolchain_lead_them_alike(
    words: tuple[str, ...], address: str, led: str
) -> None:
    script = recipe.make("2.21", "3.12", target.find("haswell")).files["toolchain.sh"].decode()
    function = script[script.index("mirrored() {") : script.index("update() {")]
    variables = mirrors.setup(mirrors.parse(words)).environment
    done = subprocess.run(
        ["sh", "-euc", f'{function}\nmirrored "$0"', address],
        env={**variables, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{led}\n"


@pytest.mark.parametrize(("words", "address", "led"), ADDRESSES)
def test_a_pattern_of_bazel_fits_what_is_led_and_nothing_else(
    words: tuple[str, ...], address: str, led: str
) -> None:
    # As Bazel applies them: to all after "://", as a whole; `$1` is Java's for `\1`.
    # tests/engine/test_mirrors.py asks the real one.
    found = set()
    rest = address.partition("://")[2]
    for line in mirrors.config(mirrors.parse(words)).splitlines():
        directive, pattern, replacement = line.split(" ")
        assert directive == "rewrite"
        if match := re.fullmatch(pattern, rest):
            found.add(match.expand(replacement.replace("$1", r"\1")))
    assert found == (set() if led == address else {led})


@pytest.mark.parametrize(
    ("name", "led"),
    [
        ("python:3.12-slim", "reg.example/hub/library/python:3.12-slim"),
        ("someone/image:1", "reg.example/hub/someone/image:1"),
        ("docker.io/library/python:3.12", "reg.example/hub/library/python:3.12"),
        (f"python{PINNED}", f"reg.example/hub/library/python{PINNED}"),
        ("quay.io/a/b:1", "quay.io/a/b:1"),
        ("localhost:5000/a:1", "localhost:5000/a:1"),
        ("localhost/a:1", "localhost/a:1"),
    ],
)
def test_images(name: str, led: str) -> None:
    assert mirrors.image(name, mirrors.parse(["docker.io=https://reg.example/hub"])) == led
    assert mirrors.image(name, {}) == name


@pytest.mark.parametrize(
    "word",
    [
        "github.com",
        "github.com=",
        "=https://mirror.example",
        "https://github.com=https://mirror.example",
        "github.com/a=https://mirror.example",
        "git hub.com=https://mirror.example",
        "github.com=mirror.example",
        "github.com=ftp://mirror.example",
        "github.com=https://mirror.example/$(id)",
        "github.com=https://mirror.example/a b",
        "github.com=https://mirror.example/a#b",
        "*.github.com=https://mirror.example",
    ],
)
def test_what_is_no_mirror_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match="--mirror"):
        mirrors.parse([word])


@pytest.mark.parametrize(
    "word",
    ["github.com=https://me:hunter2@mirror.example/x", "https://me:hunter2@mirror.example/x"],
)
def test_credentials_are_refused_and_not_repeated(word: str) -> None:
    with pytest.raises(UsageError) as caught:
        mirrors.parse([word])
    assert "hunter2" not in str(caught.value)


def test_two_mirrors_of_one_host_are_refused() -> None:
    with pytest.raises(UsageError, match="two mirrors"):
        mirrors.parse([GITHUB, "GitHub.com=https://other.example"])
    assert mirrors.parse([GITHUB, GITHUB + "/"]) == {"github.com": "https://mirror.example/github"}


def test_without_mirrors_a_run_is_as_it_was() -> None:
    assert mirrors.setup({}) == Setup()


def test_an_index_on_a_mirrored_host_is_told_to_pip_and_uv() -> None:
    led = mirrors.setup(mirrors.parse(["pypi.org=http://mirror.example:8080/pypi"])).environment
    assert (
        led["PIP_INDEX_URL"] == led["UV_DEFAULT_INDEX"] == "http://mirror.example:8080/pypi/simple"
    )
    # Without encryption pip wants to be told.
    assert led["PIP_TRUSTED_HOST"] == "mirror.example:8080"
    assert "PIP_INDEX_URL" not in mirrors.setup(mirrors.parse([GITHUB])).environment


def test_they_are_no_part_of_the_recipe() -> None:
    one = recipe.make("2.21", "3.12", target.find("haswell"), Sources())
    for data in one.files.values():
        assert b"mirror.example" not in data


def test_sources_of_apt_are_led(tmp_path: Path) -> None:
    lists = {
        "sources.list": "deb [arch=amd64 signed-by=/k.gpg] http://deb.debian.org/debian b main\n"
        "# deb http://elsewhere.example/x y\n",
        "debian.sources": "Types: deb\nURIs: http://deb.debian.org/debian-security\n"
        "Signed-By:\n -----BEGIN PGP-----\n .\n abc  def\nSuites: bookworm-security",
    }
    script = recipe.make("2.21", "3.12", target.find("haswell")).files["toolchain.sh"].decode()
    functions = script[script.index("mirrored() {") : script.index("\npython=")]
    led = {}
    for name, text in lists.items():
        (tmp_path / name).write_text(text)
        done = subprocess.run(
            ["sh", "-euc", f'{functions}\nsources_led "$0"', tmp_path / name],
            env={"TFBUILD_MIRROR": "deb.debian.org=http://m.example/d", "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
        )
        led[name] = done.stdout
    assert led["sources.list"] == (
        "deb [arch=amd64 signed-by=/k.gpg] http://m.example/d/debian b main\n"
        "# deb http://elsewhere.example/x y\n"
    )
    assert led["debian.sources"] == (
        lists["debian.sources"].replace("deb.debian.org", "m.example/d") + "\n"
    )
