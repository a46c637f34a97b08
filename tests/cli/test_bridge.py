"""``shoal bridge``, and the methods of closeness on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Run


def test_bridge_says_its_assumptions_in_plain_words(shoal: Run) -> None:
    done = shoal("bridge", "--t", "2")
    assert done.returncode == 0, done.stderr
    assert "1.3863-differential privacy" in done.stdout
    assert "Before seeing the release, the intruder believes" in done.stdout


def test_bridge_prints_json(shoal: Run) -> None:
    done = shoal("bridge", "--epsilon", "1", "--k", "5", "--records", "1000", "--json")
    found = json.loads(done.stdout)
    assert [each["strength"] for each in found] == ["conditional", "conditional"]
    assert found[1]["quantities"]["k"] == 5


@pytest.mark.parametrize("wrong", [(), ("--t", "1"), ("--t", "x"), ("--k", "5"), ("--t", "2", "--epsilon", "1")])
def test_bridge_refuses_what_leads_nowhere(shoal: Run, wrong: tuple[str, ...]) -> None:
    assert shoal("bridge", *wrong).returncode == 2


@pytest.fixture(scope="module")
def patients(hospital: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[object, ...]:
    """Return the arguments that read some of the bundled records."""
    lines = (hospital / "discharges.csv").read_text().splitlines(keepends=True)
    path = tmp_path_factory.mktemp("closeness") / "some.csv"
    path.write_text("".join(lines[:400]))
    return path, "--schema", hospital / "discharges.schema.toml"


CLOSE = ("--promise", "multiplicative-closeness attribute=charge t=2")


@pytest.mark.parametrize(
    "options",
    [
        ("--method", "bucketize", "--option", "form=anatomy", *CLOSE),
        ("--method", "t-microaggregate", "--t", "charge=0.2", "--option", "strategy=merge-first"),
        ("--method", "slice", "--option", "size=3"),
    ],
)
def test_methods_of_closeness_release_what_verifies(
    shoal: Run, patients: tuple[object, ...], tmp_path: Path, options: tuple[str, ...]
) -> None:
    done = shoal("anonymize", *patients, "--k", "5", *options, "--output", tmp_path / "release")
    assert done.returncode == 0, done.stderr
    checked = shoal("verify", tmp_path / "release")
    assert checked.returncode == 0, checked.stdout


def test_a_method_without_its_promise_says_what_it_needs(
    shoal: Run, patients: tuple[object, ...], tmp_path: Path
) -> None:
    done = shoal("anonymize", *patients, "--k", "5", "--method", "bucketize", "--output", tmp_path / "release")
    assert done.returncode == 2
    assert "MultiplicativeCloseness" in done.stderr
