"""Options of one run: what it reaches beyond this machine. None of them changes the wheel."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfbuild.cli import console

if TYPE_CHECKING:
    from tfbuild.engine.base import Setup
    from tfbuild.recipe import Recipe
    from tfbuild.remote import Remote

_REMOTE = "Beyond this machine"

RemoteCache_ = Annotated[
    str | None,
    typer.Option(
        "--remote-cache",
        envvar="TFBUILD_REMOTE_CACHE",
        metavar="URL",
        help="Bazel's remote cache: grpc://, grpcs://, http:// or https://.",
        rich_help_panel=_REMOTE,
    ),
]
RemoteExecutor_ = Annotated[
    str | None,
    typer.Option(
        "--remote-executor",
        envvar="TFBUILD_REMOTE_EXECUTOR",
        metavar="URL",
        help="Remote execution: grpc:// or grpcs://. Its workers need the toolchain's compiler.",
        rich_help_panel=_REMOTE,
    ),
]
RemoteInstance_ = Annotated[
    str | None,
    typer.Option(
        "--remote-instance",
        envvar="TFBUILD_REMOTE_INSTANCE",
        metavar="NAME",
        help="Instance of a gRPC server.",
        rich_help_panel=_REMOTE,
    ),
]
RemoteCA_ = Annotated[
    Path | None,
    typer.Option(
        "--remote-ca",
        envvar="TFBUILD_REMOTE_CA",
        metavar="FILE",
        help="Certificate authority of the server, PEM.",
        rich_help_panel=_REMOTE,
    ),
]
RemoteClientCertificate_ = Annotated[
    Path | None,
    typer.Option(
        "--remote-client-certificate",
        envvar="TFBUILD_REMOTE_CLIENT_CERTIFICATE",
        metavar="FILE",
        help="Certificate that the server asks for, PEM.",
        rich_help_panel=_REMOTE,
    ),
]
RemoteClientKey_ = Annotated[
    Path | None,
    typer.Option(
        "--remote-client-key",
        envvar="TFBUILD_REMOTE_CLIENT_KEY",
        metavar="FILE",
        help="Its key: PKCS #8 without a password, PEM.",
        rich_help_panel=_REMOTE,
    ),
]
RemoteHeaderFile_ = Annotated[
    list[Path] | None,
    typer.Option(
        "--remote-header-file",
        envvar="TFBUILD_REMOTE_HEADER_FILE",
        metavar="FILE",
        help="Headers for the server, a line NAME: VALUE each. May be given several times.",
        rich_help_panel=_REMOTE,
    ),
]
RemoteHeaderEnv_ = Annotated[
    list[str] | None,
    typer.Option(
        "--remote-header-env",
        envvar="TFBUILD_REMOTE_HEADER_ENV",
        metavar="NAME=VARIABLE",
        help="A header whose value is in an environment variable. May be given several times.",
        rich_help_panel=_REMOTE,
    ),
]
RemoteReadOnly_ = Annotated[
    bool,
    typer.Option(
        "--remote-read-only",
        envvar="TFBUILD_REMOTE_READ_ONLY",
        help="Take results from the server, and give it none.",
        rich_help_panel=_REMOTE,
    ),
]
RemoteFallback_ = Annotated[
    bool,
    typer.Option(
        "--remote-local-fallback",
        envvar="TFBUILD_REMOTE_LOCAL_FALLBACK",
        help="Go on with the local machine where the server fails.",
        rich_help_panel=_REMOTE,
    ),
]
RemoteTimeout_ = Annotated[
    int | None,
    typer.Option(
        "--remote-timeout",
        envvar="TFBUILD_REMOTE_TIMEOUT",
        metavar="SECONDS",
        min=1,
        help="Longest wait for one answer. Default: Bazel's, 60.",
        rich_help_panel=_REMOTE,
    ),
]
RemotePlatform_ = Annotated[
    list[str] | None,
    typer.Option(
        "--remote-platform",
        envvar="TFBUILD_REMOTE_PLATFORM",
        metavar="KEY=VALUE",
        help="Property that a remote worker must have. May be given several times.",
        rich_help_panel=_REMOTE,
    ),
]


def remote(
    *,
    cache: str | None,
    executor: str | None,
    instance: str | None,
    ca: Path | None,
    client_certificate: Path | None,
    client_key: Path | None,
    header_file: list[Path] | None,
    header_env: list[str] | None,
    read_only: bool,
    local_fallback: bool,
    timeout: int | None,
    platform: list[str] | None,
) -> "Remote | None":
    """Return the servers that these options describe, None without one. Raises UsageError."""
    from tfbuild.remote import make

    return make(
        cache=cache,
        executor=executor,
        instance=instance,
        ca=ca,
        client_certificate=client_certificate,
        client_key=client_key,
        header_files=header_file or (),
        header_variables=header_env or (),
        read_only=read_only,
        local_fallback=local_fallback,
        timeout=timeout,
        platform=platform or (),
    )


def join(
    setup: "Setup", remote: "Remote | None", recipe: "Recipe", *, in_container: bool
) -> "Setup":
    """Return a setup that reaches the servers too, and say what will probably not work.

    Raises:
        UsageError: the recipe's Bazel cannot do it.
    """
    from tfbuild.engine import joined
    from tfbuild.remote import warnings

    if remote is None:
        return setup
    for warning in warnings(remote, bazel=recipe.bazel, in_container=in_container):
        console.say(f"warning: {warning}")
    return joined(setup, remote.setup())
