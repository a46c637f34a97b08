"""t-closeness constructions: buckets, Anatomy, stochastic t-closeness, slicing, the bridge to epsilon.

Choose `Bucketize` where no confidential value may become much more or less likely (and for the bridge to differential
privacy), `TMicroaggregate` for closeness in the earth mover's distance, `Anatomy` where every value must stay as it is,
`StochasticCloseness` where confidential values may be randomised, `Slice` for many quasi-identifiers.
"""

from shoal.closeness._anatomy import Anatomy
from shoal.closeness._bridge import Bridge, Statement, bridge, closeness_epsilon, closeness_factor
from shoal.closeness._bucketize import Bucketize, bucketize, classes_of, closeness
from shoal.closeness._buckets import Buckets, clustered_buckets, make_buckets, ordered_buckets
from shoal.closeness._closeness_first import rank_bound
from shoal.closeness._confidential import partition_by_confidential
from shoal.closeness._forms import joined_view
from shoal.closeness._merge import merged
from shoal.closeness._method import Classified, Form, PartitionMethod, People
from shoal.closeness._promises import composed, composition, exposed, in_classes
from shoal.closeness._quotas import Quotas, quotas
from shoal.closeness._randomize import randomize, randomized_responses
from shoal.closeness._slicing import Slice, associations, grouped
from shoal.closeness._stochastic import stochastic_epsilon, stochastic_t
from shoal.closeness._stochastic_method import StochasticCloseness
from shoal.closeness._t_microaggregate import Strategy, TMicroaggregate, t_microaggregate

__all__ = [
    "Anatomy",
    "Bridge",
    "Bucketize",
    "Buckets",
    "Classified",
    "Form",
    "PartitionMethod",
    "People",
    "Quotas",
    "Slice",
    "Statement",
    "StochasticCloseness",
    "Strategy",
    "TMicroaggregate",
    "associations",
    "bridge",
    "bucketize",
    "classes_of",
    "closeness",
    "closeness_epsilon",
    "closeness_factor",
    "clustered_buckets",
    "composed",
    "composition",
    "exposed",
    "grouped",
    "in_classes",
    "joined_view",
    "make_buckets",
    "merged",
    "ordered_buckets",
    "partition_by_confidential",
    "quotas",
    "randomize",
    "randomized_responses",
    "rank_bound",
    "stochastic_epsilon",
    "stochastic_t",
    "t_microaggregate",
]
