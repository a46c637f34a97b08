"""The table of goals in one run: whole commands, searches, vaults and ten million records, beside another version.

    python benchmarks/goals.py                              this version
    python benchmarks/goals.py --against OTHER/src          also another version, whose kernels are built; ratios
    python benchmarks/goals.py --only start wide            some sections: start, wide, closeness, recoding, sets,
                                                            vault, means, large
    python benchmarks/goals.py --rows 1000000               the large table has so many records (default 10,000,000)

Seconds are those of all processors, user and system, of the process and its children. Every job runs in a process of
its own, versions in turns; commands count whole, with their imports. Searches are counted from encoded tables to the
result, and the least of several runs is shown. What a search found is printed beside it, so that a faster search that
finds less is seen. With another version, jobs that take 20 % longer than there are named at the end, and the exit code
is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OURS = Path(__file__).parents[1] / "src"
#: How much longer a job may take than in the other version before it is named.
SLOWER = 1.2
#: Differences that are too small to say anything, in seconds.
LEAST = 0.02
TINY = (
    "name,age,sex,diagnosis\nAda,34,F,flu\nBen,36,M,flu\nCai,31,M,asthma\nDee,52,F,flu\nEva,55,F,asthma\nFay,58,F,flu\n"
)
COMMAND = """
import json, os, resource, runpy, sys
def leave(code):
    raise SystemExit(code)
os._exit, code = leave, 0
sys.argv[0] = "shoal"
try:
    runpy.run_module("shoal", run_name="__main__", alter_sys=True)
except SystemExit as end:
    code = end.code or 0
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
seconds = sum(each.ru_utime + each.ru_stime for each in used)
figures = {"seconds": seconds, "megabytes": used[0].ru_maxrss >> 10, "note": f"{len(sys.modules)} modules"}
print("\\n" + json.dumps(figures), file=sys.stderr)
sys.exit(code)
"""


@dataclass(frozen=True)
class Figures:
    """What a job took, and what came of it."""

    seconds: float
    megabytes: float
    note: str


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--against", type=Path, help="the src folder of another version")
    arguments.add_argument("--only", nargs="+", choices=[*SECTIONS], default=[*SECTIONS])
    arguments.add_argument("--rows", type=int, default=10_000_000, help="records of the large table")
    arguments.add_argument("--rounds", type=int, default=3, help="runs of each job, the large ones apart")
    arguments.add_argument("--job", nargs=2, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.job:
        return work(given.job[0], Path(given.job[1]))
    versions = {"this": OURS} | ({"other": given.against.resolve()} if given.against else {})
    slower: list[str] = []
    print(f"{'CPU s':<50}{'this':>9}{'MB':>7}" + (f"{'other':>9}{'MB':>7}{'ratio':>7}" if given.against else ""))
    with tempfile.TemporaryDirectory(prefix="shoal-goals-") as folder:
        for section in given.only:
            print(section)
            # the first round of a command compiles its modules
            rounds = 1 if section in ("large", "wide") else max(given.rounds, 2 if section == "start" else 1)
            for name, run in SECTIONS[section](Path(folder), given.rows):
                figures = least(run, versions, rounds)
                show(name, figures)
                if "other" in figures and figures["this"].seconds - LEAST > SLOWER * figures["other"].seconds:
                    slower.append(name)
    if slower:
        print(f"more than {SLOWER - 1:.0%} slower than the other version: " + "; ".join(slower))
    return 1 if slower else 0


#: Runs a job with the sources in a folder, under the name of a version.
Run = Callable[[str, Path], Figures | None]
Jobs = Iterator[tuple[str, Run]]


def least(run: Run, versions: dict[str, Path], rounds: int) -> dict[str, Figures]:
    """Return the cheapest run of each version, versions in turns."""
    best: dict[str, Figures] = {}
    for _ in range(rounds):
        for version, source in versions.items():
            figures = run(version, source)
            if figures and (version not in best or figures.seconds < best[version].seconds):
                best[version] = figures
    return best


def show(name: str, figures: dict[str, Figures]) -> None:
    line = f"  {name:<48}"
    for version in figures.values():
        line += f"{version.seconds:>9.3f}{version.megabytes:>7.0f}"
    if len(figures) == 2:
        line += f"{figures['other'].seconds / figures['this'].seconds:>7.2f}"
    notes = list(dict.fromkeys(each.note for each in figures.values() if each.note))
    print(line + "".join(f"   {note}" for note in notes), flush=True)


def started(arguments: list[str], source: Path, folder: Path) -> Figures | None:
    """Run Python with the sources of a version and return the figures on the last line of its errors."""
    environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{Path(__file__).parent}"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment.setdefault("PYTHONPYCACHEPREFIX", str(folder / "compiled"))
    ran = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if ran.returncode:
        print(f"    failed: {' '.join(arguments[2:])[:80]}: {ran.stderr.strip()[-300:]}", flush=True)
        return None
    return Figures(**json.loads(ran.stderr.strip().splitlines()[-1]))


def command(*words: str) -> Run:
    """Return a run of the program; OUT in its words is a folder of the version's own."""

    def run(version: str, source: Path) -> Figures | None:
        folder = Path(os.environ["SHOAL_GOALS"])
        outs = [folder / f"{word}-{version}" for word in words if word.startswith("OUT")]
        if words[0] in ("anonymize", "draft"):
            for out in outs:
                shutil.rmtree(out, ignore_errors=True)
                out.unlink(missing_ok=True)
        named = [f"{word}-{version}" if word.startswith("OUT") else word for word in words]
        return started(["-c", COMMAND, *named], source, folder)

    return run


