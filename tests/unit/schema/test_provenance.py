"""Where domains came from stays with them, whatever lines of a schema file are deleted."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from shoal.errors import PlanError, SchemaError
from shoal.hierarchies import leaves_declared, provenance
from shoal.schema import Attribute, Domain, Kind, Provenance, Role, Schema, dumps, loads, template

BANDS = pa.table({"age group": ["15-24", "25-34", "35-44", "45-54", "55+"] * 60, "sex": ["F", "M"] * 150})
DP = shoal.DifferentialPrivacy(epsilon=1, delta="1e-3")


def drafted() -> str:
    return dumps(shoal.draft(BANDS).schema)


def test_no_line_that_is_deleted_turns_what_was_read_off_the_data_into_declared() -> None:
    text = drafted()
    assert 'seen_values = ["15-24"' in text
    lines = text.splitlines()
    for left_out in [(), *((number,) for number in range(len(lines))), (lines.index("shoal = 1") + 1, 5)]:
        less = "\n".join(line for number, line in enumerate(lines) if number not in left_out)
        try:
            schema = loads(less.replace("guessed = true", "guessed = false"))
        except SchemaError:
            continue
        if "age group" not in schema:
            continue
        assert provenance(schema["age group"]) is Provenance.INFERRED, left_out
        with pytest.raises(PlanError):
            shoal.Plan(schema=schema, models=(DP,), method=shoal.methods.Truthful())
        with pytest.raises(PlanError):
            shoal.Plan(
                schema=schema,
                models=(shoal.methods.noise.EpsilonBudget(epsilon=1),),
                method=shoal.methods.DPMicroaggregation(),
            )


def test_values_that_were_read_off_the_data_serve_promises_about_classes() -> None:
    schema = loads(drafted().replace("guessed = true", ""))
    assert not leaves_declared(schema["age group"])
    table = shoal.read(BANDS).with_schema(schema)
    assert shoal.anonymize(table, shoal.KAnonymity(5), method=shoal.Generalize()).records


@pytest.mark.parametrize("where", [Provenance.DECLARED, Provenance.PUBLIC, Provenance.PAID, Provenance.INFERRED])
def test_a_schema_file_keeps_where_values_came_from(where: Provenance) -> None:
    column = Attribute(name="a", kind=Kind.ORDINAL, domain=Domain(values=("x", "y"), provenance=where))
    assert loads(dumps(Schema(attributes=(column,))))["a"] == column


def test_bounds_that_were_read_off_the_data_are_no_domain() -> None:
    domain = Domain(minimum=0, maximum=9, provenance=Provenance.INFERRED)
    with pytest.raises(SchemaError, match="read off the data"):
        Attribute(name="a", kind=Kind.NUMERIC, domain=domain)
    with pytest.raises(SchemaError, match="one of the two"):
        loads('[columns.a]\nrole = "sensitive"\nvalues = ["x"]\nseen_values = ["x"]')


def test_a_certificate_says_where_each_domain_came_from(tmp_path: Path) -> None:
    columns = (
        Attribute(name="sex", role=Role.QUASI_IDENTIFIER, domain=Domain(values=("F", "M"))),
        Attribute(
            name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC, domain=template(["age"]).schema["age"].domain
        ),
        Attribute(name="town", domain=Domain(values=("A",), provenance=Provenance.PAID), outside="missing"),
    )
    rows = pa.table({"sex": ["F", "M"] * 100, "age": [30, 40] * 100, "town": ["A", "B"] * 100})
    schema = Schema(attributes=columns).total()
    release = shoal.anonymize(
        shoal.read(rows, schema=schema), DP, method=shoal.methods.TruthfulTables(tables="columns")
    )
    release.write(tmp_path / "release")
    said = json.loads((tmp_path / "release" / "certificate.json").read_text())["domains"]
    assert {each["column"]: each["provenance"] for each in said} == {
        "sex": "declared",
        "age": "publicly known",
        "town": "paid for",
    }
    assert shoal.verify(tmp_path / "release").passed
