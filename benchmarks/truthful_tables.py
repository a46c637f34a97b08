"""Many truthful tables read together, beside synthetic data: counts, and tables of one, two and three columns.

Settings, fixed beforehand: five tables, each with every record published, delta 1e-5, seeds 0 to 2 for every tool. The
figures are the total variation distances of all tables of one, two and three columns, mean and worst; the mean of
|estimate - truth| / max(truth, 0.1 % of the records) over 2,000 random counts over one to three columns, the values of
a random record each (seed 5); processor seconds.

``household`` was chosen before anything was tuned, and rules were never set by looking at it.

Peers are those of `synthetic.py`, with the settings that it names.

Every run is stored in the folder ``SHOAL_RESULTS`` and not repeated, so that the benchmark can be stopped and taken up
again; without arguments it makes what is missing and prints everything. Arguments choose: tools, tables, epsilons,
``seed=0``. MST and AIM need ``SHOAL_PEERS``, a Python that has dpmm. ``--print`` makes nothing, ``--rows`` prints the
rows of the table in ``docs/how-to/analyse-a-release.md`` besides.

Runs of peers, which take hours and do not depend on Shoal, are kept beside this file in ``truthful_tables.json`` with
``--keep``, so that whoever goes on needs to run the missing ones only.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

import nist
import shoal
import synthetic
from shoal.schema import Attribute, Domain, Intervals, Kind, Role, Schema
from truthful import DATA, adult_schema

EPSILONS = ("0.1", "1", "3")
SEEDS = 3
DELTA = "1e-5"
PEER_RUNS = Path(__file__).with_suffix(".json")
FIGURES = ("counts", "one", "one, worst", "two", "two, worst", "three", "three, worst", "seconds")

Columns = dict[str, np.ndarray]
#: Values by column, weights, and the processor seconds that they took.
Weighted = tuple[Columns, np.ndarray, float]
#: None where it is not done.
Maker = Callable[["Case", str, int], Weighted | None]


@dataclass(frozen=True)
class Case:
    """A table and what its schema declares."""

    name: str
    schema: Schema
    columns: Columns

    @property
    def records(self) -> int:
        return len(next(iter(self.columns.values())))


def main() -> None:
    wanted = {each for each in sys.argv[1:] if not each.startswith("--")}
    kept = json.loads(PEER_RUNS.read_text(encoding="utf-8"))
    runs = [*itertools.product(CASES, EPSILONS, MAKERS, range(SEEDS))]
    synthetic.RESULTS.mkdir(parents=True, exist_ok=True)
    for case, epsilon, maker, seed in runs:
        path = _path(case, epsilon, maker, seed)
        if path.stem in kept and not path.exists():
            path.write_text(json.dumps(kept[path.stem]), encoding="utf-8")
        chosen = all(
            not wanted & {*kind} or one in wanted
            for one, kind in zip(
                (case, epsilon, maker, f"seed={seed}"),
                (CASES, EPSILONS, MAKERS, [f"seed={each}" for each in range(SEEDS)]),
                strict=True,
            )
        )
        if path.exists() or not chosen or "--print" in sys.argv or (maker in PEERS and synthetic.PYTHON is None):
            continue
        result = measured(CASES[case](), MAKERS[maker], epsilon, seed)
        path.write_text(json.dumps(result), encoding="utf-8")
        print(case, epsilon, maker, seed, result, flush=True)
    for case, epsilon in itertools.product(CASES, EPSILONS):
        for maker in MAKERS:
            paths = [_path(case, epsilon, maker, seed) for seed in range(SEEDS)]
            results = [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.exists()]
            if results:
                print(f"{case:<10} {epsilon:<4} {maker:<8} {summary(results)}")
                if "--rows" in sys.argv:
                    print(row(case, epsilon, maker, results))
    if "--keep" in sys.argv:
        paths = [_path(case, epsilon, maker, seed) for case, epsilon, maker, seed in runs if maker in PEERS]
        found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths if path.exists()}
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(found[name])}" for name in sorted(found))
        PEER_RUNS.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def _path(case: str, epsilon: str, maker: str, seed: int) -> Path:
    return synthetic.RESULTS / f"{case}-{epsilon}-{maker}-{seed}.json"


def measured(case: Case, maker: Maker, epsilon: str, seed: int) -> dict[str, float] | None:
    made = maker(case, epsilon, seed)
    if made is None:
        return None
    columns, weights, seconds = made
    return compared(case.columns, columns, weights) | {"seconds": seconds}


def summary(results: list[dict[str, float] | None]) -> str:
    """Return the mean of every figure, with the least and the largest of the runs."""
    done = [each for each in results if each is not None]
    if not done:
        return f"not done after {synthetic.LIMIT} CPU s"
    values = {name: [each[name] for each in done] for name in FIGURES}
    parts = [f"{name} {np.mean(each):.4f} ({min(each):.4f}-{max(each):.4f})" for name, each in values.items()]
    return f"{len(done)} of {len(results)} runs: {', '.join(parts)}"


def row(case: str, epsilon: str, maker: str, results: list[dict[str, float] | None]) -> str:
    """Return a row of the table of the documentation: means, and how many runs they are of."""
    done = [each for each in results if each is not None]
    figures = [f"{np.mean([each[name] for each in done]):.3g}" if done else "not done" for name in FIGURES]
    return f"| {case}, {epsilon} | {maker}, {len(done)} | {' | '.join(figures)} |"


# -- the tables


@cache
def adult() -> Case:
    return _case("Adult", adult_schema(), shoal.read(DATA / "adult.csv").to_arrow())


@cache
def eu_silc() -> Case:
    rows = _survey("eusilc")
    age = np.clip(rows["age"].to_numpy().astype(float), 0, 95).astype(int)
    values: dict[str, np.ndarray] = {
        "region": rows["db040"].to_numpy(zero_copy_only=False),
        "size": rows["hsize"].to_numpy(zero_copy_only=False).astype(str),
        "age": age.astype(str),
        "sex": rows["rb090"].to_numpy(zero_copy_only=False),
        "status": rows["pl030"].to_numpy(zero_copy_only=False),
        "citizenship": rows["pb220a"].to_numpy(zero_copy_only=False),
        "wage": _bands(rows["py010n"], (1, 5_000, 10_000, 20_000, 30_000)),
        "benefit": _bands(rows["py090n"], (1, 5_000, 10_000)),
        "pension": _bands(rows["py100n"], (1, 5_000, 10_000, 20_000, 30_000)),
        "income": _bands(rows["eqIncome"], tuple(range(4_000, 52_000, 4_000))),
    }
    table = pa.table({name: pa.array(np.where(each == "", "none", each), pa.string()) for name, each in values.items()})
    years = Attribute(
        name="age",
        role=Role.QUASI_IDENTIFIER,
        kind=Kind.NUMERIC,
        domain=Domain(minimum=0, maximum=95),
        hierarchy=Intervals(widths=(5, 10, 20)),
    )
    return _case("EU-SILC", _listed(table, {"age": years}), table)


@cache
def earnings() -> Case:
    names = ("size", "sex", "age", "education", "occupation", "contract", "fullPart", "lengthService")
    rows = _survey("ses")
    pay = _bands(rows["earningsHour"], (8, 12, 16, 24))
    table = pa.table({name: rows[name] for name in names} | {"pay": pa.array(pay)})
    return _case("earnings", _listed(table), table)


@cache
def census() -> Case:
    """Return NIST's national excerpt, demographic columns; "N" is a value here, and no rule is used."""
    rows = nist.records("national2019")
    table = pa.table({name: pa.array([row[name] for row in rows]) for name in nist.FEATURES["demographic"]})
    years = Attribute(
        name="AGEP",
        role=Role.QUASI_IDENTIFIER,
        kind=Kind.NUMERIC,
        domain=Domain(minimum=0, maximum=99),
        hierarchy=Intervals(widths=(5, 10, 20)),
    )
    return _case("NIST", _listed(table, {"AGEP": years}), table)


