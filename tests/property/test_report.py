"""Whatever a text holds, it comes out of a page as text."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from shoal.report._charts import column_chart
from shoal.report._document import Bar, ColumnFigures
from shoal.report._markup import clean, element, shorten
from shoal.schema import Role

TEXTS = st.text() | st.text(alphabet="<>&'\"`/=()[]\\ \n\u202e\u2066\x00\x1b\ufffea!-")


@given(TEXTS, TEXTS)
def test_text_and_attributes_come_back_as_they_were_but_for_signs_that_are_not_seen(text: str, value: str) -> None:
    tree = ET.fromstring(element("p", text, title=value))  # noqa: S314 - made here
    assert len(tree) == 0
    assert set(tree.attrib) == {"title"}
    assert (tree.text or "") == clean(text)
    # XML reads a line break in an attribute as a space
    assert tree.attrib["title"] == clean(value).replace("\n", " ")


@given(TEXTS)
def test_clean_text_holds_no_control_and_stays_as_it_is(text: str) -> None:
    once = clean(text)
    assert clean(once) == once
    assert not set(once) & set("\x00\x1b\r\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")


@given(TEXTS, st.integers(2, 50))
def test_a_shortened_text_has_one_line_and_at_most_its_length(text: str, length: int) -> None:
    short = shorten(text, length)
    assert len(short) <= length
    assert "\n" not in short


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=5))
def test_a_chart_with_any_labels_is_a_well_formed_picture_of_our_elements(name: str, labels: list[str]) -> None:
    bars = tuple(Bar(label=label, released=1 / len(labels), records=1) for label in labels)
    chart = column_chart(ColumnFigures(name=name, role=Role.SENSITIVE, distinct=len(labels), bars=bars))
    tags = {each.tag.rpartition("}")[2] for each in ET.fromstring(chart.svg(alone=True)).iter()}  # noqa: S314
    assert tags <= {"svg", "title", "style", "g", "rect", "text"}
