from __future__ import annotations

import datetime as dt

import pytest

from shoal.errors import OutputError, ParameterError, SchemaError
from shoal.schema import (
    ColumnProfile,
    Cuts,
    Dates,
    Intervals,
    Kind,
    Mask,
    Regions,
    Role,
    draft,
    load,
    loads,
    person_key,
    topic,
)


def profile(name, type="text", *, records=1000, missing=0, distinct=100, separation=0.9, **more):  # noqa: A002
    return ColumnProfile(
        name=name, type=type, records=records, missing=missing, distinct=distinct, separation=separation, **more
    )


def guessed(*args, **more):
    return draft([profile(*args, **more)]).schema.attributes[0]


@pytest.mark.parametrize(
    "name",
    ["name", "Name", "patient_name", "lastName", "surname", "SSN", "e-mail", "email_address", "mrn", "phone number",
     "street", "IP"],
)  # fmt: skip
def test_names_of_identifiers_decide_alone(name):
    assert guessed(name, distinct=3, separation=0.1).role is Role.IDENTIFIER


@pytest.mark.parametrize(
    "name",
    ["NHC", "Nom_de_famille", "nom de naissance", "IPP", "Tessera sanitaria", "nr_dowodu",
     "e-mailadres", "gatuadress", "cprnr", "Fallnummer", "KVNR", "sukunimi", "hetu", "vezetéknév",
     "lakcím", "επώνυμο", "фамилия", "СНИЛС", "adresă", "social_security_number", "PatName"],
)  # fmt: skip
def test_names_of_identifiers_in_european_languages(name):
    assert guessed(name, distinct=3, separation=0.1).role is Role.IDENTIFIER


@pytest.mark.parametrize(
    "name",
    ["Patientennummer", "patiëntnummer", "PatientenID", "pasient_nr", "Versichertennr", "Número de historia",
     "customerid", "USUBJID", "codice paziente", "PATNR", "participant_id", "Personalnr", "patient", "Subject",
     "pseudonym"],
)  # fmt: skip
def test_keys_of_people_that_repeat_are_found_in_languages_that_write_words_together(name):
    assert guessed(name, distinct=600, separation=0.99).role is Role.PERSON


def test_a_word_for_people_with_few_values_is_no_key():
    assert guessed("patient", distinct=3, separation=0.6).role is Role.DROP
    assert guessed("student", distinct=2, separation=0.5).role is Role.DROP


@pytest.mark.parametrize("name", ["stay_id", "visit_id", "lab_no"])
def test_keys_that_repeat_are_removed_whatever_else_their_names_are_about(name):
    assert guessed(name, distinct=300, separation=0.99).role is Role.IDENTIFIER
    assert guessed(name, distinct=8, separation=0.8).role is not Role.IDENTIFIER


@pytest.mark.parametrize("name", ["id", "patient_id", "PatientID", "record key", "uuid"])
def test_keys_are_identifiers_where_they_are_nearly_unique(name):
    assert guessed(name, distinct=1000, separation=1.0).role is Role.IDENTIFIER
    assert guessed(name, distinct=3, separation=0.1).role is Role.DROP


@pytest.mark.parametrize(
    "name", ["age", "Sex", "zip", "zipCode", "date_of_birth", "marital-status", "native country", "RACE", "occupations"]
)
def test_names_of_quasi_identifiers(name):
    assert guessed(name, distinct=2, separation=0.1).role is Role.QUASI_IDENTIFIER


@pytest.mark.parametrize(
    "name", ["diagnosis", "icd10", "income", "Salary-Class", "total charges", "admission_diagnosis", "length_of_stay"]
)
def test_names_of_sensitive_values_win_over_uniqueness(name):
    assert guessed(name, "integer", distinct=1000, separation=1.0).role is Role.SENSITIVE


@pytest.mark.parametrize("name", ["product name", "stage", "message", "zipper"])
def test_names_that_only_look_alike_say_nothing(name):
    drafted = draft([profile(name, distinct=2, separation=0.1)])
    assert drafted.unknown == (name,)
    assert drafted.schema[name].role is Role.DROP


def test_records_without_a_key_are_left_out_if_they_are_few():
    few = draft([profile("patient_id", distinct=600, separation=0.99, missing=40)])
    assert few.schema["patient_id"].role is Role.PERSON
    assert few.schema["patient_id"].missing == "drop"
    assert "the 40 without one are left out" in few.reasons["patient_id"]
    many = draft([profile("patient_id", distinct=600, separation=0.99, missing=60)])
    assert many.schema["patient_id"].role is Role.DECIDE


