"""Print what it takes to page through a million records before and after, sorted and filtered, in CPU seconds."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import shoal
from shoal.web._linked import LinkedRecords, write_linked

RECORDS = 1_000_000


def main() -> None:
    """Print a line for each step."""
    source = np.random.default_rng(1)
    people = pa.table(
        {
            "age": source.integers(0, 100, RECORDS),
            "region": pa.array([f"r{i:02}" for i in source.integers(0, 50, RECORDS)]),
            "illness": pa.array([f"i{i:02}" for i in source.integers(0, 80, RECORDS)]),
        }
    )
    age = shoal.Attribute(
        name="age",
        role=shoal.Role.QUASI_IDENTIFIER,
        kind=shoal.Kind.NUMERIC,
        hierarchy=shoal.schema.Intervals(widths=(10,)),
    )
    region = shoal.Attribute(name="region", role=shoal.Role.QUASI_IDENTIFIER)
    illness = shoal.Attribute(name="illness", role=shoal.Role.SENSITIVE)
    table = shoal.read(people).with_schema(shoal.Schema(attributes=(age, region, illness)))
    release = shoal.anonymize(table, shoal.KAnonymity(5), method=shoal.Generalize())
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "linked.arrow"
        started = time.process_time()
        write_linked(table, release, path)
        print(f"{'write':24} {time.process_time() - started:6.2f} s")
        started = time.process_time()
        found = LinkedRecords(path)
        print(f"{'open':24} {time.process_time() - started:6.2f} s")
        looks = {
            "sort by a number": lambda: np.argsort(found.cells(0, after=False).ranks(), kind="stable"),
            "find a text": lambda: found.cells(1, after=False).holding("r1"),
            "one group": lambda: np.flatnonzero(found.classes == 7),
        }
        for name, look in looks.items():
            started = time.process_time()
            look()
            print(f"{name:24} {time.process_time() - started:6.2f} s")


if __name__ == "__main__":
    main()
