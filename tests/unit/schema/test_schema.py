from __future__ import annotations

from pathlib import Path

import pytest

from shoal.errors import SchemaError
from shoal.schema import Attribute, Role, Schema

SCHEMA = Schema(
    attributes=(
        Attribute(name="id", role=Role.IDENTIFIER),
        Attribute(name="age", role=Role.QUASI_IDENTIFIER),
        Attribute(name="pay", role=Role.SENSITIVE),
        Attribute(name="sex", role=Role.QUASI_IDENTIFIER),
        Attribute(name="note"),
    )
)


def test_columns_are_found_by_role_in_their_order():
    assert SCHEMA.identifiers == ("id",)
    assert SCHEMA.quasi_identifiers == ("age", "sex")
    assert SCHEMA.sensitive == ("pay",)
    assert SCHEMA.insensitive == ("note",)
    assert SCHEMA.names == tuple(attribute.name for attribute in SCHEMA)


def test_the_design_of_a_survey_is_found_by_role():
    region = Attribute(name="region", role=Role.STRATUM)
    survey = Schema(attributes=(*SCHEMA, Attribute(name="w", role=Role.WEIGHT), region))
    assert survey.quasi_identifiers == ("age", "sex", "region")
    assert survey.strata == ("region",)
    assert survey.sampling_weight == "w"
    assert survey.insensitive == ("note", "w")
    assert SCHEMA.sampling_weight is None
    with pytest.raises(SchemaError, match=r"columns `w`, `v` have the role weight"):
        Schema(attributes=(*survey, Attribute(name="v", role=Role.WEIGHT)))


def test_columns_are_found_by_name():
    assert SCHEMA["pay"].role is Role.SENSITIVE
    assert "pay" in SCHEMA
    assert "Pay" not in SCHEMA
    with pytest.raises(SchemaError, match="no column `Pay`"):
        SCHEMA["Pay"]


def test_columns_described_twice_are_all_reported():
    twice = [Attribute(name=name) for name in ("b", "a", "b", "a", "c")]
    with pytest.raises(SchemaError) as raised:
        Schema(attributes=tuple(twice))
    assert raised.value.problems == ("column `a` appears twice in the schema", "column `b` appears twice in the schema")


def test_where_a_schema_was_read_from_is_no_part_of_what_it_says():
    assert Schema(attributes=SCHEMA.attributes, folder=Path("elsewhere")) == SCHEMA


def test_a_role_can_be_changed():
    schema = Schema(attributes=(Attribute(name="zip"), Attribute(name="name", role=Role.IDENTIFIER, pseudonym=True)))
    assert schema.with_role("zip", "quasi-identifier").quasi_identifiers == ("zip",)
    assert schema.with_role("name", "identifier") == schema
    assert not schema.with_role("name", Role.DROP)["name"].pseudonym
    assert schema.with_role("name", Role.DROP).identifiers == ("name",)
    with pytest.raises(SchemaError, match="no column `age`"):
        schema.with_role("age", "drop")
