"""The bundled hospital table: made, not copied, and with the correlations that the documentation claims."""

from __future__ import annotations

import csv
import importlib.util
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from shoal import hierarchies, schema
from shoal.schema import Kind, Missing, Provenance

HOSPITAL = Path(__file__).parents[3] / "examples" / "hospital"
RESPIRATORY = "J00-J99 respiratory"
CHILDBIRTH = "O00-O99 pregnancy and childbirth"
PERINATAL = "P00-P96 perinatal"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    specification = importlib.util.spec_from_file_location("hospital_generate", HOSPITAL / "generate.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def table() -> list[dict[str, str]]:
    with (HOSPITAL / "discharges.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def chapters() -> dict[str, str]:
    return {row[0]: row[2] for row in hierarchy("diagnosis")}


def hierarchy(name: str) -> list[list[str]]:
    with (HOSPITAL / "hierarchies" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=";"))


def share(rows: list[dict[str, str]], of: object) -> float:
    return sum(bool(of(row)) for row in rows) / len(rows)  # type: ignore[operator]


def test_the_committed_file_is_what_the_generator_makes(generate: ModuleType, tmp_path: Path) -> None:
    generate.write(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (HOSPITAL / "discharges.csv").read_bytes()


def test_another_seed_gives_other_people(generate: ModuleType) -> None:
    (one,), (same,), (other,) = (list(generate.blocks(100, seed)) for seed in (1, 1, 2))
    assert one.equals(same)
    assert not one.drop_columns(["patient_id"]).equals(other.drop_columns(["patient_id"]))


@pytest.mark.slow
def test_parquet_and_csv_hold_the_same_rows(generate: ModuleType, tmp_path: Path) -> None:
    for name in ("a.csv", "a.parquet"):
        command = [sys.executable, HOSPITAL / "generate.py", "--rows", "50", "--seed", "3", "--output", tmp_path / name]
        subprocess.run(command, check=True)
    parquet = pyarrow.parquet.read_table(tmp_path / "a.parquet")
    assert parquet.schema.field("charge").type == pa.float64()
    assert parquet.schema.field("zip").type == pa.string()
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        text = list(csv.DictReader(file))
    for row, values in zip(text, parquet.to_pylist(), strict=True):
        charge = values.pop("charge")
        assert row.pop("charge") == ("" if charge is None else f"{charge:.2f}")
        assert row == {name: "" if value is None else str(value) for name, value in values.items()}


def test_a_table_larger_than_one_block_repeats_no_row_and_no_identifier(
    generate: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generate, "BLOCK", 400)
    made = pa.concat_tables(generate.blocks(1000, 5))
    assert made.num_rows == 1000
    assert len(made["patient_id"].unique()) == 1000
    assert made.slice(0, 400)["charge"] != made.slice(400, 400)["charge"]


def test_no_rows_is_a_table_with_a_header(generate: ModuleType, tmp_path: Path) -> None:
    generate.write(tmp_path / "none.csv", rows=0)
    generate.write(tmp_path / "none.parquet", rows=0)
    assert (tmp_path / "none.csv").read_text().startswith("patient_id,name,age")
    assert len((tmp_path / "none.csv").read_text().splitlines()) == 1
    assert pyarrow.parquet.read_table(tmp_path / "none.parquet").num_rows == 0


def test_every_patient_has_an_identifier_of_their_own(table: list[dict[str, str]]) -> None:
    assert len({row["patient_id"] for row in table}) == len(table) == 10_000


def test_every_value_lies_in_its_hierarchy_or_bounds(table: list[dict[str, str]]) -> None:
    zips, codes = ({row[0] for row in hierarchy(name)} for name in ("zip", "diagnosis"))
    for row in table:
        assert row["zip"] in zips | {""}
        assert row["diagnosis"] in codes
        assert row["sex"] in ("F", "M")
        assert 0 <= int(row["age"]) <= 99
        assert "2024-01-01" <= row["admission_date"] <= "2025-12-31"
        assert 1 <= int(row["length_of_stay"]) <= 120
        assert row["charge"] == "" or 100 <= float(row["charge"]) <= 2_000_000
    assert {row["zip"] for row in table} == zips | {""}
    assert {row["diagnosis"] for row in table} == codes


@pytest.mark.parametrize("name", ["zip", "diagnosis"])
def test_a_hierarchy_is_nested_and_ends_with_one_value(name: str) -> None:
    rows = hierarchy(name)
    assert len({row[0] for row in rows}) == len(rows)
    assert {row[-1] for row in rows} == {"*"}
    for level in range(len(rows[0]) - 1):
        assert len({(row[level], row[level + 1]) for row in rows}) == len({row[level] for row in rows})


def test_leading_zeros_and_missing_values_occur_as_often_as_said(table: list[dict[str, str]]) -> None:
    assert share(table, lambda row: row["zip"].startswith("0")) > 0.3
    assert 0.01 < share(table, lambda row: row["zip"] == "") < 0.02
    assert 5 < sum(row["charge"] == "" for row in table) < 60
    assert not any(row[name] == "" for row in table for name in row if name not in ("zip", "charge"))


def test_a_few_towns_hold_most_people(table: list[dict[str, str]]) -> None:
    sizes = sorted(Counter(row["zip"] for row in table if row["zip"]).values(), reverse=True)
    assert sum(sizes[:15]) > 0.35 * sum(sizes)


def test_births_are_of_women_of_sensible_ages_and_newborns_are_newborn(
    table: list[dict[str, str]], chapters: dict[str, str]
) -> None:
    mothers = [row for row in table if chapters[row["diagnosis"]] == CHILDBIRTH]
    newborns = [row for row in table if row["diagnosis"] == "Z38" or chapters[row["diagnosis"]] == PERINATAL]
    assert {row["sex"] for row in mothers} == {"F"}
    assert {15 <= int(row["age"]) <= 47 for row in mothers} == {True}
    assert {row["age"] for row in newborns} == {"0"}
    assert 0.8 < len(newborns) / len(mothers) < 1.2


def test_diagnoses_of_one_sex_occur_in_that_sex_only(table: list[dict[str, str]]) -> None:
    assert {row["sex"] for row in table if row["diagnosis"] in ("C61", "N40")} == {"M"}
    assert {row["sex"] for row in table if row["diagnosis"] in ("D25", "N81")} == {"F"}


def test_ages_have_one_peak_at_birth_and_one_in_old_age(table: list[dict[str, str]]) -> None:
    decades = Counter(int(row["age"]) // 10 for row in table)
    assert decades[0] > 3 * decades[1]
    assert max(decades, key=decades.__getitem__) in (6, 7)
    assert decades[9] < decades[8] < decades[7]


def test_respiratory_diagnoses_are_a_winter_matter(table: list[dict[str, str]], chapters: dict[str, str]) -> None:
    def respiratory(months: set[str]) -> float:
        rows = [row for row in table if row["admission_date"][5:7] in months]
        return share(rows, lambda row: chapters[row["diagnosis"]] == RESPIRATORY)

    assert respiratory({"12", "01", "02"}) > 1.8 * respiratory({"06", "07", "08"})


def test_stays_grow_with_age_and_charges_with_the_stay(table: list[dict[str, str]]) -> None:
    heart_failure = [row for row in table if row["diagnosis"] in ("A41", "I50", "J18", "N17") and row["charge"]]
    age, stay, charge = (np.array([float(r[c]) for r in heart_failure]) for c in ("age", "length_of_stay", "charge"))
    assert stay[age >= 75].mean() > 1.05 * stay[age < 60].mean()
    assert np.corrcoef(np.log(stay), np.log(charge))[0, 1] > 0.4


def test_regions_differ_in_age(table: list[dict[str, str]]) -> None:
    regions = {row[0]: row[3] for row in hierarchy("zip")}
    ages = {region: [int(r["age"]) for r in table if regions.get(r["zip"]) == region] for region in regions.values()}
    assert np.mean(ages["Plains"]) > np.mean(ages["Harbour"]) + 4


def test_a_negative_number_of_rows_is_refused() -> None:
    command = [sys.executable, HOSPITAL / "generate.py", "--rows", "-1"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 2
    assert "--rows must be in" in finished.stderr


def test_the_schema_describes_the_columns_in_their_order(table: list[dict[str, str]]) -> None:
    described = schema.load(HOSPITAL / "discharges.schema.toml")
    assert described.names == tuple(table[0])
    assert described.identifiers == ("patient_id", "name")
    assert described.quasi_identifiers == ("age", "sex", "zip", "admission_date")
    assert described.sensitive == ("diagnosis", "length_of_stay", "charge")
    assert not described.guessed


def test_every_released_column_has_a_declared_hierarchy_that_holds_all_values(table: list[dict[str, str]]) -> None:
    described = schema.load(HOSPITAL / "discharges.schema.toml")
    for attribute in described:
        if attribute.name in described.identifiers:
            continue
        texts = sorted({row[attribute.name] for row in table} - {""})
        values = pa.array(texts)
        if attribute.kind is Kind.NUMERIC:
            values = values.cast(pa.float64())
        elif attribute.kind is Kind.DATE:
            values = values.cast(pa.date32())
        missing = attribute.missing is Missing.CATEGORY
        made = hierarchies.build(attribute, values, folder=described.folder, missing=missing)
        assert made.provenance is Provenance.DECLARED
        assert hierarchies.outside(made, values) is None
        assert made.levels >= 2
