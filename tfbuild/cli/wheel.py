"""`tfbuild wheel`: compiles TensorFlow."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfbuild.cli import console, made_by, offline_options, ready, setup_options, wheel_shown
from tfbuild.cli import pgo_options as profiles
from tfbuild.cli import recipe_options as options
from tfbuild.cli import remote_options as servers

if TYPE_CHECKING:
    from tfbuild.engine import Engine, Setup
    from tfbuild.offline import Copy
    from tfbuild.recipe import Recipe
    from tfbuild.record import BuiltWheel
    from tfbuild.remote import Remote

Engine_ = Annotated[
    str,
    typer.Option(
        "--engine",
        envvar="TFBUILD_ENGINE",
        metavar="auto|docker|podman|local",
        help="Where to compile; auto: Docker if it answers, else Podman; local: this machine's "
        "own Bazel, compiler and Python.",
        rich_help_panel="How to compile",
    ),
]


def register(app: typer.Typer) -> None:
    """Attach the command."""
    app.command(name="wheel")(wheel)


def wheel(  # noqa: PLR0917 - a command has as many parameters as it has options
    target: options.Target_ = "native",
    tensorflow: options.TensorFlow_ = "2.21.0",
    python: options.Python_ = None,
    output_dir: Annotated[
        Path,
        typer.Option(
            "--output-dir", envvar="TFBUILD_OUTPUT_DIR", metavar="DIR", help="Where wheels go."
        ),
    ] = Path("wheels"),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done; contact nothing.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a wheel that another recipe has made.")
    ] = False,
    engine: Engine_ = "auto",
    vector_width: options.VectorWidth_ = None,
    compiler: options.Compiler_ = "release",
    optimize: options.Optimize_ = None,
    lto: options.Lto_ = None,
    copt: options.Copt_ = None,
    bazel_arg: options.BazelArg_ = None,
    config: options.Config_ = None,
    platform: options.Platform_ = None,
    jobs: options.Jobs_ = None,
    memory: options.Memory_ = None,
    base_image: options.BaseImage_ = None,
    source: options.Source_ = None,
    bazel: options.Bazel_ = None,
    bazel_mirror: options.BazelMirror_ = None,
    pip_index: options.PipIndex_ = None,
    apt_mirror: options.AptMirror_ = None,
    llvm_mirror: options.LlvmMirror_ = None,
    offline: offline_options.Offline_ = None,
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
    pgo: profiles.Pgo_ = False,
    pgo_scale: profiles.PgoScale_ = profiles.PgoScale.SMOKE,
    no_preflight: ready.NoPreflight_ = False,
    no_verify: Annotated[
        bool,
        typer.Option(
            "--no-verify",
            envvar="TFBUILD_NO_VERIFY",
            help="Do not look at the finished wheel: its files, tags and instructions.",
        ),
    ] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Compile TensorFlow for a CPU; the wheel and its record go into wheels/.

    Takes hours. A build that was stopped goes on where it was when the same
    command runs again. Try the whole line first: tfbuild rehearse

    Example: tfbuild wheel --target skylake --tensorflow 2.21.0 --dry-run
    """
    from tfbuild import mirrors, plan, preflight
    from tfbuild.engine import choose, joined
    from tfbuild.engine.choose import check_name

    check_name(engine)
    setup = setup_options.make(engine=engine, ca_certificate=ca_certificate, mirror=mirror)
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
    copy = offline_options.opened(offline, remote, engine)
    given = ready.given(
        target=target,
        tensorflow=tensorflow,
        python=python,
        vector_width=vector_width,
        compiler=compiler,
        optimize=optimize,
        lto=lto,
        copt=copt,
        bazel_arg=bazel_arg,
        config=config,
        platform=platform,
        jobs=jobs,
        memory=memory,
        base_image=base_image,
        source=source,
        bazel=bazel,
        bazel_mirror=bazel_mirror,
        pip_index=pip_index,
        apt_mirror=apt_mirror,
        llvm_mirror=llvm_mirror,
    )
    made, refusals = profiles.attempt(given, pgo_scale) if pgo else ready.attempt(**given)
    setup, refusals = ready.fitted(copy, made, refusals, setup)
    question = preflight.Question(
        engine=engine,
        output_dir=output_dir,
        recipe=made,
        refusals=refusals,
        jobs=jobs,
        replace=replace,
        setup=setup,
        remote=remote,
    )
    recipe = ready.checked(question, look=not (dry_run or no_preflight))
    for problem in recipe.known_problems:
        console.say(f"warning: {problem}")
    for notice in recipe.notices:
        console.say(f"note: {notice}")
    if not dry_run:
        chosen = choose(engine)
        if pgo:
            reach = joined(setup, *([remote.setup()] if remote else []))
            if copy is not None:
                reach = offline_options.join(reach, copy, recipe, chosen)
            recipe = profiles.profiled(given, chosen, pgo_scale, reach)
        built = _build(
            recipe,
            chosen,
            output_dir,
            setup,
            copy,
            replace_other=replace,
            remote=remote,
            look=not no_verify,
        )
        wheel_shown.show_built(built, output_dir, json_=json_)
        wheel_shown.refuse_failed(built, output_dir)
        return
    foreign_cpu(recipe)
    if engine != "local":
        made_by.tell_pin(recipe)
    servers.join(setup, remote, recipe, in_container=engine != "local")
    planned = plan.plan(
        recipe,
        str(output_dir),
        engine,
        remote,
        is_offline=copy is not None,
        mirrors=mirrors.of(setup.environment),
    )
    wheel_shown.show_plan(planned, engine, json_=json_)


