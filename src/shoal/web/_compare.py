"""Compare methods and strengths: one run per combination, each with its risk and its cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import ShoalError
from shoal.web._explore import before, loss

if TYPE_CHECKING:
    from shoal import Plan, Release, Schema
    from shoal.recoding import Progress

__all__ = ["compare"]


def compare(about: dict[str, Any], wanted: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Run every entry of ``wanted`` on the table that ``about`` names; one that cannot be met says why."""
    import shoal
    from shoal import schema as schemas

    home = Path(about["table_folder"])
    schema = schemas.loads(wanted["schema"], home)
    table = shoal.read(home / about["file"]).with_schema(schema)
    rows: list[dict[str, Any]] = []
    for number, entry in enumerate(wanted["entries"]):
        progress(number, len(wanted["entries"]), f"{entry['method']['name']}, {entry['strength']}")
        row: dict[str, Any] = {"method": entry["method"]["name"], "strength": entry["strength"]}
        try:
            row |= _figures(_plan(schema, entry).run(table))
        except ShoalError as error:
            row |= {"problems": list(error.problems), "hint": error.hint}
        rows.append(row)
    return {"rows": rows}


def _plan(schema: Schema, entry: dict[str, Any]) -> Plan:
    import shoal
    from shoal import methods, promises

    return shoal.Plan(
        schema=schema,
        models=tuple(promises.from_parameters(each["model"], each["parameters"]) for each in entry["promises"]),
        method=methods.from_parameters(entry["method"]["name"], entry["method"]["parameters"]),
    )


def _figures(release: Release) -> dict[str, Any]:
    after = release.after
    return {
        "loss": loss(release),
        "left_out": before(release).records - after.records,
        "classes": after.classes,
        "highest_risk": after.prosecutor,
        "average_risk": after.marketer,
    }
