"""Branch and bound over sublattices: optimal when left to finish, and at any time with a proven gap."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from shoal.kernels.screening import Proportions, Screening, counts_values, screen
from shoal.methods.base import Watch
from shoal.methods.recode._judge import Judge, Limits
from shoal.methods.recode._lattice import Box, Lattice, Levels, Node
from shoal.methods.recode._moves import Descent, Narrowed, Outlooks, Place
from shoal.methods.recode._result import ExploredLattice, Solution
from shoal.models import Model, in_order
from shoal.quality import CellObjective, Objective
from shoal.tables import Recoding

#: Nodes checked one by one before boxes are swept, a quarter of them where a sweep looks at coarse nodes first;
#: lattices with fewer nodes than the second number are not swept.
_PATIENCE, _WORTH_IT = 16, 128
#: Tuples times nodes of a box that is swept in one go: about a second's work.
_SWEPT = 2**27
#: Where a sweep leaves out most nodes: how many it may have, the classes that it may look at, and what a look takes, in
#: looks at a cell.
_NODES, _LOOKS, _LOOK = 2**20, 2**28, 4.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """What a search knows when it stops."""

    solutions: tuple[Solution, ...]
    bound: float
    proved: bool
    checked: int
    pruned: int
    least_suppressed: int
    lattice: ExploredLattice
    #: the release of the best node
    recoding: Recoding | None


class BranchAndBound:
    """Search for the best node, best bound first.

    A *box* is the set of nodes between two nodes ``low <= high``. A class of ``high`` that is smaller than every model
    allows is suppressed in all nodes of the box, as its parts are smaller still; and generalising from ``low`` costs
    at least what the objective's floor says. Both together bound every value in the box [ClassObjective]. Where costs
    add up over cells, what each level of each attribute suppresses by itself below ``high`` gives a better bound, and
    levels that are out of question are left out of the box [Outlooks].

    The box with the least bound is split: an attribute has either its highest level or a lower one. Only the second
    part has a new ``high``, so every split costs a look at one node, and that node is a candidate. The search ends when
    no bound is below the best value; the least bound of the boxes that are left is at any time a proven bound for the
    whole lattice.

    ``between`` names the lowest and the highest node to search between; by default that is the whole lattice.

    Cost: O(rows * attributes) per node checked, of few nodes out of many (some 80 of 12,960 on the Adult data with
    k = 5).
    """

    def __init__(
        self,
        lattice: Lattice,
        objective: Objective,
        models: Sequence[Model],
        limits: Limits,
        watch: Watch,
        *,
        between: tuple[Levels, Levels] | None = None,
    ) -> None:
        self._lattice, self._objective, self._models = lattice, objective, models
        self._whole = between or (lattice.bottom, lattice.top)
        self._nodes = _volume(*self._whole)
        self._limits, self._watch = limits, watch
        # local search looks for good nodes, better than the value to beat or not
        self._judge = Judge(lattice, objective, models, replace(limits, value=math.inf))
        self._screen = self._screened()
        values = 0 if self._screen is None else lattice.frequencies.sensitive[self._screen[0]].size
        self._counts_values = counts_values(values, lattice.leaves, len(lattice.heights), self._judge.records)
        self._largest_sweep = _NODES
        self._bases: dict[Levels, float] = {}
        self._boxes: list[tuple[float, int, Levels, Levels, float]] = []
        self._entering: list[tuple[float, Levels, Levels]] = []
        self._made = 0
        self._ruled_out = 0
        self._checked = 0
        self._until = limits
        self._descent: Descent | None = None
        self._outlooks: Outlooks | None = None
        if isinstance(objective, CellObjective) and objective.superadditive and lattice.heights and self._judge.records:
            self._outlooks = Outlooks(lattice, objective, self._judge.smallest, limits.suppressed)

    def _screened(self) -> tuple[int, list[list[Proportions]]] | None:
        """Return what the first model whose verdict depends on the whole release asks at least, in each order.

        It is asked about the classes that are large enough, provided that no other model is asked before; beside a
        second model of this kind it is known what it removes first, and not what it removes then.
        """
        if self._lattice.frequencies.holders is not None:  # proportions of records are not those of votes
            return None
        unstable = [m for m in in_order(self._models) if not m.capabilities.monotone_suppression]
        if not unstable or not all(m.capabilities.decided_by_size for m in self._models if m not in unstable):
            return None
        position = self._models.index(unstable[0])
        for number, attribute in enumerate(self._lattice.frequencies.sensitive):
            if (attribute.name,) == unstable[0].capabilities.sensitive:
                orders = [[stage[position].proportions(attribute) for stage in order] for order in self._judge.orders]
                known = [[each for each in order if each is not None] for order in orders]
                if known != orders:
                    return None
                alone = len(unstable) == 1
                return number, [[each._replace(exact=each.exact and alone) for each in order] for order in known]
        return None

    def run(self) -> Found:
        """Search until the best node is proved, or a limit is reached."""
        self._enter(-math.inf, *self._whole)
        if self._outlooks is not None and self._boxes:
            self._outlooks.rise(self._boxes[0][2])
        limited = self._limits.effort.limited or math.isfinite(self._limits.steps)
        if limited and self._open and self._nodes == self._lattice.nodes:
            self._search_locally()
        self._judge.limits = self._limits
        while self._open and not self._out_of_time():
            bound, _, low, high, excess = heapq.heappop(self._boxes)
            self._report(bound)
            before = self._judge.best
            if not self._sweep(low, high):
                self._split(bound, low, high, excess)
            if self._descent is not None and self._judge.best < before:
                best = self._judge.solutions[0]
                self._descent.down(Place(best.levels, best.value))
        proved = not self._open
        return Found(
            solutions=tuple(self._judge.solutions),
            bound=self._judge.best if proved else min(self._boxes[0][0], self._judge.best),
            proved=proved,
            checked=self._checked,
            pruned=self._nodes - self._checked if proved else self._ruled_out,
            least_suppressed=self._judge.least_suppressed,
            lattice=self._judge.explored(),
            recoding=self._judge.recoding(self._judge.solutions[0].levels) if self._judge.solutions else None,
        )

    def _search_locally(self) -> None:
        """Spend half of the effort on a good node: if the search has to stop, it stops well."""
        limits = self._limits
        self._until = replace(limits, effort=limits.effort.part(0.5), steps=limits.steps / 2)
        self._descent = Descent(self._judge, self._out_of_time)
        self._descent.run()
        self._until = self._limits

    @property
    def _open(self) -> bool:
        return bool(self._boxes) and not self._judge.beaten(self._boxes[0][0])

    def _split(self, bound: float, low: Levels, high: Levels, excess: float) -> None:
        free = [j for j, (least, most) in enumerate(zip(low, high, strict=True)) if least < most]
        if not free:
            return None
        if self._outlooks is None:
            chosen = max(free, key=lambda j: (self._range(j, low, high), high[j] - low[j]))
        else:
            narrowed = self._narrowed(self._outlooks, bound, low, high)
            if narrowed is None or narrowed.low == high:
                return self._enter_all()
            low, chosen = narrowed.low, narrowed.chosen
        lower = (*high[:chosen], high[chosen] - 1, *high[chosen + 1 :])
        higher = (*low[:chosen], high[chosen], *low[chosen + 1 :])
        self._enter(bound, low, lower)
        self._push(bound, higher, high, excess)
        return self._enter_all()

    def _sweep(self, low: Levels, high: Levels) -> bool:
        """Refute the nodes of a box all at once where the bounds of boxes do not see what a model asks for."""
        objective = self._objective
        patience = _PATIENCE // 4 if self._counts_values else _PATIENCE
        if self._screen is None or self._nodes < _WORTH_IT or self._checked < patience:
            return False
        if not isinstance(objective, CellObjective) or not objective.superadditive:
            return False
        everything = self._fits(self._nodes)
        if everything:
            low, high = self._whole
        volume = _volume(low, high)
        if not self._fits(volume):
            return False
        box = Box(self._lattice, low, high, objective.tables, sensitive=self._screen[0])
        if not box.fits:
            return False
        swept = screen(
            box.start,
            [objective.floors[j][low[j] : high[j] + 1] for j in box.order],
            Screening(
                smallest=self._judge.smallest,
                allowed=self._limits.suppressed,
                loss=objective.loss,
                scale=objective.scale,
                best=self._judge.to_beat,
                orders=self._screen[1],
            ),
            budget=int(min(_LOOKS, self._until.effort.cells / _LOOK)),
        )
        self._until.effort.spend(swept.looks * _LOOK)
        if not swept.finished:
            self._largest_sweep = volume // 8
            return False
        for bound, number in sorted(zip(swept.bounds.tolist(), swept.nodes.tolist(), strict=True)):
            if not self._judge.beaten(bound):
                node = self._lattice.node(box.levels(number))
                self._judge.check(node, node.sizes, node.large(self._judge.smallest))
        self._checked += volume - 1  # the highest node was checked before
        if everything:
            self._boxes.clear()
            self._checked = self._nodes
        return True

    def _fits(self, volume: int) -> bool:
        if self._checked + volume > self._limits.steps:
            return False
        if self._counts_values:
            return volume <= self._largest_sweep
        return volume * self._lattice.leaves <= _SWEPT

    def _range(self, attribute: int, low: Levels, high: Levels) -> float:
        if self._judge.floors:
            return self._judge.floors[attribute][high[attribute]] - self._judge.floors[attribute][low[attribute]]
        raised = (*low[:attribute], high[attribute], *low[attribute + 1 :])
        difference = self._objective.floor(raised) - self._objective.floor(low)
        return difference if math.isfinite(difference) else 0.0

    def _enter(self, bound: float, low: Levels, high: Levels) -> None:
        """Check ``high`` and keep the box unless it is ruled out, or else what it is narrowed to."""
        self._entering.append((bound, low, high))
        self._enter_all()

    def _enter_all(self) -> None:
        """Enter the boxes that wait for it: narrowing one may make another, as often as there are levels."""
        while self._entering:
            bound, low, high = self._entering.pop()
            if self._checked and self._late():
                self._made += 1
                heapq.heappush(self._boxes, (bound, -self._made, low, high, 0.0))
                continue
            self._checked += 1
            excess = 0.0 if self._refuted(low, high) else self._examined(low, high)
            if excess is None:
                self._ruled_out += _volume(low, high) - 1
            else:
                self._push(bound, low, high, excess)

    def _refuted(self, low: Levels, high: Levels) -> bool:
        """Return whether ``high`` is seen to be of no interest without forming its classes."""
        if self._outlooks is None or self._judge.rules_out_below:
            return False
        view = self._outlooks.at(low, high)
        if view.lost > self._limits.suppressed:
            self._judge.note(high, math.inf, view.lost)
        elif self._judge.beaten(view.value):
            self._judge.note(high, math.nan, view.lost)
        else:
            return False
        return True

    def _examined(self, low: Levels, high: Levels) -> float | None:
        """Decide on ``high``; return what its suppression adds to the bounds of nodes below, None to rule them out."""
        node = self._lattice.node(high, low=low)
        sizes = node.sizes
        large = node.large(self._judge.smallest)
        lost = self._judge.records - int(sizes[large].sum())
        excess = self._judge.excess(node, sizes, ~large) if lost else 0.0
        floor = self._base_of(node) if self._objective.reads_classes else self._judge.floor(high)
        if lost > self._limits.suppressed:
            self._judge.note(high, math.inf, lost)
            return None
        if self._judge.beaten(floor + excess) and not self._judge.rules_out_below:
            self._judge.note(high, math.nan, lost)
            return excess
        return excess if self._judge.check(node, sizes, large) else None

    def _push(self, bound: float, low: Levels, high: Levels, excess: float) -> None:
        if low == high:
            return
        if self._outlooks is not None:
            narrowed = self._narrowed(self._outlooks, bound, low, high)
            if narrowed is None:
                return
            low, bound = narrowed.low, max(bound, narrowed.bound)
        bound = max(bound, self._base(low) + excess)
        if self._judge.beaten(bound) or low == high:
            self._ruled_out += _volume(low, high) - 1
        else:
            # Of equal bounds the smaller box is nearer to an answer.
            self._made += 1
            heapq.heappush(self._boxes, (bound, -self._made, low, high, excess))

    def _narrowed(self, outlooks: Outlooks, bound: float, low: Levels, high: Levels) -> Narrowed | None:
        """Leave out what cannot be better; None if nothing is left, or a box with a new highest node, to be entered."""
        narrowed = outlooks.at(low, high).narrowed(low, high, self._judge.to_beat)
        left = 1 if narrowed is None else _volume(narrowed.low, narrowed.high)
        self._ruled_out += _volume(low, high) - left
        if narrowed is None or narrowed.high == high:
            return narrowed
        self._ruled_out -= 1  # what was the highest node is checked
        self._entering.append((max(bound, narrowed.bound), narrowed.low, narrowed.high))
        return None

    def _base(self, low: Levels) -> float:
        if not self._objective.reads_classes:
            return self._judge.floor(low)
        if low not in self._bases:
            node = self._lattice.node(low)
            self._bases[low] = self._base_of(node)
        return self._bases[low]

    def _base_of(self, node: Node) -> float:
        if isinstance(self._objective, CellObjective):
            return self._objective.base_of(node.sizes, node.costs)
        classes = node.classes(node.sizes > 0, sensitive=self._objective.sensitive)
        return self._objective.base(node.levels, classes)

    def _out_of_time(self) -> bool:
        looks = 0 if self._descent is None else self._descent.looks
        return self._late() or self._checked + looks >= self._until.steps

    def _late(self) -> bool:
        return self._until.effort.over

    def _report(self, bound: float) -> None:
        best = f"best {self._judge.best:.6g}, " if self._judge.solutions else ""
        self._watch.step(
            self._checked + self._ruled_out,
            self._nodes,
            f"{self._checked:,} nodes checked, {best}bound {bound:.6g}",
        )


def _volume(low: Levels, high: Levels) -> int:
    return math.prod(most - least + 1 for least, most in zip(low, high, strict=True))
