"""Exit codes as documented: a wrong input is 2, never 3, and never with a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run

SCHEMA = """
[columns.age]
role = "quasi-identifier"
kind = "numeric"
hierarchy = {{ {rule} }}

[columns."stra\u00dfe"]
role = "sensitive"
kind = "categorical"
"""
LONG = "n" * 300


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rows = "".join(f"{20 + number % 3},somewhere\n" for number in range(12))
    (tmp_path / "people.csv").write_text("age,stra\u00dfe\n" + rows, encoding="utf-8")
    (tmp_path / "people.schema.toml").write_text(SCHEMA.format(rule="intervals = [5, 20]"), encoding="utf-8")
    return tmp_path / "people.csv"


@pytest.mark.parametrize(
    "rule",
    [
        "quantiles = [20, 0, 5]",
        "quantiles = [20, -5]",
        "intervals = [5, 10000000000000000000000000000000000000000]",
        "intervals = [1e-320]",
        "intervals = [5], origin = 1e-320",
        "intervals = [1e300]",
    ],
)
def test_rules_that_make_no_sense(shoal: Run, people: Path, rule: str) -> None:
    people.with_name("wrong.toml").write_text(SCHEMA.format(rule=rule), encoding="utf-8")
    schema = people.with_name("wrong.toml")
    done = shoal("anonymize", people, "--schema", schema, "--k", 2, "--output", people.with_name("release"))
    assert done.returncode == 2, done.stderr
    assert "column `age`" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("draft", "."),
        ("draft", "/"),
        ("draft", ".."),
        ("anonymize", "/", "--k", "2", "--output", "release"),
        ("anonymize", ".", "--k", "2", "--output", "release"),
        ("draft", f"{LONG}.csv"),
        ("draft", "people.csv", "--output", LONG),
        ("anonymize", "people.csv", "--k", "2", "--output", LONG),
        ("anonymize", "people.csv", "--k", "2", "--output", "release", "--schema", LONG),
        ("anonymize", "people.csv", "--plan", LONG, "--output", "release"),
        ("anonymize", "people.csv", "--k", "2", "--output", "release", "--pseudonym-key", LONG),
        ("anonymize", "people.csv", "--k", "2", "--output", "."),
        ("anonymize", "nope.csv", "--k", "2", "--output", "release", "--pseudonym-key", "key"),
        ("anonymize", "people.csv", "--k", "2", "--output", "release", "--pseudonym-key", "key", "--forecast"),
        ("verify", LONG),
        ("sign", "--new-key", LONG),
        ("vault", "create", LONG, "people.csv", "--epsilon", "1"),
        ("vault", "create", "made", "-", "--epsilon", "1"),
        ("vault", "budget", LONG),
        ("compare", "people.csv", "--k", "2", "--folder", LONG),
        ("assess", "people.csv", "--output", f"{LONG}.html"),
    ],
)
def test_places_that_make_no_sense(shoal: Run, people: Path, arguments: tuple[str, ...]) -> None:
    done = shoal(*arguments, cwd=people.parent)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "``" not in done.stderr
    assert "-" not in arguments or "standard input" in done.stderr
    assert sorted(path.name for path in people.parent.iterdir()) == ["people.csv", "people.schema.toml"]


def test_a_locale_without_letters_of_other_languages(shoal: Run, people: Path) -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONWARNINGS": "error"}
    release = people.with_name("re lease")
    done = shoal("anonymize", people, "--k", 2, "--l", "stra\u00dfe=1", "--output", release)
    assert done.returncode == 0, done.stderr
    assert f"shoal verify '{release}'" in done.stdout
    done = shoal("verify", release, **plain)
    assert done.returncode == 0, done.stderr
    assert "Verified" in done.stdout
    assert "stra\\xdfe" in done.stdout
    done = shoal("report", release, **plain)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
