"""Wheels with one fault each; pip, uv and `wheel unpack` may not be stricter than we are."""

import re
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from wheel.wheelfile import WheelError as UnpackError
from wheel.wheelfile import WheelFile

from tests import faults
from tests.faults import DATA, INFO, MODULE, good
from tfbuild.verify import static
from tfbuild.verify.model import Check

Fault = Callable[[Path], Path]
RECORD, WHEEL, METADATA = (f"{INFO}/{name}" for name in ("RECORD", "WHEEL", "METADATA"))


NUMBERS = "q2xfMjf1UdII_CylIlpMyiCz_WOHlKgE8O1VSdUEFzQ"
"""printf '0123456789%.0s' {1..100} | openssl dgst -sha256 -binary | base64"""


def of_record(old: str, new: str) -> Fault:
    return faults.replaced(RECORD, old.encode(), new.encode())


def of_wheel(old: str, new: str) -> Fault:
    return faults.replaced(WHEEL, old.encode(), new.encode())


def of_metadata(old: str, new: str) -> Fault:
    return faults.replaced(METADATA, old.encode(), new.encode())


# Fault -> (how to make it, the check that must fail or warn, its status, what it says)
FAULTS: dict[str, tuple[Fault, str, str, str]] = {
    "other bytes": (
        faults.replaced(MODULE, b"value = 1", b"value = 2"),
        "record", "failed", f"{MODULE} does not fit its hash",
    ),
    "wrong checksum": (
        faults.both(
            faults.header(b"PK\x03\x04", 14, "<I", 1), faults.header(b"PK\x01\x02", 16, "<I", 1)
        ),
        "structure", "failed", "cannot be unpacked: ",
    ),
    "not in RECORD": (
        faults.added("example/new.py"), "record", "failed", "example/new.py is not in RECORD",
    ),
    "in RECORD only": (
        faults.without(MODULE), "record", "failed", f"{MODULE} is in RECORD but not in the wheel",
    ),
    "wrong size": (
        of_record(f",{len(DATA)}\n", ",7\n"), "record", "failed", f"has {len(DATA)} bytes",
    ),
    "weak hash": (
        of_record("sha256=", "md5="), "record", "failed", "md5 hash",
    ),
    "no hash": (
        of_record(f"example/data.txt,sha256={NUMBERS}", "example/data.txt,"),
        "record", "failed", "example/data.txt has no hash",
    ),
    "two columns": (
        of_record(",\n", "\n"), "record", "failed", "2 columns instead of three",
    ),
    "no text": (
        of_record("example", "\udcff".encode("utf-8", "surrogateescape").decode("latin-1")),
        "record", "failed", "is in RECORD but not in the wheel",
    ),
    "empty line": (
        of_record("example/data.txt", "\nexample/data.txt"), "record", "failed",
        "0 columns instead of three",
    ),
    "too many lines": (
        of_record("example/data.txt", "x,,\n" * 200 + "example/data.txt"), "record", "failed",
        "It has more than 110 lines.",
    ),
    "huge METADATA": (
        of_metadata("Version: 1.0", "Version: 1.0\nKeywords: " + "x" * (3 << 20)), "structure",
        "failed", "METADATA is missing or cannot be read",
    ),
    "endless version": (
        of_metadata("Version: 1.0", "Version: " + "1" * 5000), "structure", "failed",
        "METADATA is missing or cannot be read",
    ),
    "outside": (
        of_record("example/data.txt", "../data.txt"), "record", "failed", "outside the wheel",
    ),
    "no sizes": (
        of_record(f",{len(DATA)}\n", ",\n"), "record", "warning", "1 files have no size",
    ),
    "no METADATA": (faults.without(METADATA), "structure", "failed", "METADATA is missing"),
    "no WHEEL": (faults.without(WHEEL), "structure", "failed", "WHEEL is missing"),
    "no RECORD": (faults.without(RECORD), "structure", "failed", "RECORD is missing"),
    "version 2": (
        of_wheel("Wheel-Version: 1.0", "Wheel-Version: 2.0"), "structure", "failed",
        "Wheel-Version '2.0'",
    ),
    "no version": (
        of_wheel("Wheel-Version: 1.0\n", ""), "structure", "failed", "Wheel-Version ''",
    ),
    "no purelib": (
        of_wheel("Root-Is-Purelib: true\n", ""), "structure", "failed", "Root-Is-Purelib",
    ),
    "other tag": (
        of_wheel("Tag: py3-none-any", "Tag: cp312-cp312-win_amd64"), "structure", "failed",
        "The file name says py3-none-any; WHEEL says cp312-cp312-win_amd64.",
    ),
    "countless tags": (
        of_wheel("Tag: py3-none-any", f"Tag: {'.'.join('a' * 999)}-{'.'.join('b' * 999)}-any"),
        "structure", "failed", "more than 10000 tags",
    ),
    "half a tag": (
        of_wheel("Tag: py3-none-any", "Tag: py3-none"), "structure", "failed", "a tag that is none",
    ),
    "no tag": (of_wheel("Tag: py3-none-any\n", ""), "structure", "failed", "WHEEL says nothing"),
    "other name": (
        of_metadata("Name: example", "Name: sample"), "structure", "failed",
        "The file name says example 1.0; METADATA says sample 1.0.",
    ),
    "other version": (
        of_metadata("Version: 1.0", "Version: 1.1"), "structure", "failed",
        "METADATA says example 1.1",
    ),
    "no name": (of_metadata("Name: example\n", ""), "structure", "failed", "METADATA: "),
    "bad requirement": (
        of_metadata("Version: 1.0", "Version: 1.0\nRequires-Dist: numpy >= two"),
        "structure", "failed", "METADATA: ",
    ),
    "bad Python": (
        of_metadata("Version: 1.0", "Version: 1.0\nRequires-Python: three"),
        "structure", "failed", "METADATA: ",
    ),
    "bad classifier": (
        of_metadata("Version: 1.0", "Version: 1.0\nDescription-Content-Type: text/word"),
        "structure", "warning", "METADATA: ",
    ),
    "link": (faults.link("lib.so.1"), "structure", "failed", "example/link.so is a symbolic link"),
    "link outside": (faults.link("../../etc/passwd"), "structure", "failed", "symbolic link"),
    "unknown scheme": (
        faults.added("example-1.0.data/attic/x"), "structure", "failed", "example-1.0.data/attic",
    ),
    "other data": (
        faults.added("other-2.0.data/purelib/x.py"), "structure", "failed",
        "other-2.0.data should be called example-1.0.data",
    ),
    "case": (
        faults.added("example/DATA.txt"), "structure", "warning",
        "example/DATA.txt, example/data.txt",
    ),
}  # fmt: skip


