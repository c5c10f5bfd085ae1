"""`tfbuild rehearse`: the whole line in about a minute."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tfbuild.cli import console, ready, setup_options
from tfbuild.cli import recipe_options as options
from tfbuild.cli import remote_options as servers
from tfbuild.cli.wheel import Engine_, foreign_cpu, name_downloads

if TYPE_CHECKING:
    from tfbuild.engine import Engine
    from tfbuild.host import Host
    from tfbuild.recipe import Recipe
    from tfbuild.rehearse import Rehearsal


def register(app: typer.Typer) -> None:
    """Attach the command."""
    app.command(name="rehearse")(rehearse)


def rehearse(  # noqa: PLR0917 - a command has as many parameters as it has options
    target: options.Target_ = "native",
    tensorflow: options.TensorFlow_ = "2.21.0",
    python: options.Python_ = None,
    engine: Engine_ = "auto",
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep", metavar="DIR", help="New or empty folder that keeps the wheel and the index."
        ),
    ] = None,
    vector_width: options.VectorWidth_ = None,
    compiler: options.Compiler_ = "release",
    optimize: options.Optimize_ = None,
    lto: options.Lto_ = None,
    copt: options.Copt_ = None,
    bazel_arg: options.BazelArg_ = None,
    config: options.Config_ = None,
    platform: options.Platform_ = None,
    jobs: options.Jobs_ = None,
    base_image: options.BaseImage_ = None,
    bazel: options.Bazel_ = None,
    bazel_mirror: options.BazelMirror_ = None,
    pip_index: options.PipIndex_ = None,
    apt_mirror: options.AptMirror_ = None,
    llvm_mirror: options.LlvmMirror_ = None,
    ca_certificate: setup_options.CaCertificate_ = None,
    mirror: setup_options.Mirror_ = None,
    remote_cache: servers.RemoteCache_ = None,
    remote_executor: servers.RemoteExecutor_ = None,
    remote_instance: servers.RemoteInstance_ = None,
    remote_ca: servers.RemoteCA_ = None,
    remote_client_certificate: servers.RemoteClientCertificate_ = None,
    remote_client_key: servers.RemoteClientKey_ = None,
    remote_header_file: servers.RemoteHeaderFile_ = None,
    remote_header_env: servers.RemoteHeaderEnv_ = None,
    remote_read_only: servers.RemoteReadOnly_ = False,
    remote_local_fallback: servers.RemoteFallback_ = False,
    remote_timeout: servers.RemoteTimeout_ = None,
    remote_platform: servers.RemotePlatform_ = None,
    no_preflight: ready.NoPreflight_ = False,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Rehearse a build with a small workspace, before three hours are spent.

    Takes about a minute, and the toolchain's downloads the first time. The engine,
    the release's recipe and the target's flags are the real ones.

    Example: tfbuild rehearse --target skylake
    """
    from tfbuild.engine import choose
    from tfbuild.engine.choose import check_name
    from tfbuild.preflight import Question
    from tfbuild.rehearse import rehearse as go

    check_name(engine)
    remote = servers.remote(
        cache=remote_cache,
        executor=remote_executor,
        instance=remote_instance,
        ca=remote_ca,
        client_certificate=remote_client_certificate,
        client_key=remote_client_key,
        header_file=remote_header_file,
        header_env=remote_header_env,
        read_only=remote_read_only,
        local_fallback=remote_local_fallback,
        timeout=remote_timeout,
        platform=remote_platform,
    )
    given: dict[str, Any] = {
        "target": target,
        "tensorflow": tensorflow,
        "python": python,
        "vector_width": vector_width,
        "compiler": compiler,
        "optimize": optimize,
        "lto": lto,
        "copt": copt,
        "bazel_arg": bazel_arg,
        "config": config,
        "platform": platform,
        "jobs": jobs,
        "base_image": base_image,
        "bazel": bazel,
        "bazel_mirror": bazel_mirror,
        "pip_index": pip_index,
        "apt_mirror": apt_mirror,
        "llvm_mirror": llvm_mirror,
    }
    setup = setup_options.make(engine=engine, ca_certificate=ca_certificate, mirror=mirror)
    release = options.make(**given)
    chosen = choose(engine)
    with _folder(keep) as folder:
        console.say(
            f"Rehearsing TensorFlow {release.tensorflow} for {release.target.name}, "
            f"Python {release.python}, on {chosen.facts()}"
        )
        foreign_cpu(release)
        for notice in release.notices:
            console.say(f"note: {notice}")
        is_local = chosen.name == "local"
        name_downloads(release, is_local=is_local, is_bundled=True, remote=remote)
        recipe = _recipe(given, release, chosen, folder)
        setup = servers.join(setup, remote, recipe, in_container=not is_local)
        question = Question(
            engine=chosen.name,
            output_dir=folder,
            recipe=recipe,
            jobs=jobs,
            is_bundled=True,
            setup=setup,
            remote=remote,
        )
        ready.checked(question, look=not no_preflight)
        with console.progress(quiet=json_) as progress:
            done = go(recipe, chosen, folder, _host(), progress, setup=setup)
    _show(done, keep, json_=json_)


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    from tfbuild.errors import SaveError, UsageError

    if keep is None:
        with tempfile.TemporaryDirectory(prefix="tfbuild-rehearsal-") as name:
            yield Path(name)
        return
    try:
        if keep.is_file() or (keep.is_dir() and any(keep.iterdir())):
            raise UsageError(f"{keep} is not an empty folder.", do="Name a new or empty one.")
        keep.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SaveError(f"{keep} cannot be made.", why=error.strerror or str(error)) from error
    yield keep


