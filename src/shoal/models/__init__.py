"""What private means: one file per privacy model, each an exact decision on equivalence classes."""

from shoal.models._classes import Classes, Histogram
from shoal.models._k_anonymity import KAnonymity
from shoal.models._model import Capabilities, Model, keep

__all__ = ["Capabilities", "Classes", "Histogram", "KAnonymity", "Model", "keep"]
