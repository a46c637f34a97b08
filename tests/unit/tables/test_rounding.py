"""Numbers that are released as they are can be rounded when they are read; drafts ask for it where they single out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import SchemaError
from shoal.schema import loads

SCHEMA = """
shoal = 1
[columns.age]
role = "quasi-identifier"
kind = "numeric"
hierarchy = {{ intervals = [10, 50] }}
[columns.pay]
role = "sensitive"
kind = "numeric"
round_to = {step}
"""


def _people(records: int = 400) -> pa.Table:
    draws = np.random.default_rng(0)
    return pa.table({"age": draws.integers(0, 100, records), "pay": np.round(draws.lognormal(7, 1, records), 2)})


@pytest.mark.parametrize(
    ("step", "values", "rounded"),
    [
        (50, [24.99, 25, -25, 74, None], [0, 50, 0, 50, None]),
        (0.05, [0.12, 0.13, -0.12, 3, None], [0.1, 0.15, -0.1, 3.0, None]),
        (2.5, [1.2, 1.25, 4, -1.3, None], [0.0, 2.5, 5.0, -2.5, None]),
    ],
)
@pytest.mark.parametrize("as_text", [False, True], ids=["numbers", "text"])
def test_numbers_become_the_nearest_multiples(step: float, values: list, rounded: list, *, as_text: bool) -> None:
    cells = [None if value is None else str(value) for value in values] if as_text else values
    table = shoal.read(pa.table({"age": [1] * len(values), "pay": cells}))
    typed = table.with_schema(loads(SCHEMA.format(step=step)))
    assert typed.to_arrow()["pay"].to_pylist() == rounded
    assert typed.with_schema(loads(SCHEMA.format(step=step))).to_arrow()["pay"].to_pylist() == rounded


def test_numbers_that_floating_point_does_not_tell_apart_are_refused() -> None:
    table = shoal.read(pa.table({"age": [1, 2], "pay": [1e300, 2.0]}))
    with pytest.raises(SchemaError, match="`pay`: 1 value is too large to be rounded"):
        table.with_schema(loads(SCHEMA.format(step=10)))


@pytest.mark.parametrize("step", ["0", "-5", "1e20"])
def test_steps_that_round_nothing_or_everything_are_refused(step: str) -> None:
    with pytest.raises(SchemaError, match="`round_to` must be"):
        loads(SCHEMA.format(step=step))


def test_only_numbers_that_are_released_as_they_are_can_be_rounded() -> None:
    text = SCHEMA.format(step=5)
    with pytest.raises(SchemaError, match="`round_to` applies only to columns that are released as they are"):
        loads(text.replace('role = "sensitive"', 'role = "quasi-identifier"'))
    with pytest.raises(SchemaError, match="`round_to` applies only to numeric columns"):
        loads(text.replace('role = "sensitive"\nkind = "numeric"', 'role = "sensitive"'))
    described = loads(text)
    assert described.with_role("pay", "quasi-identifier")["pay"].reading.round_to is None
    assert described.with_role("pay", "insensitive")["pay"].reading.round_to == 5


def test_the_release_says_that_numbers_were_rounded_and_verify_looks(tmp_path: Path) -> None:
    table = shoal.read(_people()).with_schema(loads(SCHEMA.format(step=100)))
    release = shoal.anonymize(table, k=5)
    assert "Rounded `pay` to multiples of 100." in str(release)
    release.write(tmp_path / "release")
    found = shoal.verify(tmp_path / "release")
    assert found.passed
    (check,) = [each for each in found.checks if each.subject == "step rounded"]
    assert check.passed
    certificate = json.loads((tmp_path / "release" / "certificate.json").read_text())
    for step in certificate["steps"]:
        if step["step"] == "rounded":
            step["steps"], step["description"] = ["70"], "Rounded `pay` to multiples of 70."
    (tmp_path / "release" / "certificate.json").write_text(json.dumps(certificate))
    failed = [each.subject for each in shoal.verify(tmp_path / "release").checks if not each.passed]
    assert {"steps", "step rounded"} <= {*failed}


def _alone(values: list[float]) -> float:
    _, counts = np.unique(values, return_counts=True)
    return float(np.sum(counts == 1) / len(values))


def test_a_draft_rounds_a_secret_to_the_finest_step_at_which_few_are_alone() -> None:
    people = _people(4_000)
    drafted = shoal.draft(people)
    step = drafted.schema["pay"].reading.round_to
    assert step is not None
    assert f"rounded to multiples of {step:g}" in drafted.reasons["pay"]
    pay = people["pay"].to_numpy()
    finer = {1: 2, 2: 2, 5: 2.5}[int(f"{step:e}"[0])]
    assert _alone(pay) > 0.5
    assert _alone(np.floor(pay / step + 0.5)) < 0.05 <= _alone(np.floor(pay / step * finer + 0.5))
    released = shoal.anonymize(shoal.read(people).with_schema(drafted.schema), k=5)
    assert not any("`pay`" in sentence for sentence in released.attention)


def test_a_secret_that_no_step_hides_is_left_to_a_person() -> None:
    table = pa.table({"age": np.arange(40) % 50 + 18, "income": [3.0**n for n in range(40)]})
    drafted = shoal.draft(table)
    assert drafted.undecided == ("income",)
    assert "however it is rounded" in drafted.reasons["income"]
    with pytest.raises(SchemaError, match="`income` needs a decision"):
        shoal.anonymize(table, k=2)


def test_rounding_is_kept_by_schema_files() -> None:
    described = loads(SCHEMA.format(step=0.5))
    again = shoal.schema.loads(shoal.schema.dumps(described))
    assert again == described
    assert "round_to = 0.5" in shoal.schema.dumps(described)
