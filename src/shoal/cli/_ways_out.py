"""The command line's words about a rehearsal, and the commands that lead on where a release is hollow."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.cli import _output
from shoal.errors import ParameterError, Problems

if TYPE_CHECKING:
    from shoal import Plan, Schema, Table
    from shoal.rehearsal import HollowRelease, Rehearsal


def with_commands(error: HollowRelease, schema: Schema) -> HollowRelease:
    """Return the error with the commands that lead on, ready to be pasted."""
    rehearsal = error.rehearsal
    assert rehearsal is not None  # noqa: S101 - the release was rehearsed
    culprits = rehearsal.culprits
    numbers = [name for name in culprits if schema[name].kind == "numeric"]
    ways = {
        "generalise, too": [f"--role={name}=quasi-identifier" for name in culprits],
        "round": [part for name in numbers for part in ("--round", name)] if len(numbers) == len(culprits) else [],
        "leave out": [f"--role={name}=drop" for name in culprits],
        "release all the same": [part for name in culprits for part in ("--accept", name)],
    }
    command = [part for part in sys.argv[1:] if part != "--json"]
    lines = [f"  {what}: {shlex.join(['shoal', *command, *options])}" for what, options in ways.items() if options]
    error.hint = "\n".join(["choose what to do, and paste it:", *lines])
    error.args = (error._text(),)
    return error


def show_rehearsal(rehearsal: Rehearsal | None, plan: Plan) -> None:
    """Print how often the best intruder is right, and who finds how many."""
    from shoal.rehearsal import ROWS, rehearsal_line, rehearsal_rows

    if rehearsal is None:
        if plan.privacy is None and not any(each.role.may_be_rounded for each in plan.schema):
            _output.text("Rehearsed attack: nothing to attack, only quasi-identifiers are released.")
        return
    _output.table(rehearsal_line(rehearsal), ROWS, rehearsal_rows(rehearsal))


def with_roles(schema: Schema, data: Table, options: Sequence[str]) -> Schema:
    """Return a schema in which columns have the roles of ``--role COLUMN=ROLE``."""
    import shoal
    from shoal.tables import as_quasi_identifier

    problems = Problems()
    for text in options:
        name, equals, word = text.rpartition("=")
        if not equals or name not in schema or word not in {*shoal.Role}:
            problems.add(f"--role takes COLUMN=ROLE with a column of the table and one of {', '.join(shoal.Role)}")
        elif word == shoal.Role.QUASI_IDENTIFIER and schema[name].hierarchy is None:
            schema = as_quasi_identifier(data, schema, name)
        else:
            schema = schema.with_role(name, word)
    problems.raise_as(ParameterError)
    return schema
