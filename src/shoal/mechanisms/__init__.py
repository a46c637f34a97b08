"""Randomness with a proof: samplers whose distribution is exact, and selections that are private.

A mechanism is a value: its neighbour relation, sensitivity and epsilon are fixed when it is built, and ``select`` or
``release`` draws from it. Random bits come from a `RandomSource`: the operating system's by default; a seed is for
tests.
"""

from shoal.mechanisms._binomial import binomial
from shoal.mechanisms._coins import below_real, bernoulli, bernoulli_exponential, bernoulli_real
from shoal.mechanisms._distances import AbsoluteDistance, Distance, NominalDistance, TaxonomyDistance
from shoal.mechanisms._geometric import discrete_laplaces, geometrics
from shoal.mechanisms._laplace import Laplace
from shoal.mechanisms._mechanism import Mechanism, Neighbours, NoiseGrid
from shoal.mechanisms._optimal import OptimalNoise, interval_optimal_core, variance_optimal_core
from shoal.mechanisms._optimal_box import OptimalBoxNoise
from shoal.mechanisms._priors import CategoricalPrior, NumericPrior, Prior
from shoal.mechanisms._random import SYSTEM, RandomSource, SeededSource, SystemSource
from shoal.mechanisms._randomized_response import RandomizedResponse
from shoal.mechanisms._refinement import QueryKind, Refinement
from shoal.mechanisms._selection import ExponentialMechanism, PermuteAndFlip, Selection

__all__ = [
    "SYSTEM",
    "AbsoluteDistance",
    "CategoricalPrior",
    "Distance",
    "ExponentialMechanism",
    "Laplace",
    "Mechanism",
    "Neighbours",
    "NoiseGrid",
    "NominalDistance",
    "NumericPrior",
    "OptimalBoxNoise",
    "OptimalNoise",
    "PermuteAndFlip",
    "Prior",
    "QueryKind",
    "RandomSource",
    "RandomizedResponse",
    "Refinement",
    "SeededSource",
    "Selection",
    "SystemSource",
    "TaxonomyDistance",
    "below_real",
    "bernoulli",
    "bernoulli_exponential",
    "bernoulli_real",
    "binomial",
    "discrete_laplaces",
    "geometrics",
    "interval_optimal_core",
    "variance_optimal_core",
]
