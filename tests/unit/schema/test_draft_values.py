"""Bands, states, misleading names and remarks: what values say comes before what names say."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.schema import Kind, Role, bands, draft, habits, number_extent
from shoal.schema._toml import dumps, loads
from shoal.schema.drafts._bands import joined, read_band
from shoal.schema.drafts._names import languages_of, topic

from .test_draft import guessed, profile


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("[70-80)", 70, 80), ("(39,49]", 39, 49), ("25-34", 25, 34), ("30 to 39 years", 30, 39),
     ("$10,000-$19,999", 10000, 19999),
     ("20 bis 29 Jahre", 20, 29), ("de 3", None, None), ("65+", 65, float("inf")), ("85 and over", 85, float("inf")),
     ("<18", float("-inf"), 18), ("under 5", float("-inf"), 5), ("J45-J46", None, None), ("34", None, None),
     ("2024-12-31", None, None), ("80-70", None, None)],
)  # fmt: skip
def test_bands_are_read(text, low, high):
    band = read_band(text)
    assert (None if band is None else band.low, None if band is None else band.high) == (low, high)


def test_bands_of_a_column_are_in_order_and_joined_truthfully():
    """A group covers all numbers of its bands: checked with the reader of labels that analyses use."""
    texts = ["100+", *(f"[{low}-{low + 10})" for low in range(0, 100, 10))]
    ordered = bands(texts)
    assert ordered == (*texts[1:], "100+")
    rule = joined(ordered)
    assert rule is not None
    members = {text: read_band(text) for text in ordered}
    for level in rule.levels:
        above = {}
        for label, inner in level:
            low, high = number_extent(label)
            assert all(low <= members[each].low and members[each].high <= high for each in inner)
            above[label] = members[inner[0]].__class__(low, high)
        members = above
    assert len(rule.levels[-1]) < len(rule.levels[0]) < len(texts)
    assert bands(["1-3", "2-5", "6-9"]) == ()
    assert bands(["a", "1-3", "4-5", "6-9"]) == ()


def test_ages_in_bands_are_ordinal_and_released_in_wider_bands():
    draw = random.Random(1)
    rows = pa.table(
        {
            "age": [f"[{10 * draw.randrange(10)}-{0})" for _ in range(400)],
            "sex": [draw.choice("mf") for _ in range(400)],
            "diagnosis": [draw.choice(["flu", "cold"]) for _ in range(400)],
        }
    )
    ages = [f"[{low}-{int(low) + 10})" for low in (each[1:-3] for each in rows["age"].to_pylist())]
    rows = rows.set_column(0, "age", pa.array(ages))
    schema = shoal.draft(shoal.read(rows)).schema
    assert schema["age"].kind is Kind.ORDINAL
    assert schema["age"].domain.values[:2] == ("[0-10)", "[10-20)")
    assert shoal.schema.loads(shoal.schema.dumps(schema)) == schema
    release = shoal.anonymize(shoal.read(rows, schema=schema), k=30, method=shoal.Generalize())
    assert set(release.frame["age"].to_pylist()) <= {*ages, "[0, 20)", "[20, 40)", "[40, 60)", "[60, 80)", "[80, 100)"}


@pytest.mark.parametrize(
    ("values", "region"),
    [(["NY", "CA", "TX"], "Northeast"), (["New York", "Ohio", "Utah"], "West"), (["BY", "SH", "BE"], "Ost")],
)
def test_states_have_regions_whatever_the_column_is_called(values, region):
    schema = shoal.draft(shoal.read(pa.table({"st": values * 20, "age": list(range(60))}))).schema
    assert schema["st"].role is Role.QUASI_IDENTIFIER
    assert region in dict(schema["st"].hierarchy.levels[0])


def test_names_that_mislead_are_decided_by_values_and_neighbours():
    assert guessed("num_mort_accounts", "integer", distinct=12, minimum=0, maximum=20).role is Role.DROP
    assert guessed("current_installment_accounts", "integer", distinct=30, minimum=0, maximum=40).role is Role.DROP
    assert guessed("account", "integer", distinct=300, minimum=10**9, maximum=10**10).role is Role.IDENTIFIER
    assert guessed("c_charge", distinct=12, separation=0.8).role is not Role.SENSITIVE
    assert guessed("charge", "number", distinct=900).role is Role.SENSITIVE
    assert guessed("fecha_ingreso", "date", distinct=90).role is Role.QUASI_IDENTIFIER
    assert guessed("streetaddress", distinct=300).role is Role.IDENTIFIER
    assert guessed("middlename", distinct=90).role is Role.IDENTIFIER


@pytest.mark.parametrize("name", ["remarks", "Bemerkung", "accompanied by", "observaciones", "commentaire"])
def test_remarks_with_few_values_leave_only_if_a_person_says_so(name):
    drafted = draft([profile(name, distinct=6, separation=0.6), profile("age", "integer")])
    assert drafted.schema[name].role is Role.DROP
    assert drafted.keeping([name, "age"]).undecided == (name,)


def test_weights_of_persons_come_before_those_of_households():
    drafted = draft([profile(name, "number", distinct=40) for name in ("hh_weight", "survey_weights")])
    assert drafted.schema.sampling_weight in (None, "survey_weights")
    drafted = draft([profile(name, "number", distinct=40) for name in ("household_wgt", "person_wgt")])
    assert drafted.schema.sampling_weight == "person_wgt"


def test_long_codes_for_missing_values_are_found():
    from shoal.schema import habits

    assert habits({"3": 9, "4": 8, "5": 7, "6": 6, "7": 5, "9999999": 4}).value.missing_values == ("9999999",)


@pytest.mark.parametrize(
    ("texts", "unit", "numbers"),
    [
        (["$45,000", "$1,200", "$900", "$7", "$12,345,678"], "$", [45000, 1200, 900, 7, 12345678]),
        (["45%", "3.5%", "100%", "7%", "0%"], "%", [45, 3.5, 100, 7, 0]),
        (["34 years", "7 years", "51 years", "28 years", "90 years"], "years", [34, 7, 51, 28, 90]),
        (["1.234,50 €", "12,00 €", "7,25 €", "900,00 €", "3,10 €"], "€", [1234.5, 12, 7.25, 900, 3.1]),
    ],
)
def test_numbers_with_a_unit_are_numbers(texts, unit, numbers):
    found = shoal.draft(shoal.read(pa.table({"x": texts * 20, "age": list(range(100))})), also=["x"]).schema
    assert (found["x"].kind, found["x"].reading.unit) == ("numeric", unit)
    table = shoal.read(pa.table({"x": texts * 20, "age": list(range(100))}), schema=loads(dumps(found)))
    assert table.to_arrow()["x"].to_pylist()[: len(numbers)] == numbers


@pytest.mark.parametrize(
    "texts", [["A45", "B12", "C30", "D7", "E1"], ["$45", "45", "$9", "7", "$1"], ["45 kg", "3 cm"] * 3]
)
def test_codes_and_several_units_are_no_numbers(texts):
    assert habits(dict.fromkeys(texts, 9)).value.unit is None


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("weight", [0.2 + n % 97 / 60 for n in range(400)], "weight"),
        ("weight", [n % 89 * 31 for n in range(400)], "weight"),
        ("weight", [45 + n % 60 for n in range(400)], "quasi-identifier"),
        ("peso", [2.1 + n % 25 / 10 for n in range(400)], "quasi-identifier"),
        ("perweight", [900 + n % 80 * 40 for n in range(400)], "weight"),
    ],
)
def test_weights_of_a_survey_are_told_from_those_of_bodies_by_their_numbers(name, values, role):
    found = shoal.draft(
        shoal.read(pa.table({name: values, "sex": ["m", "f"] * 200, "age": [n % 70 for n in range(400)]}))
    )
    assert found.schema[name].role == role


def test_names_of_people_and_write_in_answers_stay_only_if_a_person_says_so():
    people = [f"{'ABCDEFGH'[n % 8]}nna {'LMNOPQRS'[n // 8 % 8]}oren{'aeiou'[n // 64 % 5]}" for n in range(320)] * 3
    titles = [f"{'senior ' * (n % 2)}clerk of section {n % 500}" if n % 3 else "nurse" for n in range(960)]
    rows = {"rider": people, "emp_title": titles, "gender_specify": [*"abcdefgh"] * 120, "fake_first_name": people}
    found = shoal.draft(shoal.read(pa.table(rows)), keep=list(rows))
    assert found.schema["rider"].role == found.schema["gender_specify"].role == "decide"
    assert found.schema["emp_title"].role == "decide"
    assert found.schema["fake_first_name"].role == "decide"


@pytest.mark.parametrize(
    "name",
    [
        "How many times is it acceptable to get up if you are in the window seat?",
        "What is the age cutoff at your kids' table at Thanksgiving dinner?",
    ],
)
def test_no_single_word_of_a_long_question_decides(name):
    assert topic(name) is None


def test_an_e_mail_address_in_a_long_question_names_people():
    assert topic("Please enter the e-mail address that we may use to contact you again").role == "identifier"


def test_languages_are_settled_once_per_table():
    assert languages_of(["Geschlecht", "Alter", "Wohnort", "Land", "Beruf"]) >= {"de", "en"}
    assert languages_of(["age", "sex", "income", "alter", "zip", "education"]) == {"en"}
    assert languages_of(["x1", "x2"]) is None
    assert topic("alter", languages=frozenset({"en"})) is None
    assert topic("apellido", languages=frozenset({"en"})).role == "identifier"


def test_labels_of_statistics_files_are_read_as_well_as_names(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat", reason="needs the extra `files`")
    import pandas as pd

    frame = pd.DataFrame(
        {"v1": [20 + n % 50 for n in range(200)], "v2": [n % 2 for n in range(200)], "v3": [n % 9 for n in range(200)]}
    )
    pyreadstat.write_sav(frame, str(tmp_path / "a.sav"), column_labels=["Age of respondent", "Sex", "Item 3"])
    found = shoal.draft(tmp_path / "a.sav").schema
    assert (found["v1"].role, found["v2"].role, found["v3"].role) == ("quasi-identifier", "quasi-identifier", "drop")


def test_a_key_that_repeats_is_asked_about_though_no_record_shows_whose_it_is():
    rows = {
        "judge_id": [f"J{n // 2}" for n in range(600)],
        "court": [n % 7 for n in range(600)],
        "year": [1950 + n % 60 for n in range(600)],
    }
    assert shoal.draft(shoal.read(pa.table(rows))).schema.asks_for_persons
    assert not shoal.draft(
        shoal.read(pa.table({"product_id": rows["judge_id"], "year": rows["year"]}))
    ).schema.asks_for_persons


def test_a_key_that_is_missing_here_and_there_does_not_repeat():
    rows = {
        "retro_id": [None if n % 20 == 0 else f"R{n}" if n > 1 else "R7" for n in range(900)],
        "x": [n % 7 for n in range(900)],
    }
    assert not shoal.draft(shoal.read(pa.table(rows))).schema.asks_for_persons


def test_days_that_do_not_repeat_are_no_key() -> None:
    days = pa.array(np.datetime_as_string(np.datetime64("2019-01-01") + np.arange(600)))
    drafted = shoal.draft(pa.table({"ingreso": days, "sexo": ["m", "f"] * 300}))
    assert drafted.schema["ingreso"].role is Role.QUASI_IDENTIFIER


def test_a_weight_that_singles_people_out_is_rounded_and_the_one_that_is_needed_is_taken() -> None:
    draws = np.random.default_rng(4)
    weights = np.round(draws.gamma(8, 0.12, 900) + 0.2, 6)
    table = pa.table({"dweight": np.round(weights, 1), "anweight": weights, "age": draws.integers(18, 80, 900)})
    assert shoal.draft(table).schema.sampling_weight == "dweight"
    schema = shoal.draft(table, keep=["age", "anweight"]).schema
    assert schema.sampling_weight == "anweight"
    assert schema["dweight"].role is Role.DROP
    step = schema["anweight"].reading.round_to
    assert step is not None
    assert 0 < step <= 2 * weights.min(), "no weight becomes 0"
    released = shoal.anonymize(shoal.read(table).with_schema(schema), k=5).frame
    assert min(released["anweight"].to_pylist()) > 0


def test_words_written_together_are_read_where_all_of_them_are_known() -> None:
    meanings = {name: topic(name) for name in ("agegrp", "RaceEthnicity", "raceethnicity", "educcat")}
    assert [found.key for found in meanings.values() if found] == ["age", "origin", "origin", "education"]
    assert not any(map(topic, ("manage", "passage", "garage", "dosage", "housecat", "agentcode", "message")))


def test_days_with_strokes_are_no_phone_numbers() -> None:
    days = [f"2020/{month:02d}/{day:02d}" for month in range(1, 13) for day in range(1, 29)]
    drafted = shoal.draft(pa.table({"公表_年月日": days * 2, "性別": ["男性", "女性"] * len(days)}))
    assert drafted.schema["公表_年月日"].role is Role.QUASI_IDENTIFIER


@pytest.mark.parametrize(
    ("name", "meaning"), [("addr_state", "a place"), ("addr_line1", "where a person lives, to the door")]
)
def test_the_place_of_an_address_is_no_address(name: str, meaning: str) -> None:
    found = topic(name)
    assert found is not None
    assert found.means == meaning
