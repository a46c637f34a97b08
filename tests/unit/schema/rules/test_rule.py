from __future__ import annotations

import pytest

from shoal.errors import HierarchyError
from shoal.schema import Cuts, Dates, Flat, FromFile, Groups, Intervals, Mask, Quantiles, Taxonomy


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: Intervals(widths=()), "at least one"),
        (lambda: Intervals(widths=(0,)), "positive"),
        (lambda: Intervals(widths=(-1,)), "positive"),
        (lambda: Intervals(widths=(float("nan"),)), "positive"),
        (lambda: Intervals(widths=(2, 3)), "multiple"),
        (lambda: Intervals(widths=(5, 5)), "multiple"),
        (lambda: Intervals(widths=(10, 5)), "multiple"),
        (lambda: Intervals(widths=(5,), origin=float("inf")), "finite"),
        (lambda: Cuts(levels=()), "at least one"),
        (lambda: Cuts(levels=((1,), ())), "at least one"),
        (lambda: Cuts(levels=((2, 1),)), "ascending"),
        (lambda: Cuts(levels=((1, float("inf")),)), "finite"),
        (lambda: Cuts(levels=((1, 2), (3,))), "some, not all"),
        (lambda: Cuts(levels=((1, 2), (1, 2))), "some, not all"),
        (lambda: Quantiles(counts=()), "divisor"),
        (lambda: Quantiles(counts=(1,)), "at least 2"),
        (lambda: Quantiles(counts=(10, 4)), "divisor"),
        (lambda: Quantiles(counts=(4, 8)), "divisor"),
        (lambda: Mask(length=0, masked=(1,)), "at least 1"),
        (lambda: Mask(length=5, masked=()), "ascending"),
        (lambda: Mask(length=5, masked=(2, 1)), "ascending"),
        (lambda: Mask(length=5, masked=(0,)), "ascending"),
        (lambda: Mask(length=5, masked=(5,)), "stay below"),
        (lambda: Mask(length=5, masked=(1,), side="top"), "`left` or `right`"),
        (lambda: Mask(length=5, masked=(1,), symbol="**"), "one character"),
        (lambda: Dates(levels=()), "ascending choice"),
        (lambda: Dates(levels=("year", "month")), "ascending choice"),
        (lambda: Dates(levels=("month", "month")), "ascending choice"),
        (lambda: Dates(levels=("week",)), "ascending choice"),
        (lambda: Groups(levels=()), "at least one group"),
        (lambda: Groups(levels=((("a", ("x",)), ("a", ("y",))),)), "a label twice"),
        (lambda: Groups(levels=((("a", ("x",)), ("b", ("x",))),)), "in two groups"),
        (lambda: Groups(levels=((("a", ()),),)), "empty group"),
        (lambda: Groups(levels=((("", ("x",)),),)), "without a label"),
        (lambda: Groups(levels=((("a", ("x",)),), (("b", ("y",)),))), "labels of level 1"),
        (lambda: Taxonomy(), "either `pairs` or `path`"),
        (lambda: Taxonomy(pairs=(("a", "b"),), path="x"), "either `pairs` or `path`"),
        (lambda: Taxonomy(pairs=(("a", "b"), ("a", "c"))), "every child once"),
        (lambda: Taxonomy(pairs=(("a", ""),)), "empty names"),
        (lambda: Taxonomy(path=""), "must not be empty"),
        (lambda: FromFile(path=""), "must not be empty"),
        (lambda: FromFile(path="x", delimiter=""), "one character"),
        (lambda: FromFile(path="x", delimiter=", "), "one character"),
        (lambda: Taxonomy(path="x", delimiter='"'), "neither a quote"),
    ],
)
def test_rules_that_make_no_sense_are_refused(make, part):
    with pytest.raises(HierarchyError, match=part):
        make()


def test_decimal_widths_are_compared_as_decimals():
    assert Intervals(widths=(0.1, 0.3)).widths == (0.1, 0.3)


def test_lists_become_tuples_at_any_depth():
    rule = Groups(levels=[[["a", ["x", "y"]]]])
    assert rule == Groups(levels=((("a", ("x", "y")),),))
    assert hash(Cuts(levels=[[1, 2]])) == hash(Cuts(levels=((1, 2),)))


def test_only_quantiles_depend_on_the_data():
    rules = [Flat, FromFile, Intervals, Cuts, Quantiles, Mask, Dates, Groups, Taxonomy]
    assert [rule for rule in rules if rule.data_dependent] == [Quantiles]
