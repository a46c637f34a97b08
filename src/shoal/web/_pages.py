"""The pages."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from fastapi.responses import FileResponse, HTMLResponse

from shoal.folder import OUR_VERIFIER
from shoal.methods.shorthand import AUDIENCES
from shoal.relations import names_of
from shoal.report import (
    Axis,
    Chart,
    ColumnFigures,
    Dot,
    LatticeFigures,
    PeopleFigures,
    Risk,
    TableFigures,
    class_sizes_chart,
    column_chart,
    figure,
    frontier_chart,
    inside_chart,
    largest_share,
    lattice_chart,
    people_rows,
)
from shoal.schema import DATE_FORMATS, RULES
from shoal.tables import uploadable
from shoal.web._context import Context, Here
from shoal.web._convert import CONVERTED
from shoal.web._jobs import WAYS
from shoal.web._linked import LINKED
from shoal.web._store import read_json
from shoal.web._words import PRESETS, ROLES, number, share
from shoal.web._words import page as _page
from shoal.web.api import (
    compare,
    datasets,
    explore,
    handover,
    linked,
    nodes,
    plans,
    purposes,
    releases,
    runs,
    schema,
    tables,
    vaults,
)

#: records times columns whose risk is measured before the page is shown
_AT_ONCE = 150_000


router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@router.get("/")
def home(here: Here) -> HTMLResponse:
    """Show all tables and the newest runs."""
    endings = dict.fromkeys(f".{each.rpartition('.')[2]}" for each in (*uploadable(), *CONVERTED))
    known = list(here.store.tables.all())
    shown: dict[str, Any] = {"endings": ",".join(endings), "date_formats": DATE_FORMATS}
    shown["datasets"] = list(here.store.datasets.all())
    return _page("home", tables=known, runs=runs.every_run(here)[:12], **shown)


@router.get("/tables/{table}")
def columns(here: Here, table: str) -> HTMLResponse:
    """Show the columns with their profiles, roles and hierarchies."""
    drafted = schema.get(here, table)
    kinds = {name: rule.kinds for name, rule in RULES.items()}
    shown: dict[str, Any] = {"roles": ROLES, "kinds": kinds, "date_formats": DATE_FORMATS}
    shown |= {"purpose": purposes.describe(here, table), "audiences": AUDIENCES}
    return _page("columns", step="columns", schema=drafted, **shown, **_of(here, table))


@router.get("/tables/{table}/records")
def data(here: Here, table: str) -> HTMLResponse:
    """Show the records themselves."""
    return _page("records", step="records", **_of(here, table), schema=schema.get(here, table))


@router.get("/tables/{table}/risk")
def today(here: Here, table: str) -> HTMLResponse:
    """Show the risk of the table as it is; one that takes a while to measure is measured while the page is there."""
    about, risk = here.store.tables.about(table), tables.kept_risk(here, table)
    if risk is None and about["records"] * len(about["columns"]) > _AT_ONCE:
        return _page("measuring", step="risk", **_of(here, table))
    risk = risk or tables.risk(here, table)
    sizes = figure(class_sizes_chart(_risk(risk["reidentification"])))
    return _page("risk", step="risk", **_of(here, table), risk=risk, sizes=sizes)


@router.get("/tables/{table}/promise")
def promise(here: Here, table: str, run: str | None = None, point: int | None = None) -> HTMLResponse:
    """Choose what to promise and what to keep useful, from the start or from an earlier run or point of one."""
    chosen: Any
    if run is not None and point is not None:
        chosen = plans.choice_of(compare.point_plan(here, run, point))
    else:
        # a table with a project opened on it starts from the newest promise of the project
        from_project = (each for each in runs.every_run(here, table) if each.get("restored"))
        about = here.store.runs.about(run) if run is not None else next(from_project, {})
        chosen = about.get("choice")
    drafted, known = schema.get(here, table), plans.catalogue()
    return _page(
        "promise",
        step="promise",
        **_of(here, table),
        schema=drafted,
        catalogue=known,
        presets=PRESETS,
        audience=purposes.describe(here, table)["audience"],
        help={each["name"]: each["help"] for each in known["models"]},
        accounts=vaults.accounts_of(here, table),
        chosen=chosen,
    )


@router.get("/tables/{table}/runs")
def side_by_side(here: Here, table: str, run: Annotated[list[str], Query(max_length=6)] = []) -> HTMLResponse:  # noqa: B006
    """Show all runs of a table, and the chosen ones beside each other."""
    shown = _of(here, table)
    for each in shown["runs"]:
        files = here.store.runs.path(each["id"]).rglob("*")
        each["bytes"] = sum(path.stat().st_size for path in files if path.is_file())
    done = [each for each in shown["runs"] if each["kind"] == "release" and each["status"]["state"] == "done"]
    chosen = [each for each in done if each["id"] in run]
    return _page("side_by_side", step="all-runs", done=done, chosen=_beside(here, chosen), **shown)


def _beside(here: Context, chosen: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what is shown of each run; a bar of a column means the same in all of them."""
    explored = [releases.exploration(here, about["id"]) for about in chosen]
    columns = [
        {each.name: each for each in TableFigures.model_validate(found["tables"][0]).columns}
        if found.get("tables")
        else {}
        for found in explored
    ]
    tops = {
        name: max(largest_share(each[name]) for each in columns if name in each)
        for name in dict.fromkeys(name for each in columns for name in each)
    }
    return [
        about
        | {
            "figures": figures(found),
            "pictures": {name: _drawn(column, tops[name]) for name, column in shown.items()},
            "promises": found["promises"],
        }
        for about, found, shown in zip(chosen, explored, columns, strict=True)
    ]


