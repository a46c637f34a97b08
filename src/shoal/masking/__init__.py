"""What offices do to files for research: recoding and perturbation, with measured risk and no promise of anonymity."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
