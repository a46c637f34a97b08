"""Many truthful tables read together, beside synthetic data: random counts, pairs of columns, and classifiers.

Settings: a random four fifths of the records are published; the rest is held out. 2,000 random counts
over 1 to 3 columns, the values of a random record each (seed 5): the mean of |estimate - truth| / max(truth, 0.1 % of
the records). The total variation distance of all pairs of columns, mean. Classifiers are trained on what was
published, a weighted pool or synthetic records, and tested on the held-out originals: accuracy. Every method has its
default settings, but for two of dpmm: 1,000 iterations of inference, which MST and PrivBayes have 5,000 of there (with
those MST gave the same on Adult at epsilon 1, in twice the time), and 80 MB for the model of AIM, the default of its
paper, instead of any size. These two were set after the first runs, to save time; so was how many pairs we choose
below epsilon 1, to lose less. The domains of synthetic data are those of the records, which is a favour.

Run it with the names of makers, or for all of them without. PrivBayes, MST and AIM of dpmm need ``SHOAL_PEERS``, a
Python that has dpmm; a run of MST takes a minute and a half of processor time, one of AIM a quarter of an hour, and
what takes longer than ``LIMIT`` ends. ``SHOAL_RUNS`` and ``SHOAL_EPSILONS`` make it shorter.
"""

from __future__ import annotations

import itertools
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

import shoal
from shoal.schema import Attribute, Domain, Role, Schema
from truthful import DATA, adult_schema
from truthful_learning import LEARNERS, accuracy

RUNS = int(os.environ.get("SHOAL_RUNS", "20"))
LEARNED = 5
#: Synthetic data takes minutes.
FEWER = {"PrivBayes": 3, "MST": 3, "AIM": 2}
EPSILONS = tuple(os.environ.get("SHOAL_EPSILONS", "0.1 1 3").split())
DELTA = "1e-5"
EARNINGS = ["size", "sex", "age", "education", "occupation", "contract", "fullPart", "lengthService"]
#: Processor seconds that one fit of synthetic data may take.
LIMIT = 3600
ITERATIONS = 1000

PEER = """
import sys, time, pandas as pd
from dpmm.pipelines import AIMPipeline, MSTPipeline, PrivBayesPipeline
name, epsilon, delta, seed, source, target = sys.argv[1:7]
table = pd.read_csv(source, dtype=str)
kinds = {"MST": MSTPipeline, "AIM": AIMPipeline, "PrivBayes": PrivBayesPipeline}
# Without a limit AIM of dpmm lets its model grow until the memory is full; 80 MB is the default of its paper. 1,000
# iterations are the default of AIM and of the inference that all three share.
limit = {"max_model_size": 80} if name == "AIM" else {}
iterations = {"n_iters": int(sys.argv[7])}
made = kinds[name](epsilon=float(epsilon), delta=float(delta), n_jobs=1, gen_kwargs=iterations, **limit)
made.fit(table.astype("category"), random_state=int(seed))
made.generate(n_records=len(table)).to_csv(target, index=False)
print(time.process_time())
"""

Columns = dict[str, np.ndarray]
#: Values by column, weights, and the processor seconds that they took.
Weighted = tuple[Columns, np.ndarray, float]
Maker = Callable[["Case", str, int], Weighted]


@dataclass(frozen=True)
class Case:
    """A table with what is published of it, what is held out, and which column classifiers guess."""

    name: str
    schema: Schema
    published: Columns
    held_out: Columns
    target: str

    @property
    def records(self) -> int:
        return len(self.published[self.target])


def main() -> None:
    warnings.filterwarnings("ignore")
    wanted = sys.argv[1:] or [*MAKERS]
    for case in cases():
        queries = random_queries(case)
        print(f"{case.name}, {case.records:,} records, {len(case.published)} columns; {len(queries):,} counts")
        guess = max(np.mean(case.held_out[case.target] == value) for value in {*case.held_out[case.target]})
        plain = learned(case, (case.published, np.ones(case.records), 0.0))
        print(f"  guessing {guess:.1%}; trained on the originals: {spelt(plain)}")
        for epsilon, name in itertools.product(EPSILONS, wanted):
            runs = min(RUNS, FEWER.get(name, RUNS))
            found = [measured(case, MAKERS[name], epsilon, run, queries) for run in range(runs)]
            print(f"  epsilon {epsilon:<4} {name:<16} {summary(found)}", flush=True)


def measured(case: Case, maker: Maker, epsilon: str, run: int, queries: list[dict[str, str]]) -> dict[str, float]:
    made = maker(case, epsilon, run)
    error, distance = compared(case, made, queries)
    scores = learned(case, made) if run < LEARNED else {}
    return {"counts": error, "pairs": distance, **scores, "seconds": made[2]}


def summary(found: list[dict[str, float]]) -> str:
    """Return the mean and the deviation of a run of every figure."""
    names = dict.fromkeys(name for each in found for name in each)
    values = {name: [each[name] for each in found if name in each] for name in names}
    parts = [f"{name} {np.mean(each):.4f} +- {np.std(each):.4f}" for name, each in values.items()]
    return f"{len(found)} runs: {', '.join(parts)}"


def spelt(scores: dict[str, float]) -> str:
    return ", ".join(f"{name} {score:.1%}" for name, score in scores.items())


# -- the tables