def _drawn(column: ColumnFigures, top: float | None = None) -> Any:
    """Draw a column as it was released, and what was lost inside its groups."""
    return figure(column_chart(column, top=top), role=column.role.value, inside=inside_chart(column))


@router.get("/tables/{table}/compare")
def comparison(here: Here, table: str) -> HTMLResponse:
    """Choose methods and strengths to compare."""
    from shoal.comparison import RISKS, UTILITIES

    return _page(
        "compare",
        step="compare",
        has_account=any(each["own"] for each in vaults.accounts_of(here, table)),
        **_of(here, table),
        schema=schema.get(here, table),
        catalogue=plans.catalogue(),
        risks=RISKS.values(),
        utilities=[each for each in UTILITIES.values() if each.name != "prediction"],
    )


@router.get("/runs/{run}")
def one_run(here: Here, run: str) -> HTMLResponse:
    """Show how far a run is, or what came of it."""
    about = here.run(run)
    done = about["status"]["state"] == "done"
    if not done:
        ways = read_json(here.store.runs.path(run) / WAYS)
        if ways is not None:
            ways |= {"names": names_of(ways["columns"])}
        return _page("progress", step="runs", run=about, ways=ways, **_of(here, about["table"]))
    if about["kind"] == "comparison":
        return _compared(here, run, about)
    exploration = releases.exploration(here, run)
    return _page(
        "release",
        step="runs",
        run=about,
        found=exploration,
        verdict=verdict(exploration),
        pictures=_pictures(exploration),
        people=_people(exploration),
        files=releases.files(here, run),
        formats=handover.FORMATS,
        came_as=handover.came_as(here, about),
        linked=_linked_names(here, run),
        keys=handover.every_key(here),
        levels="pick" if explore.has_one_level(about) else "search" if explore.has_levels(about) else "",
        synthetic=releases.capabilities(about).shared_columns,
        key=(here.store.runs.path(run) / "pseudonym.key").is_file(),
        **_of(here, about["table"]),
    )


@router.get("/runs/{run}/records.{ending}", response_class=Response)
def records_of(here: Here, run: str, ending: Literal["csv", "xlsx", "sav", "dta", "xpt", "parquet"]) -> Response:
    """Return records for programs that read no labels, with the text that says what they are; drawn anew each time."""
    return releases.records(here, run, ending)


def _linked_names(here: Context, run: str) -> list[str]:
    """Return the columns of which every record is linked; none where the method does not say what became of which."""
    return linked.linked(here, run).names if (here.store.runs.path(run) / LINKED).is_file() else []


