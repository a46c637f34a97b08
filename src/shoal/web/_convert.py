"""Files of statistics packages and tables of databases become Parquet files, in a process of its own.

Their readers are large libraries in C, and a database is another program: whatever happens to them, the app goes on. An
address with its password goes through a pipe, where no list of processes shows it, and is kept nowhere.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from shoal.errors import DataError, ShoalError

_SECONDS = 900
#: files that only another process may read, by their endings
CONVERTED = (".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt")
DATABASES = (".duckdb", ".ddb", ".db")


def convert(source: Path | str, target: Path, *, table: str | None = None, name: str) -> list[str]:
    """Read a file or a table of a database and write it as Parquet; return the notes on how it was read."""
    asked = {"source": str(source), "target": str(target.absolute()), "table": table}
    return list(_ask(asked, Path(source).name, name)["notes"])


def list_tables(source: Path | str, *, name: str) -> list[str]:
    """Return the tables of a DuckDB file or a PostgreSQL database."""
    return list(_ask({"source": str(source), "target": None, "table": None}, Path(source).name, name)["tables"])


def _ask(asked: dict[str, Any], file: str, name: str) -> dict[str, Any]:
    """Let the other process do it; errors tell the name that the user knows."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "shoal.web._convert"],
            input=json.dumps(asked).encode(),
            capture_output=True,
            timeout=_SECONDS,
            env=environment,
            check=False,
        )
        told = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise DataError(f"{name} took longer than {_SECONDS // 60} minutes to read") from None
    except ValueError:
        raise DataError(f"{name} is damaged, or too large for this machine") from None
    if "problems" in told:
        problems = [
            each.replace(file, name) if "://" not in str(asked["source"]) else each for each in told["problems"]
        ]
        raise DataError(problems, hint=told["hint"])
    return dict(told)


def _main() -> None:
    import shoal
    from shoal import tables

    asked = json.load(sys.stdin)
    source: Any = asked["source"] if "://" in asked["source"] else Path(asked["source"])
    try:
        if asked["target"] is None:
            told: dict[str, Any] = {"tables": tables.tables_of_database(source)}
        else:
            table = shoal.read(source) if asked["table"] is None else shoal.read(source, table=asked["table"])
            tables.write(table, Path(asked["target"]))
            told = {"notes": list(table.notes)}
    except ShoalError as error:
        told = {"problems": list(error.problems), "hint": error.hint}
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    _main()
