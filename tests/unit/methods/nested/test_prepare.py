"""Sizes that are known, days since the first date, bounded bags and shifted dates."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import shoal
from shoal import datasets
from shoal.dataset_release import DatasetRelease
from shoal.errors import SchemaError, ShoalError
from shoal.rehearsal import HollowRelease

SCHEMA = """
shoal = 1
{top}
[tables.people]
key = "id"
[tables.people.columns.sex]
role = "quasi-identifier"
values = ["F", "M"]
[tables.people.columns.born]
role = "sensitive"
kind = "date"
[tables.stays]
parent = "people"
key = "stay"
{stays}
[tables.stays.columns.day]
{day}
[tables.drugs]
parent = "stays"
[tables.drugs.columns.drug]
role = "quasi-identifier"
values = ["x", "y"]
"""
QUARTERS = """
role = "quasi-identifier"
kind = "date"
minimum = 2023-01-01
maximum = 2027-12-31
hierarchy = { dates = ["quarter", "year"] }
"""
DAYS = """
role = "quasi-identifier"
kind = "numeric"
minimum = 0
maximum = 400
hierarchy = { intervals = [100, 200] }
"""
FIRST = datetime.date(2025, 1, 1)


def schema(top: str = "", stays: str = "", day: str = QUARTERS) -> datasets.DatasetSchema:
    return datasets.loads(SCHEMA.format(top=top, stays=stays, day=day))


def frames(persons: int = 240) -> Mapping[str, pa.Table]:
    draw = np.random.default_rng(5)
    people, stays, drugs = [], [], []
    for person in range(persons):
        people.append({"id": person, "sex": "FM"[person % 2], "born": FIRST - datetime.timedelta(days=9_000 + person)})
        for _ in range(int(draw.integers(0, 5))):
            day = FIRST + datetime.timedelta(days=int(draw.integers(0, 365)))
            stays.append({"stay": len(stays), "id": person, "day": day})
            drugs += [
                {"stay": len(stays) - 1, "drug": "xy"[int(draw.integers(2))]} for _ in range(int(draw.integers(3)))
            ]
    return {name: pa.Table.from_pylist(rows) for name, rows in (("people", people), ("stays", stays), ("drugs", drugs))}


def made(described: datasets.DatasetSchema, m: int = 1, limit: float = 1.0) -> DatasetRelease:
    method = shoal.RecodeItems(suppression_limit=limit)
    return shoal.anonymize_dataset(frames(), k=4, known_items=m, schema=described, method=method)


def written(release: DatasetRelease, folder: Path) -> Any:
    found = shoal.verify(release.write(folder / "release"))
    assert found.passed, [check for check in found.checks if not check.passed]
    return found


def test_a_size_is_a_column_that_says_how_many_rows_there_are(tmp_path: Path) -> None:
    release = made(schema(stays='size = "stays_count"'))
    people, stays = release.tables["people"], release.tables["stays"]
    counts = np.bincount(stays["id"].to_numpy(), minlength=len(people) + 1)[1:]
    assert people["stays_count"].to_pylist() == counts.tolist()
    groups = people.group_by(["sex", "stays_count"]).aggregate([([], "count_all")])
    assert pc.min(groups["count_all"]).as_py() >= 4
    assert "How many rows of `stays` somebody has is covered." in release.guarantee.promises[0].statement
    assert release.plan.method.suppress == "persons"
    written(release, tmp_path)


def test_days_are_counted_from_the_true_first_date_of_a_person(tmp_path: Path) -> None:
    release = made(schema(stays='days_since_first = ["day"]', day=DAYS.replace("quasi-identifier", "insensitive")))
    stays = release.tables["stays"]
    first = stays.group_by("id").aggregate([("day", "min")])
    assert pc.all(pc.equal(first["day_min"], 0)).as_py(), "only persons are left out, so that everybody has day 0"
    assert pc.max(stays["day"]).as_py() > 100
    written(release, tmp_path)


def test_days_can_be_generalised(tmp_path: Path) -> None:
    release = made(schema(stays='days_since_first = ["day"]', day=DAYS))
    assert release.tables["stays"]["day"].type == pa.string()
    written(release, tmp_path)


def test_bags_are_bounded_at_random_and_rows_below_go_with_them(tmp_path: Path) -> None:
    release = made(schema(stays="at_most = 2"))
    stays = release.tables["stays"]
    assert np.bincount(stays["id"].to_numpy()).max() == 2
    assert "Kept at most 2 rows of `stays`" in str(release)
    assert release.guarantee.randomness != "none used"
    written(release, tmp_path)


def test_dates_of_a_person_move_together_and_keep_their_intervals(tmp_path: Path) -> None:
    release = made(schema(top="shift_dates = 200", day='role = "sensitive"\nkind = "date"'), m=0)
    source = frames()
    stays, people = release.tables["stays"], release.tables["people"]

    def spans(stays: pa.Table) -> list[int]:
        days = (
            stays.append_column("n", stays["day"].cast(pa.int32()))
            .group_by("id")
            .aggregate([("n", "min"), ("n", "max")])
        )
        return sorted(pc.subtract(days["n_max"], days["n_min"]).to_pylist())

    assert spans(stays) == spans(source["stays"]), "intervals stay"
    births = {*source["people"]["born"].to_pylist()}
    assert sum(born in births for born in people["born"].to_pylist()) < len(people), "dates of birth move, too"
    assert "No promise rests on this" in str(release)
    assert not any("shift" in promise.statement for promise in release.guarantee.promises)
    written(release, tmp_path)


def test_dates_as_text_would_show_the_shift_and_are_refused() -> None:
    described = schema(top="shift_dates = 30", day='role = "insensitive"')
    texts = dict(frames())
    texts["stays"] = texts["stays"].set_column(2, "day", texts["stays"]["day"].cast(pa.string()))
    with pytest.raises(SchemaError, match="dates as text"):
        shoal.anonymize_dataset(texts, k=2, known_items=1, schema=described)


@pytest.mark.parametrize(
    ("stays", "problem"),
    [
        ("at_most = 0", "at least 1"),
        ('at_most = 2\ndays_since_first = ["day"]', "may leave out first rows"),
        ('size = "sex"', "has a column `sex` already"),
        ('size = "id"', "has a column `id` already"),
        ('days_since_first = ["drug"]', 'kind = "numeric"'),
        ("at_most = true", "whole number"),
        ("size = 3", "must be text"),
    ],
)
def test_what_cannot_be_is_refused(stays: str, problem: str) -> None:
    with pytest.raises(ShoalError, match=problem):
        schema(stays=stays, day=DAYS)


def test_schemas_with_all_of_it_come_back() -> None:
    described = schema(top="shift_dates = 30", stays='size = "n"\nat_most = 4')
    assert datasets.loads(datasets.dumps(described)) == described


def test_a_data_set_whose_roles_are_guessed_can_be_released(tmp_path: Path) -> None:
    guessed = replace(schema(), guessed=True)
    release = made(guessed)
    assert "guessed = true" in release.plan.dumps()
    written(release, tmp_path)


def _giving_away(persons: int = 400) -> Mapping[str, pa.Table]:
    """Fees that follow from the day of a stay."""
    draw = np.random.default_rng(11)
    days = draw.integers(0, 365, 2 * persons)
    stays = {
        "stay": np.arange(2 * persons),
        "id": np.repeat(np.arange(persons), 2),
        "day": [FIRST + datetime.timedelta(days=int(day)) for day in days],
        "fee": days * 3 + 20,
    }
    people = {"id": np.arange(persons), "sex": ["FM"[each % 2] for each in range(persons)]}
    return {"people": pa.table(people), "stays": pa.table(stays)}


GIVING_AWAY = """
shoal = 1
[tables.people]
key = "id"
[tables.people.columns.sex]
role = "quasi-identifier"
values = ["F", "M"]
[tables.stays]
parent = "people"
key = "stay"
[tables.stays.columns.day]
role = "quasi-identifier"
kind = "date"
minimum = 2025-01-01
maximum = 2025-12-31
hierarchy = { dates = ["month", "quarter", "year"] }
[tables.stays.columns.fee]
role = "sensitive"
kind = "numeric"
"""


def test_a_release_whose_other_columns_tell_the_known_ones_is_refused(tmp_path: Path) -> None:
    described = datasets.loads(GIVING_AWAY)
    release = shoal.anonymize_dataset(_giving_away(), k=5, known_items=1, schema=described)
    with pytest.raises(HollowRelease) as caught:
        release.write(tmp_path / "release")
    assert "`stays.fee`" in str(caught.value)
    assert not (tmp_path / "release").exists()
    accepted = shoal.anonymize_dataset(_giving_away(), k=5, known_items=1, schema=described, accept=["stays.fee"])
    written(accepted, tmp_path)
    assert "accepts that `stays.fee`" in (tmp_path / "release" / "summary.txt").read_text().replace("\n    ", " ")


def test_numbers_that_are_none_verify(tmp_path: Path) -> None:
    described = datasets.loads(GIVING_AWAY.rstrip().removesuffix('kind = "numeric"'))
    source = dict(_giving_away())
    values = np.where(np.arange(800) % 3 == 0, np.nan, np.arange(800) % 7)
    source["stays"] = source["stays"].set_column(3, "fee", pa.array(values, mask=np.arange(800) % 5 == 0))
    release = shoal.anonymize_dataset(source, k=2, known_items=1, schema=described)
    written(release, tmp_path)


def test_infinite_numbers_are_refused_by_column() -> None:
    described = datasets.loads(GIVING_AWAY.rstrip().removesuffix('kind = "numeric"'))
    source = dict(_giving_away())
    values = np.where(np.arange(800) < 2, np.inf, 1.0)
    source["stays"] = source["stays"].set_column(3, "fee", pa.array(values))
    with pytest.raises(ShoalError, match="table `stays`: column `fee` holds infinite numbers in 2 rows"):
        shoal.anonymize_dataset(source, k=2, known_items=1, schema=described)


def test_a_table_without_rows_is_named() -> None:
    source = dict(frames(20))
    source["drugs"] = source["drugs"].slice(0, 0)
    with pytest.raises(ShoalError, match="table `drugs`: arrow frame has no records"):
        shoal.anonymize_dataset(source, k=2, known_items=1, schema=schema())
