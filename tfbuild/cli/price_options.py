"""Which prices costs are reckoned with: options, and the way from them to prices."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tfbuild.cli.bench_options import Options
    from tfbuild.prices import Price

_COST = "What it costs"

Prices_ = Annotated[
    str | None,
    typer.Option(
        envvar="TFBUILD_PRICES",
        metavar="FILE",
        help="What an hour costs: a TOML file, or 2017 for the study's prices.",
        show_default=False,
        rich_help_panel=_COST,
    ),
]
Provider_ = Annotated[
    str | None,
    typer.Option(
        envvar="TFBUILD_PROVIDER",
        help="Only this provider's prices.",
        show_default=False,
        rich_help_panel=_COST,
    ),
]
Region_ = Annotated[
    str | None,
    typer.Option(
        envvar="TFBUILD_REGION",
        help="Only prices of this region.",
        show_default=False,
        rich_help_panel=_COST,
    ),
]
PriceKind_ = Annotated[
    str | None,
    typer.Option(
        envvar="TFBUILD_PRICE_KIND",
        metavar="KIND",
        help="Only prices that are on-demand, spot, or committed.",
        show_default=False,
        rich_help_panel=_COST,
    ),
]
Machine_ = Annotated[
    str | None,
    typer.Option(
        envvar="TFBUILD_MACHINE",
        metavar="PATTERN",
        help="Only machines of this name, such as 'n2-standard-*'.",
        show_default=False,
        rich_help_panel=_COST,
    ),
]


def chosen(options: "Options") -> "tuple[Price, ...]":
    """Return the prices of CPU machines, one for each size; none without a file.

    To be asked before anything is measured.

    Raises:
        UsageError: the file is wrong, or leaves open which of its prices are meant.
    """
    from tfbuild import prices
    from tfbuild.errors import UsageError

    wanted = prices.Wanted(
        provider=options.provider,
        region=options.region,
        kind=options.price_kind,
        machine=options.machine,
    )
    if options.prices is None:
        if wanted != prices.Wanted():
            raise UsageError(
                "Which prices to take is said, but not from where.",
                do="Name the file, or the study's prices: --prices 2017",
            )
        return ()
    return prices.select(prices.find(options.prices), wanted, source=f"--prices {options.prices}")
