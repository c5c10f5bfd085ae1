"""What passes for an environment with TensorFlow, and the command line run in this process."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tfbuild.cli import app

FAKE_TENSORFLOW = """
import sys
__version__ = "2.8.4"
class _Array:
    def numpy(self): return 1.0
class linalg:
    @staticmethod
    def matmul(a, b): return _Array()
def ones(shape): return _Array()
"""


def environment(folder: Path, name: str, **behaviour: Any) -> Path:
    """Make a virtual environment with something that passes for TensorFlow."""
    home = folder / name
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    site = next(home.glob("lib/python*/site-packages"))
    (site / "tensorflow").mkdir()
    (site / "tensorflow/__init__.py").write_text(FAKE_TENSORFLOW)
    info = site / "tensorflow_cpu-2.8.4.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tensorflow-cpu\nVersion: 2.8.4\n")
    (info / "RECORD").write_text("tensorflow/__init__.py,,\n")
    (home / "bin/behaviour.json").write_text(json.dumps(behaviour))
    return home / "bin/python"


def tfbuild_here(monkeypatch: pytest.MonkeyPatch, *words: str | Path) -> int:
    """Run the command line in this process and return its exit code."""
    monkeypatch.setenv("TFBUILD_DATA", "generated")
    monkeypatch.setattr(sys, "argv", ["tfbuild", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        app.main()
    return int(str(ended.value.code))
