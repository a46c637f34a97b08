"""Estimates from many truthful tables, read together: counts, proportions, cross tables, and a weighted pool.

Everything here is computed from a release alone, and so is covered by its promise.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
