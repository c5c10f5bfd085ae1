"""The CycloneDX document itself. Same recipe and toolchain, same bytes."""

import json
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime

from cyclonedx.model import (
    ExternalReference,
    ExternalReferenceType,
    HashAlgorithm,
    HashType,
    Property,
    XsUri,
)
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.tool import ToolRepository
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from tfbuild.made import Made
from tfbuild.record import BuiltWheel, Source
from tfbuild.sbom import purls, repositories
from tfbuild.sbom.repositories import Repository

PATH = "sboms/tfbuild.cdx.json"
"""Its place in .dist-info; PEP 770 has the folder for any number of such files."""
INCOMPLETE = "incomplete"
"""What the list says of itself where something is known to be missing."""
# Bazel knows repositories. That a tree holds copies of other code, only the tree knows.
_UNKNOWN = "unknown"


def document(record: BuiltWheel, told: Made) -> bytes:
    """Return the list of what was compiled into a wheel, as JSON of CycloneDX 1.6.

    Where Bazel did not tell, or a repository's origin is not known, the list says that it is
    incomplete; it never claims to be complete.

    Args:
        record: the wheel's.
        told: the build script's words.
    """
    found = repositories.used(told.repositories or (), repositories.read(told.external))
    parts = [one for one in found if one.is_told]
    strange = [one.name for one in found if not one.is_told and not one.is_own]
    root = Component(
        type=ComponentType.LIBRARY,
        name=record.distribution,
        version=record.version,
        bom_ref="wheel",
        purl=PackageURL("pypi", name=record.distribution, version=record.version),
    )
    bom = Bom(
        serial_number=uuid.UUID(int=0),
        components=[_source(record), *(_component(one) for one in parts)],
        metadata=BomMetaData(
            component=root,
            tools=ToolRepository(components=_tools(record)),
            timestamp=datetime.fromtimestamp(record.source_date_epoch or 0, UTC),
            properties=[*_properties(record), *_notes(strange)],
        ),
    )
    bom.register_dependency(root, bom.components)
    is_incomplete = told.repositories is None or bool(strange)
    return _written(bom, INCOMPLETE if is_incomplete else _UNKNOWN)


def _written(bom: Bom, aggregate: str) -> bytes:
    """Return the JSON, with what the library has no room for, and a number made of its content."""
    data = json.loads(JsonV1Dot6(bom).output_as_string())
    data["compositions"] = [{"aggregate": aggregate, "assemblies": ["wheel"]}]
    content = json.dumps(data, sort_keys=True)
    data["serialNumber"] = uuid.uuid5(uuid.NAMESPACE_OID, content).urn
    return (json.dumps(data, indent=2, sort_keys=True) + "\n").encode()


def _source(record: BuiltWheel) -> Component:
    source = record.source or Source(kind="unknown")
    url = source.url
    return Component(
        type=ComponentType.LIBRARY,
        name="tensorflow",
        version=record.tensorflow,
        description="The source tree",
        bom_ref="source",
        hashes=_hashes(source.sha256),
        purl=purls.of_source(source.kind, url, source.ref, source.commit, source.sha256),
        external_references=_addresses((url,) if url else (), is_git=source.kind == "git"),
    )


def _component(one: Repository) -> Component:
    return Component(
        type=ComponentType.LIBRARY,
        name=one.package or one.name,
        version=one.version or None,
        bom_ref=f"repository:{one.name}",
        hashes=_hashes(one.sha256),
        purl=purls.of_repository(one),
        external_references=_addresses(one.urls, is_git=bool(one.commit)),
        properties=[
            Property(name="tfbuild:bazel-repository", value=one.name),
            *(Property(name="tfbuild:patch", value=patch) for patch in one.patches),
        ],
    )


def _tools(record: BuiltWheel) -> Iterator[Component]:
    """What took part and is not in the wheel."""
    named = (("tfbuild", record.tfbuild), ("bazel", record.bazel), ("python", record.python_full))
    for name, version in named:
        yield _tool(name, version)
    yield _tool("compiler", record.compiler)
    for name, version in record.python_packages.items():
        yield _tool(name, version, PackageURL("pypi", name=name, version=version))


def _tool(name: str, version: str, purl: PackageURL | None = None) -> Component:
    kind = ComponentType.LIBRARY if purl else ComponentType.APPLICATION
    return Component(
        type=kind, name=name, version=version or None, bom_ref=f"tool:{name}", purl=purl
    )


def _properties(record: BuiltWheel) -> Iterator[Property]:
    facts = {
        "recipe-digest": record.recipe_digest,
        "toolchain-digest": record.toolchain_digest,
        "base-image": record.base_image,
        "base-image-digest": record.base_digest,
        "libc": record.libc or "",
        "target": record.target,
    }
    for name, value in facts.items():
        if value:
            yield Property(name=f"tfbuild:{name}", value=value)


def _notes(strange: list[str]) -> Iterator[Property]:
    for name in strange:
        yield Property(name="tfbuild:repository-of-unknown-origin", value=name)


def _hashes(sha256: str) -> list[HashType]:
    return [HashType(alg=HashAlgorithm.SHA_256, content=sha256)] if sha256 else []


def _addresses(urls: tuple[str, ...], *, is_git: bool) -> list[ExternalReference]:
    kind = ExternalReferenceType.VCS if is_git else ExternalReferenceType.DISTRIBUTION
    return [ExternalReference(type=kind, url=XsUri(url)) for url in urls]
