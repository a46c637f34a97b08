"""Series of releases: promises about people that hold for all releases of a table together."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
