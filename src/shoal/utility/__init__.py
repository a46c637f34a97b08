"""What a release is still good for: distributions, associations, counts, and models learned from it."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
