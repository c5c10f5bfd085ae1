"""The pages of a static index, each a view of what `files/` holds. See `tfbuild.index.folder`."""

from datetime import UTC, datetime
from pathlib import Path

import msgspec
from packaging.utils import NormalizedName

from tfbuild import artifact
from tfbuild.errors import WheelError
from tfbuild.index import pages, wheelfile
from tfbuild.index.pages import Entry
from tfbuild.index.wheelfile import WheelFile

ALL = "all"
UNLABELLED = "unlabelled"
JSON_PAGE = "index.v1_json"
_MARK = '<meta name="generator" content="tfbuild">'


def root_name(wheel: WheelFile) -> str:
    """Return the name of the root that lists the wheel, beside `all`."""
    return wheel.label or UNLABELLED


def simple(root: Path, name: str) -> Path:
    """Return the folder of a root that installers are given."""
    return root / name / "simple"


def metadata_path(wheel: Path) -> Path:
    """Return where a wheel's METADATA stands."""
    return wheel.with_name(wheel.name + ".metadata")


def write_pages(root: Path, project: NormalizedName, *, known: dict[str, WheelFile]) -> None:
    """Write every page on which the project appears, from what `files/` holds.

    Args:
        root: the index.
        project: its normalised name.
        known: wheels that were read a moment ago and need not be read again, by file name.

    Raises:
        SaveError: a page cannot be written.
        WheelError: `files/` holds a damaged wheel of the project.
    """
    entries = _entries(root, project, known)
    names = {entry.label or UNLABELLED for entry in entries} | set(_roots(root, project))
    for name in (*sorted(names - {ALL}), ALL):
        listed = [e for e in entries if name in {ALL, e.label or UNLABELLED}]
        place = simple(root, name)
        _write_pair(
            place / project,
            html=pages.project_html(project, listed),
            json=pages.project_json(project, listed),
        )
        projects = _projects(place)
        _write_pair(place, html=pages.projects_html(projects), json=pages.projects_json(projects))
    _write_front_page(root)


def _entries(root: Path, project: NormalizedName, known: dict[str, WheelFile]) -> list[Entry]:
    remembered = _remembered(root, project)
    entries = []
    for path in (root / "files").glob("*.whl"):
        try:
            name, _ = wheelfile.parse_name(path.name)
        except WheelError:
            continue  # not put there by us
        if name == project:
            entries.append(_entry(path, known.get(path.name), remembered.get(path.name)))
    return sorted(entries, key=lambda entry: (entry.version, entry.filename))


def _entry(path: Path, wheel: WheelFile | None, remembered: "_File | None") -> Entry:
    """Describe one file; only a file that no page knows yet is read from end to end."""
    status = path.stat()
    metadata = metadata_path(path)
    if wheel is None and (
        remembered is None or remembered.size != status.st_size or not metadata.exists()
    ):
        wheel = wheelfile.read(path)
    if wheel is not None:
        write_if_changed(metadata, wheel.metadata)
        sha256, python, inner = wheel.sha256, wheel.requires_python, wheel.metadata_sha256
    else:
        if remembered is None:
            raise AssertionError
        sha256, python = remembered.hashes["sha256"], remembered.requires_python
        inner = artifact.sha256(metadata)
    return Entry(
        filename=path.name,
        version=wheelfile.parse_name(path.name)[1],
        sha256=sha256,
        size=status.st_size,
        requires_python=python,
        metadata_sha256=inner,
        uploaded=datetime.fromtimestamp(status.st_mtime, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        url=pages.relative_url("../../../files/", path.name),
    )


class _File(msgspec.Struct, rename="kebab"):
    filename: str
    hashes: dict[str, str]
    size: int
    requires_python: str | None = None


class _Page(msgspec.Struct):
    files: list[_File]


def _remembered(root: Path, project: NormalizedName) -> dict[str, _File]:
    """Return what the project's JSON page says, so that big wheels need not be read again."""
    try:
        text = (simple(root, ALL) / project / JSON_PAGE).read_bytes()
        page = msgspec.json.decode(text, type=_Page)
    except (FileNotFoundError, msgspec.DecodeError):
        return {}  # the wheels themselves say it again
    return {file.filename: file for file in page.files if file.hashes.get("sha256")}


def _roots(root: Path, project: str | None = None) -> list[str]:
    """Return the roots that exist, or those of them that list the project."""
    inner = f"{project}/index.html" if project else "index.html"
    return sorted(page.relative_to(root).parts[0] for page in root.glob(f"*/simple/{inner}"))


def _projects(place: Path) -> list[str]:
    return sorted(page.parent.name for page in place.glob("*/index.html"))


def _write_pair(folder: Path, *, html: str, json: str) -> None:
    write_if_changed(folder / JSON_PAGE, json.encode())
    write_if_changed(folder / "index.html", html.encode())


def _write_front_page(root: Path) -> None:
    """Write the page for people, unless somebody has put a page of their own there."""
    page = root / "index.html"
    if page.exists() and _MARK not in page.read_text(encoding="utf-8", errors="replace"):
        return
    roots = {name: _projects(simple(root, name)) for name in _roots(root)}
    write_if_changed(page, pages.roots_html(roots).encode())


def write_if_changed(path: Path, data: bytes) -> None:
    """Write a file, whole or not at all, unless it holds these bytes. Raises SaveError."""
    if not path.exists() or path.read_bytes() != data:
        artifact.write_bytes(path, data)
