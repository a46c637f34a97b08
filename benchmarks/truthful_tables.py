"""Many truthful tables read together, beside one table and beside synthetic data, on Adult.

2,000 random counts over 1 to 3 columns, the values of a random record each (settings fixed beforehand, seed 5): the
mean of |estimate - truth| / max(truth, 0.1 % of the records); and the total variation distance of all pairs of columns,
mean.
Synthetic data by MST and AIM of dpmm is set beside them where ``SHOAL_PEERS`` names a Python that has it.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

import shoal
from truthful import COLUMNS, DATA, adult_schema

RUNS = 5
BUDGETS = (("0.1", "1e-5"), ("1", "1e-5"), ("3", "1e-5"))
Weighted = tuple[dict[str, np.ndarray], np.ndarray]

PEER = """
import sys, pandas as pd
from dpmm.pipelines import AIMPipeline, MSTPipeline
name, epsilon, delta, source, target = sys.argv[1:]
table = pd.read_csv(source, dtype=str)
kinds = {"MST": MSTPipeline, "AIM": AIMPipeline}
made = kinds[name](epsilon=float(epsilon), delta=float(delta))

made.fit(table.astype("category"))
made.generate(n_records=len(table)).to_csv(target, index=False)
"""


def main() -> None:
    table = shoal.read(DATA / "adult.csv").with_schema(adult_schema())
    original = {name: np.array([str(each) for each in table.to_arrow()[name].to_pylist()]) for name in COLUMNS}
    ones = np.ones(len(original["age"]))
    queries = random_queries(original)
    print(f"Adult, {len(ones):,} records: mean relative error of {len(queries):,} counts / total variation of pairs")
    for epsilon, delta in BUDGETS:
        wanted = shoal.DifferentialPrivacy(epsilon=epsilon, delta=delta)
        for label, method in (
            ("columns", shoal.TruthfulTables(tables="columns")),
            ("pairs", shoal.TruthfulTables()),
        ):
            found = []
            start = time.process_time()
            for _ in range(RUNS):
                estimates = shoal.anonymize(table, wanted, method=method).estimate()
                found.append(compared(original, ones, pooled(estimates), queries))
            show(epsilon, f"truthful tables, {label}", found, (time.process_time() - start) / RUNS)
        for name in ("MST", "AIM"):
            if os.environ.get("SHOAL_PEERS"):
                start = time.perf_counter()
                show(epsilon, name, [compared(original, ones, peer(name, epsilon, delta, original), queries)], start)


def show(epsilon: str, label: str, found: list[tuple[float, float]], seconds: float) -> None:
    errors, distances = zip(*found, strict=True)
    spread = f"+- {np.std(errors):.4f} / {np.std(distances):.4f}"
    print(
        f"  epsilon {epsilon:<4} {label:<24} {np.mean(errors):.4f} / {np.mean(distances):.4f} {spread} {seconds:.1f} s"
    )


def pooled(estimates: shoal.Estimates) -> Weighted:
    pool = estimates.pool()
    columns = {name: np.array(pool[name].to_pylist(), dtype=str) for name in COLUMNS}
    return columns, pool["weight"].to_numpy()


def random_queries(original: dict[str, np.ndarray], number: int = 2000) -> list[dict[str, str]]:
    generator = np.random.default_rng(5)
    found = []
    for _ in range(number):
        names = generator.choice(list(COLUMNS), generator.integers(1, 4), replace=False)
        row = generator.integers(len(original["age"]))
        found.append({str(name): str(original[str(name)][row]) for name in names})
    return found


def compared(
    original: dict[str, np.ndarray], ones: np.ndarray, other: Weighted, queries: list[dict[str, str]]
) -> tuple[float, float]:
    columns, weights = other
    codes, shared = {}, {}
    for name in COLUMNS:
        shared[name], both = np.unique(np.concatenate([original[name], columns[name]]), return_inverse=True)
        codes[name] = both[: len(ones)], both[len(ones) :]
    errors = []
    for query in queries:
        truth, guess = (_count(codes, shared, query, side, own) for side, own in enumerate((ones, weights)))
        errors.append(abs(guess - truth) / max(truth, 0.001 * len(ones)))
    distances = []
    for one, two in itertools.combinations(COLUMNS, 2):
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


def peer(name: str, epsilon: str, delta: str, original: dict[str, np.ndarray]) -> Weighted:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "source.csv", Path(folder) / "target.csv"
        pc.write_csv(pa.table(original), source)
        subprocess.run(
            [os.environ["SHOAL_PEERS"], "-c", PEER, name, epsilon, delta, source, target], check=True, stderr=sys.stderr
        )
        made = pc.read_csv(target, convert_options=pc.ConvertOptions(column_types=dict.fromkeys(COLUMNS, pa.string())))
        columns = {name: np.array(made[name].to_pylist(), dtype=str) for name in COLUMNS}
        return columns, np.ones(len(made))


if __name__ == "__main__":
    main()