def verdicts(wheel: Path) -> dict[str, Check]:
    return {check.name: check for check in static.checks(wheel)}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_found_and_named(name: str, tmp_path: Path) -> None:
    make, check, status, says = FAULTS[name]
    found = verdicts(make(good(tmp_path)))[check]
    assert found.status == status
    assert says in "\n".join((found.found, *found.details, found.why))
    assert found.do


# One process for all wheels: most of pip's time goes into its own imports.
_PIP = """
import sys
from pip._internal.cli.main import main
for wheel in sys.argv[1:]:
    options = ["--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check", "-qqq"]
    done = main(["install", *options, "--target", wheel + ".pip", wheel])
    print("verdict", done, wheel)
"""


def pip_refuses(wheels: Sequence[Path]) -> set[Path]:
    command = [sys.executable, "-c", _PIP, *map(str, wheels)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    verdicts = re.findall(r"^verdict (\d+) (.*)$", done.stdout, re.MULTILINE)
    assert len(verdicts) == len(wheels)
    return {Path(wheel) for code, wheel in verdicts if code != "0"}


def uv_refuses(wheel: Path) -> bool:
    from uv import find_uv_bin

    command = [find_uv_bin(), "pip", "install", "--no-deps", "--offline", "--no-cache",
               "--python", sys.executable, "--target", f"{wheel}.uv", str(wheel)]  # fmt: skip
    return subprocess.run(command, capture_output=True, check=False).returncode != 0


def unpacks(wheel: Path) -> bool:
    """What `wheel unpack` does, which compares hashes while it reads."""
    try:
        with WheelFile(wheel) as archive:
            for info in archive.infolist():
                archive.read(info)
    except (UnpackError, zipfile.BadZipFile, KeyError, ValueError, RuntimeError, EOFError):
        return False
    except (OSError, NotImplementedError):
        return False
    return True


def test_no_installer_refuses_what_passes(tmp_path: Path) -> None:
    wheels = {name: fault[0](good(tmp_path / name)) for name, fault in FAULTS.items()}
    wheels["good"] = good(tmp_path / "good")
    refusing_pip = pip_refuses(list(wheels.values()))
    judges: Counter[str] = Counter()
    for name, wheel in wheels.items():
        refused = {"pip"} if wheel in refusing_pip else set()
        refused |= {"uv"} if uv_refuses(wheel) else set()
        refused |= set() if unpacks(wheel) else {"wheel"}
        judges.update(refused)
        statuses = {check.status for check in verdicts(wheel).values()}
        assert not refused or "failed" in statuses, (name, refused)
        # Nobody else compares hashes; and the good one is good for all.
        assert name != "other bytes" or refused == {"wheel"}
        assert name != "good" or not refused
    assert min(judges[judge] for judge in ("pip", "uv", "wheel")) > 2, judges


def test_old_names_of_platforms_are_the_new_ones(tmp_path: Path) -> None:
    """As in the official wheel of 2.8.4: one tag in the name, two in WHEEL."""
    wheel = good(tmp_path, tag="cp310-cp310-manylinux2010_x86_64")
    second = "Tag: cp310-cp310-manylinux_2_12_x86_64\nTag: cp310"
    found = verdicts(of_wheel("Tag: cp310", second)(wheel))
    assert found["structure"].status == "passed"


def test_several_faults_are_counted_and_listed(tmp_path: Path) -> None:
    wheel = good(tmp_path)
    for number in range(30):
        faults.added(f"example/new{number:02}.py")(wheel)
    found = verdicts(wheel)["record"]
    assert found.found == "30 faults, the first: example/new00.py is not in RECORD."
    assert len(found.details) == 21
    assert found.details[-1] == "and 10 more"


def test_stronger_hashes_are_read(tmp_path: Path) -> None:
    import base64
    import hashlib

    digest = hashlib.sha512(DATA).digest()
    strong = base64.urlsafe_b64encode(digest).decode()  # with padding, which some tools write
    weak = base64.urlsafe_b64encode(hashlib.sha256(DATA).digest()).rstrip(b"=").decode()
    wheel = of_record(f"sha256={weak}", f"sha512={strong}")(good(tmp_path))
    assert verdicts(wheel)["record"].status == "passed"
    wrong = of_record(f"sha512={strong[:9]}", f"sha512={strong[:8]}x")(wheel)
    assert verdicts(wrong)["record"].status == "failed"


def test_signatures_need_no_hash(tmp_path: Path) -> None:
    wheel = faults.added(f"{INFO}/RECORD.jws", b"{}")(good(tmp_path))
    found = verdicts(wheel)["record"]
    assert found.status == "warning"
    assert "PEP 815" in found.found


def test_a_labelled_wheel_is_as_good_as_before(tmp_path: Path) -> None:
    from tfbuild.wheel.label import relabel

    found = verdicts(relabel(good(tmp_path), "skylake", tmp_path / "out", {"tfbuild.json": b"{}"}))
    assert [check.status for check in found.values()][:3] == ["passed"] * 3


def test_only_those_checks_that_are_wanted(tmp_path: Path) -> None:
    names = [check.name for check in static.checks(good(tmp_path), skip=["record", "pins"])]
    assert names == ["structure", "platform", "libraries", "python"]
