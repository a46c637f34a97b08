"""An engine on any Ibis backend, to see what that backend lacks: `SHOAL_ENGINE=ibis_engine:datafusion`, or `:sqlite`.

It says what the methods of `shoal.tables._engine.Engine` come down to in plain Ibis. Shoal promises nothing for it.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.tables import ROW, Source, Table
from shoal.tables._duckdb import DuckDBEngine
from shoal.tables._engine import builtin, sorted_by_values

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["IbisEngine", "datafusion", "sqlite"]


class IbisEngine:
    """A connection of Ibis."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    @property
    def name(self) -> str:
        """The name and version of the backend."""
        return f"{self._backend.name} {self._backend.version}"

    def fetch(self, expression: ir.Table) -> pa.Table:
        """Compute an expression."""
        return self._backend.to_pyarrow(expression)

    def batches(self, expression: ir.Table) -> pa.RecordBatchReader:
        """Compute an expression in batches."""
        return self._backend.to_pyarrow_batches(expression)

    def stage(self, rows: pa.Table) -> ir.Table:
        """Store a small table: a backend that makes no tables has its own way in."""
        if self._backend.name == "datafusion":
            name = _fresh()
            self._backend.con.register_record_batches(name, [rows.to_batches()])
            return self._backend.table(name)
        return self._backend.create_table(_fresh(), rows)

    def keep(self, expression: ir.Table) -> ir.Table:
        """Store the records of an expression."""
        return self.stage(self.fetch(expression))

    def forget(self, kept: ir.Table) -> None:
        """Leave it: these tables are small."""

    def numbered(self, expression: ir.Table) -> ir.Table:
        """Store the records with numbers."""
        import ibis

        if ROW in expression.columns:
            return expression
        return self.keep(expression.mutate(**{ROW: ibis.row_number()}))

    def apart(self, expression: ir.Table) -> ir.Table:
        """Return a query of its own."""
        return self._backend.sql(self._backend.compile(expression), schema=expression.schema())

    def sha256(self, hexadecimal: ir.StringValue) -> ir.StringValue:
        """Return the digest, with the functions that DataFusion has."""
        read, write = (
            builtin("decode", ("string", "string"), "binary"),
            builtin("encode", ("binary", "string"), "string"),
        )
        return write(builtin("sha256", ("binary",), "binary")(read(hexadecimal, "hex")), "hex")

    def write_csv(self, expression: ir.Table, path: Path) -> None:
        """Write with DuckDB."""
        self._through("write_csv", expression, path)

    def write_parquet(self, expression: ir.Table, path: Path) -> None:
        """Write with DuckDB."""
        self._through("write_parquet", expression, path)

    def _through(self, write: str, expression: ir.Table, path: Path) -> None:
        engine = DuckDBEngine()
        try:
            records = engine.ingest(self.batches(expression))
            getattr(engine, write)(sorted_by_values(records.drop(ROW)), path)
        finally:
            engine.close()


def datafusion(rows: pa.Table) -> Table:
    """Return records on Apache DataFusion."""
    import ibis

    return _loaded(IbisEngine(ibis.datafusion.connect()), rows)


def sqlite(rows: pa.Table) -> Table:
    """Return records on SQLite, in memory."""
    import ibis

    return _loaded(IbisEngine(ibis.sqlite.connect()), rows)


def _loaded(engine: IbisEngine, rows: pa.Table) -> Table:
    numbers = pa.array(np.arange(len(rows), dtype=np.int64))
    expression = engine.stage(rows.append_column(ROW, numbers))
    return Table(expression=expression, engine=engine, source=Source(kind="ibis", name="records"))


def _fresh() -> str:
    return f"shoal_{uuid.uuid4().hex}"
