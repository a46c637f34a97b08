"""What every quality measure offers: a figure for a report, and an objective for a search."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.errors import ParameterError, Problems, quoted
from shoal.models import Classes
from shoal.quality._objective import Costs, Objective
from shoal.schema import Schema
from shoal.tables import Frequencies, Recoding


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure(ABC):
    """How much a release lost: lower is better, and 0 is the input where the measure can say so.

    Parameters
    ----------
    weights
        Importance of attributes, each in [0, inf); 1 for those not named. Only proportions matter.
    balance
        Generalisation versus suppression, in [0, 1]. At 1/2 a suppressed record counts as a record of which
        everything was generalised to ``*``. Below, suppression counts ``2 * balance`` times as much; above,
        generalisation counts ``2 * (1 - balance)`` times as much. So 0 makes suppression free and 1 makes
        generalisation free.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    #: whether suppression can be weighed against generalisation
    balanced: ClassVar[bool] = True
    #: whether it can be measured where tuples were counted at coarser levels than the values themselves
    coarse: ClassVar[bool] = False
    weights: Mapping[str, float] = field(default_factory=dict)
    balance: float = 0.5

    def __init_subclass__(cls) -> None:
        cls.title = cls.__dict__.get("title", cls.__name__)

    def __post_init__(self) -> None:
        problems = Problems()
        if not isinstance(self.weights, Mapping):
            raise ParameterError(f"`weights` of `{self.title}` must give a number per column.")
        for attribute, weight in self.weights.items():
            if not (isinstance(weight, int | float) and math.isfinite(weight) and weight >= 0):
                problems.add(f"the weight of column `{attribute}` in `{self.title}` must be in [0, inf); got {weight}")
        if not isinstance(self.balance, int | float) or not 0 <= self.balance <= 1:
            problems.add(f"`balance` of `{self.title}` must be in [0, 1]; got {self.balance}")
        elif not self.balanced and self.balance != 0.5:
            problems.add(f"`balance` of `{self.title}` must be 0.5; got {self.balance}.")
        problems.raise_as(ParameterError)

    @abstractmethod
    def value(self, recoding: Recoding, frequencies: Frequencies) -> float:
        """Measure any recoding of the table, suppressed records included."""

    @abstractmethod
    def objective(self, frequencies: Frequencies) -> Objective:
        """Prepare this measure as the objective of a search over the nodes of the lattice of one table."""

    @property
    def factors(self) -> tuple[float, float]:
        """The factors of generalisation and of suppression; the larger is 1."""
        return min(1.0, 2.0 * (1.0 - self.balance)), min(1.0, 2.0 * self.balance)

    def proportions(self, frequencies: Frequencies) -> Costs:
        """Return the weights of the quasi-identifiers, scaled to the sum 1."""
        unknown = [name for name in self.weights if name not in frequencies.attributes]
        if unknown:
            names = quoted(unknown)
            raise ParameterError(f"`weights` of `{self.title}` may name quasi-identifiers only; got {names}.")
        weights = np.array([self.weights.get(name, 1.0) for name in frequencies.attributes], dtype=np.float64)
        if not weights.sum():
            raise ParameterError(f"`weights` of `{self.title}` must not all be 0.")
        return np.asarray(weights / weights.sum())

    def summed(self, recoding: Recoding, frequencies: Frequencies, costs: Sequence[Costs]) -> Costs:
        """Return the weighted sum, over attributes, of ``costs[attribute][code]`` of the values that classes show."""
        found = np.zeros(recoding.number)
        for column, weight in enumerate(self.proportions(frequencies)):
            found += weight * costs[column][recoding.codes[:, column]]
        return found

    def mean(self, recoding: Recoding, frequencies: Frequencies, costs: Costs) -> float:
        """Return the mean over the records: ``costs[i]`` for those of class i, 1 for suppressed ones, with factors."""
        classes, records = released(recoding, frequencies), frequencies.records
        generalization, suppression = self.factors
        total = generalization * float((classes.sizes * costs).sum()) + suppression * (records - classes.records)
        return total / max(records, 1)

    @property
    def label(self) -> str:
        """What reports call it."""
        return self.name

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive attributes that it looks at."""
        return ()

    def resolved(self, schema: Schema) -> Measure:
        """Return it with everything filled in that the schema decides, or raise :class:`ParameterError`."""
        return self

    def parameters(self) -> dict[str, object]:
        """Return the parameters by name, as in plan files and certificates."""
        return {entry.name: getattr(self, entry.name) for entry in dataclasses.fields(self)}


def released(recoding: Recoding, frequencies: Frequencies) -> Classes:
    """Return the classes of a recoding with their sizes, histograms and released codes."""
    classes = Classes.of(frequencies, recoding.classes, number=recoding.number)
    return dataclasses.replace(classes, codes=recoding.codes)
