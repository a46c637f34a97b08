"""Risk: who stands out in a table as it is."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

from fastapi import APIRouter

from shoal.web._context import SCHEMA, Here
from shoal.web._store import read_json, write_json

__all__ = ["router"]

router = APIRouter()


@router.get("/tables/{table}/risk")
def risk(here: Here, table: str) -> dict[str, Any]:
    """Return class sizes, unique records, the three risks, and the columns that tell records apart."""
    import shoal

    folder = here.store.tables.path(table)
    here.store.tables.about(table)
    version = hashlib.sha256((folder / SCHEMA).read_bytes()).hexdigest()
    kept = read_json(folder / "risk.json")
    if kept is not None and kept.get("schema") == version:
        return dict(kept["risk"])
    with here.table(table) as opened:
        found = dataclasses.asdict(shoal.assess(opened.with_schema(here.schema(table))))
    write_json(folder / "risk.json", {"schema": version, "risk": found})
    return found
