"""Views of a release as plain JSON: the promise, the search, distributions and single records."""

from __future__ import annotations

import dataclasses
import math
import os
import secrets
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal import Release, Table, hierarchies, tables
from shoal.methods.recode import Lattice, Node, SearchResult, smallest_class
from shoal.models import Model
from shoal.rehearsal import ROWS, Rehearsal, rehearsal_line, rehearsal_rows
from shoal.report import PeopleFigures, compared_tables, lattice_figures
from shoal.risk import Reidentification
from shoal.schema.rules import text
from shoal.tables import Frequencies

_SOLUTIONS, _RECORDS = 12, 60
#: records beyond which a few are picked on the engine
_MANY = 100_000
#: solutions whose risk is computed, and the seconds that this may take
_POINTS, _PATIENCE = 40, 0.25


def explore(table: Table, release: Release, folder: Path) -> dict[str, Any]:
    """Return what the app shows of ``release``, which was made from ``table`` and written to ``folder``."""
    wanted = dict.fromkeys(name for model in release.plan.class_models for name in model.capabilities.sensitive)
    frequencies = tables.encode(table, sensitive=tuple(wanted)).frequencies
    return {
        "promises": [
            {"model": promise.model, "statement": promise.statement, "strength": str(promise.strength)}
            for promise in release.guarantee.promises
        ],
        "assumptions": list(dict.fromkeys(a for promise in release.guarantee.promises for a in promise.assumptions)),
        "steps": [event.describe() for event in release.guarantee.events],
        "attention": list(release.attention),
        "rehearsal": _rehearsal(release.rehearse()),
        "measures": {name: _number(value) for name, value in ({**release.measures, "loss": _loss(release)}).items()},
        "before": dataclasses.asdict(_before(release)),
        "after": dataclasses.asdict(release.after),
        "people": [PeopleFigures.of(each).model_dump(mode="json") for each in release.people or ()],
        "guessed": release.plan.schema.guessed,
        "private": release.private is not None,
        # quasi-identifiers are then as they were, and classes are of those whose secrets are mixed
        "mixed": release.plan.method.shows_members,
        "search": None if release.search is None else _search(release.search, frequencies, release.plan.class_models),
        "tables": [each.model_dump(mode="json") for each in compared_tables(folder, table)],
        "records": _records(table, release, frequencies),
        "files": sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()),
    }


def _rehearsal(found: Rehearsal | None) -> dict[str, Any] | None:
    """Return the line of a rehearsal, and who finds how many."""
    if found is None:
        return None
    return {"line": rehearsal_line(found), "title": list(ROWS), "rows": [list(row) for row in rehearsal_rows(found)]}


def _before(release: Release) -> Reidentification:
    """Return the risk of the input, which differential privacy keeps out of the release, but not from its owner."""
    risk = release.before or (release.private and release.private.before)
    assert risk  # noqa: S101 - a release has one or the other
    return risk


def _loss(release: Release) -> float | None:
    """Return the loss with respect to the input, likewise."""
    return release.measures.get("loss") if release.private is None else release.private.loss


