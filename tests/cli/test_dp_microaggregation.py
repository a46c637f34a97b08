"""Noisy data sets on the command line."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cli.conftest import Run

#: one record has this value; it is in the declared bounds, and nothing that leaves may hold it
CANARY = "73.125"
SCHEMA = """
shoal = 1

[columns.name]
role = "identifier"

[columns.age]
role = "quasi-identifier"
kind = "numeric"
minimum = 0
maximum = 100

[columns.sex]
role = "quasi-identifier"
values = ["f", "m"]
missing = "refuse"

[columns.illness]
role = "sensitive"
values = ["flu", "cold", "none"]
missing = "refuse"
"""
METHOD = ("--method", "dp-microaggregation")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with 400 people and a declared schema."""
    draw, place = random.Random(4), tmp_path_factory.mktemp("people")
    rows = [
        f"jqx{i}jqx,{draw.choice((21, 25, 34, 38, 47))},{draw.choice('fm')},{draw.choice(('flu', 'cold', 'none'))}"
        for i in range(399)
    ]
    rows.insert(123, f"jqxjqx,{CANARY},f,flu")
    (place / "people.csv").write_text("\n".join(["name,age,sex,illness", *rows]) + "\n")
    (place / "people.schema.toml").write_text(SCHEMA)
    return place


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("original", "Replacing any one record by another changes"),
        ("partition", "Given which records share a cluster"),
        ("record-query", "answer to a query for one record"),
    ],
)
def test_every_target_is_released_with_its_own_words_and_verifies(
    shoal: Run, folder: Path, target: str, words: str
) -> None:
    output = folder / target
    done = shoal(
        "anonymize",
        folder / "people.csv",
        *(*METHOD, "--epsilon", 1, "--option", f"target={target}", "--option", "k=20", "--csv", "--output", output),
    )
    assert done.returncode == 0, done.stderr
    assert words in " ".join(done.stdout.split())
    assert "noise of age, share of domain" in done.stdout
    assert pq.read_table(output / "data.parquet").num_rows == 400
    texts = [
        path.read_text() for path in output.rglob("*") if path.suffix in (".csv", ".json", ".toml", ".txt", ".html")
    ]
    assert not any(CANARY in text or "jqx" in text for text in (*texts, done.stdout, done.stderr))
    checked = shoal("verify", output)
    assert checked.returncode == 4, checked.stdout
    assert "no file can show" in " ".join(checked.stdout.split())


def test_the_plan_file_of_a_release_makes_another(shoal: Run, folder: Path, tmp_path: Path) -> None:
    options = ("--option", "k=40", "--option", "sets=each", "--option", 'split={age=0.5,sex=0.25,illness="1/4"}')
    first = shoal(
        "anonymize", folder / "people.csv", *METHOD, "--epsilon", 1, *options, "--json", "--output", tmp_path / "a"
    )
    assert first.returncode == 0, first.stderr
    assert json.loads(first.stdout)["promises"][0]["model"] == "bounded-differential-privacy"
    again = shoal(
        "anonymize", folder / "people.csv", "--plan", tmp_path / "a" / "plan.toml", "--output", tmp_path / "b"
    )
    assert again.returncode == 0, again.stderr
    assert sorted(path.name for path in (tmp_path / "b").glob("set-*.parquet")) == [
        f"set-{number}.parquet" for number in (1, 2, 3)
    ]


def test_a_forecast_writes_nothing_and_minds_no_place(shoal: Run, folder: Path, tmp_path: Path) -> None:
    key = ("--pseudonym-key", tmp_path / "key")
    arguments = ("anonymize", folder / "people.csv", *METHOD, "--epsilon", 1, "--forecast", *key)
    done = shoal(*arguments, "--output", folder)
    assert done.returncode == 0, done.stderr
    assert "Nothing was written or spent" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_private_report_is_for_the_publisher(shoal: Run, folder: Path, tmp_path: Path) -> None:
    done = shoal(
        "anonymize",
        folder / "people.csv",
        *(*METHOD, "--epsilon", 1, "--private-report", tmp_path / "private.json", "--output", tmp_path / "release"),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "private.json").read_text())["records"] == 400


def test_noise_may_spend_a_delta_and_the_truthful_method_needs_one(shoal: Run, folder: Path, tmp_path: Path) -> None:
    options = ("--option", "noise=gaussian", "--epsilon", 1, "--output", tmp_path / "release")
    done = shoal("anonymize", folder / "people.csv", *METHOD, *options)
    assert done.returncode == 2
    assert "needs a delta" in done.stderr
    done = shoal("anonymize", folder / "people.csv", *METHOD, *options, "--delta", "1e-6")
    assert done.returncode == 0, done.stderr
    done = shoal("anonymize", folder / "people.csv", "--epsilon", 1, "--output", tmp_path / "other")
    assert done.returncode == 2
    assert "needs the parameter `delta`" in done.stderr
    assert "or with --method dp-microaggregation (noise)" in " ".join(done.stderr.split())


def test_the_size_of_clusters_is_an_option(shoal: Run, folder: Path, tmp_path: Path) -> None:
    done = shoal(
        "anonymize", folder / "people.csv", *METHOD, "--epsilon", 1, "--k", 5, "--output", tmp_path / "release"
    )
    assert done.returncode == 2
    assert "--option k=..." in done.stderr


def test_every_column_without_bounds_is_named_with_what_to_do(shoal: Run, folder: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.schema.toml"
    bare.write_text(SCHEMA.replace("minimum = 0\nmaximum = 100\n", "").replace('values = ["f", "m"]\n', ""))
    done = shoal(
        "anonymize", folder / "people.csv", "--schema", bare, *METHOD, "--epsilon", 1, "--output", tmp_path / "release"
    )
    assert done.returncode == 2
    assert "column `age` has no declared bounds; give its `minimum` and `maximum`" in done.stderr
    assert "column `sex` has no declared domain; list its `values`" in done.stderr
    assert not (tmp_path / "release").exists()
