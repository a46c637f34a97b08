"""The methods of microaggregation on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Run


@pytest.fixture(scope="module")
def patients(hospital: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[object, ...]:
    """Return the arguments that read some of the bundled records."""
    lines = (hospital / "discharges.csv").read_text().splitlines(keepends=True)
    path = tmp_path_factory.mktemp("microaggregation") / "some.csv"
    path.write_text("".join(lines[:300]))
    return path, "--schema", hospital / "discharges.schema.toml"


SETS = 'groups=[["age", "sex"], ["zip", "admission_date"]]'


@pytest.mark.parametrize(
    ("method", "options", "model"),
    [
        ("mdav", ("--option", "decimals=1", "--l", "diagnosis=3"), "k-anonymity"),
        ("mdav", ("--option", SETS), "attribute-set"),
        ("vmdav", ("--option", "gamma=1.1"), "k-anonymity"),
        ("swap", (), "probabilistic-k-anonymity"),
        ("ir-swap", (), "probabilistic-k-anonymity"),
    ],
)
def test_methods_release_what_verifies_and_their_plan_runs_again(
    shoal: Run, patients: tuple[object, ...], tmp_path: Path, method: str, options: tuple[str, ...], model: str
) -> None:
    folder = tmp_path / "release"
    done = shoal("anonymize", *patients, "--method", method, "--k", "5", *options, "--output", folder)
    assert done.returncode == 0, done.stderr
    assert "sse/sst" in done.stdout
    certificate = json.loads((folder / "certificate.json").read_text())
    assert certificate["promises"][0]["model"] == model
    checked = shoal("verify", folder)
    assert checked.returncode == (4 if model == "probabilistic-k-anonymity" else 0), checked.stdout
    assert model in checked.stdout
    again = shoal("anonymize", patients[0], "--plan", folder / "plan.toml", "--output", tmp_path / "again")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again" / "plan.toml").read_text() == (folder / "plan.toml").read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--method", "mdav"), "specify what to promise"),
        (("--method", "mdav", "--k", "0"), "`k` of `KAnonymity`"),
        (("--method", "mdav", "--k", "1000"), "requires classes of 1,000 records; the table has 299"),
        (("--method", "mdav", "--k", "5", "--option", "gamma=1"), "has no parameter `gamma`"),
        (("--method", "mdav", "--k", "5", "--option", 'groups=[["age"]]'), "leaves out `sex`"),
        (("--method", "mdav", "--k", "5", "--option", "block=7"), "`block` of `Mdav`"),
        (("--method", "mdva", "--k", "5"), "There is no method `mdva`"),
        (("--method", "vmdav", "--k", "5", "--option", "gamma=-1"), "`gamma` of `VMdav`"),
        (("--method", "swap", "--promise", "k-anonymity k=5"), "cannot keep `KAnonymity`"),
        (("--method", "ir-swap", "--k", "5", "--l", "diagnosis=2"), "cannot keep `DistinctLDiversity`"),
    ],
)
def test_what_cannot_be_is_one_clear_error_and_nothing_is_written(
    shoal: Run, patients: tuple[object, ...], tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    done = shoal("anonymize", *patients, *options, "--output", tmp_path / "release")
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_diversity_that_no_class_has_is_a_requirement_not_met(
    shoal: Run, patients: tuple[object, ...], tmp_path: Path
) -> None:
    wanted = ("--method", "mdav", "--k", "5", "--l", "diagnosis=90")
    done = shoal("anonymize", *patients, *wanted, "--output", tmp_path / "release")
    assert done.returncode == 1, done.stderr
    assert not list(tmp_path.iterdir())
