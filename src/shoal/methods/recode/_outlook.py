"""Bounds for the nodes of a box, from what each level of each attribute suppresses at least."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shoal.kernels import Counts, Floats, Mask
from shoal.kernels.moves import Moves
from shoal.methods.recode._lattice import Lattice, Levels
from shoal.quality import CellObjective

#: Numbers in the views that are kept: 128 MB.
_STORE = 2**24
#: What one more suppressed record adds to the choice of an attribute to split; and a cost, to tell attributes apart.
_SPARE, _TINY = 1e-3, 1e-6


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
    to what is suppressed.

    Parameters
    ----------
    lattice, cells
        The table, and what to minimise; it must be superadditive.
    smallest, allowed
        The least size of a class, and how many records may be suppressed.
    """

    def __init__(self, lattice: Lattice, cells: CellObjective, smallest: int, allowed: int) -> None:
        self._lattice, self._cells, self._smallest = lattice, cells, smallest
        self.allowed = allowed
        dearest = np.array([max(float(level.max(initial=0.0)) for level in table) for table in cells.tables])
        total = float(dearest.sum())
        self._parts = dearest * (cells.loss / total) if total else np.full(len(dearest), cells.loss / len(dearest))
        heights = lattice.heights
        self.starts = np.cumsum([0, *(height + 1 for height in heights)])
        self.attributes = np.repeat(np.arange(len(heights)), np.diff(self.starts))
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
            view = self._views[high] = self._looked(low, high)
            while len(self._views) * 3 * len(self.floors) > _STORE:
                self._views.popitem(last=False)
        return view

    def _looked(self, low: Levels, high: Levels) -> View:
        suppressed, already, excess = self._moves.outlook(high, low, self._parts)
        scale = self._cells.scale
        return View(self, low, suppressed, self.floors + already / scale, self.floors + excess / scale, high)


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What is seen from the highest node of a box.

    Parameters
    ----------
    outlooks
        Who looked.
    low
        The lowest levels that were looked at.
    suppressed
        Records that each level suppresses; one entry per attribute and level, in the order of `Moves`.
    lowest
        What the attribute costs at this level if no more is suppressed than at ``high``.
    own
        What it costs if the records are suppressed that this level suppresses.
    high
        The highest node.
    """

    outlooks: Outlooks
    low: Levels
    suppressed: Counts
    lowest: Floats
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
        """Leave out levels that cannot beat a value; None if nothing is left.

        Parameters
        ----------
        low, high
            The corners of the box: no lower than those that were looked at, and with this highest node.
        to_beat
            The value above which nodes are of no interest.
        """
        starts, attributes = self.outlooks.starts[:-1], self.outlooks.attributes
        levels = np.arange(len(attributes)) - starts[attributes]
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