@cache
def household() -> Case:
    """Return a test survey of households of sdcMicro, which no rule was set by."""
    rows = _survey("testdata")
    names = ("urbrur", "roof", "walls", "water", "electcon", "relat", "sex", "age", "hhcivil")
    table = pa.table(
        {name: rows[name] for name in names}
        | {"expend": pa.array(_bands(rows["expend"], tuple(range(10_000_000, 100_000_000, 10_000_000))))}
    )
    years = Attribute(
        name="age",
        role=Role.QUASI_IDENTIFIER,
        kind=Kind.NUMERIC,
        domain=Domain(minimum=0, maximum=95),
        hierarchy=Intervals(widths=(5, 10, 20)),
    )
    return _case("household", _listed(table, {"age": years}), table)


CASES: dict[str, Callable[[], Case]] = {
    "Adult": adult,
    "EU-SILC": eu_silc,
    "earnings": earnings,
    "NIST": census,
    "household": household,
}


def _survey(name: str) -> pa.Table:
    path = DATA.parent / "survey" / f"{name}.csv"
    return pc.read_csv(path, convert_options=pc.ConvertOptions(strings_can_be_null=False))


def _bands(column: pa.ChunkedArray, cuts: tuple[int, ...]) -> np.ndarray:
    """Return the band of every number, between public cuts; what is no number has a band of its own."""
    texts = column.cast(pa.string()).to_pylist()
    numbers = np.array([float(each) if each not in (None, "", "NA") else np.nan for each in texts])
    return np.where(np.isnan(numbers), "none", np.searchsorted(cuts, numbers, side="right").astype(str))


