"""What `tfbuild inspect` says about a wheel's making, and how a base image is pinned."""

import pytest

from tfbuild import recipe, target
from tfbuild.cli import made_by
from tfbuild.recipe import Sources

PIN = "sha256:" + "12" * 32


def test_a_record_is_told() -> None:
    told = dict(
        made_by.rows(
            {
                "tfbuild": "0.1.0",
                "target": "haswell",
                "flags": ["-march=haswell"],
                "source": {"kind": "git", "url": "https://x.org/t.git", "commit": "c0ffee"},
                "bazel": "6.1.0",
                "compiler": "gcc 12",
                "python_full": "3.11.2",
                "libc": "glibc 2.36",
                "base_image": "debian:bookworm",
                "base_digest": PIN,
                "recipe_digest": "ab",
            }
        )
    )
    assert told == {
        "Made by tfbuild": "0.1.0 for haswell -march=haswell",
        "Source": "https://x.org/t.git, c0ffee",
        "Built with": "Bazel 6.1.0, gcc 12, Python 3.11.2, glibc 2.36",
        "Base image": f"debian:bookworm, {PIN}",
        "Recipe": "ab",
    }


def test_an_odd_record_is_no_error() -> None:
    odd = {"flags": 3, "source": [1], "target": {"a": 1}, "bazel": None, "libc": 2}
    assert not any(text for title, text in made_by.rows(odd) if title != "Made by tfbuild")


def test_only_a_tag_needs_a_pin(capsys: pytest.CaptureFixture[str]) -> None:
    haswell = target.find("haswell")
    made_by.tell_pin(recipe.make("2.15.1", "3.11", haswell, Sources(base_image=f"debian@{PIN}")))
    assert capsys.readouterr().err == ""
    made_by.tell_pin(recipe.make("2.15.1", "3.11", haswell, Sources(base_image="debian:bookworm")))
    words = " ".join(capsys.readouterr().err.split())
    assert "docker image inspect --format '{{index .RepoDigests 0}}' debian:bookworm" in words
