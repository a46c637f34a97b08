"""The report for those who may see the original table."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from shoal import tables
from shoal.errors import ShoalError, says_nothing
from shoal.guarantees import CERTIFICATE, NO_RANDOMNESS, Certificate, load
from shoal.methods import Made
from shoal.report._columns import compared_column
from shoal.report._document import Document, PeopleFigures, Risk, TableFigures, Variant
from shoal.report._gather import gather
from shoal.report._plots import lattice_figures
from shoal.risk import Pair, PeopleRisk, assess
from shoal.tables import Table
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
    folder = Path(folder)
    certificate = load(folder / CERTIFICATE)
    public = gather(folder, certificate)
    assessed = assess(original)
    people: tuple[PeopleRisk, ...] = () if assessed.people is None else (assessed.people,)
    changes: dict[str, object] = {"variant": Variant.INTERNAL, "before": Risk.of(assessed.reidentification)}
    if len(public.tables) == 1:
        pair = Pair.of(original, tables.read(folder / public.tables[0].file))
        changes["tables"] = (_compared(public.tables[0], distributions(pair)),)
        changes["associations"] = tuple(_changed(associations(pair)))
        changes["query_error"] = query_error(pair).mean
        covered = coverage(pair)
        known = {} if covered is None else {"share of the domain that values cover": covered}
        changes["measures"] = {**certificate.measures, **known}
    again = _again(plan, original, certificate)
    if again is not None:
        changes["measures"] = dict(again.measures)
        changes["lattice"] = None if again.search is None else lattice_figures(again.search)
        people = again.people or people
    changes["people"] = tuple(PeopleFigures.of(each) for each in people)
    return public.model_copy(update=changes)


def _again(plan: Plan, original: Table, certificate: Certificate) -> Made | None:
    if not certificate.randomness.startswith(NO_RANDOMNESS):
        return None  # it would be another release
    key = secrets.token_bytes(32) if any(attribute.pseudonym for attribute in plan.schema) else None
    try:
        made = plan.run(original, pseudonym_key=key)
    except ShoalError as error:  # such as a population that is not here
        if says_nothing(error):
            raise
        return None
    steps = json.loads(json.dumps([event.to_json() for event in made.guarantee.events]))
    return made if made.records == certificate.data.records and steps == list(certificate.steps) else None


def compared_tables(folder: Path, original: Table) -> tuple[TableFigures, ...]:
    """Return the released tables in figures, beside those of the original where there is one table to compare."""
    shown = gather(folder, load(folder / CERTIFICATE)).tables
    if len(shown) != 1:
        return shown
    return (_compared(shown[0], distributions(Pair.of(original, tables.read(folder / shown[0].file)))),)


def _compared(table: TableFigures, found: Iterable[Distribution]) -> TableFigures:
    known = {each.column: each for each in found}
    columns = tuple(
        compared_column(column, known[column.name]) if column.name in known else column for column in table.columns
    )
    return table.model_copy(update={"columns": columns})


def _changed(found: Associations) -> list[tuple[str, str, float, float]]:
    """Return the pairs of columns that changed most, first the most."""
    pairs = []
    for row, first in enumerate(found.columns):
        for column in range(row + 1, len(found.columns)):
            before, after = found.original[row][column], found.released[row][column]
            if before is not None:
                pairs.append((first, found.columns[column], before, after or 0.0))
    return sorted(pairs, key=lambda pair: -abs(pair[3] - pair[2]))[:_PAIRS]
