"""k-map, against asking every released record about every person."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from reference.examples import examples
from shoal.errors import SchemaError
from shoal.risk import k_map

SCHEMA = shoal.Schema(
    attributes=(
        shoal.Attribute(name="age", role="quasi-identifier", kind="numeric"),
        shoal.Attribute(name="town", role="quasi-identifier"),
        shoal.Attribute(name="illness", role="sensitive"),
    )
)
TOWNS = ("a", "b", "c")


@pytest.mark.slow
@examples(25)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from(TOWNS)), min_size=1, max_size=30),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from((*TOWNS, "*"))), min_size=1, max_size=10),
)
def test_it_is_the_least_number_of_people_that_fit(people: list, released: list) -> None:
    population = shoal.read(pa.table({"age": [age for age, _ in people], "town": [town for _, town in people]}))
    ranges = [(min(a, b), max(a, b), town) for a, b, town in released]
    ages = sorted({age for age, _ in people})
    # ends that the population holds, as a method would release them
    known = [
        (a, b, town) for a, b, town in ranges if a in ages and b in ages and town in {*(t for _, t in people), "*"}
    ]
    if not known:
        return
    table = shoal.read(
        pa.table({"age": [f"[{a}, {b}]" if a < b else str(a) for a, b, _ in known], "town": [t for *_, t in known]})
    )
    found = k_map(table, population, SCHEMA)
    fits = [sum(a <= age <= b and town in ("*", home) for age, home in people) for a, b, town in known]
    assert found.k == min((fit for fit in fits if fit), default=0)
    assert found.unmatched == sum(not fit for fit in fits)
    assert found.people == len(people)


def test_the_risk_is_measured_against_the_population() -> None:
    population = shoal.read(pa.table({"age": [1, 1, 1, 2], "town": ["a"] * 4, "extra": [0, 0, 0, 0]}))
    released = shoal.read(pa.table({"age": [1, 2], "town": ["a", "a"], "illness": ["flu", "flu"]}))
    found = k_map(released, population, SCHEMA)
    assert (found.k, found.reidentification.prosecutor, found.reidentification.journalist) == (1, 1.0, 1.0)
    assert found.reidentification.marketer == pytest.approx((1 / 3 + 1) / 2)


def test_a_release_without_quasi_identifiers_is_refused() -> None:
    table = shoal.read(pa.table({"illness": ["flu"]}))
    with pytest.raises(SchemaError, match="none of the schema's quasi-identifiers"):
        k_map(table, table, SCHEMA)
