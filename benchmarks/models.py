"""What it costs to decide a model: per class and value present, and not per value of the domain."""

from __future__ import annotations

import time

import numpy as np

from shoal.models import (
    AverageRisk,
    BetaLikeness,
    Classes,
    ClassHistogram,
    DeltaDisclosure,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    KMAnonymity,
    Model,
    MultiplicativeCloseness,
    RecursiveLDiversity,
    SampleUniqueness,
    TCloseness,
)
from shoal.tables import SensitiveAttribute


def main() -> None:
    print("ordered t-closeness, 20,000 classes of 5 values each, by the size of the domain")
    print(f"{'values':>10}{'present':>10}{'ms':>10}{'ns per value present':>24}")
    for values in (10, 100, 1_000, 10_000, 100_000):
        classes = drawn(20_000, values, present=5)
        seconds = measured(TCloseness("s", 0.45), classes)
        present = len(classes.histogram("s").codes)
        print(f"{values:>10,}{present:>10,}{seconds * 1e3:>10.2f}{seconds * 1e9 / present:>24.0f}")
    print("\nall models, classes of up to 12 of 14 values")
    print(f"{'model':<62}{'300 classes':>14}{'3,000':>10}{'30,000':>10}   microseconds")
    tables = [drawn(number, 14, present=12) for number in (300, 3_000, 30_000)]
    for model in MODELS:
        times = [measured(model, classes) * 1e6 for classes in tables]
        print(f"{model!r:<62}{times[0]:>14.0f}{times[1]:>10.0f}{times[2]:>10.0f}")


MODELS: tuple[Model, ...] = (
    KAnonymity(5),
    DistinctLDiversity("s", 3),
    EntropyLDiversity("s", 3),
    RecursiveLDiversity("s", c=3, l=2),
    RecursiveLDiversity("s", c=3, l=3),
    TCloseness("s", 0.2, "equal"),
    TCloseness("s", 0.2, "ordered"),
    MultiplicativeCloseness("s", 3),
    DeltaDisclosure("s", 1),
    BetaLikeness("s", 2),
    BetaLikeness("s", 2, enhanced=True),
    KMAnonymity(5, m=2),
    AverageRisk(0.1),
    SampleUniqueness(0.1),
)


def drawn(number: int, values: int, *, present: int) -> Classes:
    """Return classes with random histograms and four random quasi-identifiers."""
    random = np.random.default_rng(1)
    keys = np.repeat(np.arange(number), present) * values + random.integers(0, values, number * present)
    keys, records = np.unique(keys, return_counts=True)
    counts = records * random.integers(1, 9, len(keys))
    owners = keys // values
    histogram = ClassHistogram(
        attribute=SensitiveAttribute(name="s", size=values, ordered=True),
        offsets=np.searchsorted(owners, np.arange(number + 1)).astype(np.int64),
        codes=(keys % values).astype(np.int32),
        counts=counts.astype(np.int64),
    )
    sizes = np.add.reduceat(histogram.counts, histogram.offsets[:-1])
    codes = random.integers(0, 12, (number, 4)).astype(np.int32)
    return Classes(sizes=sizes, sensitive={"s": histogram}, codes=codes)


def measured(model: Model, classes: Classes) -> float:
    """Return the CPU seconds of one decision, the least of several."""
    kept = np.ones(len(classes), dtype=np.bool_)
    model.keep(classes, kept)
    times = []
    for _ in range(7):
        start = time.process_time()
        model.keep(classes, kept)
        times.append(time.process_time() - start)
    return min(times)


if __name__ == "__main__":
    main()
