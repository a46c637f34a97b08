"""The invented people of the golden releases: every kind of column, missing values, names that invite mistakes."""

from __future__ import annotations

import dataclasses
import datetime as dt
import random
from pathlib import Path

import pyarrow as pa

from shoal import Attribute, Domain, Schema
from shoal.schema import Cuts, Dates, Flat, FromFile, Groups, Intervals, Mask, Quantiles, Taxonomy

FIRST, LAST = dt.date(2023, 1, 1), dt.date(2024, 12, 31)
EMPLOYERS = {"employed": ("private", "state", "église"), "independent": ("self-employed", "Künstler, frei")}
ILLNESSES = {"infection": ("cold", "flu", "measles"), "injury": ("burn", "fracture")}
CITIES = {"Zürich": "Nord", "Basel": "Nord", "Genève": "Süd", "Lugano": "Süd", "Nord": "Schweiz", "Süd": "Schweiz"}
SCHOOLS = ("none", "primary", "secondary", "university")
PAINS = ("none", "mild", "severe")

COLUMNS: dict[str, Attribute] = {
    attribute.name: attribute
    for attribute in (
        Attribute(name="name", role="identifier"),
        Attribute(
            name="age",
            role="quasi-identifier",
            kind="numeric",
            domain=Domain(minimum=0, maximum=99),
            hierarchy=Intervals(widths=(5, 20, 40)),
        ),
        Attribute(
            name="workclass", role="quasi-identifier", hierarchy=Groups(levels=(tuple(EMPLOYERS.items()),)), weight=2
        ),
        Attribute(
            name="admitted",
            role="quasi-identifier",
            kind="date",
            domain=Domain(minimum=FIRST, maximum=LAST),
            hierarchy=Dates(levels=("month", "quarter", "year")),
        ),
        Attribute(
            name="schooling", role="quasi-identifier", kind="ordinal", domain=Domain(values=SCHOOLS), hierarchy=Flat()
        ),
        Attribute(name="città", role="quasi-identifier", hierarchy=Taxonomy(pairs=tuple(CITIES.items()))),
        Attribute(name="zip", role="quasi-identifier", hierarchy=Mask(length=4, masked=(1, 2, 3))),
        Attribute(name="size", role="quasi-identifier", kind="numeric", hierarchy=Quantiles(counts=(8, 4, 2))),
        Attribute(
            name="weight",
            role="quasi-identifier",
            kind="numeric",
            hierarchy=Cuts(levels=((50.5, 62.25, 70, 81), (62.25, 81), (81,))),
        ),
        Attribute(name="diagnosis", role="sensitive", hierarchy=Groups(levels=(tuple(ILLNESSES.items()),))),
        Attribute(name="charge", role="sensitive", kind="numeric", domain=Domain(minimum=0, maximum=1000)),
        Attribute(name="class pain", role="sensitive", kind="ordinal", domain=Domain(values=PAINS)),
        Attribute(name="nights", kind="numeric", domain=Domain(minimum=0, maximum=30)),
    )
}


def rows(number: int, *, seed: int = 1) -> pa.Table:
    """Return invented people; some values are missing, and some columns go together."""
    draw = random.Random(seed)
    return pa.Table.from_pylist([_person(draw, place) for place in range(number)], schema=_TYPES)


def visits(number: int, *, people: int) -> pa.Table:
    """Return records of which some are of the same person."""
    made = rows(number)
    names = pa.array([f"Person Nº {place * place % people}" for place in range(number)])
    return made.set_column(made.column_names.index("name"), "name", names)


def _person(draw: random.Random, place: int) -> dict[str, object]:
    age = draw.choice((None, *(draw.randrange(18, 80) for _ in range(24))))
    city = draw.choice(("Zürich", "Zürich", "Basel", "Genève", "Lugano"))
    ill = draw.choice([each for group in ILLNESSES.values() for each in group])
    return {
        "name": f"Person Nº {place}",
        "age": age,
        "workclass": draw.choice(("private", "private", "state", "église", "self-employed", "Künstler, frei", None)),
        "admitted": FIRST + dt.timedelta(days=draw.randrange(730)) if draw.random() < 0.96 else None,
        "schooling": draw.choice(SCHOOLS),
        "città": city,
        "zip": {"Zürich": "80", "Basel": "40", "Genève": "12", "Lugano": "69"}[city] + f"{draw.randrange(20):02d}",
        "size": 150 + draw.randrange(50),
        "weight": 45 + draw.randrange(180) / 4,
        "diagnosis": ill,
        "charge": 100 + 10 * draw.randrange(60) + (150 if ill == "fracture" else 0),
        "class pain": draw.choice(PAINS) if draw.random() < 0.95 else None,
        "nights": draw.choice((None, *range(1, 12))),
    }


_TYPES = pa.schema(
    [
        ("name", pa.string()),
        ("age", pa.int64()),
        ("workclass", pa.string()),
        ("admitted", pa.date32()),
        ("schooling", pa.string()),
        ("città", pa.string()),
        ("zip", pa.string()),
        ("size", pa.int64()),
        ("weight", pa.float64()),
        ("diagnosis", pa.string()),
        ("charge", pa.int64()),
        ("class pain", pa.string()),
        ("nights", pa.int64()),
    ]
)


def few(number: int, *, seed: int = 2) -> pa.Table:
    """Return people of few kinds, in crowds that differential privacy lets through without noise."""
    draw = random.Random(seed)
    kinds = ((23, "private", "none"), (23, "private", "mild"), (41, "state", "none"), (47, "église", "severe"))
    chosen = draw.choices(kinds, weights=(5, 3, 3, 2), k=number)
    columns = {
        "name": [f"Person Nº {place}" for place in range(number)],
        "age": [draw.choice((age, age, age + 1)) if draw.random() < 0.97 else None for age, _, _ in chosen],
        "workclass": [work for _, work, _ in chosen],
        "class pain": [pain for _, _, pain in chosen],
    }
    return pa.table(columns)


def of_persons(table: pa.Table) -> pa.Table:
    """Return the table as one of persons who have one to five records each, in turns."""
    persons = [person for person in range(len(table)) for _ in range(1 + person % 5)][: len(table)]
    return table.set_column(0, "name", pa.array([f"Person Nº {person}" for person in persons]))


def schema(*names: str, **changes: dict[str, object]) -> Schema:
    """Return the schema of some columns, with changes by column."""
    return Schema(attributes=tuple(dataclasses.replace(COLUMNS[name], **changes.get(name, {})) for name in names))  # type: ignore[arg-type]


def with_files(folder: Path, *names: str) -> Schema:
    """Return a schema whose hierarchies lie in files: a table of levels for `workclass`, a tree for `città`."""
    lines = [f"{leaf};{group};*" for group, leaves in EMPLOYERS.items() for leaf in leaves]
    (folder / "workclass.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    pairs = [f"{child};{parent}" for child, parent in CITIES.items()]
    (folder / "città.csv").write_text("\n".join(pairs) + "\n", encoding="utf-8")
    rules = {"workclass": FromFile(path="workclass.csv"), "città": Taxonomy(path="città.csv")}
    changes = {name: {"hierarchy": rule} for name, rule in rules.items()}
    return dataclasses.replace(schema(*names, **changes), folder=folder)
