"""The HTTP API, one file per area; the pages of the app use it too."""

from fastapi import APIRouter

from shoal.web._errors import Problem
from shoal.web.api import (
    accounts,
    compare,
    estimate,
    explore,
    plans,
    projects,
    releases,
    runs,
    schema,
    tables,
    vaults,
    verify,
)

__all__ = ["router"]

router = APIRouter(
    prefix="/api",
    responses={
        404: {"model": Problem, "description": "there is no such thing"},
        409: {"model": Problem, "description": "no release can keep the promise, or it was not kept"},
        422: {"model": Problem, "description": "the input is wrong"},
    },
)
for area in (tables, schema, plans, estimate, runs, releases, explore, verify, compare, projects, vaults, accounts):
    router.include_router(area.router, tags=[area.__name__.rpartition(".")[2]])
