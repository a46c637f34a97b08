"""What closeness costs, at equal t: constructions against recoding and microaggregation with merging.

SSE: sum of squared errors of the quasi-identifiers over the total, in %, records replaced by the mean of their class
(suppressed ones by the mean of all); 0 where quasi-identifiers are released as they are. Query: median error of 1,000
random counts "two quasi-identifiers in a range and the confidential value in a bucket", relative to the count, at
least 0.5 % of the records. Seconds are those of the CPU. Pass --quick to leave out the million.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

import shoal
from shoal import tables
from shoal.errors import RequirementError
from shoal.methods.classes import HeldRecords, Partition, cluster_means, make_buckets, quasi_identifiers
from shoal.models import KAnonymity, Model, MultiplicativeCloseness, TCloseness
from shoal.schema import Attribute, FromFile, Kind, Quantiles, Role, Schema
from shoal.tables import EncodedRecords, SensitiveAttribute

DATA = Path(os.environ.get("SHOAL_DATA", Path(__file__).parents[2] / "shared" / "data"))
QUERIES, K = 1000, 5
HEADER = f"{'':<42}{'classes':>9}{'smallest':>9}{'lost':>7}{'SSE %':>8}{'query %':>9}{'seconds':>9}"


@dataclass(frozen=True)
class Case:
    """A data set with a confidential attribute."""

    name: str
    encoded: EncodedRecords
    people: HeldRecords

    @property
    def codes(self) -> np.ndarray:
        """The confidential attribute of every record."""
        return self.people.codes[:, 0].astype(np.int64)


def main() -> None:
    for case, distance in ((census(), "ordered"), (adult(), "equal")):
        print(f"\n{case.name}: {len(case.people):,} records, k = {K}\n{HEADER}")
        for t in ("0.1", "0.2", "0.3"):
            earth_mover(case, t, distance)
        for factor in ("1.5", "2", "3"):
            multiplicative(case, factor)
    if "--quick" not in sys.argv:
        million()


def earth_mover(case: Case, t: str, distance: str) -> None:
    attribute = case.people.sensitive[0]
    promises = (KAnonymity(K), TCloseness(attribute.name, t, distance=distance))  # type: ignore[arg-type]
    buckets = make_buckets(case.people.sensitive[:1], case.people.codes[:, :1], 3).numbers
    show(case, f"EMD t = {t}: recoding", recoded(case, promises, case.people.sensitive, case.people.codes), buckets)
    for strategy in ("merge-first", "closeness-first"):
        start = time.process_time()
        found = shoal.methods.TMicroaggregate(strategy=strategy).classify(case.people, promises).partition  # type: ignore[arg-type]
        seconds = time.process_time() - start
        show(case, f"EMD t = {t}: {strategy}", (found.labels, seconds), buckets)
        if strategy == "closeness-first":
            show(case, f"EMD t = {t}: {strategy}, Anatomy", (found.labels, seconds), buckets, anatomy=True)


def multiplicative(case: Case, factor: str) -> None:
    attribute = case.people.sensitive[0]
    promises = (KAnonymity(K), MultiplicativeCloseness(attribute.name, factor))
    start = time.process_time()
    found = shoal.methods.Bucketize().classify(case.people, promises)
    seconds = time.process_time() - start
    numbers = found.buckets.numbers  # type: ignore[union-attr]
    size = int(numbers.max()) + 1
    bucket = SensitiveAttribute(name=attribute.name, size=size, ordered=attribute.ordered, labels=("",) * size)
    recode = recoded(case, promises, (bucket,), numbers[:, None])
    show(case, f"factor t = {factor}: recoding of buckets", recode, numbers)
    bare = HeldRecords(
        quasi_identifiers=case.people.quasi_identifiers, sensitive=(bucket,), codes=numbers[:, None].astype(np.int32)
    )
    begin = time.process_time()
    merged = shoal.methods.TMicroaggregate(strategy="merge-first").classify(bare, promises).partition
    show(case, f"factor t = {factor}: MDAV and merging", (merged.labels, time.process_time() - begin), numbers)
    show(case, f"factor t = {factor}: bucketize", (found.partition.labels, seconds), numbers)
    show(case, f"factor t = {factor}: bucketize, Anatomy", (found.partition.labels, seconds), numbers, anatomy=True)


def recoded(
    case: Case, promises: Sequence[Model], sensitive: tuple[SensitiveAttribute, ...], codes: np.ndarray
) -> tuple[np.ndarray, float] | None:
    """Return the class of every record under the best full-domain recoding, -1 where it is suppressed."""
    frequencies = replace(
        case.encoded.frequencies, sensitive=sensitive[:1], sensitive_codes=codes[:, :1].astype(np.int32)
    )
    start = time.process_time()
    try:
        found = shoal.Generalize(suppression_limit=0.1).recode(frequencies, promises)
    except RequirementError:
        return None
    return found.recoding.classes, time.process_time() - start


def show(
    case: Case, name: str, found: tuple[np.ndarray, float] | None, buckets: np.ndarray, *, anatomy: bool = False
) -> None:
    if found is None:
        print(f"{name:<42}{'none':>9}")
        return
    labels, seconds = found
    kept = np.flatnonzero(labels >= 0)
    partition = Partition.from_names(labels[kept])
    error = 0.0 if anatomy else squared_error(case, kept, partition)
    query = query_error(case, kept, partition, buckets, anatomy=anatomy)
    lost = 1 - len(kept) / len(labels)
    print(
        f"{name:<42}{partition.count:>9,}{int(partition.sizes.min()):>9,}{lost:>7.1%}{100 * error:>8.2f}"
        f"{100 * query:>9.1f}{seconds:>9.2f}"
    )


def squared_error(case: Case, kept: np.ndarray, partition: Partition) -> float:
    points = case.people.points
    released = np.repeat(points.mean(axis=0, keepdims=True), len(points), axis=0)
    released[kept] = cluster_means(points[kept], partition)[partition.labels]
    return float(np.square(points - released).sum() / np.square(points - points.mean(axis=0)).sum())


def query_error(case: Case, kept: np.ndarray, partition: Partition, buckets: np.ndarray, *, anatomy: bool) -> float:
    """Ask for ranges of two quasi-identifiers and one bucket; classes are spread evenly over their ranges."""
    draw = np.random.default_rng(0)
    places = np.stack([ranks(column.leaves[column.places]) for column in case.people.quasi_identifiers], axis=1)
    shares = np.zeros((partition.count, int(buckets.max()) + 1))
    np.add.at(shares, (partition.labels, buckets[kept]), 1)
    order, starts = partition.order(), partition.starts()
    low = np.minimum.reduceat(places[kept][order], starts)
    high = np.maximum.reduceat(places[kept][order], starts)
    errors = []
    for _ in range(QUERIES):
        chosen = draw.choice(places.shape[1], 2, replace=False)
        begin = draw.uniform(0, 0.5, 2)
        end = begin + 0.5
        bucket = int(draw.integers(0, shares.shape[1]))
        inside = ((places[:, chosen] >= begin) & (places[:, chosen] <= end)).all(axis=1)
        truth = int(np.count_nonzero(inside & (buckets == bucket)))
        if anatomy:
            people = np.bincount(partition.labels, weights=inside[kept], minlength=partition.count)
            estimate = float((people * shares[:, bucket] / partition.sizes).sum())
        else:
            width = np.maximum(high[:, chosen] - low[:, chosen], 1e-9)
            overlap = np.minimum(high[:, chosen], end) - np.maximum(low[:, chosen], begin)
            part = np.clip(np.where(width > 1e-8, overlap / width, (overlap >= 0).astype(float)), 0, 1).prod(axis=1)
            estimate = float((part * shares[:, bucket]).sum()) * len(places) / len(kept)
        errors.append(abs(estimate - truth) / max(truth, 0.005 * len(places)))
    return float(np.median(errors))


def ranks(leaves: np.ndarray) -> np.ndarray:
    """Return the mid-rank of every record's value, in [0, 1]."""
    sizes = np.bincount(leaves)
    return np.asarray(((np.cumsum(sizes) - sizes / 2) / len(leaves))[leaves])


