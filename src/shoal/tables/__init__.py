"""Tables on an engine and their encoding: the only code that talks to an engine."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
