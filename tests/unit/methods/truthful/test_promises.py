"""Differential privacy as something to ask for."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from shoal.errors import ParameterError
from shoal.methods import promises
from shoal.methods.truthful import DifferentialPrivacy
from shoal.schema import Attribute, Domain, Flat, FromFile, Groups, Intervals, Kind, Quantiles, Role, Schema

WANTED = DifferentialPrivacy(epsilon=1, delta=1e-6)


def test_numbers_mean_their_decimal_notation() -> None:
    assert DifferentialPrivacy(epsilon=0.1, delta="1e-6").total == Fraction(1, 10)
    assert DifferentialPrivacy(epsilon="1/3", delta=1e-6) == DifferentialPrivacy(epsilon=Fraction(1, 3), delta="1e-6")


def test_search_and_operator_share_epsilon_exactly() -> None:
    wanted = DifferentialPrivacy(epsilon=1, delta=1e-6, search_share="1/3")
    assert wanted.search_epsilon(searching=True) + wanted.operator(searching=True).epsilon == 1
    assert wanted.operator(searching=False).epsilon == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epsilon", 0),
        ("epsilon", "1e-30"),
        ("epsilon", 41),
        ("epsilon", "much"),
        ("delta", 0),
        ("delta", 1),
        ("search_share", 1),
    ],
)
def test_parameters_outside_their_range_are_refused(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=f"`{name}` of `DifferentialPrivacy`"):
        DifferentialPrivacy(**{"epsilon": 1, "delta": 1e-6, name: value})  # type: ignore[arg-type]


def test_all_problems_of_the_parameters_are_told_at_once() -> None:
    with pytest.raises(ParameterError) as caught:
        DifferentialPrivacy(epsilon=-1, delta=7, definition="any")  # type: ignore[arg-type]
    assert len(caught.value.problems) == 3


def test_it_survives_its_parameters() -> None:
    wanted = DifferentialPrivacy(epsilon="2/3", delta=1e-7, search_share=0.2, definition="standard")
    assert promises.from_parameters(wanted.name, wanted.parameters()) == wanted
    assert "differential-privacy" in promises.names()
    assert promises.from_parameters("k-anonymity", {"k": 3}).name == "k-anonymity"


def test_unknown_and_absent_parameters_are_told() -> None:
    with pytest.raises(ParameterError) as caught:
        promises.from_parameters("differential-privacy", {"epsilon": 1, "eps": 1})
    assert len(caught.value.problems) == 2
    assert "`eps`" in str(caught.value)
    assert "`delta`" in str(caught.value)


@pytest.mark.parametrize("setting", ["levels", "score", "scheme", "target", "epsilon", "delta", "k", "hierarchies"])
def test_it_assumes_that_every_setting_was_chosen_without_the_data(setting: str) -> None:
    (assumption,) = [each for each in WANTED.assumptions() if each.endswith("without looking at the data.")]
    assert re.search(rf"\b{setting}\b", assumption, re.IGNORECASE)


def test_the_statement_names_its_definition() -> None:
    standard = DifferentialPrivacy(epsilon=1, delta=1e-6, definition="standard")
    assert WANTED.statement() != standard.statement()
    for each in (WANTED, standard):
        assert "2.72" in each.statement()
        assert "1e-06" in each.statement()


def test_every_column_without_a_declared_domain_is_listed_with_what_to_do() -> None:
    quasi = Role.QUASI_IDENTIFIER
    schema = Schema(
        attributes=(
            Attribute(name="id", role=Role.IDENTIFIER),
            Attribute(name="age", role=quasi, kind=Kind.NUMERIC, hierarchy=Intervals(widths=(5,))),
            Attribute(name="pay", kind=Kind.NUMERIC, hierarchy=Quantiles(counts=(4, 2))),
            Attribute(name="town", role=quasi),
            Attribute(name="day", role=Role.SENSITIVE, kind=Kind.DATE),
            Attribute(name="fine", domain=Domain(values=("a", "b")), hierarchy=Flat()),
            Attribute(name="file", hierarchy=FromFile(path="any.csv")),
            Attribute(name="groups", hierarchy=Groups(levels=((("x", ("a",)),),))),
            Attribute(
                name="bounded",
                kind=Kind.NUMERIC,
                domain=Domain(minimum=0, maximum=9),
                hierarchy=Intervals(widths=(2, 4)),
            ),
        )
    )
    problems = WANTED.problems(schema)
    listed = [[name for name in schema.names if f"`{name}`" in problem] for problem in problems]
    assert listed == [["age", "day"], ["pay"], ["town"]]
    assert "`minimum` and `maximum`" in problems[0]
    assert "looks at the data" in problems[1]
    assert "`values`" in problems[2]


def test_pseudonyms_and_guessed_schemas_are_refused() -> None:
    attribute = Attribute(name="id", role=Role.IDENTIFIER, pseudonym=True)
    fine = Attribute(name="sex", role=Role.QUASI_IDENTIFIER, domain=Domain(values=("f", "m")))
    problems = WANTED.problems(Schema(attributes=(attribute, fine), guessed=True))
    assert len(problems) == 2
    assert any("pseudonyms" in problem for problem in problems)
    assert any("guessed" in problem for problem in problems)


@pytest.mark.parametrize(
    "domain",
    [
        Domain(minimum=0, maximum=2**53),
        Domain(minimum=-(10**17), maximum=0),
        Domain(minimum=0.0, maximum=1e300),
        Domain(values=("1", "9007199254740993")),
    ],
    ids=repr,
)
def test_numbers_that_floating_point_cannot_tell_apart_are_refused(domain: Domain) -> None:
    """One record with a fraction in it decides whether they are written as integers or as floats."""
    attribute = Attribute(name="account", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC, domain=domain)
    (problem,) = WANTED.problems(Schema(attributes=(attribute,)))
    assert "`account` has a declared domain that reaches beyond 2^53" in problem


def test_numbers_below_are_not() -> None:
    domain = Domain(minimum=1 - 2**53, maximum=2**53 - 1)
    numbers = Attribute(name="account", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC, domain=domain)
    names = Attribute(name="name", role=Role.QUASI_IDENTIFIER, domain=Domain(values=("9007199254740993", "nan")))
    assert WANTED.problems(Schema(attributes=(numbers, names))) == []
