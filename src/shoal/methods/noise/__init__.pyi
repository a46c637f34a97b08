"""The names of this package; each is imported when it is first used."""

from ._centroids import DPRelease as DPRelease
from ._centroids import NoisyCentroids as NoisyCentroids
from ._centroids import corners as corners
from ._centroids import dp_microaggregate as dp_microaggregate
from ._centroids import fixed_orders as fixed_orders
from ._centroids import insensitive as insensitive
from ._centroids import insensitive_orders as insensitive_orders
from ._columns import AttributeSet as AttributeSet
from ._columns import Records as Records
from ._design import NoiseChoice as NoiseChoice
from ._design import NoiseCost as NoiseCost
from ._design import automatic_k as automatic_k
from ._method import DPMicroaggregation as DPMicroaggregation
from ._promises import BOUNDED as BOUNDED
from ._promises import GIVEN_PARTITION as GIVEN_PARTITION
from ._promises import NOISE as NOISE
from ._promises import PROMISES as PROMISES
from ._promises import RECORD_QUERY as RECORD_QUERY
from ._promises import EpsilonBudget as EpsilonBudget
from ._promises import privacy_promise as privacy_promise
from ._sensitivity import Split as Split
from ._sensitivity import Target as Target
from ._sensitivity import centroid_noise as centroid_noise
from ._sensitivity import centroid_sensitivity as centroid_sensitivity
from ._sensitivity import split_budget as split_budget
