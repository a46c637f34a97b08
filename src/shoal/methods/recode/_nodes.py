"""Single nodes of a table's lattice under the promises of a plan, decided on demand: for people who move through it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal import tables
from shoal.exact import fraction
from shoal.kernels import Mask
from shoal.methods.recode._judge import Judge, Limits
from shoal.methods.recode._lattice import Lattice, Levels, Node, smallest_class
from shoal.methods.recode._method import Recode
from shoal.models import Model
from shoal.quality import CellObjective
from shoal.tables import Frequencies, Table

if TYPE_CHECKING:
    from shoal.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFigures:
    """What the release of a node would be like: nothing of it is released by looking."""

    #: One level per quasi-identifier.
    levels: Levels
    #: Whether it keeps every promise within the suppression limit.
    keeps: bool
    #: The measure that the method minimises; lower is better. Classes that fail a promise count as suppressed.
    value: float
    #: The records that would be left out, and those that may be.
    suppressed: int
    allowed: int
    #: The classes that would be released, and the records (or persons) of the smallest.
    classes: int
    smallest: int
    #: The average and the highest risk of being found in a released class.
    average_risk: float
    highest_risk: float


class NodeExplorer:
    """Decides any node of one table's lattice, one at a time, as the search of `generalize` would.

    It keeps what it rolled up, so that the next node costs little.
    """

    def __init__(self, method: Recode, frequencies: Frequencies, models: tuple[Model, ...]) -> None:
        self.measure = method.measure
        self.frequencies = frequencies
        self.allowed = int(fraction(method.suppression_limit) * frequencies.records)
        objective = self.measure.objective(frequencies)
        costs = objective.tables if isinstance(objective, CellObjective) else ()
        self._lattice = Lattice(frequencies, costs, enough=smallest_class(models))
        # whatever is suppressed has a value here, so that people see how far a node is from the limit
        self._judge = Judge(self._lattice, objective, models, Limits(suppressed=frequencies.records))
        self._models = models

    @classmethod
    def of(cls, plan: Plan, table: Table, population: Any = None) -> NodeExplorer | None:
        """Return the explorer of a plan's lattice; None where only levels above the finest fit into memory."""
        from shoal.methods.recode._generalize import Generalize

        method: Any = plan.method
        if not isinstance(method, Recode):
            method = Generalize()
        schema = plan.schema
        method = method.weighted({name: schema[name].weight for name in schema.quasi_identifiers}).resolve(schema)
        models = tuple(plan.class_models)
        wanted = [name for model in models for name in model.capabilities.sensitive]
        wanted += list(method.measure.sensitive)
        encoded = tables.encode(
            table.with_schema(schema),
            sensitive=tuple(dict.fromkeys(wanted)),
            population=population,
            households=True,
            coarse=True,
        )
        return None if encoded.finest is not None else cls(method, encoded.frequencies, models)

    @property
    def heights(self) -> Levels:
        """The highest level of every quasi-identifier."""
        return self._lattice.heights

    def look(self, levels: Levels) -> NodeFigures:
        """Return what the release of a node would be like; O(tuples * attributes)."""
        node = self._lattice.node(levels)
        large = node.large(self._judge.smallest)
        solution, kept = self._judge.release(node, large)
        crowds = self._crowds(node, kept)
        left = self.frequencies.records - solution.suppressed
        return NodeFigures(
            levels=levels,
            keeps=solution.suppressed <= self.allowed and left > 0,
            value=float(solution.value) if left else float("inf"),
            suppressed=int(solution.suppressed),
            allowed=self.allowed,
            classes=int(kept.sum()),
            smallest=int(crowds.min()) if len(crowds) else 0,
            average_risk=float(len(crowds) / max(int(crowds.sum()), 1)),
            highest_risk=float(1 / crowds.min()) if len(crowds) else 0.0,
        )

    def neighbours(self, levels: Levels) -> list[NodeFigures]:
        """Return the nodes one level above and below, attribute by attribute."""
        found = []
        for i, height in enumerate(self.heights):
            for level in (levels[i] - 1, levels[i] + 1):
                if 0 <= level <= height:
                    found.append(self.look((*levels[:i], level, *levels[i + 1 :])))
        return found

    def _crowds(self, node: Node, kept: Mask) -> Any:
        occupied = kept & (node.sizes > 0)
        return np.asarray(node.classes(occupied, votes=True).crowds)
