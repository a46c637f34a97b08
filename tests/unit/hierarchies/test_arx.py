from __future__ import annotations

import csv

import numpy as np
import pyarrow as pa
import pytest

from shoal.errors import HierarchyError, OutputError
from shoal.hierarchies import build, leaf_codes, outside, read_arx, write_arx
from shoal.schema import Attribute, Domain, FromFile, Kind, Provenance


@pytest.fixture
def file(tmp_path):
    def write(content, name="zip.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write


def test_rows_become_levels(file):
    hierarchy = read_arx(file("a;x;*\nb;y;*\nc;x;*\n"))
    assert hierarchy.attribute == "zip"
    assert hierarchy.labels == (("a", "c", "b"), ("x", "y"), ("*",))
    assert [codes.tolist() for codes in hierarchy.codes] == [[0, 1, 2], [0, 0, 1], [0, 0, 0]]
    assert hierarchy.shares[1].tolist() == [0.5, 0]
    assert hierarchy.provenance is Provenance.DECLARED


@pytest.mark.parametrize(
    ("content", "labels"),
    [
        ("a;x\nb;x\n", (("a", "b"), ("x",))),
        ("a;x;Any\nb;y;Any\n", (("a", "b"), ("x", "y"), ("Any",))),
        ("a;x;Any;*\nb;y;Any;*\n", (("a", "b"), ("x", "y"), ("Any",), ("*",))),
        ("a;x;x\nb;x;x\n", (("a", "b"), ("x",), ("x",), ("*",))),
        ("a;*;Any\nb;y;Any\n", (("a", "b"), ("*", "y"), ("Any",), ("*",))),
        ("a\nb\n", (("a", "b"), ("*",))),
        ("a;x;*\nb;*;*\n", (("a", "b"), ("x", "*"), ("*",))),
        ("a;*;*\nb;*;*\n", (("a", "b"), ("*",), ("*",))),
        ("\ufeffa;*\r\n\r\nb;*\r\n", (("a", "b"), ("*",))),
        ('"a;1";"say ""x"""\nb;y\n', (("a;1", "b"), ('say "x"', "y"), ("*",))),
        ("a;x;*\na;x;*\n", (("a",), ("x",), ("*",))),
        (";x;*\na;x;*\n", (("", "a"), ("x",), ("*",))),
    ],
)
def test_odd_but_clear_files_are_read(file, content, labels):
    assert read_arx(file(content)).labels == labels


def test_numbers_and_days_are_put_in_ascending_order(file):
    path = file("10;x;*\n9;x;*\n2;x;*\n")
    assert read_arx(path, attribute=Attribute(name="n", kind=Kind.NUMERIC)).labels[0] == ("2", "9", "10")
    path = file("2024-01-02;x\n2023-05-06;x\n")
    assert read_arx(path, attribute=Attribute(name="d", kind=Kind.DATE)).labels[0] == ("2023-05-06", "2024-01-02")


def test_numbers_are_matched_as_numbers(file):
    path = file("1.0;low\n2;low\n1e1;high\n")
    attribute = Attribute(name="n", kind=Kind.NUMERIC, hierarchy=FromFile(path=path.name))
    hierarchy = build(attribute, pa.array([1, 2]), folder=path.parent)
    assert hierarchy.labels[0] == ("1", "2", "10")
    assert leaf_codes(hierarchy, pa.array([10.0, 1.0])).tolist() == [2, 0]
    as_text = build(attribute, pa.array(["1.0"]), folder=path.parent)
    assert leaf_codes(as_text, pa.array(["1.0", "1"])).tolist() == [0, -1]


def test_ordinal_leaves_stand_in_declared_order_and_others_after_them(file):
    path = file("low;*\nextra;*\nhigh;*\n")
    attribute = Attribute(
        name="o", kind=Kind.ORDINAL, domain=Domain(values=("high", "low")), hierarchy=FromFile(path=path.name)
    )
    assert build(attribute, pa.array(["low"]), folder=path.parent).labels[0] == ("high", "low", "extra")


def test_values_outside_are_counted_with_the_file_named(file):
    path = file("a;*\n")
    attribute = Attribute(name="zip", hierarchy=FromFile(path=path.name))
    hierarchy = build(attribute, pa.array(["a"]), folder=path.parent)
    message = outside(hierarchy, pa.array([f"canary{i}" for i in range(12)]), np.full(12, 100))
    assert message == "column `zip`: 12 values (in 1,200 records) are not in its hierarchy `zip.csv`"


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ["is empty"]),
        ("\n\n", ["is empty"]),
        ("\ufeff", ["is empty"]),
        (b"a;\xe9canary;*\n", ["is not UTF-8 text (line 1)"]),
        (b"a;*\n\xff\xfe;*\n", ["is not UTF-8 text (line 2)"]),
        ("a,b,*\nc,d,*\n", ["has only one field per row with the delimiter ';'", "set `delimiter`"]),
        (
            "a;canary;*\nb;*\nc;canary;x;*\n",
            ["the first row has 3 fields, but 2 of 3 rows have more or fewer (rows 2, 3)"],
        ),
        ("a;;*\n\nb;;*\n", ["the label of level 1 is empty in 2 rows (rows 1, 3)"]),
        ("a;x;*\na;canary;*\n", ["a leaf of an earlier row has a different label at level 1 in 1 row (row 2)"]),
        (
            "a;canary;p;*\nb;canary;q;*\nc;canary;q;*\n",
            ["is not nested: values that are together at level 1 are separate at level 2 in 2 rows (rows 2, 3)"],
        ),
        (
            "a;x;p;*\na;y;p\nb;x;q;*\na;;p;*\n",
            [
                "4 problems:",
                "the first row has 4 fields, but 1 of 4 rows have more or fewer (row 2)",
                "the label of level 1 is empty in 1 row (row 4)",
                "a different label at level 1 in 1 row (row 4)",
            ],
        ),
        ("x" * (2**20 + 1), ["is not a text file with the delimiter"]),
    ],
)
def test_bad_files_are_refused_with_rows_and_counts(file, content, parts):
    path = file(content)
    with pytest.raises(HierarchyError) as raised:
        read_arx(path)
    assert "column `zip`: its hierarchy `zip.csv`" in str(raised.value)
    for part in parts:
        assert part in str(raised.value)
    assert "canary" not in str(raised.value)


