"""Asks another interpreter about its TensorFlow."""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from tfbuild import process
from tfbuild.errors import BenchError, HostError, TfbuildError
from tfbuild.process import Completed
from tfbuild.progress import Progress, Silent

_SECONDS = 600.0
# What TensorFlow's own check says before it aborts (tensorflow/core/platform/cpu_feature_guard.cc).
_GUARD = re.compile(r"compiled to use (.+?) instructions, but these aren't available")
_MARK = "tfbuild-probe:"
_LAST_LINES = 12

# Runs in Python 3.8 to 3.13, without anything but the standard library and, where asked,
# TensorFlow. Its answer is marked, since TensorFlow prints too.
_SCRIPT = """
import json, platform, sys
from importlib import metadata
packages, holders = {}, []
for one in metadata.distributions():
    name = (one.metadata["Name"] or "").lower().replace("_", "-")
    if not name or name in packages:
        continue
    packages[name] = one.version
    if any(str(file) == "tensorflow/__init__.py" for file in one.files or ()):
        holders.append(name)
tensorflow = None
if sys.argv[1] == "import":
    import tensorflow as tf
    tf.linalg.matmul(tf.ones((64, 64)), tf.ones((64, 64))).numpy()
    getattr(getattr(tf, "keras", None), "Sequential", None)  # Keras 3 is imported only now
    tensorflow = tf.__version__
print("MARK" + json.dumps({
    "python": platform.python_version(),
    "distribution": holders[0] if holders else "",
    "version": packages[holders[0]] if holders else "",
    "tensorflow": tensorflow or "",
    "packages": sorted(name + "==" + version for name, version in packages.items()),
}))
""".replace("MARK", _MARK)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What an interpreter says about itself."""

    python: str
    """"3.11.7"."""
    distribution: str
    """The distribution that holds the package `tensorflow`; empty where nobody knows."""
    version: str
    tensorflow: str
    """TensorFlow's own version; empty when it was not imported."""
    packages: tuple[str, ...]


def looked(name: str, python: Path) -> Seen:
    """Return what is installed, without importing TensorFlow.

    Raises:
        BenchError: the interpreter does not run, or has no TensorFlow.
    """
    seen = _seen(name, _run(name, python, "look"))
    if not seen.distribution:
        raise BenchError(
            f"{python} has no TensorFlow.",
            do="Install one into it: pip install 'tfbuild[tensorflow]'",
        )
    return seen


def imported(name: str, python: Path, *, ours: bool, progress: Progress | None = None) -> Seen:
    """Import TensorFlow, run one product of matrices, and return what is installed.

    Args:
        name: the spec, for errors.
        python: the interpreter.
        ours: whether the environment is ours: then bytecode is kept in it, whatever the user has
            set, for without that each of many processes would take 13 s instead of 4 to import.
        progress: is told of the search for an instruction that this CPU lacks.

    Raises:
        HostError: this CPU lacks instructions that it uses; it says which.
        BenchError: it cannot be imported.
    """
    done = _run(name, python, "import", ours=ours)
    if done.signal_name == "SIGILL" and not _GUARD.search(done.stderr):
        raise _illegal(name, python, progress or Silent())
    if not done.ok:
        raise _refused(name, python, done)
    return _seen(name, done)


def _illegal(name: str, python: Path, progress: Progress) -> TfbuildError:
    from tfbuild import illegal, resources

    death = illegal.Death(
        name=name,
        doing="while TensorFlow was imported",
        python=python,
        script=resources.folder("benchmarks") / "worker.py",
        request='{"architectures": []}',
        variables=_quiet(),
    )
    return illegal.explain(death, progress)


def _run(name: str, python: Path, what: str, *, ours: bool = False) -> Completed:
    quiet = _quiet()
    if ours:
        quiet.pop("PYTHONDONTWRITEBYTECODE", None)
    try:
        return process.run([python, "-c", _SCRIPT, what], env=quiet, timeout=_SECONDS, check=False)
    except process.ProcessError as error:
        raise BenchError(f"{name} cannot be measured: {error.what}", why=error.why) from error


def _quiet() -> dict[str, str]:
    quiet = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "0"}
    for variable in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"):
        quiet.pop(variable, None)
    return quiet


def _seen(name: str, done: Completed) -> Seen:
    _, mark, answer = done.stdout.rpartition(_MARK)
    if not done.ok or not mark:
        raise BenchError(f"{name} is no Python that answers.", why=_last(done))
    fields = json.loads(answer)
    return Seen(**{**fields, "packages": tuple(fields["packages"])})


def _refused(name: str, python: Path, done: Completed) -> TfbuildError:
    if guard := _GUARD.search(done.stderr):
        from tfbuild import host

        here = host.detect()
        return HostError(
            f"This CPU cannot run {name}.",
            why=f"TensorFlow's own check: it was compiled to use {guard[1]}, which this CPU lacks."
            f"\nThis CPU is {here.microarchitecture or 'unknown'} ({here.brand}).",
            do=f"See all that it needs: tfbuild inspect {python} --host\n"
            "Take a wheel for this CPU: pip, or compile one with tfbuild wheel.",
        )
    if "No module named 'tensorflow'" in done.stderr:
        return BenchError(
            f"{name} has no TensorFlow.", why=_last(done), do="Name a distribution that holds one."
        )
    how = f"died of {done.signal_name}" if done.signal_name else "failed"
    return BenchError(f"Importing the TensorFlow of {name} {how}.", why=_last(done))


def _last(done: Completed) -> str:
    return "\n".join(done.stderr.strip().splitlines()[-_LAST_LINES:])
