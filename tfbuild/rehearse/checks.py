"""What a rehearsal's wheel must be like."""

import ast
import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tfbuild import process, provenance, sbom
from tfbuild.errors import WheelError
from tfbuild.rehearse import installers
from tfbuild.rehearse.steps import Skipped
from tfbuild.wheel import archive as archives

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfbuild.code.evidence import Count, Tally
    from tfbuild.record import BuiltWheel
    from tfbuild.target import Target

Key = TypeVar("Key", int, str)

_LIBRARY = "tensorflow_rehearsal/_pywrap_kernels.so"
_HOST_TOOLS = "tensorflow_rehearsal/host_tools.py"
_X86_64 = "x86_64"
# Not needed to run: what every CPU of the architecture has, and what compiled code has no part in.
_NO_NEED = frozenset({"baseline", "other"})
_RUN_SECONDS = 60.0
_PROGRAM = """
import json
import tensorflow_rehearsal
print(json.dumps(tensorflow_rehearsal.check()))
"""


def instructions(wheel: Path, target: "Target") -> str:
    """Check that the code has what the target offers, and nothing beyond it.

    Raises:
        WheelError: it has not.
        Skipped: another architecture than x86-64.
    """
    if target.architecture != _X86_64:
        raise Skipped(f"Instructions of {target.architecture} are not decoded.")
    from tfbuild.code import library

    counts = library.read_bytes(_read(wheel, _LIBRARY), _LIBRARY).total
    wrong = [*_missing(counts, target), *_too_many(counts, target)]
    told = (
        f"{_number(counts.widths, 512)} zmm, {_number(counts.widths, 256)} ymm, "
        f"{_number(counts.widths, 128)} xmm; {_number(counts.encodings, 'evex')} AVX-512, "
        f"{counts.fused.value} fused"
    )
    if wrong:
        raise WheelError(
            f"The wheel's code is not what {target.name} asks for.",
            why=f"{'; '.join(wrong)}. Found: {told}.",
            do="The flags did not reach the code: look at tfbuild.bazelrc (tfbuild render).",
        )
    return told


def _missing(counts: "Tally", target: "Target") -> list[str]:
    requires = target.requires
    expected = {
        "AVX-512": ("avx512f" in requires, _number(counts.encodings, "evex")),
        "AVX": ("avx" in requires, _number(counts.encodings, "vex")),
        # The kernels vectorise on every target, and as wide as it likes.
        f"{target.vector_width}-bit": (True, _number(counts.widths, target.vector_width)),
        "fused multiply-add": ("fma" in requires, counts.fused.value),
    }
    return [f"no {name} code" for name, (wanted, found) in expected.items() if wanted and not found]


def _number(counts: "Mapping[Key, Count]", key: "Key") -> int:
    return counts[key].value if key in counts else 0


def _too_many(counts: "Tally", target: "Target") -> list[str]:
    beyond = {name for name in counts.extensions if counts.has(name)}
    beyond -= target.requires | _NO_NEED
    return [f"code that needs {name}" for name in sorted(beyond)]


def host_tools(wheel: Path) -> str:
    """Check that the target's flags did not reach programs that run during the build.

    Such a program wrote down what it was compiled for. Raises WheelError.
    """
    tree = ast.parse(_read(wheel, _HOST_TOOLS))
    value = next(node.value for node in tree.body if isinstance(node, ast.Assign))
    found = ast.literal_eval(value)
    if found:
        raise WheelError(
            "The target's flags reached programs that run during the build.",
            why=f"They were compiled for {', '.join(found)}.",
            do="Such a build dies with an illegal instruction on a machine that lacks it.",
        )
    return "at the baseline: this build runs on any CPU of the architecture"


def components(wheel: Path, built: "BuiltWheel") -> str:
    """Check that the wheel carries its record and the list of what was compiled in.

    Raises:
        WheelError: it lacks one of them.
        Skipped: Bazel did not tell what it was made of.
    """
    with archives.opened(wheel) as opened:
        recipe = json.loads(opened.text(provenance.RECORD_NAME))["recipe_digest"]
        listed = json.loads(opened.text(sbom.PATH))
    if recipe != built.recipe_digest:
        raise WheelError(
            f"{wheel.name} carries the record of another recipe.",
            why=f"It names {recipe[:12]}; this is {built.recipe_digest[:12]}.",
        )
    if listed["compositions"][0]["aggregate"] == sbom.INCOMPLETE:
        raise Skipped(f"Bazel {built.bazel} does not tell all that the wheel was made of.")
    return f"recipe {recipe[:12]}, {len(listed['components'])} in {sbom.PATH}"


def numbers(place: Path, python: str, why_not: str | None) -> str:
    """Import the installed wheel and compare its kernels with plain Python.

    Args:
        place: an environment, or a folder that the wheel was installed into.
        python: "3.12".
        why_not: why this host cannot run the target's code, None if it can.

    Raises:
        WheelError: it does not run, or the numbers are wrong.
        Skipped: it cannot be run here.
    """
    if why_not:
        raise Skipped(f"Not run: {why_not}")
    interpreter = installers.environment_python(place)
    if interpreter is None:
        raise Skipped(f"Not run: no Python {python} on this machine.")
    try:
        done = process.run([interpreter, "-I", "-c", _PROGRAM], timeout=_RUN_SECONDS, check=False)
    except process.ProcessError as error:
        raise WheelError("The installed wheel does not run.", why=str(error)) from error
    if not done.ok:
        if "GLIBC_" in done.stderr:
            raise Skipped(f"Not run: {done.stderr.strip().splitlines()[-1]}")
        how = f"It was killed by {done.signal_name}.\n" if done.signal_name else ""
        raise WheelError("The installed wheel does not run.", why=how + done.stderr.strip())
    wrong = json.loads(done.stdout)
    if wrong:
        raise WheelError("The compiled kernels compute wrong numbers.", why=", ".join(wrong))
    return "every kernel agrees with plain Python"


def _read(wheel: Path, name: str) -> bytes:
    try:
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(name)
    except (KeyError, zipfile.BadZipFile) as error:
        raise WheelError(
            f"{wheel.name} is not the wheel of the bundled workspace.", why=str(error)
        ) from error
