"""What was compiled into a wheel, as a CycloneDX list that the wheel carries (PEP 770)."""

from tfbuild.sbom.document import INCOMPLETE, PATH, document

__all__ = ["INCOMPLETE", "PATH", "document"]
