"""Decide the models on nodes of the lattice, value them, and remember the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from shoal.errors import RequirementError
from shoal.kernels import Counts, Mask
from shoal.methods.recode._effort import Effort
from shoal.methods.recode._lattice import Lattice, Levels, Node, by_size, smallest_class
from shoal.methods.recode._result import ExploredLattice, Solution
from shoal.models import Classes, Model, Stages, orders_of_removal, removal
from shoal.quality import CellObjective, Objective
from shoal.tables import Recoding

#: Nodes remembered for display.
_SHOWN = 100_000
#: Solutions listed.
_LISTED = 10
#: A bound this much above the best value (relatively, above 1) rules out even a tie in the 12 digits of a rank.
_TIE = 1e-11


@dataclass(frozen=True, slots=True)
class Limits:
    """What to look for: records that may be suppressed, the work that may be spent, and the value to beat."""

    suppressed: int
    effort: Effort = field(default_factory=Effort)
    steps: float = math.inf
    #: nodes that are not better than this are of no interest
    value: float = math.inf
    #: how often local search starts again without finding anything better
    patience: int = 200


class Judge:
    """What is known of the nodes of a lattice that were looked at."""

    def __init__(self, lattice: Lattice, objective: Objective, models: Sequence[Model], limits: Limits) -> None:
        self.lattice, self.objective, self.models, self.limits = lattice, objective, models, limits
        wanted = [model.capabilities for model in models]
        self.smallest = smallest_class(models)
        self.records = lattice.frequencies.records
        self._sensitive = {name for c in wanted for name in c.sensitive} | set(objective.sensitive)
        self._reads_codes = any(capabilities.codes for capabilities in wanted)
        self._reads_population = any(capabilities.population for capabilities in wanted)
        self.orders = orders_of_removal(models)
        # a merged class is no mixture of its parts where a person is in both, so only numbers of persons are monotone
        self._votes = not by_size(models)
        counted = lattice.frequencies.holders is not None or lattice.frequencies.residents is not None
        self._monotone = [
            model
            for model in models
            if model.capabilities.monotone_generalization and (not counted or model.capabilities.decided_by_size)
        ]
        # as plain numbers, which add up faster than entries of arrays
        self.floors: list[list[float]] = []
        if isinstance(objective, CellObjective):
            self.floors = [(floors / objective.scale).tolist() for floors in objective.floors]
        self.solutions: list[Solution] = []
        self.least_suppressed = self.records
        self._shown: list[tuple[Levels, float, int]] = []
        self._values: dict[Levels, float] = {}

    @property
    def best(self) -> float:
        """The value of the best node so far, or the value to beat."""
        return min(self.solutions[0].value, self.limits.value) if self.solutions else self.limits.value

    @property
    def to_beat(self) -> float:
        """What no bound of an interesting node exceeds: the best value and what rounding may hide."""
        return _with_ties(self.best)

    def beaten(self, bound: float) -> bool:
        """Return whether a node with this bound is of no interest."""
        return bound > self.to_beat

    def floor(self, levels: Levels) -> float:
        """Return a bound for the node and all above it, from its levels alone."""
        if self.floors:
            return sum([floors[level] for floors, level in zip(self.floors, levels, strict=True)])
        return self.objective.floor(levels)

    def excess(self, node: Node, sizes: Counts, lost: Mask) -> float:
        """Return what the suppression of some classes adds to the bounds of nodes below."""
        if isinstance(self.objective, CellObjective):
            return self.objective.excess_of(sizes[lost], node.costs[lost])
        return self.objective.excess(node.levels, node.classes(lost & (sizes > 0)))

    @property
    def rules_out_below(self) -> bool:
        """Whether a node that fails a monotone model rules out all nodes below it: if nothing may be suppressed."""
        return self.limits.suppressed == 0 and bool(self._monotone)

    def value(self, levels: Levels) -> float:
        """Return the value of the release of a node; infinite if it suppresses too much."""
        if levels not in self._values:
            node = self.lattice.node(levels)
            large = node.large(self.smallest)
            self._values[levels] = self._decide(node, node.sizes, large, self._classes(node, large), math.inf)
        return self._values[levels]

    def recoding(self, levels: Levels) -> Recoding:
        """Return the release of a node: the best that an order of removing classes leaves."""
        node = self.lattice.node(levels)
        large = node.large(self.smallest)
        return self.lattice.recoding(levels, self._best(node, node.sizes, large, self._classes(node, large))[1])

    def release(self, node: Node, large: Mask) -> tuple[Solution, Mask]:
        """Return the best release of a node that an order of removing classes leaves, and its classes."""
        return self._best(node, node.sizes, large, self._classes(node, large))

    def check(self, node: Node, sizes: Counts, large: Mask) -> bool:
        """Decide the models on a node unless it is beaten; return whether nodes below it can satisfy them."""
        classes = self._classes(node, large)
        value = self._decide(node, sizes, large, classes, self.to_beat)
        if not self.rules_out_below or math.isfinite(value):
            return True
        everything = np.ones(len(classes), dtype=np.bool_)
        return all(bool(model.keep(classes, everything).all()) for model in self._monotone)

    def note(self, levels: Levels, value: float, suppressed: int) -> None:
        """Remember a node for display."""
        if len(self._shown) < _SHOWN:
            self._shown.append((levels, value, suppressed))

    def explored(self) -> ExploredLattice:
        """Return the nodes to be displayed."""
        levels, values, suppressed = zip(*self._shown, strict=True) if self._shown else ((), (), ())
        return ExploredLattice(
            heights=self.lattice.heights,
            levels=np.array(levels, dtype=np.int32),
            values=np.array(values, dtype=np.float64),
            suppressed=np.array(suppressed, dtype=np.int64),
        )

    def _classes(self, node: Node, large: Mask) -> Classes:
        return node.classes(
            large,
            sensitive=self._sensitive,
            codes=self._reads_codes,
            population=self._reads_population,
            votes=self._votes,
        )

    def _decide(self, node: Node, sizes: Counts, large: Mask, classes: Classes, to_beat: float) -> float:
        """Offer the release of a node; return its value: infinite if it suppresses too much, NaN if it is beaten."""
        solution, _ = self._best(node, sizes, large, classes, to_beat)
        if not math.isnan(solution.value):
            self.least_suppressed = min(self.least_suppressed, solution.suppressed)
        known = any(listed.levels == solution.levels for listed in self.solutions)  # looked at again
        if math.isfinite(solution.value) and not known:
            self.solutions = sorted([*self.solutions, solution], key=lambda listed: listed.order)[:_LISTED]
        self.note(node.levels, solution.value, solution.suppressed)
        return solution.value

    def _best(
        self, node: Node, sizes: Counts, large: Mask, classes: Classes, to_beat: float = math.inf
    ) -> tuple[Solution, Mask]:
        """Return the best release of a node that an order of removing classes leaves, and its classes."""
        solutions: list[tuple[Solution, Mask]] = []
        for stages in self.orders:
            kept, beaten = self._left(node, sizes, large, classes, stages, to_beat)
            solution = self._solution(node, sizes, kept, beaten=beaten)
            solutions.append((solution, kept))
            if math.isfinite(solution.value):
                to_beat = min(to_beat, _with_ties(solution.value))
        return min(solutions, key=lambda pair: (math.isnan(pair[0].value), pair[0].order))

    def _left(
        self, node: Node, sizes: Counts, large: Mask, classes: Classes, stages: Stages, to_beat: float
    ) -> tuple[Mask, bool]:
        """Return what one order of removal leaves, and whether it was given up: its value exceeds ``to_beat``.

        Classes that were removed stay removed, so that what their suppression costs bounds the value from below.
        """
        floor, kept = self.floor(node.levels), large
        for left in removal(stages, classes):
            before, kept = kept, large.copy()
            kept[large] = left
            if np.array_equal(before, kept) or math.isinf(to_beat):
                continue
            if floor + self.excess(node, sizes, ~kept) > to_beat:
                return kept, True
        return kept, False

    def _solution(self, node: Node, sizes: Counts, kept: Mask, *, beaten: bool) -> Solution:
        suppressed = self.records - int(sizes[kept].sum())
        fits = suppressed <= self.limits.suppressed and suppressed < max(self.records, 1)
        value = math.nan if beaten else self._value(node, sizes, kept) if fits else math.inf
        return Solution(levels=node.levels, value=value, suppressed=suppressed)

    def _value(self, node: Node, sizes: Counts, kept: Mask) -> float:
        objective = self.objective
        if isinstance(objective, CellObjective):
            total = float((sizes[kept] * node.costs[kept]).sum())
            return (total + objective.loss * (self.records - int(sizes[kept].sum()))) / objective.scale
        occupied = sizes > 0
        classes = node.classes(occupied, sensitive=objective.sensitive)
        return objective.value(node.levels, classes, kept[occupied])


def _with_ties(value: float) -> float:
    return value + _TIE * max(abs(value), 1.0) if math.isfinite(value) else value


def no_solution(
    lattice: Lattice, models: Sequence[Model], allowed: int, least: int, *, proved: bool = True
) -> RequirementError:
    """Say which models fail even where everything is generalised, and how much suppression would help.

    ``allowed`` records may be suppressed; ``least`` had to be at any node that was checked. A search that was not done
    has not ``proved`` that there is nothing.
    """
    frequencies = lattice.frequencies
    records = frequencies.records
    everything = np.ones(1, dtype=np.bool_)
    names = [attribute.name for attribute in frequencies.sensitive]
    top = lattice.node(lattice.top).classes(everything, sensitive=names, votes=True)
    none = "No generalisation keeps" if proved else "The search stopped before it found a generalisation that keeps"
    problems = [f"{none} the promise while suppressing at most {allowed:,} of {records:,} records."]
    for model in models:
        if not model.keep(top, everything).all():
            problems.append(
                f"`{model.title}` fails even if every quasi-identifier is `*` and nothing is suppressed: the whole "
                f"table has {model.find_achieved(top)}."
            )
    if least < records:
        share = -(-least * 10_000 // records) / 10_000  # rounded up
        hint = f"a `suppression_limit` of {share:.4f} is enough: {least:,} records would be suppressed"
    elif not proved and len(problems) == 1:
        hint = "give it more time, or allow more records to be suppressed"
    else:
        hint = "weaken the models that fail on the whole table; no suppression limit helps"
    return RequirementError(problems, hint=hint)
