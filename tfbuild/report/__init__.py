"""What a comparison shows people: a page, text for a pull request, tables for other programs.

    import tfbuild.report
    tfbuild.report.load("results/x.suite.json")          # in a notebook: shows the page's middle
    tfbuild.report.load("results/x.suite.json").to_html()

A report is a pure function of the saved results: the same files give the same bytes. Names in them
come from strangers, so all that is shown is escaped, and nothing is fetched.
"""

from tfbuild.report.loading import load
from tfbuild.report.value import Report, Source

__all__ = ["Report", "Source", "load"]
