"""Makes the toolchain image step by step in containers, for a run that has something to hide.

An image builder records what its steps are told: variables become history, files become layers.
Here the Dockerfile's files make one image, and each of its steps runs in a container whose nameless
volume holds the run's certificates, proxies and whatever else; what the step leaves becomes the
next image, without the volume. Every engine can do that, near or far, classic builder or BuildKit.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tfbuild import signals
from tfbuild.engine import certificates, proxies
from tfbuild.engine.base import SETUP_FOLDER, OnLine, Setup
from tfbuild.engine.client import LABEL_OWNER, LABEL_STEP, Client, Plan, toolchain_labels
from tfbuild.engine.owner import occupied, owner
from tfbuild.errors import EngineError

if TYPE_CHECKING:
    from tfbuild.recipe import Recipe

_STEP = re.compile(r"^RUN sh /tfbuild/toolchain\.sh ([a-z]+)\n", re.MULTILINE)


def are_needed(setup: Setup) -> bool:
    """Return whether a run brings more than an image builder can be told without recording it."""
    more = setup.environment.keys() - proxies.RECORDED_NOWHERE
    return certificates.PEM in setup.files or bool(more)


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The toolchain stage of one recipe, in one run."""

    client: Client
    recipe: "Recipe"
    base: str
    """Digest of the base image, for the image's label."""
    setup: Setup
    """Its variables and authorities are there for each step; its keys are for the compile."""
    on_line: OnLine

    def build(self, context: Path, tag: str) -> bool:
        """Make the image of that tag; return False if a step failed.

        A step that is done keeps an image of its own until all are done, so that a second try
        begins where the first one failed.

        Args:
            context: the recipe's files; the Dockerfile is changed.
            tag: name of the image.

        Raises:
            EngineError: the engine failed, not a step.
        """
        self._clear()
        files, names = split((context / "Dockerfile").read_text(encoding="utf-8"))
        (context / "Dockerfile").write_text(files, encoding="utf-8")
        image = self._files(context, f"{tag}-files")
        for name in names:
            if image is None:
                return False
            self.on_line(f"Step: {name}")
            step_tag = f"{tag}-{name}"
            image = self.client.image(step_tag) or self._step(image, name, step_tag)
        if image is None:
            return False
        self.client.tag(image, tag)
        for name in ("files", *names):
            with suppress(EngineError):
                self.client.untag(f"{tag}-{name}")
        return True

    def _files(self, context: Path, tag: str) -> str | None:
        """Make the image with the files alone; return its ID, None if that failed."""
        built = self.client.build(
            context,
            stage="toolchain",
            tag=tag,
            labels=toolchain_labels(self.recipe, self.base),
            on_line=self.on_line,
            proxies={},
        )
        return self.client.image(tag) if built else None

    def _step(self, image: str, name: str, tag: str) -> str | None:
        """Run a step in a container of the image; return the ID of what it made, None if not."""
        plan = Plan(
            image=image,
            command=("sh", "/tfbuild/toolchain.sh", name),
            labels={LABEL_STEP: self.recipe.toolchain_digest, LABEL_OWNER: owner()},
            private=SETUP_FOLDER,
        )
        variables = certificates.environment_file(self.setup.environment)
        authorities = self.setup.files.get(certificates.PEM, b"")
        files = {certificates.ENVIRONMENT: variables, certificates.PEM: authorities}
        container = self.client.create(plan)
        try:
            self.client.put(container, SETUP_FOLDER, files, mode=0o600)
            if self.client.run(container, self.on_line).code != 0:
                return None
            return self.client.commit(container, tag)
        finally:
            with signals.held(), suppress(EngineError):
                self.client.remove(container)

    def _clear(self) -> None:
        """Remove containers of steps whose tfbuild was killed."""
        found = self.client.containers(LABEL_STEP, self.recipe.toolchain_digest)
        for container, labels in found.items():
            is_running = self.client.is_running(container)
            if not occupied(labels.get(LABEL_OWNER, ""), is_running=is_running):
                with suppress(EngineError):
                    self.client.remove(container)


def start_from(dockerfile: Path, image: str, name: str) -> None:
    """Let a Dockerfile start from its base image under another name, that of a mirror."""
    if name != image:
        text = dockerfile.read_text(encoding="utf-8")
        changed = text.replace(f"FROM {image} AS toolchain\n", f"FROM {name} AS toolchain\n")
        dockerfile.write_text(changed, encoding="utf-8")


def split(dockerfile: str) -> tuple[str, list[str]]:
    """Return the Dockerfile without the steps of its toolchain stage, and the steps' names.

    Files come before all steps then; none of them is what a step makes.
    """
    names = _STEP.findall(dockerfile)
    files = _STEP.sub("", dockerfile)
    return files, names
