"""What an instrumented wheel runs while it counts."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tfbuild import bench, environment, machine, pythons, spec
from tfbuild.bench import variables, worker
from tfbuild.bench.setting import with_threads
from tfbuild.choice import choose
from tfbuild.errors import BenchError
from tfbuild.installer import Installer
from tfbuild.progress import Progress

if TYPE_CHECKING:
    from tfbuild.host import Host
    from tfbuild.record import BuiltWheel

_SEED = 1


class Trainer(Protocol):
    """Runs something with an installed wheel."""

    @property
    def name(self) -> str:
        """What tells its profile from others': "architectures-smoke"."""

    def train(self, wheel: Path, python: str, told: Mapping[str, str], progress: Progress) -> None:
        """Run it to its end, so that the counts are written.

        Args:
            wheel: the instrumented wheel.
            python: the Python that it is for: "3.12".
            told: variables that say where counts go.
            progress: is told what goes on.

        Raises:
            BenchError: it cannot be installed, or a process failed.
            HostError: this CPU cannot run it.
        """


@dataclass(frozen=True, kw_only=True)
class Architectures:
    """The six architectures of `tfbuild bench`, on generated data, in one process."""

    host: "Host"
    installer: Installer
    scale: bench.Scale = bench.Scale.SMOKE

    @property
    def name(self) -> str:
        """Its scale makes a profile another one."""
        return f"architectures-{self.scale}"

    def train(self, wheel: Path, python: str, told: Mapping[str, str], progress: Progress) -> None:
        """Make an environment for the wheel and train all six there."""
        del python  # the wheel says it
        here = environment.here(self.host, wheel.parent, self.installer)
        [choice] = choose([spec.parse(str(wheel))], here).choices
        # Making the environment imports TensorFlow, which counts too.
        with _variables(told):
            made = environment.prepare(choice, self.installer, self.host, progress)
            setting = with_threads(machine.read(self.host).threads)
            plan = bench.Plan(
                rounds=1,
                scale=self.scale,
                architectures=bench.ARCHITECTURES,
                seed=_SEED,
                data=bench.DataMode.GENERATED,
            )
            progress.phase("Training the instrumented wheel", len(plan.architectures))
            done = -1

            def started(architecture: str) -> None:
                nonlocal done
                done += 1
                progress.step(done, text=architecture)

            worker.ask(
                made.python,
                worker.Request(
                    architectures=plan.architectures,
                    plan=plan,
                    setting=setting,
                    seed=_SEED,
                    data_folder=None,
                ),
                name=wheel.name,
                chosen=variables.settings(setting, os.environ),
                on_start=started,
            )


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The rehearsal workspace's check of its kernels against plain Python."""

    installer: Installer
    name: str = "numbers"

    def train(self, wheel: Path, python: str, told: Mapping[str, str], progress: Progress) -> None:
        """Install the wheel into a new environment and run the check there."""
        from tfbuild.rehearse import checks

        base = pythons.first(python)
        if base is None:
            raise BenchError(f"There is no Python {python} here to run {wheel.name} with.")
        progress.phase("Running the instrumented wheel")
        with tempfile.TemporaryDirectory(prefix="tfbuild-") as folder:
            place, limits = Path(folder) / "environment", Path(folder) / "limits.txt"
            limits.touch()
            self.installer.create(place, base.path, wheel.name)
            self.installer.install(
                str(wheel), place / "bin/python", limits, what=wheel.name, progress=progress
            )
            with _variables(told):
                checks.numbers(place, python, None)


def trainer_for(built: "BuiltWheel", real: Architectures) -> Trainer:
    """Return what can be run with a wheel: the workspace of a rehearsal has no TensorFlow in it."""
    if built.distribution.replace("_", "-") == "tensorflow-rehearsal":
        return Numbers(installer=real.installer)
    return real


@contextmanager
def _variables(told: Mapping[str, str]) -> Iterator[None]:
    """Set variables for the processes that are started meanwhile."""
    before = {name: os.environ.get(name) for name in told}
    os.environ.update(told)
    try:
        yield
    finally:
        for name, text in before.items():
            if text is None:
                del os.environ[name]
            else:
                os.environ[name] = text
