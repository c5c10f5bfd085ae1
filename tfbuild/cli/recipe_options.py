"""Options that decide a recipe, shared by `render`, `rehearse` and `wheel`."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pathlib import Path

    from tfbuild.recipe import Recipe
    from tfbuild.target import Target

_WHAT = "What to build"
_HOW = "How to compile"
_FROM = "Where things come from"

Target_ = Annotated[
    str,
    typer.Option(
        "--target",
        "-t",
        envvar="TFBUILD_TARGET",
        help="CPU to compile for, as `tfbuild targets` lists them; native: what suits this one.",
        rich_help_panel=_WHAT,
    ),
]
TensorFlow_ = Annotated[
    str,
    typer.Option(
        "--tensorflow",
        envvar="TFBUILD_TENSORFLOW",
        metavar="RELEASE",
        help="TensorFlow release, 2.8.0 to 2.21.0; 2.21 means the newest 2.21.",
        rich_help_panel=_WHAT,
    ),
]
Python_ = Annotated[
    str | None,
    typer.Option(
        "--python",
        envvar="TFBUILD_PYTHON",
        metavar="3.X",
        help="Python of the wheel. Default: 3.12, or the newest that the release supports.",
        rich_help_panel=_WHAT,
    ),
]
VectorWidth_ = Annotated[
    int | None,
    typer.Option(
        "--vector-width",
        envvar="TFBUILD_VECTOR_WIDTH",
        metavar="128|256|512",
        help="Vector width in bits that the compiler prefers, in place of the target's.",
        rich_help_panel=_HOW,
    ),
]
Compiler_ = Annotated[
    str,
    typer.Option(
        "--compiler",
        envvar="TFBUILD_COMPILER",
        metavar="release|system|gcc-N|clang-N",
        help="The compiler that belongs to the release, the GCC of the base image or host, or the "
        "package of that name.",
        rich_help_panel=_HOW,
    ),
]
Optimize_ = Annotated[
    str | None,
    typer.Option(
        "--optimize",
        envvar="TFBUILD_OPTIMIZE",
        metavar="size|speed",
        help="-Os or -O3 for target code, in place of the release's -O2.",
        rich_help_panel=_HOW,
    ),
]
Lto_ = Annotated[
    str | None,
    typer.Option(
        "--lto",
        envvar="TFBUILD_LTO",
        metavar="thin",
        help="Optimise across files while linking; Clang only. Experimental: no gain is known.",
        rich_help_panel=_HOW,
    ),
]
Copt_ = Annotated[
    list[str] | None,
    typer.Option(
        "--copt",
        envvar="TFBUILD_COPT",
        metavar="FLAG",
        help="Compiler flag for target code, like --copt=-fno-math-errno; may be repeated. None "
        "that changes which CPUs run the wheel.",
        rich_help_panel=_HOW,
    ),
]
BazelArg_ = Annotated[
    list[str] | None,
    typer.Option(
        "--bazel-arg",
        envvar="TFBUILD_BAZEL_ARG",
        metavar="OPTION",
        help="Option for `bazel build`, like --bazel-arg=--define=name=value; may be repeated.",
        rich_help_panel=_HOW,
    ),
]
Config_ = Annotated[
    list[str] | None,
    typer.Option(
        "--config",
        envvar="TFBUILD_CONFIG",
        metavar="NAME",
        help="Named configuration of the release's own .bazelrc, like monolithic; may be repeated.",
        rich_help_panel=_HOW,
    ),
]
Platform_ = Annotated[
    str | None,
    typer.Option(
        "--platform",
        envvar="TFBUILD_PLATFORM",
        metavar="linux/amd64|linux/arm64",
        help="Platform to compile on and for. Default: the target's.",
        rich_help_panel=_WHAT,
    ),
]
Jobs_ = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        envvar="TFBUILD_JOBS",
        min=1,
        help="Compilations at a time; plan 2 GB of memory for each. Default: Bazel decides.",
        rich_help_panel=_HOW,
    ),
]
Memory_ = Annotated[
    int | None,
    typer.Option(
        "--memory",
        envvar="TFBUILD_MEMORY",
        metavar="MIB",
        min=1,
        help="Memory that Bazel may plan with. Default: Bazel decides.",
        rich_help_panel=_HOW,
    ),
]
BaseImage_ = Annotated[
    str | None,
    typer.Option(
        "--base-image",
        envvar="TFBUILD_BASE_IMAGE",
        metavar="IMAGE",
        help="Debian or Ubuntu image to start from; {python} in it is the Python version. "
        "Default: python:{python}-slim-bookworm.",
        rich_help_panel=_FROM,
    ),
]
Source_ = Annotated[
    str | None,
    typer.Option(
        "--source",
        envvar="TFBUILD_SOURCE",
        metavar="URL|PATH",
        help="TensorFlow tree: git address with an optional #TAG or #COMMIT, address of an archive "
        "with an optional #sha256=..., a folder, or an archive file. Default: the release's "
        "archive.",
        rich_help_panel=_FROM,
    ),
]
Bazel_ = Annotated[
    str | None,
    typer.Option(
        "--bazel",
        envvar="TFBUILD_BAZEL",
        metavar="VERSION|system|apt|URL|FILE",
        help="Bazel: a release, one that is already in the image or host, the distribution's "
        "package, an address with an optional #sha256=..., or a program file. "
        "Default: the version that belongs to the release.",
        rich_help_panel=_FROM,
    ),
]
BazelMirror_ = Annotated[
    str | None,
    typer.Option(
        "--bazel-mirror",
        envvar="TFBUILD_BAZEL_MIRROR",
        metavar="URL",
        help="Folder with VERSION/bazel-VERSION-linux-x86_64, in place of GitHub's.",
        rich_help_panel=_FROM,
    ),
]
PipIndex_ = Annotated[
    str | None,
    typer.Option(
        "--pip-index",
        envvar="TFBUILD_PIP_INDEX",
        metavar="URL",
        help="Python package index in place of PyPI.",
        rich_help_panel=_FROM,
    ),
]
AptMirror_ = Annotated[
    str | None,
    typer.Option(
        "--apt-mirror",
        envvar="TFBUILD_APT_MIRROR",
        metavar="URL",
        help="Debian or Ubuntu mirror; Debian's security archive is looked for at URL-security.",
        rich_help_panel=_FROM,
    ),
]
LlvmMirror_ = Annotated[
    str | None,
    typer.Option(
        "--llvm-mirror",
        envvar="TFBUILD_LLVM_MIRROR",
        metavar="URL",
        help="Copy of apt.llvm.org, for a Clang that the base image's distribution lacks.",
        rich_help_panel=_FROM,
    ),
]


def make(
    *,
    target: "str | Target",
    tensorflow: str,
    python: str | None,
    vector_width: int | None = None,
    compiler: str = "release",
    optimize: str | None = None,
    lto: str | None = None,
    copt: list[str] | None = None,
    bazel_arg: list[str] | None = None,
    config: list[str] | None = None,
    platform: str | None = None,
    jobs: int | None = None,
    memory: int | None = None,
    base_image: str | None = None,
    source: str | None = None,
    bazel: str | None = None,
    bazel_mirror: str | None = None,
    pip_index: str | None = None,
    apt_mirror: str | None = None,
    llvm_mirror: str | None = None,
    instrument: bool = False,
    profile: "Path | None" = None,
) -> "Recipe":
    """Return the recipe that these options describe.

    Raises:
        UsageError: something does not exist or does not fit; see `tfbuild.recipe.make`.
        HostError: "native", and no target runs on this CPU.
    """
    from tfbuild import recipe, release

    what = release.find(tensorflow)
    return recipe.make(
        what.version,
        python or what.default_python,
        _target(target, platform),
        recipe.Sources(
            base_image=base_image,
            source=source,
            bazel=bazel,
            pip_index=pip_index,
            apt_mirror=apt_mirror,
            bazel_mirror=bazel_mirror,
            llvm_mirror=llvm_mirror,
        ),
        recipe.Options(
            jobs=jobs,
            memory=memory,
            vector_width=vector_width,
            compiler=compiler,
            optimize=optimize,
            lto=lto,
            copts=tuple(copt or ()),
            bazel_args=tuple(bazel_arg or ()),
            configs=tuple(config or ()),
            instrument=instrument,
            profile=profile,
        ),
    )


def decided(recipe: "Recipe") -> list[tuple[str, str]]:
    """Return what was decided as rows of a table: name, value."""
    return [
        ("TensorFlow", f"{recipe.tensorflow} (recipe kind {recipe.kind})"),
        ("Python", recipe.python),
        ("target", f"{recipe.target.name}: {' '.join(recipe.flags)}"),
        ("label", recipe.label),
        ("compiler", recipe.compiler),
        ("Bazel", recipe.bazel),
        ("base image", recipe.base_image),
        ("recipe", recipe.digest),
        ("toolchain", recipe.toolchain_digest),
    ]


def _target(wanted: "str | Target", platform: str | None) -> "Target":
    from tfbuild import host, target
    from tfbuild.recipe import platforms

    if not isinstance(wanted, str):
        return platforms.checked(wanted, platform)
    if wanted.strip().lower() != target.NATIVE:
        return platforms.checked(target.find(wanted), platform)
    here = host.detect()
    platforms.check_native(here.architecture, platform)
    return target.resolve(wanted, here)
