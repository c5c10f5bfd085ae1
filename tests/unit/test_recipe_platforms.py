"""Platforms and targets: what belongs together."""

import platform as machine
from collections.abc import Callable
from typing import Any

import pytest

from tfbuild import target
from tfbuild.errors import UsageError
from tfbuild.recipe import platforms


def test_every_target_has_a_platform() -> None:
    for one in target.all_targets():
        assert platforms.checked(one, platforms.of(one)) is one
        assert platforms.checked(one, None) is one


@pytest.mark.parametrize(
    ("name", "platform"), [("neoverse-v1", "linux/amd64"), ("haswell", "linux/arm64")]
)
def test_a_target_of_another_platform_is_refused(name: str, platform: str) -> None:
    with pytest.raises(UsageError, match=f"--platform says {platform}"):
        platforms.checked(target.find(name), platform)


@pytest.mark.parametrize("platform", ["linux/arm/v7", "arm64", "windows/amd64", ""])
def test_a_platform_that_is_none_is_refused(platform: str) -> None:
    with pytest.raises(UsageError, match="not known"):
        platforms.checked(target.find("haswell"), platform)


def test_native_is_of_this_machine(tfbuild: Callable[..., Any]) -> None:
    other = {"x86_64": "linux/arm64", "aarch64": "linux/amd64"}[machine.machine()]
    done = tfbuild("render", "--platform", other, "-o", "out")
    assert done.returncode == 2
    assert "Add --target" in done.stderr
