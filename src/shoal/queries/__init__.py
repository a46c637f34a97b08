"""Interactive queries: answers one by one, within a budget that cannot be overspent."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
