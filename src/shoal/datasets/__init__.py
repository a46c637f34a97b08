"""Data sets of several tables: persons in one, what belongs to them in others, joined by keys."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
