"""Noise on the whole way through `anonymize`: right scales are accepted, 0.9 and 1.1 times are not, audits hold.

KS at n = 100,000 and chi-square at n = 20,000, alpha = 1e-6.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from reference.noise import QuickSource
from shoal.mechanisms import SYSTEM, Laplace, RandomSource
from shoal.methods.noise import Records, Target, _centroids, centroid_noise, dp_microaggregate
from shoal.methods.noise._columns import Columns
from shoal.methods.noise._make import draw
from shoal.schema import Attribute, Domain, Groups, Kind, Missing, Role, Schema
from shoal.testing.audit import audit

ALPHA = 1e-6
PAY = Attribute(
    name="pay",
    role=Role.QUASI_IDENTIFIER,
    kind=Kind.NUMERIC,
    domain=Domain(minimum=0, maximum=1000),
    missing=Missing.REFUSE,
)
TOWN = Attribute(
    name="town",
    role=Role.QUASI_IDENTIFIER,
    hierarchy=Groups(levels=((("north", ("A", "B")), ("south", ("C",))),)),
    missing=Missing.REFUSE,
)


def release(columns: dict[str, Sequence[Any]], attributes: tuple[Attribute, ...], epsilon: float, **method: Any) -> Any:
    table = shoal.read(pa.table(columns)).with_schema(Schema(attributes=attributes))
    return shoal.anonymize(
        table, shoal.methods.noise.EpsilonBudget(epsilon), method=shoal.methods.DPMicroaggregation(**method)
    )


# -- scales


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "columns", "scale"),
    [
        ("original", 1, lambda clusters, k, epsilon: 1000 / k / epsilon),  # telescopes
        ("partition", 1, lambda clusters, k, epsilon: 1000 / k / epsilon),
        ("record-query", 1, lambda clusters, k, epsilon: 1000 / k / epsilon),
        ("record-query", 2, lambda clusters, k, epsilon: 1000 / k / (epsilon / 2)),
    ],
)
def test_released_means_have_the_stated_scale(target: str, columns: int, scale: Callable[..., float]) -> None:
    from scipy.stats import kstest

    # All values are equal, so every mean is known; far from the bounds in units of the noise, so nothing is clamped.
    number, k, epsilon = 60_000, 2, 50
    names = [f"pay{j}" for j in range(columns)]
    made = release(
        {name: np.full(k * number, 500.0) for name in names},
        tuple(Attribute(name=name, role=PAY.role, kind=PAY.kind, domain=PAY.domain) for name in names),
        epsilon,
        target=target,
        k=k,
        decimals=dict.fromkeys(names, 6),
    )
    assert made.measures[f"noise of {names[0]}, share of domain"] * 1000 == pytest.approx(
        scale(number, k, epsilon), rel=1e-4
    )
    values = np.sort(made.table.to_arrow()[names[0]].to_numpy())
    noise = (values[::k] - 500.0) / scale(number, k, epsilon)  # every mean stands for k records
    assert kstest(noise, "laplace").pvalue > ALPHA
    for factor in (0.9, 1.1):
        assert kstest(noise / factor, "laplace").pvalue < ALPHA


@pytest.mark.slow
@pytest.mark.parametrize(("target", "scale"), [("original", 100 * 1000 / 40 / 50), ("partition", 1000 / 40 / 50)])
@pytest.mark.deep
def test_several_columns_clustered_together_have_the_stated_scale(target: str, scale: float) -> None:
    from scipy.stats import kstest

    # 100 clusters of 40 records, half of epsilon for each of two columns; 300 releases.
    again = drawn(2, 100, target=target, k=40, noise="laplace", decimals={"pay": 6, "rent": 6})
    released = np.concatenate([again(np.full((4000, 2), 500.0))[::40] for _ in range(300)])
    noise = (released.ravel() - 500.0) / scale
    assert len(noise) == 60_000
    assert kstest(noise, "laplace").pvalue > ALPHA
    for factor in (0.9, 1.1):
        assert kstest(noise / factor, "laplace").pvalue < ALPHA


@pytest.mark.slow
@pytest.mark.deep
def test_released_concepts_have_the_probabilities_of_the_exponential_mechanism() -> None:
    from scipy.stats import chisquare

    number, epsilon = 20_000, 4
    made = release({"town": ["A"] * number}, (TOWN,), epsilon, target="partition", k=1)
    column = made.plan.schema["town"]
    counts = Counter(made.table.to_arrow()["town"].to_pylist())
    labels, chances = probabilities(column, epsilon)
    observed = np.array([counts[label] for label in labels])
    assert chisquare(observed, number * chances).pvalue > ALPHA
    for factor in (0.9, 1.1):
        assert chisquare(observed, number * probabilities(column, epsilon * factor)[1]).pvalue < ALPHA


def probabilities(attribute: Attribute, epsilon: float) -> tuple[list[str | None], np.ndarray]:
    """Compute exp(-epsilon m / (2 Delta)) for one value A, from the ancestors of the concepts."""
    above: dict[str | None, set[str | None]] = {
        "A": {"A", "north", "*"},
        "B": {"B", "north", "*"},
        "C": {"C", "south", "*"},
        "north": {"north", "*"},
        "south": {"south", "*"},
        "*": {"*"},
        None: {None, "*"},  # a missing value is a value of its own
    }
    distances = {(a, b): np.log2(1 + len(above[a] ^ above[b]) / len(above[a] | above[b])) for a in above for b in above}
    values = ("A", "B", "C", None)
    reach = max(abs(distances[a, x] - distances[a, y]) for a in above for x in values for y in values)
    weights = np.array([np.exp(-epsilon * distances[a, "A"] / (2 * reach)) for a in above])
    return list(above), weights / weights.sum()


# -- audits


def drawn(
    columns: int, epsilon: float, delta: float = 0, *, source: RandomSource = SYSTEM, **method: Any
) -> Callable[[np.ndarray], np.ndarray]:
    """Return the way from numbers to the released table: what `anonymize` does but for reading and writing files."""
    schema = Schema(attributes=(PAY, replace(PAY, name="rent"))[:columns])
    budget = shoal.methods.noise.EpsilonBudget(epsilon, delta=delta)
    plan = shoal.Plan(schema=schema, models=(budget,), method=shoal.methods.DPMicroaggregation(**method))
    declared, bounds = Columns.of(schema), {"lower": [0.0] * columns, "upper": [1000.0] * columns}

    def released(values: np.ndarray) -> np.ndarray:
        (rows,) = draw(plan, plan.method, declared, Records(numeric=values, **bounds), source=source).files.values()
        return np.stack([rows[name].to_numpy().astype(float) for name in rows.column_names], axis=1)

    return released


#: neighbours in one number: the least record becomes the greatest, and every cluster moves
LEAST, GREATEST = np.array([[0.0], [0.0], [500.0], [500.0]]), np.array([[0.0], [500.0], [500.0], [1000.0]])


def one_number(epsilon: float) -> Callable[[np.ndarray], Hashable]:
    again = drawn(1, epsilon, k=2, decimals={"pay": 0}, source=QuickSource(91))
    return lambda values: tuple((again(values)[:, 0] // 250).astype(int).tolist())


@pytest.mark.slow
def test_the_audit_passes_releases_of_original_records() -> None:
    assert not audit(one_number(1), LEAST, GREATEST, trials=500).refutes(1)


@pytest.mark.slow
def test_the_audit_catches_noise_that_is_scaled_for_a_larger_k(monkeypatch: pytest.MonkeyPatch) -> None:
    def twin(target: Target, *, size: int, **rest: Any) -> Laplace:
        return centroid_noise(target, size=4 * size, **rest)

    monkeypatch.setattr(_centroids, "centroid_noise", twin)
    assert audit(one_number(1), LEAST, GREATEST, trials=500).refutes(1)


def turns(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return records that come, by their distance from the origin, as two low ones and two high ones in turns.

    The first record becomes the last: clusters of two like records become clusters of two unlike ones, all of them.
    """
    radius = np.linspace(600.0, 990.0, number)
    low = np.arange(number) // 2 % 2 == 0
    first = np.stack([np.where(low, radius, 0.0), np.where(low, 0.0, radius)], axis=1)
    return first, np.concatenate([first[1:], [[0.0, 1000.0]]])


