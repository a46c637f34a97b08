"""Everything that is shown: figures of a release -> one JSON document -> text, pages and pictures.

The terminal, the report and the app use the same words and the same pictures.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
