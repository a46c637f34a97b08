from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from shoal.errors import HierarchyError
from shoal.hierarchies import Hierarchy, build, leaf_codes, outside
from shoal.schema import (
    Attribute,
    Cuts,
    Dates,
    Domain,
    Flat,
    Groups,
    Intervals,
    Kind,
    Mask,
    Provenance,
    Quantiles,
    Taxonomy,
)

SIZES = Groups(levels=((("small", ("s", "m")), ("large", ("l", "xl"))),))
TEN_TO_TWENTY = Domain(minimum=10, maximum=20)


def numeric(rule=None, domain=None) -> Attribute:
    return Attribute(name="n", kind=Kind.NUMERIC, hierarchy=rule, domain=domain)


def test_no_rule_means_value_then_star():
    hierarchy = build(Attribute(name="sex"), pa.array(["m", "f"]))
    assert hierarchy.labels == (("f", "m"), ("*",))
    assert [shares.tolist() for shares in hierarchy.shares] == [[0, 0], [1]]
    assert hierarchy.height == 1


def test_a_single_value_loses_nothing_below_the_top():
    hierarchy = build(Attribute(name="c", hierarchy=Mask(length=2, masked=(1,))), pa.array(["ab"]))
    assert [shares.tolist() for shares in hierarchy.shares] == [[0], [0], [1]]


def test_a_table_like_rule_keeps_leaves_that_nobody_has():
    hierarchy = build(Attribute(name="size", hierarchy=SIZES), pa.array(["m"]))
    assert hierarchy.labels[0] == ("s", "m", "l", "xl")
    assert hierarchy.provenance is Provenance.DECLARED


def test_declared_values_are_the_leaves():
    attribute = Attribute(name="sex", domain=Domain(values=("m", "f", "x")))
    hierarchy = build(attribute, pa.array(["f", "q"]))
    assert hierarchy.labels[0] == ("m", "f", "x")
    assert outside(hierarchy, pa.array(["f", "q"])) == "column `sex`: 1 value is not in its declared values"


def test_values_outside_declared_bounds_are_no_leaves():
    hierarchy = build(numeric(Intervals(widths=(5,)), TEN_TO_TWENTY), pa.array([9, 10, 20, 21]))
    assert hierarchy.labels[0] == ("10", "20")
    message = outside(hierarchy, pa.array([9, 10, 20, 21]), np.array([1, 2, 3, 4]))
    assert message == "column `n`: 2 values (in 5 records) are not in its declared bounds"


def test_declared_numbers_are_compared_as_numbers():
    attribute = numeric(domain=Domain(values=("2.0", "10", "1")))
    hierarchy = build(attribute, pa.array([1.0, 10.0]))
    assert hierarchy.labels[0] == ("1", "2", "10")
    assert leaf_codes(hierarchy, pa.array([10, 2, 3])).tolist() == [2, 1, -1]


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        (Attribute(name="c"), Provenance.INFERRED),
        (Attribute(name="c", hierarchy=Mask(length=3, masked=(1,))), Provenance.INFERRED),
        (Attribute(name="c", hierarchy=Flat(), domain=Domain(values=("1",))), Provenance.DECLARED),
        (Attribute(name="c", hierarchy=Taxonomy(pairs=(("1", "a"),))), Provenance.DECLARED),
        (numeric(Intervals(widths=(5,))), Provenance.INFERRED),
        (numeric(Intervals(widths=(5,)), Domain(minimum=0)), Provenance.INFERRED),
        (numeric(Intervals(widths=(5,)), Domain(minimum=0, maximum=9)), Provenance.DECLARED),
        (numeric(Cuts(levels=((5,),)), Domain(minimum=0, maximum=9)), Provenance.DECLARED),
        (numeric(None, Domain(minimum=0, maximum=9)), Provenance.DECLARED),
        (numeric(Quantiles(counts=(2,)), Domain(minimum=0, maximum=9)), Provenance.INFERRED),
        (numeric(Quantiles(counts=(2,)), Domain(values=("1", "2"))), Provenance.INFERRED),
    ],
)
def test_a_hierarchy_is_declared_only_if_levels_and_domain_are(attribute, expected):
    assert build(attribute, pa.array(["1"])).provenance is expected


@pytest.mark.parametrize(
    "attribute",
    [
        Attribute(name="c"),
        Attribute(name="c", hierarchy=SIZES),
        Attribute(name="c", hierarchy=Mask(length=2, masked=(1,))),
        numeric(Intervals(widths=(5, 10))),
        numeric(Cuts(levels=((5, 7), (5,)))),
        numeric(Quantiles(counts=(4, 2))),
        Attribute(name="d", kind=Kind.DATE, hierarchy=Dates()),
    ],
)
@pytest.mark.parametrize("missing", [False, True])
def test_no_values_at_all_make_a_hierarchy_of_the_same_height(attribute, missing):
    kind = {"n": pa.int64(), "d": pa.date32()}.get(attribute.name, pa.string())
    hierarchy = build(attribute, pa.nulls(3, kind), missing=missing)
    values = {"n": pa.array([5]), "d": pa.array([dt.date(2024, 1, 1)])}.get(attribute.name, pa.array(["s"]))
    assert hierarchy.height == build(attribute, values).height
    assert leaf_codes(hierarchy, pa.nulls(1, kind)).tolist() == [hierarchy.size - 1 if missing else -1]


