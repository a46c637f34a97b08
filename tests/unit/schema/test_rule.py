from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from shoal.errors import HierarchyError, SchemaError
from shoal.hierarchies import build
from shoal.schema import (
    RULES,
    Cuts,
    Dates,
    Flat,
    FoundGroups,
    FromFile,
    Groups,
    HierarchyRule,
    Intervals,
    Kind,
    Mask,
    Quantiles,
    Taxonomy,
    dumps,
    loads,
    read_rule,
)
from shoal.schema._entry import whole
from shoal.schema._rule import at
from shoal.schema.rules import Level, Tree


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: Intervals(widths=()), "one or more"),
        (lambda: Intervals(widths=(0,)), "positive"),
        (lambda: Intervals(widths=(-1,)), "positive"),
        (lambda: Intervals(widths=(float("nan"),)), "positive"),
        (lambda: Intervals(widths=(2, 3)), "multiple"),
        (lambda: Intervals(widths=(5, 5)), "multiple"),
        (lambda: Intervals(widths=(10, 5)), "multiple"),
        (lambda: Intervals(widths=(5,), origin=float("inf")), "a number up to"),
        (lambda: Cuts(levels=()), "at least one"),
        (lambda: Cuts(levels=((1,), ())), "at least one"),
        (lambda: Cuts(levels=((2, 1),)), "ascending"),
        (lambda: Cuts(levels=((1, float("inf")),)), "finite"),
        (lambda: Cuts(levels=((1, 2), (3,))), "some, but not all"),
        (lambda: Cuts(levels=((1, 2), (1, 2))), "some, but not all"),
        (lambda: Quantiles(counts=()), "divisor"),
        (lambda: Quantiles(counts=(1,)), "at least 2"),
        (lambda: Quantiles(counts=(10, 4)), "divisor"),
        (lambda: Quantiles(counts=(4, 8)), "divisor"),
        (lambda: Mask(length=0, masked=(1,)), "at least 1"),
        (lambda: Mask(length=5, masked=()), "ascending"),
        (lambda: Mask(length=5, masked=(2, 1)), "ascending"),
        (lambda: Mask(length=5, masked=(0,)), "ascending"),
        (lambda: Mask(length=5, masked=(5,)), "stay below"),
        (lambda: Mask(length=5, masked=(1,), side="top"), "`left` or `right`"),
        (lambda: Mask(length=5, masked=(1,), symbol="**"), "one character"),
        (lambda: Dates(levels=()), "in this order"),
        (lambda: Dates(levels=("year", "month")), "in this order"),
        (lambda: Dates(levels=("month", "month")), "in this order"),
        (lambda: Dates(levels=("week",)), "in this order"),
        (lambda: Groups(levels=()), "at least one group"),
        (lambda: Groups(levels=((("a", ("x",)), ("a", ("y",))),)), "a label twice"),
        (lambda: Groups(levels=((("a", ("x",)), ("b", ("x",))),)), "in two groups"),
        (lambda: Groups(levels=((("a", ()),),)), "empty group"),
        (lambda: Groups(levels=((("", ("x",)),),)), "without a label"),
        (lambda: Groups(levels=((("a", ("x",)),), (("b", ("y",)),))), "labels of level 1"),
        (lambda: Taxonomy(), "either `pairs` or `path`"),
        (lambda: Taxonomy(pairs=(("a", "b"),), path="x"), "either `pairs` or `path`"),
        (lambda: Taxonomy(pairs=(("a", "b"), ("a", "c"))), "every child once"),
        (lambda: Taxonomy(pairs=(("a", ""),)), "empty names"),
        (lambda: Taxonomy(path=""), "must not be empty"),
        (lambda: FromFile(path=""), "must not be empty"),
        (lambda: FromFile(path="x", delimiter=""), "single character"),
        (lambda: FromFile(path="x", delimiter=", "), "single character"),
        (lambda: Taxonomy(path="x", delimiter='"'), "other than a quote"),
    ],
)
def test_rules_that_make_no_sense_are_refused(make, part):
    with pytest.raises(HierarchyError, match=part):
        make()


def test_decimal_widths_are_compared_as_decimals():
    assert Intervals(widths=(0.1, 0.3)).widths == (0.1, 0.3)


