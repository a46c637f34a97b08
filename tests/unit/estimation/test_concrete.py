"""Concrete records: one value below every label, drawn from the release alone, with the released counts by class."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_flow

import shoal
from shoal.errors import InputError, VerificationError
from shoal.estimation import ABOUT, concrete_records
from shoal.estimation._below import values_below
from shoal.hierarchies import build, leaf_codes

HOSPITAL = Path(__file__).parents[3] / "examples" / "hospital"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = shoal.read(HOSPITAL / "discharges.csv", schema=HOSPITAL / "discharges.schema.toml")
    folder = tmp_path_factory.mktemp("concrete") / "release"
    return shoal.anonymize(table, shoal.KAnonymity(5), method=shoal.methods.Specialize(time_limit=5)).write(folder)


def test_every_value_lies_below_the_label_of_a_record_of_its_class(release: Path) -> None:
    released = shoal.released(release)
    rows = released.tables["data.parquet"].to_arrow()
    concrete = released.concrete().rows
    assert len(concrete) == len(rows)
    untouched = ["sex", "diagnosis", "length_of_stay", "charge"]
    assert Counter(zip(*(rows[name].to_pylist() for name in untouched), strict=True)) == Counter(
        zip(*(concrete[name].to_pylist() for name in untouched), strict=True)
    )


QUASI_IDENTIFIERS = ("age", "sex", "zip", "admission_date")
REST = ("diagnosis", "length_of_stay", "charge")


def _lies_below(name: str, value: object, label: object) -> bool:
    """Decide by the look of a label whether it stands for a value; shares no code with the program."""
    if label in ("*", value) or (label is not None and label == str(value)):
        return True
    if label is None or value is None or name == "sex":
        return False
    if name == "age":
        if "[" not in str(label):
            return False
        low, high = (int(end) for end in str(label).strip("[)").split(", "))
        return low <= int(str(value)) < high
    if name == "zip":
        with (HOSPITAL / "hierarchies" / "zip.csv").open(encoding="utf-8") as lines:
            return any(line.startswith(f"{value};") and label in line.strip().split(";") for line in lines)
    year, month, _ = str(value).split("-")
    return label in (year, f"{year}-{month}", f"{year}-Q{(int(month) + 2) // 3}")


def _fits_the_release(rows: pa.Table, concrete: pa.Table) -> bool:
    """Decide whether every concrete record can be given to a released record of its own that covers it.

    Then the classes of the release, of k records or more with their sensitive values, are classes of the concrete file.
    """
    released = Counter(zip(*(rows[name].to_pylist() for name in (*QUASI_IDENTIFIERS, *REST)), strict=True))
    drawn = Counter(zip(*(concrete[name].to_pylist() for name in (*QUASI_IDENTIFIERS, *REST)), strict=True))
    covers = cache(_lies_below)
    by_rest: dict[tuple[object, ...], list[int]] = {}
    labels = [*released]
    for place, label in enumerate(labels):
        by_rest.setdefault(label[4:], []).append(place)
    source, sink, edges = 0, 1 + len(drawn) + len(labels), []
    for place, (record, number) in enumerate(drawn.items(), start=1):
        edges.append((source, place, number))
        for own in by_rest.get(record[4:], []):
            if all(map(covers, QUASI_IDENTIFIERS, record[:4], labels[own][:4])):
                edges.append((place, 1 + len(drawn) + own, number))
    edges += [(1 + len(drawn) + place, sink, released[label]) for place, label in enumerate(labels)]
    start, end, room = (np.array(each, dtype=np.int32) for each in zip(*edges, strict=True))
    graph = csr_matrix((room, (start, end)), shape=(sink + 1, sink + 1))
    return int(maximum_flow(graph, source, sink).flow_value) == len(rows) == len(concrete)


def test_the_independent_checker_finds_the_classes_of_the_release_again(release: Path) -> None:
    released = shoal.released(release)
    rows, concrete = released.tables["data.parquet"].to_arrow(), released.concrete().rows
    assert _fits_the_release(rows, concrete)
    sizes = Counter(zip(*(rows[name].to_pylist() for name in QUASI_IDENTIFIERS), strict=True))
    assert min(sizes.values()) >= 5


@pytest.mark.parametrize("column", ["age", "zip", "sex", "charge"])
def test_the_independent_checker_refuses_a_value_from_outside_its_class(release: Path, column: str) -> None:
    released = shoal.released(release)
    rows, concrete = released.tables["data.parquet"].to_arrow(), released.concrete(seed=1).rows
    values = concrete[column].to_pylist()
    wrong = {"age": 150, "zip": "99999", "sex": "M" if values[7] == "F" else "F", "charge": -1.0}
    values[7] = wrong[column]
    changed = concrete.set_column(concrete.column_names.index(column), column, pa.array(values, concrete[column].type))
    assert not _fits_the_release(rows, changed)


def test_names_are_drawn_below_their_node_of_the_hierarchy(release: Path) -> None:
    schema = shoal.released(release).schema
    zips = build(schema["zip"], pa.array([], pa.string()), folder=schema.folder, missing=True)
    level = 1
    labels = [label for label in zips.labels[level] if label is not None]
    below = values_below(schema["zip"], labels, folder=schema.folder)
    generator = np.random.default_rng(2)
    codes = np.repeat(np.arange(len(labels)), 20)
    values = below.draw_values(below.draw_cells(codes, below.shares(np.bincount(codes)), generator), generator)
    leaves = leaf_codes(zips, values)
    assert (leaves >= 0).all()
    assert [zips.labels[level][code] for code in zips.generalize(leaves, level)] == [labels[code] for code in codes]


def test_pandas_reads_the_file_as_it_reads_the_original(release: Path, tmp_path: Path) -> None:
    path = tmp_path / "concrete.csv"
    shoal.released(release).write_concrete(path)
    original, concrete = pd.read_csv(HOSPITAL / "discharges.csv"), pd.read_csv(path)
    for column in concrete.columns:
        assert concrete[column].dtype == original[column].dtype, column
    assert concrete.age.mean() == pytest.approx(original.age.mean(), abs=0.5)


def test_nothing_but_the_release_is_read(release: Path) -> None:
    released = shoal.released(release)
    rows = released.tables["data.parquet"].to_arrow()
    first = concrete_records(rows, released.schema, seed=4).rows
    assert first.equals(concrete_records(rows, released.schema, seed=4).rows)


def test_impossible_combinations_are_drawn_again_and_what_stays_is_counted() -> None:
    schema = shoal.Schema(
        attributes=(
            shoal.Attribute(
                name="age", role="quasi-identifier", kind="numeric", domain=shoal.Domain(minimum=0, maximum=99)
            ),
            shoal.Attribute(name="marital", role="insensitive"),
        ),
        impossible=("age < 15 and marital != never",),
    )
    rows = pa.table({"age": ["[10, 20)"] * 500 + ["12"], "marital": ["married"] * 501})
    records = concrete_records(rows, schema)
    ages = np.array(records.rows["age"].to_pylist())
    assert records.impossible == 1
    assert (ages < 15).sum() == 1


def test_all_columns_without_values_below_their_labels_are_named_at_once() -> None:
    schema = shoal.Schema(
        attributes=(
            shoal.Attribute(name="income", role="quasi-identifier", kind="numeric"),
            shoal.Attribute(name="remark", role="quasi-identifier"),
        )
    )
    rows = pa.table({"income": ["*", "*"], "remark": ["*", "*"]})
    with pytest.raises(InputError) as caught:
        concrete_records(rows, schema)
    assert [name in str(caught.value) for name in ("income", "remark")] == [True, True]


@pytest.mark.parametrize(
    ("label", "allowed"),
    [
        ("[20, 25)", range(20, 25)),
        ("[20, 25]", range(20, 26)),
        ("< 3", range(3)),
        (">= 97", range(97, 100)),
        ("> 97", range(98, 100)),
        ("34", [34]),
        ("*", range(100)),
    ],
)
def test_whole_numbers_keep_to_the_ends_of_their_labels(label: str, allowed: range) -> None:
    age = shoal.Attribute(name="age", kind="numeric", domain=shoal.Domain(minimum=0, maximum=99))
    below = values_below(age, [label])
    codes, generator = np.zeros(3_000, dtype=np.int64), np.random.default_rng(0)
    drawn = below.draw_values(below.draw_cells(codes, below.shares(np.array([3_000])), generator), generator)
    assert {*drawn.to_pylist()} == {*allowed}


def test_verify_says_what_a_concrete_file_is(release: Path, tmp_path: Path) -> None:
    path = tmp_path / "concrete.csv"
    shoal.released(release).write_concrete(path)
    with pytest.raises(VerificationError, match=r"`concrete.csv` holds concrete records.*no certificate") as caught:
        shoal.verify(path)
    assert "folder of the release" in str(caught.value.hint)
    path.with_name(path.name + ABOUT).write_text("Something else", encoding="utf-8")
    with pytest.raises(VerificationError, match="no record"):
        shoal.verify(path)