@router.get("/runs/{run}/table")
def table_of(here: Here, run: str) -> HTMLResponse:
    """Show every record before and after."""
    about, found = here.run(run), linked.linked(here, run)
    shown: dict[str, Any] = {"names": list(enumerate(found.names)), "recoded": sorted(found.after)}
    return _page("linked", step="explore", run=about, **shown, **_of(here, about["table"]))


@router.get("/runs/{run}/explore")
def exploring(here: Here, run: str) -> HTMLResponse:
    """Show what else could have been released, and what the release is good for."""
    about, exploration = here.run(run), releases.exploration(here, run)
    table = _of(here, about["table"])
    names = [each["name"] for each in exploration["tables"][0]["columns"]] if explore.comparable(exploration) else []
    search = exploration["search"]
    lattice = search["lattice"] if search else None
    return _page(
        "explore",
        step="explore",
        run=about,
        found=exploration,
        known=[(n, each["name"]) for n, each in enumerate(table["table"]["columns"]) if each["name"] in names],
        linked=(here.store.runs.path(run) / LINKED).is_file(),
        movable=explore.has_levels(about) and not exploration["private"],
        released=search["levels"] if search else None,
        coarsenable=explore.has_levels(about) and not explore.has_one_level(about) and nodes.has_k(about),
        steps=nodes.STEPS,
        searchable=explore.has_levels(about) and not explore.has_one_level(about),
        applicable=explore.has_one_level(about) and lattice is not None,
        frontier=figure(_frontier(search)) if search and search["frontier"] else None,
        lattice=figure(lattice_chart(LatticeFigures.model_validate(lattice))) if lattice else None,
        **table,
    )


def _pictures(found: dict[str, Any]) -> dict[str, Any]:
    """Draw what there is to see of a release, as reports do."""
    shown = [TableFigures.model_validate(each) for each in found.get("tables", [])]
    return {
        "sizes": None if found["mixed"] else figure(class_sizes_chart(_risk(found["after"]), _risk(found["before"]))),
        "tables": {each.file: [_drawn(column) for column in each.columns] for each in shown},
    }


def _people(found: dict[str, Any]) -> dict[str, list[tuple[str, ...]]]:
    """Return the risk of persons and households before and after, where it is known; as rows by title."""
    figures = [PeopleFigures.model_validate(each) for each in found.get("people", [])]
    return people_rows(figures) if figures else {}


def _risk(found: dict[str, Any]) -> Risk:
    return Risk.model_validate({name: found[name] for name in Risk.model_fields})


def _frontier(search: dict[str, Any]) -> Chart:
    dots = [
        Dot(
            label=f"levels {', '.join(map(str, node['levels']))}, {node['suppressed']:,} left out",
            risk=node["risk"],
            cost=node["value"],
            best=not node["beaten"],
            chosen=node["levels"] == search["levels"],
        )
        for node in search["frontier"]
    ]
    measure = search["measure"]
    return frontier_chart(
        dots,
        Axis(title="average risk", short="average risk"),
        Axis(title=measure, short=measure, share=False),
        ringed="chosen",
    )


def _compared(here: Context, run: str, about: dict[str, Any]) -> HTMLResponse:
    from shoal.comparison import RISKS, UTILITIES

    comparison = compare.compared(here, run)
    return _page(
        "comparison",
        step="runs",
        run=about,
        found=comparison,
        picture=figure(comparison.chart()),
        risk=RISKS[comparison.risk],
        utility=UTILITIES[comparison.utility],
        **_of(here, about["table"]),
    )


@router.get("/datasets/{dataset}")
def data_set(here: Here, dataset: str) -> HTMLResponse:
    """Show several tables: keys and roles, a promise, and what came of it."""
    return _page("dataset", dataset=datasets.describe(here, dataset), roles=ROLES)


@router.get("/vaults")
def all_vaults(here: Here) -> HTMLResponse:
    """Show all vaults, and make one of a table."""
    return _page(
        "vaults",
        vaults=vaults.every_vault(here),
        accounts=vaults.accounts_with_tables(here),
        tables=list(here.store.tables.all()),
    )


@router.get("/vaults/{vault}")
def vault(here: Here, vault: str, before: vaults.Before = None) -> HTMLResponse:
    """Show the budget, the analysts and the ledger of a vault."""
    return _page("vault", vault=vaults.one_vault(here, vault, before))


