"""Pictures of a release in memory, for notebooks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.errors import ParameterError
from shoal.methods import Made
from shoal.methods.recode import SearchResult
from shoal.report._charts import Chart, class_sizes_chart
from shoal.report._columns import column_figures, compared_column
from shoal.report._document import LatticeFigures, LatticeNode, Risk
from shoal.report._histogram import column_chart
from shoal.report._markup import Html, element, join
from shoal.risk import Pair
from shoal.tables import Table, count_values
from shoal.utility import distributions

#: nodes that a picture of a lattice shows at most: the best ones
_NODES = 400
_WIDTH, _ROW = 720, 46


@dataclass(frozen=True, slots=True)
class Plots:
    """The pictures of a release; notebooks show what the methods return.

    They are for the holder of the data: like :meth:`shoal.Release.explain`, they show figures of the original table.
    """

    release: Made

    def class_sizes(self) -> Chart:
        """Draw how many records hide in classes of which size, before and after."""
        before = self.release.before
        return class_sizes_chart(Risk.of(self.release.after), None if before is None else Risk.of(before))

    def column(self, name: str, original: Table | None = None) -> Chart:
        """Draw the distribution of a released column; beside that of the original table, where it is given.

        Raises
        ------
        ParameterError
            If the release has no such column.
        """
        if name not in self.release.table.columns or name not in self.release.plan.schema:
            raise ParameterError(f"the release has no column `{name}` to draw.")
        role = self.release.plan.schema[name].role
        released = self.release.table
        found = column_figures(count_values(released, name), role, released.count())
        if original is not None:
            pair = Pair.of(original.with_schema(self.release.plan.schema), released, columns=[name])
            found = compared_column(found, distributions(pair)[0])
        return column_chart(found)

    def lattice(self) -> Chart:
        """Draw the nodes that the search looked at, from exact values at the bottom to hidden ones at the top.

        Raises
        ------
        ParameterError
            If the method searched no lattice, or kept it back for differential privacy.
        """
        found = None if self.release.search is None else lattice_figures(self.release.search)
        if found is None:
            raise ParameterError("this release did not come from a search over a lattice that can be shown.")
        return lattice_chart(found)


def lattice_figures(search: SearchResult) -> LatticeFigures | None:
    """Return what a picture shows of a search; None where no lattice was searched, or it was kept back."""
    lattice, chosen = search.lattice, search.levels
    if lattice is None or chosen is None:
        return None
    order = np.lexsort((lattice.levels.sum(axis=1), lattice.values))
    _, first = np.unique(lattice.levels[order], axis=0, return_index=True)  # a node may have been looked at twice
    order = order[np.sort(first)][:_NODES]
    return LatticeFigures(
        columns=search.recoding.attributes,
        heights=tuple(map(int, lattice.heights)),
        chosen=tuple(map(int, chosen)),
        measure=search.measure.title,
        looked_at=len(lattice.values),
        nodes=tuple(
            LatticeNode(
                levels=tuple(lattice.levels[node].tolist()),
                value=float(lattice.values[node]) if np.isfinite(lattice.values[node]) else None,
                suppressed=int(lattice.suppressed[node]),
            )
            for node in order
        ),
    )


def lattice_chart(lattice: LatticeFigures) -> Chart:
    """Draw nodes by the sum of their levels; the chosen one is ringed, those set aside are hollow."""
    rows: dict[int, list[LatticeNode]] = {}
    for node in lattice.nodes:
        rows.setdefault(sum(node.levels), []).append(node)
    tall = sorted(rows, reverse=True)
    places = {
        node.levels: (_WIDTH * (place + 1) / (len(rows[height]) + 1), _ROW * row + _ROW / 2)
        for row, height in enumerate(tall)
        for place, node in enumerate(sorted(rows[height], key=lambda each: each.levels))
    }
    return Chart(
        name="lattice",
        title=f"Combinations of levels of {', '.join(lattice.columns)}",
        note=f"{len(lattice.nodes):,} of {lattice.looked_at:,} examined; "
        "exact at the bottom, hidden at the top; filled: keeps the promise; hollow: set aside; ringed: chosen",
        width=_WIDTH,
        height=_ROW * max(len(tall), 1),
        content=join(
            _edges(places),
            (_node(node, chosen=node.levels == lattice.chosen, place=places[node.levels]) for node in lattice.nodes),
        ),
        header=("levels", lattice.measure, "suppressed"),
        rows=tuple((_levels(node), _value(node), f"{node.suppressed:,}") for node in lattice.nodes[:20]),
    )


def _edges(places: dict[tuple[int, ...], tuple[float, float]]) -> list[Html]:
    """Draw a line between nodes that differ by one level of one column."""
    lines = []
    for levels, (x, y) in places.items():
        above = [(*levels[:at], level + 1, *levels[at + 1 :]) for at, level in enumerate(levels)]
        lines += [
            element("line", x1=f"{x:.1f}", y1=f"{y:.1f}", x2=f"{end[0]:.1f}", y2=f"{end[1]:.1f}", class_="rail")
            for end in (places[each] for each in above if each in places)
        ]
    return lines


def _node(node: LatticeNode, *, chosen: bool, place: tuple[float, float]) -> Html:
    x, y = place
    said = f"levels {_levels(node)}: {_value(node)}, {node.suppressed:,} suppressed"
    kind = "step" if node.value is None else "released"
    ring = element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=12, class_="ring") if chosen else Html("")
    dot = element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=5, class_=kind)
    label = element("text", "chosen", x=f"{x + 16:.1f}", y=f"{y + 4:.1f}") if chosen else Html("")
    return element("g", element("title", said), ring, dot, label, class_="mark", data_levels=_levels(node))


def _levels(node: LatticeNode) -> str:
    return ", ".join(str(level) for level in node.levels)


def _value(node: LatticeNode) -> str:
    return "set aside by the search" if node.value is None else f"{node.value:.6g}"