def _search(found: SearchResult, frequencies: Frequencies, models: Sequence[Model]) -> dict[str, Any]:
    """Return the best solutions, what they risk, and the lattice."""
    lattice = lattice_figures(found)
    return {
        "attributes": list(found.recoding.attributes),
        # a value of every level says more than its number
        "examples": [
            [labels[(len(labels) - 1) // 2] for labels in hierarchy.labels] for hierarchy in frequencies.hierarchies
        ],
        "measure": found.measure.title,
        "value": _number(found.value),
        "bound": _number(found.bound),
        "optimal": found.optimal,
        "suppressed": found.suppressed,
        "records": found.records,
        "checked": found.checked,
        "nodes": found.nodes,
        "levels": None if found.levels is None else list(map(int, found.levels)),
        "explanation": found.explain().splitlines(),
        "solutions": [
            {"levels": list(map(int, each.levels)), "value": _number(each.value), "suppressed": int(each.suppressed)}
            for each in found.solutions[:_SOLUTIONS]
        ],
        "lattice": None if lattice is None else lattice.model_dump(mode="json"),
        "frontier": _frontier(found, frequencies, models),
    }


def _frontier(found: SearchResult, frequencies: Frequencies, models: Sequence[Model]) -> list[dict[str, Any]]:
    """Return the average risk of some solutions, the best first and then others of the whole range of values."""
    if found.lattice is None or found.levels is None or any(model.capabilities.population for model in models):
        return []
    explored, started = found.lattice, time.monotonic()
    order = np.argsort(explored.values, kind="stable")[: int(np.isfinite(explored.values).sum())]
    spread = order[np.linspace(0, len(order) - 1, min(len(order), _POINTS)).astype(int)]
    lattice, points = Lattice(frequencies, enough=smallest_class(models)), []
    for i in dict.fromkeys([*order[:_SOLUTIONS].tolist(), *spread.tolist()]):
        node = lattice.node(tuple(map(int, explored.levels[i])))
        suppressed = int(explored.suppressed[i])
        kept = _released(node, models, found.records - suppressed)
        points.append(
            {
                "levels": explored.levels[i].tolist(),
                "value": _number(float(explored.values[i])),
                "risk": float(kept.sum() / max(node.classes(kept, votes=True).crowds.sum(), 1)),
                "suppressed": suppressed,
            }
        )
        if time.monotonic() - started > _PATIENCE:
            break
    return [point | {"beaten": _beaten(point, points)} for point in points]


def _released(node: Node, models: Sequence[Model], records: int) -> npt.NDArray[np.bool_]:
    """Return the classes of a node that are released, by the order of removal that leaves this many records."""
    return node.keep(models, lambda kept: abs(int(node.sizes[kept].sum()) - records))


def _beaten(point: dict[str, Any], points: Sequence[dict[str, Any]]) -> bool:
    """Return whether another solution is as good in both figures, and better in one."""
    mine = (point["risk"], point["value"])
    both = [(other["risk"], other["value"]) for other in points]
    return any(other[0] <= mine[0] and other[1] <= mine[1] and other != mine for other in both)


def _number(value: float | None) -> float | None:
    """Return a number that JSON knows, or None."""
    return None if value is None or not math.isfinite(value) else float(value)


def _records(table: Table, release: Release, encoded: Frequencies) -> dict[str, Any] | None:
    """Return some records before and after: the class of a record is that of its tuple of quasi-identifiers."""
    if release.search is None:
        return None
    recoding = release.search.final
    if len(encoded.codes) != len(recoding.classes):
        return None
    rows = _sample(table, encoded.records)
    names = [name for name in table.columns if name not in release.plan.schema.identifiers]
    leaves = np.column_stack([hierarchies.leaf_codes(h, rows.column(h.attribute)) for h in encoded.hierarchies])
    classes = _classes(encoded.codes, recoding.classes, leaves)
    before = [text(rows.column(name).combine_chunks()).to_pylist() for name in names]
    place = {name: j for j, name in enumerate(recoding.attributes)}
    shown = []
    for i, group in enumerate(classes):
        old = [column[i] for column in before]
        new = None
        if group >= 0:
            new = [
                recoding.labels[place[name]][recoding.codes[group, place[name]]] if name in place else old[n]
                for n, name in enumerate(names)
            ]
        shown.append({"before": old, "after": new})
    return {"columns": names, "rows": shown}


def _sample(table: Table, records: int) -> pa.Table:
    """Return some records, picked at random."""
    if records > _MANY:
        table = tables.bernoulli(table, Fraction(10 * _RECORDS, records), os.urandom(32))
    rows = table.to_arrow()
    chosen = secrets.SystemRandom().sample(range(rows.num_rows), min(_RECORDS, rows.num_rows))
    return rows.take(pa.array(sorted(chosen), pa.int64()))


def _classes(tuples: Any, classes: Any, leaves: Any) -> list[int]:
    wanted = {tuple(row) for row in leaves.tolist()}
    keep = np.flatnonzero(np.isin(tuples[:, 0], leaves[:, 0]))
    counts = {
        row: int(group)
        for row, group in zip(map(tuple, tuples[keep].tolist()), classes[keep].tolist(), strict=True)
        if row in wanted
    }
    return [counts.get(tuple(row), -1) for row in leaves.tolist()]
