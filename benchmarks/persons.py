"""What it costs to count persons instead of records: optimal 5-anonymity on visits with the columns of Adult.

Records are drawn from the Adult data set, adult/ in the folder that SHOAL_DATA names. A person has five records on
average: most quasi-identifiers stay the same, the age moves on. CPU seconds and peak memory of a process of its own,
reading a Parquet file included. Pass numbers of records; 1,000,000 and 10,000,000 without any.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq

import shoal
from shoal.schema import Attribute, FromFile, Intervals, Kind, Role, Schema

DATA = Path(os.environ.get("SHOAL_DATA", Path(__file__).parents[2] / "shared" / "data")) / "adult"
COLUMNS = ("sex", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class")
VISITS = 5


def main() -> None:
    if "--child" in sys.argv:
        return child(Path(sys.argv[-2]), sys.argv[-1] == "persons")
    sizes = [int(size.replace(",", "")) for size in sys.argv[1:]] or [1_000_000, 10_000_000]
    print(f"{'records':>12}{'counted':>10}{'CPU s':>9}{'wall s':>9}{'GB':>7}  result")
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "visits.parquet"
            pq.write_table(visits(size), path)
            for unit in ("records", "persons"):
                run = subprocess.run(
                    [sys.executable, __file__, "--child", str(path), unit], capture_output=True, text=True, check=True
                )
                print(f"{size:>12,}{unit:>10}{run.stdout.rstrip()}", flush=True)
    return None


def child(path: Path, persons: bool) -> None:
    started = time.monotonic()
    table = shoal.read(path, schema=schema(persons))
    release = shoal.anonymize(table, shoal.KAnonymity(5), method=shoal.Generalize(suppression_limit=0.05))
    used = resource.getrusage(resource.RUSAGE_SELF)
    found = release.search
    print(
        f"{used.ru_utime + used.ru_stime:>9.1f}{time.monotonic() - started:>9.1f}{used.ru_maxrss / 2**20:>7.2f}  "
        f"loss {found.value:.4f}, optimal {found.optimal}, {found.checked} nodes checked, {found.suppressed:,} lost"
    )


def visits(size: int) -> pa.Table:
    """Draw persons, and for each about five records: the same person, a few years apart."""
    generator = np.random.default_rng(1)
    adult = csv.read_csv(DATA / "adult.csv", parse_options=csv.ParseOptions(delimiter=";"))
    number = size // VISITS
    who = generator.integers(0, number, size)
    people = generator.integers(0, adult.num_rows, number)
    drawn = adult.take(pa.array(people[who]))
    age = np.clip(pc.cast(drawn["age"], pa.int64()).to_numpy() + generator.integers(0, VISITS, size), 17, 90)
    columns = {name: drawn[name] for name in COLUMNS}
    return pa.table({"person": who, "age": age, **columns})


def schema(persons: bool) -> Schema:
    described = [Attribute(name="person", role=Role.PERSON if persons else Role.IDENTIFIER)]
    described.append(
        Attribute(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC, hierarchy=Intervals(widths=(5, 10, 20)))
    )
    for name in COLUMNS:
        rule = FromFile(path=str(DATA / f"adult_hierarchy_{name}.csv"), delimiter=";")
        described.append(Attribute(name=name, role=Role.QUASI_IDENTIFIER, hierarchy=rule))
    return Schema(attributes=tuple(described))


if __name__ == "__main__":
    main()
