"""JSON in and out: every value that a room hands on can lie beside the wheel as a file.

A file is one object: `schema` ("tfbuild.host/1": the kind of value, and a number that grows when a
field changes its meaning), then the fields of the value. Files appear whole or not at all.
"""

import contextlib
import errno
import hashlib
import itertools
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Protocol, TypeVar

import msgspec

from tfbuild.errors import SaveError, UsageError


class Artifact(Protocol):
    """A frozen dataclass that can be saved. Its fields are types that msgspec knows."""

    SCHEMA: ClassVar[str]
    VERSION: ClassVar[int]
    __dataclass_fields__: ClassVar[dict[str, Any]]


T = TypeVar("T", bound=Artifact)


def _encode_other(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError(type(value))


def _decode_other(kind: type, value: object) -> object:
    if issubclass(kind, Path):
        return Path(str(value))
    raise NotImplementedError(kind)


def _schema_of_other(kind: type) -> dict[str, Any]:
    if issubclass(kind, Path):
        return {"type": "string"}
    raise NotImplementedError(kind)


def to_dict(value: Artifact) -> dict[str, Any]:
    """Return the value as plain JSON types, with `schema` first."""
    fields = msgspec.to_builtins(value, enc_hook=_encode_other, order="deterministic")
    return {"schema": f"{value.SCHEMA}/{value.VERSION}", **fields}


def to_json(value: Artifact) -> str:
    """Return the value as indented JSON text that ends in a newline."""
    return dict_to_json(to_dict(value))


def json_schema(*kinds: type[Artifact]) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) that files of a kind of value fulfil, or of any."""
    found = [_json_schema(kind) for kind in kinds]
    if len(found) == 1:
        return found[0]
    # With a name of its own, each keeps its definitions to itself.
    parts = [{**one, "$id": f"urn:tfbuild:{one['title'].replace('/', ':')}"} for one in found]
    return {"$schema": found[0]["$schema"], "oneOf": parts}


def _json_schema(kind: type[Artifact]) -> dict[str, Any]:
    made = msgspec.json.schema(kind, schema_hook=_schema_of_other)
    definitions: dict[str, Any] = made["$defs"]
    own = definitions.pop(made["$ref"].rpartition("/")[2])
    name = f"{kind.SCHEMA}/{kind.VERSION}"
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **own,
        "title": name,
        "properties": {"schema": {"const": name}, **own["properties"]},
        "required": ["schema", *own["required"]],
        "$defs": definitions,
    }


def dict_to_json(data: object) -> str:
    """Return plain JSON types as indented text that ends in a newline."""
    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"


def from_json(kind: type[T], text: str | bytes, *, source: str = "JSON") -> T:
    """Read a value back.

    Raises:
        UsageError: the text is not JSON, is another schema or version, or a field is wrong.
    """
    data = _decoded(text, source)
    found = data.pop("schema", None) if isinstance(data, dict) else None
    name, _, version = str(found).rpartition("/")
    if name != kind.SCHEMA:
        raise UsageError(f"{source} is not a {kind.SCHEMA} file.", why=f"Its schema is {found!r}.")
    if version != str(kind.VERSION):
        raise UsageError(
            f"{source} has version {version} of {kind.SCHEMA}.",
            why=f"This tfbuild reads version {kind.VERSION}.",
            do="Read it with the tfbuild that wrote it, or make it again.",
        )
    try:
        # JSON has only strings as keys, so a whole number as key comes back as one.
        return msgspec.convert(data, kind, dec_hook=_decode_other, str_keys=True)
    except msgspec.ValidationError as error:
        raise UsageError(f"{source} is damaged.", why=str(error)) from error


def schema_of(text: str | bytes, *, source: str = "JSON") -> str:
    """Return the name of a text's schema, without its version; "" where it names none.

    Raises:
        UsageError: the text is not JSON.
    """
    data = _decoded(text, source)
    found = data.get("schema") if isinstance(data, dict) else None
    return found.rpartition("/")[0] if isinstance(found, str) else ""


def _decoded(text: str | bytes, source: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"{source} is not JSON.", why=str(error)) from error


def load(kind: type[T], path: Path) -> T:
    """Read a value from a file; errors as `from_json`, or when the file cannot be read."""
    return from_json(kind, read(path), source=str(path))


def is_file(path: Path) -> bool:
    """Return whether there is such a file; a name that no file can have is none, and no error."""
    return os.path.isfile(path)  # noqa: PTH113 - Path.is_file raises on names that are too long


def read(path: Path) -> bytes:
    """Return what is in a file; a UsageError if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"Cannot read {path}.", why=error.strerror or str(error)) from error


def save(value: Artifact, path: Path) -> Path:
    """Write the value as JSON, whole or not at all. Raises SaveError."""
    return write_text(path, to_json(value))


def write_text(path: Path, text: str) -> Path:
    """Write UTF-8 text, whole or not at all. Raises SaveError."""
    return write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> Path:
    """Write bytes, whole or not at all. Raises SaveError."""
    with writing(path) as file:
        file.write(data)
    return path


@contextmanager
def reserved(folder: Path, name: str, suffix: str) -> Iterator[Path]:
    """Hold a file name that is nobody else's, from before the work until its result is saved.

    An empty file takes the name, `<name>-2<suffix>` and so on where it is taken: so two processes
    that begin in the same second keep their results, and a folder that cannot be written is found
    out before the work. If nothing was saved there by the end, the empty file goes.

    Raises:
        SaveError: the folder may not be written, or the disk is full.
    """
    path = _take(folder, name, suffix)
    try:
        yield path
    finally:
        with contextlib.suppress(OSError):
            if path.stat().st_size == 0:
                path.unlink()


def _take(folder: Path, name: str, suffix: str) -> Path:
    for number in itertools.count(1):
        path = folder / f"{name}{f'-{number}' if number > 1 else ''}{suffix}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.touch(exist_ok=False)
        except FileExistsError as error:
            if not folder.is_dir():
                raise _save_error(path, error) from error
        except OSError as error:
            raise _save_error(path, error) from error
        else:
            return path
    raise AssertionError


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file in the target's folder; on success it takes the target's name.

    On any error the temporary file goes and what stood at `path` stays.

    Raises:
        SaveError: the disk is full, or the place may not be written.
    """
    temporary = _temporary(path)
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        # Writing itself names no file; an error that names another one is not about this file.
        if error.filename in {None, str(temporary)}:
            raise _save_error(path, error) from error
        raise
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _temporary(path: Path) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".part"
        )
    except OSError as error:
        raise _save_error(path, error) from error
    os.close(handle)
    return Path(name)


def _save_error(path: Path, error: OSError) -> SaveError:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return SaveError(
            f"Cannot save {path}: the disk is full.",
            why=error.strerror or str(error),
            do=f"Free some space on the disk of {path.parent}; nothing half-written was left.",
        )
    return SaveError(
        f"Cannot save {path}.",
        why=error.strerror or str(error),
        do="Choose another place, or make this one writable.",
    )


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def sha256(path: Path) -> str:
    """Return the file's SHA-256 as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
