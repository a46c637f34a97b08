"""Laws of releases by microaggregation and exchange, decided on the released records alone."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from reference.examples import examples
from shoal.errors import RequirementError
from shoal.methods.classes import Clustering, HeldRecords, fine_points, quasi_identifiers
from shoal.schema import Attribute, Domain, Groups, Kind, Role, Schema
from shoal.tables import encode_records

pytestmark = pytest.mark.slow

HEALTH = ("poor", "fair", "good")
TOWNS = (("north", ("A", "B")), ("south", ("C", "D")))
SCHEMA = Schema(
    attributes=(
        Attribute(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC),
        Attribute(name="height", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC),
        Attribute(name="health", role=Role.QUASI_IDENTIFIER, kind=Kind.ORDINAL, domain=Domain(values=HEALTH)),
        Attribute(name="town", role=Role.QUASI_IDENTIFIER, hierarchy=Groups(levels=(TOWNS,))),
        Attribute(name="illness", role=Role.SENSITIVE),
        Attribute(name="charge", role=Role.SENSITIVE, kind=Kind.NUMERIC),
    )
)
QUASI, SECRET = SCHEMA.quasi_identifiers, SCHEMA.sensitive
MORE = examples(15)


@st.composite
def tables(draw: st.DrawFn) -> tuple[pa.Table, int]:
    """Draw a small table, and a k that it has records for."""
    records = draw(st.integers(1, 40))
    values: dict[str, st.SearchStrategy[Any]] = {
        "age": st.integers(0, 9),
        "height": st.none() | st.integers(0, 3).map(float),
        "health": st.sampled_from(HEALTH),
        "town": st.none() | st.sampled_from("ABCD"),
        "illness": st.none() | st.sampled_from(("flu", "cold", "burn")),
        "charge": st.none() | st.integers(0, 5),
    }
    columns = {name: draw(st.lists(each, min_size=records, max_size=records)) for name, each in values.items()}
    # a column without any value is refused
    known = {"height": 1.0, "town": "A", "illness": "flu", "charge": 1}
    columns |= {
        name: [value if columns[name][0] is None else columns[name][0], *columns[name][1:]]
        for name, value in known.items()
    }
    types = {"age": pa.int64(), "height": pa.float64(), "charge": pa.int64()}
    made = {name: pa.array(column, types.get(name, pa.string())) for name, column in columns.items()}
    return pa.table(made), draw(st.integers(1, records))


def _released(
    table: pa.Table, promise: shoal.KAnonymity | shoal.models.ProbabilisticKAnonymity, method: Any
) -> list[Any]:
    found = shoal.anonymize(shoal.read(table).with_schema(SCHEMA), promise, method=method)
    return found.table.to_arrow().to_pylist()


def _counted(rows: list[dict[str, Any]], names: tuple[str, ...]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[name] for name in names) for row in rows)


@pytest.mark.parametrize(
    "method", [shoal.methods.Mdav(), shoal.methods.Mdav(categories="points"), shoal.methods.VMdav()], ids=repr
)
@given(drawn=tables())
@MORE
def test_k_records_share_their_quasi_identifiers_and_means_are_kept(
    method: Clustering, drawn: tuple[pa.Table, int]
) -> None:
    table, k = drawn
    rows = _released(table, shoal.KAnonymity(k), method)
    assert min(_counted(rows, QUASI).values()) >= k
    assert _counted(rows, SECRET) == _counted(table.to_pylist(), SECRET)
    assert sum(row["age"] for row in rows) == pytest.approx(sum(table["age"].to_pylist()))


@pytest.mark.parametrize("categories", ["semantic", "points"])
@given(drawn=tables())
@MORE
def test_clusters_hold_k_to_2k_minus_1_records(categories: Any, drawn: tuple[pa.Table, int]) -> None:
    table, k = drawn
    encoded = encode_records(shoal.read(table).with_schema(SCHEMA), sensitive=())
    people = HeldRecords(
        quasi_identifiers=quasi_identifiers(SCHEMA, encoded), sensitive=(), codes=encoded.sensitive_codes
    )
    sizes = shoal.methods.Mdav(categories=categories).cluster(people, fine_points(people), k).sizes
    assert sizes.sum() == len(table)
    assert k <= sizes.min() <= sizes.max() <= 2 * k - 1


@given(drawn=tables())
@MORE
def test_sets_of_attributes_keep_k_each(drawn: tuple[pa.Table, int]) -> None:
    table, k = drawn
    rows = _released(table, shoal.KAnonymity(k), shoal.methods.Mdav(groups=[["age", "town"], ["height", "health"]]))
    assert min(_counted(rows, ("age", "town")).values()) >= k
    assert min(_counted(rows, ("height", "health")).values()) >= k


@given(drawn=tables())
@MORE
def test_a_swap_keeps_both_sides_as_they_are(drawn: tuple[pa.Table, int]) -> None:
    table, k = drawn
    rows, before = _released(table, shoal.models.ProbabilisticKAnonymity(k), shoal.methods.Swap()), table.to_pylist()
    assert _counted(rows, QUASI) == _counted(before, QUASI)
    assert _counted(rows, SECRET) == _counted(before, SECRET)


@given(drawn=tables())
@MORE
def test_an_exchange_of_ranks_keeps_every_column(drawn: tuple[pa.Table, int]) -> None:
    table, k = drawn
    before = table.to_pylist()
    try:
        rows = _released(table, shoal.models.ProbabilisticKAnonymity(k), shoal.methods.IndividualRankingSwap())
    except RequirementError:  # every cluster of a column has one value, which then fills it
        assert any(min(_counted(before, (name,)).values()) >= k for name in SECRET)
        return
    assert _counted(rows, QUASI) == _counted(before, QUASI)
    for name in SECRET:
        assert _counted(rows, (name,)) == _counted(before, (name,))
