"""Comparison: several methods and strengths on one table, and the plan of every point."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path
from fastapi.responses import Response
from pydantic import Field

from shoal.errors import ParameterError, Problems
from shoal.web._commands import compared as commands
from shoal.web._context import Context, Here
from shoal.web._store import NotFound
from shoal.web.api.answers import RequestBody, RunAnswer
from shoal.web.api.releases import exploration, packed
from shoal.web.api.vaults import check_separate

if TYPE_CHECKING:
    import shoal

router = APIRouter()

#: releases that one comparison may ask for
_MOST = 200
Values = Annotated[list[float], Field(max_length=12)]
Number = Annotated[int, Path(ge=1, le=10**6)]


class ComparisonChoice(RequestBody):
    """Every method with every combination of k, l and t, and differential privacy with every epsilon."""

    k: list[Annotated[int, Field(ge=1, le=10**9)]] = Field(default=[], max_length=12)
    l: dict[str, Values] = Field(default={}, max_length=20, description="values of l by sensitive column")  # noqa: E741
    t: dict[str, Values] = Field(default={}, max_length=20, description="values of t by sensitive column")
    epsilon: Values = Field(default=[])
    delta: float = 1e-6
    methods: list[Annotated[str, Field(max_length=60)]] = Field(default=[], max_length=40)
    suppression_limit: float | None = None
    risk: str = Field(default="average", max_length=60)
    utility: str = Field(default="queries", max_length=60)
    highest_risk: float | None = Field(default=None, ge=0, le=1, description="decides the recommendation")
    reason: str = Field(
        default="",
        max_length=500,
        description="of epsilon: why the account of the table does not pay",
    )


@router.post("/tables/{table}/comparisons", status_code=201, response_model=RunAnswer)
def start(here: Here, table: str, comparison: ComparisonChoice) -> dict[str, Any]:
    """Start a comparison; it is a run whose exploration holds all points, the frontier and a recommendation."""
    from shoal import methods, schema
    from shoal.methods.shorthand import in_short

    chosen = _sorted(comparison)
    reason = check_separate(here, table, None, comparison.reason) if chosen["epsilon"] else ""
    _check(here, table, chosen)
    strengths = [f"k = {_list(chosen['k'])}"] if chosen["k"] else []
    strengths += [f"{column}: {name} = {_list(of)}" for name in "lt" for column, of in chosen[name].items()]
    strengths += [f"epsilon = {_list(chosen['epsilon'])}"] if chosen["epsilon"] else []
    about = {
        "kind": "comparison",
        "title": f"Comparison: {'; '.join(strengths)}",
        "method": ", ".join(chosen["methods"]) or methods.keeper(in_short("epsilon").name).name,
        "statements": ["All releases are made and measured; none is kept."],
        **({"reason": reason} if reason else {}),
        **commands(chosen, here.store.tables.about(table)),
    }
    wanted = {"schema": schema.dumps(here.schema(table)), "choice": chosen}
    return here.begin(table, about, {"comparison.json": json.dumps(wanted)})


@router.get("/runs/{run}/points/{number}/plan.zip", response_class=Response)
def plan(here: Here, run: str, number: Number) -> Response:
    """Download the plan of a point with the hierarchy files that it names."""
    made = point_plan(here, run, number)
    return packed(f"plan-{number}.zip", "plan.toml", made.dumps(), made.schema)


def point_plan(here: Context, run: str, number: int) -> shoal.Plan:
    """Return the plan of a point of a comparison."""
    comparison = compared(here, run)
    if not any(point.number == number and point.plan for point in comparison.points):
        raise NotFound("the comparison has no such point, or it has no plan")
    return comparison.plan(number)


def compared(here: Context, run: str) -> shoal.comparison.Comparison:
    """Return what a run compared."""
    import shoal

    about = here.store.runs.about(run)
    if about.get("kind") != "comparison":
        raise NotFound("this run is not a comparison")
    return shoal.comparison.Comparison.from_json(exploration(here, run), folder=here.store.tables.path(about["table"]))


def _sorted(comparison: ComparisonChoice) -> dict[str, Any]:
    """Return the choice as plain values, every number once."""
    document = comparison.model_dump(exclude={"reason"})
    for name in ("k", "epsilon"):
        document[name] = sorted(set(document[name]))
    for name in ("l", "t"):
        document[name] = {column: sorted(set(values)) for column, values in document[name].items() if values}
    return document | {"methods": list(dict.fromkeys(comparison.methods))}


def _list(values: list[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _check(here: Context, table: str, chosen: dict[str, Any]) -> None:
    """Refuse a comparison of which nothing can run; where something can, the rest says why it cannot."""
    from shoal.comparison import RISKS, UTILITIES, Grid

    problems = Problems()
    for name, known in (("risk", RISKS), ("utility", [each for each in UTILITIES if each != "prediction"])):
        if chosen[name] not in known:
            problems.add(f"`{name}` must be one of {', '.join(known)}")
    problems.raise_as(ParameterError)
    grid = Grid(**{name: chosen[name] for name in ("k", "l", "t", "epsilon", "delta", "methods", "suppression_limit")})
    points = grid.candidates(here.schema(table))
    if not points:
        raise ParameterError("there is nothing to compare", hint="choose a method and values of k, or of epsilon")
    if len(points) > _MOST:
        raise ParameterError(f"this would make {len(points):,} releases; a comparison may make at most {_MOST}")
    if not any(point.plan for point in points):
        for problem in dict.fromkeys(point.problem or "" for point in points):
            problems.add(problem)
        problems.raise_as(ParameterError)
