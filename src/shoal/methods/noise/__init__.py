"""Differentially private data sets: noisy centroids of clusters."""

from shoal.methods.noise._budget import EpsilonBudget
from shoal.methods.noise._check import check_noise
from shoal.methods.noise._dp import DPRelease, NoisyCentroids, dp_microaggregate
from shoal.methods.noise._dp_method import DPMicroaggregation
from shoal.methods.noise._dp_promise import BOUNDED, GIVEN_PARTITION, NOISE, RECORD_QUERY
from shoal.methods.noise._insensitive import corners, fixed_orders, insensitive, insensitive_orders
from shoal.methods.noise._noise import centroid_noise
from shoal.methods.noise._sensitivity import (
    Split,
    Target,
    automatic_k,
    centroid_sensitivity,
    marginality_sensitivity,
    split_budget,
)

__all__ = [
    "BOUNDED",
    "GIVEN_PARTITION",
    "NOISE",
    "RECORD_QUERY",
    "DPMicroaggregation",
    "DPRelease",
    "EpsilonBudget",
    "NoisyCentroids",
    "Split",
    "Target",
    "automatic_k",
    "centroid_noise",
    "centroid_sensitivity",
    "check_noise",
    "corners",
    "dp_microaggregate",
    "fixed_orders",
    "insensitive",
    "insensitive_orders",
    "marginality_sensitivity",
    "split_budget",
]
