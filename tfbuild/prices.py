"""Prices files: what an hour of which machine cost, where, on which day.

A file is TOML: one `[[price]]` for each machine, with the fields of `Price` as keys. Keys at
the top hold for every price that does not have its own. `data/prices_2017.toml` is the example.
"""

import functools
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from tfbuild.errors import UsageError, suggestion
from tfbuild.resources import DATA

STUDY: Final = "2017"
"""Stands for the bundled prices where a file is asked for."""
_MOST_BYTES: Final = 1_000_000
_MOST: Final = 1_000_000_000
"""Beyond any price, time or size: what is reckoned with it stays finite."""
_FINEST: Final = 1e-6
"""Seconds."""
_TABLE: Final = "price"
_EXAMPLE: Final = f"Example: {DATA / 'prices_2017.toml'}"


@dataclass(frozen=True, kw_only=True)
class Price:
    """What one hour of one machine cost, somewhere, on some day."""

    provider: str
    region: str
    machine: str
    """The provider's name for it, or the study's."""
    device: str
    """"cpu" or "gpu"."""
    vcpus: int
    kind: str
    """"on-demand", "spot" (which clouds also call preemptible), or "committed"."""
    currency: str
    """ISO 4217."""
    per_hour: float
    as_of: date
    source: str
    billing_seconds: float = 1.0
    """Time is billed in whole multiples of this; 0: exactly as long as it took."""
    minimum_seconds: float = 0.0
    """Less time than this is billed as this."""


