"""The examples for other programs: the script of the GitHub action, and R."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import shoal

INTEGRATIONS = Path(__file__).parents[2] / "examples" / "integrations"
PEOPLE = "age,sex,illness\n" + "".join(
    f"{20 + number % 40},{'FM'[number % 2]},{'abc'[number % 3]}\n" for number in range(200)
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder with a table, a plan, and the program under its name."""
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "shoal").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m shoal "$@"\n')
    (tmp_path / "shoal").chmod(0o755)
    schema = shoal.Schema(
        attributes=(
            shoal.Attribute(name="age", role="quasi-identifier", kind="numeric"),
            shoal.Attribute(name="sex", role="quasi-identifier"),
            shoal.Attribute(name="illness", role="sensitive"),
        )
    )
    (tmp_path / "plan.toml").write_text(
        shoal.Plan(schema=schema, models=(shoal.KAnonymity(5),), method=shoal.Generalize()).dumps()
    )
    (tmp_path / "people.schema.toml").write_text(shoal.schema.dumps(schema))
    return tmp_path


def test_every_example_is_short() -> None:
    longest = {
        path.name: len(path.read_text("utf-8").splitlines()) for path in INTEGRATIONS.rglob("*") if path.is_file()
    }
    assert max(longest.values()) <= 100, longest


def test_the_script_of_the_github_action_fails_where_shoal_does(place: Path) -> None:
    def run(**given: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PATH": f"{place}:{os.environ['PATH']}", "DATA": "people.csv", "PLAN": "plan.toml"}
        script = ["sh", str(INTEGRATIONS / "github-action" / "release.sh")]
        return subprocess.run(script, cwd=place, env=environment | given, capture_output=True, text=True, check=False)

    done = run(OUTPUT="release", GITHUB_STEP_SUMMARY=str(place / "summary.md"))
    assert done.returncode == 0, done.stdout
    assert "Every record shares" in (place / "summary.md").read_text()
    again = run(OUTPUT="release")
    assert again.returncode == 2
    assert "::error title=shoal anonymize::Error: `release` already exists" in again.stdout
    unsigned = run(OUTPUT="other", SIGNER="nobody.pem")
    assert unsigned.returncode == 2
    assert "::error title=shoal verify::" in unsigned.stdout


@pytest.mark.deep
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")
def test_r_drafts_anonymises_and_verifies(place: Path) -> None:
    if subprocess.run(["Rscript", "-e", "library(jsonlite)"], capture_output=True, check=False).returncode:
        pytest.skip("needs jsonlite")
    script = f"""
        source("{INTEGRATIONS / "r" / "shoal.R"}")
        options(shoal.program = "{place / "shoal"}")
        people <- read.csv("people.csv")
        stopifnot(setequal(shoal_draft(people, "drafted.schema.toml")$column, names(people)))
        released <- shoal_anonymize(people, "people.schema.toml", "release", "--k", "5")
        stopifnot(nrow(released) > 150, names(released) == names(people))
        stopifnot(attr(shoal_verify("release"), "passed"))
        cat("changed", file = "release/summary.txt")
        stopifnot(!attr(shoal_verify("release"), "passed"))
        again <- function() shoal_anonymize(people, "people.schema.toml", "release", "--k", "5")
        refused <- tryCatch(again(), error = conditionMessage)
        stopifnot(grepl("already exists", refused))
        stopifnot(length(list.files(tempdir(), "^shoal")) == 0)
    """
    done = subprocess.run(["Rscript", "-e", script], cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
