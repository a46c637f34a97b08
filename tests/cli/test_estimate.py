"""``shoal estimate`` as a process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Run

SCHEMA = """shoal = 1

[columns.age]
role = "quasi-identifier"
kind = "numeric"
minimum = 0
maximum = 100

[columns.town]
role = "quasi-identifier"
values = ["Ulm", "Bonn"]
"""


@pytest.fixture(scope="module")
def release(shoal: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("estimate")
    rows = [f"{20 + i % 40},{'Ulm' if i % 3 else 'Bonn'}" for i in range(3000)]
    (folder / "people.csv").write_text("\n".join(["age,town", *rows]) + "\n")
    (folder / "people.schema.toml").write_text(SCHEMA)
    made = shoal(
        *("anonymize", folder / "people.csv", "--method", "truthful-tables", "--epsilon", 2, "--delta", "1e-4"),
        *("--output", folder / "release"),
    )
    assert made.returncode == 0, made.stderr
    return folder / "release"


def test_counts_and_tables_are_shown_with_errors(shoal: Run, release: Path) -> None:
    found = shoal("estimate", release, "--count", "town=Ulm", "--table", "town")
    assert found.returncode == 0, found.stderr
    assert "town=Ulm: " in found.stdout
    assert "+-" in found.stdout
    assert all(len(line) <= 100 for line in found.stdout.splitlines())
    answer = json.loads(shoal("estimate", release, "--count", "town=Ulm", "--json").stdout)
    assert abs(answer["counts"][0]["value"] - 2000) < 200


def test_a_pool_is_written_once_and_called_an_estimate(shoal: Run, release: Path, tmp_path: Path) -> None:
    found = shoal("estimate", release, "--pool", tmp_path / "pool.csv")
    assert found.returncode == 0, found.stderr
    assert "not records" in found.stdout
    assert (tmp_path / "pool.csv").read_text().startswith("age,town,weight\n")
    assert shoal("estimate", release, "--pool", tmp_path / "pool.csv").returncode == 2


@pytest.mark.parametrize("arguments", [("--count", "nose=1"), ("--count", "town=Rome"), ("--table", "nose")])
def test_what_is_not_there_is_named(shoal: Run, release: Path, arguments: tuple[str, str]) -> None:
    found = shoal("estimate", release, *arguments)
    assert found.returncode == 2
    assert "Traceback" not in found.stderr
    assert len(found.stderr.splitlines()) <= 3
