"""Releases that promise more to persons than was done for them: edited in all places that speak of it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from forgeries import forger
from golden.artefacts import release
from golden.cases import CASES
from shoal.methods.steps import KINDS
from shoal.schema import Attribute, Schema
from shoal.verification import verify


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
    assert any("`bounded`" in each or "unit" in each or "words" in each for each in failed), failed


def _doubled(found: re.Match[str]) -> str:
    return f"records_per_person = {2 * int(found[1])}"


METHODS = {
    "generalize": shoal.Generalize(suppression_limit=1),
    "suppress": shoal.methods.Suppress(),
    "anatomy": shoal.methods.Anatomy(),
    "swap": shoal.methods.Swap(),
}


@pytest.fixture(scope="module", params=list(METHODS))
def crowds(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_crowds(request.param, tmp_path_factory.mktemp("crowds"))


def make_crowds(name: str, folder: Path) -> Path:
    """Return a release whose classes count persons, who have three records each and live in pairs."""
    rows = [{"who": f"p{i // 3}", "home": f"h{i // 6}", "age": str(20 + i % 2), "ill": "abc"[i % 3]} for i in range(36)]
    attributes = (
        Attribute(name="who", role="person"),
        Attribute(name="home", role="household"),
        Attribute(name="age", role="quasi-identifier", kind="numeric"),
        Attribute(name="ill", role="sensitive"),
    )
    table = shoal.read(pa.Table.from_pylist(rows)).with_schema(Schema(attributes=attributes))
    promise = shoal.models.ProbabilisticKAnonymity(3) if name == "swap" else shoal.KAnonymity(3)
    made = shoal.anonymize(table, promise, method=METHODS[name])
    return made.write(folder / "release")


def _counted(content: forger.Content) -> forger.Content:
    (step,) = (each for each in content["steps"] if each["step"] == "counted")
    return step


def _described(step: forger.Content) -> None:
    """Let the words of the step say what its numbers say, where these can be read."""
    with contextlib.suppress(ValueError, TypeError):
        step["description"] = KINDS[str(step["step"])].from_fields(step).describe()


def _said(name: str, number: Callable[[forger.Content], object]) -> Callable[[forger.Content], None]:
    def change(content: forger.Content) -> None:
        step = _counted(content)
        step[name] = number(step)
        _described(step)

    return change


def _uncounted(content: forger.Content) -> None:
    content["steps"] = [each for each in content["steps"] if each["step"] != "counted"]


def _of_records(content: forger.Content) -> None:
    _uncounted(content)
    for promise in content["promises"]:
        promise["unit"] = "record"


def _twice(content: forger.Content) -> None:
    content["steps"].append(dict(_counted(content)))


def _hidden_or_not(content: forger.Content) -> None:
    """Say of classes that look alike what is said where everybody sees who is in them, and the other way round."""
    step = _counted(content)
    if "hidden" in step:
        del step["hidden"]
    else:
        step["hidden"] = step["fewest"]
    _described(step)


def _home_released(content: forger.Content) -> None:
    """Say that households are released as pseudonyms."""
    (step,) = (each for each in content["steps"] if each["step"] == "dropped")
    step["columns"] = [name for name in step["columns"] if name != "home"]
    content["steps"].insert(0, {"step": "pseudonymized", "columns": ["home"], "description": ""})


FORGED: list[Callable[[forger.Content], None]] = [
    _said("persons", lambda step: step["records"] + 1),
    _said("persons", lambda step: step["fewest"] - 1),
    _said("persons", lambda step: str(step["persons"])),
    _said("memberships", lambda step: step["persons"] - 1),
    _said("memberships", lambda step: step["records"] + 1),
    _said("fewest", lambda step: step["smallest"] + 1),
    _said("fewest", lambda step: 2),
    _said("fewest", lambda step: 0),
    _said("smallest", lambda step: step["smallest"] + 1),
    _said("records", lambda step: step["records"] + 1),
    _said("hidden", lambda step: step["fewest"] + 1),
    _said("hidden", lambda step: 2),
    _said("column", lambda step: "home"),
    _said("column", lambda step: "age"),
    _uncounted,
    _of_records,
    _twice,
    _hidden_or_not,
    _home_released,
]


def test_numbers_of_persons_that_cannot_be_are_refused(crowds: Path, tmp_path: Path) -> None:
    assert shoal.verify(crowds).passed
    believed = []
    for number, change in enumerate(FORGED):
        work = forger.copied(crowds, tmp_path / str(number))
        forger.edit(work, change, pages=False)
        if verify(work, rendered=False).passed:  # pages are checked elsewhere, and take long
            believed.append((number, _counted(forger.read(work))))
    assert not believed


@pytest.mark.parametrize("role", ["person", "household"])
def test_a_plan_that_releases_keys_of_people_is_refused(crowds: Path, role: str, tmp_path: Path) -> None:
    work = forger.copied(crowds, tmp_path / "work")
    forger.edit_plan(work, lambda text: text.replace(f'role = "{role}"', 'role = "insensitive"'))
    assert not shoal.verify(work).passed
