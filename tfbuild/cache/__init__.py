"""What tfbuild keeps for later: images, volumes, containers left behind, folders of the user."""

from tfbuild.cache.model import Inventory, Item, Kind, Store
from tfbuild.cache.prune import Removal, chosen, remove
from tfbuild.cache.survey import survey

__all__ = ["Inventory", "Item", "Kind", "Removal", "Store", "chosen", "remove", "survey"]
