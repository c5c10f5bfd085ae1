"""Reads a text of bounded size."""

from pathlib import Path

from tfbuild.errors import HostError

# A machine with 4096 CPUs writes about 8 MiB; more than this is something else.
MOST_BYTES = 32 << 20
HINT = "Save one with: cat /proc/cpuinfo > cpuinfo.txt"


def read(path: Path) -> str:
    """Return the text of a file, not more than MOST_BYTES of it.

    Raises:
        HostError: it cannot be read, is empty, too large, or not text.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise HostError(
            f"Cannot read {path}.", why=error.strerror or str(error), do=HINT
        ) from error
    if not data.strip():
        raise HostError(f"{path} is empty.", do=HINT)
    if len(data) > MOST_BYTES or b"\0" in data:
        raise HostError(f"{path} is not text that describes a CPU.", do=HINT)
    return data.decode("utf-8", errors="replace")
