"""Compiles in a container: what Docker and Podman have in common.

The toolchain is an image, the compile is a container of it. Nothing is mounted from this machine:
the script goes in and the wheel comes out by copy, so the engine may be a remote one, and what
comes out belongs to whoever runs tfbuild.
"""

import tempfile
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tfbuild import mirrors, signals
from tfbuild.engine import steps, transfer, trouble
from tfbuild.engine.base import NO_SETUP, SETUP_FOLDER, Exit, Facts, OnLine, Setup, joined
from tfbuild.engine.client import (
    LABEL_BASE,
    LABEL_CACHE,
    LABEL_OWNER,
    LABEL_WHAT,
    Client,
    Plan,
    toolchain_labels,
    what,
)
from tfbuild.engine.owner import occupied, owner
from tfbuild.errors import EngineError

if TYPE_CHECKING:
    from tfbuild.recipe import Recipe

LABEL_RECIPE = "tfbuild.recipe"
_SCRIPT = "build.sh"
_SHORT = 16
CACHES = ("tfbuild-cache-<toolchain image>", "tfbuild-downloads")
"""The cache volumes, as they are told to a user."""


@dataclass(frozen=True, kw_only=True)
class ContainerEngine:
    """An Engine that works with containers."""

    client: Client

    @property
    def name(self) -> str:
        """The word of `--engine`."""
        return self.client.name

    def facts(self) -> Facts:
        """Ask the engine what it is. Raises EngineError."""
        return self.client.facts()

    def prepare(self, recipe: "Recipe", on_line: OnLine, setup: Setup = NO_SETUP) -> str:
        """Return the ID of the toolchain image; build it if this recipe's is not there."""
        tag = image_tag(recipe)
        there = self.client.image(tag)
        if there is not None:
            return there
        if not setup.network:
            return transfer.load_image(self.client, setup, tag, on_line)
        base_image = self._base_image(recipe, setup, on_line)
        base = base_image.partition("@")[2] or self.client.digest(base_image)
        lines: deque[str] = deque(maxlen=2000)

        def keep(line: str) -> None:
            lines.append(line)
            on_line(line)

        full = self._with_proxies(setup)
        with tempfile.TemporaryDirectory(prefix="tfbuild-") as name:
            context = Path(name) / "context"
            recipe.write(context)
            steps.start_from(context / "Dockerfile", recipe.base_image, base_image)
            if steps.are_needed(full):
                way = steps.Steps(
                    client=self.client, recipe=recipe, base=base, setup=full, on_line=keep
                )
                built = way.build(context, tag)
            else:
                built = self.client.build(
                    context,
                    stage="toolchain",
                    tag=tag,
                    labels=toolchain_labels(recipe, base),
                    on_line=keep,
                    proxies=full.environment,
                )
        image = self.client.image(tag) if built else None
        if image is None:
            raise trouble.image_error(self.name, list(lines), recipe.base_image)
        return image

    def base(self, toolchain: str | None) -> str:
        """Return the digest or ID of the base image, as it was when the toolchain was made."""
        return self.client.labels(toolchain).get(LABEL_BASE, "") if toolchain else ""

    def compile(
        self,
        recipe: "Recipe",
        toolchain: str | None,
        out: Path,
        on_line: OnLine,
        setup: Setup = NO_SETUP,
    ) -> Exit:
        """Run the build script in a container of the toolchain image."""
        if toolchain is None:
            raise ValueError("prepare() comes first")
        self._clear(recipe)
        self._make_volumes(recipe, toolchain)
        plan = Plan(
            name=f"tfbuild-{recipe.digest[:_SHORT]}",
            image=toolchain,
            command=("bash", f"/tfbuild/{_SCRIPT}"),
            volumes=volumes(toolchain),
            labels={
                LABEL_RECIPE: recipe.digest,
                LABEL_OWNER: owner(),
                LABEL_WHAT: f"{what(recipe)}, {recipe.label}",
            },
            environment={**self._with_proxies(setup).environment, "TFBUILD_EVENTS": "yes"},
            network=setup.network,
        )
        files = recipe.script_files()
        container = self._create(recipe, plan)
        try:
            self.client.put(container, "/tfbuild", files)
            self.client.put(container, SETUP_FOLDER, setup.placed(SETUP_FOLDER), mode=0o600)
            transfer.send_fetched(self.client, container, setup)
            end = self.client.run(container, on_line)
            if end.code == 0:
                out.mkdir(parents=True, exist_ok=True)
                self.client.get(container, "/out", out)
        finally:
            # A container that cannot be removed must not cost the wheel; the next run tries again.
            with signals.held(), suppress(EngineError):
                self.client.remove(container)
        return end

    def reaches(self, recipe: "Recipe", host: str, port: int) -> bool:
        """Try to connect from a container of the base image; bash can do that by itself."""
        self._pull(recipe.base_image, _ignore)
        # Host and port come as arguments, so that the shell does not read them.
        knock = ("timeout", "5", "bash", "-c", 'exec 3<>"/dev/tcp/$0/$1"', host, str(port))
        plan = Plan(image=recipe.base_image, command=knock, labels={LABEL_OWNER: owner()})
        with signals.stoppable():
            container = self.client.create(plan)
            try:
                return self.client.run(container, _ignore).code == 0
            finally:
                # `tfbuild cache prune` finds what cannot be removed now.
                with signals.held(), suppress(EngineError):
                    self.client.remove(container)

    def _with_proxies(self, setup: Setup) -> Setup:
        """Return the setup as containers get it.

        What the engine's own settings say is meant for containers, so it is better than what this
        machine's programs use.
        """
        return joined(setup, Setup(environment=self.client.proxies()))

    def _base_image(self, recipe: "Recipe", setup: Setup, on_line: OnLine) -> str:
        """Return the name under which the base image is there, fetched if need be."""
        if self.client.image(recipe.base_image) is not None:
            return recipe.base_image
        name = mirrors.image(recipe.base_image, mirrors.of(setup.environment))
        self._pull(name, on_line)
        return name

    def _pull(self, image: str, on_line: OnLine) -> None:
        """Fetch an image that is not there."""
        if self.client.image(image) is not None:
            return
        lines: list[str] = []

        def keep(line: str) -> None:
            lines.append(line)
            on_line(line)

        try:
            self.client.pull(image, keep)
        except EngineError as error:
            lines += error.why.splitlines()
            raise trouble.image_error(self.name, lines, image) from error

    def _make_volumes(self, recipe: "Recipe", toolchain: str) -> None:
        """Make the cache volumes with the labels by which `tfbuild cache` knows them."""
        actions, downloads = volumes(toolchain)
        self.client.make_volume(actions, {LABEL_CACHE: "actions", LABEL_WHAT: what(recipe)})
        self.client.make_volume(downloads, {LABEL_CACHE: "downloads"})

    def _create(self, recipe: "Recipe", plan: Plan) -> str:
        """Make the compile's container: of two that come at once, the name lets one in."""
        try:
            return self.client.create(plan)
        except EngineError:
            self._clear(recipe)
            raise

    def _clear(self, recipe: "Recipe") -> None:
        """Remove what a killed tfbuild has left of this recipe; refuse if one is at work."""
        for container, labels in self.client.containers(LABEL_RECIPE, recipe.digest).items():
            # Of another user, or of another machine that shares this engine.
            by = labels.get(LABEL_OWNER, "")
            busy = occupied(by, is_running=self.client.is_running(container))
            if busy:
                raise EngineError(
                    "This very recipe is being compiled already.",
                    why=f"In container {container[:12]}: {busy}.",
                    do=f"Wait for it, or end it: {self.name} rm --force {container[:12]}",
                )
            with suppress(EngineError):
                self.client.remove(container)


def image_tag(recipe: "Recipe") -> str:
    """Return the tag of the recipe's toolchain image; targets share it."""
    return f"tfbuild-toolchain:{recipe.toolchain_digest[:_SHORT]}"


def cache_volume(image: str) -> str:
    """Return the name of the volume with the finished actions of a toolchain image."""
    return f"tfbuild-cache-{image.removeprefix('sha256:')[:_SHORT]}"


def volumes(image: str) -> dict[str, str]:
    """Return the cache volumes, name -> place.

    Bazel does not hash the compiler that it finds in /usr/bin, so results are only shared by
    containers of one and the same image. What it downloads is checked by hash and serves all.
    """
    return {cache_volume(image): "/cache", "tfbuild-downloads": "/cache/repository"}


def _ignore(line: str) -> None:
    """Take a line and do nothing."""
