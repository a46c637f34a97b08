"""The methods of closeness on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import Run


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