def job(name: str) -> Run:
    """Return a run of a job of `JOBS`."""

    def run(version: str, source: Path) -> Figures | None:
        folder = Path(os.environ["SHOAL_GOALS"])
        return started([__file__, "--job", name, str(folder)], source, folder)

    return run


def work(name: str, folder: Path) -> int:
    """Do a job: its preparation is not counted, and the least of several runs is."""
    import resource

    prepared, often = JOBS[name](folder)
    best, note = float("inf"), ""
    for _ in range(often):
        begin = time.process_time()
        note = prepared()
        best = min(best, time.process_time() - begin)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print("\n" + json.dumps({"seconds": best, "megabytes": peak, "note": note}), file=sys.stderr)
    return 0


# -- sections ---------------------------------------------------------------------------------------------------------


def start(folder: Path, _rows: int) -> Jobs:
    os.environ["SHOAL_GOALS"] = str(folder)
    (folder / "tiny.csv").write_text(TINY)
    yield "tiny, imports of numpy, duckdb and pyarrow", job("imports")
    yield "tiny, anonymize", command("anonymize", "tiny.csv", "--k", "2", "--output", "OUT-tiny")
    yield "tiny, verify", command("verify", "OUT-tiny")


def wide(folder: Path, _rows: int) -> Jobs:
    import startup

    os.environ["SHOAL_GOALS"] = str(folder)
    for columns in (250, 1000):
        name = f"wide{columns}"
        startup.write_wide(folder / f"{name}.csv", 10_000, columns)
        title = f"{columns:,} columns x 10,000"
        yield f"{title}, draft", command("draft", f"{name}.csv", "--output", f"OUT-{name}.toml")
        yield f"{title}, assess", command("assess", f"{name}.csv", "--schema", f"{name}.toml")
        anonymize = ("anonymize", f"{name}.csv", "--schema", f"{name}.toml", "--k", "5", "--output", f"OUT-{name}")
        yield f"{title}, anonymize", command(*anonymize)
        yield f"{title}, verify", command("verify", f"OUT-{name}")


def closeness(folder: Path, _rows: int) -> Jobs:
    os.environ["SHOAL_GOALS"] = str(folder)
    for name in JOBS:
        if name.startswith(("Adult, t", "KDD", "FARS", "Adult, l", "Adult, entropy")):
            yield name, job(name)


def recoding(folder: Path, _rows: int) -> Jobs:
    os.environ["SHOAL_GOALS"] = str(folder)
    for name in JOBS:
        if name.startswith("specialize"):
            yield name, job(name)


def sets(folder: Path, _rows: int) -> Jobs:
    os.environ["SHOAL_GOALS"] = str(folder)
    write_people(folder, 100_000)
    yield "truthful-tables, 100,000 x 9", truthful_tables("people100000")


def vault(folder: Path, _rows: int) -> Jobs:
    os.environ["SHOAL_GOALS"] = str(folder)
    yield "vault, 100 counts of 10^6 records on DuckDB", job("vault counts")
    yield "vault, 100 counts by an unbounded number", job("vault unbounded")
    yield "vault, 100 means", job("vault means")


def means(folder: Path, _rows: int) -> Jobs:
    os.environ["SHOAL_GOALS"] = str(folder)
    yield "mdav, 10^6 x 9, k = 10", job("mdav")


def large(folder: Path, rows: int) -> Jobs:
    os.environ["SHOAL_GOALS"] = str(folder)
    write_people(folder, rows)
    name = f"people{rows}"
    table = (f"{name}.parquet", "--schema", f"{name}.toml")
    yield "DuckDB reads and groups", job(f"group {rows}")
    yield "DuckDB reads, groups, sorts and writes", job(f"write {rows}")
    yield "draft", command("draft", f"{name}.parquet", "--output", "OUT-draft.toml")
    yield "assess", command("assess", *table)
    for method in ("generalize", "specialize"):
        yield method, command("anonymize", *table, "--k", "5", "--method", method, "--output", f"OUT-{method}")
    yield "verify", command("verify", "OUT-specialize")
    yield "truthful", command("anonymize", *table, "--epsilon", "1", "--delta", "1e-8", "--output", "OUT-truthful")
    yield "truthful-tables", truthful_tables(name)