@router.get("/verify.html", response_class=FileResponse)
def second_verifier() -> FileResponse:
    """Hand out the verifier in one page, to be opened from disk: it needs neither the app nor a network."""
    return FileResponse(OUR_VERIFIER, filename="verify.html", media_type="text/html")


@router.get("/verify")
def verification(here: Here) -> HTMLResponse:
    """Check a release folder."""
    made = [each for each in runs.every_run(here) if each["kind"] == "release" and each["status"]["state"] == "done"]
    return _page("verify", runs=made)


def _of(here: Context, table: str) -> dict[str, Any]:
    return {"table": here.store.tables.about(table), "runs": runs.every_run(here, table)}


# what came of a run, in a few figures and words: first on its page, and beside other runs


def verdict(found: dict[str, Any]) -> dict[str, str]:
    """Return, from what there is to see of a release, what changed for people and what was lost."""
    before, after = found["before"], _found_after(found)
    left_out = max(before["records"] - found["after"]["records"], 0)
    loss = found["measures"].get("loss")
    lost = [f"{number(left_out)} of {number(before['records'])} records were left out"] if left_out else []
    if several := _several(found):
        lost = [f"Each of the {several} of {number(before['records'])} records"]
    lost += [f"{share(loss)} of the detail is gone, by the measure loss"] if loss is not None else []
    return {
        "alone": _alone(found, before, after),
        "lost": "; ".join(lost) + "." if lost else "Nothing was left out.",
        "after": "After, in the table where people are easiest to find" if several else "After",
    }


def figures(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the figures by which runs are compared, each with its title."""
    before, after = found["before"], _found_after(found)
    loss, several = found["measures"].get("loss"), _several(found)
    return [
        ("Records released", f"each of {several}" if several else number(found["after"]["records"])),
        ("Records left out", number(None if several else max(before["records"] - found["after"]["records"], 0))),
        ("Smallest group of people who look alike", number(after.get("fewest") or after["smallest"])),
        ("People who stand alone", number(after["unique"])),
        ("Highest risk of being found", share(after["prosecutor"])),
        ("Average risk of being found", share(after["marketer"])),
        ("Loss (0 is unchanged)", number(loss)),
        ("Levels", _levels(found["search"])),
        ("Columns that were erased", ", ".join(_erased(found["search"])) or "none"),
    ]


def _alone(found: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> str:
    """Say how many stood alone and still do: persons, where some have several records."""
    people = found.get("people")
    if not people:
        first, last = before["unique"], after["unique"]
        where = "the table where people are easiest to find" if _several(found) else "the release"
        return f"{number(first)} stood alone in what others may know; in {where} {number(last)} do."
    first, last = (each["persons"]["certain"] for each in people)
    whole = number(people[0]["persons"]["number"])
    return (
        f"{number(first)} of {whole} persons stood alone in what others may know of one of their records; in the "
        f"release {number(last)} do."
    )


def _several(found: dict[str, Any]) -> str:
    """Say how many records the tables of a release have, where there are several that stand for themselves."""
    sizes = [each["records"] for each in found.get("tables", ())]
    if len(sizes) < 2 or found["mixed"]:
        return ""
    return f"{len(sizes)} tables has {number(min(sizes))} to {number(max(sizes))}"


def _found_after(found: dict[str, Any]) -> dict[str, Any]:
    """Return the risk of being found afterwards: as before, where what others may know is released as it is."""
    return dict(found["before"] if found["mixed"] else found["after"])


def _levels(search: dict[str, Any] | None) -> str:
    """Return the level of every column, where each has one."""
    if search is None or search["levels"] is None:
        return "not one per column"
    return ", ".join(f"{name} {level}" for name, level in zip(search["attributes"], search["levels"], strict=True))


def _erased(search: dict[str, Any] | None) -> list[str]:
    """Return the columns of which nothing is left: they are at the top of their hierarchies."""
    if search is None or search["levels"] is None:
        return []
    each = zip(search["attributes"], search["levels"], search["examples"], strict=True)
    return [name for name, level, examples in each if level == len(examples) - 1 > 0]
