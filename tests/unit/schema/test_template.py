"""A template for differential privacy: names of columns, public defaults, and nothing of the data."""

from __future__ import annotations

import pytest

import shoal
from shoal.errors import SchemaError
from shoal.hierarchies import provenance
from shoal.schema import Kind, Provenance, Role, loads, template

NAMES = ["age", "Geschlecht", "zip", "state", "dob", "birth_year", "month", "children", "diagnosis", "x9", "patient_id"]


def test_what_is_publicly_known_of_a_name_is_declared_and_the_rest_left_open() -> None:
    made = template([*NAMES, "surname", "id"])
    assert made.undecided == ("diagnosis", "x9")
    assert (made.schema["surname"].role, made.schema["patient_id"].role) == (Role.IDENTIFIER, Role.PERSON)
    assert made.schema["id"].role is Role.IDENTIFIER
    for name in NAMES[:8]:
        assert made.schema[name].role is Role.QUASI_IDENTIFIER
        assert provenance(made.schema[name]).reveals_nothing
        assert provenance(made.schema[name]) is Provenance.PUBLIC or made.schema[name].domain is None
    assert made.schema["dob"].kind is Kind.DATE
    assert made.schema["zip"].hierarchy == shoal.schema.Digits(length=5, hidden=(1, 2, 3, 4))


def test_a_template_can_be_read_back() -> None:
    made = template(NAMES)
    assert loads(made.to_toml()) == made.schema
    assert made.to_toml().count("FILL IN") == len(made.undecided)
    assert "records" not in made.to_toml().split("shoal = 1")[0].replace("no record was looked at", "")


def test_columns_are_dropped_by_a_word_of_their_names() -> None:
    made = template(["note", "nurseNote", "noted", "age"]).dropping(["note"])
    assert made.schema.having(Role.DROP) == ("note", "nurseNote")
    with pytest.raises(SchemaError, match="no column has the word `remark`"):
        made.dropping(["remark"])


def test_a_count_in_the_last_year_is_no_year() -> None:
    made = template(["TrainingTimesLastYear", "year_of_entry", "date_of_last_visit"])
    assert made.undecided == ("TrainingTimesLastYear",)
    assert made.schema["year_of_entry"].kind == "numeric"
    assert made.schema["date_of_last_visit"].kind == "date"
