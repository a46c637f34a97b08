"""The interface of quality measures: a figure for reports, and an objective for searches with bounds that prune."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal.errors import ParameterError, Problems, quoted
from shoal.kernels import Mask
from shoal.models import Classes
from shoal.schema import Schema
from shoal.tables import Frequencies, Recoding, group


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure(ABC):
    """A measure of what a release lost. Lower is better; 0 is the input, where the measure has such a value.

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
            raise ParameterError(f"`weights` of `{self.title}` must map columns to numbers.")
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
            raise ParameterError(f"`weights` of `{self.title}` may name only quasi-identifiers; got {names}.")
        weights = np.array([self.weights.get(name, 1.0) for name in frequencies.attributes], dtype=np.float64)
        if not weights.sum():
            raise ParameterError(f"`weights` of `{self.title}` must not all be 0.")
        return np.asarray(weights / weights.sum())

    def sum_columns(self, recoding: Recoding, frequencies: Frequencies, costs: Sequence[Costs]) -> Costs:
        """Return the weighted sum, over attributes, of ``costs[attribute][code]`` of the values that classes show."""
        sums = np.zeros(recoding.number)
        for column, weight in enumerate(self.proportions(frequencies)):
            sums += weight * costs[column][recoding.codes[:, column]]
        return sums

    def mean(self, recoding: Recoding, frequencies: Frequencies, costs: Costs) -> float:
        """Return the mean over the records: ``costs[i]`` for those of class i, 1 for suppressed ones, with factors."""
        classes, records = form_classes(recoding, frequencies), frequencies.records
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

    def resolve(self, schema: Schema) -> Measure:
        """Return it with everything filled in that the schema decides, or raise :class:`ParameterError`."""
        return self

    def parameters(self) -> dict[str, object]:
        """Return the parameters by name, as in plan files and certificates."""
        return {entry.name: getattr(self, entry.name) for entry in dataclasses.fields(self)}


def form_classes(recoding: Recoding, frequencies: Frequencies) -> Classes:
    """Return the classes of a recoding with their sizes, histograms and released codes."""
    classes = Classes.of(frequencies, recoding.classes, number=recoding.number)
    return dataclasses.replace(classes, codes=recoding.codes)


Costs = npt.NDArray[np.float64]
#: ``tables[attribute][level][code]``
Tables = tuple[tuple[Costs, ...], ...]


class Objective(ABC):
    """A measure bound to one table. Lower is better.

    The search calls :meth:`value` with the classes of a node: ``classes.sizes``, ``classes.codes`` (codes at
    ``levels``, one column per quasi-identifier) and the histograms named by :attr:`sensitive`. No Python object is
    made per class.

    It rules out whole sublattices, from a node ``low`` up to a node ``high``, by the bound ``floor(low) +
    excess(high, classes that every node in between suppresses)``; where :attr:`reads_classes` is set, ``base(low,
    its classes)`` takes the place of ``floor(low)``. The defaults bound nothing, so that every node is checked.
    """

    #: sensitive attributes whose histograms :meth:`value` reads
    sensitive: tuple[str, ...] = ()
    #: whether :meth:`base` knows more than :meth:`floor`
    reads_classes: bool = False

    @abstractmethod
    def value(self, levels: Sequence[int], classes: Classes, kept: Mask) -> float:
        """Return the value of the node's release, in which the classes that are not ``kept`` are suppressed."""

    def floor(self, levels: Sequence[int]) -> float:
        """Return a lower bound, from the levels alone, for this node and all its generalisations.

        It must hold whatever is suppressed. Minus infinity, the default, says that nothing is known.
        """
        return -np.inf

    def base(self, levels: Sequence[int], classes: Classes) -> float:
        """Return a lower bound, from all classes of this node, for this node and all its generalisations."""
        return self.floor(levels)

    def excess(self, levels: Sequence[int], lost: Classes) -> float:
        """Return what the suppression of the ``lost`` classes adds to the bound of any node below this one.

        ``lost`` are classes of this node, without histograms; their records are suppressed in all nodes in question.
        """
        return 0.0


