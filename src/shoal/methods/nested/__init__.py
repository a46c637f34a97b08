"""People with items in several tables: patterns of known items, and suppression until all of them are common."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
