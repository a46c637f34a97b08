from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import ParameterError
from shoal.schema import Attribute, Role, Schema
from shoal.tables import Encoded, Recoding, Table, _apply, apply, encode, read, write
from shoal.tables._duckdb import DuckDBEngine
from shoal.tables._relations import compile_query

SCHEMA = Schema(
    attributes=(
        Attribute(name="id", role=Role.IDENTIFIER),
        Attribute(name="patient", role=Role.IDENTIFIER, pseudonym=True),
        Attribute(name="q", role=Role.QUASI_IDENTIFIER),
        Attribute(name="s", role=Role.SENSITIVE),
        Attribute(name="n"),
    )
)
ROWS = pa.table(
    {"id": ["1", "2", "3"], "patient": ["p", "q", "p"], "q": ["x", "y", None], "s": list("abc"), "n": [3, 1, 2]}
)


@pytest.fixture
def table() -> Table:
    return read(ROWS).with_schema(SCHEMA)


def as_it_is(encoded: Encoded, *, suppressed: tuple[int, ...] = (), unchanged: bool = True) -> Recoding:
    hierarchy = encoded.frequencies.hierarchies[0]
    leaves = encoded.frequencies.codes[:, 0]
    classes = np.where(np.isin(leaves, suppressed), -1, leaves).astype(np.int32)
    return Recoding(
        attributes=("q",),
        classes=classes,
        codes=np.arange(hierarchy.size, dtype=np.int32)[:, None],
        labels=(hierarchy.labels[0],),
        shares=(hierarchy.shares[0],),
        depths=(np.zeros(hierarchy.size),),
        unchanged=(unchanged,),
    )


def test_identifiers_are_dropped_and_everything_else_kept(table: Table) -> None:
    encoded = encode(table)
    released = apply(table, encoded, as_it_is(encoded), keep=["s", "n"])
    assert released.columns == ("q", "s", "n")
    assert released.to_arrow().to_pylist() == [
        {"q": "x", "s": "a", "n": 3},
        {"q": "y", "s": "b", "n": 1},
        {"q": None, "s": "c", "n": 2},
    ]


def test_identifiers_cannot_be_asked_for(table: Table) -> None:
    encoded = encode(table)
    with pytest.raises(ParameterError) as caught:
        apply(table, encoded, as_it_is(encoded), keep=["id", "patient", "nothing"])
    assert caught.value.problems == (
        "arrow frame has no column `nothing`",
        "column `id` is an identifier and is never released as it is",
        "pseudonyms need a `key`",
    )


def test_a_short_key_is_refused(table: Table) -> None:
    encoded = encode(table)
    with pytest.raises(ParameterError, match="at least 16 bytes"):
        apply(table, encoded, as_it_is(encoded), key=b"short")


def test_pseudonyms_are_the_same_for_the_same_person_and_differ_by_key(table: Table) -> None:
    encoded = encode(table)
    first, second = (
        apply(table, encoded, as_it_is(encoded), key=key * 16).to_arrow()["patient"].to_pylist() for key in (b"a", b"b")
    )
    assert len(set(first)) == len(set(second)) == 2
    assert not set(first) & set(second)


def test_the_key_is_not_in_the_query(table: Table) -> None:
    encoded = encode(table)
    key = b"0123456789abcdef"
    released = apply(table, encoded, as_it_is(encoded), key=key)
    query = compile_query(released.expression, "duckdb")
    pads = (bytes(byte ^ 0x36 for byte in key).hex(), bytes(byte ^ 0x5C for byte in key).hex())
    assert not any(part in query for part in (key.hex(), key.decode(), *pads))


def test_only_quasi_identifiers_need_not_be_named(table: Table) -> None:
    encoded = encode(table)
    assert apply(table, encoded, as_it_is(encoded), keep=[]).columns == ("q",)


@pytest.mark.parametrize("unchanged", [True, False])
def test_suppressed_records_are_dropped(table: Table, unchanged: bool) -> None:
    encoded = encode(table)
    released = apply(table, encoded, as_it_is(encoded, suppressed=(0,), unchanged=unchanged), keep=["n"])
    assert released.to_arrow()["n"].to_pylist() == [1, 2]


def test_everything_can_be_suppressed(table: Table) -> None:
    encoded = encode(table)
    released = apply(table, encoded, as_it_is(encoded, suppressed=(0, 1, 2)), keep=["n"])
    assert released.to_arrow().to_pydict() == {"q": [], "n": []}


@pytest.mark.parametrize("unchanged", [True, False])
def test_records_that_came_after_encoding_are_not_released(table: Table, unchanged: bool) -> None:
    encoded = encode(table)
    later = read(pa.concat_tables([ROWS, ROWS.set_column(2, "q", pa.array(["new", "x", "y"]))])).with_schema(SCHEMA)
    recoding = as_it_is(encoded, suppressed=(1,), unchanged=unchanged)
    assert set(apply(later, encoded, recoding, keep=[]).to_arrow()["q"].to_pylist()) == {"x", None}


