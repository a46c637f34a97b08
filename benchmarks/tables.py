"""Print how long tables take to encode, recode and write, and how much memory that needs.

    python benchmarks/tables.py            1.2 million records x 9 columns
    python benchmarks/tables.py --large    100 million records too (needs about 5 GB of disk)

Every figure is measured in a process of its own: wall time, processor time of all threads (which a busy machine changes
little), and the peak of the memory that the process held.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

COLUMNS = ("sex", "age", "race", "marital", "education", "country", "workclass", "occupation", "salary")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--large", action="store_true", help="measure 100 million records too")
    arguments.add_argument("--step", choices=sorted(STEPS), help=argparse.SUPPRESS)
    arguments.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.step:
        STEPS[given.step](given.folder)
        return
    starting()
    for records in (1_200_000, 100_000_000) if given.large else (1_200_000,):
        with tempfile.TemporaryDirectory(prefix="shoal-benchmark-") as folder:
            generate(Path(folder) / "data.parquet", records)
            for step in STEPS:
                if step.startswith("csv") and records > 10_000_000:
                    continue
                report(step, records, Path(folder))


def starting() -> None:
    shoal = Path(sys.executable).with_name("shoal")
    for what, command in (
        ("import shoal", [sys.executable, "-c", "import shoal"]),
        ("shoal --help", [shoal, "--help"]),
    ):
        print(f"{what:<34} {min(timed(command) for _ in range(5)):8.2f} s")


def timed(command: list[str | Path]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def report(step: str, records: int, folder: Path) -> None:
    command = [sys.executable, __file__, "--step", step, "--folder", str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures = json.loads(done.stdout.splitlines()[-1])
    times = f"{figures['seconds']:8.2f} s {figures['processor']:8.2f} s processor"
    print(f"{step:<20} {records:>13,} {times} {figures['gigabytes']:6.2f} GB  {figures['note']}", flush=True)


def generate(path: Path, records: int) -> None:
    """Write records with skewed, correlated columns: a few million distinct tuples in 100 million records."""
    import duckdb

    def skewed(salt: int, size: int, power: float) -> str:
        return f"floor({size} * pow((hash(profile, {salt}) % 1000003) / 1000003.0, {power}))::INTEGER"

    values = {
        "sex": "CASE WHEN hash(i, 1) % 3 = 0 THEN 'Female' ELSE 'Male' END",
        "age": f"17 + {skewed(2, 70, 1.3)} + (hash(i, 2) % 4)::INTEGER",
        "race": f"'race ' || {skewed(3, 5, 3)}",
        "marital": f"'marital ' || {skewed(4, 7, 2)}",
        "education": f"'education ' || {skewed(5, 16, 1.5)}",
        "country": f"'country ' || {skewed(6, 41, 5)}",
        "workclass": f"'workclass ' || {skewed(7, 8, 3)}",
        "occupation": "'occupation ' || (hash(i, 8) % 14)",
        "salary": "CASE WHEN hash(i, 9) % 4 = 0 THEN '>50K' ELSE '<=50K' END",
    }
    chosen = ", ".join(f"{values[name]} AS {name}" for name in COLUMNS)
    profile = "floor(20000 * pow((hash(i, 0) % 1000003) / 1000003.0, 2))::INTEGER"
    people = f"SELECT i, {profile} AS profile FROM range({records}) r(i)"  # noqa: S608
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT {chosen} FROM ({people})) TO '{path}' (FORMAT parquet)")  # noqa: S608


def measured(work: Callable[[], str]) -> None:
    started, processor = time.perf_counter(), time.process_time()
    note = work()
    seconds = time.perf_counter() - started
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
    busy = time.process_time() - processor
    print(json.dumps({"seconds": seconds, "processor": busy, "gigabytes": gigabytes, "note": note}))


def schema() -> object:
    from shoal.schema import Attribute, Intervals, Kind, Role, Schema

    return Schema(
        attributes=tuple(
            Attribute(
                name=name,
                role=Role.SENSITIVE if name == "salary" else Role.QUASI_IDENTIFIER,
                kind=Kind.NUMERIC if name == "age" else Kind.CATEGORICAL,
                hierarchy=Intervals(widths=(5, 10, 20)) if name == "age" else None,
            )
            for name in COLUMNS
        )
    )


def read(folder: Path) -> None:
    from shoal.tables import read

    measured(lambda: f"{read(folder / 'data.parquet', schema=schema()).count():,} records")


def encode(folder: Path) -> None:
    from shoal.tables import encode, read

    def work() -> str:
        encoded = encode(read(folder / "data.parquet", schema=schema()))
        return f"{len(encoded.frequencies.counts):,} tuples"

    measured(work)


def recode(folder: Path) -> None:
    """Apply and write: ages in fives, two columns suppressed, small classes dropped, the rest sorted."""
    from shoal.tables import apply, encode, read, write

    table = read(folder / "data.parquet", schema=schema())
    encoded = encode(table)
    recoding = full_domain(encoded.frequencies, {"age": 1, "country": 1, "occupation": 1}, k=100)
    kept = encoded.frequencies.counts[recoding.classes >= 0].sum()

    def work() -> str:
        write(apply(table, encoded, recoding), folder / "release.parquet", overwrite=True)
        return f"{int(kept):,} records kept"

    measured(work)


def csv_out(folder: Path) -> None:
    from shoal.tables import read, write

    table = read(folder / "data.parquet")
    measured(lambda: write(table, folder / "data.csv", overwrite=True) or "")


def csv_in(folder: Path) -> None:
    from shoal.tables import read

    measured(lambda: f"{read(folder / 'data.csv', schema=schema()).count():,} records")


def full_domain(frequencies: object, levels: dict[str, int], k: int) -> object:
    import numpy as np

    from shoal.tables import Recoding

    chosen = [levels.get(hierarchy.attribute, 0) for hierarchy in frequencies.hierarchies]
    pairs = list(zip(frequencies.hierarchies, chosen, strict=True))
    codes = np.stack([h.codes[level][frequencies.codes[:, j]] for j, (h, level) in enumerate(pairs)], axis=1)
    sizes = [len(h.labels[level]) for h, level in pairs]
    keys = np.zeros(len(codes), dtype=np.int64)
    for j, size in enumerate(sizes):
        keys = keys * size + codes[:, j]
    _, first, owner = np.unique(keys, return_index=True, return_inverse=True)
    kept = np.bincount(owner, weights=frequencies.counts) >= k
    number = np.where(kept, np.cumsum(kept) - 1, -1)
    return Recoding(
        attributes=frequencies.attributes,
        classes=number[owner].astype(np.int32),
        codes=codes[first[kept]].astype(np.int32),
        labels=tuple(h.labels[level] for h, level in pairs),
        shares=tuple(h.shares[level] for h, level in pairs),
        depths=tuple(np.full(len(h.labels[level]), level / h.height) for h, level in pairs),
        unchanged=tuple(level == 0 for level in chosen),
        levels=tuple(chosen),
    )


STEPS: dict[str, Callable[[Path], None]] = {
    "read and check": read,
    "read and encode": encode,
    "apply and write": recode,
    "csv: write": csv_out,
    "csv: read and check": csv_in,
}

if __name__ == "__main__":
    main()
