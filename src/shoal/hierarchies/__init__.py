"""Hierarchies of values: levels of integer codes, from the values themselves to ``*``."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
