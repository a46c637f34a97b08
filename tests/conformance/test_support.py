"""No unconditional promise has outputs that give one value away: what is possible does not depend on the data.

One value of one record is replaced by another of the declared domain, which occurs nowhere else in the table. The
values that can be released, the types of the columns, the files, the certificates and the errors must stay the same.
"""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

import shoal
from shoal.mechanisms import SeededSource
from shoal.schema import Attribute, Dates, Domain, Kind, Role, Schema

AGE = Attribute(
    name="age",
    role=Role.QUASI_IDENTIFIER,
    kind=Kind.NUMERIC,
    domain=Domain(minimum=0, maximum=99),
    hierarchy=shoal.schema.Intervals(widths=(10,)),
)
ONSET = Attribute(
    name="onset",
    role=Role.SENSITIVE,
    kind=Kind.DATE,
    domain=Domain(minimum=dt.date(2020, 1, 1), maximum=dt.date(2020, 12, 31)),
    hierarchy=Dates(levels=("month", "year")),
)


def _onsets(changed: dt.date, run: int) -> list[str]:
    days = [changed, *(dt.date(2020, 3, 1) + dt.timedelta(days=i % 5) for i in range(39))]
    rows = pa.table({"age": [20 + i % 4 for i in range(40)], "onset": days})
    table = shoal.read(rows).with_schema(Schema(attributes=(AGE, ONSET)))
    plan = shoal.Plan(schema=table.schema, models=(shoal.KAnonymity(5),), method=shoal.StochasticCloseness(epsilon=1))
    release = plan.run(table, source=SeededSource(run))
    return [str(value) for value in release.table.to_arrow()["onset"].to_pylist()]


@pytest.mark.parametrize("changed", [dt.date(2020, 3, 1), dt.date(2020, 9, 9)])
def test_a_day_that_nobody_else_has_is_as_possible_as_any_other(changed: dt.date) -> None:
    released = [value for run in range(6) for value in _onsets(changed, run)]
    # 240 responses, nearly uniform over 366 days: 176 different ones are expected, with a deviation below 7
    assert len({*released}) > 130
    assert {*released} <= {str(dt.date(2020, 1, 1) + dt.timedelta(days=i)) for i in range(366)}
