"""What a search over the lattice needs of a quality measure: values of nodes, and bounds that prune."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.kernels import Mask
from shoal.models import Classes
from shoal.tables import Frequencies, group

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
        del levels
        return -np.inf

    def base(self, levels: Sequence[int], classes: Classes) -> float:
        """Return a lower bound, from all classes of this node, for this node and all its generalisations."""
        del classes
        return self.floor(levels)

    def excess(self, levels: Sequence[int], lost: Classes) -> float:
        """Return what the suppression of the ``lost`` classes adds to the bound of any node below this one.

        ``lost`` are classes of this node, without histograms; their records are suppressed in all nodes in question.
        """
        del levels, lost
        return 0.0


class ClassObjective(Objective):
    """An objective that is a sum over classes.

    ``value = (sum of the costs of the kept classes + loss * suppressed records) / scale + offset``

    :attr:`superadditive` says that generalisation never makes a class cheaper than the sum of its parts, and that
    no class costs more than its suppression. Then for every node between ``low`` and ``high``, where the classes
    ``lost`` at ``high`` are suppressed in all of them: ``value >= (sum of all costs at low + sum over the lost
    classes at high of (loss * size - cost)) / scale + offset``.
    """

    #: cost of one suppressed record
    loss: float
    scale: float
    offset: float = 0.0
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
        return total / self.scale + self.offset

    def base(self, levels: Sequence[int], classes: Classes) -> float:
        if not self.superadditive:
            return self.floor(levels)
        return float(self.costs(levels, classes).sum()) / self.scale + self.offset

    def excess(self, levels: Sequence[int], lost: Classes) -> float:
        """Return what the suppression of the ``lost`` classes adds to the bound of any node below this one."""
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
    #: ``marginals[attribute][level][code]`` is the number of records with the value.
    marginals: tuple[tuple[npt.NDArray[np.int64], ...], ...]
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
        marginals = tuple(
            tuple(
                np.bincount(codes[column], weights=frequencies.counts, minlength=len(labels)).astype(np.int64)
                for codes, labels in zip(hierarchy.codes, hierarchy.labels, strict=True)
            )
            for hierarchy, column in zip(frequencies.hierarchies, frequencies.codes.T, strict=True)
        )
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
            floors_of(hierarchy.codes, table, marginal[0], float(cap))
            for hierarchy, table, marginal, cap in zip(frequencies.hierarchies, tables, marginals, caps, strict=True)
        )
        return cls(
            tables=tables,
            loss=loss,
            scale=float(max(frequencies.records, 1)),
            marginals=marginals,
            monotone=monotone,
            superadditive=superadditive,
            floors=floors,
            # otherwise the floors are exact
            reads_classes=monotone and not superadditive,
        )

    def costs(self, levels: Sequence[int], classes: Classes) -> Costs:
        assert classes.codes is not None  # noqa: S101 - the search always gives codes
        cells = sum(
            table[level][classes.codes[:, column]]
            for column, (table, level) in enumerate(zip(self.tables, levels, strict=True))
        )
        return np.asarray(classes.sizes * cells, dtype=np.float64)

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
