from __future__ import annotations

import datetime as dt

import pytest

from shoal.errors import OutputError, SchemaError
from shoal.schema import (
    Attribute,
    Cuts,
    Dates,
    Domain,
    Flat,
    FromFile,
    Groups,
    Intervals,
    Kind,
    Mask,
    Missing,
    Quantiles,
    Role,
    Schema,
    Taxonomy,
    dumps,
    from_document,
    load,
    loads,
    save,
)

TEXT = """\
shoal = 1
guessed = true  # remove this line when you have confirmed the roles below

[columns.age]
role = "quasi-identifier"
kind = "numeric"
minimum = 0
maximum = 120
missing = "refuse"
weight = 2
hierarchy = { intervals = [5, 10, 20] }

[columns."date of birth"]
role = "quasi-identifier"
kind = "date"
minimum = 1900-01-01
maximum = 2024-12-31
hierarchy = { dates = ["month", "year"] }

[columns.pain]
role = "sensitive"
kind = "ordinal"
values = ["none", "mild", "severe"]

[columns.record]
role = "identifier"
pseudonym = true
"""
SCHEMA = Schema(
    attributes=(
        Attribute(
            name="age",
            role=Role.QUASI_IDENTIFIER,
            kind=Kind.NUMERIC,
            domain=Domain(minimum=0, maximum=120),
            missing=Missing.REFUSE,
            weight=2.0,
            hierarchy=Intervals(widths=(5, 10, 20)),
        ),
        Attribute(
            name="date of birth",
            role=Role.QUASI_IDENTIFIER,
            kind=Kind.DATE,
            domain=Domain(minimum=dt.date(1900, 1, 1), maximum=dt.date(2024, 12, 31)),
            hierarchy=Dates(levels=("month", "year")),
        ),
        Attribute(
            name="pain", role=Role.SENSITIVE, kind=Kind.ORDINAL, domain=Domain(values=("none", "mild", "severe"))
        ),
        Attribute(name="record", role=Role.IDENTIFIER, pseudonym=True),
    ),
    guessed=True,
)


def test_a_file_says_what_its_schema_says():
    assert loads(TEXT) == SCHEMA
    assert dumps(SCHEMA) == TEXT


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        ("{ intervals = [0.5, 1], origin = 0.25 }", Intervals(widths=(0.5, 1), origin=0.25)),
        ("{ intervals = [5], bottom = 18, top = 90 }", Intervals(widths=(5,), bottom=18, top=90)),
        ("{ cuts = [[18, 40, 65], [65]] }", Cuts(levels=((18, 40, 65), (65,)))),
        ("{ quantiles = [16, 4] }", Quantiles(counts=(16, 4))),
        ("{ flat = true }", Flat()),
        ('{ file = "numbers.csv" }', FromFile(path="numbers.csv")),
        ('{ file = "numbers.csv", delimiter = "\\t" }', FromFile(path="numbers.csv", delimiter="\t")),
    ],
)
def test_rules_of_numbers_are_written_as_documented(written, rule):
    check_rule("numeric", written, rule)


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        ("{ mask = [1, 2], length = 5 }", Mask(masked=(1, 2), length=5)),
        (
            '{ mask = [1, 2], length = 5, side = "left", symbol = "#" }',
            Mask(masked=(1, 2), length=5, side="left", symbol="#"),
        ),
        (
            '{ groups = [{ low = ["a", "b"], "very high" = ["c"] }, { any = ["low", "very high"] }] }',
            Groups(levels=((("low", ("a", "b")), ("very high", ("c",))), (("any", ("low", "very high")),))),
        ),
        (
            '{ taxonomy = { flu = "infection", cold = "infection" } }',
            Taxonomy(pairs=(("flu", "infection"), ("cold", "infection"))),
        ),
        ('{ taxonomy = "icd.csv", delimiter = "," }', Taxonomy(path="icd.csv", delimiter=",")),
    ],
)
def test_rules_of_names_are_written_as_documented(written, rule):
    check_rule("categorical", written, rule)


def check_rule(kind, written, rule):
    schema = loads(f'[columns.a]\nrole = "insensitive"\nkind = "{kind}"\nhierarchy = {written}\n')
    assert schema["a"].hierarchy == rule
    assert f"hierarchy = {written}\n" in dumps(schema)


def test_long_groups_and_taxonomies_get_tables_of_their_own():
    groups = Groups(
        levels=((("first", ("a" * 40, "b" * 40)), ("second", ("c" * 40,))), (("all", ("first", "second")),))
    )
    tree = Taxonomy(pairs=tuple((f"child {i}", "parent") for i in range(12)), delimiter=",")
    schema = Schema(attributes=(Attribute(name="x.y", hierarchy=groups), Attribute(name="z", hierarchy=tree)))
    written = dumps(schema)
    assert written.count('[[columns."x.y".hierarchy.groups]]\n') == 2
    assert '[columns.z.hierarchy.taxonomy]\n"child 0" = "parent"\n' in written
    assert max(map(len, written.splitlines())) < 120
    assert loads(written) == schema


def test_long_lists_are_broken_over_lines():
    schema = Schema(attributes=(Attribute(name="a", domain=Domain(values=tuple(f"value {i}" for i in range(30)))),))
    assert 'values = [\n    "value 0",\n' in dumps(schema)
    assert loads(dumps(schema)) == schema


