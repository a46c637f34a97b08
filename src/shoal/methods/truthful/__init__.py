"""Differential privacy without noise: real records, generalised, a few of every class left out.

`shoal.methods.truthful.parameters` turns (epsilon, delta) into a sampling rate and a threshold, and back.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