def test_a_column_is_not_removed_without_a_question_because_its_values_differ():
    """It may be a key, and is removed; it may be an amount, and a person is asked."""
    keys = draft([profile("fedtax", "integer", distinct=1000, separation=1.0)])
    assert keys.schema["fedtax"].role is Role.IDENTIFIER
    assert keys.questions == ("fedtax",)


def test_what_is_not_known_is_left_out():
    assert guessed("x", distinct=1000, separation=1.0).role is Role.IDENTIFIER
    assert guessed("x", "number", distinct=1000, separation=1.0).role is Role.DROP
    assert guessed("x", numbers=1.0, integers=0.3, distinct=1000, separation=1.0).role is Role.DROP
    assert guessed("x", distinct=10, records=10, separation=1.0).role is Role.DROP
    assert guessed("x", separation=0.001, distinct=2).role is Role.DROP
    assert guessed("x", "date", separation=0.1).role is Role.QUASI_IDENTIFIER
    assert guessed("x", looks={"countries": 1.0}).role is Role.QUASI_IDENTIFIER


def test_what_is_not_known_comes_back_with_a_word_and_is_treated_as_identifying():
    drafted = draft([profile("x", "integer", minimum=0, maximum=90), profile("age", "integer")])
    assert drafted.unknown == ("x",)
    back = drafted.keeping(also=["x"]).schema
    assert (back["x"].role, back["x"].hierarchy) == (Role.QUASI_IDENTIFIER, Intervals(widths=(5, 10, 20, 40)))
    assert back["age"].role is Role.QUASI_IDENTIFIER


def test_what_the_purpose_does_not_need_is_left_out():
    columns = [profile(name) for name in ("age", "age_group", "sex", "diagnosis", "survey_weight", "x", "y", "name")]
    drafted = draft([*columns, profile("told", distinct=900, looks={"free texts": 1.0})])
    kept = drafted.keeping(["age", "x", "diagnosis", "told"], also=["sex"])
    roles = {each.name: each.role for each in kept.schema}
    assert roles == {
        "age": Role.QUASI_IDENTIFIER, "age_group": Role.DROP, "sex": Role.QUASI_IDENTIFIER,
        "diagnosis": Role.SENSITIVE, "survey_weight": Role.DROP, "x": Role.QUASI_IDENTIFIER, "y": Role.DROP,
        "name": Role.IDENTIFIER, "told": Role.DECIDE,
    }  # fmt: skip
    assert {each.name: each.weight for each in kept.schema if each.weight != 1} == {"sex": 0.2}
    assert kept.reasons["x"] == "quasi-identifier: meaning unknown; treated as identifying."
    assert "free text may name people" in kept.reasons["told"]
    with pytest.raises(SchemaError, match="no column has the word `outcome` in its name"):
        drafted.keeping(["outcome"])


def test_what_cannot_be_made_coarser_and_singles_people_out_is_not_released_without_a_decision():
    drafted = draft([profile("x", distinct=700, separation=0.99, singles=500), profile("age", "integer")])
    assert drafted.schema["x"].role is Role.DROP
    assert "50.0% of its values are there only once" in drafted.reasons["x"]
    assert drafted.summary == "1 that others may know, 1 left out"
    assert drafted.keeping(["x", "age"]).undecided == ("x",)


@pytest.mark.parametrize(
    ("name", "role"),
    [("sexo", "quasi-identifier"), ("Geschlecht", "quasi-identifier"), ("Género", "quasi-identifier"),
     ("Staatsangehörigkeit", "quasi-identifier"), ("citizenship", "quasi-identifier"),
     ("provincia", "quasi-identifier"),
     ("Familienstand", "quasi-identifier"), ("nacionalidad", "quasi-identifier"), ("code_postal", "quasi-identifier"),
     ("wiek", "quasi-identifier"), ("Geburtsdatum", "quasi-identifier"),
     ("tuberculosis", "sensitive"), ("hepatitis", "sensitive"),
     ("is_recid", "sensitive"), ("insulin", "sensitive"), ("enfermedad", "sensitive"), ("Krankheit", "sensitive"),
     ("Einkommen", "sensitive"), ("revenu_mensuel", "sensitive"), ("Konfession", "sensitive"), ("partido", "sensitive"),
     ("Nachname", "identifier"), ("prénom", "identifier"), ("apellidos", "identifier"), ("nombre", "identifier"),
     ("codice fiscale", "identifier"), ("Telefonnummer", "identifier"), ("first", "identifier"),
     ("last", "identifier")],
)  # fmt: skip
def test_names_in_other_languages(name, role):
    assert guessed(name, distinct=12, separation=0.4).role == role


