"""Conditions and figures, one record at a time."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence

import pyarrow as pa
from hypothesis import strategies as st

import shoal
from shoal.queries._conditions import And, Condition, In, Not, Or
from shoal.queries._records import Scale
from shoal.queries._regions import FIRST, LAST, Ranges, Region, Texts, ValueSet
from shoal.schema import Attribute, Domain, Kind, Role, Schema
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
