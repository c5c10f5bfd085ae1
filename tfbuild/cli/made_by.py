"""Shows where a wheel comes from: by the record inside it, or before it is built."""

import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tfbuild.cli import console

if TYPE_CHECKING:
    from tfbuild.recipe import Recipe
    from tfbuild.record import BuiltWheel


def rows(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Give title and text of what a wheel's own record tells; a record may be anybody's."""
    flags = record.get("flags")
    words = [str(flag) for flag in flags] if isinstance(flags, list) else []
    made = (_text(record, "tfbuild"), "for", _text(record, "target"), *words)
    yield "Made by tfbuild", " ".join(word for word in made if word)
    source = record.get("source")
    if isinstance(source, dict):
        parts = (_text(source, "url") or _text(source, "kind"), _text(source, "ref"))
        yield "Source", _joined(*parts, _text(source, "commit"), _named("sha256", source, "sha256"))
    yield "Built with", _joined(_named("bazel", record), _text(record, "compiler"), _built(record))
    yield "Base image", _joined(_text(record, "base_image"), _text(record, "base_digest"))
    yield "Recipe", _text(record, "recipe_digest")


def base(built: "BuiltWheel") -> str:
    """Return the base image with what its name stood for."""
    # A recipe that names a digest has it in the name.
    digest = "" if "@" in built.base_image else built.base_digest
    return f"{built.base_image} {digest}".strip()


def tell_pin(recipe: "Recipe") -> None:
    """Say how to pin the base image where the recipe names it by a tag."""
    image = recipe.base_image
    if "@" in image:
        return
    look = f"docker image inspect --format '{{{{index .RepoDigests 0}}}}' {shlex.quote(image)}"
    console.say(
        f"note: {image} may become another image. What it is now, once it was pulled: {look}; "
        "give that to --base-image. A wheel's record has the one that it was built on."
    )


def _built(record: Mapping[str, Any]) -> str:
    return _joined(_named("python_full", record, "Python"), _text(record, "libc"))


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else ""


def _named(name: str, record: Mapping[str, Any], title: str = "") -> str:
    text = _text(record, name)
    return f"{title or name.capitalize()} {text}" if text else ""


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)
