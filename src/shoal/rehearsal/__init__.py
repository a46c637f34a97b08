"""The rehearsal: an attack on a release, by its publisher, before it leaves."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
