"""Everything that a recipe needs, in one folder: for machines without a network."""

from tfbuild.offline.fetch import fetch
from tfbuild.offline.manifest import MANIFEST, Manifest
from tfbuild.offline.restore import Copy, find

__all__ = ["MANIFEST", "Copy", "Manifest", "fetch", "find"]
