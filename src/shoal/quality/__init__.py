"""What useful means: one file per measure."""

from shoal.quality._ambiguity import Ambiguity
from shoal.quality._average_class_size import AverageClassSize
from shoal.quality._classification import Classification
from shoal.quality._discernibility import Discernibility
from shoal.quality._kl_divergence import KLDivergence
from shoal.quality._loss import Loss
from shoal.quality._measure import Measure, measures, released
from shoal.quality._non_uniform_entropy import NonUniformEntropy
from shoal.quality._objective import CellObjective, ClassObjective, Objective
from shoal.quality._precision import Precision
from shoal.quality._registry import as_measure, by_name

__all__ = [
    "Ambiguity",
    "AverageClassSize",
    "CellObjective",
    "ClassObjective",
    "Classification",
    "Discernibility",
    "KLDivergence",
    "Loss",
    "Measure",
    "NonUniformEntropy",
    "Objective",
    "Precision",
    "as_measure",
    "by_name",
    "measures",
    "released",
]
