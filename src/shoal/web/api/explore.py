"""Exploring a release: other nodes, pairs of columns, risk by what an intruder knows, usefulness."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path
from fastapi.responses import HTMLResponse
from pydantic import Field

from shoal.errors import DataError, MissingExtraError
from shoal.web._context import Context, Here
from shoal.web._jobs import PLAN, RELEASE
from shoal.web._store import NotFound, read_json, write_json
from shoal.web.api.answers import CombinationAnswer, PredictionAnswer, RequestBody, RunAnswer, UsefulnessAnswer
from shoal.web.api.plans import PlanChoice
from shoal.web.api.releases import capabilities, exploration
from shoal.web.api.runs import start

if TYPE_CHECKING:
    from shoal import Plan, Table
    from shoal.risk import Pair

router = APIRouter()

Number = Annotated[int, Path(ge=0, le=10**6)]
#: distinct records times random counts that are asked of a release
_COUNTS, _QUERIES = 50_000_000, 500
#: records that a model learns from, and the effort of a method for it
_LEARN, _EFFORT = 10_000, 30
#: what a search of one level per column takes over from another method
_LIKEWISE = ("quality", "suppression_limit", "effort", "time_limit")


class NodeChoice(RequestBody):
    """A node of the lattice: the level of every quasi-identifier."""

    levels: dict[Annotated[str, Field(max_length=1000)], Annotated[int, Field(ge=0, le=1000)]] = Field(max_length=1000)


@router.post("/runs/{run}/node", status_code=201, response_model=RunAnswer)
def apply(here: Here, run: str, node: NodeChoice) -> dict[str, Any]:
    """Make a release like that of a run, with these levels: a new run, which keeps or refuses the same promise."""
    from shoal import Generalize

    about = here.store.runs.about(run)
    choice = PlanChoice.model_validate(about.get("choice") or {"promises": []})
    if not has_levels(about) or choice.method.parameters.get("links") == "kept":
        raise DataError("only methods that make values coarser have levels that can be applied")
    given = choice.method.parameters
    parameters = given if has_one_level(about) else {name: given[name] for name in _LIKEWISE if name in given}
    method = choice.method.model_copy(
        update={"name": Generalize.name, "parameters": parameters | {"levels": node.levels}}
    )
    return start(here, about["table"], choice.model_copy(update={"method": method}))


@router.post("/runs/{run}/one-level", status_code=201, response_model=RunAnswer)
def one_level(here: Here, run: str) -> dict[str, Any]:
    """Search one level per column that keeps the promise of a run: a new run, of whose nodes others can be picked."""
    from shoal import Generalize

    about = here.store.runs.about(run)
    if not has_levels(about):
        raise DataError("only methods that make values coarser have levels to search")
    choice = PlanChoice.model_validate(about["choice"])
    kept = {name: choice.method.parameters[name] for name in _LIKEWISE if name in choice.method.parameters}
    method = choice.method.model_copy(update={"name": Generalize.name, "parameters": kept})
    return start(here, about["table"], choice.model_copy(update={"method": method}))


def has_levels(about: dict[str, Any]) -> bool:
    """Return whether the promise of a run can be kept with one level per column."""
    return bool(about.get("choice")) and capabilities(about).generalizes


def has_one_level(about: dict[str, Any]) -> bool:
    """Return whether a run has one level per column, so that others can be picked."""
    return bool(about.get("choice")) and capabilities(about).one_level


@router.get("/runs/{run}/pairs/{first}/{second}", response_class=HTMLResponse)
def pair(here: Here, run: str, first: Number, second: Number) -> HTMLResponse:
    """Draw two columns of the release together, before and after; columns are known by their numbers in the table."""
    from shoal.report import cross_chart, figure
    from shoal.utility import cross_table

    table = here.store.runs.about(run)["table"]
    names = [here.column(table, number) for number in (first, second)]
    with _pair(here, run, columns=names) as both:
        drawn = figure(cross_chart(cross_table(both, *names)))
    return HTMLResponse(str(drawn))


@router.get("/runs/{run}/combinations", response_model=list[CombinationAnswer])
def combinations(here: Here, run: str) -> list[dict[str, Any]]:
    """Return the risk from every set of at most three columns that others may know, before and after."""
    from shoal import risk

    def measured() -> dict[str, Any]:
        with _pair(here, run) as both:
            return {"sets": [dataclasses.asdict(each) for each in risk.combinations(both)]}

    return list(_kept(here, run, "combinations", measured)["sets"])


@router.get("/runs/{run}/usefulness", response_model=UsefulnessAnswer)
def usefulness(here: Here, run: str) -> dict[str, Any]:
    """Return how wrong random counts are on a release, and what each column lost."""
    from shoal import utility

    def measured() -> dict[str, Any]:
        with _pair(here, run) as both:
            work = max(len(both.original), len(both.released), 1)
            number = max(20, min(_QUERIES, _COUNTS // work))
            moved = utility.distributions(both)
            known = {axis.name: i for i, axis in enumerate(both.axes) if i in both.quasi_identifiers}
            return {
                "queries": dataclasses.asdict(utility.query_error(both, number=number)),
                "columns": [
                    {
                        "column": each.column,
                        "coverage": utility.coverage(both.only([known[each.column]])) if each.column in known else None,
                        "total_variation": each.total_variation,
                        "moved": each.wasserstein,
                    }
                    for each in moved
                ],
            }

    return _kept(here, run, "usefulness", measured)


@router.get("/runs/{run}/predictions/{number}", response_model=list[PredictionAnswer])
def predictions(here: Here, run: str, number: Number) -> list[dict[str, Any]]:
    """Return how well models predict a column when they learn from a release instead of the originals.

    A part of the records is held out; the others are released in the same way, models learn from that and from the
    originals, and both are tested on what was held out.
    """
    from shoal import utility

    about = here.store.runs.about(run)
    target = here.column(about["table"], number)

    def measured() -> dict[str, Any]:
        with _tables(here, run) as (plan, original, _):
            train, test = utility.hold_out(original)
            made = _again(plan, exploration(here, run)).run(train)
            prediction = utility.prediction(train, made.table, test, target, models=("tree", "linear"), limit=_LEARN)
            return {"models": [dataclasses.asdict(each) for each in prediction]}

    try:
        return list(_kept(here, run, f"prediction-{number}", measured)["models"])
    except MissingExtraError as error:
        raise DataError(list(error.problems), hint=error.hint) from None


def comparable(found: dict[str, Any]) -> bool:
    """Return whether a release is one table that can be set beside the original."""
    return len(found.get("tables", [])) == 1


def _again(plan: Plan, found: dict[str, Any]) -> Plan:
    """Return the plan with the levels that were chosen, so that a part of the records is released in the same way."""
    search, fields = found["search"], {each.name for each in dataclasses.fields(plan.method)}
    method: Any = plan.method
    if search and search["levels"] and "levels" in fields:
        method = dataclasses.replace(method, levels=dict(zip(search["attributes"], search["levels"], strict=True)))
    elif "effort" in fields:
        method = dataclasses.replace(method, effort=_EFFORT)
    return dataclasses.replace(plan, method=method)


def _kept(here: Context, run: str, name: str, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what was measured before, or measure it; a release does not change."""
    path = here.store.runs.path(run) / f"{name}.json"
    with here.measured_once(path):
        document = read_json(path)
        if document is None:
            document = measure()
            write_json(path, document)
    return document


@contextmanager
def _tables(here: Context, run: str) -> Iterator[tuple[Plan, Table, Table]]:
    """Give the plan of a run, the table that it was made of, and the released one."""
    import shoal

    solutions, folder = exploration(here, run), here.store.runs.path(run)
    if not comparable(solutions):
        raise NotFound("this release has several tables, none of which can be compared with the original")
    table = here.store.runs.about(run)["table"]
    plan = shoal.Plan.loads((folder / PLAN).read_text(encoding="utf-8"), folder=here.store.tables.path(table))
    with here.table(table) as original:
        released = shoal.read(folder / RELEASE / solutions["tables"][0]["file"])
        yield plan, original.with_schema(plan.schema), released


@contextmanager
def _pair(here: Context, run: str, columns: list[str] | None = None) -> Iterator[Pair]:
    from shoal import risk

    with _tables(here, run) as (_, original, released):
        missing = [name for name in columns or [] if name not in released.columns]
        if missing:
            raise NotFound("this column is not in the release")
        yield risk.Pair.of(original, released, columns=columns)
