from __future__ import annotations

import datetime as dt

import pytest

from shoal.hierarchies import label_levels
from shoal.schema import Attribute, Cuts, Dates, Domain, HierarchyRule, Intervals, Mask, Quantiles, Regions

TOP_CODED = Intervals(widths=(5, 10), bottom=20, top=60)
DAYS = Domain(minimum=dt.date(2023, 1, 5), maximum=dt.date(2023, 12, 30))


@pytest.mark.parametrize(
    ("rule", "kind", "domain", "levels"),
    [
        (TOP_CODED, "numeric", Domain(minimum=18, maximum=99), {"< 20": {1, 2}, ">= 60": {1, 2}, "[55, 60)": {1}}),
        (TOP_CODED, "numeric", Domain(minimum=18, maximum=99), {"17": set(), "[10, 20)": set(), "23": {0}, "*": {3}}),
        (
            Cuts(levels=((1, 2.5), (2.5,))),
            "numeric",
            None,
            {"< 1": {1}, "< 2.5": {2}, ">= 2.5": {1, 2}, "[1, 2)": set()},
        ),
        (
            Dates(levels=("month", "year")),
            "date",
            DAYS,
            {"2023": {2}, "2022": set(), "2023-01": {1}, "2023-01-03": set()},
        ),
        (
            Dates(levels=("month", "year")),
            "date",
            DAYS,
            {"2023-02-03": {0}, "2023-Q1": set(), "2020s": set(), "x": set()},
        ),
        (Mask(length=4, masked=(1, 2)), "categorical", None, {"80**": {0, 1, 2}, "801*": {0, 1}, "80123": set()}),
        (Regions(), "categorical", None, {"Western Europe": {0, 1}, "Europe": {0, 2}, "Nowhere": {0}}),
        (Quantiles(counts=(4, 2)), "numeric", None, {"[1, 2)": {0, 1, 2}, "a": set(), "*": {3}}),
        (None, "ordinal", Domain(values=("a", "b")), {"a": {0}, "c": set(), "*": {1}}),
    ],
)
def test_levels_at_which_a_label_may_stand(
    rule: HierarchyRule | None, kind: str, domain: Domain | None, levels: dict[str, set[int]]
) -> None:
    attribute = Attribute(name="x", kind=kind, domain=domain, hierarchy=rule)  # type: ignore[arg-type]
    found = label_levels(attribute, levels)
    assert {label: {*found[label]} for label in levels} == levels
