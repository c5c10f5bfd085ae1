"""`python -m tfbuild`."""

from tfbuild.cli import main

main()
