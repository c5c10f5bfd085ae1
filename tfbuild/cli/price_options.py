"""Which prices costs are reckoned with: options, and the way from them to prices."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
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


def chosen(
    prices: str | None,
    *,
    provider: str | None = None,
    region: str | None = None,
    kind: str | None = None,
    machine: str | None = None,
) -> "tuple[Price, ...]":
    """Return the prices of CPU machines, one for each size; none without a file.

    Raises:
        UsageError: the file is wrong, or leaves open which of its prices are meant.
    """
    from tfbuild import prices as rooms
    from tfbuild.errors import UsageError

    if prices is None:
        if any((provider, region, kind, machine)):
            raise UsageError(
                "Which prices to take is said, but not from where.",
                do="Name the file, or the study's prices: --prices 2017",
            )
        return ()
    wanted = rooms.Wanted(provider=provider, region=region, kind=kind, machine=machine)
    return rooms.select(rooms.find(prices), wanted, source=f"--prices {prices}")
