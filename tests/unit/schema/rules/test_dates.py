from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from shoal.hierarchies import build, outside
from shoal.schema import Attribute, Dates, Domain, Kind

DAYS = pa.array([dt.date(2024, 5, 6), dt.date(1969, 12, 31), dt.date(2024, 4, 1), dt.date(2021, 1, 1)])


def made(values, *levels, domain=None):
    rule = Dates(levels=levels) if levels else Dates()
    return build(Attribute(name="d", kind=Kind.DATE, hierarchy=rule, domain=domain), values)


def test_days_become_months_quarters_years_and_decades():
    hierarchy = made(DAYS)
    assert hierarchy.labels == (
        ("1969-12-31", "2021-01-01", "2024-04-01", "2024-05-06"),
        ("1969-12", "2021-01", "2024-04", "2024-05"),
        ("1969-Q4", "2021-Q1", "2024-Q2"),
        ("1969", "2021", "2024"),
        ("1960s", "2020s"),
        ("*",),
    )


def test_shares_are_days_over_the_declared_domain():
    domain = Domain(minimum=dt.date(2024, 1, 15), maximum=dt.date(2025, 1, 14))
    hierarchy = made(pa.array([dt.date(2024, 1, 20), dt.date(2024, 2, 1)]), "month", "year", domain=domain)
    assert hierarchy.shares[1].tolist() == pytest.approx([17 / 365, 29 / 365])
    assert hierarchy.shares[2].tolist() == pytest.approx([352 / 365])


def test_days_after_the_declared_maximum_are_outside_and_the_last_day_is_inside():
    domain = Domain(minimum=dt.date(2024, 1, 1), maximum=dt.date(2024, 12, 31))
    stamps = pa.array(["2024-12-31T23:59:00", "2025-01-01T00:00:00"]).cast(pa.timestamp("us"))
    hierarchy = made(stamps, "day", domain=domain)
    assert hierarchy.labels == (("2024-12-31T23:59:00",), ("2024-12-31",), ("*",))
    assert outside(hierarchy, stamps) == "column `d`: 1 value is not in its declared bounds"


@pytest.mark.parametrize("kind", [pa.date64(), pa.timestamp("s"), pa.timestamp("ns"), pa.string(), pa.large_string()])
def test_every_type_of_day_makes_the_same_hierarchy(kind):
    assert made(DAYS.cast(kind)).labels == made(DAYS).labels


def test_a_stamp_at_midnight_and_its_day_are_told_apart():
    stamps = pa.array(["2024-05-06T00:00:00", "2024-05-06T10:00:00"]).cast(pa.timestamp("us"))
    assert made(stamps, "day").labels[:2] == (("2024-05-06", "2024-05-06T10:00:00"), ("2024-05-06 (level 1)",))


def test_the_first_and_last_day_of_the_calendar():
    hierarchy = made(pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31)]))
    assert hierarchy.labels[1:5] == (
        ("0001-01", "9999-12"),
        ("0001-Q1", "9999-Q4"),
        ("0001", "9999"),
        ("0000s", "9990s"),
    )


def test_one_day_covers_nothing():
    assert made(DAYS[:1], "year").shares[1].tolist() == [0]
