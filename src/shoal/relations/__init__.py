"""Relations between the columns of a table: which are equal, computed from others, rounded or grouped."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
