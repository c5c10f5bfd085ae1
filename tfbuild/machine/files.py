"""Reads the kernel's small files; what cannot be read is None."""

from pathlib import Path


def text(path: Path) -> str | None:
    """Return the text without its last newline."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def number(path: Path) -> int | None:
    """Return a file that is one whole number."""
    try:
        return int(text(path) or "")
    except ValueError:
        return None


def flag(path: Path) -> bool | None:
    """Return a file that is 0 or 1."""
    found = text(path)
    return found == "1" if found in {"0", "1"} else None


def table(path: Path) -> dict[str, int]:
    """Return lines of a name and a whole number: /proc/vmstat, /proc/meminfo, cpu.stat."""
    found = {}
    for line in (text(path) or "").splitlines():
        name, *words = line.replace(":", " ").split()
        if words and words[0].isdecimal():
            found[name] = int(words[0])
    return found
