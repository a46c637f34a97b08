"""What microaggregation costs: C++ against its NumPy twin, and what blocks save and lose.

The mark to beat is sdcMicro's C++ MDAV (CPU seconds on a machine of this kind): Census k = 3 0.016, EIA 0.115, 30,162
records of 6 attributes k = 3, 5, 10: 4.4, 2.6, 1.4. Pass --quick to leave out what takes more than a few seconds.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from shoal import kernels
from shoal.hierarchies import Concepts
from shoal.kernels.clusters import in_turns, in_turns_numpy, mdav, mdav_numpy, vmdav, vmdav_numpy
from shoal.methods.classes import Partition, Space, blocked_mdav, cluster_means, exchange, standardize
from shoal.methods.classes import mdav as mdav_records
from shoal.methods.noise import Records, fixed_orders, insensitive
from shoal.risk._record_linkage import linked_percentage

DATA = Path(os.environ.get("SHOAL_DATA", Path(__file__).parents[2] / "shared" / "data"))
RNG = np.random.default_rng(0)
T = TypeVar("T")


def main() -> None:
    quick = "--quick" in sys.argv
    print(f"kernels: {kernels.name()}; CPU seconds, best of three below one second\n")
    print(f"{'':<52}{'C++':>10}{'NumPy':>10}{'ratio':>8}{'sdcMicro':>10}")
    twins(quick)
    if not quick:
        print("\n1,000,000 x 10, k = 10, two kinds of data: CPU and wall seconds, loss against exact MDAV")
        for name, points in (("scattered", RNG.normal(size=(1_000_000, 10))), ("skewed", skewed(1_000_000, 10))):
            million(name, standardize(points))
    print("\nother methods: CPU and wall seconds")
    others(quick)


def twins(quick: bool) -> None:
    census, eia = data("census/census.csv"), data("eia/eia11_published.csv")
    for name, points, k, mark in (
        ("Census, 1,080 x 13, MDAV k = 3", census, 3, "0.016"),
        ("EIA, 4,092 x 11, MDAV k = 3", eia, 3, "0.115"),
        ("30,162 x 6, MDAV k = 3", RNG.normal(size=(30_162, 6)), 3, "4.4"),
        ("30,162 x 6, MDAV k = 5", RNG.normal(size=(30_162, 6)), 5, "2.6"),
        ("30,162 x 6, MDAV k = 10", RNG.normal(size=(30_162, 6)), 10, "1.4"),
        ("100,000 x 10, MDAV k = 10", None if quick else RNG.normal(size=(100_000, 10)), 10, ""),
    ):
        if points is not None:
            scores = standardize(points)
            row(name, lambda p=scores, k=k: mdav(p, k), lambda p=scores, k=k: mdav_numpy(p, k), mark)
    points = standardize(RNG.normal(size=(10_000, 6)))
    row("10,000 x 6, V-MDAV k = 5", lambda: vmdav(points, 5, 0.2), lambda: vmdav_numpy(points, 5, 0.2))
    orders = np.array([RNG.permutation(100_000) for _ in range(16)], np.int32)
    row("100,000, clusters in turns from 16 orders", lambda: in_turns(orders, 10), lambda: in_turns_numpy(orders, 10))


def million(name: str, points: np.ndarray) -> None:
    exact, (cpu, wall) = once(lambda: Partition(mdav(points, 10)))
    base = loss(points, exact)
    print(f"{name + ', exact':<52}{cpu:>10.1f}{wall:>10.1f}   loss {100 * base:.3f} %")
    for rows in (50_000, 125_000, 250_000):
        for repair in (0, 1):
            made, (cpu, wall) = once(
                lambda rows=rows, repair=repair: blocked_mdav(points, 10, block_rows=rows, repair=repair)
            )
            change = 100 * (loss(points, made) / base - 1)
            print(f"{f'  blocks of {rows:,}, repair {repair}':<52}{cpu:>10.1f}{wall:>10.1f}   loss {change:+.2f} %")


def others(quick: bool) -> None:
    n = 100_000 if quick else 1_000_000
    values = np.clip(RNG.normal(size=(n, 10)), -6, 6)
    records = Records(numeric=values, lower=np.full(10, -6.0), upper=np.full(10, 6.0))
    for points in (1, 16, 64):
        line(
            f"{n:,} x 10, insensitive, {points} reference points",
            lambda p=points: insensitive(records, 10, reference_points=p),
        )
    line(f"{n:,} x 10, the orders of 16 points alone", lambda: fixed_orders(records, 16))
    small = standardize(values[:100_000])
    partition = Partition(mdav(small, 10))
    line("100,000 x 10, one pass of exchange", lambda: exchange(small, partition))
    masked = cluster_means(small, partition)[partition.labels]
    line("100,000 x 10, record linkage", lambda: linked_percentage(small, masked))
    codes = np.stack([RNG.integers(0, 14, 30_162), np.minimum(RNG.geometric(0.3, 30_162), 41) - 1], axis=1)
    categories = Space.of(np.empty((30_162, 0)), codes.astype(np.int32), [Concepts.flat(14), Concepts.flat(41)])
    line("30,162 x 2 categories, MDAV k = 5", lambda: mdav_records(categories, 5))


def row(name: str, native: Callable[[], object], numpy: Callable[[], object], mark: str = "") -> None:
    fast, slow = seconds(native), seconds(numpy)
    if not np.array_equal(native(), numpy()):
        sys.exit(f"{name}: the kernels disagree")
    print(f"{name:<52}{fast:>10.4f}{slow:>10.3f}{slow / fast:>8.0f}{mark:>10}")


def line(name: str, work: Callable[[], object]) -> None:
    _, (cpu, wall) = once(work)
    print(f"{name:<52}{cpu:>10.2f}{wall:>10.2f}")


def seconds(work: Callable[[], object]) -> float:
    taken = once(work)[1][0]
    return min(taken, once(work)[1][0], once(work)[1][0]) if taken < 1 else taken


def once(work: Callable[[], T]) -> tuple[T, tuple[float, float]]:
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    return result, (time.process_time() - cpu, time.perf_counter() - wall)


def loss(points: np.ndarray, partition: Partition) -> float:
    errors = np.square(points - cluster_means(points, partition)[partition.labels]).sum()
    return float(errors / np.square(points).sum())


def skewed(n: int, m: int) -> np.ndarray:
    common, second = RNG.normal(size=(n, 1)), RNG.normal(size=(n, 1))
    return np.exp(0.6 * common + 0.4 * second * (np.arange(m) % 3 - 1) + 0.5 * RNG.normal(size=(n, m)))


def data(name: str) -> np.ndarray | None:
    path = DATA / name
    if not path.is_file():
        print(f"{name} is not there; set SHOAL_DATA")
        return None
    return np.genfromtxt(path, delimiter=",", skip_header=1)


if __name__ == "__main__":
    main()