def foreign_cpu(recipe: "Recipe") -> str | None:
    """Say so when this host cannot run what is compiled; return why."""
    from tfbuild import host
    from tfbuild.errors import HostError

    try:
        here = host.detect()
    except HostError:
        return None
    why = recipe.target.why_not(here)
    if why:
        can = (
            "It can compile it: only the wheel's own code is compiled for that CPU."
            if here.architecture == recipe.target.architecture
            else f"Nor can it compile it: that takes an engine on {recipe.target.architecture}."
        )
        console.say(f"note: this host cannot run the wheel: {why} {can}")
    return why


def name_downloads(
    recipe: "Recipe",
    *,
    is_local: bool,
    is_bundled: bool = False,
    remote: "Remote | None" = None,
    setup: "Setup | None" = None,
) -> None:
    """Name every outside place before anything is fetched from it."""
    from tfbuild import mirrors, plan

    led = mirrors.of(setup.environment) if setup is not None else {}
    places = plan.outside(
        recipe, is_local=is_local, is_bundled=is_bundled, remote=remote, mirrors=led
    )
    console.say(
        "Takes from outside, as far as it is not there yet:" if places else "Downloads nothing."
    )
    for place in places:
        console.say(f"  {place.what}: {place.where}")
    from tfbuild.engine import tools

    if (branch := tools.moving(recipe)) and not is_bundled:
        console.say(
            f"note: {branch} is fetched once and then kept with the toolchain; a name that moves "
            "on is not followed. A commit in its place is exact; the record says which it was."
        )


def _build(
    recipe: "Recipe",
    engine: "Engine",
    output_dir: Path,
    setup: "Setup",
    copy: "Copy | None",
    *,
    replace_other: bool,
    remote: "Remote | None",
    look: bool,
) -> "BuiltWheel":
    from tfbuild import build
    from tfbuild.verify import fresh

    console.say(
        f"TensorFlow {recipe.tensorflow} for {recipe.target.name}, Python {recipe.python}, "
        f"on {engine.facts()}"
    )
    foreign_cpu(recipe)
    is_local = engine.name == "local"
    setup = servers.join(setup, remote, recipe, in_container=not is_local)
    if copy is None:
        name_downloads(recipe, is_local=is_local, remote=remote, setup=setup)
    else:
        console.say(f"Downloads nothing: takes everything from {copy.folder}")
        setup = offline_options.join(setup, copy, recipe, engine)
    console.say(f"Log: {build.log_path(recipe)}")
    with console.progress() as progress:
        return build.build(
            recipe,
            engine,
            output_dir,
            progress,
            setup=setup,
            replace_other=replace_other,
            check=(lambda wheel: fresh.checks(wheel, recipe.target, progress)) if look else None,
        )
