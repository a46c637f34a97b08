"""Keys of persons are found from the records, whatever they are called."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.cli import _source
from shoal.errors import PlanError, SchemaError
from shoal.schema import PersonsAnswer, Role, dumps, loads

LETTERS = "ABCDEFG"
ROOT = Path(__file__).parents[3]


def terms(key="bioguide", persons=300, seed=1):
    """Terms of members of a parliament: up to eight records each."""
    draw, rows = random.Random(seed), []
    for _ in range(persons):
        code = draw.choice(LETTERS) + f"{draw.randrange(10**6):06d}"
        born = f"{draw.randrange(1930, 1990)}-{draw.randrange(1, 13):02d}-{draw.randrange(1, 29):02d}"
        sex = draw.choice("MF")
        for term in range(draw.randrange(1, 9)):
            party, state = draw.choice("DR"), draw.choice(["NY", "CA", "TX", "OH"])
            rows.append((code, 80 + term, party, sex, born, state))
    names = [key, "congress", "party", "sex", "birthday", "state"]
    return pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)})


def crowd(records=3000, seed=2):
    """One record of each person, wards and postal codes that repeat, amounts that seldom do."""
    draw = random.Random(seed)
    ward = [draw.randrange(60) for _ in range(records)]
    return pa.table(
        {
            "ward": [f"W{each}" for each in ward],
            "floor": [each // 6 for each in ward],
            "zip": [f"{draw.randrange(400):05d}" for _ in range(records)],
            "current_installment_accounts": [draw.randrange(30) for _ in range(records)],
            "fedtax": [draw.randrange(1000, 9000) for _ in range(records)],
            "sex": [draw.choice("mf") for _ in range(records)],
            "birthday": [
                f"{draw.randrange(1930, 1990)}-{draw.randrange(1, 13):02d}-{draw.randrange(1, 29):02d}"
                for _ in range(records)
            ],
            "diagnosis": [draw.choice(["flu", "cold", "cough"]) for _ in range(records)],
        }
    )


@pytest.mark.parametrize("key", ["bioguide", "serial", "Code", "studienid", "x9"])
def test_a_key_of_persons_is_found_whatever_its_name_and_nothing_is_released_before_an_answer(key):
    table = shoal.read(terms(key))
    drafted = shoal.draft(table)
    assert drafted.schema[key].role is Role.IDENTIFIER
    assert drafted.schema.persons is PersonsAnswer.DECIDE
    assert f"`{key}` repeats (300 different values in {table.count():,} records)" in drafted.question
    assert "# May one person have several records?" in drafted.to_toml()
    assert loads(drafted.to_toml()) == drafted.schema
    with pytest.raises(PlanError, match='set `persons = "records"` in the schema'):
        shoal.anonymize(table.with_schema(drafted.schema), shoal.KAnonymity(2))
    with pytest.raises(SchemaError, match="persons may have several records"):
        _source.decided(drafted.schema, "people.csv", "drop")


def test_both_answers_are_heard():
    table = shoal.read(terms())
    drafted = shoal.draft(table)
    yes = drafted.with_persons("bioguide").schema
    assert (yes.person, yes.asks_for_persons) == ("bioguide", False)
    no = drafted.with_persons("records").schema
    assert (no.person, no.asks_for_persons) == (None, False)
    assert loads(dumps(no)) == no
    for schema in (yes, no):
        release = shoal.anonymize(table.with_schema(schema), shoal.KAnonymity(3))
        assert shoal.Plan.loads(release.plan.dumps()).schema == schema


def test_the_key_of_a_visit_that_was_removed_is_missed_by_birth_date_and_sex_together():
    drafted = shoal.draft(shoal.read(terms().drop_columns(["bioguide"])))
    assert drafted.person is not None
    assert drafted.person.columns == ("birthday", "sex")
    assert "add a column that numbers the persons" in drafted.question


def test_copies_of_a_key_leave_in_no_form():
    table = terms()
    numbers = {each: place for place, each in enumerate(dict.fromkeys(table["bioguide"].to_pylist()))}
    table = table.append_column("icpsr", pa.array([numbers[each] * 7 for each in table["bioguide"].to_pylist()]))
    drafted = shoal.draft(shoal.read(table))
    assert {drafted.schema[name].role for name in ("bioguide", "icpsr")} == {Role.IDENTIFIER}


def test_wards_codes_and_amounts_that_repeat_are_no_persons():
    drafted = shoal.draft(shoal.read(crowd()))
    assert drafted.question == ""
    assert drafted.schema.persons is PersonsAnswer.UNSTATED


def test_first_names_that_tell_sex_and_origin_are_no_persons():
    draw = random.Random(8)
    names = {f"name {n}": (draw.choice("mf"), draw.choice(["b", "w"])) for n in range(36)}
    firsts = [draw.choice(list(names)) for _ in range(2000)]
    rows = {
        "firstname": firsts,
        "gender": [names[each][0] for each in firsts],
        "race": [names[each][1] for each in firsts],
    }
    table = pa.table(rows | {"jobs": [draw.randrange(9) for _ in firsts]})
    assert shoal.draft(shoal.read(table)).question == ""


def test_the_bundled_hospital_is_asked_nothing():
    drafted = shoal.draft(shoal.read(ROOT / "examples/hospital/discharges.csv"))
    assert (drafted.question, drafted.schema.persons) == ("", PersonsAnswer.UNSTATED)


def test_persons_in_a_table_larger_than_the_sample_are_found(monkeypatch):
    from shoal.tables import _sample

    monkeypatch.setattr(_sample, "_RECORDS", 100)
    drafted = shoal.draft(shoal.read(terms()))
    assert drafted.person is not None
    assert drafted.person.columns == ("bioguide",)


def test_a_secret_that_a_known_column_gives_away_is_known_too():
    draw, rows = random.Random(3), crowd()
    jobs = [f"job {draw.randrange(12)}" for _ in range(rows.num_rows)]
    rows = rows.append_column("occupation", pa.array(jobs))
    rows = rows.append_column("wage_group", pa.array([f"group {int(each[4:]) // 2}" for each in jobs]))
    drafted = shoal.draft(shoal.read(rows))
    assert drafted.schema["wage_group"].role is Role.QUASI_IDENTIFIER
    assert "whoever knows `occupation` knows it" in drafted.reasons["wage_group"]
    assert drafted.schema["diagnosis"].role is Role.SENSITIVE


def test_a_rare_secret_that_hardly_varies_is_not_given_away():
    draw, rows = random.Random(4), crowd()
    rows = rows.append_column("hiv", pa.array([draw.random() < 0.004 for _ in range(rows.num_rows)]))
    assert shoal.draft(shoal.read(rows)).schema["hiv"].role is Role.SENSITIVE


def test_an_answer_that_is_no_column_is_refused():
    with pytest.raises(SchemaError, match="has no column `who`"):
        shoal.draft(shoal.read(terms())).with_persons("who")
    with pytest.raises(SchemaError, match="`persons` must be one of"):
        loads('persons = "none"\n[columns.age]\nrole = "sensitive"')


def test_the_number_of_a_place_is_no_person() -> None:
    draws = np.random.default_rng(8)
    table = pa.table({"age": draws.integers(18, 80, 400), "geo_id": draws.integers(10**10, 10**11, 400) // 3 * 3})
    table = pa.concat_tables([table, table.slice(0, 8).set_column(0, "age", pa.array(draws.integers(18, 80, 8)))])
    assert shoal.draft(table).person is None
    renamed = table.rename_columns(["age", "serial_no"])
    assert shoal.draft(renamed).person is not None, "of a number that means nothing it is asked"


def test_kinds_of_people_are_no_people() -> None:
    draws = np.random.default_rng(9)
    origins = ["black", "white", "asian", "latino", "other"]
    several = [",".join(name for at, name in enumerate(origins) if number >> at & 1) for number in range(1, 32)]
    picked = draws.integers(0, 31, 8_000)
    columns = {f"race_{name}": (picked + 1 >> at & 1).tolist() for at, name in enumerate(origins)}
    table = pa.table({"q4": [several[at] for at in picked], "age": draws.integers(18, 80, 8_000), **columns})
    assert shoal.draft(table).person is None
    with_sex = table.slice(0, 2_000).append_column("sex", pa.array(draws.choice(["f", "m"], 2_000)))
    assert shoal.draft(with_sex).person is None


def test_members_of_parliament_have_several_terms() -> None:
    draws = np.random.default_rng(10)
    who = np.repeat(np.arange(300), 6)
    table = pa.table(
        {"début": [f"20{n:02}-01-01" for n in draws.integers(10, 24, 1_800)], "Député": [f"m-{n}" for n in who]}
    )
    assert shoal.draft(table).schema["Député"].role is Role.PERSON


def test_a_person_may_say_that_a_key_is_none_of_persons() -> None:
    table = pa.table({"patient_id": [n // 2 for n in range(200)], "age": [20 + n % 50 for n in range(200)]})
    assert shoal.draft(table).schema.person == "patient_id"
    decided = shoal.draft(table, person="records").schema
    assert (decided.person, decided["patient_id"].role) == (None, Role.IDENTIFIER)
