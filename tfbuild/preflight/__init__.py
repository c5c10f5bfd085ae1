"""What can be known before hours are spent: every obstacle at once, each with its remedy."""

from tfbuild.preflight.finding import Finding, Report
from tfbuild.preflight.inquiry import Question
from tfbuild.preflight.run import check, refused

__all__ = ["Finding", "Question", "Report", "check", "refused"]
