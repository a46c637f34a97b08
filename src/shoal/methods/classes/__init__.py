"""Put every record into a class: buckets, Anatomy, clusters, swaps, slices, stochastic closeness."""

from shoal.methods.classes._anatomy import Anatomy
from shoal.methods.classes._blocked import blocked_mdav, blocks
from shoal.methods.classes._bridge import Bridge, Statement, bridge, closeness_epsilon, closeness_factor
from shoal.methods.classes._bucketize import Bucketize, bucketize
from shoal.methods.classes._buckets import Buckets, clustered_buckets, make_buckets, ordered_buckets
from shoal.methods.classes._centroids import aggregate, centroids
from shoal.methods.classes._closeness_first import rank_bound
from shoal.methods.classes._clusters import Categories
from shoal.methods.classes._columns import QuasiIdentifier, quasi_identifiers
from shoal.methods.classes._confidential import partition_by_confidential
from shoal.methods.classes._distance import Scaling, Space, standardize
from shoal.methods.classes._exchange import exchange
from shoal.methods.classes._forms import joined_view
from shoal.methods.classes._groups import AttributeSet, aggregate_by_sets, partition_by_sets, require_disjoint
from shoal.methods.classes._make_slices import associations, grouped
from shoal.methods.classes._mdav import mdav
from shoal.methods.classes._merge import merged
from shoal.methods.classes._method import PartitionMethod
from shoal.methods.classes._microaggregation import Clustering, Mdav, Microaggregation, VMdav
from shoal.methods.classes._partition import Partition, require_size
from shoal.methods.classes._people import Classified, Form, People, classes_of, closeness
from shoal.methods.classes._promises_closeness import HiddenClasses, ViewPrivacy
from shoal.methods.classes._promises_clusters import OfAttributeSet, OfClusters
from shoal.methods.classes._promises_exchange import Exchanged
from shoal.methods.classes._promises_randomized import DrawnCloseness, LocalPrivacy
from shoal.methods.classes._promises_tables import Composition, exposed
from shoal.methods.classes._quotas import Quotas, quotas
from shoal.methods.classes._randomize import randomize, randomized_responses
from shoal.methods.classes._records import Records
from shoal.methods.classes._slicing import Slice
from shoal.methods.classes._stochastic import stochastic_epsilon, stochastic_t
from shoal.methods.classes._stochastic_method import StochasticCloseness
from shoal.methods.classes._swap_method import IndividualRankingSwap, Swap
from shoal.methods.classes._swapping import ir_swap, mdav_swap, permutation_within
from shoal.methods.classes._t_microaggregate import Strategy, TMicroaggregate, t_microaggregate
from shoal.methods.classes._taxonomy import FIXED_POINT, Taxonomy
from shoal.methods.classes._univariate import individual_ranking, optimal_univariate
from shoal.methods.classes._vmdav import vmdav

__all__ = [
    "FIXED_POINT",
    "PROMISES",
    "Anatomy",
    "AttributeSet",
    "Bridge",
    "Bucketize",
    "Buckets",
    "Categories",
    "Classified",
    "Clustering",
    "Composition",
    "DrawnCloseness",
    "Exchanged",
    "Form",
    "HiddenClasses",
    "IndividualRankingSwap",
    "LocalPrivacy",
    "Mdav",
    "Microaggregation",
    "OfAttributeSet",
    "OfClusters",
    "Partition",
    "PartitionMethod",
    "People",
    "QuasiIdentifier",
    "Quotas",
    "Records",
    "Scaling",
    "Slice",
    "Space",
    "Statement",
    "StochasticCloseness",
    "Strategy",
    "Swap",
    "TMicroaggregate",
    "Taxonomy",
    "VMdav",
    "ViewPrivacy",
    "aggregate",
    "aggregate_by_sets",
    "associations",
    "blocked_mdav",
    "blocks",
    "bridge",
    "bucketize",
    "centroids",
    "classes_of",
    "closeness",
    "closeness_epsilon",
    "closeness_factor",
    "clustered_buckets",
    "exchange",
    "exposed",
    "grouped",
    "individual_ranking",
    "ir_swap",
    "joined_view",
    "make_buckets",
    "mdav",
    "mdav_swap",
    "merged",
    "optimal_univariate",
    "ordered_buckets",
    "partition_by_confidential",
    "partition_by_sets",
    "permutation_within",
    "quasi_identifiers",
    "quotas",
    "randomize",
    "randomized_responses",
    "rank_bound",
    "require_disjoint",
    "require_size",
    "standardize",
    "stochastic_epsilon",
    "stochastic_t",
    "t_microaggregate",
    "vmdav",
]

PROMISES = (
    ViewPrivacy,
    HiddenClasses,
    LocalPrivacy,
    DrawnCloseness,
    Exchanged,
    OfAttributeSet,
    OfClusters,
    Composition,
)
"""The kinds of promises that are no models; `Exchanged` shares its name with the model that it is another form of."""