def test_a_value_that_only_suppressed_records_have_needs_no_label(table: Table) -> None:
    encoded = encode(table)
    recoding = replace(
        as_it_is(encoded, suppressed=(0,), unchanged=False),
        codes=np.array([[0], [1], [1]], dtype=np.int32),
        labels=(("x", "*"),),
    )
    assert apply(table, encoded, recoding, keep=["n"]).to_arrow().to_pydict() == {"q": ["*", "*"], "n": [1, 2]}


@pytest.fixture
def many() -> Table:
    """Texts with quotes and signs, small and distant numbers, missing values, each row many times."""
    rows = {
        "text": ["it's", 'a "b"', "", None, "\N{SNOWMAN}"] * 40,
        "small": pa.array([-3, 120, None, 5, -128] * 40, pa.int8()),
        "far": pa.array([0, 10**12, -(10**12), None] * 50, pa.int64()),
        "s": ["a", None] * 100,
    }
    roles = {"s": Role.SENSITIVE}
    attributes = tuple(Attribute(name=name, role=roles.get(name, Role.QUASI_IDENTIFIER)) for name in rows)
    return read(pa.table(rows)).with_schema(Schema(attributes=attributes))


def generalized(encoded: Encoded, dropped: int) -> Recoding:
    """Keep the first column's label, erase the others, and suppress the tuples of one leaf."""
    frequencies = encoded.frequencies
    leaves = frequencies.codes[:, 0]
    first = frequencies.hierarchies[0]
    number = len(frequencies.hierarchies)
    codes = np.zeros((first.size, number), dtype=np.int32)
    codes[:, 0] = np.arange(first.size)
    return Recoding(
        attributes=frequencies.attributes,
        classes=np.where(leaves == dropped, -1, leaves).astype(np.int32),
        codes=codes,
        labels=(first.labels[0], *[("*",)] * (number - 1)),
        shares=(first.shares[0], *[np.ones(1)] * (number - 1)),
        depths=(np.zeros(first.size), *[np.ones(1)] * (number - 1)),
        unchanged=(False, *[True] * (number - 1)),
    )


@pytest.mark.slow
@pytest.mark.parametrize("dropped", [-1, 2])
def test_lists_joins_and_repeated_records_give_the_same_file(many, dropped, monkeypatch, tmp_path) -> None:
    encoded = encode(many, sensitive=())
    recoding = generalized(encoded, dropped)
    made = {}
    for name, joined, often in (("lists", False, False), ("joins", True, False), ("repeated", False, True)):
        with monkeypatch.context() as patch:
            patch.setattr(_apply, "MANY", 0 if often else 10**9)
            if joined:
                patch.setattr(DuckDBEngine, "translate_values", lambda *_: None)
            released = apply(many, encoded, recoding)
            assert ("unnest" in str(compile_query(released.expression, "duckdb")).lower()) == often
            write(released, tmp_path / f"{name}.parquet")
            assert released.to_arrow().equals(
                pq.read_table(tmp_path / f"{name}.parquet").cast(released.to_arrow().schema)
            )
        made[name] = pq.read_table(tmp_path / f"{name}.parquet")
    assert {pa.string(), pa.int8(), pa.int64()} == set(made["lists"].schema.types)
    assert made["lists"].equals(made["joins"])
    assert made["lists"].equals(made["repeated"])
    kept = [row for row in many.to_arrow().to_pylist() if dropped < 0 or row["text"] != first_label(encoded, dropped)]
    assert sorted(map(str, made["lists"].to_pylist())) == sorted(map(str, kept))


def first_label(encoded: Encoded, leaf: int) -> str | None:
    return encoded.frequencies.hierarchies[0].labels[0][leaf]


@pytest.mark.parametrize("name", ["word0", "part0", "part1", "leaf0", "label0", "tuple0", "value0"])
def test_no_column_is_taken_for_one_of_ours(name: str) -> None:
    values = [f"x{number % 3}" for number in range(60)]
    rows = pa.table({"age": [number % 7 for number in range(60)], "town": ["a", "b"] * 30, name: values})
    roles = {"age": "quasi-identifier", "town": "quasi-identifier", name: "insensitive"}
    schema = Schema(attributes=tuple(Attribute(name=each, role=role) for each, role in roles.items()))
    plan = shoal.Plan(schema=schema, models=(shoal.KAnonymity(2),), method=shoal.Generalize())
    released = plan.run(read(rows)).table.to_arrow()
    assert sorted(released[name].to_pylist()) == sorted(values)
    assert set(released["town"].to_pylist()) <= {"a", "b", "*"}
