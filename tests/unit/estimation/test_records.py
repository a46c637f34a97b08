"""Records drawn from truthful tables: in the columns of the schema, possible, and nobody's."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import InputError, ParameterError
from shoal.estimation import ABOUT, write_records

ROWS = 6_000
SCHEMA = """
shoal = 1
impossible = ["age < 15 and marital != never", "grown = minor and job = clerk"]

[columns.age]
role = "quasi-identifier"
kind = "numeric"
minimum = 0
maximum = 99
hierarchy = { intervals = [5, 10, 20] }

[columns.grown]
role = "drop"
derived = { from = "age", cuts = [18], labels = ["minor", "adult"] }

[columns.marital]
role = "quasi-identifier"
values = ["never", "married", "widowed"]

[columns.job]
role = "quasi-identifier"
values = ["none", "clerk", "smith"]

[columns.points]
role = "drop"
kind = "numeric"
derived = { from = "job", values = { none = 1, clerk = 1.5, smith = 2 } }

[columns.onset]
role = "quasi-identifier"
kind = "date"
minimum = 2024-01-01
maximum = 2024-12-31
date_format = "dd.mm.yyyy"
missing_values = ["NN"]
hierarchy = { dates = ["month", "quarter"] }
"""


def original(seed: int = 5) -> pa.Table:
    generator = np.random.default_rng(seed)
    age = generator.integers(0, 100, ROWS)
    marital = np.where(age < 15, "never", np.array(["never", "married", "widowed"])[generator.integers(0, 3, ROWS)])
    job = np.where(age < 18, "none", np.array(["none", "clerk", "smith"])[generator.integers(0, 3, ROWS)])
    days = [dt.date(2024, 1, 1) + dt.timedelta(int(day)) for day in generator.integers(0, 366, ROWS)]
    onset = [
        "NN" if number < 0.1 else f"{day:%d.%m.%Y}" for number, day in zip(generator.random(ROWS), days, strict=True)
    ]
    grown = np.where(age < 18, "minor", "adult")
    points = np.where(job == "clerk", 1.5, np.where(job == "none", 1.0, 2.0))
    return pa.table({"age": age, "grown": grown, "marital": marital, "job": job, "points": points, "onset": onset})


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("records")
    (folder / "schema.toml").write_text(SCHEMA, encoding="utf-8")
    table = shoal.read(original(), schema=folder / "schema.toml")
    private = shoal.DifferentialPrivacy(epsilon=4, delta="1e-6")
    return shoal.anonymize(table, private, method=shoal.methods.TruthfulTables()).write(folder / "release")


@pytest.fixture(scope="module")
def estimates(release: Path) -> shoal.estimation.Estimates:
    return shoal.estimate(release, size=20_000)


def test_records_have_the_columns_and_types_of_the_schema(estimates: shoal.estimation.Estimates) -> None:
    rows = estimates.records(1_234)
    assert rows.column_names == ["age", "grown", "marital", "job", "points", "onset"]
    assert len(rows) == 1_234
    assert rows.schema.field("age").type == pa.int64()
    assert rows.schema.field("onset").type == pa.date32()
    ages, days = rows["age"].to_numpy(), [day for day in rows["onset"].to_pylist() if day is not None]
    assert 0 <= ages.min() <= ages.max() <= 99
    assert dt.date(2024, 1, 1) <= min(days) <= max(days) <= dt.date(2024, 12, 31)
    assert {*rows["marital"].to_pylist()} <= {"never", "married", "widowed"}


def test_no_record_is_impossible_and_derived_columns_follow(estimates: shoal.estimation.Estimates) -> None:
    rows = estimates.records(20_000).to_pandas()
    assert not ((rows.age < 15) & (rows.marital != "never")).any()
    assert not ((rows.age < 18) & (rows.job == "clerk")).any()
    assert ((rows.age < 18) == (rows.grown == "minor")).all()


def test_their_number_is_the_noisy_total_unless_it_is_asked_for(estimates: shoal.estimation.Estimates) -> None:
    assert len(estimates.records()) == round(estimates.total().value)


def test_counts_are_near_those_of_the_original(estimates: shoal.estimation.Estimates) -> None:
    drawn, truth = estimates.records(ROWS).to_pandas(), original().to_pandas()
    for column in ("marital", "job"):
        shares = truth[column].value_counts(normalize=True), drawn[column].value_counts(normalize=True)
        assert float(shares[0].sub(shares[1], fill_value=0).abs().max()) < 0.03
    assert drawn.age.mean() == pytest.approx(truth.age.mean(), abs=2)


def test_a_seed_draws_the_same_records_again_and_no_seed_others(estimates: shoal.estimation.Estimates) -> None:
    assert estimates.records(500, seed=1).equals(estimates.records(500, seed=1))
    assert not estimates.records(500).equals(estimates.records(500))


def test_a_csv_file_spells_them_as_the_original_and_says_that_they_are_synthetic(
    estimates: shoal.estimation.Estimates, tmp_path: Path
) -> None:
    path = tmp_path / "records.csv"
    assert estimates.write_records(path, 2_000) == 2_000
    read = pd.read_csv(path, keep_default_na=False, dtype={"onset": str})
    assert list(read.columns) == ["age", "grown", "marital", "job", "points", "onset"]
    assert read.age.dtype == np.int64
    assert read.onset.str.fullmatch(r"NN|\d\d\.\d\d\.2024").all()
    assert (read.onset == "NN").any()
    assert "Synthetic" in path.with_name(path.name + ABOUT).read_text(encoding="utf-8")
    assert shoal.read(path, schema=estimates.schema).count() == 2_000


def test_statistics_packages_get_declared_values_as_labelled_codes(
    estimates: shoal.estimation.Estimates, tmp_path: Path
) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    estimates.write_records(tmp_path / "records.sav", 50)
    _, described = pyreadstat.read_sav(str(tmp_path / "records.sav"))
    assert described.variable_value_labels["marital"] == {1.0: "never", 2.0: "married", 3.0: "widowed"}
    assert described.file_label.startswith("Synthetic records")


@pytest.mark.parametrize("ending", ["parquet", "sav", "dta"])
def test_files_have_the_same_types_and_descriptions_whatever_is_drawn(
    estimates: shoal.estimation.Estimates, tmp_path: Path, ending: str
) -> None:
    described = set()
    for seed in range(12):  # of single records, some of which miss a value
        path = tmp_path / f"{seed}.{ending}"
        estimates.write_records(path, 1, seed=seed)
        described.add(_described(path))
    assert len(described) == 1


def _described(path: Path) -> str:
    if path.suffix == ".parquet":
        return str(pq.read_schema(path))
    pyreadstat = pytest.importorskip("pyreadstat")
    read = pyreadstat.read_sav if path.suffix == ".sav" else pyreadstat.read_dta
    _, told = read(str(path), metadataonly=True)
    kinds = (told.original_variable_types, told.readstat_variable_types, told.variable_value_labels)
    return str((told.column_names, kinds, told.variable_storage_width, told.file_label))


def test_a_column_of_declared_labels_without_a_value_is_still_one_of_numbers(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    schema = shoal.Schema(attributes=(shoal.Attribute(name="job", domain=shoal.Domain(values=("none", "clerk"))),))
    for rows in (["clerk"], [None]):
        table = pa.table({"job": pa.array(rows, pa.string())})
        write_records(table, schema, tmp_path / "records.sav", about="Synthetic records", overwrite=True)
        read, told = pyreadstat.read_sav(str(tmp_path / "records.sav"))
        assert read["job"].dtype == np.float64
        assert told.variable_value_labels == {"job": {1.0: "none", 2.0: "clerk"}}


def test_a_rule_that_rules_out_what_is_released_is_refused(release: Path, tmp_path: Path) -> None:
    estimates = shoal.estimate(release, size=20_000)
    for rules, message in ((("job = none",), "rules out"), (("age >= 0",), "rules out")):
        wrong = shoal.estimation.Estimates(estimates.margins, _with_rules(estimates.schema, rules), 20_000)
        with pytest.raises(InputError, match=message):
            wrong.records(10)


@pytest.mark.parametrize("number", [0, -1, 10**9])
def test_an_unusable_number_of_records_is_refused(estimates: shoal.estimation.Estimates, number: int) -> None:
    with pytest.raises(ParameterError, match="number"):
        estimates.records(number)


def _with_rules(schema: shoal.Schema, rules: tuple[str, ...]) -> shoal.Schema:
    from dataclasses import replace

    return replace(schema, impossible=rules)


def test_a_derived_column_has_the_missing_mark_of_the_one_that_it_follows_from(tmp_path: Path) -> None:
    schema = shoal.Schema(
        attributes=(
            shoal.Attribute(name="job", reading=shoal.schema.Reading(missing_values=("N",))),
            shoal.Attribute(
                name="trade", role="drop", derived=shoal.schema.Derived(source="job", values=(("1", "crafts"),))
            ),
        )
    )
    rows = pa.table({"job": ["1", None], "trade": ["crafts", None]})
    write_records(rows, schema, tmp_path / "records.csv", about="Synthetic records")
    assert (tmp_path / "records.csv").read_text().splitlines()[1:] == ["1,crafts", "N,N"]


def test_intervals_that_are_narrow_beside_the_bounds_are_read_and_drawn() -> None:
    """No number of a grid between the bounds need lie in them."""
    generator = np.random.default_rng(4)
    income = np.where(generator.random(ROWS) < 0.5, 0, generator.integers(1, 2_000_000, ROWS))
    schema = shoal.Schema(
        attributes=(
            shoal.Attribute(
                name="income",
                role="quasi-identifier",
                kind="numeric",
                domain=shoal.Domain(minimum=-9_000, maximum=2_000_000),
                hierarchy=shoal.schema.Cuts(levels=((0, 1, 1_000_000), (1, 1_000_000))),
            ),
            shoal.Attribute(name="half", role="quasi-identifier", domain=shoal.Domain(values=("yes", "no"))),
        )
    )
    half = np.where(generator.random(ROWS) < 0.5, "yes", "no")
    table = shoal.read(pa.table({"income": income, "half": half})).with_schema(schema)
    private = shoal.DifferentialPrivacy(epsilon=4, delta="1e-6")
    release = shoal.anonymize(table, private, method=shoal.methods.TruthfulTables(levels={"income": 1}))
    drawn = release.estimate().records(ROWS, seed=1)["income"].to_numpy()
    assert abs((drawn == 0).mean() - 0.5) < 0.05
    assert abs((drawn >= 1_000_000).mean() - 0.25) < 0.05