def test_the_same_leaf_apart_and_levels_apart_are_all_reported(file):
    with pytest.raises(HierarchyError) as raised:
        read_arx(file("a;x;p;*\na;y;p;*\nb;x;q;*\n"))
    assert len(raised.value.problems) == 2


@pytest.mark.parametrize("kind", [Kind.NUMERIC, Kind.DATE])
def test_leaves_of_another_kind_are_counted(file, kind):
    path = file("canary;x\n5;x\n2024-05-06;x\n")
    with pytest.raises(HierarchyError) as raised:
        read_arx(path, attribute=Attribute(name="zip", kind=kind))
    assert f"2 of 3 leaves of its hierarchy are not {'numbers' if kind is Kind.NUMERIC else 'dates'}" in str(
        raised.value
    )
    assert "canary" not in str(raised.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    attribute = Attribute(name="zip", hierarchy=FromFile(path="sub/zip.csv"))
    with pytest.raises(HierarchyError, match=r"column `zip`: its hierarchy `sub/zip\.csv` does not exist"):
        build(attribute, pa.array(["a"]), folder=tmp_path)
    with pytest.raises(HierarchyError, match="cannot be read"):
        read_arx(tmp_path)


def test_writing_leaves_the_missing_value_out(tmp_path):
    hierarchy = build(Attribute(name="a"), pa.array(["x", "y;\r"]), missing=True)
    write_arx(hierarchy, tmp_path / "h.csv")
    assert read_arx(tmp_path / "h.csv").labels == (("x", "y;\r"), ("*",))


def test_a_place_that_cannot_be_written_is_an_output_error(tmp_path):
    hierarchy = build(Attribute(name="a"), pa.array(["x"]))
    with pytest.raises(OutputError, match="cannot be written"):
        write_arx(hierarchy, tmp_path / "absent" / "h.csv")


def test_adult_has_the_loss_of_its_published_optimum(shared_data):
    """Levels of the optimum with loss, 5-anonymity and no suppression limit; a suppressed record counts 1."""
    folder = shared_data / "adult"
    with (folder / "adult.csv").open(encoding="utf-8") as file:
        names, *rows = csv.reader(file, delimiter=";")
    codes, shares = [], []
    for name, level, column in zip(names, [0, 3, 0, 0, 2, 1, 1, 1, 0], zip(*rows, strict=True), strict=True):
        kind = Kind.NUMERIC if name == "age" else Kind.CATEGORICAL
        values = pa.array(column).cast(pa.int64() if name == "age" else pa.string())
        attribute = Attribute(name=name, kind=kind, hierarchy=FromFile(path=f"adult_hierarchy_{name}.csv"))
        hierarchy = build(attribute, values.unique(), folder=folder)
        assert outside(hierarchy, values) is None
        generalized = hierarchy.generalize(leaf_codes(hierarchy, values), level)
        codes.append(generalized)
        shares.append(hierarchy.shares[level][generalized])
    _, group, size = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True, return_counts=True)
    kept = size[group.ravel()] >= 5
    assert int((~kept).sum()) == 2553
    assert float(np.where(kept, np.mean(shares, axis=0), 1).mean()) == pytest.approx(0.22770032325681816, abs=1e-12)
