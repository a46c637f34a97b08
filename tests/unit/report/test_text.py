"""The words that all views of a report share, and reports as text."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.exact import share
from shoal.report import Risk, band, public_report, render_text
from shoal.schema import Attribute, Role, Schema


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0%"),
        (1, "100%"),
        (1 / 2161, "0.0463%"),
        (0.2, "20.0%"),
        (0.0526, "5.26%"),
        (0.005, "0.500%"),
        (1 / 3, "33.3%"),
        (0.9996, "99.96%"),
        (1 - 1 / 2161, "99.95%"),
        (1e-6, "0.000100%"),
        (9e-7, "<0.0001%"),
        (5e-324, "<0.0001%"),
        (math.nextafter(1, 0), ">99.9999%"),
        (2.5, "250.0%"),
        (-0.012, "-1.20%"),
    ],
)
def test_a_share_has_three_digits_and_keeps_its_nature(value: float, text: str) -> None:
    assert share(value) == text


@given(st.floats(min_value=0, max_value=1))
def test_only_nothing_looks_like_nothing_and_only_all_like_all(value: float) -> None:
    text = share(value)
    shown = Fraction(text.strip("<>%")) / 100
    assert (text == "0%") == (value == 0)
    assert (text == "100%") == (value == 1)
    assert (shown == 0) == (value == 0)
    assert (shown == 1) == (value == 1)
    assert abs(shown - Fraction(value)) <= max(Fraction(value) / 199, Fraction(1, 10**6))


def test_bands_are_told_in_words() -> None:
    assert [band(1, 1), band(2, 4), band(1000, None)] == ["1", "2 to 4", "1,000 or more"]


def test_figures_of_a_billion_records_stand_below_their_headings(tmp_path: Path) -> None:
    schema = Schema(attributes=(Attribute(name="town", role=Role.QUASI_IDENTIFIER),))
    table = shoal.read(pa.table({"town": ["Ulm"] * 3})).with_schema(schema)
    document = public_report(shoal.anonymize(table, shoal.KAnonymity(k=2)).write(tmp_path / "release"))
    known = document.tables[0].risk
    assert known is not None
    figures = document.tables[0].model_copy(update={"risk": known.model_copy(update={"records": 10**9})})
    for before, records in ((known, "3"), (known.model_copy(update={"records": 10**12}), "1,000,000,000,000")):
        assert isinstance(before, Risk)
        shown = render_text(document.model_copy(update={"tables": (figures,), "before": before})).splitlines()
        start = next(place for place, line in enumerate(shown) if line.startswith("Risk, data.parquet"))
        lines = shown[start : start + 7]
        assert len({*map(len, lines)}) == 1, lines
        assert lines[0].split()[-2:] == ["before", "after"]
        assert lines[1].split() == ["records", records, "1,000,000,000"]