class ClassObjective(Objective):
    """An objective that is a sum over classes.

    ``value = (sum of the costs of the kept classes + loss * suppressed records) / scale``

    :attr:`superadditive` says that generalisation never makes a class cheaper than the sum of its parts, and that
    no class costs more than its suppression. Then for every node between ``low`` and ``high``, where the classes
    ``lost`` at ``high`` are suppressed in all of them: ``value >= (sum of all costs at low + sum over the lost
    classes at high of (loss * size - cost)) / scale``.
    """

    #: cost of one suppressed record
    loss: float
    scale: float
    superadditive: bool

    def __init__(self, frequencies: Frequencies, generalization: float, suppression: float) -> None:
        self.generalization, self.loss = generalization, suppression
        self.scale = float(max(frequencies.records, 1))
        self.superadditive = self.reads_classes = generalization <= suppression

    @abstractmethod
    def costs(self, levels: Sequence[int], classes: Classes) -> Costs:
        """Return the cost of every class if it is kept, summed over its records."""

    def value(self, levels: Sequence[int], classes: Classes, kept: Mask) -> float:
        suppressed = classes.records - int(classes.sizes[kept].sum())
        total = float(self.costs(levels, classes)[kept].sum()) + self.loss * suppressed
        return total / self.scale

    def base(self, levels: Sequence[int], classes: Classes) -> float:
        if not self.superadditive:
            return self.floor(levels)
        return float(self.costs(levels, classes).sum()) / self.scale

    def excess(self, levels: Sequence[int], lost: Classes) -> float:
        if not self.superadditive:
            return 0.0
        return max(0.0, self.loss * lost.records - float(self.costs(levels, lost).sum())) / self.scale


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellObjective(ClassObjective):
    """An objective that adds up over cells: the compiled kernels evaluate it.

    The cost of a class is ``size * sum over attributes of tables[attribute][level][code]``; a suppressed record
    costs :attr:`loss`; the value is the total over the number of records.
    """

    #: Costs of released values, ``tables[attribute][level][code]``, attribute weights included.
    tables: Tables
    #: The cost of a suppressed record.
    loss: float
    #: The number of records.
    scale: float
    #: Whether no value costs less than one that it generalises. Then ``min(cost, loss)`` per record is a superadditive
    #: cost that bounds the value from below, even where some values cost more than suppression.
    monotone: bool
    superadditive: bool
    #: ``floors[attribute][level]``: the least that any level from this one up can cost over all records.
    floors: tuple[Costs, ...]
    reads_classes: bool

    @classmethod
    def of(cls, frequencies: Frequencies, tables: Tables, *, loss: float) -> CellObjective:
        """Prepare the bounds: costs by level follow from the marginal distributions alone."""
        monotone = all(
            bool(np.all(table[k][codes[k]] <= table[k + 1][codes[k + 1]]))
            for table, codes in zip(tables, (h.codes for h in frequencies.hierarchies), strict=True)
            for k in range(len(table) - 1)
        )
        dearest = np.array([max(float(level.max(initial=0.0)) for level in table) for table in tables])
        # A sum of rounded weights may exceed the loss of a record by a rounding error only.
        superadditive = monotone and float(dearest.sum()) <= loss * (1 + 1e-12)
        # Where suppression is the cheaper way: min(sum t_j, loss) >= sum min(t_j, loss * w_j) for weights of sum 1.
        caps = dearest if superadditive else np.minimum(dearest, loss * dearest / (dearest.sum() or 1.0))
        floors = tuple(
            floors_of(hierarchy.codes, table, counts, float(cap))
            for hierarchy, table, counts, cap in zip(
                frequencies.hierarchies, tables, marginals(frequencies), caps, strict=True
            )
        )
        return cls(
            tables=tables,
            loss=loss,
            scale=float(max(frequencies.records, 1)),
            monotone=monotone,
            superadditive=superadditive,
            floors=floors,
            # otherwise the floors are exact
            reads_classes=monotone and not superadditive,
        )

    def costs(self, levels: Sequence[int], classes: Classes) -> Costs:
        return np.asarray(classes.sizes * summed_cells(self.tables, levels, classes))

    def base(self, levels: Sequence[int], classes: Classes) -> float:
        return self.base_of(classes.sizes, self.costs(levels, classes) / np.maximum(classes.sizes, 1))

    def base_of(self, sizes: npt.NDArray[np.int64], cells: Costs) -> float:
        """Return the bound of :meth:`base`, given what a record of each class costs."""
        return float((sizes * np.minimum(cells, self.loss)).sum()) / self.scale if self.monotone else -np.inf

    def excess(self, levels: Sequence[int], lost: Classes) -> float:
        return self.excess_of(lost.sizes, self.costs(levels, lost) / np.maximum(lost.sizes, 1))

    def excess_of(self, sizes: npt.NDArray[np.int64], cells: Costs) -> float:
        """Return the excess of lost classes, given what a record of each costs."""
        return float((sizes * np.maximum(self.loss - cells, 0.0)).sum()) / self.scale if self.monotone else 0.0

    def floor(self, levels: Sequence[int]) -> float:
        """Return what the node would cost without suppression, or less where a record is cheaper suppressed."""
        total = sum(floors[level] for floors, level in zip(self.floors, levels, strict=True))
        return float(total) / self.scale


class ClassCounts:
    """The number of different values at every level, and of different tuples, of one table."""

    def __init__(self, frequencies: Frequencies) -> None:
        present = frequencies.codes[frequencies.counts > 0]
        self.tuples = len(group(present)[1])
        self.values = tuple(
            tuple(len(np.unique(codes[column])) for codes in hierarchy.codes)
            for hierarchy, column in zip(frequencies.hierarchies, present.T, strict=True)
        )

    def most(self, levels: Sequence[int]) -> int:
        """Return a number of classes that neither the node nor any generalisation of it exceeds; at least 1."""
        combinations = math.prod(values[level] for values, level in zip(self.values, levels, strict=True))
        return max(min(combinations, self.tuples), 1)


def summed_cells(tables: Tables, levels: Sequence[int], classes: Classes) -> Costs:
    """Return the sum, over attributes, of ``tables[attribute][level][code]`` of the values that classes show."""
    assert classes.codes is not None  # noqa: S101 - the search always gives codes
    sums = np.zeros(len(classes))
    for column, (table, level) in enumerate(zip(tables, levels, strict=True)):
        sums += table[level][classes.codes[:, column]]
    return sums


def marginals(frequencies: Frequencies) -> list[npt.NDArray[np.int64]]:
    """Return the number of records per leaf, by attribute."""
    return [
        np.bincount(codes, weights=frequencies.counts, minlength=hierarchy.size).astype(np.int64)
        for hierarchy, codes in zip(frequencies.hierarchies, frequencies.codes.T, strict=True)
    ]


def floors_of(
    codes: Sequence[npt.NDArray[np.int32]], table: Sequence[Costs], counts: npt.NDArray[np.int64], cap: float
) -> Costs:
    """Add up, over the records, the least cost of each leaf at any level from each one up."""
    result = np.zeros(len(table))
    least = np.full(len(counts), cap)
    for level in reversed(range(len(table))):
        least = np.minimum(least, table[level][codes[level]])
        result[level] = float((least * counts).sum())
    return result
