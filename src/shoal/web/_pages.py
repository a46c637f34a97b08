"""The pages: rendered here, so that every cell of the data is escaped in one place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from shoal.schema import HierarchyRule
from shoal.web import _figures
from shoal.web._context import Context, Here
from shoal.web._words import HELP, PRESETS, ROLES
from shoal.web.api import compare, plans, releases, risk, runs, schema, verify

__all__ = ["router"]

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

_templates = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters |= _figures.FILTERS
_templates.globals |= {"lattice_picture": _figures.lattice_picture, "frontier": _figures.frontier}
del compare, verify


def _page(name: str, **values: Any) -> HTMLResponse:
    return HTMLResponse(_templates.get_template(f"{name}.html").render(**values))


@router.get("/")
def home(here: Here) -> HTMLResponse:
    """Show all tables and the newest runs."""
    return _page("home", tables=list(here.store.tables.all()), runs=runs.every_run(here)[:12])


@router.get("/tables/{table}")
def columns(here: Here, table: str) -> HTMLResponse:
    """Show the columns with their profiles, roles and hierarchies."""
    from shoal import schema as schemas

    found = schema.get(here, table)
    rules = [getattr(schemas, name) for name in schemas.__all__]
    kinds = {rule.name: rule.kinds for rule in rules if isinstance(rule, type) and issubclass(rule, HierarchyRule)}
    return _page("columns", step="columns", roles=ROLES, kinds=kinds, **_of(here, table), schema=found)


@router.get("/tables/{table}/risk")
def today(here: Here, table: str) -> HTMLResponse:
    """Show the risk of the table as it is."""
    return _page("risk", step="risk", **_of(here, table), risk=risk.risk(here, table))


@router.get("/tables/{table}/promise")
def promise(here: Here, table: str, run: str | None = None) -> HTMLResponse:
    """Choose what to promise and what to keep useful."""
    chosen = here.store.runs.about(run).get("choice") if run is not None else None
    found = schema.get(here, table)
    return _page(
        "promise",
        step="promise",
        **_of(here, table),
        schema=found,
        catalogue=plans.catalogue(),
        presets=PRESETS,
        help=HELP,
        chosen=chosen,
    )


@router.get("/tables/{table}/compare")
def comparison(here: Here, table: str) -> HTMLResponse:
    """Choose methods and strengths to compare."""
    found = schema.get(here, table)
    return _page("compare", step="compare", **_of(here, table), schema=found, catalogue=plans.catalogue())


@router.get("/runs/{run}")
def one_run(here: Here, run: str) -> HTMLResponse:
    """Show how far a run is, or what came of it."""
    about = runs.describe(here, run)
    done = about["status"]["state"] == "done"
    found = releases.exploration(here, run) if done else None
    files = releases.files(here, run) if done else []
    name = "comparison" if about["kind"] == "comparison" and done else "release" if done else "progress"
    key = (here.store.runs.path(run) / "pseudonym.key").is_file()
    return _page(name, step="runs", run=about, found=found, files=files, key=key, **_of(here, about["table"]))


@router.get("/verify")
def verification(here: Here) -> HTMLResponse:
    """Check a release folder."""
    made = [each for each in runs.every_run(here) if each["kind"] == "release" and each["status"]["state"] == "done"]
    return _page("verify", runs=made)


def _of(here: Context, table: str) -> dict[str, Any]:
    return {"table": here.store.tables.about(table), "runs": runs.every_run(here, table)}
