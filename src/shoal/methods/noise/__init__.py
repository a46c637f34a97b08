"""Differentially private data sets: noisy centroids of clusters."""

from shoal.methods.noise._centroids import DPRelease, NoisyCentroids, dp_microaggregate
from shoal.methods.noise._insensitive import corners, fixed_orders, insensitive, insensitive_orders
from shoal.methods.noise._method import DPMicroaggregation
from shoal.methods.noise._promises import (
    BOUNDED,
    GIVEN_PARTITION,
    NOISE,
    PROMISES,
    RECORD_QUERY,
    EpsilonBudget,
    privacy_promise,
)
from shoal.methods.noise._records import AttributeSet, Records
from shoal.methods.noise._sensitivity import (
    Split,
    Target,
    automatic_k,
    centroid_noise,
    centroid_sensitivity,
    split_budget,
)

__all__ = [
    "BOUNDED",
    "GIVEN_PARTITION",
    "NOISE",
    "PROMISES",
    "RECORD_QUERY",
    "AttributeSet",
    "DPMicroaggregation",
    "DPRelease",
    "EpsilonBudget",
    "NoisyCentroids",
    "Records",
    "Split",
    "Target",
    "automatic_k",
    "centroid_noise",
    "centroid_sensitivity",
    "corners",
    "dp_microaggregate",
    "fixed_orders",
    "insensitive",
    "insensitive_orders",
    "privacy_promise",
    "split_budget",
]
