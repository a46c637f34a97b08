"""Gains of changing single attributes of a node: bounds for all nodes of a box, and a local search."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shoal.kernels import Counts, Floats, Mask
from shoal.kernels.moves import Moves, fixed_numbers
from shoal.methods.recode._judge import Judge
from shoal.methods.recode._lattice import Lattice, Levels, by_size
from shoal.quality import CellObjective

#: Numbers in the views that are kept: 128 MB.
_STORE = 2**24
#: What one more suppressed record adds to the choice of an attribute to split; and a cost, to tell attributes apart.
_SPARE, _TINY = 1e-3, 1e-6
#: What valuing one move takes for each row, in looks at a cell.
MOVED = 0.125
#: A value must be lower by this much (relatively, above 1) to be better.
_BETTER = 1e-12
#: How many attributes a kick changes, at least and at most.
_KICKED = (2, 5)


def _every_level(heights: Levels) -> tuple[Counts, Counts, Counts]:
    """Return where each attribute starts among all attributes and levels, and the attribute and level of each entry."""
    starts = np.cumsum([0, *(height + 1 for height in heights)])
    attributes = np.repeat(np.arange(len(heights)), np.diff(starts))
    return starts, attributes, np.arange(int(starts[-1])) - starts[attributes]


class Narrowed(NamedTuple):
    """What is left of a box: its corners, a bound for its nodes, and the attribute to split it by."""

    low: Levels
    high: Levels
    bound: float
    chosen: int


class Outlooks:
    r"""Looks down from nodes: what lowering each attribute alone costs at least.

    Let :math:`t_i(l, r)` be what record :math:`r` costs in attribute :math:`i` at level :math:`l`. The cost of a
    suppressed record is divided among the attributes, :math:`d_i \ge t_i`. Then the cost of a node is the sum of
    :math:`f_i = \sum_{r\,\mathrm{kept}} t_i(v_i, r) + d_i\,|S(v)|`, and each :math:`f_i` grows with the set
    :math:`S(v)` of suppressed records. Of the nodes :math:`v` between ``low`` and ``high``,

    - :math:`S(v)` contains :math:`S_j`, what is too small at ``high`` with attribute :math:`j` alone at level
      :math:`v_j`, for every :math:`j`. So :math:`f_i(v)` is at least its value for :math:`S_i`;
    - with :math:`s` the greatest :math:`|S_j|`, at least :math:`s - |S(high)|` more records are suppressed than at
      ``high``, and each adds at least :math:`d_i - \max_r t_i(v_i, r)` to :math:`f_i`.

    For each possible :math:`s`, attributes choose among the levels that suppress no more than :math:`s` by themselves,
    independently of each other: the sum of the least costs bounds all nodes with this :math:`s`, and the least of these
    sums bounds the box. A level that no :math:`s` makes cheap enough is out of question. Narrowing a box from above
    gives a new ``high``, which suppresses more.

    Classes are too small that hold fewer records than any model allows persons. Whatever else models remove only adds
    to what is suppressed. What to minimise must be superadditive.
    """

    def __init__(self, lattice: Lattice, cells: CellObjective, smallest: int, allowed: int) -> None:
        self._lattice, self._cells, self._smallest = lattice, cells, smallest
        self.allowed = allowed
        dearest = np.array([max(float(level.max(initial=0.0)) for level in table) for table in cells.tables])
        total = float(dearest.sum())
        self._parts = dearest * (cells.loss / total) if total else np.full(len(dearest), cells.loss / len(dearest))
        self.starts, self.attributes, self.levels = _every_level(lattice.heights)
        self.floors = np.concatenate([np.asarray(floors) for floors in cells.floors]) / cells.scale
        most = [float(level.max(initial=0.0)) for table in cells.tables for level in table]
        self.slopes = np.maximum(self._parts[self.attributes] - np.array(most), 0.0) / cells.scale
        self.records = max(lattice.frequencies.records, 1)
        self._views: OrderedDict[Levels, View] = OrderedDict()
        self.rise(lattice.bottom)

    def rise(self, low: Levels) -> None:
        """Leave out what is below ``low``: nothing will be asked about it again."""
        self._moves = moves_above(self._lattice, self._cells, low, self._smallest, self.allowed)
        # Sums over so many rows round by less than this, and so does the division of what a suppressed record costs.
        self.margin: float = self._cells.loss * ((self._moves.columns.shape[1] + 1_000) * 2.0**-51 + 4e-12)

    def at(self, low: Levels, high: Levels) -> View:
        """Look down from ``high`` to the levels of ``low``."""
        view = self._views.get(high)
        if view is None or any(known > least for known, least in zip(view.low, low, strict=True)):
            self._lattice.effort.spend(self._moves.columns.shape[1] * len(self.levels) * MOVED)
            suppressed, already, excess = self._moves.outlook(high, low, self._parts)
            lowest, own = (self.floors + each / self._cells.scale for each in (already, excess))
            view = self._views[high] = View(self, low, suppressed, lowest, own, high)
            while len(self._views) * 3 * len(self.floors) > _STORE:
                self._views.popitem(last=False)
        return view


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What is seen from the highest node of a box."""

    outlooks: Outlooks
    #: The lowest levels that were looked at.
    low: Levels
    #: Records that each level suppresses; one entry per attribute and level, in the order of `Moves`.
    suppressed: Counts
    #: What the attribute costs at this level if no more is suppressed than at ``high``.
    lowest: Floats
    #: What it costs if the records are suppressed that this level suppresses.
    own: Floats
    high: Levels

    @property
    def lost(self) -> int:
        """Records that are suppressed at the highest node, and so at all nodes of the box."""
        return int(self.suppressed[self.high[0]])

    @property
    def value(self) -> float:
        """A bound for the highest node: what it costs to suppress what is too small."""
        return float(self.lowest[self.outlooks.starts[:-1] + self.high].sum()) - self.outlooks.margin

    def narrowed(self, low: Levels, high: Levels, to_beat: float) -> Narrowed | None:
        """Leave out levels of a box, no lower than those that were looked at, that cannot beat a value.

        None if nothing is left.
        """
        starts, attributes, levels = self.outlooks.starts[:-1], self.outlooks.attributes, self.outlooks.levels
        left = (levels >= np.array(low)[attributes]) & (levels <= np.array(high)[attributes])
        left &= self.suppressed <= self.outlooks.allowed
        limit = to_beat + self.outlooks.margin
        while True:
            costs = self._costs(left)
            least = np.minimum.reduceat(costs, starts, axis=1)
            bounds = least.sum(axis=1)
            good = np.isfinite(bounds) & (bounds <= limit)
            if not good.any():
                return None
            costs, least, bounds = costs[good], least[good], bounds[good]
            before, left = left, left & ((bounds[:, None] - least[:, attributes] + costs) <= limit).any(axis=0)
            if np.array_equal(before, left):
                break
        best = int(np.argmin(bounds))
        ends = [np.flatnonzero(part) for part in np.split(left, starts[1:])]
        narrow = tuple(int(part[0]) for part in ends), tuple(int(part[-1]) for part in ends)
        bound = float(bounds[best]) - self.outlooks.margin
        return Narrowed(*narrow, bound, self._chosen(costs[best], left, *narrow))

    def _costs(self, left: Mask) -> Floats:
        """Return what levels cost, one row for each number of records that may be suppressed most."""
        numbers = np.unique(self.suppressed[left])[:, None]
        shared = self.lowest + (numbers - self.lost) * self.outlooks.slopes
        return np.where(left & (self.suppressed <= numbers), np.maximum(self.own, shared), np.inf)

    def _chosen(self, costs: Floats, left: Mask, low: Levels, high: Levels) -> int:
        """Return the attribute whose highest level costs much while those below it suppress much."""
        best, chosen = -1.0, 0
        for j, (start, least, most) in enumerate(zip(self.outlooks.starts.tolist(), low, high, strict=False)):
            if least == most:
                continue
            here, below = start + most, slice(start + least, start + most)
            raised = min(float(costs[here] - costs[start + least : here + 1].min()), 1.0)
            share = (int(self.suppressed[below][left[below]].min()) - self.lost) / self.outlooks.records
            if (score := (raised + _TINY) * (share + _SPARE)) > best:
                best, chosen = score, j
        return chosen


