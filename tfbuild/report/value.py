"""A report: saved results, and the forms in which they can be had."""

from dataclasses import dataclass

from tfbuild import artifact
from tfbuild.bench.suite import Suite
from tfbuild.compare import Comparison


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file with samples."""

    name: str
    """Without its folder."""
    sha256: str
    suite: Suite


@dataclass(frozen=True, kw_only=True)
class Report:
    """What is to be shown: the claims, and the samples behind them."""

    comparison: Comparison
    """Without contrasts where one environment was measured alone."""
    sources: tuple[Source, ...]
    """In the order of `Comparison.samples`."""
    sha256: str
    """Of the file that was loaded."""

    def to_html(self) -> str:
        """Return one page that needs no other file, no network and no script."""
        from tfbuild.report import page

        return page.whole(self)

    def to_markdown(self) -> str:
        """Return text for a pull request or a step summary (GitHub's Markdown)."""
        from tfbuild.report import markdown

        return markdown.render(self)

    def to_csv(self) -> str:
        """Return every sample, one a row (`samples.COLUMNS`)."""
        from tfbuild.report import samples

        return samples.to_csv(self)

    def to_ratios_csv(self) -> str:
        """Return every ratio, one a row (`ratios.COLUMNS`)."""
        from tfbuild.report import ratios

        return ratios.to_csv(self)

    def to_json(self) -> str:
        """Return the comparison as JSON."""
        return artifact.to_json(self.comparison)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the same, without the page around it."""
        from tfbuild.report import page

        return page.fragment(self)