def case_of(name: str, rows: pa.Table, schema: Schema) -> Case:
    table = shoal.read(rows).with_schema(schema)
    encoded = tables.encode_records(table, sensitive=schema.sensitive)
    people = HeldRecords(
        quasi_identifiers=quasi_identifiers(schema, encoded),
        sensitive=encoded.sensitive,
        codes=encoded.sensitive_codes,
    )
    return Case(name=name, encoded=encoded, people=people)


def census() -> Case:
    rows = shoal.read(DATA / "census" / "census.csv").to_arrow()
    names = ("EMCONTRB", "PTOTVAL", "TAXINC", "POTHVAL", "INTVAL", "FICA")
    rule = Quantiles(counts=(32, 16, 8, 4, 2))
    attributes = [Attribute(name=name, role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC, hierarchy=rule) for name in names]
    attributes.append(Attribute(name="FEDTAX", role=Role.SENSITIVE, kind=Kind.NUMERIC))
    return case_of("Census, FEDTAX", rows.select([*names, "FEDTAX"]), Schema(attributes=tuple(attributes)))


def adult() -> Case:
    rows = shoal.read(DATA / "adult" / "adult.csv").to_arrow()
    names = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")
    attributes = [
        Attribute(
            name=name,
            role=Role.QUASI_IDENTIFIER,
            kind=Kind.NUMERIC if name == "age" else Kind.CATEGORICAL,
            hierarchy=FromFile(path=f"adult_hierarchy_{name}.csv"),
        )
        for name in names
    ]
    occupation = FromFile(path="adult_hierarchy_occupation.csv")
    attributes.append(Attribute(name="occupation", role=Role.SENSITIVE, hierarchy=occupation))
    schema = Schema(attributes=tuple(attributes), folder=DATA / "adult")
    return case_of("Adult, occupation", rows.select([*names, "occupation"]), schema)


