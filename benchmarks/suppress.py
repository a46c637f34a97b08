"""How many cells local suppression takes, and how long: ``python benchmarks/suppress.py FILE COLUMN,... [M]``.

Prints, for k = 2, 3 and 5, the cells and the bound by both counts, and the seconds of each search; with M, of every M
columns instead of all. FILE is, for example, sdcMicro's testdata with urbrur,roof,walls,water,electcon,relat,sex.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import shoal
from shoal.schema import Attribute, Role, Schema


def table_of(path: str, names: list[str]) -> shoal.Table:
    """Return the keys of a file, as categories."""
    rows = shoal.read(path).to_arrow().select(names)
    schema = Schema(attributes=tuple(Attribute(name=name, role=Role.QUASI_IDENTIFIER) for name in names))
    return replace(shoal.read(rows), schema=None).with_schema(schema)


def main(path: str, columns: str, m: int | None = None) -> None:
    """Print the table."""
    table = table_of(path, columns.split(","))
    print(f"{'k':>2} {'count':<22} {'cells':>8} {'at least':>9} {'seconds':>8}")
    for k in (2, 3, 5):
        strict = shoal.KAnonymity(k) if m is None else shoal.models.KMAnonymity(k, m)
        for name, promise in (("wildcards", shoal.methods.classes.KWildcards(k, m)), ("a value of its own", strict)):
            started = time.perf_counter()
            found = shoal.anonymize(table, promise, method=shoal.methods.Suppress()).measures
            seconds = time.perf_counter() - started
            cells, least = (found[each] or 0 for each in ("suppressed cells", "suppressed cells at least"))
            print(f"{k:>2} {name:<22} {cells:>8,.0f} {least:>9,.0f} {seconds:>8.2f}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else None)
