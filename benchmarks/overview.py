"""The main jobs in one table: processor seconds, memory, how both grow, and ratios to another version or to peers.

    python benchmarks/overview.py                       this version; two minutes on a quiet machine
    python benchmarks/overview.py --against OTHER/src   also another version, whose kernels are built; ratios
    python benchmarks/overview.py --only jobs           leave out growth and peers

The table is Adult with nine quasi-identifiers where SHOAL_DATA names a folder with adult/, else the bundled hospital
table. Every figure is the least of several runs, each in a process of its own, versions in turns: a busy machine makes
single runs slower, and ratios of least values less so. Imports are not counted. Peers: see benchmarks/peers.py.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ADULT = Path(os.environ.get("SHOAL_DATA", Path(__file__).parents[2] / "shared" / "data")) / "adult"
HOSPITAL = Path(__file__).parents[1] / "examples" / "hospital"
SECTIONS = ("jobs", "growth", "peers")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--against", type=Path, help="the src folder of another version")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--only", choices=SECTIONS)
    arguments.add_argument("--job", nargs=2, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.job and given.job[0] == "prepare":
        return prepare(Path(given.job[1]))
    if given.job:
        return work(given.job[0], Path(given.job[1]))
    with tempfile.TemporaryDirectory(prefix="shoal-overview-") as name:
        folder = Path(name)
        # in a process of its own: those that this one starts would begin with the peak of its memory
        subprocess.run([sys.executable, __file__, "--job", "prepare", str(folder)], check=True)
        slower = jobs(folder, given.rounds, given.against) if given.only in (None, "jobs") else []
        if given.only in (None, "growth"):
            growth(folder, given.rounds)
    if given.only in (None, "peers"):
        import peers

        print("\nOther packages, Adult, 5-anonymity")
        peers.main()
    if slower:
        sys.exit(f"more than 20 % slower than the other version: {'; '.join(slower)}")
    return None


def jobs(folder: Path, rounds: int, against: Path | None) -> list[str]:
    """Print the figures of every job; return the jobs that take 20 % longer than with the other version."""
    slower = []
    ours = str(Path(__file__).parents[1] / "src")
    versions = [ours] if against is None else [ours, str(against)]
    print(f"{'':<34}{'CPU s':>8}{'GB':>7}" + (f"{'other':>9}{'GB':>7}{'ratio':>8}" if against else ""))
    for job in JOBS:
        runs = [[measured(job, folder, version) for version in versions] for _ in range(rounds)]
        least = [tuple(min(run[v][i] for run in runs) for i in range(2)) for v in range(len(versions))]
        line = f"{job:<34}{least[0][0]:>8.2f}{least[0][1]:>7.2f}"
        if against:
            line += f"{least[1][0]:>9.2f}{least[1][1]:>7.2f}{least[1][0] / least[0][0]:>8.2f}"
            slower += [job] if least[0][0] - 0.02 > 1.2 * least[1][0] else []
        print(line, flush=True)
    return slower


def growth(folder: Path, rounds: int) -> None:
    print("\nHow cost grows: the best node for k = 5 of invented records, CPU s and GB")
    for title, cases in GROWTH.items():
        print(title)
        for rows, columns, values, k in cases:
            write_invented(folder / "grown.parquet", rows, columns, values)
            (folder / "grown.json").write_text(json.dumps({"k": k}))
            figures = [measured("grown", folder) for _ in range(rounds)]
            seconds, gigabytes = (min(run[i] for run in figures) for i in range(2))
            nodes, tuples = figures[0][2].split()
            print(
                f"  {rows:>9,} rows {columns:>3} columns k {k:>4} {int(tuples):>9,} tuples {int(nodes):>8,} nodes"
                f"{seconds:>9.2f}{gigabytes:>7.2f}",
                flush=True,
            )


def measured(job: str, folder: Path, version: str | None = None) -> tuple[float, float, str]:
    path = os.environ.get("PYTHONPATH") if version is None else version
    done = subprocess.run(
        [sys.executable, __file__, "--job", job, str(folder)],
        env=os.environ | ({} if path is None else {"PYTHONPATH": path}),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        return float("nan"), float("nan"), "0 0"
    figures = json.loads(done.stdout.splitlines()[-1])
    return figures["seconds"], figures["gigabytes"], figures["note"]


# -- what a process of its own does -----------------------------------------------------------------------------------


def work(job: str, folder: Path) -> None:
    """Do a job twice, the first time for its imports."""
    run = {**JOBS, "grown": grown}[job]
    seconds, note = 0.0, ""
    for _ in range(2):
        started = time.process_time()
        note = run(folder) or ""
        seconds = time.process_time() - started
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
    print(json.dumps({"seconds": seconds, "gigabytes": gigabytes, "note": note}))


def people(folder: Path) -> Any:
    import shoal

    return shoal.read(folder / "people.csv", schema=folder / "people.schema.toml")


def draft(folder: Path) -> None:
    import shoal

    shoal.draft(shoal.read(folder / "people.csv"))


def anonymized(method: str, *, closeness: bool = False, **options: Any) -> Callable[[Path], None]:
    def run(folder: Path) -> None:
        import shoal

        sensitive = (folder / "sensitive").read_text()
        promises = [shoal.KAnonymity(5), *([shoal.TCloseness(sensitive, 0.4)] if closeness else [])]
        shoal.anonymize(people(folder), *promises, method=getattr(shoal.methods, method)(**options))

    return run


def mdav(folder: Path) -> None:
    import shoal
    from shoal.schema import Attribute, Kind, Role, Schema

    columns = tuple(Attribute(name=f"x{i}", kind=Kind.NUMERIC, role=Role.QUASI_IDENTIFIER) for i in range(4))
    points = shoal.read(folder / "points.parquet", schema=Schema(attributes=columns))
    shoal.anonymize(points, shoal.KAnonymity(10), method=shoal.methods.Mdav())


def truthful(folder: Path) -> None:
    import shoal

    shoal.anonymize(people(folder), shoal.DifferentialPrivacy(epsilon=1, delta="1e-6"))


def verified(folder: Path) -> None:
    import shoal

    release = folder / f"release-{os.getpid()}"
    if not release.exists():
        shoal.anonymize(people(folder), shoal.KAnonymity(5), method=shoal.methods.Mondrian()).write(release)
    if not shoal.verify(release).passed:
        raise SystemExit(1)


def wide_draft(folder: Path) -> None:
    import shoal

    shoal.draft(shoal.read(folder / "wide.csv"))


def wide_release(folder: Path) -> None:
    import shoal
    from shoal.schema import Attribute, Role, Schema
    from shoal.tables import write

    names = [f"c{i}" for i in range(190)]
    schema = Schema(attributes=tuple(Attribute(name=name, role=Role.QUASI_IDENTIFIER) for name in names))
    table = shoal.read(folder / "wide.csv").select(*names).with_schema(schema)
    method = shoal.Generalize(suppression_limit=1, time_limit=1)
    write(shoal.anonymize(table, shoal.KAnonymity(5), method=method).table, folder / "wide.parquet", overwrite=True)


def vault_counts(folder: Path) -> None:
    """Ask for 200 counts, each with another filter, of records that stay on the engine."""
    import shoal
    from shoal.queries import Session
    from shoal.schema import Attribute, Domain, Kind, Schema

    age = Attribute(name="age", kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=100))
    sex = Attribute(name="sex", domain=Domain(values=("F", "M")))
    people = shoal.read(folder / "vault.parquet", schema=Schema(attributes=(age, sex)))
    session = Session(people, 10**6, in_memory=False)
    for number in range(200):
        session.count(f'age >= {number % 100} and sex = "{"FM"[number % 2]}"', epsilon="0.0001")


def long_ledger(folder: Path) -> None:
    """Open a ledger of 100,000 spendings and read its last page; the first time it is made and added up."""
    from contextlib import closing

    from shoal.queries import Ledger, Loss
    from shoal.queries._accounts import spend_entry
    from shoal.schema.conditions import EVERYBODY

    path = folder / f"long-{os.getpid()}.ledger"
    if not path.exists():
        with closing(Ledger.create(path, budget=Loss.of(10**6))) as ledger:
            ledger.set_budget("a", Loss.of(10**6))
            with ledger._lock, ledger._writing() as append:
                for _ in range(100_000):
                    append(spend_entry("a", Loss.of("0.0001"), EVERYBODY, "count"))
            ledger._anchor.sync()
        Ledger.open(path).close()
    with closing(Ledger.open(path)) as ledger:
        ledger.entries(last=100)


def grown(folder: Path) -> str:
    import pyarrow.parquet as pq

    import shoal
    from shoal.schema import Attribute, Role, Schema
    from shoal.tables import encode

    path = folder / "grown.parquet"
    columns = tuple(Attribute(name=name, role=Role.QUASI_IDENTIFIER) for name in pq.read_schema(path).names)
    table = shoal.read(path, schema=Schema(attributes=columns))
    k = json.loads((folder / "grown.json").read_text())["k"]
    shoal.anonymize(table, shoal.KAnonymity(k), method=shoal.Generalize(suppression_limit=1, time_limit=60))
    return f"{2 ** len(columns)} {len(encode(table).frequencies.counts)}"


JOBS: dict[str, Callable[[Path], str | None]] = {
    "draft a schema": draft,
    "anonymize k=5, best node": anonymized("Generalize", suppression_limit=1),
    "anonymize k=5, t=0.4, best node": anonymized("Generalize", closeness=True, suppression_limit=1),
    "anonymize k=5, specialize": anonymized("Specialize"),
    "anonymize k=5, Mondrian": anonymized("Mondrian"),
    "microaggregate k=10, 5,000 x 4": mdav,
    "truthful, epsilon 1": truthful,
    "verify (the first time: and write)": verified,
    "draft 1,000 columns x 10,000": wide_draft,
    "recode and write 190 columns": wide_release,
    "vault: 200 counts of 1,000,000": vault_counts,
    "vault: open 100,000 entries": long_ledger,
}
# rows, columns, values of a column, k
GROWTH: dict[str, list[tuple[int, int, int, int]]] = {
    "rows": [(10_000, 8, 4, 5), (100_000, 8, 4, 5), (1_000_000, 8, 4, 5)],
    "columns, and with them nodes": [(30_000, 4, 4, 5), (30_000, 8, 4, 5), (30_000, 12, 4, 5), (30_000, 16, 4, 5)],
    "distinct tuples": [(300_000, 8, 2, 5), (300_000, 8, 4, 5), (300_000, 8, 12, 5)],
    "k": [(300_000, 8, 4, 2), (300_000, 8, 4, 50), (300_000, 8, 4, 1000)],
}


# -- tables -----------------------------------------------------------------------------------------------------------


def prepare(folder: Path) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    from shoal.schema import Attribute, FromFile, Role, Schema, dumps

    numbers = np.random.default_rng(1)
    pq.write_table(pa.table({f"x{i}": numbers.gamma(2, 10, 5_000) for i in range(4)}), folder / "points.parquet")
    texts = np.array([f"value {i}" for i in range(12)])
    wide = {f"c{i}": texts[numbers.integers(0, 2 + i % 11, 10_000)] for i in range(1000)}
    pyarrow.csv.write_csv(pa.table(wide), folder / "wide.csv")
    vault = {"age": numbers.integers(0, 100, 1_000_000), "sex": np.array(["F", "M"])[numbers.integers(0, 2, 1_000_000)]}
    pq.write_table(pa.table(vault), folder / "vault.parquet")
    if not ADULT.is_dir():
        shutil.copytree(HOSPITAL, folder, dirs_exist_ok=True)
        for ending in (".csv", ".schema.toml"):
            (folder / f"discharges{ending}").rename(folder / f"people{ending}")
        (folder / "sensitive").write_text("diagnosis")
        return
    table = pyarrow.csv.read_csv(ADULT / "adult.csv", parse_options=pyarrow.csv.ParseOptions(delimiter=";"))
    pyarrow.csv.write_csv(table, folder / "people.csv")
    for path in ADULT.glob("adult_hierarchy_*.csv"):
        (folder / path.name).write_bytes(path.read_bytes())
    columns = tuple(
        Attribute(
            name=name,
            role=Role.SENSITIVE if name == "occupation" else Role.QUASI_IDENTIFIER,
            hierarchy=FromFile(path=f"adult_hierarchy_{name}.csv"),
        )
        for name in table.column_names
    )
    (folder / "people.schema.toml").write_text(dumps(Schema(attributes=columns)))
    (folder / "sensitive").write_text("occupation")


def write_invented(path: Path, rows: int, columns: int, values: int) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    numbers = np.random.default_rng(rows + columns)
    names = np.array([f"value {i}" for i in range(values)])
    drawn = {f"c{i}": names[(values * numbers.random(rows) ** (1 + i % 3)).astype(int)] for i in range(columns)}
    pq.write_table(pa.table(drawn), path)


if __name__ == "__main__":
    main()
