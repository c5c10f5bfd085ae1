"""The pages of a simple index, as text: HTML (PEP 503, 629, 658, 714) and JSON (PEP 691, 700)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from packaging.version import Version

from tfbuild import artifact, resources

API_VERSION = "1.1"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One wheel on a project's page."""

    filename: str
    version: Version
    sha256: str
    size: int
    """Bytes."""
    requires_python: str | None
    metadata_sha256: str
    uploaded: str
    """UTC: "2026-11-30T12:00:00Z"."""
    url: str
    """Relative to the page, "+" quoted as %2B."""

    @property
    def label(self) -> str | None:
        """The local version, None without one."""
        return self.version.local


def relative_url(folder: str, filename: str) -> str:
    """Return `folder` + the file's name, quoted for a URL."""
    return folder + quote(filename, safe="")


def project_html(project: str, entries: Sequence[Entry]) -> str:
    """Return a project's page for pip and uv."""
    return _template("project.html").render(project=project, files=entries)


def project_json(project: str, entries: Sequence[Entry]) -> str:
    """Return the same page as JSON; serve it as `application/vnd.pypi.simple.v1+json`."""
    versions = sorted({entry.version for entry in entries})
    return artifact.dict_to_json(
        {
            "meta": {"api-version": API_VERSION},
            "name": project,
            "versions": [str(version) for version in versions],
            "files": [_json_file(entry) for entry in entries],
        }
    )


def projects_html(projects: Sequence[str]) -> str:
    """Return the list of projects of one root."""
    return _template("projects.html").render(projects=projects)


def projects_json(projects: Sequence[str]) -> str:
    """Return the list of projects of one root as JSON."""
    names = [{"name": project} for project in projects]
    return artifact.dict_to_json({"meta": {"api-version": API_VERSION}, "projects": names})


def roots_html(roots: Mapping[str, Sequence[str]]) -> str:
    """Return the page for people: root -> its projects."""
    rows = [{"name": name, "projects": projects} for name, projects in roots.items()]
    return _template("roots.html").render(roots=rows)


def _json_file(entry: Entry) -> dict[str, object]:
    python = {"requires-python": entry.requires_python} if entry.requires_python else {}
    return {
        "filename": entry.filename,
        "url": entry.url,
        "hashes": {"sha256": entry.sha256},
        **python,
        "core-metadata": {"sha256": entry.metadata_sha256},
        "dist-info-metadata": {"sha256": entry.metadata_sha256},
        "size": entry.size,
        "upload-time": entry.uploaded,
        "yanked": False,
    }


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(resources.folder("templates") / "index"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _template(name: str) -> Template:
    return _environment().get_template(name)
