"""Moving through solutions: any node of the lattice in milliseconds, fine to coarse, and what a person keeps."""

from __future__ import annotations

import dataclasses
import math
import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from shoal.errors import DataError, ParameterError
from shoal.web._context import Context, Here
from shoal.web._jobs import PLAN
from shoal.web._store import NotFound, read_json, write_json
from shoal.web.api.answers import CoarserAnswer, KeptAnswer, NodeAnswer, RequestBody, RunAnswer
from shoal.web.api.plans import PlanChoice, PromiseChoice, make_plan, try_plan, why_not_tried
from shoal.web.api.runs import start

if TYPE_CHECKING:
    from shoal import Plan
    from shoal.methods.recode import NodeExplorer, NodeFigures

router = APIRouter()

Levels = Annotated[list[Annotated[int, Field(ge=0, le=1000)]], Query(max_length=1000)]
_KEPT, _MOST_KEPT = "kept.json", 50
#: how much larger k is at each place of the slider from fine to coarse
STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0)


class Explorers:
    """The lattices that were looked at last, each with a lock: one thread at a time rolls nodes up."""

    def __init__(self, limit: int = 3) -> None:
        self._limit, self._lock = limit, threading.Lock()
        self._known: OrderedDict[str, tuple[threading.Lock, list[NodeExplorer | None]]] = OrderedDict()

    @contextmanager
    def of(self, here: Context, run: str) -> Iterator[NodeExplorer]:
        """Give the lattice of the table of a run under its promises, encoded once."""
        from shoal.methods.recode import NodeExplorer

        here.store.runs.about(run)  # one that was deleted is not there any more
        with self._lock:
            lock, held = self._known.setdefault(run, (threading.Lock(), []))
            self._known.move_to_end(run)
            while len(self._known) > self._limit:
                self._known.popitem(last=False)
        with lock:
            if not held:
                plan = plan_of(here, run)
                if plan.privacy is not None or not plan.method.capabilities.generalizes:
                    raise DataError("only methods that make values coarser have levels to move through")
                with here.table(here.store.runs.about(run)["table"]) as table:
                    held.append(NodeExplorer.of(plan, table, here.population(run)))
            found = held[0]
            if found is None:
                raise DataError("the finest levels of this table do not fit into memory")
            yield found


EXPLORERS = Explorers()


def plan_of(here: Context, run: str) -> Plan:
    """Return the plan of a run."""
    import shoal

    folder, about = here.store.runs.path(run), here.store.runs.about(run)
    if not (folder / PLAN).is_file():
        raise NotFound("this run has no plan")
    home: Path = here.store.tables.path(about["table"])
    return shoal.Plan.loads((folder / PLAN).read_text(encoding="utf-8"), folder=home)


