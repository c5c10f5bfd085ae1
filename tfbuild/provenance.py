"""What a wheel says about its making: its record, beside it and inside it."""

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from packaging.utils import parse_wheel_filename

from tfbuild import __version__, artifact, sbom
from tfbuild.made import Made
from tfbuild.record import BuiltWheel, Source
from tfbuild.wheel import label, own

if TYPE_CHECKING:
    from tfbuild.recipe import Recipe

RECORD_NAME = own.NAME
"""The record's name inside a wheel's .dist-info."""


def record(recipe: "Recipe", wheel: str, told: Made) -> BuiltWheel:
    """Return the record without what only the engine, the run and the finished file tell.

    Args:
        recipe: what was built.
        wheel: file name that the build gave the wheel.
        told: the build script's own words.
    """
    name, version, _, _ = parse_wheel_filename(wheel)
    file, bare, *tags = wheel.removesuffix(".whl").split("-")
    decided = json.loads(recipe.files["recipe.json"])
    return BuiltWheel(
        file="-".join([file, f"{bare.partition('+')[0]}+{recipe.label}", *tags]) + ".whl",
        distribution=name,
        version=f"{version.public}+{recipe.label}",
        tensorflow=recipe.tensorflow,
        python=recipe.python,
        architecture=recipe.target.architecture,
        target=recipe.target.name,
        requires=recipe.target.requires,
        # Where only the image knows its compiler, as the script chose.
        flags=tuple(told.flags.split()) or recipe.flags,
        recipe_digest=recipe.digest,
        toolchain_digest=recipe.toolchain_digest,
        compiler=told.compiler,
        bazel=told.bazel,
        built_at=datetime.now(UTC).replace(microsecond=0),
        tfbuild=__version__,
        notices=(*recipe.notices, *told.notices),
        source=Source(**decided["source"], commit=told.commit),
        profile=decided["profile"],
        options=(*recipe.bazel_options, *told.options),
        python_full=told.python,
        python_packages=dict(sorted(told.packages.items())),
        libc=told.libc,
        source_date_epoch=label.moment_of(told.source_date_epoch),
    )


def inside(record: BuiltWheel, told: Made) -> dict[str, bytes]:
    """Return what the wheel carries about itself, file in .dist-info -> content.

    It is the same in each run of the recipe.
    """
    fields = artifact.to_dict(record).items()
    same = {key: value for key, value in fields if key not in BuiltWheel.BESIDE}
    return {
        RECORD_NAME: artifact.dict_to_json(same).encode(),
        sbom.PATH: sbom.document(record, told),
    }
