"""Noisy data sets for persons: how far r records move the means, by all tiny tables, and what a release says."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import ParameterError, PlanError
from shoal.methods.noise import Records, insensitive
from shoal.methods.noise._sensitivity import centroid_noise, centroid_sensitivity
from shoal.schema import Attribute, Domain, Schema

WIDTH, K = 3, 2


def means(rows: tuple[tuple[int, ...], ...], points: int) -> np.ndarray:
    """Return the means of all clusters, in their order."""
    values = np.array(rows, dtype=float)
    columns = values.shape[1]
    records = Records(numeric=values, lower=[0] * columns, upper=[WIDTH] * columns)
    partition = insensitive(records, K, reference_points=points)
    return np.stack([values[rows].mean(axis=0) for rows in partition.clusters()])


@pytest.mark.slow
@pytest.mark.parametrize("records", [1, 2, 3])
def test_no_person_moves_the_means_of_one_column_by_more_than_the_noise_covers(records: int) -> None:
    """All tables of six records on a grid of four values whose first person changes all records."""
    rest = [(1,), (2,), (3,), (0,), (2,)][: 6 - records]
    worst = 0.0
    for before, after in product(product(range(WIDTH + 1), repeat=records), repeat=2):
        first, second = (means((*((x,) for x in own), *rest), 1) for own in (before, after))
        worst = max(worst, float(np.abs(first - second).sum()))
    covered = records * centroid_sensitivity("original", width=Fraction(WIDTH), size=K, clusters=3, natural_order=True)
    assert worst <= float(covered)
    assert worst > float(covered) / 2  # no idle test


def test_no_person_moves_the_means_of_two_columns_by_more_than_the_noise_covers() -> None:
    cells = list(product((0, 3), repeat=2))
    rest = ((0, 1), (3, 2), (1, 3), (2, 0))
    clusters, worst = 3, 0.0
    for before, after in product(product(cells, repeat=2), repeat=2):
        first, second = (means((*own, *rest), 2) for own in (before, after))
        worst = max(worst, *np.abs(first - second).sum(axis=0).tolist())
    assert worst <= 2 * float(centroid_sensitivity("original", width=Fraction(WIDTH), size=K, clusters=clusters))


# -- the method

AGE = Attribute(name="age", role="quasi-identifier", kind="numeric", domain=Domain(minimum=0, maximum=100))
WARD = Attribute(name="ward", role="sensitive", domain=Domain(values=("a", "b", "c")))
SCHEMA = Schema(attributes=(Attribute(name="patient", role="person"), AGE, WARD))


def release(*, records: int | None = None, **settings: object) -> shoal.Release:
    rows = [(f"p{i}", (7 * i + v) % 101, "abc"[v % 3]) for i in range(60) for v in range(1 + i % 4)]
    table = pa.table(dict(zip(("patient", "age", "ward"), map(list, zip(*rows, strict=True)), strict=True)))
    budget = shoal.methods.noise.EpsilonBudget(3, records_per_person=records)
    method = shoal.methods.DPMicroaggregation(k=10, **settings)  # type: ignore[arg-type]
    return shoal.anonymize(shoal.read(table).with_schema(SCHEMA), budget, method=method)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("records", "kept", "neighbours"),
    [
        (None, 60, "replace one person with all records; the number of persons is public"),
        (2, 105, "replace all records of one person by as many; the number of each person's is public"),
    ],
)
@pytest.mark.parametrize("target", ["original", "partition"])
def test_a_release_says_whose_privacy_it_is_and_verifies(
    records: int | None, kept: int, neighbours: str, target: str, tmp_path: Path
) -> None:
    made = release(records=records, target=target)
    (promise,) = made.guarantee.promises
    assert (made.records, promise.unit, str(promise.neighbours)) == (kept, "person", neighbours)
    assert promise.parameters["records_per_person"] == (records or 1)
    made.write(tmp_path / "release")
    checks = {each.subject: each for each in shoal.verify(tmp_path / "release").checks}
    assert all(each.passed for each in checks.values())
    assert "no file can show" in checks[f"{promise.model}, unit"].detail
    assert [check.shown for check in checks.values() if check.promise] == [False]


@pytest.mark.parametrize("records", [1, 2, 5])
def test_the_noise_is_that_of_a_record_at_a_part_of_epsilon(records: int) -> None:
    made = release(records=records, noise="laplace")
    (noised,) = (each.to_json() for each in made.guarantee.events if each.name == "noised")
    share = Fraction(str(noised["share"]))
    assert share == Fraction(3, 2)
    clusters = made.records // 10
    wanted = centroid_noise(
        "original", width=Fraction(100), size=10, clusters=clusters, natural_order=False, epsilon=share / records
    )
    assert noised["noise"][0]["scale"] == pytest.approx(wanted.scale * float(wanted.grid.step))  # type: ignore[index]
    (drawn,) = (each.to_json() for each in made.guarantee.events if each.name == "concepts-drawn")
    assert Fraction(str(drawn["choice"])) == share / records / clusters


def test_the_answer_for_one_record_is_no_promise_to_a_person() -> None:
    with pytest.raises(PlanError, match="target `record-query` of `DPMicroaggregation` protects the answer for one"):
        release(target="record-query")


def test_a_number_of_records_needs_a_person_column_and_is_at_least_one() -> None:
    with pytest.raises(PlanError, match="`records_per_person` of `EpsilonBudget` needs a column that says whose"):
        shoal.Plan(
            schema=Schema(attributes=(AGE, WARD)),
            models=(shoal.methods.noise.EpsilonBudget(1, records_per_person=2),),
            method=shoal.methods.DPMicroaggregation(),
        )
    with pytest.raises(ParameterError, match="`records_per_person` of `EpsilonBudget` must be"):
        shoal.methods.noise.EpsilonBudget(1, records_per_person=0)
