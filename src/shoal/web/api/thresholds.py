"""Risk as a person wants to see it: above which threshold, against which population, by which rule of the law."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query

from shoal.errors import ParameterError
from shoal.web._context import Here
from shoal.web._jobs import RELEASE
from shoal.web._store import NotFound, read_json, write_json
from shoal.web.api.answers import FindingAnswer, PopulationAnswer, SizesAnswer
from shoal.web.api.nodes import plan_of
from shoal.web.api.releases import exploration

router = APIRouter()

_SIZES = "class-sizes.json"


@router.get("/tables/{table}/class-sizes", response_model=SizesAnswer)
def sizes_today(here: Here, table: str) -> dict[str, Any]:
    """Return how many classes of each size the table has: people who look alike in all that others may know."""
    path, version = here.store.tables.path(table) / _SIZES, here.version(table)
    with here.measured_once(path):
        found = read_json(path)
        if found is None or found.get("version") != version:
            schema = here.schema(table)
            with here.table(table) as opened:
                found = _counted(opened.with_schema(schema), schema.quasi_identifiers) | {"version": version}
            write_json(path, found)
    return found


@router.get("/runs/{run}/class-sizes", response_model=SizesAnswer)
def sizes_of_release(here: Here, run: str) -> dict[str, Any]:
    """Return how many classes of each size a release has."""
    import shoal

    folder, explored = here.store.runs.path(run), exploration(here, run)
    if len(explored.get("tables", [])) != 1 or explored["mixed"]:
        raise NotFound("this release has no classes of people who look alike")
    with here.measured_once(folder / _SIZES):
        found = read_json(folder / _SIZES)
        if found is None:
            names = plan_of(here, run).schema.quasi_identifiers
            released = shoal.read(folder / RELEASE / explored["tables"][0]["file"])
            found = _counted(released, [name for name in names if name in released.columns])
            write_json(folder / _SIZES, found)
    return found


def _counted(table: Any, names: Any) -> dict[str, Any]:
    from shoal import tables

    if not names:
        raise ParameterError("no column is a quasi-identifier", hint="say which columns others may know")
    found, counts = tables.class_sizes(table, list(names))
    order = np.argsort(found)
    found, counts = found[order], counts[order]
    return {"sizes": [[int(size), int(count)] for size, count in zip(found, counts, strict=True)]}


@router.get("/tables/{table}/population", response_model=PopulationAnswer)
def population(
    here: Here,
    table: str,
    fraction: Annotated[float, Query(gt=0, le=1, description="the share of the population that the table holds")],
) -> dict[str, Any]:
    """Estimate how many people of the population that the table was drawn from are unique in it."""
    import shoal

    with here.table(table) as opened:
        found = shoal.assess(opened.with_schema(here.schema(table)), sampling_fraction=fraction).population
    if found is None:
        raise ParameterError("nothing can be estimated of this table")
    # rounding errors are no people
    return dataclasses.asdict(found) | {"share": min(found.share, 1.0), "people": min(found.people, found.population)}


@router.get("/runs/{run}/safe-harbor", response_model=list[FindingAnswer])
def safe_harbor(here: Here, run: str) -> list[dict[str, Any]]:
    """Look in every released column for the 18 identifiers that HIPAA's Safe Harbor removes."""
    import shoal

    explored, folder = exploration(here, run), here.store.runs.path(run)
    found: list[dict[str, Any]] = []
    schema = plan_of(here, run).schema
    for each in explored.get("tables", []):
        released = shoal.read(folder / RELEASE / each["file"])
        findings = shoal.risk.safe_harbor(released, schema)
        found += [dataclasses.asdict(one) | {"verdict": one.verdict.value} for one in findings]
    return found
