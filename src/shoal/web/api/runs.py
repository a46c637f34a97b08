"""Runs: start, watch, stop, list, delete."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import Field

from shoal.errors import ParameterError
from shoal.web._commands import repeated
from shoal.web._context import Here
from shoal.web._jobs import ENDED, WAYS, status
from shoal.web._store import read_json
from shoal.web.api.answers import RequestBody, RunAnswer
from shoal.web.api.plans import PlanChoice, choice_of, make_plan
from shoal.web.api.schema import change_columns
from shoal.web.api.vaults import check_separate, opened

router = APIRouter()

_PACE = 0.15


@router.get("/runs", response_model=list[RunAnswer])
def every_run(here: Here, table: str | None = None) -> list[dict[str, Any]]:
    """List the runs, of one table or of all, the newest first."""
    return [about | {"status": status(here.store.runs.path(about["id"]))} for about in here.runs(table)]


@router.post("/tables/{table}/runs", status_code=201, response_model=RunAnswer)
def start(here: Here, table: str, choice: PlanChoice) -> dict[str, Any]:
    """Anonymise a table; the answer comes at once, the work goes on. What an account does not allow is refused now."""
    plan = make_plan(here, table, choice)
    paid: dict[str, Any] = {}
    if plan.privacy is not None and (reason := check_separate(here, table, choice.account, choice.reason)):
        paid = {"reason": reason}
    if choice.account is not None:
        with here.table(table) as records:
            bill = opened(here, choice.account).bill(plan, records.with_schema(plan.schema))
        paid = {"account": choice.account, "cost": str(bill.loss)}
    about = {
        "kind": "release",
        "choice": choice.model_dump(exclude={"account", "reason"}) | {"method": choice_of(plan)["method"]},
        "statements": [model.statement() for model in plan.models],
        "title": ", ".join(_short(model.name, model.parameters()) for model in plan.models),
        "method": plan.method.name,
        # runs are listed and saved in projects, where no path of this machine belongs
        **repeated(plan, here.store.tables.about(table), None if choice.account is None else Path("ACCOUNT")),
        **paid,
    }
    return here.begin(table, about, {"plan.toml": plan.dumps()})


@router.get("/runs/{run}", response_model=RunAnswer)
def describe(here: Here, run: str) -> dict[str, Any]:
    """Return what a run was asked for and how far it is."""
    return here.run(run)


class RunName(RequestBody):
    """What a person calls a run."""

    name: str = Field(max_length=120)


@router.patch("/runs/{run}", response_model=RunAnswer)
def rename(here: Here, run: str, given: RunName) -> dict[str, Any]:
    """Give a run a name."""
    here.store.runs.note(run, here.store.runs.about(run) | {"name": given.name.strip()})
    return here.run(run)


@router.get("/runs/{run}/events", response_class=StreamingResponse)
async def events(here: Here, run: str) -> StreamingResponse:
    """Send the status of a run whenever it changes, as server-sent events, until the run ends."""
    folder = here.store.runs.path(run)

    async def changes() -> AsyncIterator[str]:
        last = None
        while folder.is_dir():
            state = status(folder)
            if state != last:
                yield f"data: {json.dumps(state)}\n\n"
                last = state
            if state["state"] in ENDED:
                return
            await asyncio.sleep(_PACE)

    return StreamingResponse(changes(), media_type="text/event-stream")


class WayOut(RequestBody):
    """What to do about columns that tell whose records are whose."""

    way: Literal["generalise", "round", "drop", "accept"]


@router.post("/runs/{run}/ways", status_code=201, response_model=RunAnswer)
def take_way(here: Here, run: str, given: WayOut) -> dict[str, Any]:
    """Change the columns that made a release hollow, or accept what they tell, and run the same promise again."""
    about = here.store.runs.about(run)
    ways = read_json(here.store.runs.path(run) / WAYS)
    if ways is None:
        raise ParameterError("the rehearsal did not refuse this run")
    table, choice = about["table"], dict(about["choice"])
    if given.way == "accept":
        choice["accepted"] = [*choice.get("accepted", []), *ways["columns"]]
    else:
        change_columns(here, table, given.way, ways)
    return start(here, table, PlanChoice(**{**choice, "columns": None}))


@router.post("/runs/{run}/cancel", response_model=RunAnswer)
def cancel(here: Here, run: str) -> dict[str, Any]:
    """Stop a run; nothing of it is kept but its plan."""
    here.jobs.stop(run)
    return here.run(run)


@router.delete("/runs/{run}", status_code=204)
def remove(here: Here, run: str) -> None:
    """Delete a run and its release."""
    here.store.runs.path(run)
    here.jobs.stop(run, wait=True)
    here.store.runs.remove(run)


def _short(name: str, parameters: dict[str, Any]) -> str:
    """Return a promise in a few characters: `k = 5`, `diagnosis: t = 0.2`."""
    column = parameters.get("attribute")
    known = ("k", "l", "t", "epsilon", "delta", "beta", "p", "m", "c")
    figures = ", ".join(f"{key} = {value}" for key, value in parameters.items() if key in known)
    return f"{column}: {figures}" if column and figures else figures or name
