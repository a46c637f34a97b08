from __future__ import annotations

import pytest

from shoal.queries import _charges
from shoal.queries._charges import Charges
from shoal.queries._loss import Loss
from shoal.schema.conditions import FIRST, LAST, Ranges, Region, Texts

ONE = Loss.of(1)
WOMEN: Region = {"sex": Texts(frozenset({"F"}))}
MEN: Region = {"sex": Texts(frozenset({"M"}))}
YOUNG: Region = {"age": Ranges(((FIRST, (40, 0)),))}
OLD: Region = {"age": Ranges((((40, 0), LAST),))}


def spent(*regions: Region) -> Loss:
    charges = Charges()
    for region in regions:
        charges.charge(ONE, region)
    return charges.spent


def test_disjoint_people_cost_the_maximum() -> None:
    assert spent(WOMEN, MEN) == ONE
    assert spent(YOUNG, OLD) == ONE
    assert spent(*({"age": Ranges((((i, 0), (i, 1)),))} for i in range(500))) == ONE


def test_the_same_people_cost_the_sum() -> None:
    assert spent(WOMEN, WOMEN) == Loss.of(2)
    assert spent(WOMEN, YOUNG) == Loss.of(2)
    assert spent({}, WOMEN, MEN) == Loss.of(2)
    assert spent(WOMEN, MEN, {}) == Loss.of(2)


def test_a_missing_value_is_somebody_too() -> None:
    missing: Region = {"sex": Texts(frozenset(), missing=True)}
    assert spent(WOMEN, MEN, missing) == ONE
    assert spent({"sex": Texts(frozenset({"F"}), excluded=True, missing=True)}, missing) == Loss.of(2)


def test_a_query_about_nobody_costs_nothing() -> None:
    assert spent({"age": Ranges(())}) == Loss()
    assert spent(WOMEN, {**MEN, "age": Ranges(())}) == ONE


def test_touching_ranges_share_nobody_and_closed_ones_do() -> None:
    up_to_40: Region = {"age": Ranges(((FIRST, (40, 1)),))}
    assert spent(up_to_40, OLD) == Loss.of(2)
    assert spent(up_to_40, {"age": Ranges((((40, 1), LAST),))}) == ONE


def test_beyond_the_limit_values_are_charged_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_charges, "LARGEST_RANGES", 4)
    monkeypatch.setattr(_charges, "LARGEST_TEXTS", 2)
    assert spent(*({"age": Ranges((((i, 0), (i, 1)),))} for i in range(4))) == Loss.of(3)
    assert spent(*({"id": Texts(frozenset({str(i)}))} for i in range(4))) == Loss.of(2)
    assert spent(
        {"id": Texts(frozenset("ab"))}, *({"id": Texts(frozenset("c"), excluded=True)} for _ in range(2))
    ) == Loss.of(3)


def test_charges_do_not_overflow() -> None:
    charges = Charges()
    for _ in range(30):
        charges.charge(Loss.of(10**6), {})
    assert charges.spent == Loss.of(10**6)
    for region in ({}, WOMEN):
        assert not charges.allows(Loss.of(10**6), region, budget=Loss.of(10**6))
        assert not charges.allows(Loss(1), region, budget=Loss.of(10**6))


def test_the_largest_budget_is_not_mistaken_for_more_than_it() -> None:
    charges, most = Charges(), Loss.of(10**6)
    charges.charge(Loss(1), {})
    assert not charges.allows(most, WOMEN, budget=most)
    charges.charge(Loss.of(10**6) - Loss(1), {})
    assert charges.spent == most
    assert not charges.allows(Loss(1), WOMEN, budget=most)