BAD = """
shoal = 2
gessed = true
[columns.age]
rol = "sensitive"
kind = "numric"
minimum = "canary"
maximum = 2020-01-01T00:00:00
missing = 5
weight = true
hierarchy = { intervals = [5, "canary", 7], oringin = 3 }
[columns.b]
role = "Sensitive"
hierarchy = { interval = [1] }
[columns.c]
role = "sensitive"
minimum = 5
maximum = 3
kind = "ordinal"
pseudonym = true
hierarchy = { intervals = [2, 3] }
[columns.d]
role = "sensitive"
hierarchy = { groups = [{ canary = ["canary"], b = [1] }], file = "x" }
[columns.e]
role = "sensitive"
hierarchy = { groups = [{ a = ["canary"] }, { canary = [1] }] }
[columns.f]
role = "sensitive"
hierarchy = "flat"
[columns.g]
role = "sensitive"
values = "canary"
hierarchy = {}
[columns.h]
role = "sensitive"
hierarchy = { flat = false }
[columns.i]
role = "sensitive"
hierarchy = { taxonomy = { canary = 5 }, lenght = 4 }
"""


def test_every_problem_of_a_file_is_reported_at_once():
    with pytest.raises(SchemaError) as raised:
        loads(BAD)
    roles = "identifier, person, household, quasi-identifier, sensitive, insensitive, weight, stratum, drop, decide"
    assert raised.value.problems == (
        "the schema: `shoal`, the version of the format, must be 1",
        "the schema: unknown key `gessed` (did you mean `guessed`?)",
        f"column `age`: `role` is missing; it must be one of {roles}",
        "column `age`: `kind` must be one of categorical, ordinal, numeric, date (did you mean `numeric`?)",
        "column `age`: `minimum` must be a number, or a date such as 2024-12-31",
        "column `age`: `maximum` must be a number, or a date such as 2024-12-31",
        "column `age`: `missing` must be one of category, drop, refuse",
        "column `age`: `weight` must be a number",
        "column `age`: unknown key `rol` (did you mean `role`?)",
        "column `age`: `hierarchy`: item 2 of `intervals` must be a number",
        "column `age`: `hierarchy`: unknown key `oringin` (did you mean `origin`?)",
        f"column `b`: `role` must be one of {roles} (did you mean `sensitive`?)",
        "column `b`: `interval` is not a hierarchy rule (did you mean `intervals`?)",
        "column `c`: each of the `widths` of an `intervals` hierarchy must be a multiple of the one before it",
        "column `c`: `minimum` of a domain must not exceed `maximum`",
        "column `c`: `pseudonym` applies only to identifiers; this column is sensitive",
        "column `c`: an ordinal column needs all its `values` in ascending order",
        "column `d`: `hierarchy` must name exactly one rule; got `groups`, `file`",
        'column `e`: `hierarchy`: item 2 of `groups` must be a table of `label = ["member", ...]`',
        "column `f`: `hierarchy` must be a table",
        "column `g`: `values` must be a list",
        "column `g`: `hierarchy` must name a rule: one of intervals, cuts, quantiles, mask, digits, dates, regions, "
        "groups, found, taxonomy, file, flat",
        "column `h`: `hierarchy`: `flat` must be true",
        'column `i`: `hierarchy`: `taxonomy` must be a path, or a table of `child = "parent"`',
        "column `i`: `hierarchy`: unknown key `lenght`; the valid keys are taxonomy, delimiter",
    )


def test_no_value_of_a_schema_file_is_shown():
    with pytest.raises(SchemaError) as raised:
        loads(BAD)
    assert "canary" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the schema describes no columns"),
        ("columns = 3", "the schema: `columns` must be a table"),
        ("[columns]\na = 3", "column `a` must be a table"),
        ('[columns.""]\nrole = "sensitive"', "a column must have a name"),
        ("guessed = 1\n[columns.a]\nrole = 'sensitive'", "the schema: `guessed` must be true or false"),
        ("shoal = '1'\n[columns.a]\nrole = 'sensitive'", "the schema: `shoal` must be a whole number"),
    ],
)
def test_documents_of_another_shape_are_refused(text, problem):
    with pytest.raises(SchemaError) as raised:
        loads(text)
    assert raised.value.problems == (problem,)


@pytest.mark.parametrize("text", ["x", "[columns.a]\n[columns.a]", "a = " + "[" * 5000, "\0"])
def test_text_that_is_not_toml_is_refused(text):
    with pytest.raises(SchemaError, match="the schema is not valid TOML"):
        loads(text)


def test_files_are_written_and_read_back(tmp_path):
    path = tmp_path / "data.schema.toml"
    save(SCHEMA, path)
    assert load(path) == SCHEMA
    assert load(str(path)).folder == tmp_path


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path):
    path = tmp_path / "s.toml"
    path.write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())
    assert load(path) == SCHEMA


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(SchemaError, match="does not exist"):
        load(tmp_path / "absent.toml")
    with pytest.raises(SchemaError, match="cannot be read"):
        load(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9")
    with pytest.raises(SchemaError, match="is not UTF-8 text"):
        load(tmp_path / "latin.toml")
    with pytest.raises(OutputError, match="absent is not a folder"):
        save(SCHEMA, tmp_path / "absent" / "s.toml")


def test_a_part_of_another_document_is_read():
    assert from_document({"columns": {"a": {"role": "sensitive"}}}).sensitive == ("a",)
