from __future__ import annotations

import datetime as dt
from fractions import Fraction

import pytest

import shoal
from shoal.errors import ParameterError, PlanError
from shoal.methods.noise import AttributeSet, DPMicroaggregation, EpsilonBudget
from shoal.methods.noise._columns import Columns
from shoal.schema import Attribute, Domain, Kind, Quantiles, Role, Schema

SCHEMA = Schema(
    attributes=(
        Attribute(name="name", role=Role.IDENTIFIER),
        Attribute(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=99)),
        Attribute(name="sex", role=Role.QUASI_IDENTIFIER, domain=Domain(values=("F", "M"))),
        Attribute(
            name="day",
            role=Role.SENSITIVE,
            kind=Kind.DATE,
            domain=Domain(minimum=dt.date(2024, 1, 1), maximum=dt.date(2024, 12, 31)),
        ),
    )
)


def plan(*models, schema: Schema = SCHEMA, **parameters) -> shoal.Plan:
    return shoal.Plan(schema=schema, models=models or (EpsilonBudget(1),), method=DPMicroaggregation(**parameters))


# -- parameters


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"target": "records"}, "`target` of `DPMicroaggregation` must be one of"),
        ({"k": 0}, "`k` of `DPMicroaggregation` must be an integer"),
        ({"k": "many"}, "`k` of `DPMicroaggregation` must be an integer"),
        ({"sets": "some"}, "`sets` of `DPMicroaggregation` must be one of"),
        ({"sets": ("age", "sex")}, "lists of columns"),
        ({"sets": [["age", "age"]]}, "different column names"),
        ({"split": "half"}, "`split` of `DPMicroaggregation` must be one of"),
        ({"split": {"age": 0}}, r"`split\[age\]` of `DPMicroaggregation` must be in"),
        ({"reference_points": 0}, "`reference_points` of `DPMicroaggregation` must be an integer"),
        ({"decimals": {"age": 0.5}}, r"`decimals\[age\]` of `DPMicroaggregation` must be an integer"),
        ({"decimals": {"age": 13}}, "must be at most 12"),
        ({"fill": 3}, "must give a value by column"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        DPMicroaggregation(**parameters)


@pytest.mark.parametrize(
    ("parameters", "variant"),
    [
        ({"target": "partition", "split": "proportional"}, "MDAV+DP"),
        ({"target": "partition", "sets": "each"}, "IR_MDAV+DP_1"),
        ({"target": "partition", "sets": "each", "split": "proportional"}, "IR_MDAV+DP_2"),
        ({"target": "record-query"}, "INS+DP"),
        ({"target": "original"}, None),
        ({"target": "partition", "sets": (("age",), ("sex", "day"))}, None),
    ],
)
def test_the_variants_of_the_papers_are_named(parameters: dict, variant: str | None) -> None:
    assert DPMicroaggregation(**parameters).variant == variant


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"target": "partition", "k": 7, "sets": "each", "split": "proportional", "reference_points": 2},
        {"sets": [["age"], ["sex", "day"]], "split": {"age": 0.5, "sex": "1/3", "day": 0.1}},
        {"decimals": {"age": 0}, "fill": {"age": 40, "day": dt.date(2024, 6, 1)}},
    ],
)
def test_plans_are_the_same_after_a_file(parameters: dict) -> None:
    made = plan(**parameters)
    assert shoal.Plan.loads(made.dumps()) == made


def test_columns_are_clustered_together_each_or_as_told() -> None:
    columns = Columns.of(SCHEMA)
    sets = {
        name: DPMicroaggregation(sets=wanted).attribute_sets(columns)
        for name, wanted in {"all": "together", "each": "each", "told": (("day",), ("sex", "age"))}.items()
    }
    assert sets["all"] == (AttributeSet(numeric=(0, 1), categorical=(0,)),)
    assert sets["each"] == (AttributeSet(numeric=(0,)), AttributeSet(numeric=(1,)), AttributeSet(categorical=(0,)))
    assert sets["told"] == (AttributeSet(numeric=(1,)), AttributeSet(numeric=(0,), categorical=(0,)))


