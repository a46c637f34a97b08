"""Values that the plan does not allow are refused, in every kind of column and after every kind of method."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from forgeries import forger
from golden.artefacts import release
from golden.cases import CASES
from shoal import Attribute, Plan, Schema
from shoal.guarantees import Evidence, load
from shoal.methods.steps import read_steps
from shoal.verification._values import check_values

SENTENCE = "M, son of Vera Hill, 3 Mill Rd"
NO_NUMBERS = (
    SENTENCE,
    "[21, 26)",
    "[20, 25]",
    "(20, 25)",
    "[20, 25) ",
    "[20,25)",
    "[20.0, 25.0)",
    "[0, 1000)",
    "[100, 120)",
    "[-5, 0)",
    "[40, 20)",
    "< 20",
    ">= 60",
    "any number",
    "1034",
    "-5",
    "23.0",
    "NaN",
    "",
    "**",
    "*, aged 34",
    "[20, 40) (level 2)",
)
NO_DAYS = (
    SENTENCE,
    "2022",
    "2023-13",
    "2023-Q5",
    "2023-02-30",
    "May 2023",
    "2023 ",
    "2020s",
    "2023-05-04T10:30:00",
    "",
)
NO_NAMES = (SENTENCE, "PRIVATE", "private ", "employed, 34", "* ", "{private, state}", "[private, state]", "")
NO_RANKS = (SENTENCE, "[severe, none]", "[primary, none]", "primary school", "{none, primary}", "1", "")
NUMBERS = (1e9, -1.0, 99.01, 2.0**60)
DAYS = (dt.date(2022, 12, 31), dt.date(2025, 1, 1), dt.date(9999, 12, 31))

#: releases whose columns show labels, or typical values, of each kind; and those that show values as they were
RELEASES = (
    "generalize, persons",
    "generalize, cells",
    "generalize, aggregates",
    "iterate",
    "mondrian",
    "specialize",
    "subtree",
    "bucketize",
    "bucketize, generalized",
    "bucketize, permuted",
    "anatomy",
    "t-microaggregate, generalized",
    "stochastic-closeness, t",
    "slice",
    "suppress",
    "mdav",
    "vmdav",
    "swap",
    "ir-swap",
    "truthful",
    "truthful, trim, tree",
    "truthful-tables",
    "dp-microaggregation",
)


#: values of these that such a release may have, though this one does not
POSSIBLE = {
    ("generalize, aggregates", "workclass"): ("{private, state}",),
    ("mondrian", "age"): ("[20, 25]",),
    ("bucketize", "charge"): ("1",),
    ("bucketize, permuted", "charge"): ("1",),
}


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    made: dict[str, Path] = {}

    def one(name: str) -> Path:
        if name not in made:
            folder = tmp_path_factory.mktemp("release")
            found, _ = release(CASES[name], folder)
            made[name] = found.write(folder / "release")
        return made[name]

    return one


def relabel(folder: Path, file: str, column: str, value: object) -> None:
    """Give the records with the most frequent value of a column another one, in the order of their values."""
    rows = _relabelled(pq.read_table(folder / file), column, value)
    pq.write_table(rows.replace_schema_metadata(None), folder / file, store_schema=False)
    forger.edit(folder, lambda content: None, pages=False)


def _relabelled(rows: pa.Table, column: str, value: object) -> pa.Table:
    values = rows[column].to_pylist()
    old = Counter(each for each in values if each is not None).most_common(1)[0][0]
    kind = pa.float64() if type(value) is float else rows.schema.field(column).type
    forged = pa.array([value if each == old else each for each in values], kind)
    rows = rows.set_column(rows.column_names.index(column), column, forged)
    return rows.sort_by([(name, "ascending") for name in rows.column_names])


def _kinds(field: pa.Field, described: dict[str, Any]) -> tuple[object, ...]:
    if pa.types.is_date(field.type):
        return DAYS
    if not pa.types.is_string(field.type):
        return tuple(number for number in NUMBERS if number != 99.01 or described["name"] == "age")
    return {"numeric": NO_NUMBERS, "date": NO_DAYS, "ordinal": NO_RANKS}.get(described["kind"], NO_NAMES)


def _evidence(folder: Path, tables: dict[str, pa.Table]) -> Evidence:
    certificate = load(folder / "certificate.json")
    return Evidence(
        folder=folder,
        certificate=certificate,
        tables={file: shoal.read(rows) for file, rows in tables.items()},
        plan=Plan.load(folder / forger.PLAN),
        all_steps=read_steps(certificate.steps),
    )


@pytest.mark.parametrize("name", RELEASES)
def test_a_value_that_the_plan_does_not_allow_is_refused(
    name: str, releases: Callable[[str], Path], record_property: Callable[[str, object], None]
) -> None:
    folder = releases(name)
    content = forger.read(folder)
    honest = {
        data["file"]: pq.read_table(folder / data["file"]) for data in (content["data"], *content["further_data"])
    }
    assert all(check.passed for check in check_values(_evidence(folder, honest)))
    believed, tried = [], 0
    for data in [content["data"], *content["further_data"]]:
        rows = honest[data["file"]]
        for described in data["columns"]:
            column = described["name"]
            if column == data.get("class_column") or described["role"] == "identifier":
                continue
            for value in _kinds(rows.schema.field(column), described):
                if value in POSSIBLE.get((name, column), ()):
                    continue
                forged = _relabelled(rows, column, value)
                checks = check_values(_evidence(folder, honest | {data["file"]: forged}))
                tried += 1
                believed += [(column, value)] if all(check.passed for check in checks) else []
    record_property("forgeries tried", tried)
    assert tried > 5
    assert not believed


def test_the_check_is_the_one_of_values(releases: Callable[[str], Path], tmp_path: Path) -> None:
    work = forger.copied(releases("subtree"), tmp_path / "work")
    relabel(work, "data.parquet", "workclass", SENTENCE)
    failed = [str(check.subject) for check in shoal.verify(work, rendered=False).checks if not check.passed]
    assert failed == ["values"]
    assert SENTENCE not in str(shoal.verify(work, rendered=False))


def test_a_column_at_another_level_than_the_steps_say_is_refused(
    releases: Callable[[str], Path], tmp_path: Path
) -> None:
    original = releases("generalize, persons")
    work = forger.copied(original, tmp_path / "work")
    rows = pq.read_table(work / "data.parquet")
    old = next(label for label in rows["age"].to_pylist() if label == "[20, 40)")
    relabelled = pa.array(["[0, 40)" if label == old else label for label in rows["age"].to_pylist()])
    rows = rows.set_column(rows.column_names.index("age"), "age", relabelled)
    pq.write_table(
        rows.sort_by([(each, "ascending") for each in rows.column_names]), work / "data.parquet", store_schema=False
    )
    forger.edit(work, lambda content: None, pages=False)
    assert [each.subject for each in shoal.verify(work, rendered=False).checks if not each.passed] == ["values"]


def test_missing_values_that_the_schema_refuses_are_refused(tmp_path: Path) -> None:
    attributes = (
        Attribute(name="sex", role="quasi-identifier"),
        Attribute(name="ill", role="sensitive", missing="refuse"),
    )
    table = shoal.read(pa.table({"sex": list("ffmm"), "ill": list("abab")}), schema=Schema(attributes=attributes))
    original = shoal.anonymize(table, shoal.KAnonymity(2)).write(tmp_path / "release")
    assert shoal.verify(original).passed
    relabel(original, "data.parquet", "ill", None)
    assert [each.subject for each in shoal.verify(original, rendered=False).checks if not each.passed] == ["values"]


def test_what_the_plan_does_not_list_is_not_said_to_be_checked(tmp_path: Path) -> None:
    attributes = (Attribute(name="sex", role="quasi-identifier"), Attribute(name="ill", role="sensitive"))
    table = shoal.read(pa.table({"sex": list("ffmm"), "ill": list("abab")}), schema=Schema(attributes=attributes))
    found = shoal.verify(shoal.anonymize(table, shoal.KAnonymity(2)).write(tmp_path / "release"))
    (unchecked,) = (check for check in found.checks if check.subject == "values of `sex`, `ill`")
    assert found.passed
    assert not unchecked.shown
