"""Drafts for a purpose: what it needs stays, the rest is left out."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from shoal.errors import ParameterError, SchemaError, counted, quoted
from shoal.methods.shorthand import AUDIENCES
from shoal.tables import Wishes
from shoal.web._commands import draft_commands
from shoal.web._context import Here
from shoal.web._drafts import current_draft, decided_by_hand, draft_columns, person_answer, save_schema
from shoal.web.api.answers import RequestBody, SavedSchemaAnswer
from shoal.web.api.tables import MOST_COLUMNS

router = APIRouter()

#: columns that a sentence names
_NAMED = 8


class Purpose(RequestBody):
    """What the data are for, and the state of the schema that it was chosen on."""

    version: str = Field(max_length=64, description="the version that was shown")
    keep: list[Annotated[str, Field(max_length=1000)]] = Field(
        default=[], max_length=MOST_COLUMNS, description="the columns that are needed; none: all that are recognised"
    )
    audience: str | None = Field(default=None, max_length=40, description="who gets the data")
    replace: bool = Field(default=False, description="whether columns that were decided by hand are drafted anew, too")


@router.post("/tables/{table}/purpose", response_model=SavedSchemaAnswer)
def draft(here: Here, table: str, purpose: Purpose) -> dict[str, Any]:
    """Draft the columns again for a purpose; what a person decided is replaced on request only, and can be undone."""
    about = here.store.tables.about(table)
    here.check_version(table, purpose.version)
    if purpose.audience is not None and purpose.audience not in AUDIENCES:
        raise ParameterError(f"`audience` must be one of {', '.join(AUDIENCES)}")
    decided = [] if purpose.replace else decided_by_hand(here, table)
    if decided:
        raise SchemaError(
            f"this would replace what was decided for {counted(len(decided), 'column')}: {_some(decided)}",
            hint="say that it may (`replace`); undo brings it back",
        )
    wishes = Wishes(keep=purpose.keep, person=person_answer(here, table))
    with here.table(table) as opened:
        _, drafted = draft_columns(opened, about.get("declared", {}), wishes)
    with here.saving:
        here.check_version(table, purpose.version)
        save_schema(here, table, drafted.schema, (drafted, wishes, purpose.audience))
    return {"guessed": drafted.schema.guessed, "version": here.version(table)}


@router.get("/tables/{table}/purpose")
def describe(here: Here, table: str) -> dict[str, Any]:
    """Return the purpose that the columns were drafted for, what was decided by hand since, and what is to be asked."""
    about, noted = here.store.tables.about(table), current_draft(here.store.tables.path(table))
    asked = noted["asked"] if here.schema(table).asks_for_persons else None
    has_purpose = bool(noted["keep"] or noted["audience"])
    decided = decided_by_hand(here, table)
    return {
        "keep": noted["keep"],
        "audience": noted["audience"],
        "decided": decided,
        "decided_in_words": _some(decided),
        "asked": asked,
        "commands": draft_commands(noted, about) if has_purpose else None,
    }


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return quoted(names[:_NAMED]) + more
