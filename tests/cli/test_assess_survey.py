"""``shoal assess`` on a survey: its weights, special uniques, and a file of every record's risk."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import Run

SCHEMA = """
[columns.sex]
role = "quasi-identifier"
[columns.town]
role = "stratum"
[columns.pw]
role = "weight"
"""


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    (tmp_path / "survey.schema.toml").write_text(SCHEMA)
    path = tmp_path / "survey.csv"
    path.write_text("sex,town,pw\nf,Ulm,10\nf,Ulm,30\nm,Rome,2\nf,Rome,4\n")
    return path


def test_a_survey_is_assessed_against_its_population(shoal: Run, survey: Path, tmp_path: Path) -> None:
    risks = tmp_path / "risks.csv"
    done = shoal("assess", survey, "--special-uniques", "--combinations", "2", "--records", risks)
    assert done.returncode == 0, done.stderr
    assert "4 records that stand for 46 people, by `pw`" in done.stdout
    assert "2 of 4 records are special uniques" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
    lines = risks.read_text().splitlines()
    assert len(lines) == 5
    assert "Ulm" not in risks.read_text()
    assert "do not publish" in done.stderr


def test_a_file_that_exists_or_has_a_strange_ending_is_refused(shoal: Run, survey: Path, tmp_path: Path) -> None:
    assert shoal("assess", survey, "--records", survey).returncode == 2
    assert shoal("assess", survey, "--records", tmp_path / "risks.txt").returncode == 2
    assert survey.read_text().startswith("sex,town,pw")
