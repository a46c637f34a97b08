from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reference.quality import Column, Table
from shoal.models import Classes
from shoal.tables import group, tally


def test_tuples_are_gathered_into_classes_with_histograms() -> None:
    column = Column(((0, 1, 2), (0, 0, 1), (0, 0, 0)))
    table = Table((column,), (((0,), 1), ((1,), 1), ((1,), 0), ((2,), 2)))
    classes = Classes.of(table.frequencies(), np.array([0, 0, 0, 1]))
    assert classes.sizes.tolist() == [3, 1]
    histogram = classes.histogram("target")
    assert histogram.offsets.tolist() == [0, 2, 3]
    assert histogram.codes.tolist() == [0, 1, 2]
    assert histogram.counts.tolist() == [1, 2, 1]
    assert histogram.total().tolist() == [1, 2, 1]
    assert histogram.total(np.array([False, True])).tolist() == [0, 0, 1]


def test_suppressed_tuples_belong_to_no_class() -> None:
    table = Table((Column(((0, 1), (0, 0))),), (((0,), 1), ((1,), 2)))
    classes = Classes.of(table.frequencies(), np.array([-1, 0]))
    assert classes.records == 1
    assert classes.histogram("target").codes.tolist() == [2]


def test_ungeneralised_tuples_are_grouped_by_their_quasi_identifiers() -> None:
    table = Table((Column(((0, 1), (0, 0))),), (((0,), 1), ((0,), 2), ((1,), 2)))
    classes = Classes.from_tuples(table.frequencies())
    assert classes.sizes.tolist() == [2, 1]
    assert classes.codes is not None
    assert classes.codes.tolist() == [[0], [1]]


def test_no_tuples_give_no_classes() -> None:
    classes = Classes.from_tuples(Table((Column(((0, 1), (0, 0))),), ()).frequencies())
    assert len(classes) == 0
    assert classes.histogram("target").offsets.tolist() == [0]


@given(st.lists(st.lists(st.sampled_from([0, 1, 2**31 - 1]), min_size=4, max_size=4), min_size=1, max_size=20))
def test_rows_are_numbered_in_lexicographic_order_even_where_keys_would_overflow(rows: list[list[int]]) -> None:
    labels, firsts = group(np.array(rows, dtype=np.int32))
    distinct = sorted({tuple(row) for row in rows})
    assert [distinct[label] for label in labels.tolist()] == [tuple(row) for row in rows]
    assert [tuple(rows[first]) for first in firsts.tolist()] == distinct


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**58)), max_size=10))
def test_sums_are_exact_beyond_what_floats_hold(entries: list[tuple[int, int]]) -> None:
    codes = np.array([code for code, _ in entries], dtype=np.int32)
    counts = np.array([count for _, count in entries], dtype=np.int64)
    expected = [sum(count for code, count in entries if code == wanted) for wanted in range(4)]
    assert tally(codes, counts, 4).tolist() == expected
