"""The base image: here already, or to be had where the engine would fetch it."""

import os
import re
from collections.abc import Iterator

from tfbuild import mirrors
from tfbuild.engine.base import Engine
from tfbuild.engine.container import ContainerEngine
from tfbuild.errors import EngineError
from tfbuild.preflight import places
from tfbuild.preflight.finding import Finding, failure, ok, warning
from tfbuild.preflight.inquiry import Inquiry
from tfbuild.preflight.network import ask

_SECONDS = 6
_DO = "Check the network of the engine, fetch the image by other means, or name another: "


def base(inquiry: Inquiry) -> Iterator[Finding]:
    """Check that the base image is here, or that it can be fetched."""
    recipe, engine = inquiry.question.recipe, inquiry.engine()
    if recipe is None or not isinstance(engine, ContainerEngine):
        return
    setup = inquiry.question.setup
    image = mirrors.image(recipe.base_image, mirrors.of(setup.environment))
    if inquiry.has_toolchain():
        yield ok("image", "the toolchain image is here")
    elif inquiry.has_image(image):
        yield ok("image", f"{image} is here")
    elif setup.network:
        yield _fetched(engine, image)


def _fetched(engine: Engine, image: str) -> Finding:
    try:
        why = _why_not(engine, image)
    except TimeoutError as error:
        why, sure = str(error), False
    else:
        sure = True
    if not why:
        return ok("image", f"{image} can be fetched")
    what, do = f"{engine.name} cannot fetch the base image {image}.", f"{_DO}--base-image"
    if sure:
        return failure("image", EngineError(what, why=why, do=do))
    return warning("image", what, why=why, do=do)


def _why_not(engine: Engine, image: str) -> str:
    """Return why the image cannot be fetched, "" if it can. Raises TimeoutError."""
    if engine.name == "docker":
        # The daemon fetches it: its proxies, mirrors and name server count, not ours.
        from docker.errors import APIError, DockerException
        from requests import RequestException

        from tfbuild.engine import docker_host

        try:
            client = docker_host.connect(_SECONDS)
            try:
                client.inspect_distribution(image)  # type: ignore[no-untyped-call]
            finally:
                client.close()
        except APIError as error:
            return re.sub(r"://[^/\s@]*@", "://", str(error.explanation or error))
        except (DockerException, RequestException, OSError) as error:
            raise TimeoutError(f"No answer within {_SECONDS} s.") from error
        return ""
    return ask(f"https://{places.registry(image)}/v2/", os.environ).trouble
