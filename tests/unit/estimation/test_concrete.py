"""Concrete records: one value below every label, drawn from the release alone, with the released counts by class."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

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
    return shoal.anonymize(table, shoal.KAnonymity(5), method=shoal.Specialize(time_limit=5)).write(folder)


def test_every_value_lies_below_the_label_of_a_record_of_its_class(release: Path) -> None:
    released = shoal.released(release)
    rows = released.tables["data.parquet"].to_arrow()
    concrete = released.concrete().rows
    assert len(concrete) == len(rows)
    untouched = ["sex", "diagnosis", "length_of_stay", "charge"]
    assert Counter(zip(*(rows[name].to_pylist() for name in untouched), strict=True)) == Counter(
        zip(*(concrete[name].to_pylist() for name in untouched), strict=True)
    )


def test_the_independent_checker_finds_the_classes_of_the_release_again(release: Path) -> None:
    """Generalise the concrete values to the labels of the release: the sizes of its classes are those of the labels."""
    released = shoal.released(release)
    rows = released.tables["data.parquet"].to_arrow()
    schema = released.schema
    labels = rows["age"].unique().to_pylist()
    below = values_below(schema["age"], labels)
    generator = np.random.default_rng(1)
    codes = np.array([labels.index(label) for label in rows["age"].to_pylist()])
    shares = below.shares(np.bincount(codes, minlength=len(labels)))
    drawn = below.draw_values(below.draw_cells(codes, shares, generator), generator).to_numpy()
    for label, value in zip(rows["age"].to_pylist(), drawn.tolist(), strict=True):
        low, high = (int(end) for end in label.strip("[)").split(",")) if "[" in label else (int(label), int(label) + 1)
        assert low <= value < high


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
