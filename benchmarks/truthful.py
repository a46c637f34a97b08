"""Truthful differential privacy: parameters, samplers, the loss of releases of Adult, and the time of whole runs.

Adult is looked for in ``SHOAL_DATA``, else in ``../shared/data`` beside the project. `truthful_learning.py` measures
classifiers.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import shoal
from shoal import tables
from shoal.mechanisms import ExponentialMechanism, PermuteAndFlip, binomial
from shoal.methods.truthful import DifferentialPrivacy, Drawn, Truthful
from shoal.methods.truthful.parameters import Definition, minimal_epsilon, parameters, sampling_rate
from shoal.schema import Attribute, FromFile, Kind, Role, Schema
from shoal.tables import Frequencies

DATA = Path(os.environ.get("SHOAL_DATA", Path(__file__).parents[2] / "shared" / "data")) / "adult"
COLUMNS = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
)
RUNS = 20
BUDGETS = (("0.1", "1e-5"), ("0.5", "1e-5"), ("1", "1e-5"), ("1", "1e-6"), ("2", "1e-6"), ("3", "1e-5"))
SHARES = {"full-domain": ("0.01", "0.02", "0.05", "0.1"), "multi-dimensional": ("0.1", "0.2", "0.3", "0.4")}
EPSILONS = (0.01, 0.1, 0.5, math.log(2), 0.75, 1.0, math.log(3), 1.25, 1.5, 2.0)
DELTAS = tuple(f"1e-{i}" for i in range(4, 21))


def main() -> None:
    for definition in ("probabilistic", "standard"):
        parameter_table(definition)
    inverse_questions()
    binomial_draws()
    selections()
    if DATA.is_dir():
        losses()
        whole_runs()


def adult_schema() -> Schema:
    return Schema(
        attributes=tuple(
            Attribute(
                name=name,
                role=Role.QUASI_IDENTIFIER,
                kind=Kind.NUMERIC if name == "age" else Kind.CATEGORICAL,
                hierarchy=FromFile(path=f"adult_hierarchy_{name}.csv"),
            )
            for name in COLUMNS
        ),
        folder=DATA,
    )


def losses() -> None:
    """Loss of releases of Adult, trimming beside sampling; records that are not released count as lost."""
    table = shoal.read(DATA / "adult.csv").with_schema(adult_schema())
    frequencies = tables.encode(table).frequencies
    print(f"Adult, 9 columns: loss (mean of {RUNS} runs +- deviation of a run) and records kept")
    for epsilon, delta in BUDGETS:
        for operator in ("sampling", "trim"):
            for scheme in ("full-domain", "multi-dimensional"):
                method, wanted = (
                    Truthful(scheme=scheme, operator=operator),
                    DifferentialPrivacy(epsilon=epsilon, delta=delta),
                )
                print(f"  epsilon {epsilon:<4} delta {delta} {operator:<9} {shown(method, wanted, frequencies)}")
    print("  by the share of epsilon that chooses the scheme, delta = 1e-5")
    for scheme, shares in SHARES.items():
        for epsilon in ("0.1", "1"):
            for share in shares:
                wanted = DifferentialPrivacy(epsilon=epsilon, delta="1e-5", search_share=share)
                found = shown(Truthful(scheme=scheme), wanted, frequencies)
                print(f"  epsilon {epsilon:<4} share {share:<5} trim {found}")


def shown(method: Truthful, wanted: DifferentialPrivacy, frequencies: Frequencies) -> str:
    runs = [method.draw(frequencies, wanted) for _ in range(RUNS)]
    found = [loss(drawn, frequencies) for drawn in runs]
    kept = np.mean([drawn.tuples.counts.sum() for drawn in runs]) / frequencies.records
    return f"{method.scheme:<18} {np.mean(found):.4f} +- {np.std(found):.4f}, {100 * kept:.0f} % kept"


def loss(drawn: Drawn, frequencies: Frequencies) -> float:
    shares = np.mean([drawn.tuples.shares(j) for j in range(len(frequencies.hierarchies))], axis=0)
    return 1 - float((drawn.tuples.counts * (1 - shares)).sum()) / frequencies.records


def whole_runs() -> None:
    """Read, choose, trim, write and verify."""
    schema = adult_schema()
    with tempfile.TemporaryDirectory() as folder:
        large = Path(folder) / "large.parquet"
        pq.write_table(larger(1_200_000), large)
        for label, source, delta in (("Adult", DATA / "adult.csv", "1e-5"), ("1.2 million rows", large, "1e-7")):
            for scheme in ("full-domain", "multi-dimensional"):
                start, processor = time.perf_counter(), time.process_time()
                table = shoal.read(source).with_schema(schema)
                read = time.perf_counter()
                method = Truthful(scheme=scheme)
                release = shoal.anonymize(table, DifferentialPrivacy(epsilon=1, delta=delta), method=method)
                drawn = time.perf_counter()
                release.write(Path(folder) / f"{label} {scheme}")
                end = time.perf_counter()
                left = release.private.loss if release.private else math.nan
                parts = f"read {read - start:.1f}, draw {drawn - read:.1f}, write and verify {end - drawn:.1f}"
                used = time.process_time() - processor
                print(f"{label}, {scheme}: {end - start:.1f} s, {used:.1f} s of processors ({parts}); loss {left:.4f}")


def larger(rows: int) -> pa.Table:
    """Return records drawn from Adult with small changes, so that there are many more different ones."""
    generator = np.random.default_rng(1)
    original = shoal.read(DATA / "adult.csv").to_arrow()
    columns = {}
    chosen = generator.integers(0, len(original), rows)
    for name in COLUMNS:
        values = original[name].to_numpy(zero_copy_only=False)[chosen]
        if name == "age":
            moved = values.astype(np.int64) + generator.integers(-3, 4, rows) * (generator.random(rows) < 0.5)
            columns[name] = np.clip(moved, 1, 100)
        else:
            other = original[name].to_numpy(zero_copy_only=False)[generator.integers(0, len(original), rows)]
            columns[name] = np.where(generator.random(rows) < 0.05, other, values)
    return pa.table(columns)


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def parameter_table(definition: Definition) -> None:
    parameters(1, "1e-6")  # imports
    found: dict[tuple[float, str], int] = {}

    def work() -> None:
        for epsilon in EPSILONS:
            for delta in DELTAS:
                found[epsilon, delta] = parameters(epsilon, delta, definition=definition).k

    elapsed = seconds(work)
    print(f"k, {definition} definition: {len(found)} pairs in {elapsed:.2f} s (goal: 2 s; the paper: 0.1 to 37 s each)")
    shown = ("1e-4", "1e-6", "1e-8", "1e-12", "1e-20")
    print("  epsilon  beta    " + "".join(f"{delta:>7}" for delta in shown))
    for epsilon in EPSILONS:
        row = "".join(f"{found[epsilon, delta]:>7}" for delta in shown)
        print(f"  {epsilon:<8.4g} {float(sampling_rate(epsilon)):.4f}  {row}")


def inverse_questions() -> None:
    found = parameters(1, "1e-6")
    elapsed = seconds(lambda: minimal_epsilon(found.k, found.beta, "1e-6"))
    print(f"epsilon from (k, beta, delta): {1000 * elapsed:.1f} ms")


def binomial_draws() -> None:
    generator, beta = np.random.default_rng(1), sampling_rate(1)
    shares = generator.dirichlet(np.full(20_000, 0.3))
    for label, counts in (
        ("1.2 million records in 20,000 classes", generator.multinomial(1_200_000, shares)),
        ("100 million records in 20,000 classes", generator.multinomial(100_000_000, shares)),
        ("100 million records in 1 class", np.array([100_000_000])),
        ("1 million records in 1 million classes", np.ones(1_000_000, dtype=np.int64)),
    ):
        print(f"binomial: {label}: {1000 * seconds(lambda c=counts: binomial(c, beta)):.0f} ms")


def selections() -> None:
    generator = np.random.default_rng(2)
    for size in (12_960, 10**5, 10**6, 10**7):
        scores = generator.random(size) * 30_000
        for mechanism in (ExponentialMechanism, PermuteAndFlip):
            made = mechanism(epsilon="0.1", sensitivity=3, monotone=True)
            made.select(scores[:10])
            elapsed = seconds(lambda made=made, scores=scores: made.select(scores))
            print(f"{mechanism.__name__}: one of {size:,}: {1000 * elapsed:.1f} ms")


if __name__ == "__main__":
    main()
