"""Masking of files for research: recoding and perturbation with measured risk, without a promise of anonymity."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
