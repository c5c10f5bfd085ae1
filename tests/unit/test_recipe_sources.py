"""What a user may put in place of the defaults, and what is refused before it reaches a shell."""

from pathlib import Path

import pytest

from tfbuild.errors import UsageError
from tfbuild.recipe import sources
from tfbuild.recipe.sources import Bazel, Tree

OFFICIAL = Tree(kind="archive", url="https://example.org/v1.tar.gz", ref="v1", sha256="0" * 64)
HOSTILE = [
    "; rm -rf /",
    "$(touch /tmp/owned)",
    "`id`",
    "a b",
    "a'b",
    'a"b',
    "a\nRUN true",
    "a\\b",
    "--flag",
    "",
    "a|b",
    "a&b",
    "a>b",
    "é",
]


@pytest.mark.parametrize("word", HOSTILE)
def test_hostile_images_are_refused(word: str) -> None:
    with pytest.raises(UsageError):
        sources.image(word, "3.12")


@pytest.mark.parametrize(
    "word", [*HOSTILE, *(f"https://example.org/{word}" for word in HOSTILE[:-1] if word)]
)
def test_hostile_addresses_are_refused(word: str) -> None:
    if word == "https://example.org/--flag":
        assert sources.url(word, "--pip-index") == word
        return
    with pytest.raises(UsageError):
        sources.url(word, "--pip-index")


@pytest.mark.parametrize(
    "word",
    [
        *HOSTILE,
        *(f"https://example.org/tf.git#{word}" for word in HOSTILE if word),
        *(f"git@example.org:{word}" for word in HOSTILE if word not in {"", "--flag"}),
        "-oProxyCommand=id@example.org:tf",
        "ssh://-oProxyCommand=id/tf",
        "ssh://-x@example.org/tf",
        *(f"ssh://git@example.org/{word}" for word in HOSTILE[:8] if word),
        "https://example.org/tf.git#a..b",
        "ext::sh -c touch% /tmp/owned",
        "file:///etc",
        "ftp://example.org/tf.tar.gz",
    ],
)
def test_hostile_trees_are_refused(
    word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError):
        sources.tree(word, default=OFFICIAL, tag="v1")


@pytest.mark.parametrize("word", [*HOSTILE, "7", "7.4", "7.4.1rc1", "v7.4.1", "latest", "7.4.1 "])
def test_hostile_or_unknown_bazels_are_refused(
    word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError):
        sources.bazel(word, mirror="https://example.org", known={})


@pytest.mark.parametrize(
    "name",
    [
        "debian",
        "debian:bookworm",
        "debian:bookworm-20250520-slim",
        "registry.example:5000/team/python:3.12-slim",
        "docker.io/library/debian@sha256:" + "a" * 64,
        "tfbuild-test/debian:bookworm",
        "localhost/x/y",
    ],
)
def test_images_that_docker_knows(name: str) -> None:
    assert sources.image(name, "3.12") == name


def test_an_image_may_depend_on_the_python() -> None:
    assert sources.image("python:{python}-slim", "3.9") == "python:3.9-slim"


SECRETS = [
    "https://user:hunter2@example.org/simple",
    "https://hunter2@example.org/simple",
    "HTTPS://user:hunter2@example.org/simple",
    "http://:hunter2@example.org/simple",
    "https://user:hun@ter2hunter2@example.org/simple",
    "https://example.org/simple?token=hunter2",
]


@pytest.mark.parametrize("address", SECRETS)
@pytest.mark.parametrize("option", ["--pip-index", "--apt-mirror", "--bazel-mirror"])
def test_a_secret_in_an_address_is_refused_and_not_repeated(address: str, option: str) -> None:
    with pytest.raises(UsageError) as caught:
        sources.url(address, option)
    assert "hunter2" not in str(caught.value)
    assert option in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        *SECRETS,
        "git+https://user:hunter2@example.org/tf.git#main",
        "ssh://git:hunter2@example.org/tf.git",
        "https://user:hunter2@example.org/tf.tar.gz",
    ],
)
def test_a_secret_in_a_tree_or_bazel_is_refused_and_not_repeated(address: str) -> None:
    for ask in (
        lambda: sources.tree(address, default=OFFICIAL, tag="v1"),
        lambda: sources.bazel(address, mirror="https://example.org", known={}),
    ):
        with pytest.raises(UsageError) as caught:
            ask()
        assert "hunter2" not in str(caught.value)


