from __future__ import annotations

import pytest

from shoal.errors import SchemaError
from shoal.schema import Attribute, Kind, Reading, habits, loads


def found(*texts, **more):
    return habits(dict.fromkeys(texts, 3), **more)


@pytest.mark.parametrize(
    ("texts", "reading"),
    [
        (("a", "b", "?"), Reading(missing_values=("?",))),
        (("1", "2", "NA", "n/a"), Reading(missing_values=("NA", "n/a"))),
        (("a", "none", "unknown"), Reading()),
        (("31.12.2024", "1.6.2023", "14.2.2024"), Reading(date_format="dd.mm.yyyy")),
        (("31/12/2024", "01/06/2023"), Reading(date_format="dd/mm/yyyy")),
        (("12/31/2024", "06/01/2023 10:30"), Reading(date_format="mm/dd/yyyy")),
        (("2024-12-31", "2023-06-01"), Reading()),
        (("1.234,50", "12,00", "7"), Reading(decimal=",", thousands=".")),
        (("1,234.50", "12.00", "7"), Reading(decimal=".", thousands=",")),
        (("1 234", "12", "7"), Reading(decimal=".", thousands=" ")),
        (("3,5", "2", "7"), Reading(decimal=",")),
        (("45,000", "101,250", "900"), Reading(decimal=".", thousands=",")),
        (("0,125", "1,500"), Reading(decimal=",")),
        (("ND", "SD", "TX", "CA", "NY", "WA"), Reading()),
        (("ND", "yes", "no"), Reading(missing_values=("ND",))),
        (("1", "2", "5", "6", "8", "999"), Reading(missing_values=("999",))),
        (("17", "20", "31", "48", "64", "-9"), Reading(missing_values=("-9",))),
        (("1", "2", "3", "4", "5", "9"), Reading(missing_values=("9",))),
        (("1", "2", "3", "4", "5", "6", "7", "8", "9"), Reading()),
        (("91", "92", "95", "96", "97", "98", "99"), Reading()),
        (
            tuple(f"2024{month:02d}{day:02d}" for month in (1, 12) for day in range(1, 29)),
            Reading(date_format="yyyymmdd"),
        ),
    ],
)
def test_how_values_are_written(texts, reading):
    assert found(*texts).value == reading


def test_days_and_months_that_cannot_be_told_apart_are_not_guessed():
    guess = found("01/02/2024", "03/04/2023")
    assert guess.value == Reading()
    assert "is the day and which is the month" in guess.reason


def test_years_of_two_digits_are_not_guessed():
    guess = found("31.12.64", "01.06.23", "14.2.70")
    assert guess.value == Reading()
    assert "years of two digits" in guess.reason


def test_days_and_months_are_told_apart_by_who_knows():
    texts = ("01/02/2024", "03/04/2023", "05/06/2022")
    assert found(*texts).value.date_format is None
    assert found(*texts, date_format="mm/dd/yyyy").value.date_format == "mm/dd/yyyy"
    assert found(*texts, "31/12/2024", date_format="mm/dd/yyyy").value.date_format == "dd/mm/yyyy"  # does not fit
    assert found("Oslo", "Bergen", date_format="mm/dd/yyyy").value == Reading()


def test_dates_written_in_several_ways_are_never_mixed():
    guess = found("2024-12-31", "2024-11-30", "31.12.2024", "30.11.2024", "29.11.2024")
    assert guess.value == Reading()
    assert "several ways" in guess.reason


def test_a_decimal_comma_of_the_file_is_said_by_the_columns_that_have_one():
    assert found("3,5", "2", "7", decimal=",").value == Reading(decimal=",")
    assert found("3", "2", "7", decimal=",").value == Reading()
    assert found("1.234", "12.500", "999", decimal=",").value == Reading(decimal=",", thousands=".")
    assert found("1.234", "12.500", "999", decimal=".").value == Reading()


def test_commas_that_may_be_decimal_ones_are_said_to_be_a_guess():
    assert 'set `decimal = ","`' in found("45,000", "101,250").reason
    assert 'set `decimal = ","`' not in found("45,000", "1,101,250").reason


def test_a_reading_stands_in_a_file():
    schema = loads(
        'missing_values = ["?"]\n[columns.a]\nrole = "sensitive"\nkind = "date"\ndate_format = "dd.mm.yyyy"\n'
        'missing_values = ["-", 9999]\nunreadable = 0.01'
    )
    assert schema.missing_values == ("?",)
    assert schema["a"].reading == Reading(missing_values=("-", "9999"), date_format="dd.mm.yyyy", unreadable=0.01)


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: Reading(date_format="dd.mm.yy"), "made of dd, mm and yyyy"),
        (lambda: Reading(date_format="dd.mm.dd"), "made of dd, mm and yyyy"),
        (lambda: Reading(decimal=";"), "`decimal` must be"),
        (lambda: Reading(decimal=",", thousands=","), "must differ"),
        (lambda: Reading(thousands="x"), "`thousands` must be"),
        (lambda: Reading(unreadable=2), "must be in"),
        (lambda: Attribute(name="a", reading=Reading(date_format="dd.mm.yyyy")), "applies only to date columns"),
        (lambda: Attribute(name="a", kind=Kind.DATE, reading=Reading(decimal=",")), "apply only to numeric columns"),
        (lambda: Attribute(name="a", reading=Reading(unreadable=0.1)), "applies only to numeric and date columns"),
    ],
)
def test_readings_that_make_no_sense_are_refused(make, part):
    with pytest.raises(SchemaError, match=part):
        make()
