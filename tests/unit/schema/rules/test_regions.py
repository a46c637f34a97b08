from __future__ import annotations

import pyarrow as pa
import pytest

from shoal.errors import HierarchyError
from shoal.hierarchies import build, leaf_codes
from shoal.schema import Attribute, Regions, loads
from shoal.schema.rules import country


def test_countries_are_grouped_by_regions():
    values = pa.array(["Austria", "DE", "FRA", "Mexico", "Atlantis"])
    hierarchy = build(Attribute(name="country", hierarchy=Regions()), values)
    codes = leaf_codes(hierarchy, values)
    part, region = ([hierarchy.labels[level][code] for code in hierarchy.generalize(codes, level)] for level in (1, 2))
    assert part == [*["Western Europe"] * 3, "Latin America and the Caribbean", "elsewhere"]
    assert region == ["Europe", "Europe", "Europe", "Americas", "elsewhere"]


def test_every_country_has_two_codes_and_a_region():
    assert country("at") == country("AUT") == country("Austria") == ("Western Europe", "Europe")
    assert country("Türkiye") == country("TR")
    assert country("nowhere") is None


def test_the_rule_stands_in_a_file():
    schema = loads('[columns.c]\nrole = "quasi-identifier"\nhierarchy = { regions = ["region"] }')
    assert schema["c"].hierarchy == Regions(levels=("region",))
    with pytest.raises(HierarchyError, match="in this order"):
        Regions(levels=("region", "sub-region"))
