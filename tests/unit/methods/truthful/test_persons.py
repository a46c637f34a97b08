"""Truthful releases for persons: exact distributions of tiny neighbouring tables, and what they say of themselves."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pytest
from scipy import stats

import shoal
from shoal.errors import ParameterError, PlanError
from shoal.methods.truthful._operators import OPERATORS, Operator, Sampling, Trimming
from shoal.schema import Attribute, Domain, Schema

Persons = Sequence[str]  # of each person the classes of all records: "aab"
Distribution = Mapping[tuple[int, int], float]

BASE = ("a", "aab", "bb", "abbb", "aaaaaaaaa")
NEWCOMERS = ("a", "b", "aa", "ab", "aab", "aaa", "abb", "bbbb", "aaaabbbb")
EPSILON, DELTA = Fraction(3, 2), Fraction(1, 20)


@cache
def shown(operator: Operator, size: int) -> list[float]:
    """Return the probabilities that a class shows 0, 1, ... records, from the definition of the operator."""
    if isinstance(operator, Trimming):
        ratio = math.exp(-float(operator.record_epsilon))
        weights = {j: ratio ** abs(j - operator.m) for j in range(operator.m + 400)}
        total = sum(weights.values())
        found = [0.0] * (size + 1)
        for j, weight in weights.items():
            found[size - j if size - j >= operator.least else 0] += weight / total
        return found
    assert isinstance(operator, Sampling)
    chances = [float(each) for each in stats.binom.pmf(range(size + 1), size, float(operator.beta))]
    return [sum(chances[: operator.k]), *(p if x >= operator.k else 0.0 for x, p in enumerate(chances[1:], start=1))]


def releases(persons: Persons, operator: Operator, records: int) -> Distribution:
    """Return the probability of every release of two classes: over all choices of records, and what is shown."""
    sizes: dict[tuple[int, int], float] = {(0, 0): 1.0}
    for own in persons:
        chosen = Counter(kept.count("a") for kept in combinations(own, min(records, len(own))))
        joined: dict[tuple[int, int], float] = {}
        for (first, second), p in sizes.items():
            for a, times in chosen.items():
                key = first + a, second + min(records, len(own)) - a
                joined[key] = joined.get(key, 0.0) + p * times / chosen.total()
        sizes = joined
    found: dict[tuple[int, int], float] = {}
    for (first, second), chance in sizes.items():
        for x, p in enumerate(shown(operator, first)):
            for y, q in enumerate(shown(operator, second)):
                found[x, y] = found.get((x, y), 0.0) + p * q * chance
    return found


def excess(first: Distribution, second: Distribution) -> float:
    """Return the least delta for which both directions hold at epsilon: the hockey-stick divergence."""
    factor = math.exp(EPSILON)
    ways = ((first, second), (second, first))
    return max(sum(max(p - factor * other.get(key, 0.0), 0.0) for key, p in own.items()) for own, other in ways)


@pytest.mark.parametrize("name", list(OPERATORS))
@pytest.mark.parametrize("records", [1, 2, 3])
def test_adding_a_person_with_all_records_changes_no_more_than_is_promised(name: str, records: int) -> None:
    operator = OPERATORS[name].of(EPSILON, DELTA, definition="standard", least=1, per_person=records)
    assert operator.holds()
    for others in ((), BASE[:3], BASE, BASE * 2):
        before = releases(others, operator, records)
        assert sum(before.values()) == pytest.approx(1)
        worst = max(excess(before, releases((*others, own), operator, records)) for own in NEWCOMERS)
        assert worst <= operator.exact_delta + 1e-12 <= float(DELTA) + 2e-12


@pytest.mark.parametrize("name", list(OPERATORS))
def test_a_twin_that_does_not_enforce_the_number_of_records_breaks_the_promise(name: str) -> None:
    operator = OPERATORS[name].of(EPSILON, DELTA, definition="standard", least=1, per_person=1)
    before, after = releases(("aaaaaaaaa",), operator, 99), releases(("aaaaaaaaa", "aaaaaaaa"), operator, 99)
    assert excess(before, after) > 3 * float(DELTA)


@pytest.mark.parametrize("name", list(OPERATORS))
def test_one_record_per_person_costs_nothing(name: str) -> None:
    alone = OPERATORS[name].of(EPSILON, DELTA, definition="standard", least=1)
    assert OPERATORS[name].of(EPSILON, DELTA, definition="standard", least=1, per_person=1) == alone


def test_figures_are_rounded_to_the_safe_side() -> None:
    operator = Trimming.of(Fraction(1), Fraction(1, 10**6), definition="standard", least=1, per_person=4)
    # m = the smallest with P[M = 0] <= 1e-6 (e^(1/4) - 1) / (e - 1) at epsilon 1/4
    ratio, wanted = math.exp(-0.25), 1e-6 * math.expm1(0.25) / math.expm1(1)

    def leak(m: int) -> float:
        return ratio**m * (1 - ratio) / (1 + ratio - ratio ** (m + 1))

    assert leak(operator.m) <= wanted < leak(operator.m - 1)
    assert operator.m == 55
    assert operator.holds(Fraction(operator.exact_delta))
    stated = operator.of_a_record()["delta of a record in the trimming, rounded down"]
    assert isinstance(stated, float)
    assert wanted * (1 - 1e-12) <= stated <= wanted * (1 + 1e-15)


# -- the method

AGES = Attribute(
    name="age",
    role="quasi-identifier",
    kind="numeric",
    domain=Domain(minimum=0, maximum=99),
    hierarchy=shoal.schema.Intervals(widths=(10, 50)),
)
WHY = Attribute(name="why", role="sensitive", domain=Domain(values=("flu", "cold")))
SCHEMA = Schema(attributes=(Attribute(name="patient", role="person"), AGES, WHY))


def clinic(visits: Sequence[int]) -> pa.Table:
    """Return a table of patients with so many visits each."""
    rows = [(f"p{i}", 20 + i % 40, ("flu", "cold")[(i + v) % 2]) for i, each in enumerate(visits) for v in range(each)]
    return pa.table(dict(zip(("patient", "age", "why"), map(list, zip(*rows, strict=True)), strict=True)))


def release(visits: Sequence[int], **wanted: object) -> shoal.Release:
    table = shoal.read(clinic(visits)).with_schema(SCHEMA)
    privacy = shoal.DifferentialPrivacy(**{"epsilon": 4, "delta": 1e-4, **wanted})  # type: ignore[arg-type]
    return shoal.anonymize(table, privacy)


def test_the_promise_names_persons_and_verifies(tmp_path: Path) -> None:
    made = release([1, 2, 5] * 100, records_per_person=2)
    (promise,) = made.guarantee.promises
    assert (promise.unit, str(promise.neighbours)) == ("person", "add or remove one person with all records")
    assert promise.statement.startswith("Adding or removing any one person with all records changes")
    assert promise.parameters["records_per_person"] == 2
    assert promise.parameters["definition"] == "standard"
    assert promise.exact["epsilon of a record in the trimming"] == "49/25"
    made.write(tmp_path / "release")
    checks = {each.subject: each for each in shoal.verify(tmp_path / "release").checks}
    assert all(each.passed for each in checks.values())
    assert "no file can show that at most 2 records of each were kept" in checks["differential-privacy, unit"].detail


def test_one_record_of_every_person_is_used_where_nothing_is_said() -> None:
    made = release([1, 2, 5] * 100)
    assert made.guarantee.promises[0].parameters["records_per_person"] == 1
    assert made.private is not None
    assert made.private.records == 300


def test_a_person_with_half_of_all_records_is_one_person() -> None:
    made = release([200] + [1] * 200)
    assert made.private is not None
    assert made.private.records == 201
    assert made.records <= 201


def test_more_records_than_anybody_has_only_cost_more() -> None:
    few, many = release([2] * 2000, records_per_person=2), release([2] * 2000, records_per_person=7)
    assert few.private is not None
    assert many.private is not None
    assert few.private.records == many.private.records == 4000
    assert int(str(many.guarantee.promises[0].exact["m"])) > int(str(few.guarantee.promises[0].exact["m"]))


def test_a_class_promise_counts_persons_only_where_everybody_has_one_record() -> None:
    table = shoal.read(clinic([1, 3] * 100)).with_schema(SCHEMA)
    with pytest.raises(PlanError, match="with 2 records per person a class of what was drawn may hold fewer"):
        shoal.anonymize(
            table, shoal.DifferentialPrivacy(epsilon=4, delta=1e-4, records_per_person=2), shoal.KAnonymity(5)
        )


@pytest.mark.parametrize("records", [0, -1, 1.5, True])
def test_a_number_of_records_below_one_is_refused(records: object) -> None:
    with pytest.raises(ParameterError, match="`records_per_person` of `DifferentialPrivacy` must be"):
        shoal.DifferentialPrivacy(epsilon=1, delta=1e-6, records_per_person=records)  # type: ignore[arg-type]


def test_a_number_of_records_needs_a_person_column() -> None:
    nobody = Schema(attributes=(AGES, WHY))
    with pytest.raises(PlanError, match="`records_per_person` of `DifferentialPrivacy` needs a column that says whose"):
        shoal.Plan(schema=nobody, models=(shoal.DifferentialPrivacy(epsilon=1, delta=1e-6, records_per_person=1),))


def test_records_without_a_person_are_refused() -> None:
    rows = clinic([2] * 50).set_column(0, "patient", pa.array([None, *["x"] * 99]))
    with pytest.raises(shoal.errors.SchemaError, match="column `patient`: 1 value is missing"):
        shoal.read(rows).with_schema(SCHEMA)