def test_credentials_come_with_a_way_out() -> None:
    with pytest.raises(UsageError) as caught:
        sources.url(SECRETS[0], "--pip-index")
    assert ".netrc" in caught.value.do
    assert "--base-image" in caught.value.do


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "https://example.org/tf.git",
            Tree(kind="git", url="https://example.org/tf.git", ref="v1"),
        ),
        (
            "git+https://example.org/tf#r2.21",
            Tree(kind="git", url="https://example.org/tf", ref="r2.21"),
        ),
        ("git@example.org:a/tf.git", Tree(kind="git", url="git@example.org:a/tf.git", ref="v1")),
        (
            "ssh://git@example.org:22/tf#" + "a" * 40,
            Tree(kind="git", url="ssh://git@example.org:22/tf", ref="a" * 40),
        ),
        (
            "https://example.org/v2.tar.gz",
            Tree(kind="archive", url="https://example.org/v2.tar.gz"),
        ),
        (
            "https://example.org/v2.tar.gz#sha256=" + "b" * 64,
            Tree(kind="archive", url="https://example.org/v2.tar.gz", sha256="b" * 64),
        ),
    ],
)
def test_trees_from_elsewhere(text: str, expected: Tree) -> None:
    assert sources.tree(text, default=OFFICIAL, tag="v1") == expected


def test_no_tree_named_means_the_official_one() -> None:
    assert sources.tree(None, default=OFFICIAL, tag="v1") is OFFICIAL


def test_trees_that_are_here(tmp_path: Path) -> None:
    (tmp_path / "tree/tensorflow/tools/pip_package").mkdir(parents=True)
    (tmp_path / "tf.tar.gz").write_bytes(b"x")
    for name in ("tree", "tf.tar.gz"):
        found = sources.tree(str(tmp_path / name), default=OFFICIAL, tag="v1")
        assert found == Tree(kind="local", path=tmp_path / name)


def test_a_folder_that_is_no_tensorflow_is_refused(tmp_path: Path) -> None:
    """Here, and not by the last step of the toolchain image."""
    with pytest.raises(UsageError, match="no TensorFlow tree"):
        sources.tree(str(tmp_path), default=OFFICIAL, tag="v1")


@pytest.mark.parametrize("word", ["~no-such-user/x", "a" * 5000])
def test_a_path_that_cannot_be_looked_at_is_told(word: str) -> None:
    with pytest.raises(UsageError, match="cannot be looked at") as caught:
        sources.tree(word, default=OFFICIAL, tag="v1")
    assert caught.value.why
    assert len(caught.value.what) < 300
    with pytest.raises(UsageError, match="cannot be looked at"):
        sources.bazel(word, mirror="https://example.org", known={})


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tf.zip").write_bytes(b"x")
    with pytest.raises(UsageError, match="neither a folder nor a tar archive"):
        sources.tree(str(tmp_path / "tf.zip"), default=OFFICIAL, tag="v1")


def test_a_wrong_sha256_is_refused() -> None:
    for fragment in ("sha256=abc", "md5=" + "a" * 32, "sha256=" + "G" * 64):
        with pytest.raises(UsageError, match="64 hexadecimal"):
            sources.tree(f"https://example.org/x.tar.gz#{fragment}", default=OFFICIAL, tag="v1")


def test_bazels(tmp_path: Path) -> None:
    (tmp_path / "bazel").write_bytes(b"x")
    known = {"7.4.1": "c" * 64}

    def ask(text: str) -> Bazel:
        return sources.bazel(text, mirror="https://mirror.example/bazel", known=known)

    address = "https://mirror.example/bazel/7.4.1/bazel-7.4.1-linux-"
    assert ask("7.4.1") == Bazel(kind="release", version="7.4.1", url=address, sha256="c" * 64)
    assert ask("8.0.0").sha256 == ""
    assert ask("system") == Bazel(kind="system")
    assert ask("apt") == Bazel(kind="apt")
    assert ask("https://example.org/bazel#sha256=" + "d" * 64) == Bazel(
        kind="url", url="https://example.org/bazel", sha256="d" * 64
    )
    assert ask(str(tmp_path / "bazel")) == Bazel(kind="file", path=tmp_path / "bazel")
