"""Randomness with a proof: samplers whose distribution is exact, and selections that are private.

A mechanism is a value: its neighbour relation, sensitivity and epsilon are fixed when it is built, and ``select`` or
a call draws from it. Random bits come from a `RandomSource`: the operating system's by default; a seed is for tests.
"""

from shoal.mechanisms._bernoulli import bernoulli, bernoulli_exponential, bernoulli_real
from shoal.mechanisms._binomial import binomial
from shoal.mechanisms._exponential import ExponentialMechanism
from shoal.mechanisms._permute_and_flip import PermuteAndFlip
from shoal.mechanisms._random import SYSTEM, RandomSource, SeededSource, SystemSource
from shoal.mechanisms._selection import Neighbours, Selection

__all__ = [
    "SYSTEM",
    "ExponentialMechanism",
    "Neighbours",
    "PermuteAndFlip",
    "RandomSource",
    "SeededSource",
    "Selection",
    "SystemSource",
    "bernoulli",
    "bernoulli_exponential",
    "bernoulli_real",
    "binomial",
]
