"""Iterated local search: a good node soon, in lattices that are too large to be searched through."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shoal.kernels import Floats
from shoal.kernels.moves import Moves
from shoal.methods.recode._judge import Judge
from shoal.methods.recode._lattice import Levels, by_size
from shoal.methods.recode._outlook import moves_above
from shoal.quality import CellObjective

#: A value must be lower by this much (relatively, above 1) to be better.
_BETTER = 1e-12
#: How many attributes a kick changes, at least and at most.
_KICKED = (2, 5)


class Place(NamedTuple):
    """A node and its value."""

    levels: Levels
    value: float


class Descent:
    """Go down from the top, kick the best node found so far, go down again.

    A step moves one attribute to *any* of its levels, the best of all such steps: a level that does not pay may hide
    one below that does. A node that no step improves and that is the best so far is left by the best pair of steps, if
    one improves it. A kick moves 2 to 5 attributes, drawn at random, to levels drawn at random. Only nodes within the
    suppression limit are visited. A level whose attribute alone, all others being as general as can be, suppresses or
    loses too much is never tried. The random numbers are the same every time, so that results are reproducible.

    Parameters
    ----------
    judge
        What decides on nodes, and remembers the best.
    stop
        Whether to stop: asked before every look at a node.

    Notes
    -----
    Where costs add up over cells and the models ask for numbers of records alone, one call of a kernel values all steps
    from a node. Otherwise the kernel, or else the floors of the measure, bound them, and nodes that may be better are
    decided one by one.
    """

    def __init__(self, judge: Judge, stop: Callable[[], bool]) -> None:
        self._judge, self._stop = judge, stop
        self._objective = judge.objective
        self._low = judge.lattice.bottom
        self._generator = np.random.default_rng(0)
        # the kernel counts records: where these are more than persons, it suppresses too little
        counted = by_size(judge.models) and judge.lattice.frequencies.holders is None
        cells = self._objective if isinstance(self._objective, CellObjective) else None
        #: whether the kernel's values are those of the nodes; else they are bounds
        self._exact = counted and cells is not None
        self._cells = cells if cells is not None and (counted or cells.superadditive) else None
        self._moves = None if self._cells is None else self._prepared(self._cells)
        heights = judge.lattice.heights
        self._starts = np.cumsum([0, *(height + 1 for height in heights)])
        self._attributes = np.repeat(np.arange(len(heights)), np.diff(self._starts))
        self._levels = np.arange(int(self._starts[-1])) - self._starts[self._attributes]
        #: what nodes with an attribute at a level cost at least
        self._alone: Floats = np.full(int(self._starts[-1]), -np.inf)
        self._steps: dict[Levels, Place | None] = {}
        self.looks = 0

    def _prepared(self, cells: CellObjective) -> Moves:
        """Prepare the kernel for the nodes above the lowest levels that are of interest."""
        judge = self._judge
        allowed = min(judge.limits.suppressed, judge.records - 1)
        return moves_above(judge.lattice, cells, self._low, judge.smallest, allowed)

    def run(self) -> None:
        """Search until nothing better was found for long, or it is time to stop."""
        top = self._judge.lattice.top
        value = self._judge.value(top)
        if not math.isfinite(value) or not len(top):
            return
        self._know_alone(top)
        best = self._settle(self.down(Place(top, value)))
        failed = 0
        while failed < self._judge.limits.patience and not self._stop():
            kicked = self._kick(best)
            found = None if kicked is None else self.down(kicked)
            if found is not None and _better(found.value, best.value):
                best, failed = self._settle(found), 0
            else:
                failed += 1

    def down(self, place: Place) -> Place:
        """Take the best step while there is one."""
        while not self._stop():
            if place.levels not in self._steps:
                self._steps[place.levels] = self._best_step(place.levels, place.value)
            step = self._steps[place.levels]
            if step is None:
                break
            place = step
        if place.value < self._judge.best:
            self._judge.value(place.levels)
            self._rise()
        return place

    def _settle(self, place: Place) -> Place:
        """Take the best pair of steps, and go down again, while there is one."""
        while not self._stop():
            best: Place | None = None
            bounds = self._bounds(place.levels, math.inf)
            for move in np.argsort(bounds, kind="stable").tolist():
                if not math.isfinite(bounds[move]) or self._stop():
                    break
                second = self._best_step(self._moved(place.levels, move), place.value if best is None else best.value)
                best = second or best
            if best is None:
                break
            place = self.down(best)
        return place

    def _best_step(self, levels: Levels, value: float) -> Place | None:
        """Return the best node one step away, if it is better than ``value``."""
        bounds = self._bounds(levels, value)
        if self._exact:
            move = int(np.argmin(bounds))
            return Place(self._moved(levels, move), float(bounds[move])) if _better(bounds[move], value) else None
        best: Place | None = None
        for move in np.argsort(bounds, kind="stable").tolist():
            if not _better(bounds[move], value) or self._stop():
                break
            moved = self._moved(levels, move)
            found = self._judge.value(moved)
            self.looks += 1
            if _better(found, value):
                best, value = Place(moved, found), found
        return best

    def _bounds(self, levels: Levels, most: float) -> Floats:
        """Return the values of all nodes one step away, or bounds for them; infinite where they are out of question."""
        self.looks += 1
        wanted = self._alone <= self._judge.best
        wanted[self._starts[:-1] + np.array(levels)] = False
        if self._moves is None or self._cells is None:
            moved = [self._moved(levels, move) for move in range(len(self._levels))]
            return np.where(wanted, [self._judge.floor(node) for node in moved], math.inf)
        return self._moves.values(levels, wanted, most=most * self._cells.scale) / self._cells.scale

    def _know_alone(self, top: Levels) -> None:
        """Bound the nodes that have an attribute at a level by what that attribute alone costs and suppresses.

        Whatever is suppressed with all other attributes at the top is suppressed in all nodes with this level.
        """
        if self._moves is None or self._cells is None or not self._cells.superadditive:
            return
        floors = self._judge.floors
        lowest, highest = sum(own[0] for own in floors), sum(own[-1] for own in floors)
        own = np.concatenate([np.array(table) for table in floors])
        ends = np.array([(table[0], table[-1]) for table in floors])[self._attributes]
        excess = self._moves.values(top) / self._cells.scale - (highest - ends[:, 1] + own)
        # rounding must not rule anything out
        self._alone = lowest - ends[:, 0] + own + np.maximum(excess, 0.0) - 1e-9

    def _rise(self) -> None:
        """Leave out the levels that have become too dear: the table of what is above them is smaller."""
        if self._cells is None:
            return
        useful = self._alone <= self._judge.best
        low = tuple(
            int(np.min(self._levels[useful & (self._attributes == j)], initial=height))
            for j, height in enumerate(self._judge.lattice.heights)
        )
        if low != self._low:
            self._low = low
            self._moves = self._prepared(self._cells)
            self._steps.clear()

    def _kick(self, place: Place) -> Place | None:
        """Move a few attributes at random; raise others at random until the node is within the suppression limit."""
        useful = self._alone <= self._judge.best
        number = int(self._generator.integers(_KICKED[0], _KICKED[1] + 1))
        kicked = list(place.levels)
        for attribute in self._generator.permutation(len(kicked))[:number].tolist():
            allowed = self._levels[useful & (self._attributes == attribute)]
            if len(allowed):
                kicked[attribute] = int(self._generator.choice(allowed))
        value = self._valued(tuple(kicked))
        for attribute in self._generator.permutation(len(kicked)).tolist():
            if math.isfinite(value) or self._stop():
                break
            kicked[attribute] = self._judge.lattice.heights[attribute]
            value = self._valued(tuple(kicked))
        return Place(tuple(kicked), value) if math.isfinite(value) else None

    def _valued(self, levels: Levels) -> float:
        self.looks += 1
        if not self._exact or self._moves is None or self._cells is None:
            return self._judge.value(levels)
        wanted = np.zeros(len(self._levels), dtype=np.bool_)
        wanted[levels[0]] = True
        return float(self._moves.values(levels, wanted)[levels[0]]) / self._cells.scale

    def _moved(self, levels: Levels, move: int) -> Levels:
        attribute = int(self._attributes[move])
        return (*levels[:attribute], int(self._levels[move]), *levels[attribute + 1 :])


def _better(value: float, than: float) -> bool:
    return value < than - _BETTER * max(abs(than), 1.0) if math.isfinite(than) else value < than