@router.get("/runs/{run}/nodes", response_model=NodeAnswer)
def look(here: Here, run: str, level: Levels = [], around: bool = False) -> dict[str, Any]:  # noqa: B006
    """Return what the release of a combination of levels would be like, and those one step away; releases nothing."""
    with EXPLORERS.of(here, run) as explorer:
        levels = _checked(explorer, level)
        return {
            "attributes": list(explorer.frequencies.attributes),
            "heights": list(explorer.heights),
            "examples": [
                [labels[(len(labels) - 1) // 2] for labels in hierarchy.labels]
                for hierarchy in explorer.frequencies.hierarchies
            ],
            "measure": explorer.measure.title,
            "records": explorer.frequencies.records,
            "node": _told(explorer.look(levels)),
            "around": [_told(each) for each in explorer.neighbours(levels)] if around else [],
        }


def _checked(explorer: NodeExplorer, levels: list[int]) -> tuple[int, ...]:
    """Return the levels of a node, the middle of the lattice where none are given."""
    heights = explorer.heights
    if not levels:
        return tuple(height // 2 for height in heights)
    if len(levels) != len(heights) or any(level > most for level, most in zip(levels, heights, strict=True)):
        raise ParameterError("there is no such combination of levels")
    return tuple(levels)


def _told(node: NodeFigures) -> dict[str, Any]:
    found = dataclasses.asdict(node)
    return found | {"levels": list(node.levels), "value": node.value if math.isfinite(node.value) else None}


class Keeping(RequestBody):
    """A solution to keep, and what a person calls it."""

    name: str = Field(max_length=120)
    levels: list[Annotated[int, Field(ge=0, le=1000)]] = Field(max_length=1000)


@router.get("/runs/{run}/kept", response_model=list[KeptAnswer])
def kept(here: Here, run: str) -> list[dict[str, Any]]:
    """List the solutions that were kept, in the order in which they were."""
    return list((read_json(here.store.runs.path(run) / _KEPT) or {}).get("kept", []))


@router.post("/runs/{run}/kept", status_code=201, response_model=list[KeptAnswer])
def keep(here: Here, run: str, wanted: Keeping) -> list[dict[str, Any]]:
    """Keep a combination of levels under a name, with its figures, to compare it with others."""
    with EXPLORERS.of(here, run) as explorer:
        figures = _told(explorer.look(_checked(explorer, wanted.levels)))
    with here.saving:
        known = kept(here, run)
        if len(known) >= _MOST_KEPT:
            raise ParameterError(f"at most {_MOST_KEPT} solutions are kept", hint="remove one first")
        name = wanted.name.strip() or f"solution {len(known) + 1}"
        known.append(figures | {"id": secrets.token_hex(8), "name": name})
        write_json(here.store.runs.path(run) / _KEPT, {"kept": known})
    return known


@router.delete("/runs/{run}/kept/{identity}", response_model=list[KeptAnswer])
def remove(here: Here, run: str, identity: str) -> list[dict[str, Any]]:
    """Remove a solution from those that are kept."""
    with here.saving:
        known = kept(here, run)
        left = [each for each in known if each["id"] != identity]
        if len(left) == len(known):
            raise NotFound("there is no such solution")
        write_json(here.store.runs.path(run) / _KEPT, {"kept": left})
    return left


@router.get("/runs/{run}/coarser/{step}", response_model=CoarserAnswer)
def coarser(here: Here, run: str, step: int) -> dict[str, Any]:
    """Try the method of a run with a larger k: a place on the way from fine to coarse, which keeps the promise, too."""
    about, path = here.store.runs.about(run), here.store.runs.path(run) / f"coarser-{step}.json"
    choice = coarser_choice(about, step)
    with here.measured_once(path):
        found = read_json(path)
        if found is None:
            plan = make_plan(here, about["table"], choice)
            why = why_not_tried(plan, int(here.store.tables.about(about["table"])["records"]))
            found = {"words": why} if why else try_plan(here, about["table"], plan)
            write_json(path, found)
    return found | {"step": step, "k": _k(choice)}


def coarser_choice(about: dict[str, Any], step: int) -> PlanChoice:
    """Return the choice of a run with a larger k in every promise that has one."""
    if not 0 <= step < len(STEPS):
        raise NotFound("there is no such step")
    choice = PlanChoice.model_validate(about.get("choice") or {"promises": []})
    if _k(choice) is None:
        raise DataError("only promises with a k have a way from fine to coarse")
    promises = [_scaled(each, STEPS[step]) for each in choice.promises]
    return choice.model_copy(update={"promises": promises, "columns": None})


def has_k(about: dict[str, Any]) -> bool:
    """Return whether a promise of a run has a k that can be larger."""
    return any("k" in each["parameters"] for each in (about.get("choice") or {}).get("promises", []))


@router.post("/runs/{run}/coarser/{step}", status_code=201, response_model=RunAnswer)
def make_coarser(here: Here, run: str, step: int) -> dict[str, Any]:
    """Make the release of a place on the way from fine to coarse: a new run."""
    about = here.store.runs.about(run)
    return start(here, about["table"], coarser_choice(about, step))


def _scaled(promise: PromiseChoice, factor: float) -> PromiseChoice:
    given = promise.parameters
    if "k" not in given:
        return promise
    return promise.model_copy(update={"parameters": given | {"k": math.ceil(int(given["k"]) * factor)}})


def _k(choice: PlanChoice) -> int | None:
    return next((int(each.parameters["k"]) for each in choice.promises if "k" in each.parameters), None)
