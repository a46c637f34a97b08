"""Releases that promise more to persons than was done for them: edited in all places that speak of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import shoal
from forgeries import forger
from golden.artefacts import release
from golden.cases import CASES


@pytest.fixture(scope="module", params=["truthful, persons", "dp-microaggregation, persons"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("release")
    found, _ = release(CASES[request.param], made)
    return found.write(made / "release")


def _more_records(content: forger.Content) -> None:
    """Say that twice as many records of a person were used, in the promise and in the step."""
    content["promises"][0]["parameters"]["records_per_person"] *= 2
    (step,) = (each for each in content["steps"] if each["step"] == "bounded")
    step["records"] *= 2


def _no_step(content: forger.Content) -> None:
    content["steps"] = [each for each in content["steps"] if each["step"] != "bounded"]


def _a_record(content: forger.Content) -> None:
    """Say that the promise is about records, though the schema names persons."""
    promise = content["promises"][0]
    del promise["parameters"]["records_per_person"]
    promise["unit"] = "record"
    _no_step(content)


def _another_column(content: forger.Content) -> None:
    (step,) = (each for each in content["steps"] if each["step"] == "bounded")
    step["column"] = "age"


@pytest.mark.parametrize("change", [_more_records, _no_step, _a_record, _another_column])
def test_a_promise_to_persons_is_not_believed(
    folder: Path, change: Callable[[forger.Content], None], tmp_path: Path
) -> None:
    work = forger.copied(folder, tmp_path / "work")
    assert shoal.verify(work).passed
    if change is _more_records:
        doubled = r"records_per_person = (\d+)"
        assert forger.edit_plan(work, lambda text: re.sub(doubled, _doubled, text))
    forger.edit(work, change)
    failed = [str(check) for check in shoal.verify(work).checks if not check.passed]
    assert any("unit" in each or "operator" in each or "noise" in each or "words" in each for each in failed), failed


def _doubled(found: re.Match[str]) -> str:
    return f"records_per_person = {2 * int(found[1])}"