def test_a_survey_weight_is_one_unless_it_singles_people_out():
    drafted = draft([profile(name, "number") for name in ("fnlwgt", "pspwght")])
    assert [each.role for each in drafted.schema] == [Role.WEIGHT, Role.DECIDE]
    assert guessed("sampling_weight", "number").role is Role.WEIGHT
    assert guessed("sampling_weight", "integer", distinct=1, separation=0.0).kind is Kind.NUMERIC
    assert guessed("fnlwgt", "number", distinct=900, singles=800).role is Role.DECIDE
    assert guessed("fnlwgt", "number", missing=3).role is Role.DECIDE
    assert guessed("weight", "number").role is not Role.WEIGHT


def test_a_count_of_accounts_is_no_account():
    assert guessed("num_accounts", "integer", distinct=9, minimum=0, maximum=9).role is Role.DROP


@pytest.mark.parametrize(
    ("look", "role"),
    [("e-mail addresses", "identifier"), ("phone numbers", "identifier"), ("IP addresses", "identifier"),
     ("national numbers of persons", "identifier"), ("coordinates", "quasi-identifier"), ("free texts", "drop")],
)  # fmt: skip
def test_looks_decide_whatever_the_name(look, role):
    assert guessed("x7", distinct=900, separation=0.9, looks={look: 1.0}).role == role
    assert guessed("note on income", distinct=900, separation=0.9, looks={look: 1.0}).role == role


def test_secrets_that_single_people_out_are_not_released_without_a_word():
    assert guessed("offence date", "date", separation=0.99, singles=600).role is Role.QUASI_IDENTIFIER
    assert guessed("offence description", distinct=600, separation=0.99, singles=500).role is Role.DECIDE
    drafted = draft([profile("charge", "number", distinct=900, separation=0.99, singles=800), profile("sex")])
    assert "80.0% of the records have a value that no other record has" in drafted.reasons["charge"]


@pytest.mark.parametrize("name", ["isco", "relation", "province", "ward_id", "Beruf", "ocupacion"])
def test_codes_that_name_something_are_no_quantities(name):
    assert guessed(name, "integer", distinct=40, separation=0.9, minimum=1, maximum=52).kind is Kind.CATEGORICAL


def test_a_decision_of_a_person_is_kept():
    drafted = draft([profile("x", distinct=700, separation=0.99), profile("age", "integer")]).keeping(["x", "age"])
    decided = drafted.with_role("x", "drop")
    assert decided.undecided == ()
    assert decided.schema["x"].role is Role.DROP
    assert "decided by a person" in decided.to_toml()
    assert not decided.confirmed().schema.guessed


def test_constant_columns_are_insensitive_and_empty_ones_left_out():
    assert guessed("age", "integer", distinct=1, separation=0.0).role is Role.INSENSITIVE
    assert guessed("age", "integer", distinct=1, missing=900, separation=0.1).role is Role.QUASI_IDENTIFIER
    assert guessed("age", "integer", records=1, distinct=1, separation=0.0).role is Role.QUASI_IDENTIFIER
    assert guessed("x", distinct=0, missing=1000, separation=0.0).role is Role.DROP
    assert guessed("x", records=0, distinct=0, separation=0.0).role is Role.DROP


def test_nested_values_are_dropped():
    assert guessed("x", "other").role is Role.DROP


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (profile("x", "date"), Kind.DATE),
        (profile("x", "timestamp"), Kind.DATE),
        (profile("x", dates=1.0), Kind.DATE),
        (profile("x", dates=0.95), Kind.CATEGORICAL),
        (profile("x", "integer"), Kind.NUMERIC),
        (profile("x", "number"), Kind.NUMERIC),
        (profile("x", numbers=1.0), Kind.NUMERIC),
        (profile("x", numbers=0.99), Kind.CATEGORICAL),
        (profile("x", "integer", distinct=2), Kind.CATEGORICAL),
        (profile("x", "boolean", distinct=2), Kind.CATEGORICAL),
        (profile("zip", "integer"), Kind.CATEGORICAL),
        (profile("x", numbers=1.0, integers=1.0, leading_zeros=0.1, lengths=((5, 1.0),)), Kind.CATEGORICAL),
        (profile("x", numbers=1.0, integers=1.0, leading_zeros=0.1, lengths=((5, 0.5), (4, 0.5))), Kind.NUMERIC),
        (profile("x", numbers=1.0, longest=19, minimum=9.2e18, maximum=9.3e18), Kind.CATEGORICAL),
        (profile("x", numbers=1.0, longest=19, minimum=0.1, maximum=9.3e18), Kind.NUMERIC),
        (profile("x", numbers=1.0, longest=5, minimum=1e307, maximum=1e308), Kind.NUMERIC),
    ],
)
def test_kinds(column, kind):
    assert draft([column]).schema.attributes[0].kind is kind