def million() -> None:
    draw, records = np.random.default_rng(0), 1_000_000
    age = draw.integers(18, 90, records)
    rows = pa.table(
        {
            "age": age,
            "income": np.round(np.exp(draw.normal(10, 0.5, records) + age / 200)),
            "zip": draw.integers(10_000, 10_500, records).astype(str),
            "sex": np.array(["f", "m"])[draw.integers(0, 2, records)],
            "education": draw.integers(0, 16, records).astype(str),
            "hours": draw.integers(1, 80, records),
            "children": draw.poisson(1.5, records),
            "height": np.round(draw.normal(170, 10, records), 1),
            "charge": np.round(draw.gamma(2, 500, records) + age * 20, 2),
        }
    )
    kinds = {"zip": Kind.CATEGORICAL, "sex": Kind.CATEGORICAL, "education": Kind.CATEGORICAL}
    attributes = tuple(
        Attribute(
            name=name,
            role=Role.SENSITIVE if name == "charge" else Role.QUASI_IDENTIFIER,
            kind=kinds.get(name, Kind.NUMERIC),
        )
        for name in rows.column_names
    )
    table = shoal.read(rows).with_schema(Schema(attributes=attributes))
    promises = (KAnonymity(10), MultiplicativeCloseness("charge", 2))
    print("\n1,000,000 records, 8 quasi-identifiers, factor t = 2, k = 10: wall and CPU seconds, written and verified")
    for form in ("anatomy", "permuted", "generalized", "microaggregated"):
        wall, cpu = time.perf_counter(), time.process_time()
        release = shoal.anonymize(table, *promises, method=shoal.methods.Bucketize(form=form))  # type: ignore[arg-type]
        with tempfile.TemporaryDirectory() as folder:
            release.write(Path(folder) / "release")
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{form:<20}{time.perf_counter() - wall:>8.1f}{time.process_time() - cpu:>8.1f}   at most {used:,.0f} MiB"
        )


if __name__ == "__main__":
    main()
