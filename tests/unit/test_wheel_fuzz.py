"""Wheels with bytes changed at random: a verdict or an error of ours, never anything else."""

import contextlib
import functools
import os
import resource
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wheel.wheelfile import WheelFile

from tests import faults
from tests.libraries import KERNELS, compiled, need_tools
from tests.wheels import make_wheel
from tfbuild.errors import WheelError
from tfbuild.verify import static
from tfbuild.wheel.inspect import inspect

NAME = "example-1.0-cp310-cp310-manylinux_2_36_x86_64.whl"
# The same examples each time, unless somebody wants more.
MORE = os.environ.get("TFBUILD_TEST_FUZZ", "")
bounded = settings(
    max_examples=int(MORE or 60),
    deadline=None,
    database=None,
    derandomize=not MORE,
    suppress_health_check=list(HealthCheck),
)

edits = st.lists(
    st.tuples(
        st.floats(0, 1, exclude_max=True),
        st.one_of(
            st.binary(min_size=1, max_size=8),
            st.sampled_from([b"\xff" * 8, bytes(8), b"\xff\xff\xff\x7f", b"PK\x01\x02", b"../"]),
        ),
        st.sampled_from(["replace", "insert", "delete", "cut", "repeat"]),
    ),
    min_size=1,
    max_size=6,
)


def mutated(data: bytes, changes: list[tuple[float, bytes, str]]) -> bytes:
    for where, new, how in changes:
        at = int(where * len(data))
        if how == "replace":
            data = data[:at] + new + data[at + len(new) :]
        elif how == "insert":
            data = data[:at] + new + data[at:]
        elif how == "delete":
            data = data[:at] + data[at + len(new) :]
        elif how == "repeat":
            data = data[:at] + data[at : at + 64 * len(new)] + data[at:]
        elif len(new) == 1:  # rarely: little is left to look at
            data = data[:at]
    return data


@functools.cache
def library() -> bytes:
    need_tools()
    with tempfile.TemporaryDirectory() as folder:
        # Small, and all tables are there.
        flags = ("-g0", "-Wl,-rpath,$ORIGIN", "-Wl,-z,norelro", "-Wl,-z,noseparate-code")
        return compiled(Path(folder), *flags, source=KERNELS).read_bytes()


@functools.cache
def whole() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        files = {faults.MODULE: faults.DATA, "example/m.so": library()}
        return make_wheel(
            Path(folder), "example", "1.0", NAME[12:-4], files=files, requires=["numpy>=1.20"]
        ).read_bytes()


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return tmp_path / NAME


@pytest.fixture(autouse=True, scope="module")
def little_memory() -> object:
    library()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000  # KiB


def survives(wheel: Path) -> None:
    found = static.checks(wheel)
    assert len(found) == len(static.NAMES)
    assert all(check.found for check in found)
    with contextlib.suppress(WheelError):
        inspect(wheel, full=True)
    statuses = {check.name: check.status for check in found}
    if statuses["structure"] == "passed" and statuses["record"] == "passed":
        with WheelFile(wheel) as archive:  # raises where a hash differs
            assert all(archive.read(info) is not None for info in archive.infolist())


@bounded
@given(changes=edits)
def test_changed_archives(wheel: Path, changes: list[tuple[float, bytes, str]]) -> None:
    wheel.write_bytes(mutated(whole(), changes))
    survives(wheel)


def _tables(data: bytes) -> bytes:
    """Return the directory at the end, and all before it."""
    return data[data.index(b"PK\x01\x02") :]


@bounded
@given(changes=edits)
def test_changed_directories(wheel: Path, changes: list[tuple[float, bytes, str]]) -> None:
    tables = _tables(whole())
    wheel.write_bytes(whole()[: -len(tables)] + mutated(tables, changes))
    survives(wheel)


def _repacked(wheel: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    wheel.write_bytes(whole())
    faults.rewritten(wheel, lambda contents: contents.update({name: change(contents[name])}))


@bounded
@given(changes=edits)
def test_changed_libraries(wheel: Path, changes: list[tuple[float, bytes, str]]) -> None:
    _repacked(wheel, "example/m.so", lambda data: mutated(data, changes))
    survives(wheel)


@bounded
@given(changes=edits)
def test_changed_headers_of_libraries(wheel: Path, changes: list[tuple[float, bytes, str]]) -> None:
    """Most of a library is code; its tables lie at both ends."""

    def change(data: bytes) -> bytes:
        return mutated(data[:1800], changes) + data[1800:-2600] + mutated(data[-2600:], changes)

    _repacked(wheel, "example/m.so", change)
    survives(wheel)


@bounded
@given(changes=edits, name=st.sampled_from(["METADATA", "WHEEL", "RECORD"]))
def test_changed_metadata(wheel: Path, changes: list[tuple[float, bytes, str]], name: str) -> None:
    _repacked(wheel, f"{faults.INFO}/{name}", lambda data: mutated(data, changes))
    survives(wheel)


def test_unchanged_it_is_good(wheel: Path) -> None:
    wheel.write_bytes(whole())
    survives(wheel)
    found = {check.name: check.status for check in static.checks(wheel)}
    assert found["structure"] == found["record"] == found["platform"] == "passed"
    assert zipfile.ZipFile(wheel).testzip() is None