@pytest.mark.parametrize(
    ("column", "rule"),
    [
        (profile("age", "integer", minimum=17, maximum=90), Intervals(widths=(5, 10, 20, 40))),
        (profile("age", "integer", minimum=0, maximum=9), Intervals(widths=(2, 4, 8))),
        (profile("age", "integer", minimum=4, maximum=4), None),
        (profile("height", "number", minimum=1.4, maximum=2.05), Intervals(widths=(0.05, 0.1, 0.2, 0.4))),
        (profile("age", "integer"), None),
        (profile("x", "number", minimum=0.0, maximum=1e300), None),
        (profile("x", "number", minimum=0.0, maximum=1e-300), None),
        (profile("zip", lengths=((5, 1.0),)), Mask(length=5, masked=(1, 2, 3, 4))),
        (profile("zip", lengths=((5, 0.9),), longest=10), Mask(length=10, masked=tuple(range(1, 10)))),
        (profile("zip", lengths=((5, 0.9),), longest=40), None),
        (profile("city"), None),
        (profile("country", distinct=30, looks={"countries": 0.8}), Regions()),
        (profile("number of visits", "integer", minimum=0, maximum=12),
         Cuts(levels=((1, 2, 3, 5, 10), (1, 3, 10), (1,)))),
        (profile("turnus", "integer", minimum=0, maximum=2_000_000, lengths=((4, 0.9),)),
         Cuts(levels=(
             (100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000, 1000000, 2000000),
             (100, 1000, 10000, 100000, 1000000), (10000,)))),
        (profile("isco", "integer", distinct=300, lengths=((4, 1.0),), minimum=1111, maximum=9629),
         Mask(length=4, masked=(1, 2, 3))),
        (profile("born", "date"), Dates()),
        (profile("born", "date", minimum=dt.date(1930, 1, 1), maximum=dt.date(2000, 1, 1)),
         Dates(levels=("month", "year", "decade"))),
        (profile("visit", "date", minimum=dt.date(2024, 1, 1), maximum=dt.date(2025, 1, 1)),
         Dates(levels=("month", "quarter", "year"))),
        (profile("visit", "timestamp", minimum=dt.date(2024, 1, 1), maximum=dt.date(2024, 12, 1)),
         Dates(levels=("day", "month", "quarter"))),
    ],
)  # fmt: skip
def test_default_hierarchies(column, rule):
    assert draft([column]).schema.attributes[0].hierarchy == rule


COLUMNS = [
    profile("patient_id", distinct=1000, separation=1.0),
    profile("sex", distinct=2, separation=0.5),
    profile("age", "integer", separation=0.98, minimum=17, maximum=98),
    profile("town", separation=0.98, distinct=200),
    profile("diagnosis"),
]


def test_a_draft_is_marked_ranked_and_explained():
    drafted = draft(COLUMNS, 1000)
    assert drafted.schema.guessed
    assert drafted.ranking == ("town", "age", "sex")
    assert drafted.reasons["age"] == (
        "quasi-identifier: its name suggests a person's age, which others may know; it distinguishes 98.0% of all "
        "pairs of records."
    )
    assert "name a `file` that groups them" in drafted.reasons["town"]


def test_a_draft_is_a_commented_schema_that_can_be_read():
    drafted = draft(COLUMNS)
    written = drafted.to_toml()
    assert loads(written) == drafted.schema
    assert written.startswith("# A draft made from 1,000 records.")
    assert "# Quasi-identifiers, most distinguishing first: town, age, sex.\n" in written
    assert (
        "# sensitive: its name suggests a person's health, which people keep private.\n[columns.diagnosis]\n" in written
    )


def test_no_smallest_or_largest_value_is_written_or_printed():
    drafted = draft([profile("age", "integer", minimum=11.37, maximum=98.76)])
    assert all(value not in f"{drafted.to_toml()}{drafted}{COLUMNS}" for value in ("11.37", "98.76"))
    assert "98" not in repr(COLUMNS[2]).replace("0.98", "")


def test_an_existing_file_is_kept_unless_told_otherwise(tmp_path):
    drafted, path = draft(COLUMNS), tmp_path / "s.toml"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError, match="already exists"):
        drafted.save(path)
    assert path.read_text(encoding="utf-8") == "mine"
    drafted.save(path, overwrite=True)
    assert load(path) == drafted.schema
    with pytest.raises(OutputError, match="is not a folder"):
        drafted.save(tmp_path / "absent" / "s.toml")


