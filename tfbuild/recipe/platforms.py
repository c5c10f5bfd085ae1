"""Container platforms, and the targets that belong to each."""

from tfbuild.errors import UsageError
from tfbuild.target import Target

ARCHITECTURES = {"linux/amd64": "x86_64", "linux/arm64": "aarch64"}
"""Platform, as container engines name it -> architecture, as the kernel names it."""


def of(target: Target) -> str:
    """Return the platform of a target: "linux/amd64"."""
    return next(name for name, kind in ARCHITECTURES.items() if kind == target.architecture)


def checked(target: Target, platform: str | None) -> Target:
    """Return the target. Raises UsageError when it is for another platform, or there is none."""
    if platform is not None and _architecture(platform) != target.architecture:
        raise UsageError(
            f"{target.name} is for {of(target)}, and --platform says {platform}.",
            do="Leave --platform out, or choose a target of that platform: tfbuild targets",
        )
    return target


def check_native(architecture: str, platform: str | None) -> None:
    """Raise UsageError when `native`, on a CPU of this architecture, is not of the platform."""
    if platform is not None and _architecture(platform) != architecture:
        raise UsageError(
            f"--platform {platform} needs the name of a target.",
            why=f"This CPU is {architecture}, so `native` says nothing about {platform}.",
            do="Add --target; `tfbuild targets` shows them all.",
        )


def _architecture(platform: str) -> str:
    if platform not in ARCHITECTURES:
        raise UsageError(
            f"--platform: {platform!r} is not known.", why=f"Known: {', '.join(ARCHITECTURES)}."
        )
    return ARCHITECTURES[platform]
