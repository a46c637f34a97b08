"""Branch and bound over sublattices: optimal when left to finish, and at any time with a proven gap."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.errors import RequirementError
from shoal.kernels.walk import Proportions, screen
from shoal.methods.base import Watch
from shoal.methods.recode._lattice import Box, Counts, Lattice, Levels, Mask, Node, smallest_class
from shoal.methods.recode._result import ExploredLattice, Solution
from shoal.models import Classes, Model, keep
from shoal.quality import CellObjective, Objective

__all__ = ["BranchAndBound", "Found", "Limits", "no_solution"]

#: Nodes remembered for display.
_SHOWN = 100_000
#: Solutions listed.
_LISTED = 10
#: A bound this much above the best value (relatively, above 1) rules out even a tie in the 12 digits of a rank.
_TIE = 1e-11
#: Nodes checked one by one before boxes are swept.
_PATIENCE = 128
#: Tuples times nodes of a box that is swept in one go: about a second's work.
_SWEPT = 2**27


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """What a search knows when it stops."""

    solutions: tuple[Solution, ...]
    bound: float
    checked: int
    pruned: int
    least_suppressed: int
    lattice: ExploredLattice


@dataclass(frozen=True, slots=True)
class Limits:
    """What to look for: records that may be suppressed, the work that may be spent, and the value to beat."""

    suppressed: int
    deadline: float = math.inf
    steps: float = math.inf
    #: nodes that are not better than this are of no interest
    value: float = math.inf

    @property
    def finite(self) -> bool:
        """Whether the search may have to stop before it is done."""
        return math.isfinite(self.deadline) or math.isfinite(self.steps)


class BranchAndBound:
    """Search for the best node, best bound first.

    A *box* is the set of nodes between two nodes ``low <= high``. A class of ``high`` that is smaller than every model
    allows is suppressed in all nodes of the box, as its parts are smaller still; and generalising from ``low`` costs
    at least what the objective's floor says. Both together bound every value in the box [ClassObjective]. The box with
    the least bound is split: the attribute whose levels range over the greatest difference of floors has either its
    highest level or a lower one. Only the second part has a new ``high``, so every split costs the classes of one
    node, and that node is a candidate. The search ends when no bound is below the best value; the least bound of the
    boxes that are left is at any time a proven bound for the whole lattice.

    Cost: O(rows * attributes) per node checked, of few nodes out of many (some 260 of 12,960 on the Adult data with
    k = 5).
    """

    def __init__(
        self, lattice: Lattice, objective: Objective, models: Sequence[Model], limits: Limits, watch: Watch
    ) -> None:
        self._lattice, self._objective, self._models = lattice, objective, models
        self._limits, self._watch = limits, watch
        wanted = [model.capabilities for model in models]
        self._smallest = smallest_class(models)
        self._sensitive = {name for c in wanted for name in c.sensitive} | set(objective.sensitive)
        self._reads_codes = any(capabilities.codes for capabilities in wanted)
        self._reads_population = any(capabilities.population for capabilities in wanted)
        self._monotone = [model for model in models if model.capabilities.monotone_generalization]
        self._screen = self._screened()
        # as plain numbers, which add up faster than entries of arrays
        self._floors: list[list[float]] = []
        if isinstance(objective, CellObjective):
            self._floors = [(floors / objective.scale).tolist() for floors in objective.floors]
        self._records = lattice.frequencies.records
        self._bases: dict[Levels, float] = {}
        self._boxes: list[tuple[float, int, Levels, Levels, float]] = []
        self._made = 0
        self._climbed: set[Levels] = set()
        self._ruled_out = 0
        self._solutions: list[Solution] = []
        self._shown: list[tuple[Levels, float, int]] = []
        self._checked = 0
        self._least_suppressed = self._records

    def _screened(self) -> tuple[int, Proportions] | None:
        """Return the first model whose verdict depends on the whole release, if it says what it asks at least.

        It is asked about the classes that are large enough, provided that no other model is asked before.
        """
        ordered = sorted(self._models, key=lambda model: model.capabilities.scope)
        unstable = [model for model in ordered if not model.capabilities.monotone_suppression]
        if not unstable or not all(m.capabilities.decided_by_size for m in ordered if m not in unstable):
            return None
        for number, attribute in enumerate(self._lattice.frequencies.sensitive):
            if (attribute.name,) == unstable[0].capabilities.sensitive:
                proportions = unstable[0].proportions(attribute)
                return None if proportions is None else (number, proportions)
        return None

    def run(self) -> Found:
        """Search until the best node is proved, or a limit is reached."""
        self._enter(-math.inf, self._lattice.bottom, self._lattice.top)
        while self._open and not self._out_of_time():
            bound, _, low, high, excess = heapq.heappop(self._boxes)
            self._report(bound)
            before = self._best
            if not self._sweep(low, high):
                self._split(bound, low, high, excess)
            if self._limits.finite and self._best < before:
                self._climb()
        proved = not self._open
        return Found(
            solutions=tuple(self._solutions),
            bound=self._best if proved else min(self._boxes[0][0], self._best),
            checked=self._checked,
            pruned=self._lattice.nodes - self._checked if proved else self._ruled_out,
            least_suppressed=self._least_suppressed,
            lattice=self._explored(),
        )

    def _climb(self) -> None:
        """Go from the best node to a better neighbour, while there is one: if the search has to stop, it stops well."""
        start = None
        while self._solutions and self._solutions[0].levels != start and not self._out_of_time():
            start = self._solutions[0].levels
            for neighbour in _neighbours(start, self._lattice.heights):
                if neighbour not in self._climbed and not self._out_of_time():
                    self._climbed.add(neighbour)
                    node = self._lattice.node(neighbour)
                    self._check(node, node.sizes, node.sizes >= self._smallest)

    @property
    def _open(self) -> bool:
        return bool(self._boxes) and not self._beaten(self._boxes[0][0])

    def _split(self, bound: float, low: Levels, high: Levels, excess: float) -> None:
        free = [j for j, (least, most) in enumerate(zip(low, high, strict=True)) if least < most]
        if not free:
            return
        chosen = max(free, key=lambda j: (self._range(j, low, high), high[j] - low[j]))
        lower = (*high[:chosen], high[chosen] - 1, *high[chosen + 1 :])
        higher = (*low[:chosen], high[chosen], *low[chosen + 1 :])
        self._enter(bound, low, lower)
        self._push(bound, higher, high, excess)

    def _sweep(self, low: Levels, high: Levels) -> bool:
        """Refute the nodes of a box all at once where the bounds of boxes do not see what a model asks for."""
        objective = self._objective
        if self._screen is None or self._checked < _PATIENCE or not isinstance(objective, CellObjective):
            return False
        if not objective.superadditive:
            return False
        everything = self._fits(self._lattice.nodes)
        if everything:
            low, high = self._lattice.bottom, self._lattice.top
        volume = _volume(low, high)
        if not self._fits(volume):
            return False
        box = Box(self._lattice, low, high, objective.tables, sensitive=self._screen[0])
        if not box.fits:
            return False
        found, bounds = screen(
            box.start,
            [objective.floors[j][low[j] : high[j] + 1] for j in box.order],
            smallest=self._smallest,
            allowed=self._limits.suppressed,
            loss=objective.loss,
            scale=objective.scale,
            best=self._to_beat,
            proportions=self._screen[1],
        )
        for bound, number in sorted(zip(bounds.tolist(), found.tolist(), strict=True)):
            if not self._beaten(bound):
                node = self._lattice.node(box.levels(number))
                self._check(node, node.sizes, node.sizes >= self._smallest)
        self._checked += volume - 1  # the highest node was checked before
        if everything:
            self._boxes.clear()
            self._checked = self._lattice.nodes
        return True

    def _fits(self, volume: int) -> bool:
        return volume * self._lattice.leaves <= _SWEPT and self._checked + volume <= self._limits.steps

    def _range(self, attribute: int, low: Levels, high: Levels) -> float:
        if self._floors:
            return self._floors[attribute][high[attribute]] - self._floors[attribute][low[attribute]]
        raised = (*low[:attribute], high[attribute], *low[attribute + 1 :])
        difference = self._objective.floor(raised) - self._objective.floor(low)
        return difference if math.isfinite(difference) else 0.0

    def _floor(self, levels: Levels) -> float:
        if self._floors:
            return sum([floors[level] for floors, level in zip(self._floors, levels, strict=True)])
        return self._objective.floor(levels)

    def _enter(self, bound: float, low: Levels, high: Levels) -> None:
        """Check ``high`` and keep the box unless it is ruled out."""
        node = self._lattice.node(high, low=low)
        sizes = node.sizes
        large = sizes >= self._smallest
        lost = self._records - int(sizes[large].sum())
        excess = self._excess(node, sizes, ~large) if lost else 0.0
        self._checked += 1
        floor = self._base_of(node) if self._objective.reads_classes else self._floor(high)
        if lost > self._limits.suppressed:
            self._note(high, math.inf, lost)
            feasible = False
        elif self._beaten(floor + excess) and not self._rules_out_below:
            self._note(high, math.nan, lost)
            feasible = True
        else:
            feasible = self._check(node, sizes, large)
        if feasible:
            self._push(bound, low, high, excess)
        else:
            self._ruled_out += _volume(low, high) - 1

    def _push(self, bound: float, low: Levels, high: Levels, excess: float) -> None:
        if low == high:
            return
        bound = max(bound, self._base(low) + excess)
        if self._beaten(bound):
            self._ruled_out += _volume(low, high) - 1
        else:
            # Of equal bounds the smaller box is nearer to an answer.
            self._made += 1
            heapq.heappush(self._boxes, (bound, -self._made, low, high, excess))

    def _base(self, low: Levels) -> float:
        if not self._objective.reads_classes:
            return self._floor(low)
        if low not in self._bases:
            node = self._lattice.node(low)
            self._bases[low] = self._base_of(node)
        return self._bases[low]

    def _base_of(self, node: Node) -> float:
        if isinstance(self._objective, CellObjective):
            return self._objective.base_of(node.sizes, node.costs)
        classes = node.classes(node.sizes > 0, sensitive=self._objective.sensitive)
        return self._objective.base(node.levels, classes)

    @property
    def _rules_out_below(self) -> bool:
        # If nothing may be suppressed, a node that fails a monotone model rules out all nodes below it.
        return self._limits.suppressed == 0 and bool(self._monotone)

    def _check(self, node: Node, sizes: Counts, large: Mask) -> bool:
        """Decide the models on a node; return whether nodes below it can satisfy them."""
        classes = node.classes(
            large,
            sensitive=self._sensitive,
            codes=self._reads_codes,
            population=self._reads_population,
        )
        kept = large.copy()
        kept[large] = first = self._once(classes)
        if self._beaten(self._floor(node.levels) + self._excess(node, sizes, ~kept)):
            self._note(node.levels, math.nan, self._records - int(sizes[kept].sum()))
            return self._possible_below(classes, first)
        kept[large] = keep(self._models, classes)
        suppressed = self._records - int(sizes[kept].sum())
        self._least_suppressed = min(self._least_suppressed, suppressed)
        value = math.inf
        if suppressed <= self._limits.suppressed and suppressed < max(self._records, 1):
            value = self._value(node, sizes, kept)
            self._offer(Solution(levels=node.levels, value=value, suppressed=suppressed))
        self._note(node.levels, value, suppressed)
        return self._possible_below(classes, first)

    def _once(self, classes: Classes) -> Mask:
        """Ask every model once: what fails here is suppressed at this node, whatever the rest of :func:`keep` says."""
        kept = np.ones(len(classes), dtype=np.bool_)
        for model in sorted(self._models, key=lambda model: not model.capabilities.monotone_suppression):
            kept = model.keep(classes, kept)
        return kept

    def _possible_below(self, classes: Classes, first: Mask) -> bool:
        if not self._rules_out_below or bool(first.all()):
            return True
        everything = np.ones(len(classes), dtype=np.bool_)
        return all(bool(model.keep(classes, everything).all()) for model in self._monotone)

    def _excess(self, node: Node, sizes: Counts, lost: Mask) -> float:
        if isinstance(self._objective, CellObjective):
            return self._objective.excess_of(sizes[lost], node.costs[lost])
        return self._objective.excess(node.levels, node.classes(lost & (sizes > 0)))

    def _value(self, node: Node, sizes: Counts, kept: Mask) -> float:
        objective = self._objective
        if isinstance(objective, CellObjective):
            total = float((sizes[kept] * node.costs[kept]).sum())
            return (total + objective.loss * (self._records - int(sizes[kept].sum()))) / objective.scale
        occupied = sizes > 0
        classes = node.classes(occupied, sensitive=objective.sensitive)
        return objective.value(node.levels, classes, kept[occupied])

    def _offer(self, solution: Solution) -> None:
        if any(listed.levels == solution.levels for listed in self._solutions):  # swept again
            return
        self._solutions.append(solution)
        self._solutions.sort(key=lambda listed: listed.order)
        del self._solutions[_LISTED:]

    @property
    def _best(self) -> float:
        return min(self._solutions[0].value, self._limits.value) if self._solutions else self._limits.value

    def _beaten(self, bound: float) -> bool:
        return bound > self._to_beat

    @property
    def _to_beat(self) -> float:
        return self._best + _TIE * max(abs(self._best), 1.0) if math.isfinite(self._best) else self._best

    def _out_of_time(self) -> bool:
        return self._checked + len(self._climbed) >= self._limits.steps or time.monotonic() >= self._limits.deadline

    def _note(self, levels: Levels, value: float, suppressed: int) -> None:
        if len(self._shown) < _SHOWN:
            self._shown.append((levels, value, suppressed))

    def _report(self, bound: float) -> None:
        best = f"best {self._best:.6g}, " if self._solutions else ""
        self._watch.step(
            self._checked + self._ruled_out,
            self._lattice.nodes,
            f"{self._checked:,} nodes checked, {best}bound {bound:.6g}",
        )

    def _explored(self) -> ExploredLattice:
        return ExploredLattice(
            heights=self._lattice.heights,
            levels=np.array([levels for levels, _, _ in self._shown], dtype=np.int32),
            values=np.array([value for _, value, _ in self._shown]),
            suppressed=np.array([suppressed for _, _, suppressed in self._shown], dtype=np.int64),
        )


def _volume(low: Levels, high: Levels) -> int:
    return math.prod(most - least + 1 for least, most in zip(low, high, strict=True))


def _neighbours(levels: Levels, heights: Levels) -> list[Levels]:
    moved = [(j, levels[j] + step) for j in range(len(levels)) for step in (-1, 1)]
    return [(*levels[:j], level, *levels[j + 1 :]) for j, level in moved if 0 <= level <= heights[j]]


def no_solution(lattice: Lattice, models: Sequence[Model], allowed: int, least: int) -> RequirementError:
    """Say which models fail even where everything is generalised, and how much suppression would help.

    Parameters
    ----------
    allowed
        The records that may be suppressed.
    least
        The fewest records that had to be suppressed at any node that was checked.
    """
    frequencies = lattice.frequencies
    records = frequencies.records
    everything = np.ones(1, dtype=np.bool_)
    names = [attribute.name for attribute in frequencies.sensitive]
    top = lattice.node(lattice.top).classes(everything, sensitive=names)
    problems = [f"No generalisation keeps the promise while suppressing at most {allowed:,} of {records:,} records."]
    for model in models:
        if not model.keep(top, everything).all():
            problems.append(
                f"`{model.title}` fails even if every quasi-identifier is `*` and nothing is suppressed: the whole "
                f"table has {model.achieved(top)}."
            )
    if least < records:
        hint = f"a `suppression_limit` of {_at_least(least, records)} is enough: {least:,} records would be suppressed"
    else:
        hint = "weaken the models that fail on the whole table; no suppression limit helps"
    return RequirementError(problems, hint=hint)


def _at_least(part: int, whole: int) -> str:
    """Return a share with four digits, rounded up."""
    return f"{-(-part * 10_000 // whole) / 10_000:.4f}"
