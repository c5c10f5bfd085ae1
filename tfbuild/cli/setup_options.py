"""Options that tell how a run reaches the world, shared by `rehearse` and `wheel`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfbuild.cli import console

if TYPE_CHECKING:
    from tfbuild.engine import Setup

_WORLD = "How to reach the world"

CaCertificate_ = Annotated[
    list[Path] | None,
    typer.Option(
        "--ca-certificate",
        envvar="TFBUILD_CA_CERTIFICATE",
        metavar="FILE",
        help="Certificate authority (PEM) to trust beside the public ones; may be repeated.",
        rich_help_panel=_WORLD,
    ),
]
Mirror_ = Annotated[
    list[str] | None,
    typer.Option(
        "--mirror",
        envvar="TFBUILD_MIRROR",
        metavar="HOST=URL",
        help="Take what is on that host from there, whoever asks for it: the toolchain's steps or "
        "Bazel; * is every other host, whose name becomes a folder. May be repeated.",
        rich_help_panel=_WORLD,
    ),
]


def make(
    *,
    engine: str,
    ca_certificate: list[Path] | None = None,
    mirror: list[str] | None = None,
) -> "Setup":
    """Return the setup that these options and this process's environment describe.

    Args:
        engine: the word of `--engine`; all but "local" compile in containers.
        ca_certificate: PEM files.
        mirror: HOST=URL words.

    Raises:
        UsageError: a file is no certificate, or a word is no mirror.
    """
    from tfbuild import mirrors
    from tfbuild.engine import Setup, certificates, joined, proxies

    variables = _proxies(is_local=engine == "local")
    through = Setup(environment=variables, secrets=proxies.credentials(variables))
    led = mirrors.setup(mirrors.parse(mirror or ()))
    return joined(through, certificates.setup(ca_certificate or ()), led)


def _proxies(*, is_local: bool) -> dict[str, str]:
    from tfbuild.engine import proxies

    found = proxies.of_environment(os.environ)
    lost = frozenset() if is_local else proxies.on_loopback(found)
    if lost:
        console.say(
            f"warning: {', '.join(sorted(lost))}: that proxy is on this machine's loopback, where "
            "containers do not reach it; they go without. Let it listen elsewhere, or name it in "
            "Docker's config.json."
        )
    return {name: value for name, value in found.items() if name not in lost}
