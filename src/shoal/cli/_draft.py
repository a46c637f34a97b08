"""``shoal draft``: propose a schema and say why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import _output, _source

__all__ = ["EXAMPLES", "draft"]

EXAMPLES = """\b
Example:
  shoal draft patients.csv        then review patients.schema.toml
"""


def draft(
    source: _source.Source,
    *,
    output: Annotated[Path | None, typer.Option(help="Where to write the schema; next to FILE by default.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing schema file.")] = False,
    table: _source.TableName = None,
    delimiter: _source.Delimiter = None,
    encoding: _source.Encoding = None,
    decimal: _source.Decimal = None,
    json: _source.Json = False,
) -> None:
    """Draft a schema for a table.

    Proposes a role, a kind and a hierarchy for every column, with reasons, and writes them to a schema file.
    """
    _output.json_wanted(wanted=json)
    import shoal

    target = output or _source.default_schema(source)
    drafted = shoal.draft(_source.read(source, table=table, delimiter=delimiter, encoding=encoding, decimal=decimal))
    drafted.save(target, overwrite=overwrite)
    if json:
        columns = [
            {"column": each.name, "role": each.role, "kind": each.kind, "reason": drafted.reasons[each.name]}
            for each in drafted.schema
        ]
        _output.print_json({"schema": target, "columns": columns})
        return
    rows = [[each.name, each.role.value, each.kind.value] for each in drafted.schema]
    width = max(len(row[0]) for row in rows)
    for name, role, kind in rows:
        reason = drafted.reasons[name].removeprefix(f"{role}: ")
        _output.line(f"{name:<{width}}  {role:<17} {kind:<12} {reason}")
    _output.line()
    _output.line(f"Wrote {target}. These are guesses: review and correct them, then run:", style="bold")
    _output.line(f"  shoal anonymize {source} --k 5 --output release")
