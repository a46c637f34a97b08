"""The figures on the pages about persons are those of the example."""

from __future__ import annotations

import csv
import io
import runpy
from fractions import Fraction
from pathlib import Path

import pytest

import shoal
from shoal.methods.truthful._operators import Trimming
from shoal.report import assessment_text

ROOT = Path(__file__).parents[2]
CLINIC = ROOT / "examples" / "clinic"
PAGE = (ROOT / "docs" / "explanation" / "unit.md").read_text(encoding="utf-8")
TUTORIAL = (ROOT / "docs" / "tutorial-visits.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def names() -> dict[str, object]:
    """Return what the blocks of the page make."""
    found: dict[str, object] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        for block in PAGE.split("```python\n")[1:]:
            exec(compile(block.partition("```")[0], "unit.md", "exec"), found)  # noqa: S102
    return found


def said(text: str) -> bool:
    return text in " ".join(PAGE.split())


def test_the_table_is_what_the_script_makes() -> None:
    made = runpy.run_path(str(CLINIC / "generate.py"))
    text = io.StringIO()
    writer = csv.DictWriter(text, made["COLUMNS"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(made["visits"](made["PATIENTS"], made["SEED"]))
    assert (CLINIC / "visits.csv").read_text(encoding="utf-8") == text.getvalue()


def test_the_attack_has_the_figures_that_the_page_gives(names: dict[str, object]) -> None:
    classes = names["classes"]
    assert classes.visits.min() >= 5  # type: ignore[attr-defined]
    few, alone = (int((classes.patients < number).sum()) for number in (5, 2))  # type: ignore[attr-defined]
    assert said(f"All {len(classes):,} classes hold at least 5 visits")  # type: ignore[arg-type]
    assert said(f"{few} of them hold fewer than 5 patients, and {alone} of them hold a single one")
    one = classes[classes.patients == 1].reset_index()  # type: ignore[attr-defined, index]
    assert (one.district == "Orchard").sum() >= 5


def test_with_persons_no_class_has_fewer(names: dict[str, object]) -> None:
    made = names["by_persons"]
    assert isinstance(made, shoal.Release)
    assert made.after.fewest == 5
    assert said(f"leaves {9528 - made.records} visits out")


def test_the_risks_are_those_of_the_tutorial() -> None:
    visits = shoal.read(CLINIC / "visits.csv", schema=CLINIC / "visits.schema.toml")
    shown = assessment_text(shoal.assess(visits))
    start = shown.index("Whose risk it is")
    assert shown[start : shown.index("\n\n", start)] in TUTORIAL
    assert said("had 9,528 visits of 2,000 patients")
    assert said("2,000 of 2,000 patients have a set of visits that nobody else has")


def test_what_more_records_cost() -> None:
    m = [
        Trimming.of(Fraction(1), Fraction(1, 10**6), definition="standard", least=1, per_person=records).m
        for records in (1, 2, 3, 5, 10)
    ]
    assert f"| m | {' | '.join(map(str, m))} |" in PAGE


def test_the_statements_are_those_of_the_tutorial() -> None:
    private = shoal.DifferentialPrivacy(epsilon=2, delta=1e-6, definition="standard", records_per_person=1)
    assert private.statement() in TUTORIAL
    assert str(shoal.queries.Unit("patient", 3)) in TUTORIAL
