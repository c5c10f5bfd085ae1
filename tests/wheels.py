"""Tiny wheels for tests: real zip files with a valid METADATA, WHEEL and RECORD."""

import base64
import hashlib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

_EPOCH = (1980, 1, 1, 0, 0, 0)


def make_wheel(
    folder: Path,
    name: str = "tensorflow",
    version: str = "2.21.0",
    tag: str = "py3-none-any",
    requires_python: str | None = None,
    files: Mapping[str, bytes | str] | None = None,
    requires: Sequence[str] = (),
) -> Path:
    """Write a wheel and return its path; same arguments, same bytes.

    Without `files` it holds one module `<name>/__init__.py` with `__version__` set to `version`.
    """
    escaped = name.replace("-", "_")
    info = f"{escaped}-{version}.dist-info"
    if files is None:
        files = {f"{escaped}/__init__.py": f"__version__ = {version!r}\n"}
    metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
    metadata += [f"Requires-Python: {requires_python}"] if requires_python else []
    metadata += [f"Requires-Dist: {requirement}" for requirement in requires]
    pure = str(tag.endswith("-any")).lower()
    contents: dict[str, bytes] = {
        **{path: data.encode() if isinstance(data, str) else data for path, data in files.items()},
        f"{info}/METADATA": ("\n".join(metadata) + "\n").encode(),
        f"{info}/WHEEL": (
            f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: {pure}\nTag: {tag}\n"
        ).encode(),
    }
    rows = [f"{path},{_digest(data)},{len(data)}" for path, data in contents.items()]
    contents[f"{info}/RECORD"] = "".join(f"{row}\n" for row in [*rows, f"{info}/RECORD,,"]).encode()
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{escaped}-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in contents.items():
            member = zipfile.ZipInfo(path, date_time=_EPOCH)
            member.external_attr = 0o644 << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, data)
    return wheel


def _digest(data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"sha256={digest}"