def test_control_characters_in_names_do_not_break_the_comments():
    drafted = draft([profile("zip\n[columns.evil]\r\x00", separation=0.9)])
    assert loads(drafted.to_toml()) == drafted.schema


def test_nothing_to_describe_is_refused():
    with pytest.raises(SchemaError, match="no columns"):
        draft([])


@pytest.mark.parametrize(
    ("more", "part"),
    [
        ({"type": "int64"}, "`type` of `ColumnProfile` must be one of"),
        ({"missing": 2000}, "must be counts within `records`"),
        ({"distinct": 1001}, "must be counts within `records`"),
        ({"separation": 1.5}, "`separation` of `ColumnProfile` must be in"),
        ({"dates": -0.1}, "`dates` of `ColumnProfile` must be in"),
    ],
)
def test_profiles_that_make_no_sense_are_refused(more, part):
    with pytest.raises(ParameterError, match=part):
        profile("x", **more)


def test_distinction_is_distinct_values_per_record():
    assert profile("x").distinction == 0.1
    assert profile("x", records=0, distinct=0).distinction == 0


@pytest.mark.parametrize("name", ["billing_phone", "e-mail", "street", "patient_name", "SSN"])
def test_a_column_that_names_somebody_is_removed_though_all_its_values_are_the_same(name):
    assert guessed(name, distinct=1, separation=0.0).role is Role.IDENTIFIER
    looks = {"e-mail addresses": 1.0}
    assert guessed("reply_to", distinct=1, separation=0.0, looks=looks).role is Role.IDENTIFIER
    assert guessed("study", distinct=1, separation=0.0).role is Role.INSENSITIVE


def test_the_state_of_an_account_is_no_account():
    assert guessed("checking_account_status", distinct=4, separation=0.7).role is Role.DROP
    assert guessed("account_type", distinct=400, separation=0.9).role is Role.IDENTIFIER
    assert guessed("account", distinct=4, separation=0.7).role is Role.IDENTIFIER


def test_a_place_in_an_address_is_a_place():
    assert guessed("billing_address_city", distinct=90).role is Role.QUASI_IDENTIFIER
    assert guessed("billing_address_1", distinct=90).role is Role.IDENTIFIER


def test_years_of_school_and_at_work_are_quantities():
    for name in ("EDUC", "time_spend_company", "years_at_company"):
        assert guessed(name, "integer", distinct=10, minimum=8, maximum=21, lengths=((2, 1.0),)).kind is Kind.NUMERIC


def test_a_column_that_hardly_any_record_fills_in_asks_no_question():
    assert guessed("q12_1", missing=993, distinct=5, separation=0.01, singles=4).role is Role.DROP


@pytest.mark.parametrize(("name", "role"), [("finalwgt", Role.WEIGHT), ("stratid", Role.QUASI_IDENTIFIER)])
def test_columns_of_survey_designs(name, role):
    found = guessed(name, "integer", distinct=30, minimum=1, maximum=31)
    assert found.role is role
    assert (found.kind is Kind.NUMERIC) == (role is Role.WEIGHT)


@pytest.mark.parametrize(
    ("names", "meaning"),
    [
        (("患者姓名", "氏名", "환자성명", "soyad\u0131", "الاسم"), "person's name"),
        (("性别", "性別", "성별", "cinsiyet", "الجنس"), "sex"),
        (("患者年龄", "年齢", "나이", "Yaş", "العمر"), "age"),
        (("所在城市", "都道府県コード", "거주지역", "Şehir", "المدينة"), "place"),
        (("诊断结果", "主病名", "진단명", "tan\u0131", "التشخيص"), "health"),
        (("家庭住址", "現住所", "집주소", "adres"), "lives"),
        (("出生日期", "生年月日", "생년월일", "doğum_tarihi"), "born"),
    ],
)
def test_names_are_understood_in_scripts_of_asia(names, meaning):
    for name in names:
        found = topic(name)
        assert found is not None, name
        assert meaning in found.means, name


@pytest.mark.parametrize("name", ["患者番号", "学生编号", "고객번호", "会員番号"])
def test_keys_of_people_are_known_where_words_are_written_together(name):
    assert person_key(name)


def test_a_cost_centre_is_no_money():
    centre = profile("Kostenstelle", "integer", distinct=20, minimum=1000, maximum=1020)
    assert draft([centre]).schema["Kostenstelle"].role == Role.DROP
