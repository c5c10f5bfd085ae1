"""What was compiled into a wheel, as a CycloneDX list that the wheel carries (PEP 770)."""

from tfbuild.sbom.document import PATH, document

__all__ = ["PATH", "document"]
