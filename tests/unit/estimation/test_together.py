"""Values below the labels of a record are drawn together: below the labels, related, and beside finer classes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.estimation import concrete_records

LETTERS = ("a", "b", "c", "d")


def schema(*names: str, told: str = "") -> shoal.Schema:
    """Return a schema of columns with groups, all of them quasi-identifiers but the one that is told."""
    groups = shoal.schema.Groups(levels=((("a or b", ("a", "b")), ("c or d", ("c", "d"))),))
    return shoal.Schema(
        attributes=tuple(
            shoal.Attribute(name=name, role="sensitive" if name == told else "quasi-identifier", hierarchy=groups)
            for name in names
        )
    )


def shares(column: pa.ChunkedArray) -> dict[str, float]:
    values, counts = np.unique(column.to_pylist(), return_counts=True)
    return dict(zip(values.tolist(), (counts / counts.sum()).tolist(), strict=True))


def test_records_with_fine_values_teach_those_with_coarse_ones() -> None:
    """Both columns are equal where they are shown; below coarse labels they must be about equal, too."""
    letters = [LETTERS[i % 2] for i in range(2_000)]
    rows = pa.table(
        {"one": letters + letters[:400], "other": letters + ["a or b"] * 400},
    )
    concrete = concrete_records(rows, schema("one", "other", told="other"), seed=1).rows
    equal = [
        one == other for one, other in zip(*(concrete[name].to_pylist() for name in ("one", "other")), strict=True)
    ]
    assert np.mean(equal) > 0.94, "drawn one by one, half of a sixth would differ"


def test_every_drawn_value_lies_below_its_label() -> None:
    generator = np.random.default_rng(3)
    labels = ("a", "b", "a or b", "c or d", "*", None)
    columns = {name: [labels[i] for i in generator.integers(0, 6, 3_000)] for name in ("one", "other")}
    # a column that stays as it is tells which record is which: rows come in random order
    number = shoal.Attribute(name="number", role="insensitive")
    described = schema("one", "other")
    described = shoal.Schema(attributes=(*described, number))
    concrete = concrete_records(pa.table(columns | {"number": range(3_000)}), described).rows.sort_by("number")
    below = {"a": "a", "b": "b", "a or b": "ab", "c or d": "cd", "*": "abcd"}
    for name, released in columns.items():
        for label, value in zip(released, concrete[name].to_pylist(), strict=True):
            assert (value is None) if label is None else value in below[label]


def test_a_value_with_a_finer_class_is_seldom_drawn_for_a_coarser_one() -> None:
    """A record of value a would be in the class of a: those that stayed behind at `a or b` are mostly b."""
    rows = pa.table({"one": ["a"] * 900 + ["a or b"] * 100, "other": ["c"] * 1_000})
    concrete = concrete_records(rows, schema("one", "other"), seed=2).rows
    assert shares(concrete["one"])["b"] > 0.07


def test_a_missing_value_lies_in_no_class_of_values() -> None:
    rows = pa.table({"one": ["a", None, "*"] * 50, "other": pa.array(["c", "c", None] * 50, pa.string())})
    concrete = concrete_records(rows, schema("one", "other"), seed=2).rows
    assert concrete["one"].null_count == concrete["other"].null_count == 50


@pytest.mark.parametrize("rows", [0, 1])
def test_tables_of_hardly_any_record_are_drawn(rows: int) -> None:
    concrete = concrete_records(pa.table({"one": pa.array(["a or b"] * rows, pa.string())}), schema("one")).rows
    assert len(concrete) == rows
