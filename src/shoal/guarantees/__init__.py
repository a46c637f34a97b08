"""Promises of a release, as values that can be written, read and checked."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
