"""Shoal: releases of personal records in which every person hides in a crowd.

The public names stand in ``__init__.pyi``. Each is imported when it is first used, so that ``import shoal`` is quick.
"""

from lazy_loader import attach_stub

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