def test_lists_become_tuples_at_any_depth():
    rule = Groups(levels=[[["a", ["x", "y"]]]])
    assert rule == Groups(levels=((("a", ("x", "y")),),))
    assert hash(Cuts(levels=[[1, 2]])) == hash(Cuts(levels=((1, 2),)))


def test_only_quantiles_and_found_groups_depend_on_the_data():
    assert {rule for rule in RULES.values() if rule.data_dependent} == {Quantiles, FoundGroups}


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Flat(), "the value, then *"),
        (Intervals(widths=(5,)), "intervals of width 5"),
        (Intervals(widths=(0.5, 1, 20), origin=0.25), "intervals of width 0.5, 1 and 20, counted from 0.25"),
        (Cuts(levels=((18, 40, 65), (65,))), "intervals cut at 18, 40 and 65, then at 65"),
        (
            Quantiles(counts=(16, 4)),
            "16, then 4 intervals with about the same number of records each, chosen from the data",
        ),
        (Mask(length=5, masked=(1, 2)), "1 and 2 of 5 characters hidden from the right"),
        (Dates(levels=("month", "year")), "dates shortened to the month, then the year"),
        (Groups(levels=((("a", ("x",)), ("b", ("y",))), (("c", ("a", "b")),))), "2 named groups, then 1 named group"),
        (Taxonomy(pairs=(("a", "b"), ("c", "b"))), "a tree of 2 child-parent pairs"),
        (Taxonomy(path="icd.csv"), "the tree in `icd.csv`"),
        (FromFile(path="zip.csv"), "the levels in `zip.csv`"),
    ],
)
def test_rules_explain_themselves(rule, words):
    assert rule.explain() == words
    assert read_rule(rule.write()) == rule


def test_rules_say_where_their_values_come_from():
    assert [name for name, rule in RULES.items() if rule.lists_values] == [
        "digits",
        "groups",
        "found",
        "taxonomy",
        "file",
    ]
    assert FromFile(path="zip.csv").file == "zip.csv"
    assert FromFile(path="zip.csv", delimiter=",").with_path("there.csv") == FromFile(path="there.csv", delimiter=",")
    assert Taxonomy(path="t.csv").with_path("there.csv").file == "there.csv"
    inline = Taxonomy(pairs=(("a", "b"),))
    assert (inline.file, inline.with_path("there.csv")) == (None, inline)
    assert (Flat().file, Flat().with_path("there.csv")) == (None, Flat())


def test_a_table_that_is_no_rule_is_refused():
    with pytest.raises(SchemaError, match="`interval` is not a hierarchy rule"):
        read_rule({"interval": [5]})


@dataclass(frozen=True, slots=True, kw_only=True)
class Initials(HierarchyRule):
    """The first letters of a value: all that somebody writes to add a kind."""

    name: ClassVar[str] = "initials"
    kinds: ClassVar[tuple[Kind, ...]] = (Kind.CATEGORICAL,)
    letters: int = field(metadata=at("initials", whole))

    def problems(self):
        if self.letters < 1:
            yield "`letters` of an `initials` hierarchy must be at least 1"

    def explain(self):
        return f"the first {self.letters} letters"

    def tree(self, column):
        encoded = pc.utf8_slice_codeunits(column.leaves, 0, self.letters).dictionary_encode()
        groups = encoded.indices.to_numpy().astype(np.int64)
        level = Level(groups=groups, labels=encoded.dictionary)
        return Tree(leaves=column.leaves, levels=[level], ranks=column.ranks(column.leaves))


def test_a_new_kind_is_one_class_and_one_line(monkeypatch):
    monkeypatch.setitem(RULES, Initials.name, Initials)
    text = 'shoal = 1\n\n[columns.name]\nrole = "quasi-identifier"\nhierarchy = { initials = 1 }\n'
    schema = loads(text)
    assert dumps(schema) == text
    assert build(schema["name"], pa.array(["ann", "bob", "abe"])).labels == (("abe", "ann", "bob"), ("a", "b"), ("*",))
    for wrong, problem in {
        "0": "column `name`: `letters` of an `initials` hierarchy must be at least 1",
        '"x"': "column `name`: `hierarchy`: `initials` must be a whole number",
        "1, side = 2": "column `name`: `hierarchy`: unknown key `side`; the valid keys are initials",
    }.items():
        with pytest.raises(SchemaError) as raised:
            loads(text.replace("initials = 1", f"initials = {wrong}"))
        assert raised.value.problems == (problem,)
