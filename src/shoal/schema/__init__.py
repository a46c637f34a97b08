"""Schemas: the roles, kinds, declared domains, missing values, weights and hierarchy rules of columns."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
