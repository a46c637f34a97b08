"""Conditions and figures, one record at a time."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import shoal
from shoal.queries._cubes import Scale
from shoal.queries._records import ExactFigures
from shoal.schema import Attribute, Domain, Kind, Role, Schema
from shoal.schema.conditions import FIRST, LAST, And, Condition, In, Not, Or, Ranges, Region, Texts, ValueSet
from shoal.tables import Table

Record = Mapping[str, object]

SCHEMA = Schema(
    attributes=(
        Attribute(name="id", role=Role.IDENTIFIER),
        Attribute(name="sex", domain=Domain(values=("F", "M", "x y"))),
        Attribute(name="pain", kind=Kind.ORDINAL, domain=Domain(values=("none", "mild", "severe"))),
        Attribute(name="town"),
        Attribute(name="age", kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=100)),
        Attribute(name="income", kind=Kind.NUMERIC, domain=Domain(minimum=-50.5, maximum=1000)),
        Attribute(
            name="born", kind=Kind.DATE, domain=Domain(minimum=dt.date(1920, 1, 1), maximum=dt.date(2020, 12, 31))
        ),
    )
)


def holds(values: ValueSet, value: object) -> bool:
    """Decide membership one value at a time."""
    if value is None:
        return values.missing
    if isinstance(values, Texts):
        return (value in values.values) != values.excluded
    number = value.toordinal() if isinstance(value, dt.date) else value
    return any(a <= (number, 0) and (number, 1) <= b for a, b in values.parts)  # type: ignore[operator]


def satisfies(record: Record, condition: Condition | None) -> bool:
    if condition is None:
        return True
    if isinstance(condition, In):
        return holds(condition.values, record[condition.attribute])
    if isinstance(condition, Not):
        return not satisfies(record, condition.part)
    parts = [satisfies(record, part) for part in condition.parts]
    return all(parts) if isinstance(condition, And) else any(parts)


def inside(record: Record, region: Region) -> bool:
    return all(holds(values, record[attribute]) for attribute, values in region.items())


def unit(value: object, scale: Scale) -> int:
    number = value.toordinal() if isinstance(value, dt.date) else value
    nearest = math.floor((number - float(scale.origin)) / float(scale.step) + 0.5)  # type: ignore[operator]
    return min(max(nearest, scale.low), scale.high)


def table(records: Sequence[Record]) -> Table:
    types = {"age": pa.int64(), "income": pa.float64(), "born": pa.date32()}
    columns = {
        name: pa.array([record[name] for record in records], types.get(name, pa.string())) for name in SCHEMA.names
    }
    return shoal.read(pa.table(columns), schema=SCHEMA)


def first_record() -> Record:
    """A record without missing values, so that every column has one."""
    born = dt.date(1980, 2, 29)
    return {"id": "p0", "sex": "F", "pain": "mild", "town": "Ulm", "age": 44, "income": 12.5, "born": born}


ages, incomes = st.integers(0, 100), st.sampled_from([-50.5, -0.0, 0.0, 0.1, 12.5, 999.99, 1000.0])
days = st.dates(dt.date(1920, 1, 1), dt.date(2020, 12, 31))
towns = st.sampled_from(["Ulm", "Ülm", "", "it's", 'say "so"', "`"])
records = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.sampled_from([f"p{i}" for i in range(6)]) | st.none(),
            "sex": st.sampled_from(["F", "M", "x y", None]),
            "pain": st.sampled_from(["none", "mild", "severe", None]),
            "town": towns | st.none(),
            "age": ages | st.none(),
            "income": incomes | st.none(),
            "born": days | st.none(),
        }
    ),
    max_size=25,
).map(lambda found: [first_record(), *found])


@st.composite
def _ranges(draw: st.DrawFn, numbers: st.SearchStrategy[float]) -> Ranges:
    ends = draw(st.sets(st.tuples(numbers, st.sampled_from([0, 1])) | st.sampled_from([FIRST, LAST]), max_size=4))
    ascending = sorted(ends)
    return Ranges(tuple(zip(ascending[::2], ascending[1::2], strict=False)), draw(st.booleans()))


def _texts(values: st.SearchStrategy[str]) -> st.SearchStrategy[Texts]:
    return st.builds(Texts, st.frozensets(values, max_size=3), st.booleans(), st.booleans())


leaves = st.one_of(
    st.builds(In, st.just("sex"), _texts(st.sampled_from(["F", "M", "x y"]))),
    st.builds(In, st.just("pain"), _texts(st.sampled_from(["none", "mild", "severe"]))),
    st.builds(In, st.just("town"), _texts(towns)),
    st.builds(In, st.just("age"), _ranges(ages.map(float))),
    st.builds(In, st.just("income"), _ranges(incomes)),
    st.builds(In, st.just("born"), _ranges(days.map(lambda day: float(day.toordinal())))),
)
conditions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(And, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(Or, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(Not, inner),
    ),
    max_leaves=6,
)


AGES = Scale.between(Fraction(0), Fraction(100), origin=Fraction(50), step=Fraction(7))
INCOMES = Scale.between(Fraction(-101, 2), Fraction(1000), origin=Fraction(0), step=Fraction(1, 4))
DAYS = Scale.between(Fraction(700_000), Fraction(738_000), origin=Fraction(700_000), step=Fraction(1000))

SCALES = {"age": AGES, "income": INCOMES, "born": DAYS}


def figures(made: ExactFigures, where: Condition | None) -> dict[str, Any]:
    return {
        "count": made.count(where),
        "total": [made.total(where, name, scale) for name, scale in SCALES.items()],
        "tally": made.tally(where, "age", AGES),
        "edges": made.tally_between(where, "income", [-50.5, 0.0, 0.1, 12.5, 1000.0]),
        "texts": made.tally_texts(where, "town", ["Ulm", "", "never", None]),
    }


def look_ups(made: ExactFigures, persons: int) -> list[list[object]]:
    return [[made.value_of("id", f"p{i}", name) for name in ("sex", "age", "born")] for i in range(persons)]


def expected(records: Sequence[Record], where: Condition | None) -> dict[str, Any]:
    chosen = [record for record in records if satisfies(record, where)]

    def present(name: str) -> list[Any]:
        return [record[name] for record in chosen if record[name] is not None]

    def total(name: str, scale: Scale) -> tuple[int, int]:
        return sum(unit(value, scale) for value in present(name)), len(present(name))

    tally = Counter(unit(value, AGES) for value in present("age"))
    edges = [-50.5, 0.0, 0.1, 12.5, 1000.0]
    towns = Counter(record["town"] for record in chosen)

    return {
        "count": len(chosen),
        "total": [total(name, scale) for name, scale in SCALES.items()],
        "tally": [tally[i] for i in range(AGES.low, AGES.high + 1)],
        "edges": [sum(a <= x < b for x in present("income")) for a, b in pairwise(edges)],
        "texts": [towns[value] for value in ("Ulm", "", "never", None)],
    }


def expected_look_ups(records: Sequence[Record], persons: int) -> list[list[object]]:
    def value_of(person: str, name: str) -> object:
        found = [record for record in records if record["id"] == person]
        value = found[0][name] if len(found) == 1 else None
        if value is None or isinstance(value, str):
            return value
        return float(value.toordinal() if hasattr(value, "toordinal") else value)

    return [[value_of(f"p{i}", name) for name in ("sex", "age", "born")] for i in range(persons)]
