"""``shoal anonymize --find-hierarchies``: what is found stands in the plan, and never under differential privacy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.conftest import Run

SCHEMA = """shoal = 1

[columns.job]
role = "quasi-identifier"
values = ["nurse", "mason", "doctor", "smith"]

[columns.pay]
role = "quasi-identifier"
kind = "ordinal"
values = ["1", "2", "3", "4"]

[columns.town]
role = "quasi-identifier"
"""


@pytest.fixture
def people(tmp_path: Path) -> Path:
    generator = np.random.default_rng(2)
    job = generator.choice(["nurse", "mason", "doctor", "smith"], 400)
    pay = np.where(np.isin(job, ["nurse", "doctor"]), 1, 3) + generator.integers(0, 2, 400)
    town = generator.choice(["Ulm", "Bonn"], 400)
    pd.DataFrame({"job": job, "pay": pay, "town": town}).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "people.schema.toml").write_text(SCHEMA)
    return tmp_path / "people.csv"


def test_hierarchies_are_found_and_stand_in_the_plan(shoal: Run, people: Path) -> None:
    folder = people.parent / "release"
    made = shoal("anonymize", people, "--k", 40, "--find-hierarchies", "--output", folder)
    assert made.returncode == 0, made.stderr
    assert "found hierarchies of `job`, `pay`" in made.stderr
    assert "no hierarchies of `town`" in made.stderr
    plan = (folder / "plan.toml").read_text()
    assert "{nurse, doctor}" in plan
    assert "found" in plan
    assert shoal("verify", folder).returncode == 0


def test_hierarchies_are_not_found_under_differential_privacy(shoal: Run, people: Path) -> None:
    folder = people.parent / "release"
    people.with_name("people.schema.toml").write_text(SCHEMA + 'values = ["Ulm", "Bonn"]')
    private = ("--epsilon", 1, "--delta", "1e-5")
    refused = shoal("anonymize", people, *private, "--find-hierarchies", "--output", folder)
    assert refused.returncode == 2
    assert "looks at the data" in refused.stderr
    assert not folder.exists()
