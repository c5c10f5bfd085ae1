"""How measured processes are placed on the machine and what is switched on in them: options."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from tfbuild.bench.setting import Setting
    from tfbuild.cli.bench_options import Options

_MACHINE = "Machine and threads (a list measures each value)"


class OneDnn(StrEnum):
    """Whether oneDNN's operations are used, where a wheel leaves that open."""

    DEFAULT = "default"
    ON = "on"
    OFF = "off"
    BOTH = "both"


class Switch(StrEnum):
    """On, off, or one after the other."""

    ON = "on"
    OFF = "off"
    BOTH = "both"


def _threads(name: str, what: str) -> Any:  # noqa: ANN401 - Typer's own word for an option
    return typer.Option(
        min=1,
        envvar=f"TFBUILD_{name}_THREADS",
        help=f"{what}, instead of --threads.",
        show_default=False,
        rich_help_panel=_MACHINE,
    )


Cpus_ = Annotated[
    str | None,
    typer.Option(
        envvar="TFBUILD_CPUS",
        metavar="N,...",
        help="So many physical cores, one hardware thread of each: 1,2,4.",
        show_default=False,
        rich_help_panel=_MACHINE,
    ),
]
VCpus_ = Annotated[
    str | None,
    typer.Option(
        "--vcpus",
        envvar="TFBUILD_VCPUS",
        metavar="N,...",
        help="So many hardware threads, as clouds count, core by core: 8,16,32.",
        show_default=False,
        rich_help_panel=_MACHINE,
    ),
]
Affinity_ = Annotated[
    str | None,
    typer.Option(
        envvar="TFBUILD_AFFINITY",
        metavar="CPUS",
        help="Exactly these CPUs, by the kernel's numbers: 0-3,8.",
        show_default="all that may be used",
        rich_help_panel=_MACHINE,
    ),
]
NumaNode_ = Annotated[
    int | None,
    typer.Option(
        min=0,
        envvar="TFBUILD_NUMA_NODE",
        help="CPUs of this memory node alone, and its memory.",
        show_default=False,
        rich_help_panel=_MACHINE,
    ),
]
Threads_ = Annotated[
    str | None,
    typer.Option(
        envvar="TFBUILD_THREADS",
        metavar="N,...",
        help="Threads of each kind, in every process.",
        show_default="as many as CPUs",
        rich_help_panel=_MACHINE,
    ),
]
IntraThreads_ = Annotated[int | None, _threads("INTRA", "TensorFlow's threads within one op")]
InterThreads_ = Annotated[int | None, _threads("INTER", "Ops that TensorFlow runs at a time")]
OmpThreads_ = Annotated[int | None, _threads("OMP", "Threads of OpenMP and MKL (Intel's wheels)")]
OneDnn_ = Annotated[
    OneDnn,
    typer.Option(
        "--onednn",
        envvar="TFBUILD_ONEDNN",
        help="Use oneDNN's operations; default leaves it to the wheel and the CPU.",
        rich_help_panel=_MACHINE,
    ),
]
Batch_ = Annotated[
    str | None,
    typer.Option(
        envvar="TFBUILD_BATCH",
        metavar="N,...",
        help="Samples in a batch.",
        show_default="the study's",
        rich_help_panel=_MACHINE,
    ),
]
Xla_ = Annotated[
    Switch,
    typer.Option(
        "--xla",
        envvar="TFBUILD_XLA",
        help="Compile training steps with XLA, for this CPU at run time.",
        rich_help_panel=_MACHINE,
    ),
]
Allocator_ = Annotated[
    str | None,
    typer.Option(
        envvar="TFBUILD_ALLOCATOR",
        metavar="NAME,...",
        help="Who gives out memory: system, jemalloc, tcmalloc, mimalloc.",
        show_default="system",
        rich_help_panel=_MACHINE,
    ),
]


def settings(options: "Options") -> "tuple[Setting, ...]":
    """Return every setting that the options ask for, the baseline first.

    Raises:
        UsageError: the machine has less, or two options exclude each other.
    """
    from tfbuild.bench import placement

    asked = placement.Asked(
        cpus=options.cpus,
        vcpus=options.vcpus,
        affinity=options.affinity,
        numa_node=options.numa_node,
        threads=options.threads,
        onednn=None if options.onednn is OneDnn.DEFAULT else options.onednn.value,
        batch=options.batch,
        xla=options.xla.value,
        allocator=options.allocator,
    )
    found = (_with_own(each, options) for each in placement.dimensions(asked))
    # Where these leave nothing open, two settings may have become one.
    return tuple(dict.fromkeys(found))


def _with_own(setting: "Setting", options: "Options") -> "Setting":
    from dataclasses import replace

    return replace(
        setting,
        intra_threads=options.intra_threads or setting.intra_threads,
        inter_threads=options.inter_threads or setting.inter_threads,
        omp_threads=options.omp_threads or setting.omp_threads,
    )
