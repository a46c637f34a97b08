"""The table of claims has a row for everything that a certificate can promise, and no cell that says nothing."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from shoal import models
from shoal.guarantees import Event
from shoal.methods import promises
from shoal.methods.nested import KnownItems, SecretAmongKnownItems

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "claims.md"
KINDS = {*models.MODELS, *promises.KINDS, KnownItems.name, SecretAmongKnownItems.name}


def _rows() -> list[list[str]]:
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_claim_has_one_row() -> None:
    named = [row[0].strip("`") for row in _rows()[1:]]
    assert sorted(named) == sorted(KINDS)


@pytest.mark.parametrize("row", _rows()[1:], ids=lambda row: row[0])
def test_no_cell_is_empty_without_a_reason(row: list[str]) -> None:
    assert len(row) == len(_rows()[0]) == 10
    for cell in row:
        assert cell
        assert not cell.startswith("-") or re.fullmatch(r"- \(.+\)", cell)


def test_the_reference_lists_every_step_with_its_fields() -> None:
    page = (ROOT / "docs" / "reference" / "certificate.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| ([^|]+) \|", page[page.index("### `steps`") :], re.MULTILINE)
    listed = {step: {*re.findall(r"`([a-z_]+)`", names)} for step, names in rows}
    kinds: list[type[Event]] = [Event]
    for kind in kinds:
        kinds += (each for each in kind.__subclasses__() if each.__module__.startswith("shoal."))
    known = {each.name: {field.name for field in fields(each)} for each in kinds if hasattr(each, "name")}
    assert [step for step, names in known.items() if not names <= listed.get(step, set())] == []


def test_the_tests_that_the_table_names_are_there() -> None:
    named = re.findall(
        r"`((?:unit|property|conformance|statistical|reference|forgeries)[a-z_/]*(?:\.py)?)`", PAGE.read_text()
    )
    assert named
    assert [path for path in named if not (ROOT / "tests" / path).exists()] == []
