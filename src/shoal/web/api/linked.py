"""The table before and after: sorted, filtered, and class by class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query

from shoal.errors import ParameterError
from shoal.web._context import Context, Here
from shoal.web._jobs import PLAN
from shoal.web._linked import LINKED, OpenLinked
from shoal.web._store import NotFound
from shoal.web.api.answers import ClassAnswer, LinkedAnswer

if TYPE_CHECKING:
    from shoal.web._linked import LinkedRecords

router = APIRouter()

_OPEN = OpenLinked()
_CELL, _VALUES, _FOUND = 200, 8, 50
Column = Annotated[int | None, Query(ge=0, description="the number of the column in this answer")]
Side = Literal["before", "after"]


def linked(here: Context, run: str) -> LinkedRecords:
    """Return the linked records of a run."""
    path = here.store.runs.path(run) / LINKED
    if not path.is_file():
        raise NotFound("the records of this run are not linked", hint="its method does not say what became of which")
    return _OPEN.open(path)


@router.get("/runs/{run}/linked", response_model=LinkedAnswer)
def records(
    here: Here,
    run: str,
    start: Annotated[int, Query(ge=0, le=10**12)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    sort: Annotated[str | None, Query(max_length=20, description="`size`, or before-N or after-N")] = None,
    descending: bool = False,
    column: Column = None,
    side: Side = "before",
    contains: Annotated[str, Query(max_length=200)] = "",
    equal: Annotated[list[str], Query(max_length=2000, description="exact values")] = [],  # noqa: B006
    group: Annotated[int | None, Query(ge=0, description="only this class")] = None,
    largest: Annotated[int | None, Query(ge=1, description="only classes of at most so many records")] = None,
    kind: Literal["all", "released", "left out"] = "all",
) -> dict[str, Any]:
    """Return records before and after with their classes, sorted and filtered, and how many there are in all."""
    found = linked(here, run)
    chosen = np.ones(len(found), dtype=np.bool_)
    if column is not None and (contains or equal):
        if column >= len(found.names):
            raise NotFound("there is no such column")
        cells = found.cells(column, after=side == "after")
        chosen &= cells.equal(equal) if equal else cells.holding(contains)
    if group is not None:
        chosen &= found.classes == group
    if largest is not None:
        chosen &= (found.sizes <= largest) & (found.classes >= 0)
    if kind != "all":
        chosen &= (found.classes >= 0) == (kind == "released")
    rows = np.flatnonzero(chosen)
    if sort is not None:
        ranks = _ranks(found, sort)[rows]
        rows = rows[np.argsort(-ranks if descending else ranks, kind="stable")]
    return {
        "columns": found.names,
        "recoded": sorted(found.after),
        "total": len(rows),
        "rows": [_row(found, int(row)) for row in rows[start : start + limit]],
    }


def _ranks(found: LinkedRecords, sort: str) -> Any:
    if sort == "size":
        return found.sizes
    side, _, number = sort.partition("-")
    if side not in ("before", "after") or not number.isdigit() or int(number) >= len(found.names):
        raise ParameterError("records are sorted by `size`, before-N or after-N")
    return found.cells(int(number), after=side == "after").ranks()


def _row(found: LinkedRecords, row: int) -> dict[str, Any]:
    group = int(found.classes[row])
    before = [_short(cells.text(row)) for cells in found.before]
    after = [_short(found.cells(i, after=True).text(row)) for i in range(len(found.names))] if group >= 0 else None
    return {"record": row + 1, "class": group, "size": int(found.sizes[row]), "before": before, "after": after}


def _short(text: str | None) -> str | None:
    return None if text is None else text[:_CELL]


@router.get("/runs/{run}/linked/{group}", response_model=ClassAnswer)
def one_class(here: Here, run: str, group: int) -> dict[str, Any]:
    """Return a class: its records, what others see of them, and how likely a secret is guessed."""
    import shoal

    found = linked(here, run)
    rows = np.flatnonzero(found.classes == group)
    if group < 0 or not len(rows):
        raise NotFound("there is no such class")
    about, folder = here.store.runs.about(run), here.store.runs.path(run)
    home = here.store.tables.path(about["table"])
    plan = shoal.Plan.loads((folder / PLAN).read_text(encoding="utf-8"), folder=home)
    secrets = [name for name in plan.schema.sensitive if name in found.names]
    shares = []
    for name in secrets:
        cells = found.before[found.names.index(name)]
        codes, counts = np.unique(cells.codes[rows], return_counts=True)
        order = np.argsort(-counts, kind="stable")[:_VALUES]
        values = [None if codes[i] < 0 else _short(cells.values[int(codes[i])]) for i in order]
        shares.append(
            {
                "column": name,
                "different": len(codes),
                "commonest": [
                    {"value": value, "records": int(counts[i])} for value, i in zip(values, order, strict=True)
                ],
            }
        )
    return {
        "class": group,
        "size": len(rows),
        "risk": 1 / len(rows),
        "released": {found.names[i]: _short(cells.text(int(rows[0]))) for i, cells in found.after.items()},
        "secrets": shares,
        "records": [int(row) + 1 for row in rows[:_FOUND]],
    }
