"""Put every record into a class: buckets, Anatomy, clusters, swaps, slices, stochastic closeness."""

from shoal.methods.classes._anatomy import Anatomy, partition_by_confidential
from shoal.methods.classes._blocked import blocked_mdav, exchange
from shoal.methods.classes._bridge import Bridge, Statement, bridge
from shoal.methods.classes._bucketize import Bucketize, bucketize_points
from shoal.methods.classes._buckets import Buckets, clustered_buckets, make_buckets, ordered_buckets
from shoal.methods.classes._closeness_first import rank_bound
from shoal.methods.classes._clustering import Categories, Clustering
from shoal.methods.classes._columns import People, QuasiIdentifier, fine_points, quasi_identifiers
from shoal.methods.classes._factors import closeness_epsilon, closeness_factor, stochastic_epsilon, stochastic_t
from shoal.methods.classes._forms import closeness, joined_view
from shoal.methods.classes._mdav import mdav, vmdav
from shoal.methods.classes._median_cut import blocks
from shoal.methods.classes._method import PartitionMethod
from shoal.methods.classes._microaggregation import Mdav, Microaggregation, VMdav
from shoal.methods.classes._partition import Partition, cluster_means, permutation_within, require_size, squared_error
from shoal.methods.classes._promises_closeness import HiddenClasses, ViewPrivacy
from shoal.methods.classes._promises_clusters import OfAttributeSet, OfClusters
from shoal.methods.classes._promises_exchange import Exchanged
from shoal.methods.classes._promises_randomized import DrawnCloseness, LocalPrivacy
from shoal.methods.classes._promises_tables import Composition, exposed
from shoal.methods.classes._quotas import Quotas, quotas
from shoal.methods.classes._randomize import randomize, randomized_responses
from shoal.methods.classes._run import Classified, Form, classes_of
from shoal.methods.classes._slice import Slice, associations, grouped
from shoal.methods.classes._space import Space, standardize
from shoal.methods.classes._stochastic import StochasticCloseness
from shoal.methods.classes._swap import IndividualRankingSwap, Swap, individual_ranking
from shoal.methods.classes._t_microaggregate import Strategy, TMicroaggregate, merged, microaggregate_points

__all__ = [
    "PROMISES",
    "Anatomy",
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
    "Slice",
    "Space",
    "Statement",
    "StochasticCloseness",
    "Strategy",
    "Swap",
    "TMicroaggregate",
    "VMdav",
    "ViewPrivacy",
    "associations",
    "blocked_mdav",
    "blocks",
    "bridge",
    "bucketize_points",
    "classes_of",
    "closeness",
    "closeness_epsilon",
    "closeness_factor",
    "cluster_means",
    "clustered_buckets",
    "exchange",
    "exposed",
    "fine_points",
    "grouped",
    "individual_ranking",
    "joined_view",
    "make_buckets",
    "mdav",
    "merged",
    "microaggregate_points",
    "ordered_buckets",
    "partition_by_confidential",
    "permutation_within",
    "quasi_identifiers",
    "quotas",
    "randomize",
    "randomized_responses",
    "rank_bound",
    "require_size",
    "squared_error",
    "standardize",
    "stochastic_epsilon",
    "stochastic_t",
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