def truthful_tables(name: str) -> Run:
    words = ("--epsilon", "1", "--delta", "1e-8", "--method", "truthful-tables", "--output", "OUT-sets")
    return command("anonymize", f"{name}.parquet", "--schema", f"{name}.toml", *words)


SECTIONS: dict[str, Callable[[Path, int], Jobs]] = {
    "start": start,
    "wide": wide,
    "closeness": closeness,
    "recoding": recoding,
    "sets": sets,
    "vault": vault,
    "means": means,
    "large": large,
}


# -- jobs -------------------------------------------------------------------------------------------------------------

#: Prepares a job in a folder; returns it, with how often it runs.
Prepare = Callable[[Path], tuple[Callable[[], str], int]]


def imports(_folder: Path) -> tuple[Callable[[], str], int]:
    def run() -> str:
        import duckdb  # noqa: F401
        import numpy  # noqa: F401
        import pyarrow  # noqa: F401

        return ""

    return run, 1


def searched(table: Callable[[], Any], models: Callable[[], list[Any]], limit: float, often: int = 3) -> Prepare:
    """Prepare a search for the best node."""

    def prepare(_folder: Path) -> tuple[Callable[[], str], int]:
        from shoal.methods.recode import Generalize

        frequencies = table()

        def run() -> str:
            result = Generalize(suppression_limit=limit).recode(frequencies, models())
            return f"loss {result.value:.5f}, {result.checked:,} of {result.nodes:,} nodes"

        return run, often

    return prepare


def specialized(table: Callable[[], Any], often: int = 1) -> Prepare:
    def prepare(_folder: Path) -> tuple[Callable[[], str], int]:
        from shoal.methods.recode import Specialize
        from shoal.models import KAnonymity

        frequencies = table()

        def run() -> str:
            return f"loss {Specialize().recode(frequencies, [KAnonymity(5)]).value:.4f}"

        return run, often

    return prepare


def adult(sensitive: str | None = None) -> Any:
    import recoding

    return recoding.adult(sensitive)


def made_up(rows: int, levels: tuple[int, ...], values: int) -> Any:
    """Make a table of the shape of another, whose sensitive column has so many values, the rare ones rarer."""
    import numpy as np

    import recoding

    base = recoding.made_up(rows, levels, sensitive="disease")
    if values <= 14:
        return base
    rng = np.random.default_rng(values)
    places = np.repeat(np.arange(len(base.counts)), base.counts)
    shares = 1 / np.arange(1, values + 1)
    drawn = rng.choice(values, len(places), p=shares / shares.sum()).astype(np.int32)
    codes = [*(np.ascontiguousarray(column) for column in base.codes[places].T), drawn]
    return recoding.gathered(base.hierarchies, codes, "disease", values)


def credit_cards() -> Any:
    import recoding

    return recoding.accounts(24)


def mach() -> Any:
    import recoding

    return recoding.accounts(16)


def fars(values: int = 14) -> Any:
    return made_up(100_937, (4, 4, 4, 3, 3, 3, 3, 4), values)


def kdd(values: int = 815) -> Any:
    return made_up(63_441, (5, 5, 5, 5, 2, 3, 4, 3), values)


def close(column: str, t: float) -> list[Any]:
    from shoal.models import KAnonymity, TCloseness

    return [KAnonymity(5), TCloseness(column, t)]


def diverse(column: str, number: int, *, entropy: bool = False) -> list[Any]:
    from shoal.models import DistinctLDiversity, EntropyLDiversity, KAnonymity

    return [KAnonymity(5), (EntropyLDiversity if entropy else DistinctLDiversity)(column, number)]


def session(ask: str) -> Prepare:
    """Prepare questions to a vault whose million records stay on the engine."""

    def prepare(_folder: Path) -> tuple[Callable[[], str], int]:
        import queries
        from shoal.queries import Session

        asked = Session(queries.table(), 10**6, in_memory=False)
        numbers = iter(range(10**9))
        questions: dict[str, Callable[[], object]] = {
            "counts": lambda: asked.count(f'age >= {next(numbers) % 90} and sex = "F"', epsilon="0.0001"),
            "unbounded": lambda: asked.count(f"income >= {next(numbers) * 37 % 90_000}", epsilon="0.0001"),
            "means": lambda: asked.mean("income", 'sex = "F"', epsilon="0.0001"),
        }

        questions[ask]()

        def run() -> str:
            for _ in range(100):
                questions[ask]()
            return ""

        return run, 1

    return prepare


