"""Small tables of people who come, leave and change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pytest

import shoal

Person = tuple[int, str, str]
MakeTable = Callable[[Mapping[str, Person]], shoal.Table]

AGE = shoal.Attribute(
    name="age",
    role=shoal.Role.QUASI_IDENTIFIER,
    kind=shoal.Kind.NUMERIC,
    domain=shoal.Domain(minimum=0, maximum=99),
    hierarchy=shoal.schema.Intervals(widths=(5, 10, 20, 40)),
)
SEX = shoal.Attribute(name="sex", role=shoal.Role.QUASI_IDENTIFIER, domain=shoal.Domain(values=("F", "M")))
ILLNESS = shoal.Attribute(name="illness", role=shoal.Role.SENSITIVE)
KEY = shoal.Attribute(name="id", role=shoal.Role.IDENTIFIER)
SCHEMA = shoal.Schema(attributes=(KEY, AGE, SEX, ILLNESS))


def table_of(people: Mapping[str, Person], schema: shoal.Schema = SCHEMA) -> shoal.Table:
    """Return a table of people by key."""
    names = ("age", "sex", "illness")
    columns = {name: [person[i] for person in people.values()] for i, name in enumerate(names)}
    types = {"age": pa.int64(), "sex": pa.string(), "illness": pa.string()}
    rows = {"id": pa.array(list(people), pa.string())}
    rows |= {name: pa.array(values, types[name]) for name, values in columns.items()}
    return shoal.read(pa.table(rows), schema=schema)


@pytest.fixture
def study(tmp_path: Path) -> shoal.Series:
    return shoal.Series.create(tmp_path / "study", key="id")


def crowd_of(number: int, *, first: int = 0, age: int = 30, illness: str = "") -> dict[str, Person]:
    """Return people with neighbouring ages and, unless one is named, different illnesses."""
    return {
        f"p{first + i}": (age + i % 10, "FM"[i % 2], illness or ("flu", "cold", "gout")[i % 3]) for i in range(number)
    }
