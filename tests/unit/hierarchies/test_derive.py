"""Derived columns: by a table of values, by a level of a hierarchy, by cuts, one after the other."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from shoal.errors import InputError, SchemaError
from shoal.hierarchies import derive_columns
from shoal.schema import dumps, loads

COLUMNS = """
[columns.code]
role = "quasi-identifier"
hierarchy = { groups = [{ crafts = ["10", "11"], farms = ["20"] }] }

[columns.area]
role = "drop"
derived = { from = "code", level = 1 }

[columns.density]
role = "drop"
kind = "numeric"
derived = { from = "area", values = { crafts = 2.5, farms = 1 } }
"""


def test_columns_follow_one_after_the_other() -> None:
    found = derive_columns(loads(COLUMNS), {"code": pa.array(["20", "10", None])})
    assert found["area"].to_pylist() == ["farms", "crafts", None]
    assert found["density"].to_pylist() == [1.0, 2.5, None]


def test_numbers_are_whole_if_all_values_of_the_rule_are_whichever_a_table_has() -> None:
    assert derive_columns(loads(COLUMNS), {"code": pa.array(["20"])})["density"].type == pa.float64()
    whole = loads(COLUMNS.replace("2.5", "2"))
    assert derive_columns(whole, {"code": pa.array(["20"])})["density"].type == pa.int64()


def test_a_rule_that_leaves_out_a_declared_value_is_refused() -> None:
    text = '[columns.a]\nrole = "sensitive"\nvalues = ["x", "y"]\n'
    text += '[columns.b]\nrole = "drop"\nderived = { from = "a", values = { x = "1" } }'
    with pytest.raises(SchemaError, match=r"`b`.* 1 of the 2 declared values of `a`"):
        loads(text)


def test_a_rule_from_a_file_is_written_into_the_schema(tmp_path: Path) -> None:
    (tmp_path / "areas.csv").write_text("code,area\n10,1\n20,2\n", encoding="utf-8")
    rule = 'derived = { from = "code", file = "areas.csv" }'
    text = f'[columns.code]\nrole = "sensitive"\n[columns.area]\nrole = "drop"\n{rule}'
    schema = loads(text, tmp_path)
    assert loads(dumps(schema)) == schema
    assert derive_columns(schema, {"code": pa.array(["20"])})["area"].to_pylist() == ["2"]


def test_a_value_that_a_rule_does_not_name_is_counted_and_not_shown() -> None:
    text = '[columns.a]\nrole = "sensitive"\n[columns.b]\nrole = "drop"\nderived = { from = "a", values = { x = "1" } }'
    with pytest.raises(InputError, match="1 of its 2 values") as caught:
        derive_columns(loads(text), {"a": pa.array(["x", "secret"])})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ('{ from = "b", level = 1 }', "circle"),
        ('{ from = "z", level = 1 }', "does not have"),
        ('{ from = "gone", level = 1 }', "left out"),
        ('{ from = "a", level = 0 }', "at least 1"),
        ('{ from = "a", level = 1, values = { x = "1" } }', "exactly one"),
        ('{ from = "a" }', "exactly one"),
        ('{ from = "a", cuts = [2, 1], labels = ["x", "y", "z"] }', "ascending"),
        ('{ from = "a", cuts = [1, 2], labels = ["x", "y"] }', "must be 3"),
        ('{ from = "a", cuts = [1] }', "go together"),
        ('{ from = "a", file = "absent.csv" }', "missing"),
        ('{ from = "a", levels = 1 }', "unknown key"),
    ],
)
def test_rules_that_cannot_be_used_are_refused(rule: str, message: str, tmp_path: Path) -> None:
    text = (
        f'[columns.a]\nrole = "sensitive"\n[columns.gone]\nrole = "drop"\n[columns.b]\nrole = "drop"\nderived = {rule}'
    )
    with pytest.raises(SchemaError, match=message):
        loads(text, tmp_path)


def test_a_released_column_cannot_be_derived() -> None:
    with pytest.raises(SchemaError, match="its role must be drop"):
        loads('[columns.a]\nrole = "sensitive"\n[columns.b]\nrole = "sensitive"\nderived = { from = "a", level = 1 }')


def test_impossible_rules_name_columns_that_are_there() -> None:
    with pytest.raises(SchemaError, match=r"item 1 of `impossible`.*unknown column"):
        loads('impossible = ["age < 3"]\n[columns.a]\nrole = "sensitive"')
