from __future__ import annotations

import pyarrow as pa
import pytest

from shoal.errors import HierarchyError
from shoal.hierarchies import build, outside
from shoal.schema import Attribute, Domain, Kind, Taxonomy

NONE = pa.array([], pa.string())
PAIRS = (
    ("flu", "infection"),
    ("cold", "infection"),
    ("infection", "illness"),
    ("stroke", "heart"),
    ("heart", "illness"),
    ("fracture", "illness"),
)


def made(pairs=(), **options):
    return build(Attribute(name="dx", hierarchy=Taxonomy(pairs=pairs, **options.pop("rule", {}))), NONE, **options)


def test_one_root_is_the_star_and_short_branches_repeat_their_leaf():
    hierarchy = made(PAIRS)
    assert hierarchy.labels == (
        ("flu", "cold", "stroke", "fracture"),
        ("infection", "heart", "fracture"),
        ("*",),
    )
    assert hierarchy.shares[1].tolist() == [pytest.approx(1 / 3), 0, 0]


def test_several_roots_get_a_star_above_them():
    hierarchy = made((("a", "A"), ("b", "A"), ("c", "C"), ("C", "D")))
    assert hierarchy.labels == (("a", "b", "c"), ("a", "b", "C"), ("A", "D"), ("*",))


def test_a_deep_chain_is_climbed():
    depth = 300
    hierarchy = made(tuple((f"n{i}", f"n{i + 1}") for i in range(depth)))
    assert hierarchy.height == depth
    assert hierarchy.labels[depth - 1] == (f"n{depth - 1}",)


def test_ordinal_leaves_keep_their_declared_order():
    attribute = Attribute(
        name="dx",
        kind=Kind.ORDINAL,
        domain=Domain(values=("stroke", "cold", "fracture", "flu")),
        hierarchy=Taxonomy(pairs=PAIRS),
    )
    assert build(attribute, NONE).labels[0] == ("stroke", "cold", "flu", "fracture")


def test_pairs_are_read_from_a_file(tmp_path):
    (tmp_path / "icd.csv").write_text("\n".join(f"{child},{parent}" for child, parent in PAIRS), encoding="utf-8")
    hierarchy = made(rule={"path": "icd.csv", "delimiter": ","}, folder=tmp_path)
    assert hierarchy.labels == made(PAIRS).labels
    assert outside(hierarchy, pa.array(["infection"])) == ("column `dx`: 1 value is not in its hierarchy `icd.csv`")


def test_a_pair_that_stands_twice_in_a_file_counts_once(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n\na;b\nc;b\n", encoding="utf-8")
    assert made(rule={"path": "t.csv"}, folder=tmp_path).labels == (("a", "c"), ("*",))


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ((("canary", "canary"),), "column `dx`: its taxonomy has 1 concept with itself as its parent"),
        (
            (("canary1", "canary2"), ("canary2", "canary1"), ("x", "canary1"), ("y", "z")),
            "column `dx`: its taxonomy has 3 concepts that never reach a root: parents form a cycle",
        ),
    ],
)
def test_circles_are_refused_with_a_count(pairs, message):
    with pytest.raises(HierarchyError) as raised:
        made(pairs)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "canary;a\ncanary;b\nx;a\nx;x\n",
            ["2 concepts with more than one parent", "1 concept with itself as its parent"],
        ),
        ("a;b\ncanary\nc;d;canary\n;e\n", ["3 of 4 rows do not hold a child and its parent (rows 2, 3, 4)"]),
        ("", ["is empty"]),
        ("a,b\nc,d\n", ["has only one field per row with the delimiter ';'", "every row contains ','"]),
    ],
)
def test_bad_files_are_refused_with_rows_and_counts(tmp_path, content, message):
    (tmp_path / "t.csv").write_text(content, encoding="utf-8")
    with pytest.raises(HierarchyError) as raised:
        made(rule={"path": "t.csv"}, folder=tmp_path)
    assert all(part in str(raised.value) for part in ["column `dx`: its taxonomy `t.csv`", *message])
    assert "canary" not in str(raised.value)
