"""``shoal compare`` and the new figures of ``shoal assess``, as a person runs them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.conftest import Run

CANARY = "Kunigunde"


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small table with a schema beside it."""
    folder = tmp_path_factory.mktemp("people")
    lines = ["name,age,town,illness"]
    lines += [f"{CANARY} {i},{20 + (i * 7) % 40},{'abcd'[i % 4]},{('flu', 'cold', 'back')[i % 3]}" for i in range(160)]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    (folder / "people.schema.toml").write_text(
        'shoal = 1\n\n[columns.name]\nrole = "identifier"\n\n'
        '[columns.age]\nrole = "quasi-identifier"\nkind = "numeric"\nhierarchy = { intervals = [10, 40] }\n\n'
        '[columns.town]\nrole = "quasi-identifier"\n\n[columns.illness]\nrole = "sensitive"\n'
    )
    return folder / "people.csv"


@pytest.fixture(scope="module")
def compared(shoal: Run, people: Path) -> tuple[str, str]:
    """Return what a comparison prints, as text and as JSON; the second run finds everything done."""
    arguments = (
        "compare", people, "--k", "2,5,1000", "--t", "illness=0.5", "--epsilon", "1",
        "--methods", "generalize,mondrian", "--no-learn", "--folder", people.parent / "kept",
    )  # fmt: skip
    text = shoal(*arguments)
    assert text.returncode == 0, text.stderr
    again = shoal(*arguments, "--json", "--export", 1, people.parent / "plan.toml")
    assert again.returncode == 0, again.stderr
    return text.stdout, again.stdout


def test_points_frontier_failures_and_a_recommendation_are_shown(compared: tuple[str, str]) -> None:
    text, _ = compared
    assert "generalize, k = 2, t(illness) = 0.5" in text
    assert "average risk of re-identification" in text
    assert "<- recommended" in text
    assert "No release" in text
    assert "1,000" in text
    assert "domain" in text
    assert "Recommendation" in text
    assert CANARY not in text


def test_json_holds_the_same_points(compared: tuple[str, str]) -> None:
    text, printed = compared
    found = json.loads(printed)
    assert len(found["points"]) == 7
    assert f"* {found['recommended']} " in text
    failed = [point for point in found["points"] if point["failure"]]
    assert {point["method"] for point in failed} == {"generalize", "mondrian", "truthful"}


def test_the_exported_plan_can_be_used(shoal: Run, people: Path, compared: tuple[str, str], tmp_path: Path) -> None:
    assert compared
    done = shoal("anonymize", people, "--plan", people.parent / "plan.toml", "--output", tmp_path / "release")
    assert done.returncode == 0, done.stderr
    assert shoal("verify", tmp_path / "release").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "--k 2,5,10"),
        (("--k", "two"), "--k takes numbers"),
        (("--k", "2", "--t", "0.5"), "--t takes COLUMN=NUMBER"),
        (("--k", "2", "--methods", "shuffle"), "no method `shuffle`"),
        (("--k", "2", "--risk", "luck"), "`risk`"),
    ],
)
def test_wrong_usage_is_explained(shoal: Run, people: Path, arguments: tuple[str, ...], words: str) -> None:
    done = shoal("compare", people, *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_help_has_an_example_and_names_the_figures(shoal: Run) -> None:
    from shoal.comparison import RISKS, UTILITIES

    done = shoal("compare", "--help")
    assert "Examples:" in done.stdout
    words = done.stdout.replace("\n", " ").split()
    for name in (*RISKS, *UTILITIES):
        assert any(word.strip(",.") == name for word in words), name


def test_assess_shows_guesses_and_the_population(shoal: Run, people: Path) -> None:
    done = shoal("assess", people, "--sampling-fraction", "0.1", "--attacks")
    assert done.returncode == 0, done.stderr
    assert "Population of 1,600 people" in done.stdout
    assert "by Dankar's rule" in done.stdout
    assert "illness" in done.stdout
    assert "singling out" in done.stdout
    assert CANARY not in done.stdout
    found = json.loads(shoal("assess", people, "--sampling-fraction", "0.1", "--attacks", "--json").stdout)
    assert found["population"]["population"] == 1600
    assert found["attributes"][0]["column"] == "illness"
    assert found["attacks"]["linkage"][-1]["known"] == 2


def test_a_wrong_fraction_is_explained(shoal: Run, people: Path) -> None:
    done = shoal("assess", people, "--sampling-fraction", "2")
    assert done.returncode == 2
    assert "sampling_fraction" in done.stderr


def test_a_stopped_comparison_says_what_is_kept_and_goes_on(people: Path, tmp_path: Path, shoal: Run) -> None:
    arguments = ["compare", str(people), "--k", "2,3,4,5,6,7", "--methods", "generalize", "--no-learn"]
    arguments += ["--processes", "1", "--folder", str(tmp_path / "kept")]
    process = subprocess.Popen(
        [sys.executable, "-m", "shoal", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    until = time.monotonic() + 60
    while not list(tmp_path.glob("kept/*.json")) and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    before = len(list(tmp_path.glob("kept/*.json")))
    assert before >= 1
    if process.returncode == 130:  # it may have been faster than we are
        assert "finished points are in" in said
    assert shoal(*arguments).returncode == 0
    assert len(list(tmp_path.glob("kept/*.json"))) == 6


@pytest.mark.deep
def test_the_frontier_is_drawn_into_a_file(people: Path, tmp_path: Path, shoal: Run, compared: tuple[str, str]) -> None:
    assert compared
    arguments = (
        "compare",
        people,
        "--k",
        "2,5",
        "--methods",
        "generalize",
        "--no-learn",
        "--folder",
        tmp_path / "kept",
    )
    assert shoal(*arguments, "--picture", tmp_path / "frontier.svg").returncode == 0
    assert (tmp_path / "frontier.svg").read_text().startswith("<svg")
    again = shoal(*arguments, "--picture", tmp_path / "frontier.svg")
    assert again.returncode != 0
    assert "exists" in again.stderr
    assert again.stdout == ""
    missing = shoal(*arguments, "--export", "9", tmp_path / "plan.toml")
    assert missing.returncode == 2
    assert "Recommendation" in missing.stdout
    wrong = shoal(*arguments, "--picture", tmp_path / "frontier.gif")
    assert wrong.returncode == 2
    assert ".svg or .png" in wrong.stderr


def test_assess_writes_a_page(shoal: Run, people: Path, tmp_path: Path) -> None:
    done = shoal("assess", people, "--output", tmp_path / "risk.html")
    assert done.returncode == 0, done.stderr
    assert "do not publish" in done.stderr
    page = (tmp_path / "risk.html").read_text()
    assert "Risk of a table as it is" in page
    assert CANARY not in page
    assert shoal("assess", people, "--output", tmp_path / "risk.pdf").returncode == 2
