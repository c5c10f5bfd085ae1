"""TensorFlow release x Python x target x options -> the complete, rendered build context.

Same input, same bytes: nothing here reads a clock, the network or this machine.
"""

from tfbuild.recipe.model import Recipe, make
from tfbuild.recipe.options import Options
from tfbuild.recipe.sources import Sources

__all__ = ["Options", "Recipe", "Sources", "make"]
