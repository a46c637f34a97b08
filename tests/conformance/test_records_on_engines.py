"""Records one by one, on every engine: what is fetched, and what is released record by record."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from conformance.conftest import Load
from shoal.errors import ParameterError
from shoal.schema import Attribute, Kind, Role, Schema
from shoal.tables import encode_records, join_classes, release_records, sorted_records

ROWS = pa.table(
    {
        "name": ["Ann", "Bob", "Cy", "Di"],
        "age": [30, None, 20, 30],
        "ill": ["flu", "cold", "flu", None],
        "shoe": [38, 44, 40, 38],
    }
)
SCHEMA = Schema(
    attributes=(
        Attribute(name="name", role=Role.IDENTIFIER),
        Attribute(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC),
        Attribute(name="ill", role=Role.SENSITIVE),
        Attribute(name="shoe", kind=Kind.NUMERIC),
    )
)


def test_every_record_is_fetched_with_its_codes(load: Load) -> None:
    encoded = encode_records(load(ROWS).with_schema(SCHEMA), sensitive=("ill",))
    assert len(encoded) == 4
    (dictionary,) = encoded.dictionaries
    ages = [dictionary.values[int(place)].as_py() for place in encoded.places[:, 0]]
    illnesses = [encoded.sensitive[0].labels[code] for code in encoded.sensitive_codes[:, 0]]
    wanted = zip(ROWS["age"].to_pylist(), ROWS["ill"].to_pylist(), strict=True)
    assert Counter(zip(ages, illnesses, strict=True)) == Counter(wanted)
    assert encoded.frequencies.records == 4


def test_columns_are_replaced_record_by_record(load: Load) -> None:
    encoded = encode_records(load(ROWS).with_schema(SCHEMA), sensitive=("ill",))
    marks = pa.array([f"r{code}" for code in encoded.sensitive_codes[:, 0]])
    released = release_records(encoded, ("ill", "age", "shoe"), {"age": marks}).to_arrow()
    assert released.column_names == ["ill", "age", "shoe"]
    assert {(row["ill"], row["age"]) for row in released.to_pylist()} == {("cold", "r0"), ("flu", "r1"), (None, "r2")}
    assert Counter(released["shoe"].to_pylist()) == Counter(ROWS["shoe"].to_pylist())


def test_no_column_is_taken_for_one_of_the_new_values(load: Load) -> None:
    names = {"age": "age", "ill": "record", "shoe": "new0", "name": "other0"}
    rows = ROWS.select(list(names)).rename_columns(list(names.values()))
    attributes = (
        Attribute(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC),
        *(Attribute(name=name) for name in ("record", "new0", "other0")),
    )
    encoded = encode_records(load(rows).with_schema(Schema(attributes=attributes)), sensitive=())
    released = release_records(encoded, ("age", "record", "new0", "other0"), {"age": pa.array(list("wxyz"))})
    assert sorted(released.to_arrow()["age"].to_pylist()) == list("wxyz")
    assert Counter(map(str, released.to_arrow().drop_columns("age").to_pylist())) == Counter(
        map(str, rows.drop_columns("age").to_pylist())
    )


def test_columns_change_places(load: Load) -> None:
    encoded = encode_records(load(ROWS).with_schema(SCHEMA), sensitive=("ill",))
    order = np.array([1, 2, 3, 0])
    released = release_records(encoded, ("age", "ill", "shoe"), {}, moved=[(("ill", "shoe"), order)]).to_arrow()
    before = release_records(encoded, ("age", "ill", "shoe"), {}).to_arrow()
    for names in (["age"], ["ill", "shoe"]):
        assert Counter(map(str, released.select(names).to_pylist())) == Counter(
            map(str, before.select(names).to_pylist())
        )
    assert Counter(map(str, released.to_pylist())) != Counter(map(str, before.to_pylist()))


def test_columns_change_places_each_in_its_own_way(load: Load) -> None:
    encoded = encode_records(load(ROWS).with_schema(SCHEMA), sensitive=("ill", "shoe"))
    (dictionary,) = encoded.dictionaries
    ages = [dictionary.values[int(place)].as_py() for place in encoded.places[:, 0]]
    labels = [attribute.labels for attribute in encoded.sensitive]
    ills, shoes = ([labels[j][code] for code in encoded.sensitive_codes[:, j]] for j in (0, 1))
    first, second = np.array([1, 2, 3, 0]), np.array([3, 2, 1, 0])
    moved = [(("ill",), first), (("shoe",), second)]
    released = release_records(encoded, ("age", "ill", "shoe"), {}, moved=moved).to_arrow().to_pylist()
    wanted = zip(ages, (ills[row] for row in first), (shoes[row] for row in second), strict=True)
    assert Counter((row["age"], row["ill"], str(row["shoe"])) for row in released) == Counter(wanted)


def test_no_column_is_taken_for_the_secret_of_pseudonyms(load: Load) -> None:
    same = pa.array(["00"] * 4)
    rows = ROWS.select(["name", "age"]).append_column("inner_pad", same).append_column("outer_pad", same)
    attributes = (
        Attribute(name="name", role=Role.IDENTIFIER, pseudonym=True),
        Attribute(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC),
        Attribute(name="inner_pad"),
        Attribute(name="outer_pad"),
    )
    encoded = encode_records(load(rows).with_schema(Schema(attributes=attributes)), sensitive=())
    first, second = (
        release_records(encoded, ("name", "inner_pad"), {}, key=key).to_arrow() for key in (b"k" * 16, b"s" * 16)
    )
    assert not set(first["name"].to_pylist()) & set(second["name"].to_pylist())
    assert set(first["inner_pad"].to_pylist()) == {"00"}


def test_identifiers_are_released_as_pseudonyms_or_not_at_all(load: Load) -> None:
    encoded = encode_records(load(ROWS).with_schema(SCHEMA), sensitive=())
    with pytest.raises(ParameterError, match="identifier"):
        release_records(encoded, ("name",), {})
    kept = Schema(attributes=(Attribute(name="name", role=Role.IDENTIFIER, pseudonym=True), *SCHEMA.attributes[1:]))
    encoded = encode_records(load(ROWS).with_schema(kept), sensitive=())
    names = release_records(encoded, ("name", "age"), {}, key=b"k" * 16).to_arrow()["name"].to_pylist()
    assert len({*names}) == 4
    assert not {*names} & {*ROWS["name"].to_pylist()}


def test_two_tables_are_joined_by_the_class(load: Load) -> None:
    encoded = encode_records(load(ROWS).with_schema(SCHEMA), sensitive=("ill",))
    link = pa.array([1 if code == 1 else 2 for code in encoded.sensitive_codes[:, 0].tolist()])
    who = release_records(encoded, ("class", "age"), {"class": link})
    what = release_records(encoded, ("class", "ill"), {"class": link})
    rows = join_classes(who, what, "class", ("ill",)).to_arrow().to_pylist()
    assert sum(row["probability"] for row in rows) == pytest.approx(4)
    assert {(row["class"], row["ill"], row["probability"]) for row in rows} == {
        (1, "flu", 1.0),
        (2, "cold", 0.5),
        (2, None, 0.5),
    }


def test_sorting_forgets_the_order(load: Load) -> None:
    rows = sorted_records(load(ROWS).with_schema(SCHEMA).select("shoe")).to_arrow()["shoe"].to_pylist()
    assert rows == sorted(ROWS["shoe"].to_pylist())
