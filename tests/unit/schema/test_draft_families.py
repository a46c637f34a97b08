"""Drafts use relations: what follows from quasi-identifiers gets their role, copies are left out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import shoal
from reference.leaky_tables import TABLES, court_records, killings_by_place, liver_patients
from shoal.relations import find_relations
from shoal.schema import Role

RECORDS = 2_000


def test_an_index_of_weight_and_height_is_a_quasi_identifier() -> None:
    drafted = shoal.draft(liver_patients())
    assert drafted.schema["bmi"].role == "quasi-identifier"
    assert "others may know `weight`, `height`, and `bmi` = 10000 * `weight` / `height`^2" in drafted.reasons["bmi"]
    assert drafted.schema["bmi"].hierarchy is not None


def test_of_equal_columns_one_stays() -> None:
    drafted = shoal.draft(court_records())
    left_out = {name for name in drafted.schema.having(shoal.Role.DROP) if "equals" in drafted.reasons[name]}
    assert left_out == {"screening_date", "v_screening_date", "decile_score.1"}
    assert "it equals `compas_screening_date` in all records" in drafted.reasons["screening_date"]


def test_secrets_that_give_a_known_number_together_are_quasi_identifiers() -> None:
    draws = np.random.default_rng(0)
    age, debt = draws.integers(20, 60, RECORDS), draws.integers(100, 9_000, RECORDS)
    drafted = shoal.draft(pa.table({"age": age, "debt": debt, "income": debt + age}))
    assert {drafted.schema[name].role for name in ("income", "debt")} == {shoal.Role.QUASI_IDENTIFIER}
    assert "others may know `age`, and `income` = `age` + `debt`" in drafted.reasons["debt"]
    alone = shoal.draft(pa.table({"age": draws.permutation(age), "debt": debt, "income": debt + age}))
    assert {alone.schema[name].role for name in ("income", "debt")} == {shoal.Role.SENSITIVE}


def test_figures_of_a_place_are_as_telling_as_the_place() -> None:
    drafted = shoal.draft(killings_by_place())
    for name in ("p_income", "h_income", "county_income", "comp_income"):
        assert drafted.schema[name].role == "quasi-identifier", name


def test_a_copy_of_a_name_is_left_out() -> None:
    draws = np.random.default_rng(1)
    names = [f"patient-{n}" for n in draws.permutation(RECORDS)]
    drafted = shoal.draft(pa.table({"patient_id": names, "diagnosis": names, "age": draws.integers(20, 60, RECORDS)}))
    assert drafted.schema["diagnosis"].role != "sensitive"


@pytest.mark.parametrize("make", TABLES, ids=lambda make: make.__name__)
def test_the_same_table_gets_the_same_draft(make: Callable[[], pa.Table]) -> None:
    assert shoal.draft(make()).to_toml() == shoal.draft(make()).to_toml()


def test_what_follows_from_a_column_that_only_the_purpose_needs_is_found() -> None:
    draws = np.random.default_rng(2)
    index = draws.permutation(RECORDS) % 90
    table = pa.table({"zzq": index, "income": 37 * index + 500, "age": draws.integers(20, 60, RECORDS)})
    assert shoal.draft(table).schema["income"].role == "sensitive", "`zzq` is left out"
    for drafted in (shoal.draft(table, keep=["zzq", "income"]), shoal.draft(table).keeping(["zzq", "income"])):
        assert drafted.schema["income"].role == "quasi-identifier"
        assert drafted.schema["income"].hierarchy is not None
        assert "`zzq`" in drafted.reasons["income"]


def test_the_order_of_a_file_makes_no_relation() -> None:
    draws = np.random.default_rng(3)
    sex, age = draws.choice(["f", "m"], RECORDS), draws.integers(20, 60, RECORDS)
    illness = np.sort(draws.integers(0, 2, RECORDS)).astype(str)
    drafted = shoal.draft(pa.table({"sex": sex, "age": age, "illness": illness}))
    assert drafted.schema["illness"].role == "sensitive", drafted.reasons["illness"]


def test_columns_that_are_left_out_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[list[str]] = []
    find = find_relations

    def watched(records: pa.Table, **options: float) -> object:
        looked_at.append(records.column_names)
        return find(records, **options)

    monkeypatch.setattr("shoal.tables._sample.find_relations", watched)
    draws = np.random.default_rng(4)
    answers = {f"q{n}": draws.integers(0, 5, 200) for n in range(60)}
    table = pa.table({"age": draws.integers(20, 60, 200), "sex": draws.choice(["f", "m"], 200), **answers})
    shoal.draft(table, keep=["age", "sex", "q7"])
    shoal.draft(table)
    assert looked_at == [["age", "sex", "q7"], ["age", "sex"]]


def test_a_secret_that_follows_from_a_place_that_is_left_out_is_a_quasi_identifier() -> None:
    draws = np.random.default_rng(3)
    county = draws.integers(0, 60, 900)
    incomes = draws.choice(np.arange(20_000, 90_000, 137), 60, replace=False)
    table = pa.table(
        {
            "age": draws.integers(18, 90, 900),
            "sex": draws.choice(["f", "m"], 900),
            "county_id": county + 1001,
            "county_income": incomes[county],
            "outcome": draws.choice(["good", "bad"], 900),
        }
    )
    drafted = shoal.draft(table, keep=["age", "sex", "county_income", "outcome"])
    assert drafted.schema["county_income"].role is Role.QUASI_IDENTIFIER
    assert "whoever knows `county_id` knows it" in drafted.reasons["county_income"]