def test_given_shares_are_exact() -> None:
    method = DPMicroaggregation(split={"age": 0.1, "sex": 0.2, "day": "1/3"})
    assert method.shares(["age", "day", "sex"]) == [Fraction(1, 10), Fraction(1, 3), Fraction(1, 5)]


# -- what goes together


def test_every_column_without_a_declared_domain_is_named_with_what_to_do() -> None:
    bare = Schema(
        attributes=(
            Attribute(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC),
            Attribute(name="half", kind=Kind.NUMERIC, domain=Domain(minimum=0)),
            Attribute(name="town"),
        )
    )
    with pytest.raises(PlanError) as caught:
        plan(schema=bare)
    found = caught.value.problems
    for column, fix in (("age", "maximum"), ("half", "maximum"), ("town", "`values`")):
        assert sum(f"column `{column}`" in problem and fix in problem for problem in found) == 1, column


def test_a_hierarchy_that_looks_at_the_data_does_not_matter_for_numbers() -> None:
    age = Attribute(
        name="age",
        role=Role.QUASI_IDENTIFIER,
        kind=Kind.NUMERIC,
        domain=Domain(minimum=0, maximum=9),
        hierarchy=Quantiles(counts=(2,)),
    )
    assert plan(schema=Schema(attributes=(age,))).method.name == "dp-microaggregation"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"decimals": {"pay": 1}}, "`decimals` of `DPMicroaggregation` names column `pay`, which is not released"),
        ({"decimals": {"sex": 1}}, "column `sex` is not numeric"),
        ({"fill": {"name": 1}}, "names column `name`, which is not released"),
        ({"fill": {"age": 120}}, "must be in its domain"),
        ({"fill": {"sex": "F"}}, "must be in its domain"),
        ({"sets": [["age"], ["sex"]]}, "`sets` of `DPMicroaggregation` must name every released column once"),
        ({"split": {"age": 0.5, "sex": 0.2}}, "`split` of `DPMicroaggregation` must name every released column once"),
        ({"split": {"age": 0.5, "sex": 0.2, "day": 0.4}}, "shares out 1.1, more than epsilon"),
    ],
)
def test_parameters_fit_the_schema_and_epsilon(parameters: dict, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        plan(**parameters)


def test_the_method_and_its_budget_go_together() -> None:
    with pytest.raises(PlanError, match="keeps one promise"):
        plan(shoal.KAnonymity(3))
    with pytest.raises(PlanError, match="keeps one promise"):
        plan(EpsilonBudget(1), shoal.KAnonymity(3))
    with pytest.raises(PlanError, match="keeps one promise"):
        plan(shoal.DifferentialPrivacy(epsilon=1, delta=1e-6))
    for other in (shoal.Generalize(), shoal.methods.Truthful(), shoal.methods.TMicroaggregate()):
        with pytest.raises(PlanError, match="is kept by method `dp-microaggregation`"):
            shoal.Plan(schema=SCHEMA, models=(EpsilonBudget(1),), method=other)


def test_other_measures_would_tell_about_the_input() -> None:
    with pytest.raises(PlanError, match="compare the release with the input"):
        shoal.Plan(schema=SCHEMA, models=(EpsilonBudget(1),), method=DPMicroaggregation(), measures=("precision",))


def test_a_budget_alone_chooses_the_method() -> None:
    from shoal import methods

    assert methods.default([EpsilonBudget(1)]) == DPMicroaggregation()
    assert methods.default([shoal.DifferentialPrivacy(epsilon=1, delta=1e-6)]) == shoal.methods.Truthful()


def test_numbers_that_floating_point_cannot_tell_apart_are_refused() -> None:
    account = Attribute(name="account", kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=10**17))
    with pytest.raises(PlanError, match="`account` has a declared domain that reaches beyond 2\\^53"):
        plan(schema=Schema(attributes=(*SCHEMA.attributes, account)))
