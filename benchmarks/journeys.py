"""Bring the tables of a folder through draft, anonymize, write and verify with defaults and a stated purpose.

Run from the project's folder::

    python benchmarks/journeys.py FOLDER [--purposes FILE] [--k 5]

FILE is TOML: `"patients.csv" = ["age", "sex", "outcome"]` names what the release of a table is for; a table without a
line keeps all columns that are recognised. What the program asks is answered as a cautious person would: columns to
decide are dropped, and a possible key of persons is one. Printed are the figures of every table; nothing is kept.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import tomllib
from pathlib import Path

import shoal
from shoal.errors import ShoalError
from shoal.tables import uploadable

HEADS = "table, records x columns, known, secret, removed, left out, asked, loss, mostly `*`, verified, CPU s"


def journey(path: Path, keep: list[str], k: int) -> str:
    """Return a line of figures of one table."""
    start = time.process_time()
    table = shoal.read(path)
    drafted = shoal.draft(table, keep=keep)
    asked = [f"persons: {', '.join(drafted.person.columns)}"] if drafted.person else []
    if drafted.person is not None:
        single = len(drafted.person.columns) == 1
        drafted = drafted.with_persons(drafted.person.columns[0] if single else "records")
    asked += drafted.undecided
    for name in drafted.undecided:
        drafted = drafted.with_role(name, "drop")
    schema = drafted.schema
    release = shoal.anonymize(table.with_schema(schema), k=k)
    with tempfile.TemporaryDirectory() as folder:
        passed = shoal.verify(release.write(Path(folder) / "release")).passed
    erased = [each.split("`")[1] for each in release.attention if "` is `*` in " in each]
    counts = (
        len(schema.quasi_identifiers),
        len(schema.sensitive) + len(schema.insensitive),
        len([name for name in schema.identifiers if not schema[name].role.left_out]),
        len(schema.having(shoal.Role.DROP)),
    )
    return " | ".join(
        [
            f"{table.count():,} x {len(table.columns)}",
            *map(str, counts),
            ", ".join(asked) or "nothing",
            f"{release.measures['loss']:.3f}",
            ", ".join(erased) or "none",
            "yes" if passed else "NO",
            f"{time.process_time() - start:.1f}",
        ]
    )


def main() -> None:
    """Print a table, one row per file."""
    asked = argparse.ArgumentParser(description="Journeys of tables with a stated purpose.")
    asked.add_argument("folder", type=Path)
    asked.add_argument("--purposes", type=Path, help="a TOML file: the columns that each table is for")
    asked.add_argument("--k", type=int, default=5)
    options = asked.parse_args()
    purposes = tomllib.loads(options.purposes.read_text(encoding="utf-8")) if options.purposes else {}
    print("|", HEADS.replace(",", " |"), "|\n|" + "---|" * 11, flush=True)
    for path in sorted(options.folder.rglob("*")):
        if not path.name.endswith(uploadable()) or "hierarchy" in path.name:
            continue
        try:
            told = journey(path, purposes.get(path.name, []), options.k)
        except ShoalError as error:
            told = f"STOPPED: {error}"
        print(f"| {path.relative_to(options.folder)} | {told} |", flush=True)


if __name__ == "__main__":
    main()