def test_the_missing_leaf_is_last_and_has_no_share():
    hierarchy = build(Attribute(name="size", hierarchy=SIZES), pa.array(["m"]), missing=True)
    assert hierarchy.labels == (("s", "m", "l", "xl", None), ("small", "large", None), ("*",))
    assert [codes.tolist() for codes in hierarchy.codes] == [[0, 1, 2, 3, 4], [0, 0, 1, 1, 2], [0] * 5]
    assert hierarchy.shares[1].tolist() == [1 / 3, 1 / 3, 0]
    assert [leaves.tolist() for leaves in hierarchy.leaves] == [[1] * 5, [2, 2, 1], [5]]
    assert leaf_codes(hierarchy, pa.array(["xl", None, "?"])).tolist() == [3, 4, -1]


def test_null_is_never_outside():
    assert outside(build(Attribute(name="a"), pa.array(["x"])), pa.array([None, "x"])) is None


def test_values_with_the_same_text_are_one_leaf():
    hierarchy = build(numeric(Quantiles(counts=(2,))), pa.array([0.0, -0.0, 3.0]), counts=np.array([1, 1, 5]))
    assert hierarchy.labels[0] == ("0", "3")
    twice = build(Attribute(name="a"), pa.array(["x", "x", "y"]))
    assert twice.labels[0] == ("x", "y")


def test_whole_numbers_of_categorical_columns_are_in_numeric_order():
    assert build(Attribute(name="a"), pa.array([10, 9, 100])).labels[0] == ("9", "10", "100")


def test_text_that_reads_as_numbers_stays_as_it_is_and_is_sorted_by_number():
    hierarchy = build(numeric(Intervals(widths=(10,))), pa.array(["10", "9.50", "+2", "1e1", ".5", "3."]))
    assert hierarchy.labels[0] == (".5", "+2", "3.", "9.50", "10", "1e1")
    assert hierarchy.labels[1] == ("[0, 10)", "[10, 20)")


@pytest.mark.parametrize(
    ("attribute", "values", "message"),
    [
        (numeric(), pa.array(["canary", "1", "canary2"]), "column `n`: 2 of 3 values are not numbers"),
        (numeric(), pa.array([1.0, float("nan"), float("inf")]), "column `n`: 2 of 3 values are not finite numbers"),
        (numeric(), pa.array(["1e999"]), "column `n`: 1 of 1 values are not finite numbers"),
        (numeric(), pa.array([dt.date(2024, 1, 1)]), "column `n`: its values are of type date32[day], not numbers"),
        (
            Attribute(name="d", kind=Kind.DATE),
            pa.array(["2024-02-30", "2024-1-5", "canary", "2024-02-29", "2024-02-29 10:00"]),
            "column `d`: 3 of 5 values are not dates",
        ),
        (Attribute(name="d", kind=Kind.DATE), pa.array([20240101]), "column `d`: 1 of 1 values are not dates"),
        (
            Attribute(name="c", hierarchy=SIZES, domain=Domain(values=("s", "canary"))),
            pa.array(["s"]),
            "column `c`: 1 of its 2 declared values are not in its hierarchy",
        ),
        (
            Attribute(name="c", hierarchy=Mask(length=3, masked=(1,)), domain=Domain(values=("s", "canary"))),
            pa.array(["s"]),
            "column `c`: 1 of its 2 declared values are not in its hierarchy",
        ),
    ],
)
def test_values_that_are_not_what_the_kind_says_are_counted_and_never_shown(attribute, values, message):
    with pytest.raises(HierarchyError) as raised:
        build(attribute, values)
    assert message in str(raised.value)
    assert "canary" not in str(raised.value)


@pytest.mark.parametrize("kind", [Kind.CATEGORICAL, Kind.NUMERIC, Kind.DATE])
@pytest.mark.parametrize(
    "values", [pa.array([[1]]), pa.array([{"a": 1}]), pa.array([b"x"]), pa.array([dt.timedelta(1)])]
)
def test_types_that_cannot_be_generalised_are_named(kind, values):
    with pytest.raises(HierarchyError, match=r"column `x`: values of type .* cannot be written as text"):
        build(Attribute(name="x", kind=kind), values)


@pytest.mark.parametrize("kind", [Kind.CATEGORICAL, Kind.NUMERIC, Kind.DATE])
def test_a_column_without_a_type_has_the_missing_leaf_only(kind):
    assert build(Attribute(name="x", kind=kind), pa.nulls(3), missing=True).labels == ((None,), ("*",))


def test_printing_a_hierarchy_shows_no_value():
    hierarchy = build(Attribute(name="a"), pa.array(["canary"]))
    assert "canary" not in f"{hierarchy} {hierarchy!r}"
    assert repr(hierarchy) == "Hierarchy(attribute='a', values per level=(1, 1), inferred from the data)"


def test_codes_that_are_no_tree_are_refused():
    def broken(codes):
        return Hierarchy(
            attribute="a",
            labels=(("x", "y"), ("p", "q"), ("r", "s"), ("*",)),
            codes=tuple(np.array(level, dtype=np.int32) for level in codes),
            shares=(),
            leaves=(),
            provenance=Provenance.DECLARED,
        )

    with pytest.raises(HierarchyError, match="not in tree order"):
        broken([[0, 1], [1, 0], [0, 0], [0, 0]])
    with pytest.raises(HierarchyError, match="grouped at level 1 are split at level 2"):
        broken([[0, 1], [0, 0], [0, 1], [0, 0]])


def test_generalize_looks_ancestors_up():
    hierarchy = build(Attribute(name="size", hierarchy=SIZES), pa.array(["m"]))
    assert hierarchy.generalize(np.array([3, 0, 1], dtype=np.int32), 1).tolist() == [1, 0, 0]