def _listed(rows: pa.Table, others: dict[str, Attribute] | None = None) -> Schema:
    """Declare the values of all columns: the codes of the survey."""
    others = others or {}
    return Schema(
        attributes=tuple(
            others.get(name)
            or Attribute(
                name=name,
                role=Role.QUASI_IDENTIFIER,
                domain=Domain(values=tuple(sorted({str(each) for each in rows[name].to_pylist()}))),
            )
            for name in rows.column_names
        )
    )


def _case(name: str, schema: Schema, rows: pa.Table) -> Case:
    return Case(
        name, schema, {each: np.array([str(value) for value in rows[each].to_pylist()]) for each in schema.names}
    )


# -- who makes


def truthful(case: Case, epsilon: str, seed: int, *, tables: str) -> Weighted:
    del seed  # noise comes from the system
    start = time.process_time()
    wanted = shoal.DifferentialPrivacy(epsilon=epsilon, delta=DELTA)
    table = shoal.read(pa.table(case.columns)).with_schema(case.schema)
    method = shoal.methods.TruthfulTables(tables=tables)  # type: ignore[arg-type]
    pool = shoal.anonymize(table, wanted, method=method).estimate().pool()
    columns = {name: np.array(pool[name].to_pylist(), dtype=str) for name in case.columns}
    return columns, pool["weight"].to_numpy(), time.process_time() - start


def peer(case: Case, epsilon: str, seed: int, *, name: str) -> Weighted | None:
    made = synthetic.synthetic(case.name, pa.table(case.columns), name, epsilon=epsilon, delta=DELTA, seed=seed)
    if made is None:
        return None
    path, seconds = made
    texts = pc.ConvertOptions(column_types=dict.fromkeys(case.columns, pa.string()), strings_can_be_null=False)
    rows = pc.read_csv(path, convert_options=texts)
    return {each: np.array(rows[each].to_pylist(), dtype=str) for each in case.columns}, np.ones(len(rows)), seconds


PEERS: dict[str, Maker] = {name: partial(peer, name=name) for name in synthetic.NAMES}
MAKERS: dict[str, Maker] = {name: partial(truthful, tables=name) for name in ("columns", "pairs")} | PEERS


# -- how good it is


def compared(truth: Columns, columns: Columns, weights: np.ndarray) -> dict[str, float]:
    records = len(next(iter(truth.values())))
    codes, sizes = {}, {}
    for name, values in truth.items():
        shared, both = np.unique(np.concatenate([values, columns[name]]), return_inverse=True)
        codes[name], sizes[name] = (both[:records], both[records:]), len(shared)
    shares = np.full(records, 1 / records), weights / weights.sum()
    figures = {"counts": _error_of_counts(codes, shares)}
    for number, label in enumerate(("one", "two", "three"), start=1):
        distances = []
        for names in itertools.combinations(truth, number):
            keys = [np.zeros(len(own), dtype=np.int64) for own in shares]
            for name in names:
                keys = [key * sizes[name] + own for key, own in zip(keys, codes[name], strict=True)]
            _, cells = np.unique(np.concatenate(keys), return_inverse=True)
            distances.append(np.abs(np.bincount(cells, np.concatenate([shares[0], -shares[1]]))).sum() / 2)
        figures |= {label: float(np.mean(distances)), f"{label}, worst": float(np.max(distances))}
    return figures


def _error_of_counts(codes: dict[str, tuple[np.ndarray, np.ndarray]], shares: tuple[np.ndarray, ...]) -> float:
    generator, errors, names = np.random.default_rng(5), [], [*codes]
    for _ in range(2000):
        columns = generator.choice(names, generator.integers(1, 4), replace=False)
        row = generator.integers(len(shares[0]))
        inside = [np.ones(len(own), dtype=bool) for own in shares]
        for name in columns:
            inside = [one & (own == codes[name][0][row]) for one, own in zip(inside, codes[name], strict=True)]
        truth, guess = (own[one].sum() for own, one in zip(shares, inside, strict=True))
        errors.append(abs(guess - truth) / max(truth, 0.001))
    return float(np.mean(errors))


if __name__ == "__main__":
    main()