def mdav(_folder: Path) -> tuple[Callable[[], str], int]:
    import numpy as np
    import pyarrow as pa

    import shoal
    from shoal.schema import Attribute, Kind, Role, Schema

    points = np.random.default_rng(0).normal(size=(9, 1_000_000))
    columns = tuple(Attribute(name=f"x{i}", kind=Kind.NUMERIC, role=Role.QUASI_IDENTIFIER) for i in range(9))
    table = shoal.read(pa.table({f"x{i}": points[i] for i in range(9)}), schema=Schema(attributes=columns))

    def run() -> str:
        release = shoal.anonymize(table, shoal.KAnonymity(10), method=shoal.methods.Mdav())
        return "; ".join(f"{name} {float(value):.5f}" for name, value in list(release.quality.items())[:1])

    return run, 1


def engine(rows: int, *, writes: bool) -> Prepare:
    """Prepare DuckDB's own work on the large table."""

    def prepare(folder: Path) -> tuple[Callable[[], str], int]:
        import duckdb

        def run() -> str:
            source = f"'{folder}/people{rows}.parquet'"
            names = ", ".join(f'"{name}"' for name in duckdb.sql(f"from {source} limit 1").columns)
            if writes:
                duckdb.sql(f"copy (from {source} order by all) to '{folder}/engine.parquet'")
                (folder / "engine.parquet").unlink()
            grouped = f"select {names}, count(*) as n from {source}"  # noqa: S608
            return f"{len(duckdb.sql(f'{grouped} group by all').fetchnumpy()['n']):,} tuples"

        return run, 1

    return prepare


def write_people(folder: Path, rows: int) -> None:
    """Write records of the shape of Adult, with its hierarchies and domains, in pieces; once."""
    path = folder / f"people{rows}.parquet"
    if path.exists():
        return
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    import recoding
    from shoal.schema import Attribute, Domain, FromFile, Role, Schema, dumps

    hierarchies, columns = recoding.resampled_columns(min(rows, 1_000_000))
    names = [each.attribute for each in hierarchies]
    labels = [pa.array(each.labels[0]) for each in hierarchies]
    rng = np.random.default_rng(1)
    writer = None
    for first in range(0, rows, 1_000_000):
        chosen = rng.permutation(min(1_000_000, rows - first))
        texts = [label.take(pa.array(codes[chosen])) for label, codes in zip(labels, columns, strict=True)]
        piece = pa.table(texts, names=names)
        writer = writer or pq.ParquetWriter(path, piece.schema)
        writer.write_table(piece)
    if writer:
        writer.close()
    attributes = tuple(
        Attribute(
            name=each.attribute,
            role=Role.QUASI_IDENTIFIER,
            hierarchy=FromFile(path=f"adult_hierarchy_{each.attribute}.csv"),
            domain=Domain(values=tuple(each.labels[0])),
        )
        for each in hierarchies
    )
    for source in (recoding.DATA / "adult").glob("adult_hierarchy_*.csv"):
        (folder / source.name).write_bytes(source.read_bytes())
    (folder / f"people{rows}.toml").write_text(dumps(Schema(attributes=attributes)))


class _Jobs(dict[str, Prepare]):
    """Jobs by name; those of the engine by their number of records."""

    def __missing__(self, name: str) -> Prepare:
        kind, rows = name.split()
        return engine(int(rows), writes=kind == "write")


LIMITS = (1, 0.05, 0)
JOBS = _Jobs({"imports": imports})
for _limit in LIMITS:
    JOBS |= {
        f"Adult, t = 0.2, limit {_limit}": searched(
            lambda: adult("occupation"), lambda: close("occupation", 0.2), _limit, 5
        ),
        f"KDD Cup 98 twin, 815 values, t = 0.2, limit {_limit}": searched(
            kdd, lambda: close("disease", 0.2), _limit, 1
        ),
        f"FARS twin, t = 0.2, limit {_limit}": searched(fars, lambda: close("disease", 0.2), _limit, 1),
    }
JOBS |= {
    "Adult, l = 3": searched(lambda: adult("occupation"), lambda: diverse("occupation", 3), 1, 5),
    "Adult, entropy l = 3": searched(lambda: adult("occupation"), lambda: diverse("occupation", 3, entropy=True), 1, 5),
    "FARS twin, l = 2": searched(fars, lambda: diverse("disease", 2), 1, 1),
    "specialize, Adult, k = 5": specialized(adult, 3),
    "specialize, twin of mach, 16 columns": specialized(mach),
    "specialize, twin of credit cards, 24 columns": specialized(credit_cards),
    "vault counts": session("counts"),
    "vault unbounded": session("unbounded"),
    "vault means": session("means"),
    "mdav": mdav,
}

if __name__ == "__main__":
    sys.exit(main())
