"""Joint crowds of releases made without a series, counted again one person at a time."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from tests.unit.series.conftest import SCHEMA, Person, crowd_of, table_of

import shoal
from shoal.errors import DataError, ParameterError

GENERALIZE = shoal.Generalize(suppression_limit=1)


def _two(tmp_path: Path) -> tuple[list[shoal.Table], list[Path]]:
    gone = {key: person for key, person in crowd_of(37).items() if key not in ("p3", "p9", "p20")}
    originals = [table_of(crowd_of(30)), table_of(gone)]
    folders = [tmp_path / "r1", tmp_path / "r2"]
    for table, folder, method in zip(originals, folders, (GENERALIZE, shoal.methods.Specialize()), strict=True):
        shoal.anonymize(table, k=4, method=method).write(folder)
    return originals, folders


def test_joint_crowds_are_counted_as_by_hand(tmp_path: Path) -> None:
    originals, folders = _two(tmp_path)
    risk = shoal.comparison.joint_risk(originals, folders)
    chains: dict[str, list[object]] = {}
    for i, (table, folder) in enumerate(zip(originals, folders, strict=True)):
        made = shoal.Plan.load(folder / "plan.toml").run(table)
        classes = made.result.record_classes[0].find()
        for key, number in zip(table.to_arrow()["id"].to_pylist(), classes, strict=True):
            chains.setdefault(key, [-1] * i).append(int(number))
    whole = {key: tuple([*chain, -1][:2]) for key, chain in chains.items()}
    sizes = Counter(whole.values())
    shown = [key for key, chain in whole.items() if chain != (-1, -1)]
    assert risk.people == len(shown)
    assert risk.alone >= 4
    assert risk.exposed == sum(sizes[whole[key]] < risk.alone for key in shown) > 0
    assert risk.single == sum(sizes[whole[key]] == 1 for key in shown)


def test_files_of_other_programs_are_joined_by_an_identifier(tmp_path: Path) -> None:
    people: dict[str, Person] = {f"p{i}": (30 + i, "F", "flu") for i in range(8)}
    for name, width in (("a", 2), ("b", 3)):
        rows = {"id": list(people), "age": [str(age // width) for age, _, _ in people.values()]}
        pyarrow.csv.write_csv(pa.table(rows), tmp_path / f"{name}.csv")
    risk = shoal.comparison.joint_risk([table_of(people)], [tmp_path / "a.csv", tmp_path / "b.csv"])
    assert (risk.people, risk.smallest, risk.single) == (8, 1, 2)
    assert risk.certain == {"illness": 6}


def test_a_release_of_another_table_is_refused(tmp_path: Path) -> None:
    originals, folders = _two(tmp_path)
    with pytest.raises(DataError, match="is not what its plan makes"):
        shoal.comparison.joint_risk([originals[0]], folders)
    with pytest.raises(ParameterError, match="at least two"):
        shoal.comparison.joint_risk(originals[:1], folders[:1])
    assert SCHEMA.sensitive == ("illness",)
