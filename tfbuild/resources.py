"""Finds the folders that ship with tfbuild, in a checkout and when installed.

`templates/` and `benchmarks/` stand at the top of the source tree; a wheel holds them inside the
package. An editable install has only the first place.
"""

from pathlib import Path

from tfbuild.errors import TfbuildError

PACKAGE = Path(__file__).parent
DATA = PACKAGE / "data"


def folder(name: str) -> Path:
    """Return the folder `name` ("templates" or "benchmarks").

    Raises:
        TfbuildError: the installation is incomplete.
    """
    places = (PACKAGE / name, PACKAGE.parent / name)
    for place in places:
        if place.is_dir():
            return place
    raise TfbuildError(
        f"The folder {name!r} is missing from this installation.",
        why=f"Looked at {places[0]} and {places[1]}.",
        do="Install tfbuild again: pip install --force-reinstall tfbuild",
    )
