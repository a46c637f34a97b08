"""From a table to a file that any program reads as it read the table, as an analyst's script would see it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.conftest import Run

SCHEMA = """shoal = 1

[columns.age]
role = "quasi-identifier"
kind = "numeric"
minimum = 0
maximum = 99
missing = "category"
missing_values = ["NA"]
hierarchy = { intervals = [5, 10, 20] }

[columns.town]
role = "quasi-identifier"
values = ["Ulm", "Bonn", "Kiel"]

[columns.code]
role = "quasi-identifier"
kind = "ordinal"
values = ["1", "2", "3"]
"""
ROWS = 3_000


def people(*, missing: bool) -> pd.DataFrame:
    """Return records; with a missing age, one that makes pandas read whole numbers as fractions."""
    generator = np.random.default_rng(3)
    code = generator.integers(1, 4, ROWS)
    table = pd.DataFrame(
        {
            "age": np.clip(generator.normal(25 * code, 12), 0, 99).astype(int).astype(str),
            "town": generator.choice(["Ulm", "Bonn", "Kiel"], ROWS, p=[0.6, 0.3, 0.1]),
            "code": code,
        }
    )
    if missing:
        table.loc[0, "age"] = "NA"
    return table


def records(shoal: Run, folder: Path, table: pd.DataFrame, *, name: str = "records.csv") -> Path:
    """Make truthful tables of a CSV file and a file of records of these."""
    folder.mkdir()
    table.to_csv(folder / "people.csv", index=False)
    (folder / "people.schema.toml").write_text(SCHEMA)
    private = ("--method", "truthful-tables", "--epsilon", 4, "--delta", "1e-6")
    made = shoal("anonymize", folder / "people.csv", *private, "--output", folder / "release")
    assert made.returncode == 0, made.stderr
    drawn = shoal("estimate", folder / "release", "--records", folder / name, "--number", 1500)
    assert drawn.returncode == 0, drawn.stderr
    assert "synthetic" in drawn.stdout
    return folder / name


@pytest.fixture(scope="module")
def drawn(shoal: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return records(shoal, tmp_path_factory.mktemp("journey") / "one", people(missing=False))


def test_pandas_reads_records_of_truthful_tables_as_the_original(drawn: Path) -> None:
    original, synthetic = pd.read_csv(drawn.parent / "people.csv"), pd.read_csv(drawn)
    assert list(synthetic.columns) == list(original.columns)
    assert len(synthetic) == 1500
    for column in ("town", "code"):
        assert synthetic[column].dtype == original[column].dtype
    # a script that groups, averages and correlates runs on both and says about the same
    for table in (synthetic, original):
        table["age"] = pd.to_numeric(table["age"], errors="coerce")
    means = [table.groupby("code")["age"].mean() for table in (original, synthetic)]
    assert np.abs(means[0] - means[1]).max() < 4
    assert synthetic["age"].dropna().mod(1).eq(0).all()


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")
def test_r_reads_records_of_truthful_tables_as_the_original(drawn: Path) -> None:
    script = 'for (f in commandArgs(TRUE)) { d <- read.csv(f); cat(sapply(d, class), names(d), "\\n") }'
    command = ["Rscript", "-e", script, str(drawn.parent / "people.csv"), str(drawn)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert told[0] == told[1] == "integer character integer age town code "


def test_neighbouring_originals_give_files_that_differ_in_drawn_values_alone(
    shoal: Run, drawn: Path, tmp_path: Path
) -> None:
    """One person more, whose age is missing, changes how programs read the original, and nothing in the files."""
    other = records(shoal, tmp_path / "two", people(missing=True))
    files = [pd.read_csv(path, dtype=str, keep_default_na=False) for path in (drawn, other)]
    assert list(files[0].columns) == list(files[1].columns)
    assert len(files[0]) == len(files[1]) == 1500
    for each in files:
        assert each["age"].str.fullmatch(r"\d+|NA").all(), "never 31.0"
    about = [path.with_name(path.name + ".about.txt").read_bytes() for path in (drawn, other)]
    assert about[0] == about[1]


def test_an_spss_file_becomes_a_concrete_spss_file(shoal: Run, tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat", reason="needs the extra `files`")
    generator = np.random.default_rng(4)
    survey = pd.DataFrame(
        {
            "age": generator.integers(18, 80, 800).astype(float),
            "region": generator.integers(1, 5, 800).astype(float),
            "income": generator.integers(1, 9, 800) * 500.0,
        }
    )
    regions = {1.0: "north", 2.0: "east", 3.0: "south", 4.0: "west"}
    pyreadstat.write_sav(survey, str(tmp_path / "survey.sav"), variable_value_labels={"region": regions})
    (tmp_path / "survey.schema.toml").write_text(
        """shoal = 1

[columns.age]
role = "quasi-identifier"
kind = "numeric"
minimum = 18
maximum = 79
hierarchy = { intervals = [5, 10, 20] }

[columns.region]
role = "quasi-identifier"
values = ["north", "east", "south", "west"]

[columns.income]
role = "insensitive"
kind = "numeric"
"""
    )
    made = shoal(
        *("anonymize", tmp_path / "survey.sav", "--method", "specialize", "--k", 5, "--output", tmp_path / "release")
    )
    assert made.returncode == 0, made.stderr
    exported = shoal(
        *("export", tmp_path / "release", tmp_path / "concrete.sav", "--concrete", "--like", tmp_path / "survey.sav")
    )
    assert exported.returncode == 0, exported.stderr
    rows, described = pyreadstat.read_sav(str(tmp_path / "concrete.sav"))
    assert list(rows.columns) == list(survey.columns)
    assert [str(kind) for kind in rows.dtypes] == [str(kind) for kind in survey.dtypes]
    assert described.variable_value_labels["region"] == regions
    assert rows["age"].between(18, 79).all()
    assert rows["age"].mod(1).eq(0).all()
    assert {*rows["region"]} <= {*regions}
    refused = shoal("verify", tmp_path / "concrete.sav")
    assert refused.returncode != 0
    assert "concrete records" in refused.stderr
    assert described.file_label.startswith("Concrete records")


@pytest.mark.parametrize("target", ["data.parquet", "hierarchies/extra.csv"])
def test_no_file_is_written_into_the_folder_of_any_release(
    shoal: Run, drawn: Path, tmp_path: Path, target: str
) -> None:
    other = tmp_path / "other"
    (other / "hierarchies").mkdir(parents=True)
    (other / "certificate.json").write_text("{}")
    (other / target).write_text("as it was")
    release = drawn.parent / "release"
    for command in (
        ("estimate", release, "--records", other / target, "--overwrite"),
        ("estimate", release, "--pool", other / "pool.csv"),
        ("export", release, other / target, "--overwrite"),
        ("export", release, other / target, "--concrete", "--overwrite"),
    ):
        refused = shoal(*command)
        assert refused.returncode == 2
        assert "folder of a release" in refused.stderr
    assert (other / target).read_text() == "as it was"
    assert not (other / "pool.csv").exists()
