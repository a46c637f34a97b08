"""The risk of a table as a page."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pyarrow as pa
import pytest

import shoal
from shoal.report import render_assessment

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def people() -> shoal.Table:
    schema = shoal.Schema(
        attributes=(
            shoal.Attribute(name="age", role="quasi-identifier", kind="numeric"),
            shoal.Attribute(name=HOSTILE, role="quasi-identifier"),
            shoal.Attribute(name="illness", role="sensitive"),
        )
    )
    rows = {
        "age": [20 + number % 7 for number in range(60)],
        HOSTILE: ["Abe", "Bree", "Canary"] * 20,
        "illness": ["flu", "cold"] * 30,
    }
    return shoal.read(pa.table(rows)).with_schema(schema)


@pytest.fixture(scope="module")
def page(people: shoal.Table) -> str:
    found = shoal.assess(people, sampling_fraction=0.1)
    return render_assessment(found, name="people.csv", attacks=shoal.risk.attack(people, people))


def test_the_page_shows_what_the_assessment_found(page: str, people: shoal.Table) -> None:
    found = shoal.assess(people)
    text = " ".join("".join(_parsed(page).itertext()).split())
    for words in (
        "60 records in people.csv",
        f"{found.reidentification.classes}classes",
        "Which columns make people stand out",
        "What a class gives away",
        "The table holds 10.0% of 600 people",
        "What intruders achieve",
        "singling out",
    ):
        assert words in text


def test_the_page_is_not_for_publication_and_needs_nothing_else(page: str) -> None:
    assert "Not for publication." in page
    assert "default-src &#x27;none&#x27;" in page
    assert not re.search(r"""(?:src|href)=["']""", page)


def test_names_do_no_harm_and_no_cell_is_shown(page: str) -> None:
    assert "<script" not in page
    assert "Canary" not in page, "quasi-identifiers are counted, not listed"


def test_parts_that_were_not_asked_for_are_left_out(people: shoal.Table) -> None:
    plain = render_assessment(shoal.assess(people), name="people.csv")
    assert "Who is unique in the population" not in plain
    assert "What intruders achieve" not in plain
    assert "no population was given" in plain


def _parsed(page: str) -> ET.Element:
    return ET.fromstring(page.removeprefix("<!DOCTYPE html>"))  # noqa: S314 - a page that was made here
