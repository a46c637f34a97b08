"""What every release but the differentially private ones starts with."""

from __future__ import annotations

from shoal.errors import DataError, ParameterError, Problems
from shoal.guarantees import Dropped, Event, LeftOut, Pseudonymized
from shoal.plan import Plan
from shoal.schema import Missing, Schema
from shoal.tables import Frequencies, Table

__all__ = ["check_key", "check_size", "preparation"]


def check_key(schema: Schema, key: bytes | None) -> None:
    """Refuse pseudonyms without a secret that is long enough."""
    wanted = [attribute.name for attribute in schema if attribute.pseudonym]
    if wanted and key is None:
        raise ParameterError(
            f"column `{wanted[0]}` asks for pseudonyms, which need a secret key",
            hint="give `pseudonym_key` (on the command line: --pseudonym-key FILE)",
        )
    if key is not None and len(key) < 16:
        raise ParameterError("`pseudonym_key` must hold at least 16 bytes.")


def check_size(plan: Plan, frequencies: Frequencies) -> None:
    """Refuse classes that are larger than the table."""
    problems = Problems()
    records = frequencies.records
    if not records:
        raise DataError("the table has no records")
    for model in plan.class_models:
        size = model.capabilities.minimal_class_size
        if size > records:
            problems.add(f"`{model.title}` asks for classes of {size:,} records; the table has {records:,}")
    problems.raise_as(ParameterError)


def preparation(schema: Schema, table: Table) -> list[Event]:
    """Say what happened to columns and records before anything was protected."""
    events: list[Event] = []
    kept = tuple(name for name in schema.identifiers if schema[name].pseudonym)
    dropped = tuple(name for name in schema.identifiers if not schema[name].pseudonym)
    if dropped:
        events.append(Dropped(columns=dropped))
    if kept:
        events.append(Pseudonymized(columns=kept))
    if table.left_out:
        columns = tuple(attribute.name for attribute in schema if attribute.missing is Missing.DROP)
        events.append(LeftOut(records=table.left_out, columns=columns))
    return events
