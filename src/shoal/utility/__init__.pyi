"""The names of this package; each is imported when it is first used."""

from ._associations import Associations as Associations
from ._associations import CrossTable as CrossTable
from ._associations import associations as associations
from ._associations import cross_table as cross_table
from ._distributions import Bin as Bin
from ._distributions import Distribution as Distribution
from ._distributions import coverage as coverage
from ._distributions import distributions as distributions
from ._distributions import round_edges as round_edges
from ._learning import MODELS as MODELS
from ._learning import Prediction as Prediction
from ._learning import Propensity as Propensity
from ._learning import hold_out as hold_out
from ._learning import prediction as prediction
from ._learning import propensity as propensity
from ._queries import QueryError as QueryError
from ._queries import query_error as query_error
from ._usefulness import Usefulness as Usefulness
from ._usefulness import usefulness as usefulness
