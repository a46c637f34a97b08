"""For those who may see the original table: a report that compares it with the release, and pictures for notebooks."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import ParameterError, ShoalError, says_nothing
from shoal.folder import ReleaseFolder
from shoal.guarantees import NO_RANDOMNESS, Certificate
from shoal.methods import Result, rehearse_release
from shoal.methods.recode import SearchResult
from shoal.models import ProbabilisticKAnonymity
from shoal.rehearsal import rehearsal_line, rehearsal_rows
from shoal.report._charts import Chart, class_sizes_chart, column_chart
from shoal.report._columns import column_figures, compared_column
from shoal.report._document import (
    Document,
    LatticeFigures,
    LatticeNode,
    OwnFigures,
    PeopleFigures,
    RehearsalFigures,
    Risk,
    TableFigures,
    Variant,
)
from shoal.report._gather import gather
from shoal.report._markup import Html, element, join
from shoal.risk import Pair, PeopleRisk, assess
from shoal.tables import Table, count_values
from shoal.utility import Associations, Distribution, associations, coverage, distributions, query_error

if TYPE_CHECKING:
    from shoal.plan import Plan

#: pairs of columns whose association a report names
_PAIRS = 10


def internal_report(folder: str | Path, original: Table, plan: Plan) -> Document:
    """Return the report on the release in ``folder`` that compares it with the table that it was made of.

    It shows figures of the original without any protection and is for the holder of the data alone. Where a release
    has several tables, the distributions and associations are those of the released tables alone: no single table has
    the columns to compare.

    Parameters
    ----------
    folder
        The release.
    original
        The table that it was made of, with its schema.
    plan
        The plan of the release, which is carried out again where that gives the same release: its search and measures
        are not written down.
    """
    release = ReleaseFolder.inspected(folder)
    certificate, public = release.certificate, gather(release)
    assessed = assess(original)
    people: tuple[PeopleRisk, ...] = () if assessed.people is None else (assessed.people,)
    changes: dict[str, object] = {"variant": Variant.INTERNAL, "before": Risk.of(assessed.reidentification)}
    if len(public.tables) == 1:
        pair = Pair.of(original, release.open(public.tables[0].file))
        changes["tables"] = (_add_distributions(public.tables[0], distributions(pair)),)
        changes["associations"] = tuple(_most_changed_pairs(associations(pair)))
        changes["query_error"] = query_error(pair).mean
        covered = coverage(pair)
        known = {} if covered is None else {"share of the domain that values cover": covered}
        changes["measures"] = {**certificate.measures, **known}
    again = _again(plan, original, certificate)
    if again is not None:
        changes["measures"] = dict(again.measures)
        changes["rehearsal"] = _rehearsal(again, plan)
        changes["lattice"] = None if again.search is None else lattice_figures(again.search)
        people = again.people or people
    own = again if again is not None else _clusters_again(plan, original, certificate)
    changes["own_values"] = () if own is None else tuple(OwnFigures.of(own_value) for own_value in own.own_values)
    changes["people"] = tuple(PeopleFigures.of(person) for person in people)
    return public.model_copy(update=changes)


def _rehearsal(again: Result, plan: Plan) -> RehearsalFigures | None:
    rehearsal = rehearse_release(again, kind=plan.rehearsal)
    return (
        None
        if rehearsal is None
        else RehearsalFigures(line=rehearsal_line(rehearsal), rows=tuple(rehearsal_rows(rehearsal)))
    )


def _clusters_again(plan: Plan, original: Table, certificate: Certificate) -> Result | None:
    """Exchange values again, inside the same clusters: these are made without random numbers, unlike the exchange."""
    swapped = any(promise.model == ProbabilisticKAnonymity.name for promise in certificate.promises)
    return _run_again(plan, original, certificate) if swapped else None


def _again(plan: Plan, original: Table, certificate: Certificate) -> Result | None:
    if not certificate.randomness.startswith(NO_RANDOMNESS):
        return None  # it would be another release
    return _run_again(plan, original, certificate)


def _run_again(plan: Plan, original: Table, certificate: Certificate) -> Result | None:
    key = secrets.token_bytes(32) if any(attribute.pseudonym for attribute in plan.schema) else None
    try:
        made = plan.run(original, pseudonym_key=key).result
    except ShoalError as error:  # such as a population that is not here
        if says_nothing(error):
            raise
        return None
    steps = json.loads(json.dumps([event.to_json() for event in made.guarantee.events]))
    return made if made.records == certificate.data.records and steps == list(certificate.steps) else None


def compared_tables(folder: Path, original: Table) -> tuple[TableFigures, ...]:
    """Return the released tables in figures, beside those of the original where there is one table to compare."""
    release = ReleaseFolder.inspected(folder)
    shown = gather(release).tables
    if len(shown) != 1:
        return shown
    return (_add_distributions(shown[0], distributions(Pair.of(original, release.open(shown[0].file)))),)


def _add_distributions(table: TableFigures, found: Iterable[Distribution]) -> TableFigures:
    known = {each.column: each for each in found}
    columns = tuple(
        compared_column(column, known[column.name]) if column.name in known else column for column in table.columns
    )
    return table.model_copy(update={"columns": columns})


def _most_changed_pairs(found: Associations) -> list[tuple[str, str, float, float]]:
    """Return the pairs of columns that changed most, first the most."""
    pairs = []
    for row, first in enumerate(found.columns):
        for column in range(row + 1, len(found.columns)):
            before, after = found.original[row][column], found.released[row][column]
            if before is not None:
                pairs.append((first, found.columns[column], before, after or 0.0))
    return sorted(pairs, key=lambda pair: -abs(pair[3] - pair[2]))[:_PAIRS]


#: nodes that a picture of a lattice shows at most: the best ones
_NODES = 400
_WIDTH, _ROW = 720, 46


@dataclass(frozen=True, slots=True)
class Plots:
    """The pictures of a release; notebooks show what the methods return.

    They are for the holder of the data: like :meth:`shoal.Release.explain`, they show figures of the original table.
    """

    release: Result

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
        figures = column_figures(count_values(released, name), role, released.count())
        if original is not None:
            pair = Pair.of(original.with_schema(self.release.plan.schema), released, columns=[name])
            figures = compared_column(figures, distributions(pair)[0])
        return column_chart(figures)

    def lattice(self) -> Chart:
        """Draw the nodes that the search looked at, from exact values at the bottom to hidden ones at the top.

        Raises
        ------
        ParameterError
            If the method searched no lattice, or kept it back for differential privacy.
        """
        figures = None if self.release.search is None else lattice_figures(self.release.search)
        if figures is None:
            raise ParameterError("this release did not come from a search over a lattice that can be shown.")
        return lattice_chart(figures)


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
        "most exact at the bottom, most general at the top; filled: keeps the promise; hollow: set aside; "
        "ringed: chosen",
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
    # above its node, or below one of the first row: beside it stand others
    beyond = f"{y - 16 if y > _ROW else y + 26:.1f}"
    label = element("text", "chosen", x=f"{x:.1f}", y=beyond, text_anchor="middle") if chosen else Html("")
    return element("g", element("title", said), ring, dot, label, class_="mark", data_levels=_levels(node))


def _levels(node: LatticeNode) -> str:
    return ", ".join(str(level) for level in node.levels)


def _value(node: LatticeNode) -> str:
    return "set aside by the search" if node.value is None else f"{node.value:.6g}"
