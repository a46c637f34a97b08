"""Clusters of at least k similar records, and what is released instead of them.

Choose `mdav` first; `optimal_univariate` for one number; `vmdav` for records in natural groups; `blocked_mdav` above
some 500,000 records; `insensitive` where differential privacy of the original records is to follow; `mdav_swap` or
`ir_swap` where marginal statistics must stay exact and a bound on re-identification is enough; `dp_microaggregate`
for a differentially private data set.
"""

from shoal.microaggregation._blocked import blocked_mdav, blocks
from shoal.microaggregation._budget import EpsilonBudget
from shoal.microaggregation._centroids import aggregate, centroids
from shoal.microaggregation._distance import Scaling, Space, standardize
from shoal.microaggregation._dp import DPRelease, NoisyCentroids, dp_microaggregate
from shoal.microaggregation._dp_method import DPMicroaggregation
from shoal.microaggregation._exchange import exchange
from shoal.microaggregation._groups import AttributeSet, aggregate_by_sets, partition_by_sets
from shoal.microaggregation._insensitive import corners, fixed_orders, insensitive, insensitive_orders
from shoal.microaggregation._mdav import mdav
from shoal.microaggregation._noise import centroid_noise
from shoal.microaggregation._partition import Partition
from shoal.microaggregation._records import Records
from shoal.microaggregation._sensitivity import (
    Split,
    Target,
    automatic_k,
    centroid_sensitivity,
    marginality_sensitivity,
    split_budget,
)
from shoal.microaggregation._swapping import ir_swap, mdav_swap, permutation_within
from shoal.microaggregation._taxonomy import Taxonomy
from shoal.microaggregation._univariate import individual_ranking, optimal_univariate
from shoal.microaggregation._vmdav import vmdav

__all__ = [
    "AttributeSet",
    "DPMicroaggregation",
    "DPRelease",
    "EpsilonBudget",
    "NoisyCentroids",
    "Partition",
    "Records",
    "Scaling",
    "Space",
    "Split",
    "Target",
    "Taxonomy",
    "aggregate",
    "aggregate_by_sets",
    "automatic_k",
    "blocked_mdav",
    "blocks",
    "centroid_noise",
    "centroid_sensitivity",
    "centroids",
    "corners",
    "dp_microaggregate",
    "exchange",
    "fixed_orders",
    "individual_ranking",
    "insensitive",
    "insensitive_orders",
    "ir_swap",
    "marginality_sensitivity",
    "mdav",
    "mdav_swap",
    "optimal_univariate",
    "partition_by_sets",
    "permutation_within",
    "split_budget",
    "standardize",
    "vmdav",
]
