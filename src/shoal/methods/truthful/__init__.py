"""Differential privacy without noise: real records, sampled, generalised, and suppressed in small classes.

`shoal.methods.truthful.parameters` turns (epsilon, delta) into a sampling rate and a threshold, and back.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
