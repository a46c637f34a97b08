"""Small releases that have files of their own: of several tables, and of a series that shows its joint crowds."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import shoal
from shoal import datasets
from shoal.schema import Attribute, Domain, Intervals, Kind, Role, Schema

_DATASET = """
shoal = 1
[tables.people]
key = "id"
[tables.people.columns.town]
role = "quasi-identifier"
hierarchy = { file = "towns.csv" }
[tables.stays]
parent = "people"
key = "stay"
[tables.stays.columns.ward]
role = "quasi-identifier"
values = ["a", "b"]
[tables.stays.columns.illness]
role = "sensitive"
values = ["flu", "cold"]
[tables.drugs]
parent = "stays"
[tables.drugs.columns.drug]
role = "quasi-identifier"
values = ["x", "y"]
"""
_SERIES = Schema(
    attributes=(
        Attribute(name="id", role=Role.PERSON),
        Attribute(
            name="age",
            role=Role.QUASI_IDENTIFIER,
            kind=Kind.NUMERIC,
            domain=Domain(minimum=0, maximum=80),
            hierarchy=Intervals(widths=(10, 20, 40)),
        ),
        Attribute(name="illness", role=Role.SENSITIVE),
    )
)


def dataset(place: Path) -> Path:
    """Release people with stays and drugs, and return the folder."""
    place.mkdir()
    (place / "towns.csv").write_text("Bonn;West;*\nUlm;South;*\n", encoding="utf-8")
    people = {"id": [str(number) for number in range(8)], "town": ["Bonn", "Ulm"] * 4}
    stays = {
        "stay": [str(number) for number in range(16)],
        "id": [str(number // 2) for number in range(16)],
        "ward": ["a", "b"] * 8,
        "illness": ["flu", "cold", "cold", "flu"] * 4,
    }
    drugs = {"stay": [str(number) for number in range(16)], "drug": ["x", "y"] * 8}
    made = shoal.anonymize_dataset(
        {"people": pa.table(people), "stays": pa.table(stays), "drugs": pa.table(drugs)},
        k=2,
        known_items=2,
        secrets={"stays.illness": ["flu"]},
        confidence=1,
        schema=datasets.loads(_DATASET, place),
    )
    return made.write(place / "release", csv=True)


def series(place: Path) -> list[Path]:
    """Release two versions of a table of people, and return the folders."""
    study = shoal.Series.create(place / "study", key="id")
    models = (shoal.KAnonymity(3), shoal.series.SeriesKAnonymity(3, show_crowds=True))
    plan = shoal.Plan(schema=_SERIES, models=models, method=shoal.methods.Specialize(suppression_limit=1))
    found = []
    for number in (12, 18):
        rows = {
            "id": [f"p{each}" for each in range(number)],
            "age": [each * 7 % 80 for each in range(number)],
            "illness": ["flu", "cold", "burn"] * (number // 3),
        }
        release = plan.run(shoal.read(pa.table(rows), schema=_SERIES), series=study)
        found.append(release.write(place / f"r{len(found) + 1}"))
    return found
