"""What useful means: one file per measure."""

from shoal.quality._loss import Loss
from shoal.quality._measure import Measure, measures, released
from shoal.quality._objective import CellObjective, ClassObjective, Objective

__all__ = ["CellObjective", "ClassObjective", "Loss", "Measure", "Objective", "measures", "released"]
