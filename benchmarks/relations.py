"""CPU seconds of the search for relations, on tables with planted ones: ``python benchmarks/relations.py``."""

from __future__ import annotations

import argparse
import time

import numpy as np
import pyarrow as pa

from shoal.relations import find_relations


def invent(records: int, columns: int) -> pa.Table:
    """Return a table with relations of every kind, filled up with independent columns, a third of them mostly zero."""
    draws = np.random.default_rng(1)
    weight = np.round(draws.normal(75, 15, records).clip(35, 160), 1)
    height = np.round(draws.normal(170, 10, records).clip(140, 205))
    first, second, third = (draws.integers(0, size, records) for size in (50_000, 9_000, 500))
    admitted = np.datetime64("2020-01-01") + draws.integers(0, 900, records).astype("timedelta64[D]")
    stay, city = draws.integers(1, 40, records), draws.integers(0, 3_000, records)
    data: dict[str, object] = {
        "id": np.arange(records),
        "weight": weight,
        "height": height,
        "bmi": np.round(weight / (height / 100) ** 2, 1),
        "first": first,
        "second": second,
        "third": third,
        "difference": first - second,
        "product": first * third,
        "sum": np.round((first + second + third) / 10) * 10,
        "admitted": admitted,
        "discharged": admitted + stay.astype("timedelta64[D]"),
        "stay": stay,
        "city": pa.DictionaryArray.from_arrays(city.astype(np.int32), [f"city {n}" for n in range(3_000)]).cast(
            "string"
        ),
        "county": city // 40,
    }
    for number in range(columns - len(data)):
        kind = number % 3
        values = draws.integers(0, (9, 100_000, 60)[kind], records)
        data[f"column {number}"] = np.where(draws.random(records) < 0.98, 0, values) if kind == 2 else values
    return pa.table(data)


def main() -> None:
    """Print the relations and the CPU seconds."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--records", type=int, default=1_000_000)
    arguments.add_argument("--columns", type=int, default=60)
    chosen = arguments.parse_args()
    table = invent(chosen.records, chosen.columns)
    start = time.process_time()
    relations = find_relations(table)
    for relation in relations:
        print(relation)
    print(f"{chosen.records:,} records x {chosen.columns} columns: {time.process_time() - start:.1f} CPU s")


if __name__ == "__main__":
    main()
