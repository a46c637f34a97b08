"""Compare methods and strengths: one run per combination, each with its risk and its cost."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import RequirementError, ShoalError

if TYPE_CHECKING:
    from shoal.web._worker import _Notes

__all__ = ["compare"]


def compare(about: dict[str, Any], wanted: dict[str, Any], notes: _Notes) -> dict[str, Any]:
    """Run every method with every k, beside the other promises, and return one row per combination."""
    import shoal
    from shoal import methods, promises
    from shoal import schema as schemas

    home = Path(about["table_folder"])
    schema = schemas.loads(wanted["schema"], home)
    table = shoal.read(home / about["file"]).with_schema(schema)
    others = tuple(promises.from_parameters(each["model"], each["parameters"]) for each in wanted["promises"])
    pairs = [(method, k) for method in wanted["methods"] for k in wanted["k"]]
    rows: list[dict[str, Any]] = []
    for number, (entry, k) in enumerate(pairs):
        notes(number, len(pairs), f"{entry['name']} with k = {k}")
        row: dict[str, Any] = {"method": entry["name"], "k": k}
        try:
            plan = shoal.Plan(
                schema=schema,
                models=(shoal.KAnonymity(k), *others),
                method=methods.from_parameters(entry["name"], entry["parameters"]),
            )
            row |= _figures(plan.run(table))
        except RequirementError as error:
            row |= {"problems": list(error.problems), "hint": error.hint}
        except ShoalError as error:
            row |= {"problems": list(error.problems), "hint": error.hint}
        rows.append(row)
    return {"rows": rows}


def _figures(release: Any) -> dict[str, Any]:
    before, after = release.before, release.after
    return {
        "loss": release.measures.get("loss"),
        "suppressed": before.records - after.records,
        "records": before.records,
        "classes": after.classes,
        "highest_risk": after.prosecutor,
        "average_risk": after.marketer,
        "steps": [event.describe() for event in release.guarantee.events],
        "sizes": [dataclasses.asdict(band) for band in after.sizes],
    }
