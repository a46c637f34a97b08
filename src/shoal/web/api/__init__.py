"""The HTTP API, one file per area; the pages of the app use it too."""

from fastapi import APIRouter

from shoal.web._errors import Problem
from shoal.web.api import (
    compare,
    datasets,
    explore,
    handover,
    linked,
    nodes,
    plans,
    projects,
    purposes,
    releases,
    runs,
    schema,
    tables,
    thresholds,
    vaults,
)

router = APIRouter(
    prefix="/api",
    responses={
        404: {"model": Problem, "description": "there is no such thing"},
        409: {"model": Problem, "description": "no release can keep the promise, or it was not kept"},
        422: {"model": Problem, "description": "the input is wrong"},
    },
)
for name, area in {
    "tables": tables.router,
    "schema": schema.router,
    "purposes": purposes.router,
    "plans": plans.router,
    "estimate": plans.estimates,
    "runs": runs.router,
    "releases": releases.router,
    "handover": handover.router,
    "explore": explore.router,
    "nodes": nodes.router,
    "linked": linked.router,
    "verify": releases.verifications,
    "compare": compare.router,
    "projects": projects.router,
    "datasets": datasets.router,
    "thresholds": thresholds.router,
    "vaults": vaults.router,
    "accounts": vaults.accounts,
}.items():
    router.include_router(area, tags=[name])
