"""The command line: turns words into values, calls the rooms, prints, exits.

Nothing heavy is imported here: each command imports its rooms when it runs.
"""

from tfbuild.cli.app import main

__all__ = ["main"]
