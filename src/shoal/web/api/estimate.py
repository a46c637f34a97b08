"""What a promise costs, tried out in a second before the run."""

from __future__ import annotations

import dataclasses
import secrets
import time
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter

from shoal.web._context import Here
from shoal.web._words import number, share
from shoal.web.api.answers import EstimateAnswer
from shoal.web.api.plans import PlanChoice, make_plan

if TYPE_CHECKING:
    from shoal import Plan

__all__ = ["router"]

router = APIRouter()

#: seconds that the search of a try may take, and the records that it is made of at most
_SECONDS, _RECORDS = 1.0, 200_000


@router.post("/tables/{table}/estimate", response_model=EstimateAnswer)
def estimate(here: Here, table: str, choice: PlanChoice) -> dict[str, Any]:
    """Try a choice with a search of one second, where that is cheap and tells something; nothing is released."""
    plan = make_plan(here, table, choice)
    reason = _why_not(plan, int(here.store.tables.about(table)["records"]))
    if reason:
        return {"words": reason}
    key = secrets.token_bytes(32) if any(attribute.pseudonym for attribute in plan.schema) else None
    started = time.perf_counter()
    with here.table(table) as opened:
        found = _quick(plan).run(opened.with_schema(plan.schema), pseudonym_key=key)
    seconds = time.perf_counter() - started
    records = 0 if found.before is None else found.before.records
    left_out, loss = records - found.after.records, found.measures.get("loss")
    lost = "" if loss is None else f" {share(loss)} of the detail gone, and"
    words = (
        f"A try with a search of {_SECONDS:g} s kept this promise with{lost} {number(left_out)} of {number(records)} "
        f"records left out. It took {seconds:.1f} s; the run searches longer and may lose less."
    )
    return {"words": words, "loss": loss, "left_out": left_out, "seconds": seconds}


def _why_not(plan: Plan, records: int) -> str:
    """Return why nothing is tried: what is random must not be looked at twice, and the rest would take long."""
    if plan.method.keeps.private is not None:
        return "Nothing is tried out for differential privacy: every look at the data would cost epsilon."
    if not plan.method.keeps.generalizes:
        return f"Only a run shows what {plan.method.name} costs."
    if records > _RECORDS:
        return f"Only a run shows what it costs: tables of more than {_RECORDS:,} records take longer to try."
    return ""


def _quick(plan: Plan) -> Plan:
    fields = {each.name for each in dataclasses.fields(plan.method)}
    given = {name: value for name, value in (("time_limit", _SECONDS), ("foresight", 0)) if name in fields}
    method: Any = plan.method
    return dataclasses.replace(plan, method=dataclasses.replace(method, **given))
