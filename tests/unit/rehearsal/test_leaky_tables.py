"""Defaults make no release of the leaky tables that the rehearsal refuses; without what drafts know, it does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import shoal
from reference.leaky_tables import TABLES, court_records, killings_by_place, liver_patients
from shoal.schema import Draft

#: secrets that drafts make quasi-identifiers because of what they tell
TELLING = {
    liver_patients: ("bmi",),
    court_records: ("days_b_screening_arrest",),
    killings_by_place: ("p_income", "h_income", "county_income", "comp_income"),
}


def _decided(draft: Draft) -> Draft:
    """Return a draft in which what only a person can decide is left out."""
    for name in draft.undecided:
        draft = draft.with_role(name, "drop")
    return draft.with_persons("records") if draft.schema.asks_for_persons else draft


def _release(table: pa.Table, draft: Draft) -> shoal.Release:
    return shoal.anonymize(shoal.read(table).with_schema(draft.schema), k=5)


@pytest.mark.parametrize("make", TABLES, ids=lambda make: make.__name__)
def test_defaults_make_no_hollow_release(make: Callable[[], pa.Table]) -> None:
    table = make()
    found = _release(table, _decided(shoal.draft(table))).rehearse()
    assert found is None or not found.hollow


@pytest.mark.parametrize("make", TELLING, ids=lambda make: make.__name__)
def test_the_same_releases_are_hollow_without_what_drafts_know(make: Callable[[], pa.Table]) -> None:
    table, draft = make(), _decided(shoal.draft(make()))
    for name in TELLING[make]:
        assert draft.schema[name].role == "quasi-identifier"
        draft = draft.with_role(name, "sensitive")
    found = _release(table, draft).rehearse()
    assert found is not None
    assert found.hollow
    assert {*found.culprits} <= {*TELLING[make]}


def test_an_attack_of_our_own_finds_patients_only_where_the_rehearsal_does() -> None:
    """Pick the nearest body mass index among the released records whose generalised weight and height fit."""
    table = liver_patients(1_000)
    draft = _decided(shoal.draft(table))
    hollow, kept = _release(table, draft.with_role("bmi", "sensitive")), _release(table, draft)
    known = table.to_pydict()
    expected = np.array(known["weight"]) / (np.array(known["height"]) / 100) ** 2
    linked = hollow.result.record_classes[0].find()
    right = 0.0
    for number in range(linked.max() + 1):
        members = np.flatnonzero(linked == number)
        away = np.abs(expected[members][:, None] - np.array(known["bmi"])[members][None, :])
        best = away <= away.min(axis=1, keepdims=True) + 1e-9
        right += float(np.sum(np.diag(best) / best.sum(axis=1)))
    found = hollow.rehearse()
    assert found is not None
    assert right / len(linked) > 0.85
    assert found.success > 0.9 * right / len(linked)
    assert "bmi" not in [name for each in kept.result.record_classes for name in each.columns]
