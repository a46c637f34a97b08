"""What the data is: roles, kinds, declared domains, missing values, weights and hierarchy rules."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
