from __future__ import annotations

import datetime as dt
import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.queries import SCHEMA, first_record, satisfies
from shoal.errors import FilterError
from shoal.schema import Attribute, Schema
from shoal.schema.conditions import And, Not, Or
from shoal.schema.filters import normal, parse, quote_column

RECORD = first_record()
NOBODY = dict.fromkeys(RECORD)


@pytest.mark.parametrize(
    ("text", "holds", "holds_for_missing"),
    [
        ("age = 44", True, False),
        ("age == 44", True, False),
        ("age != 44", False, False),
        ("age <> 43", True, False),
        ("age < 44", False, False),
        ("age <= 44", True, False),
        ("age > 43.5", True, False),
        ("age >= 4.4e1", True, False),
        ("age>=-5", True, False),
        ("income > +12.4 and income < 12.6", True, False),
        ("income = .125e2", True, False),
        ('sex = "F"', True, False),
        ("sex = 'F'", True, False),
        ('sex != "F"', False, False),
        ('sex in ("M", "F")', True, False),
        ('sex not in ("M", "x y")', True, True),
        ('not sex = "F"', False, True),
        ("sex is missing", False, True),
        ("sex is not missing", True, False),
        ('pain > "none"', True, False),
        ('pain >= "severe"', False, False),
        ('pain <= "mild"', True, False),
        ('pain < "severe" and pain > "none"', True, False),
        ('town = "Ulm"', True, False),
        ('town = "ulm"', False, False),
        ('town = "a ""quoted"" text"', False, False),
        ("town = 'it''s'", False, False),
        ('born = "1980-02-29"', True, False),
        ('born < "1980-03-01"', True, False),
        ('born between "1980-01-01" and "1980-12-31"', True, False),
        ("age between 40 and 44 and sex = 'F'", True, False),
        ("age = 1 or age = 2 or age = 44", True, False),
        ("age = 1 or age = 44 and sex = 'M'", False, False),
        ("(age = 1 or age = 44) and sex = 'F'", True, False),
        ("not not age = 44", True, False),
        ("not (age = 44 and sex = 'M')", True, True),
        ("AGE = 44", None, None),
        ("age = 44 AND sex = 'F' OR age IS MISSING", True, True),
        ("`age` = 44", True, False),
        ("  \n age\t=\n44  ", True, False),
    ],
)
def test_filters_mean_what_they_say(text: str, holds: bool | None, holds_for_missing: bool | None) -> None:
    if holds is None:
        with pytest.raises(FilterError):
            parse(text, SCHEMA)
        return
    condition = parse(text, SCHEMA)
    assert satisfies(RECORD, condition) == holds
    assert satisfies(NOBODY, condition) == holds_for_missing


def test_and_binds_closer_than_or_and_not_closer_than_and() -> None:
    assert isinstance(parse("age = 1 or age = 2 and age = 3", SCHEMA), Or)
    assert isinstance(parse("not age = 1 and age = 3", SCHEMA), And)
    assert isinstance(parse("not (age = 1 and age = 3)", SCHEMA), Not)


@pytest.mark.parametrize("text", [None, "", "  \n "])
def test_no_filter_means_everybody(text: str | None) -> None:
    assert parse(text, SCHEMA) is None
    assert normal(text) == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age", "a comparison"),
        ("age =", "a number, or a text"),
        ("= 3", "the name of a column at character 1"),
        ("age = 3 sex = 'F'", "`and`, `or` or the end at character 9"),
        ("(age = 3", "`)` at character 9"),
        ("age = 3)", "or the end"),
        ("age in 3", "`(`"),
        ("age in ()", "a number, or a text"),
        ("age in (3, )", "a number, or a text"),
        ("age between 3", "`and`"),
        ("age is 3", "`missing`"),
        ("age not = 3", "a comparison"),
        ("age = sex", "must be compared with a number"),
        ("age = 3 + 4", "cannot be read at character 8"),
        ("age = 0x10", "cannot be read at character"),
        ("age = 3; drop table x", "cannot be read at character"),
        ("age = '3", "cannot be read at character"),
        ("age = 'x'", "column `age` must be compared with a number"),
        ("age = 1e999", "must be compared with a number"),
        ("height = 3", "an unknown column at character 1"),
        ("__import__ = 3", "an unknown column"),
        ("sex = 'Q'", "column `sex` has no such value"),
        ("sex < 'M'", "has no order"),
        ("town >= 'Ulm'", "has no order"),
        ("pain > 'extreme'", "no such value"),
        ("born = 3", "must be compared with a date"),
        ("born = '1980-02-30'", "must be compared with a date"),
        ("id = 'p0'", "identifies people"),
        ("age = 3 and" + " age = 3 and" * 500, "at most 4,096 characters"),
        ("not " * 60 + "age = 3", "at most 40"),
        ("(" * 60 + "age = 3" + ")" * 60, "at most 40"),
        ("age = 3 \x00", "cannot be read"),
    ],
)
def test_what_is_not_a_filter_is_refused(text: str, message: str) -> None:
    with pytest.raises(FilterError, match=re.escape(message)):
        parse(text, SCHEMA)


def test_names_may_hold_hyphens_points_and_with_backquotes_anything() -> None:
    schema = Schema(
        attributes=(Attribute(name="marital-status"), Attribute(name="a.b"), Attribute(name="two words <3"))
    )
    for text in ('marital-status = "x"', 'a.b = "x"', '`two words <3` = "x"'):
        assert parse(text, schema) is not None


@pytest.mark.parametrize("name", ["a`b", "``", "`", "`a", "b`", "a``b", "and"])
def test_a_backquote_in_a_name_is_written_twice(name: str) -> None:
    schema = Schema(attributes=(Attribute(name=name), Attribute(name="a"), Attribute(name="b")))
    condition = parse(f'{quote_column(name)} = "x" and a = "y"', schema)
    assert satisfies({name: "x", "a": "y", "b": ""}, condition)
    assert not satisfies({name: "", "a": "y", "b": "x"}, condition)


def test_numbers_name_values_of_categories_as_they_are_written() -> None:
    schema = Schema(attributes=(Attribute(name="zip"),))
    condition = parse("zip = 01234", schema)
    assert satisfies({"zip": "01234"}, condition)
    assert not satisfies({"zip": "1234"}, condition)


def test_minus_zero_is_zero() -> None:
    assert parse("age = -0.0", SCHEMA) == parse("age = 0", SCHEMA)


@pytest.mark.slow
@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(FilterError):
        parse(text, SCHEMA)


WORDS = [*"()=<>,'\"`", "and", "or", "not", "in", "is", "age", "sex", "born", "3", '"F"', "missing"]


@given(st.lists(st.sampled_from(WORDS)))
def test_any_tokens_are_read_or_refused(words: list[str]) -> None:
    with suppress(FilterError):
        assert satisfies(RECORD, parse(" ".join(words), SCHEMA)) in (True, False)


def test_the_ledger_gets_one_line() -> None:
    assert normal("age\n  >= 3") == "age >= 3"


def test_dates_are_days() -> None:
    record = {**RECORD, "born": dt.date(2000, 1, 1)}
    assert satisfies(record, parse('born > "1999-12-31" and born < "2000-01-02"', SCHEMA))
