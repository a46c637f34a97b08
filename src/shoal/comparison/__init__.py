"""Plans side by side on one table: risk against utility, the points worth a look, and which one to take."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