def _recipe(given: dict[str, Any], release: "Recipe", engine: "Engine", folder: Path) -> "Recipe":
    """Return the release's recipe over the bundled workspace, with a Bazel that can be had."""
    import json

    from tfbuild import rehearse as room

    source = room.copy_workspace(folder / "source", release.tensorflow)
    chosen = {**given, "source": str(source)}
    if engine.name == "local":
        chosen["compiler"] = _local_compiler(release, given["compiler"])
    bazel = json.loads(release.files["recipe.json"])["bazel"]
    if given["bazel"] is None:
        chosen["bazel"] = room.bazel_for(release, engine, bazel["url"])
        if chosen["bazel"] is not None:
            console.say(
                f"note: Bazel {bazel['version']} is not to be had here; taking "
                f"{'this machine' if engine.name == 'local' else 'the distribution'}'s own. "
                "The build itself will insist, unless --bazel says otherwise."
            )
    return options.make(**chosen)


def _local_compiler(release: "Recipe", given: str) -> str:
    """Return `--compiler` for this machine; say so where the build itself would refuse it."""
    from tfbuild.engine import tools

    if release.compiler.startswith(("gcc", "clang")) and tools.has_compiler(release):
        return given
    if not tools.has_compiler(release):
        console.say(
            f"note: {release.compiler} is not to be had here; taking this machine's own GCC. "
            "The build itself will insist, unless --compiler says otherwise."
        )
    return "system"


def _host() -> "Host | None":
    from tfbuild import host
    from tfbuild.errors import HostError

    try:
        return host.detect()
    except HostError:
        return None


def _show(done: "Rehearsal", keep: Path | None, *, json_: bool) -> None:
    from tfbuild import artifact

    if json_:
        typer.echo(artifact.to_json(done), nl=False)
        return
    _table(done)
    total = sum(step.seconds for step in done.steps)
    console.say(f"The rehearsal went through in {total:.0f} s.")
    if keep is not None:
        console.say(f"Kept: {keep / 'wheels' / done.wheel.file}, index: {keep / 'index'}")
    console.say(f"Next: tfbuild wheel --target {done.target} --tensorflow {done.tensorflow}")


def _table(done: "Rehearsal") -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("check", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("s", justify="right", no_wrap=True)
    table.add_column("found", overflow="fold")
    words = {"passed": "ok", "skipped": "skipped"}
    for step in done.steps:
        table.add_row(step.name, words[step.outcome], f"{step.seconds:.1f}", Text(step.detail))
    console.results().print(table)