class _Written(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One `[[price]]` as it may be written."""

    provider: str
    region: str
    machine: str
    vcpus: int
    currency: str
    per_hour: float
    as_of: date
    source: str
    device: Literal["cpu", "gpu"] = "cpu"
    kind: Literal["on-demand", "spot", "committed"] = "on-demand"
    billing_seconds: float = 1.0
    minimum_seconds: float = 0.0


_KEYS: Final = _Written.__struct_fields__


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which prices of a file; None takes any. `machine` may be a pattern: "n1-highcpu-*"."""

    provider: str | None = None
    region: str | None = None
    kind: str | None = None
    machine: str | None = None

    def takes(self, price: Price) -> bool:
        """Return whether a price is one of these; upper and lower case are the same."""
        return all(
            pattern is None or fnmatchcase(getattr(price, name).lower(), pattern.lower())
            for name, pattern in asdict(self).items()
        )


def find(text: str) -> tuple[Price, ...]:
    """Return the bundled prices for "2017", else those of the file of that name."""
    return bundled() if text == STUDY else load(Path(text))


@functools.cache
def bundled() -> tuple[Price, ...]:
    """Return the prices of the study of 2017."""
    return load(DATA / "prices_2017.toml")


def k80() -> Price:
    """Return the price of the study's K80, with the machine that it was attached to."""
    return next(price for price in bundled() if price.device == "gpu")


def load(path: Path, *, today: date | None = None) -> tuple[Price, ...]:
    """Read a prices file.

    Args:
        path: the TOML file.
        today: prices of a later day are refused; the day now if not given.

    Raises:
        UsageError: the file cannot be read, or what it says is no price.
    """
    document = _document(path)
    rows = document.pop(_TABLE, None)
    if not isinstance(rows, list) or not rows:
        raise UsageError(f"{path} holds no [[{_TABLE}]].", do=_EXAMPLE)
    _known(document, f"{path}")
    # Somewhere it is already tomorrow.
    last = (today or datetime.now(UTC).date()) + timedelta(days=1)
    found = [
        _price(document, row, f"{path}, price {number}", last) for number, row in enumerate(rows, 1)
    ]
    _distinct(found, path)
    return tuple(found)


def select(prices: Sequence[Price], wanted: Wanted, *, source: str) -> tuple[Price, ...]:
    """Return the prices of CPU machines that one comparison can use: one for each size.

    Args:
        prices: of a file.
        wanted: what the user chose.
        source: the file's name, for messages.

    Raises:
        UsageError: nothing is left, or too much: several providers, regions, kinds of price or
            currencies never mix, and a size has one price.
    """
    left = [price for price in prices if price.device == "cpu" and wanted.takes(price)]
    if not left:
        raise UsageError(
            f"{source} has no such price.",
            why=f"It has: {_listed(price for price in prices if price.device == 'cpu')}.",
            do="Choose with --provider, --region, --price-kind, --machine.",
        )
    together(left, source=source)
    _one_for_each_size(left, source)
    return tuple(sorted(left, key=lambda price: price.vcpus))


def together(prices: Sequence[Price], *, source: str = "The comparison") -> None:
    """Refuse prices that must not stand side by side.

    Raises:
        UsageError: they are of several providers, regions, kinds or currencies.
    """
    for name, option in (
        ("provider", "--provider"),
        ("region", "--region"),
        ("kind", "--price-kind"),
        ("currency", "--provider or --region"),
    ):
        values = sorted({getattr(price, name) for price in prices})
        if len(values) > 1:
            raise UsageError(
                f"{source} has prices of several {_PLURAL[name]}: {', '.join(values)}.",
                why="One comparison uses one, so that all its costs can be set side by side.",
                do=f"Choose with {option}.",
            )


_PLURAL: Final = {
    "provider": "providers",
    "region": "regions",
    "kind": "kinds",
    "currency": "currencies",
}


def fitting(prices: Sequence[Price], vcpus: int) -> Price | None:
    """Return the price of a CPU machine with exactly so many vCPUs, or None.

    What a part of a larger machine would cost is not guessed: nobody rents it.
    """
    return next((p for p in prices if p.device == "cpu" and p.vcpus == vcpus), None)


def _document(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise UsageError(f"{path} is too large for a prices file.", do=_EXAMPLE)
        return tomllib.loads(data.decode())
    except OSError as error:
        raise UsageError(f"Cannot read {path}.", why=error.strerror or str(error)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not valid TOML.", why=str(error), do=_EXAMPLE) from error


def _known(table: dict[str, Any], where: str) -> None:
    for key in table:
        if key not in _KEYS:
            raise UsageError(
                f"{where} has an unknown key {key!r}.",
                why=f"A price has {', '.join(_KEYS)}.",
                do=suggestion(key, list(_KEYS)),
            )


def _price(shared: dict[str, Any], row: object, where: str, last: date) -> Price:
    if not isinstance(row, dict):
        raise UsageError(f"{where} is no table.", do=_EXAMPLE)
    _known(row, where)
    try:
        written = msgspec.convert({**shared, **row}, _Written)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where} is not right.", why=str(error), do=_EXAMPLE) from error
    if wrong := _wrong(written, last):
        raise UsageError(f"{where} is not right.", why=wrong, do=_EXAMPLE)
    return Price(**msgspec.structs.asdict(written))


def _wrong(price: _Written, last: date) -> str:
    for key in ("provider", "region", "machine", "source"):
        if not getattr(price, key).strip():
            return f"{key} is empty."
    if wrong := _wrong_number(price):
        return wrong
    if price.currency not in _currencies():
        return f"{price.currency!r} is no currency's code of ISO 4217, such as USD."
    if price.as_of > last:
        return f"as_of is {price.as_of}, a day to come."
    return ""


def _wrong_number(price: _Written) -> str:
    for key in ("per_hour", "billing_seconds", "minimum_seconds"):
        value = getattr(price, key)
        if not 0 <= value <= _MOST:
            return f"{key} is {value}; it is a number from 0 to {_MOST:,}."
    if 0 < price.billing_seconds < _FINEST:
        return f"billing_seconds is {price.billing_seconds}; it is 0, or at least {_FINEST}."
    if not 1 <= price.vcpus <= _MOST:
        return f"vcpus is {price.vcpus}; a machine has at least one, and not that many."
    return ""


@functools.cache
def _currencies() -> frozenset[str]:
    text = (DATA / "currencies.toml").read_text(encoding="utf-8")
    return frozenset(tomllib.loads(text)["codes"].split())


def _distinct(prices: Sequence[Price], path: Path) -> None:
    seen: dict[tuple[str, ...], int] = {}
    for number, price in enumerate(prices, 1):
        key = (price.provider, price.region, price.machine, price.kind)
        if key in seen:
            raise UsageError(
                f"{path} has two prices for one thing: {seen[key]} and {number}.",
                why=f"Both are of {price.machine}, {price.kind}, {price.region}.",
                do="Keep the newer one.",
            )
        seen[key] = number


def _one_for_each_size(prices: Sequence[Price], source: str) -> None:
    sizes: dict[int, list[Price]] = {}
    for price in prices:
        sizes.setdefault(price.vcpus, []).append(price)
    for vcpus, same in sizes.items():
        if len(same) > 1:
            raise UsageError(
                f"{source} has several prices for {vcpus} vCPUs.",
                why=f"They are {_listed(same)}.",
                do=f"Choose with --machine, which takes patterns: --machine '{_pattern(same[0])}'",
            )


def _pattern(price: Price) -> str:
    """Return "c3-highcpu-*" for "c3-highcpu-8"."""
    return price.machine.removesuffix(str(price.vcpus)) + "*"


def _listed(prices: Iterable[Price]) -> str:
    most = 12
    names = [f"{p.machine} ({p.kind}, {p.region}, {p.provider})" for p in prices]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) or "no CPU machine") + more
