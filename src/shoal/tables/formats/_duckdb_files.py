"""Tables of DuckDB files."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from shoal.errors import DataError, ParameterError
from shoal.tables._duckdb import DuckDBEngine, without_collations
from shoal.tables._engine import check_names, name_values, quiet
from shoal.tables._expressions import quote_identifier
from shoal.tables._expressions import text_literal as literal
from shoal.tables._relations import TableQuery
from shoal.tables._table import Source, Table
from shoal.tables.formats._format import FileFormat, Options


class DuckDBFile(FileFormat):
    """A table of a DuckDB file, read where it is."""

    name: ClassVar[str] = "duckdb"
    title: ClassVar[str] = "DuckDB files"
    options: ClassVar[tuple[str, ...]] = ("table",)
    endings: ClassVar[tuple[str, ...]] = (".duckdb", ".ddb", ".db")
    uploaded: ClassVar[bool] = False
    writable: ClassVar[bool] = False

    def list_tables(self, path: Path) -> list[str]:
        """Return the stored tables of a file: views may read what lies elsewhere."""
        import duckdb

        engine = DuckDBEngine()  # its connection lives as long as it does
        connection = engine.connection
        try:
            connection.execute(f"ATTACH {literal(str(path))} AS source (READ_ONLY)")
        except duckdb.Error:
            raise DataError(f"{path.name} cannot be opened as a DuckDB file.") from None
        with quiet(path.name):
            found = connection.execute(
                "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'source' ORDER BY ALL"
            ).fetchall()
        return [name if schema == "main" else f"{schema}.{name}" for schema, name in found]

    def open(self, path: Path, options: Options) -> Table:
        import duckdb

        engine = DuckDBEngine()
        connection = engine.connection
        try:
            connection.execute(f"ATTACH {literal(str(path))} AS source (READ_ONLY)")
        except duckdb.Error:
            raise DataError(
                f"{path.name} cannot be opened as a DuckDB file.",
                hint="check that it is one, that you may read it, and that no other program has it open for writing",
            ) from None
        with quiet(path.name):
            known = connection.execute(
                "SELECT schema_name, table_name, true FROM duckdb_tables() WHERE database_name = 'source' UNION ALL "
                "SELECT schema_name, view_name, false FROM duckdb_views() WHERE database_name = 'source' "
                "AND NOT internal"
            ).fetchall()
        schema, name, stored = _choose_table(known, options.table, path.name)
        with quiet(name):
            expression: TableQuery = engine.table(name, database=("source", schema))
            check_names(expression.columns, name)
            if stored:
                relation = ".".join(map(quote_identifier, ("source", schema, name)))
                expression = engine.read_stored(relation, expression.columns)
            expression = expression.mutate(*name_values(without_collations(expression)))
        source = Source(kind=self.name, name=name, path=path, first_row=1 if stored else None)
        return Table(expression=expression, engine=engine, source=source)


def _choose_table(known: list[tuple[str, str, bool]], asked: str | None, source: str) -> tuple[str, str, bool]:
    """Return the schema, name and kind of the table that was asked for, or of the only one there is."""
    if asked is None:
        if len(known) == 1:
            return known[0]
        raise ParameterError(
            f"{source} holds {len(known)} tables; specify `table`.",
            hint=("one of " + ", ".join(sorted(name for _, name, _ in known)[:10])) if known else None,
        )
    for schema, name, stored in sorted(known, key=lambda entry: entry[0] not in ("main", "public")):
        if asked in (name, f"{schema}.{name}"):
            return schema, name, stored
    raise DataError(f"{source} has no table `{asked}`.")