def apart(released: np.ndarray) -> int:
    """Return how far the two numbers of a record are apart on average, in steps of 50."""
    return int(np.abs(released[:, 0] - released[:, 1]).mean() // 50)


@pytest.mark.slow
@pytest.mark.parametrize(("target", "refuted"), [("record-query", True), ("original", False)])
@pytest.mark.deep
def test_a_query_for_one_record_does_not_protect_the_table(target: str, refuted: bool) -> None:
    """[SC13 Prop. 8] takes noise for one cluster, and calls the whole table private by parallel composition."""
    first, second = turns(240)
    again = drawn(2, 2, target=target, k=2, reference_points=1, source=QuickSource(92))
    assert audit(lambda values: apart(again(values)), first, second, trials=100).refutes(2) is refuted


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["box", "gaussian"])
@pytest.mark.deep
def test_the_audit_catches_noise_that_does_not_cover_all_clusters(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise for clusters of 2,000 records on clusters of two: records as above, both kinds of joint noise."""
    first, second = turns(60)
    again = drawn(2, 2, 1e-5, noise=kind, k=2, reference_points=1, source=QuickSource(93))
    assert not audit(lambda values: apart(again(values)), first, second, delta=1e-5, trials=100).refutes(2)

    def twin(target: Target, *, size: int, **rest: Any) -> Any:
        return centroid_noise(target, size=1000 * size, **rest)

    monkeypatch.setattr(_centroids, "centroid_noise", twin)
    assert audit(lambda values: apart(again(values)), first, second, delta=1e-5, trials=100).refutes(2)


# Two clusters of 200 by their distance from the origin, far apart in the first column. The record at the origin becomes
# the farthest: each cluster hands a record on, and the means of both columns move by a step or nearly so.
NEAR = np.array([[0.0, 0.0]] + [[300.0, 500.0]] * 199 + [[0.0, 1000.0]] + [[880.0, 500.0]] * 199)
FAR = np.concatenate([NEAR[1:], [[1000.0, 180.0]]])
STEP = 1000 / 200


def norms(source: QuickSource) -> Callable[[np.ndarray], Hashable]:
    """Return by how many half steps the released means are nearer to those of one table than to those of the other.

    Box noise has a density that falls with the largest coordinate alone: how far the means are away, column by column,
    says all that there is to know.
    """
    centres = [values.reshape(2, 200, 2).mean(axis=1) for values in (NEAR, FAR)]

    def nearer(values: np.ndarray) -> Hashable:
        records = Records(numeric=values, lower=[0.0, 0.0], upper=[1000.0, 1000.0])
        made = dp_microaggregate(records, epsilon=2, k=200, noise="box", reference_points=1, source=source)
        means = made.parts[0].centroids.numeric
        means = means[np.argsort(means[:, 0])]
        one, other = (np.abs(means - centre).max(axis=0) for centre in centres)
        return tuple(np.rint(2 * (one - other) / STEP).astype(int).tolist())

    return nearer


@pytest.mark.slow
@pytest.mark.parametrize(("times", "refuted"), [pytest.param(1, False, marks=pytest.mark.deep), (2, True)])
def test_the_audit_catches_box_noise_of_half_the_size(
    times: int, refuted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def twin(target: Target, *, size: int, **rest: Any) -> Any:
        return centroid_noise(target, size=times * size, **rest)

    monkeypatch.setattr(_centroids, "centroid_noise", twin)
    assert audit(norms(QuickSource(times)), NEAR, FAR, trials=1_000).refutes(2) is refuted
