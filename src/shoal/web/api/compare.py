"""Comparison: several methods and strengths on one table."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from shoal.errors import ParameterError, ShoalError
from shoal.web._context import Context, Here
from shoal.web.api.plans import Choice, MethodChoice, Promise, make_plan
from shoal.web.api.runs import begin

__all__ = ["router"]

router = APIRouter()


class Comparison(BaseModel):
    """Every method with every k, and truthful differential privacy with every epsilon, beside the other promises."""

    model_config = ConfigDict(extra="forbid")
    k: list[Annotated[int, Field(ge=1, le=10**9)]] = Field(default=[], max_length=12)
    methods: list[MethodChoice] = Field(default=[], max_length=40)
    epsilon: list[float] = Field(default=[], max_length=12)
    delta: float = 1e-6
    promises: list[Promise] = Field(default=[], max_length=10)


@router.post("/tables/{table}/comparisons", status_code=201)
def start(here: Here, table: str, comparison: Comparison) -> dict[str, Any]:
    """Start a comparison; it is a run whose exploration holds one row per combination."""
    from shoal import schema

    entries = _entries(comparison)
    if not entries:
        raise ParameterError("there is nothing to compare", hint="choose a method and values of k, or of epsilon")
    _check(here, table, entries)
    strengths = list(dict.fromkeys(strength for _, strength in entries))
    about = {
        "kind": "comparison",
        "title": ", ".join(strengths),
        "method": ", ".join(dict.fromkeys(method for method, _ in entries)),
        "statements": [f"{len(entries)} releases are made and measured; none is kept."],
    }
    wanted = {
        "schema": schema.dumps(here.schema(table)),
        "entries": [{"strength": strength} | choice.model_dump() for (_, strength), choice in entries.items()],
    }
    return begin(here, table, about, {"comparison.json": json.dumps(wanted)})


def _check(here: Context, table: str, entries: dict[tuple[str, str], Choice]) -> None:
    """Refuse a comparison of which nothing can run; where something can, the rest says why it cannot."""
    errors: list[ShoalError] = []
    for choice in entries.values():
        try:
            make_plan(here, table, choice)
        except ShoalError as error:
            errors.append(error)
    if len(errors) == len(entries):
        raise errors[0]


def _entries(comparison: Comparison) -> dict[tuple[str, str], Choice]:
    entries = {}
    for method in comparison.methods:
        for k in sorted(set(comparison.k)):
            crowd = Promise(model="k-anonymity", parameters={"k": k})
            entries[method.name, f"k = {k}"] = Choice(promises=[crowd, *comparison.promises], method=method)
    for epsilon in sorted(set(comparison.epsilon)):
        private = Promise(model="differential-privacy", parameters={"epsilon": epsilon, "delta": comparison.delta})
        choice = Choice(promises=[private, *comparison.promises], method=MethodChoice(name="truthful"))
        entries["truthful", f"epsilon = {epsilon:g}"] = choice
    return entries