def moves_above(lattice: Lattice, cells: CellObjective, low: Levels, smallest: int, allowed: int) -> Moves:
    """Prepare the kernel for the nodes above the lowest levels that are of interest."""
    node = lattice.node(low)
    occupied = node.counts[0] > 0
    ends = [(j, least, height) for j, (least, height) in enumerate(zip(low, lattice.heights, strict=True))]
    return Moves(
        node.columns[: len(low), occupied],
        node.counts[0, occupied],
        [[lattice.mapping(j, least, max(least, k)) for k in range(height + 1)] for j, least, height in ends],
        [[cells.tables[j][max(least, k)] for k in range(height + 1)] for j, least, height in ends],
        smallest=smallest,
        allowed=allowed,
        loss=cells.loss,
    )


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
    ``stop()`` is asked before every look at a node.

    Where costs add up over cells and the models ask for numbers of records alone, one call of a kernel values all steps
    from a node. Otherwise the kernel, or else the floors of the measure, bound them, and nodes that may be better are
    decided one by one.
    """

    def __init__(self, judge: Judge, stop: Callable[[], bool]) -> None:
        self._judge, self._stop = judge, stop
        self._low = judge.lattice.bottom
        self._generator = fixed_numbers()
        # the kernel counts records: where these are more than persons, it suppresses too little
        counted = by_size(judge.models) and judge.lattice.frequencies.holders is None
        cells = judge.objective if isinstance(judge.objective, CellObjective) else None
        #: whether the kernel's values are those of the nodes; else they are bounds
        self._exact = counted and cells is not None
        self._cells = cells if cells is not None and (counted or cells.superadditive) else None
        self._moves = None if self._cells is None else self._prepared(self._cells)
        self._starts, self._attributes, self._levels = _every_level(judge.lattice.heights)
        #: what nodes with an attribute at a level cost at least
        self._alone: Floats = np.full(len(self._levels), -np.inf)
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
            solution = None if kicked is None else self.down(kicked)
            if solution is not None and _better(solution.value, best.value):
                best, failed = self._settle(solution), 0
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
        self._count(int(wanted.sum()))
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
        self._count(1)
        wanted = np.zeros(len(self._levels), dtype=np.bool_)
        wanted[levels[0]] = True
        return float(self._moves.values(levels, wanted)[levels[0]]) / self._cells.scale

    def _count(self, moves: int) -> None:
        """Count the work of valuing a node and some of those one step away."""
        if self._moves is not None:
            attributes, rows = self._moves.columns.shape
            self._judge.lattice.effort.spend(rows * (attributes + moves) * MOVED)

    def _moved(self, levels: Levels, move: int) -> Levels:
        attribute = int(self._attributes[move])
        return (*levels[:attribute], int(self._levels[move]), *levels[attribute + 1 :])


def _better(value: float, than: float) -> bool:
    return value < than - _BETTER * max(abs(than), 1.0) if math.isfinite(than) else value < than
