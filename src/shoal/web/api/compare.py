"""Comparison: several methods and strengths on one table."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from shoal.web._context import Here
from shoal.web.api.plans import Choice, MethodChoice, Promise, make_plan
from shoal.web.api.runs import begin

__all__ = ["router"]

router = APIRouter()


class Comparison(BaseModel):
    """Every method with every k, beside the other promises."""

    model_config = ConfigDict(extra="forbid")
    k: list[Annotated[int, Field(ge=1, le=10**9)]] = Field(min_length=1, max_length=12)
    methods: list[MethodChoice] = Field(min_length=1, max_length=8)
    promises: list[Promise] = Field(default=[], max_length=10)


@router.post("/tables/{table}/comparisons", status_code=201)
def start(here: Here, table: str, comparison: Comparison) -> dict[str, Any]:
    """Start a comparison; it is a run whose exploration holds one row per combination."""
    from shoal import schema

    for method in comparison.methods:
        smallest = Promise(model="k-anonymity", parameters={"k": min(comparison.k)})
        make_plan(here, table, Choice(promises=[smallest, *comparison.promises], method=method))
    strengths = ", ".join(str(k) for k in sorted(set(comparison.k)))
    names = list(dict.fromkeys(method.name for method in comparison.methods))
    about = {
        "kind": "comparison",
        "title": f"k = {strengths}",
        "method": ", ".join(names),
        "statements": [f"{len(comparison.methods)} methods and {len(comparison.k)} strengths side by side."],
    }
    wanted = {
        "schema": schema.dumps(here.schema(table)),
        "k": sorted(set(comparison.k)),
        "methods": [method.model_dump() for method in comparison.methods],
        "promises": [promise.model_dump() for promise in comparison.promises],
    }
    return begin(here, table, about, {"comparison.json": json.dumps(wanted)})
