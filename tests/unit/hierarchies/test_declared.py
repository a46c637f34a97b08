from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from shoal.errors import HierarchyError
from shoal.hierarchies import build, declared_leaves, leaf_codes, leaves_declared, provenance
from shoal.schema import (
    Attribute,
    Cuts,
    Dates,
    Domain,
    Flat,
    FromFile,
    Groups,
    Intervals,
    Kind,
    Mask,
    Provenance,
    Quantiles,
    Taxonomy,
)

ILLNESSES = Groups(levels=((("infection", ("flu", "cold")), ("injury", ("burn",))),))
AGES = Domain(minimum=0, maximum=120)
YEAR = Domain(minimum=dt.date(2020, 1, 1), maximum=dt.date(2020, 12, 31))


@pytest.mark.parametrize(
    ("attribute", "leaves"),
    [
        (Attribute(name="a", domain=Domain(values=("x", "y"))), ("x", "y")),
        (Attribute(name="a", kind=Kind.ORDINAL, domain=Domain(values=("low", "high"))), ("low", "high")),
        (Attribute(name="a", hierarchy=ILLNESSES), ("flu", "cold", "burn")),
        (Attribute(name="a", hierarchy=Taxonomy(pairs=(("flu", "infection"), ("cold", "infection")))), ("flu", "cold")),
        (Attribute(name="a", domain=Domain(values=("12", "13")), hierarchy=Mask(length=2, masked=(1,))), ("12", "13")),
        (Attribute(name="a", kind=Kind.NUMERIC, domain=Domain(values=("10", "2.0", "1e0"))), ("1", "2", "10")),
        (
            Attribute(name="a", kind=Kind.NUMERIC, domain=Domain(values=("3", "1")), hierarchy=Quantiles(counts=(2,))),
            ("1", "3"),
        ),
    ],
)
def test_listed_values_are_declared(attribute: Attribute, leaves: tuple[str, ...]) -> None:
    assert leaves_declared(attribute)
    assert declared_leaves(attribute) == leaves


@pytest.mark.parametrize("rule", [None, Flat(), Dates(levels=("month", "year"))])
def test_all_days_between_two_bounds_are_declared(rule: Dates | Flat | None) -> None:
    onset = Attribute(name="onset", kind=Kind.DATE, domain=YEAR, hierarchy=rule)
    assert leaves_declared(onset)
    leaves = declared_leaves(onset)
    assert (len(leaves), leaves[0], leaves[-1]) == (366, "2020-01-01", "2020-12-31")


@pytest.mark.parametrize(
    "attribute",
    [
        Attribute(name="a"),
        Attribute(name="a", hierarchy=Mask(length=3, masked=(1,))),
        Attribute(name="a", kind=Kind.NUMERIC, domain=AGES),
        Attribute(name="a", kind=Kind.NUMERIC, domain=AGES, hierarchy=Intervals(widths=(5,))),
        Attribute(name="a", kind=Kind.NUMERIC, domain=AGES, hierarchy=Cuts(levels=((18,),))),
        Attribute(name="a", kind=Kind.DATE, domain=Domain(minimum=dt.date(2020, 1, 1)), hierarchy=Dates()),
        Attribute(name="a", kind=Kind.DATE),
    ],
)
def test_bounds_and_levels_are_not_a_list_of_values(attribute: Attribute) -> None:
    assert not leaves_declared(attribute)
    with pytest.raises(HierarchyError, match="column `a`: the schema does not declare all its values"):
        declared_leaves(attribute)


def test_declared_bounds_are_not_declared_leaves() -> None:
    age = Attribute(name="age", kind=Kind.NUMERIC, domain=AGES, hierarchy=Intervals(widths=(5,)))
    assert provenance(age) is Provenance.DECLARED
    assert not leaves_declared(age)


def test_the_leaves_of_a_file_are_read_from_the_schemas_folder(tmp_path) -> None:
    (tmp_path / "n.csv").write_text("10;high;*\n2.0;low;*\n", encoding="utf-8")
    attribute = Attribute(name="n", kind=Kind.NUMERIC, hierarchy=FromFile(path="n.csv"))
    assert declared_leaves(attribute, folder=tmp_path) == ("2", "10")


def test_the_leaves_do_not_depend_on_what_was_observed() -> None:
    onset = Attribute(name="onset", kind=Kind.DATE, domain=YEAR)
    some = build(onset, pa.array([dt.date(2020, 3, 1)]))
    everything = build(onset, pa.array(declared_leaves(onset)).cast(pa.date32()))
    assert some.size == 1
    assert leaf_codes(everything, pa.array([dt.date(2020, 3, 1)])).tolist() == [60]
