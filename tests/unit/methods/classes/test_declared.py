"""The domains over which values are randomised."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from shoal.errors import HierarchyError
from shoal.methods.classes._randomize import Listed, NumberGrid, declared_domain
from shoal.schema import Attribute, Dates, Domain, FromFile, Intervals, Kind

DAYS = Domain(minimum=dt.date(2020, 1, 1), maximum=dt.date(2020, 12, 31))
PAY = Attribute(name="pay", kind=Kind.NUMERIC, domain=Domain(minimum=-1, maximum=2.5))


def test_all_days_between_the_bounds_are_the_domain_of_a_date() -> None:
    onset = Attribute(name="onset", kind=Kind.DATE, domain=DAYS, hierarchy=Dates(levels=("month", "year")))
    domain = declared_domain(onset, "randomized-response")
    assert isinstance(domain, Listed)
    assert len(domain.values) == 366
    assert domain.strange(["2020-02-29", "2021-01-01", None]) == 2
    assert domain.plain()["number of values"] == 366
    assert len(str(domain.plain()["sha256"])) == 64


def test_listed_numbers_are_compared_as_they_are_written() -> None:
    domain = declared_domain(
        Attribute(name="n", kind=Kind.NUMERIC, domain=Domain(values=("1", "2.50", "30"))), "randomized-response"
    )
    assert isinstance(domain, Listed)
    assert domain.strange(["1", "2.5", "30"]) == 0


def test_a_file_lists_the_values(tmp_path: Path) -> None:
    (tmp_path / "colours.csv").write_text("red;*\nblue;*\n")
    colour = Attribute(name="colour", hierarchy=FromFile(path="colours.csv"))
    assert declared_domain(colour, "refinement", folder=tmp_path).plain() == {"values": ["red", "blue"]}


def test_numbers_between_bounds_are_no_list() -> None:
    age = Attribute(
        name="age", kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=9), hierarchy=Intervals(widths=(5,))
    )
    with pytest.raises(HierarchyError, match="does not declare"):
        declared_domain(age, "randomized-response")


def test_grids_follow_from_the_bounds_alone() -> None:
    noise, refined = declared_domain(PAY, "noise"), declared_domain(PAY, "refinement")
    assert isinstance(noise, NumberGrid)
    assert noise.plain() == {"low": -1, "high": 2.5, "step": 0.0035, "start": 0}
    assert refined.plain() == {"low": -1, "high": 2.5, "step": 0.0035, "start": -1}
    assert noise.strange([-1.0, 2.5, 0, 0.0035, -0.007]) == 0
    assert noise.strange([-1.0035, 2.6, 0.001, float("nan"), None, "0", True]) == 7
    assert refined.strange([-0.9965, 2.5]) == 0
