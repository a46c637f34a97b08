from __future__ import annotations

import datetime as dt

import pytest

from shoal.errors import SchemaError
from shoal.schema import Attribute, Domain, Flat, Intervals, Kind, Mask, Missing, Role


def test_words_become_roles_kinds_and_policies():
    attribute = Attribute(name="a", role="sensitive", kind="numeric", missing="drop")
    assert attribute.role is Role.SENSITIVE
    assert attribute.kind is Kind.NUMERIC
    assert attribute.missing is Missing.DROP
    assert attribute == Attribute(name="a", role=Role.SENSITIVE, kind=Kind.NUMERIC, missing=Missing.DROP)


def test_wrong_words_are_all_reported_with_the_right_ones():
    with pytest.raises(SchemaError) as raised:
        Attribute(name="a", role="secret", kind="number", missing="ignore")
    assert raised.value.problems == (
        "column `a`: `role` must be one of identifier, person, household, quasi-identifier, sensitive, "
        "insensitive, weight, stratum, drop, decide",
        "column `a`: `kind` must be one of categorical, ordinal, numeric, date",
        "column `a`: `missing` must be one of category, drop, refuse",
    )


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"name": ""}, "a column must have a name"),
        ({"weight": -1.0}, "column `a`: `weight` must be in [0, inf); got -1.0"),
        ({"weight": float("nan")}, "column `a`: `weight` must be in [0, inf); got nan"),
        ({"weight": float("inf")}, "column `a`: `weight` must be in [0, inf); got inf"),
        ({"pseudonym": True}, "column `a`: `pseudonym` applies only to identifiers; this column is insensitive"),
        ({"kind": Kind.ORDINAL}, "column `a`: an ordinal column needs all its `values` in ascending order"),
        (
            {"domain": Domain(minimum=1)},
            "column `a`: `minimum` and `maximum` apply only to numeric and date columns",
        ),
        (
            {"domain": Domain(minimum=1), "kind": Kind.DATE},
            "column `a`: the bounds of a date column must be date values",
        ),
        (
            {"domain": Domain(maximum=dt.date(2024, 1, 1)), "kind": Kind.NUMERIC},
            "column `a`: the bounds of a numeric column must be numeric values",
        ),
        (
            {"hierarchy": Intervals(widths=(5,))},
            "column `a`: the hierarchy rule `intervals` works on columns of kind numeric; this column is categorical",
        ),
        (
            {"hierarchy": Mask(length=3, masked=(1,)), "kind": Kind.NUMERIC},
            "column `a`: the hierarchy rule `mask` works on columns of kind categorical or ordinal; this "
            "column is numeric",
        ),
    ],
)
def test_what_does_not_fit_is_refused(settings, problem):
    with pytest.raises(SchemaError) as raised:
        Attribute(**{"name": "a"} | settings)
    assert raised.value.problems == (problem,)


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"values": ("a", "a")}, "must not repeat"),
        ({"values": ()}, "must not be empty"),
        ({"values": ("a",), "minimum": 1}, "either `values` or"),
        ({"minimum": 2, "maximum": 1}, "must not exceed"),
        ({"minimum": float("nan")}, "must be finite"),
        ({"maximum": float("inf")}, "must be finite"),
        ({"maximum": 10**400}, "must be finite"),
        ({"minimum": 1, "maximum": dt.date(2024, 1, 1)}, "both be numbers or both be dates"),
        ({"minimum": dt.datetime(2024, 1, 1, tzinfo=dt.UTC)}, "without a time"),
    ],
)
def test_a_domain_that_makes_no_sense_is_refused(settings, part):
    with pytest.raises(SchemaError, match=part):
        Domain(**settings)


def test_a_domain_is_bounded_by_both_bounds():
    assert Domain(minimum=0, maximum=0).is_bounded
    assert not Domain(minimum=0).is_bounded
    assert not Domain(values=("a",)).is_bounded
    assert Domain(values=["a", "b"]) == Domain(values=("a", "b"))


def test_a_sampling_weight_is_a_number_that_nobody_lacks():
    weight = Attribute(name="w", role="weight")
    assert weight.kind is Kind.NUMERIC
    assert weight.missing is Missing.REFUSE
    with pytest.raises(SchemaError, match=r"a sampling weight is numeric; this column is date"):
        Attribute(name="w", role="weight", kind="date")
    with pytest.raises(SchemaError, match=r"takes no `hierarchy`"):
        Attribute(name="w", role="weight", hierarchy=Flat())
