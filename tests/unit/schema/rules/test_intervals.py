from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from shoal.errors import HierarchyError
from shoal.hierarchies import build
from shoal.schema import Attribute, Cuts, Domain, Intervals, Kind, Quantiles


def made(values, *, domain=None, **rule):
    attribute = Attribute(name="n", kind=Kind.NUMERIC, hierarchy=Intervals(**rule), domain=domain)
    return build(attribute, values)


def test_ages_in_five_and_ten_years():
    hierarchy = made(pa.array([34, 20, 29, 25]), widths=(5, 10))
    assert hierarchy.labels == (
        ("20", "25", "29", "34"),
        ("[20, 25)", "[25, 30)", "[30, 35)"),
        ("[20, 30)", "[30, 40)"),
        ("*",),
    )


def test_shares_are_widths_over_the_declared_domain():
    hierarchy = made(pa.array([0, 7, 119]), widths=(5, 50), domain=Domain(minimum=0, maximum=120))
    assert hierarchy.shares[1].tolist() == pytest.approx([5 / 120, 5 / 120, 5 / 120])
    assert hierarchy.shares[2].tolist() == pytest.approx([50 / 120, 20 / 120])


def test_shares_are_clipped_to_the_observed_range_where_none_is_declared():
    hierarchy = made(pa.array([18, 22, 38]), widths=(20,))
    assert hierarchy.labels[1] == ("[0, 20)", "[20, 40)")
    assert hierarchy.shares[1].tolist() == pytest.approx([2 / 20, 18 / 20])


def test_decimal_widths_have_decimal_edges():
    hierarchy = made(pa.array([0.3, 0.29, 0.7, 1.1]), widths=(0.1, 0.3))
    assert hierarchy.labels[1] == ("[0.2, 0.3)", "[0.3, 0.4)", "[0.7, 0.8)", "[1.1, 1.2)")
    assert hierarchy.labels[2] == ("[0, 0.3)", "[0.3, 0.6)", "[0.6, 0.9)", "[0.9, 1.2)")


def test_a_number_right_below_an_edge_stays_below_it():
    # 0.8999999999999999 / 0.3 is 3.0 in floating point
    hierarchy = made(pa.array([0.8999999999999999, 0.9]), widths=(0.3,))
    assert hierarchy.labels[1] == ("[0.6, 0.9)", "[0.9, 1.2)")


def test_negative_numbers_and_an_origin():
    hierarchy = made(pa.array([-1, 0, 1, 11]), widths=(10,), origin=1)
    assert hierarchy.labels[1] == ("[-9, 1)", "[1, 11)", "[11, 21)")


def test_large_whole_numbers_are_exact():
    large = 2**61
    hierarchy = made(pa.array([large - 1, large, large + 1]), widths=(2,))
    assert hierarchy.labels[1] == (f"[{large - 2}, {large})", f"[{large}, {large + 2})")


@pytest.mark.parametrize("values", [pa.array([2**63 - 1, -(2**63)]), pa.array([2**64 - 1], pa.uint64())])
def test_numbers_at_the_ends_of_their_type_are_refused_rather_than_mislabelled(values):
    with pytest.raises(HierarchyError, match="too large for intervals of width 5"):
        made(values, widths=(5,))


def test_numbers_too_large_for_the_width_are_refused_with_a_count():
    with pytest.raises(HierarchyError) as raised:
        made(pa.array([1e300, 5.0, -1e17, 1.7e308]), widths=(0.5,))
    assert str(raised.value) == ("column `n` has 3 values too large for intervals of width 0.5")


def test_widths_whose_multiples_leave_the_range_of_floats_are_refused():
    with pytest.raises(HierarchyError, match="from 1e-50 to 1e"):
        Intervals(widths=(1e308,))


def test_one_value_covers_nothing():
    assert made(pa.array([7]), widths=(5,)).shares[1].tolist() == [0]


def test_truth_values_are_numbers_in_a_numeric_column():
    assert made(pa.array([True, False]), widths=(2,)).labels == (("false", "true"), ("[0, 2)",), ("*",))


