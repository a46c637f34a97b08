"""Pictures of a release in memory, for notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import ParameterError
from shoal.report._charts import Chart, class_sizes_chart
from shoal.report._document import Risk
from shoal.report._markup import Html, element, join

if TYPE_CHECKING:
    from shoal.recoding import ExploredLattice
    from shoal.release import Release

__all__ = ["Plots", "lattice_chart"]

#: nodes that a picture of a lattice shows at most: the best ones
_NODES = 400
_WIDTH, _ROW = 720, 46


@dataclass(frozen=True, slots=True)
class Plots:
    """The pictures of a release; notebooks show what the methods return.

    They are for the holder of the data: like :meth:`Release.explain`, they show figures of the original table.
    """

    release: Release

    def class_sizes(self) -> Chart:
        """Draw how many records hide in classes of which size, before and after."""
        before = self.release.before
        return class_sizes_chart(Risk.of(self.release.after), None if before is None else Risk.of(before))

    def lattice(self) -> Chart:
        """Draw the nodes that the search looked at, from exact values at the bottom to hidden ones at the top.

        Raises
        ------
        ParameterError
            If the method searched no lattice, or kept it back for differential privacy.
        """
        search = self.release.search
        if search is None or search.lattice is None or search.levels is None:
            raise ParameterError("the release was not found by a search over a lattice that can be shown.")
        return lattice_chart(search.lattice, chosen=search.levels, names=search.recoding.attributes)


def lattice_chart(lattice: ExploredLattice, *, chosen: tuple[int, ...], names: tuple[str, ...]) -> Chart:
    """Draw explored nodes by the sum of their levels; the chosen one is ringed, those that fail are hollow."""
    heights = lattice.levels.sum(axis=1)
    order = np.lexsort((heights, lattice.values))[:_NODES]
    rows: dict[int, list[int]] = {}
    for node in order.tolist():
        rows.setdefault(int(heights[node]), []).append(node)
    tall = sorted(rows, reverse=True)
    places = {
        node: (_WIDTH * (place + 1) / (len(rows[height]) + 1), _ROW * row + _ROW / 2)
        for row, height in enumerate(tall)
        for place, node in enumerate(sorted(rows[height], key=lambda each: lattice.levels[each].tolist()))
    }
    content = join(
        _edges(lattice, places),
        (_node(lattice, node, chosen, x=x, y=y) for node, (x, y) in places.items()),
    )
    shown = order[:20].tolist()
    return Chart(
        name="lattice",
        title=f"Nodes looked at: levels of {', '.join(names)}",
        note=f"{len(order):,} of {len(lattice.values):,} nodes",
        width=_WIDTH,
        height=_ROW * max(len(tall), 1),
        content=content,
        header=("levels", "loss", "suppressed"),
        rows=tuple((_levels(lattice, node), _value(lattice, node), f"{lattice.suppressed[node]:,}") for node in shown),
    )


def _edges(lattice: ExploredLattice, places: dict[int, tuple[float, float]]) -> list[Html]:
    """Draw a line between nodes that differ by one level of one column."""
    known = {tuple(lattice.levels[node].tolist()): place for node, place in places.items()}
    lines = []
    for levels, (x, y) in known.items():
        above = [(*levels[:at], level + 1, *levels[at + 1 :]) for at, level in enumerate(levels)]
        lines += [
            element("line", x1=f"{x:.1f}", y1=f"{y:.1f}", x2=f"{end[0]:.1f}", y2=f"{end[1]:.1f}", class_="rail")
            for end in (known[each] for each in above if each in known)
        ]
    return lines


def _node(lattice: ExploredLattice, node: int, chosen: tuple[int, ...], *, x: float, y: float) -> Html:
    won = tuple(lattice.levels[node].tolist()) == chosen
    said = f"levels {_levels(lattice, node)}: {_value(lattice, node)}, {lattice.suppressed[node]:,} suppressed"
    kind = "released" if np.isfinite(lattice.values[node]) else "step"
    ring = element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=12, class_="ring") if won else Html("")
    dot = element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=5, class_=kind)
    label = element("text", "chosen", x=f"{x + 16:.1f}", y=f"{y + 4:.1f}") if won else Html("")
    return element("g", element("title", said), ring, dot, label, class_="mark")


def _levels(lattice: ExploredLattice, node: int) -> str:
    return ", ".join(str(level) for level in lattice.levels[node].tolist())


def _value(lattice: ExploredLattice, node: int) -> str:
    value = float(lattice.values[node])
    return f"{value:.6g}" if np.isfinite(value) else "does not keep the promise"
