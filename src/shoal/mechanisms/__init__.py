"""Randomness with a proof: samplers whose distribution is exact, and selections that are private.

A mechanism is a value: its neighbour relation, sensitivity and epsilon are fixed when it is built, and ``select`` or
``release`` draws from it. Random bits come from a `RandomSource`: the operating system's by default; a seed is for
tests.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
