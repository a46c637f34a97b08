"""Laws of tables: the engine says what plain Python says, and recoding to the values themselves changes nothing."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.examples import examples
from reference.tables import ascending, group, multiset_key, pseudonym, recode, sampled
from shoal.schema import Attribute, Kind, Role, Schema
from shoal.schema.rules import text
from shoal.tables import Encoded, Recoding, Table, apply, bernoulli, encode, read

KEY = bytes(range(32))
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=3)
VALUES: dict[str, tuple[Kind, pa.DataType, st.SearchStrategy[Any]]] = {
    "text": (Kind.CATEGORICAL, pa.string(), TEXT | st.sampled_from(["a", "'", '"', "\\", "\\n", "{", "%", "*"])),
    "whole": (Kind.NUMERIC, pa.int64(), st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1)),
    "float": (
        Kind.NUMERIC,
        pa.float64(),
        st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, -0.0]),
    ),
    "day": (Kind.DATE, pa.date32(), st.dates(dt.date(1, 1, 1))),
    "flag": (Kind.CATEGORICAL, pa.bool_(), st.booleans()),
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[pa.Table, Schema]:
    """Draw a table with one to three quasi-identifiers, a sensitive, an insensitive column and an identifier."""
    kinds = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=3))
    columns = [(f"q{i}", kind, Role.QUASI_IDENTIFIER) for i, kind in enumerate(kinds)]
    columns.append(("s", draw(st.sampled_from(sorted(VALUES))), Role.SENSITIVE))
    columns.append(("n", draw(st.sampled_from(sorted(VALUES))), Role.INSENSITIVE))
    records = draw(st.integers(1, 12))
    made, attributes = {}, []
    for name, kind, role in columns:
        meaning, stored, values = VALUES[kind]
        # few distinct values, so that tuples repeat
        pool = draw(
            st.lists(st.none() | values, min_size=1, max_size=4).filter(lambda pool: any(v is not None for v in pool))
        )
        first = next(value for value in pool if value is not None)
        drawn = draw(st.lists(st.sampled_from(pool), min_size=records - 1, max_size=records - 1))
        made[name] = pa.array([first, *drawn], stored)
        attributes.append(Attribute(name=name, role=role, kind=meaning))
    made["id"] = pa.array([f"person {i % 5}" for i in range(records)])
    attributes.append(Attribute(name="id", role=Role.IDENTIFIER, pseudonym=True))
    return pa.table(made), Schema(attributes=tuple(attributes))


@st.composite
def recodings(draw: st.DrawFn, encoded: Encoded) -> Recoding:
    """Draw any recoding at all: a class for every combination of quasi-identifiers, a label for every class."""
    frequencies = encoded.frequencies
    keys = [tuple(row) for row in frequencies.codes.tolist()]
    number = draw(st.integers(1, 4))
    chosen = {key: draw(st.integers(-1, number - 1)) for key in dict.fromkeys(keys)}
    width = len(frequencies.hierarchies)
    labels = tuple(tuple(draw(st.lists(st.none() | TEXT, min_size=1, max_size=4, unique=True))) for _ in range(width))
    codes = [[draw(st.integers(0, len(labels[j]) - 1)) for j in range(width)] for _ in range(number)]
    return Recoding(
        attributes=frequencies.attributes,
        classes=np.array([chosen[key] for key in keys], dtype=np.int32),
        codes=np.array(codes, dtype=np.int32),
        labels=labels,
        shares=tuple(np.zeros(len(part)) for part in labels),
        depths=tuple(np.zeros(len(part)) for part in labels),
        unchanged=(False,) * width,
    )


def load(drawn: tuple[pa.Table, Schema]) -> Table:
    return read(drawn[0]).with_schema(drawn[1])


def texts(rows: pa.Table) -> list[dict[str, Any]]:
    return pa.table({name: text(rows[name]) for name in rows.column_names}).to_pylist()


def released(table: Table) -> Counter[Any]:
    return Counter(multiset_key(row) for row in table.to_arrow().to_pylist())


def identity(encoded: Encoded, *, unchanged: bool) -> Recoding:
    frequencies = encoded.frequencies
    keys = [tuple(row) for row in frequencies.codes.tolist()]
    classes = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return Recoding(
        attributes=frequencies.attributes,
        classes=np.array([classes[key] for key in keys], dtype=np.int32),
        codes=np.array(list(classes), dtype=np.int32),
        labels=tuple(hierarchy.labels[0] for hierarchy in frequencies.hierarchies),
        shares=tuple(hierarchy.shares[0] for hierarchy in frequencies.hierarchies),
        depths=tuple(np.zeros(hierarchy.size) for hierarchy in frequencies.hierarchies),
        unchanged=(unchanged,) * len(frequencies.hierarchies),
    )


@pytest.mark.slow
@given(tables())
@examples(25)
def test_frequencies_are_counts_of_tuples(drawn: tuple[pa.Table, Schema]) -> None:
    rows, schema = drawn
    frequencies = encode(load(drawn)).frequencies
    names = [*schema.quasi_identifiers, *schema.sensitive]
    labels = [*(h.labels[0] for h in frequencies.hierarchies), *(a.labels for a in frequencies.sensitive)]
    every = np.concatenate([frequencies.codes, frequencies.sensitive_codes], axis=1).tolist()
    found = [tuple(part[code] for part, code in zip(labels, row, strict=True)) for row in every]
    assert dict(zip(found, frequencies.counts.tolist(), strict=True)) == dict(group(texts(rows), names))
    assert every == sorted(every)


@pytest.mark.slow
@pytest.mark.parametrize("unchanged", [True, False])
@given(drawn=tables())
@examples(15)
def test_recoding_to_the_values_themselves_changes_nothing(drawn: tuple[pa.Table, Schema], unchanged: bool) -> None:
    rows, _ = drawn
    table = load(drawn)
    encoded = encode(table)
    result = apply(table, encoded, identity(encoded, unchanged=unchanged), keep=["s", "n"])
    kept = rows.select(result.columns)
    if unchanged:
        assert result.types == {name: kind for name, kind in table.types.items() if name in result.columns}
        assert released(result) == Counter(multiset_key(row) for row in kept.to_pylist())
    else:
        assert Counter(map(str, texts(result.to_arrow()))) == Counter(map(str, texts(kept)))


@pytest.mark.slow
@given(st.data())
@examples(40)
def test_any_recoding_is_applied_as_in_plain_python(data: st.DataObject) -> None:
    rows, schema = drawn = data.draw(tables())
    table = load(drawn)
    encoded = encode(table, sensitive=())
    recoding = data.draw(recodings(encoded))
    names = schema.quasi_identifiers
    leaves = [hierarchy.labels[0] for hierarchy in encoded.frequencies.hierarchies]
    classes = {
        tuple(part[code] for part, code in zip(leaves, row, strict=True)): int(owner)
        for row, owner in zip(encoded.frequencies.codes.tolist(), recoding.classes, strict=True)
    }
    listed = rows.to_pylist()
    written = {id(row): tuple(plain[name] for name in names) for row, plain in zip(listed, texts(rows), strict=True)}

    def release(row: dict[str, Any]) -> dict[str, Any] | None:
        owner = classes[written[id(row)]]
        if owner < 0:
            return None
        return {name: recoding.labels[j][recoding.codes[owner, j]] for j, name in enumerate(names)}

    result = apply(table, encoded, recoding, keep=["s", "n", "id"], key=KEY)
    expected = recode(
        listed, lambda row: None if (made := release(row)) is None else made | {"id": pseudonym(row["id"], KEY)}
    )
    assert released(result) == expected


@pytest.mark.slow
@given(st.data())
@examples(10)
def test_the_order_of_records_leaves_no_trace(data: st.DataObject) -> None:
    rows, schema = data.draw(tables())
    shuffled = rows.take(data.draw(st.permutations(range(rows.num_rows))))
    found = []
    for part in (rows, shuffled):
        table = load((part, schema))
        encoded = encode(table)
        found.append(apply(table, encoded, identity(encoded, unchanged=True), keep=["s", "n"]).to_arrow())
    # -0.0 and 0.0 are equal to the engine, and so to us
    assert found[0].to_pylist() == found[1].to_pylist()


@pytest.mark.slow
@given(tables(), st.floats(0, 1))
@examples(10)
def test_a_sample_is_drawn_as_in_plain_python(drawn: tuple[pa.Table, Schema], probability: float) -> None:
    rows, _ = drawn
    kept = [row for number, row in enumerate(rows.to_pylist()) if sampled(number, probability, KEY)]
    assert released(bernoulli(load(drawn), probability, KEY)) == Counter(map(multiset_key, kept))


@pytest.mark.slow
@given(tables())
@examples(10)
def test_columns_come_out_sorted(drawn: tuple[pa.Table, Schema]) -> None:
    table = load(drawn)
    encoded = encode(table)
    result = apply(table, encoded, identity(encoded, unchanged=False), keep=[]).to_arrow()
    names = encoded.frequencies.attributes
    found = [[ascending(row[name]) for name in names] for row in result.to_pylist()]
    assert found == sorted(found, key=lambda row: [(missing, str(value).encode()) for missing, value in row])