def cases() -> Iterator[Case]:
    adult = shoal.read(DATA / "adult.csv").to_arrow()
    yield _case("Adult", adult_schema(), adult, "salary-class")
    rows = pc.read_csv(DATA.parent / "survey" / "ses.csv", convert_options=pc.ConvertOptions(strings_can_be_null=False))
    high = np.where(rows["earningsHour"].to_numpy() >= 15, "15 euros or more", "less")
    earnings = rows.select(EARNINGS).append_column("pay", pa.array(high))
    yield _case("Structure of earnings", earnings_schema(earnings), earnings, "pay")


def earnings_schema(rows: pa.Table) -> Schema:
    """Declare the values of all columns: the codes of the survey."""
    return Schema(
        attributes=tuple(
            Attribute(
                name=name,
                role=Role.QUASI_IDENTIFIER,
                domain=Domain(values=tuple(sorted({str(each) for each in rows[name].to_pylist()}))),
            )
            for name in rows.column_names
        )
    )


def _case(name: str, schema: Schema, rows: pa.Table, target: str) -> Case:
    columns = {each: np.array([str(value) for value in rows[each].to_pylist()]) for each in schema.names}
    inside = np.random.default_rng(5).random(len(rows)) < Fraction(4, 5)
    published = {each: values[inside] for each, values in columns.items()}
    return Case(name, schema, published, {each: values[~inside] for each, values in columns.items()}, target)


# -- who makes


def truthful(case: Case, epsilon: str, run: int, *, tables: str) -> Weighted:
    del run
    start = time.process_time()
    wanted = shoal.DifferentialPrivacy(epsilon=epsilon, delta=DELTA)
    table = shoal.read(pa.table(case.published)).with_schema(case.schema)
    method = shoal.TruthfulTables(tables=tables)  # type: ignore[arg-type]
    pool = shoal.anonymize(table, wanted, method=method).estimate().pool()
    columns = {name: np.array(pool[name].to_pylist(), dtype=str) for name in case.published}
    return columns, pool["weight"].to_numpy(), time.process_time() - start


def peer(case: Case, epsilon: str, run: int, *, name: str) -> Weighted:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "source.csv", Path(folder) / "target.csv"
        pc.write_csv(pa.table(case.published), source)
        told_apart = [name, epsilon, DELTA, str(run), str(source), str(target), str(ITERATIONS)]
        called = [os.environ["SHOAL_PEERS"], "-c", PEER, *told_apart]
        told = subprocess.run(called, check=True, capture_output=True, text=True, preexec_fn=_limited)
        texts = pc.ConvertOptions(column_types=dict.fromkeys(case.published, pa.string()))
        made = pc.read_csv(target, convert_options=texts)
        columns = {each: np.array(made[each].to_pylist(), dtype=str) for each in case.published}
        return columns, np.ones(len(made)), float(told.stdout.split()[-1])


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))


PEERS: dict[str, Maker] = {name: partial(peer, name=name) for name in ("PrivBayes", "MST", "AIM")}
MAKERS: dict[str, Maker] = {
    "columns": partial(truthful, tables="columns"),
    "pairs": partial(truthful, tables="pairs"),
    "pairs+joint": partial(truthful, tables="pairs+joint"),
    **(PEERS if os.environ.get("SHOAL_PEERS") else {}),
}


# -- how good it is


def random_queries(case: Case, number: int = 2000) -> list[dict[str, str]]:
    generator = np.random.default_rng(5)
    found = []
    for _ in range(number):
        names = generator.choice(list(case.published), generator.integers(1, 4), replace=False)
        row = generator.integers(case.records)
        found.append({str(name): str(case.published[str(name)][row]) for name in names})
    return found


def compared(case: Case, made: Weighted, queries: list[dict[str, str]]) -> tuple[float, float]:
    columns, weights, _ = made
    ones = np.ones(case.records)
    codes, shared = {}, {}
    for name, values in case.published.items():
        shared[name], both = np.unique(np.concatenate([values, columns[name]]), return_inverse=True)
        codes[name] = both[: len(ones)], both[len(ones) :]
    errors = []
    for query in queries:
        truth, guess = (_count(codes, shared, query, side, own) for side, own in enumerate((ones, weights)))
        errors.append(abs(guess - truth) / max(truth, 0.001 * len(ones)))
    distances = []
    for one, two in itertools.combinations(case.published, 2):
        size = len(shared[one]) * len(shared[two])
        tables = [
            np.bincount(codes[one][side] * len(shared[two]) + codes[two][side], own, size) / own.sum()
            for side, own in enumerate((ones, weights))
        ]
        distances.append(np.abs(tables[0] - tables[1]).sum() / 2)
    return float(np.mean(errors)), float(np.mean(distances))


def _count(codes: dict, shared: dict, query: dict[str, str], side: int, weights: np.ndarray) -> float:
    inside = np.ones(len(weights), dtype=bool)
    for name, value in query.items():
        inside &= codes[name][side] == np.searchsorted(shared[name], value)
    return float(weights[inside].sum())


def learned(case: Case, made: Weighted) -> dict[str, float]:
    """Return the accuracy of every kind of classifier on the held-out originals."""
    columns, weights, _ = made
    features = [name for name in columns if name != case.target]
    training, asked = (np.stack([side[name] for name in features], axis=1) for side in (columns, case.held_out))
    truth: Any = case.held_out[case.target]
    return {
        name: accuracy(learner, training, columns[case.target], asked, truth, weights)
        for name, learner in LEARNERS.items()
    }


if __name__ == "__main__":
    main()
