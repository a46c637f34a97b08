"""What columns are called changes no released value, even where engines and libraries use the same names."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import duckdb
import pytest

import shoal
from golden.cases import CASES, KEY, Case
from shoal.mechanisms import SeededSource

NAMES = {
    "name": "self",
    "age": "count_all",
    "workclass": "probability",
    "admitted": "by",
    "diagnosis": "records",
    "charge": "class_size",
    "class pain": "weight",
}
EACH = ("generalize", "anatomy", "mdav", "suppress", "truthful-tables, sets", "dp-microaggregation, partition, sets")


def _renamed(value: object, names: dict[str, str]) -> object:
    """Return a value of a plan with other names of columns."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, list | tuple):
        return type(value)(_renamed(each, names) for each in value)
    if isinstance(value, dict):
        return {names.get(name, name): _renamed(each, names) for name, each in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {each.name: getattr(value, each.name) for each in dataclasses.fields(value) if each.init}
        changed = {name: _renamed(each, names) for name, each in fields.items()}
        return dataclasses.replace(value, **{name: each for name, each in changed.items() if each != fields[name]})
    return value


def _release(case: Case, folder: Path, names: dict[str, str]) -> shoal.Release:
    schema = case.described(folder)
    rows = case.records(schema)
    attributes = tuple(dataclasses.replace(each, name=names.get(each.name, each.name)) for each in schema)
    plan = shoal.Plan(
        schema=dataclasses.replace(schema, attributes=attributes),
        models=_renamed(case.promises, names),  # type: ignore[arg-type]
        method=_renamed(case.method, names),  # type: ignore[arg-type]
    )
    table = shoal.read(rows.rename_columns([names.get(name, name) for name in rows.column_names]))
    return plan.run(table, source=SeededSource(case.seed), pseudonym_key=KEY if case.pseudonyms else None)


def _values(made: shoal.Release) -> list[list[list[object]]]:
    return [[column.to_pylist() for column in part.table.to_arrow().columns] for part in made.parts]


@pytest.mark.parametrize("name", EACH)
def test_a_release_is_the_same_whatever_columns_are_called(name: str, tmp_path: Path) -> None:
    case = dataclasses.replace(CASES[name], measures=("loss",))
    made = _release(case, tmp_path, NAMES)
    assert _values(made) == _values(_release(case, tmp_path, {}))
    assert shoal.verify(made.write(tmp_path / "release", csv=True)).passed


def test_the_tables_of_anatomy_are_joined_whatever_columns_are_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for place, names in enumerate(({}, NAMES | {"charge": "class_records"})):
        made = _release(CASES["anatomy"], tmp_path, names)
        found.append([column.to_pylist() for column in made.table.to_arrow().columns])
        monkeypatch.chdir(made.write(tmp_path / f"release {place}"))
        rows = duckdb.connect()
        rows.execute(Path("joined.sql").read_text(encoding="utf-8"))
        shown = rows.sql("SELECT * FROM joined").fetchall()
        assert len(shown) == len(found[-1][0])
        assert sorted(each[-1] for each in shown) == pytest.approx(sorted(found[-1][-1]))
    assert found[0] == found[1]
    assert made.table.columns[-1] == "probability 2"


def test_estimates_write_over_no_column(tmp_path: Path) -> None:
    case = CASES["truthful-tables, sets"]
    names = {"age": "count_all", "workclass": "estimate", "class pain": "weight"}
    pools, tables = [], []
    for place, some in enumerate(({}, names)):
        folder = _release(case, tmp_path, some).write(tmp_path / f"release {place}")
        found = shoal.estimate(folder)
        pools.append(found.pool())
        tables.append(found.table(some.get("workclass", "workclass"), some.get("class pain", "class pain")))
    assert pools[1].column_names[-1] == "weight 2"
    assert tables[1].column_names == ["estimate", "weight", "estimate 2", "standard error"]
    for before, after in (pools, tables):
        assert [column.to_pylist() for column in before.columns] == [column.to_pylist() for column in after.columns]