@pytest.mark.parametrize(("bottom", "top"), [(18, 82), (None, 82), (18, None), (17.5, 200), (-5, 0)])
def test_values_beyond_the_ends_are_one_value_each(bottom, top):
    values = [*range(121)]
    hierarchy = made(pa.array(values), widths=(5, 10), bottom=bottom, top=top)

    def label(value: int, width: int) -> str:
        if bottom is not None and value < bottom:
            return f"< {bottom}"
        if top is not None and value >= top:
            return f">= {top}"
        low, high = value // width * width, value // width * width + width
        low, high = low if bottom is None else max(low, bottom), high if top is None else min(high, top)
        return f"[{low}, {high})"

    for level, width in ((1, 5), (2, 10)):
        found = [hierarchy.labels[level][code] for code in hierarchy.codes[level]]
        assert found == [label(value, width) for value in values]
    assert all(0 <= share <= 1 for level in hierarchy.shares for share in level)


def test_ends_that_cross_are_refused():
    with pytest.raises(HierarchyError, match="the first below the second"):
        Intervals(widths=(5,), bottom=20, top=20)
    with pytest.raises(HierarchyError, match="must be numbers"):
        Intervals(widths=(5,), top=float("inf"))


def cut(values, levels, domain=None):
    attribute = Attribute(name="n", kind=Kind.NUMERIC, hierarchy=Cuts(levels=levels), domain=domain)
    return build(attribute, values)


def test_cut_points_start_intervals():
    hierarchy = cut(pa.array([17.5, 18, 64, 65, 90]), ((18, 40, 65), (65,)))
    assert hierarchy.labels[1:] == (("< 18", "[18, 40)", "[40, 65)", ">= 65"), ("< 65", ">= 65"), ("*",))
    assert hierarchy.codes[1].tolist() == [0, 1, 2, 3, 3]


def test_open_intervals_end_at_the_domain():
    hierarchy = cut(pa.array([0, 50, 100]), ((20, 60),), Domain(minimum=0, maximum=100))
    assert hierarchy.shares[1].tolist() == pytest.approx([0.2, 0.4, 0.4])


def test_intervals_without_a_value_do_not_appear():
    assert cut(pa.array([0, 100]), ((20, 60),)).labels[1] == ("< 20", ">= 60")


def test_cut_points_outside_the_domain_cover_nothing():
    hierarchy = cut(pa.array([30]), ((20, 60),), Domain(minimum=25, maximum=50))
    assert hierarchy.shares[1].tolist() == [1]
    assert cut(pa.array([70]), ((20, 60),), Domain(minimum=70, maximum=80)).shares[1].tolist() == [1]


def quantiles(values, *counts, records=None, domain=None):
    attribute = Attribute(name="n", kind=Kind.NUMERIC, hierarchy=Quantiles(counts=counts), domain=domain)
    return build(attribute, pa.array(values), counts=None if records is None else np.array(records))


def test_intervals_hold_equally_many_records():
    hierarchy = quantiles([4, 2, 1, 3], 4, 2)
    assert hierarchy.labels[1:] == (("< 2", "[2, 3)", "[3, 4)", ">= 4"), ("< 3", ">= 3"), ("*",))


def test_records_count_not_values():
    assert quantiles([1, 2, 3, 4], 2, records=[1, 1, 1, 9]).labels[1] == ("< 4", ">= 4")


def test_a_value_that_most_records_have_leaves_fewer_intervals():
    hierarchy = quantiles([1, 2, 3], 4, 2, records=[100, 1, 1])
    assert hierarchy.labels[1:] == (("any number",), ("any number",), ("*",))
    assert hierarchy.height == 3


def test_counts_of_declared_values_are_those_observed():
    hierarchy = quantiles([3, 1], 2, records=[1, 9], domain=Domain(values=("1", "2", "3")))
    assert hierarchy.labels[1] == ("any number",)
    assert quantiles([3, 1], 2, records=[9, 1], domain=Domain(values=("1", "2", "3"))).labels[1] == ("< 3", ">= 3")
