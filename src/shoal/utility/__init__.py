"""What a release is still good for: distributions, associations, counts, and models learned from it."""

from shoal.utility._associations import Associations, associations
from shoal.utility._distributions import Bin, Distribution, coverage, distributions
from shoal.utility._prediction import MODELS, Prediction, hold_out, prediction
from shoal.utility._propensity import Propensity, propensity
from shoal.utility._queries import QueryError, query_error
from shoal.utility._usefulness import Usefulness, usefulness

__all__ = [
    "MODELS",
    "Associations",
    "Bin",
    "Distribution",
    "Prediction",
    "Propensity",
    "QueryError",
    "Usefulness",
    "associations",
    "coverage",
    "distributions",
    "hold_out",
    "prediction",
    "propensity",
    "query_error",
    "usefulness",
]
