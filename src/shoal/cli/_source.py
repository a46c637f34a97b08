"""The options with which several commands read a table and its schema."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import _output

if TYPE_CHECKING:
    from shoal import Schema, Table

__all__ = [
    "Decimal",
    "Delimiter",
    "Encoding",
    "Json",
    "SchemaOption",
    "Source",
    "TableName",
    "default_schema",
    "find_schema",
    "read",
    "with_schema",
]

Source = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="A CSV or Parquet file, a DuckDB file (with --table), or postgresql://... (with --table)."
    ),
]
TableName = Annotated[str | None, typer.Option("--table", help="The table to read from a database.")]
Delimiter = Annotated[str | None, typer.Option(help="The delimiter of a CSV file; detected automatically.")]
Encoding = Annotated[str | None, typer.Option(help="The encoding of a CSV file; detected automatically.")]
Decimal = Annotated[
    str | None, typer.Option(help="The decimal sign of a CSV file, `.` or `,`; detected automatically.")
]
SchemaOption = Annotated[
    Path | None, typer.Option("--schema", help="The schema file; by default FILE with the ending .schema.toml.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def read(
    source: str,
    *,
    table: str | None,
    delimiter: str | None,
    encoding: str | None,
    decimal: str | None,
) -> Table:
    """Read a table as the options say, without a schema."""
    import shoal

    return shoal.read(source, table=table, delimiter=delimiter, encoding=encoding, decimal=decimal)


def with_schema(data: Table, source: str, schema: Path | None) -> Table:
    """Give a table its schema; its records are checked against it."""
    return data.with_schema(find_schema(data, source, schema))


def find_schema(data: Table, source: str, schema: Path | None) -> Schema:
    """Return the schema of a file, or a drafted one with a note that nobody has confirmed it."""
    import dataclasses

    import shoal
    from shoal.schema import load

    path = schema or default_schema(source)
    if schema is not None or path.is_file():
        return load(path)
    _output.warning(
        f"there is no {path.name}, so roles are guessed; run `shoal draft` and review them before publishing anything."
    )
    return dataclasses.replace(shoal.draft(data).schema, guessed=True)


def default_schema(source: str) -> Path:
    """Return where the schema of a source is looked for and drafted to."""
    if "://" in source:
        return Path("table.schema.toml")
    path = Path(source)
    stem = path.name.removesuffix(".gz")
    return path.with_name(f"{Path(stem).stem}.schema.toml")
