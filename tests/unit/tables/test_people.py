"""Whose records a table holds."""

from __future__ import annotations

import pyarrow as pa
import pytest

import shoal
from shoal.errors import SchemaError
from shoal.schema import Attribute, Missing, Role, Schema
from shoal.tables import people, repeated_identifiers

VISITS = pa.table(
    {
        "id": ["a", "a", "b", "c", "c", "c"],
        "home": ["x", "x", "x", "y", "y", "y"],
        "age": ["30", "30", "31", "40", "40", "41"],
    }
)
SCHEMA = Schema(
    attributes=(
        Attribute(name="id", role=Role.PERSON),
        Attribute(name="home", role=Role.HOUSEHOLD),
        Attribute(name="age", role=Role.QUASI_IDENTIFIER),
    )
)


def test_persons_and_households_are_counted() -> None:
    found = people(shoal.read(VISITS).with_schema(SCHEMA))
    assert (found.records, found.persons, found.households, found.repeat) == (6, 3, 2, True)


def test_without_a_person_column_every_record_is_a_person() -> None:
    schema = Schema(attributes=tuple(Attribute(name=name, role=Role.IDENTIFIER) for name in VISITS.column_names))
    table = shoal.read(VISITS).with_schema(schema)
    assert people(table).persons == 6
    assert repeated_identifiers(table) == {"id": 3, "home": 2, "age": 4}


def test_a_missing_person_is_refused_with_the_reason_or_dropped() -> None:
    table = shoal.read(VISITS.set_column(0, "id", pa.array(["a", None, "b", "c", "c", None])))
    with pytest.raises(
        SchemaError, match="2 values are missing, and a record without a person may belong to one that is"
    ):
        table.with_schema(SCHEMA)
    dropping = Attribute(name="id", role=Role.PERSON, missing=Missing.DROP)
    dropped = table.with_schema(Schema(attributes=(dropping, *SCHEMA.attributes[1:])))
    assert (people(dropped).records, people(dropped).persons, dropped.left_out) == (4, 3, 2)


def test_a_person_in_two_households_is_refused() -> None:
    table = shoal.read(VISITS.set_column(1, "home", pa.array(["x", "y", "x", "y", "y", "y"])))
    with pytest.raises(SchemaError, match="1 person is in several households"):
        table.with_schema(SCHEMA)


def test_at_most_one_column_is_the_person() -> None:
    with pytest.raises(SchemaError, match="columns `a`, `b` have the role person"):
        Schema(attributes=(Attribute(name="a", role=Role.PERSON), Attribute(name="b", role=Role.PERSON)))


def test_a_schema_with_a_person_goes_to_a_file_and_back() -> None:
    assert shoal.schema.loads(shoal.schema.dumps(SCHEMA)) == SCHEMA
    assert (SCHEMA.person, SCHEMA.household, SCHEMA.identifiers) == ("id", "home", ("id", "home"))


def test_a_draft_proposes_persons_and_households_for_keys_that_repeat() -> None:
    count = 300
    table = pa.table(
        {
            "encounter_id": list(range(count)),
            "patient_nbr": [i // 3 for i in range(count)],
            "hid": [i // 9 for i in range(count)],
            "ward_id": [i % 4 for i in range(count)],
            "number_of_patients": [i % 7 for i in range(count)],
            "age": [20 + i % 60 for i in range(count)],
        }
    )
    drafted = shoal.draft(shoal.read(table))
    assert (drafted.schema.person, drafted.schema.household) == ("patient_nbr", "hid")
    assert drafted.schema["patient_nbr"].hierarchy is None
    assert "100 different values in 300 records" in drafted.reasons["patient_nbr"]
    assert drafted.schema["encounter_id"].role is Role.IDENTIFIER


def test_identifiers_that_repeat_hundreds_of_times_are_not_of_people():
    rows = {"accounts": [n % 3 for n in range(900)], "age": [n % 70 for n in range(900)]}
    schema = shoal.Schema(attributes=(Attribute(name="accounts", role=Role.IDENTIFIER), Attribute(name="age")))
    assert repeated_identifiers(shoal.read(pa.table(rows), schema=schema)) == {}


def test_first_names_and_surnames_repeat_without_saying_whose_records_they_are():
    rows = {"surname": ["Maier", "Maier", "Koch"], "first_name": ["Ada", "Eva", "Ada"], "full_name": ["a", "a", "b"]}
    schema = shoal.Schema(attributes=tuple(shoal.Attribute(name=name, role="identifier") for name in rows))
    assert repeated_identifiers(shoal.read(pa.table(rows), schema=schema)) == {"full_name": 2}
