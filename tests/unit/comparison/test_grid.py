"""From lists of parameters to plans."""

from __future__ import annotations

import pytest

import shoal
from shoal.comparison import Grid
from shoal.errors import ParameterError

SCHEMA = shoal.Schema(
    attributes=(
        shoal.Attribute(
            name="age", role="quasi-identifier", kind="numeric", hierarchy=shoal.schema.Intervals(widths=(10,))
        ),
        shoal.Attribute(name="illness", role="sensitive"),
        shoal.Attribute(name="drug", role="sensitive"),
    )
)


def test_every_combination_becomes_a_plan() -> None:
    grid = Grid(k=(2, 5), t={"illness": (0.2, 0.5), "drug": (0.3,)}, methods=("generalize", "mondrian"))
    found = grid.candidates(SCHEMA)
    assert [each.promises for each in found[:4]] == [
        "k = 2, t(illness) = 0.2, t(drug) = 0.3",
        "k = 2, t(illness) = 0.5, t(drug) = 0.3",
        "k = 5, t(illness) = 0.2, t(drug) = 0.3",
        "k = 5, t(illness) = 0.5, t(drug) = 0.3",
    ]
    assert [each.method for each in found] == ["generalize"] * 4 + ["mondrian"] * 4
    assert all(each.plan is not None for each in found)


def test_differential_privacy_has_its_own_method() -> None:
    found = Grid(k=(2,), epsilon=(1, 2), methods=("generalize",)).candidates(SCHEMA)
    assert [(each.method, each.promises) for each in found] == [
        ("generalize", "k = 2"),
        ("truthful", "differential-privacy epsilon=1 delta=1e-06"),
        ("truthful", "differential-privacy epsilon=2 delta=1e-06"),
    ]


def test_a_domain_that_is_not_declared_is_a_reason_and_not_an_error() -> None:
    *_, private = Grid(epsilon=(1,)).candidates(SCHEMA)
    assert private.plan is None
    assert "age" in str(private.problem)


def test_without_names_all_methods_that_keep_what_is_asked_for_are_tried() -> None:
    classes = {each.method for each in Grid(k=(2,)).candidates(SCHEMA)}
    assert {"generalize", "mondrian"} <= classes
    assert "truthful" not in classes
    assert {each.method for each in Grid(epsilon=(1,)).candidates(SCHEMA)} == {
        "truthful",
        "dp-microaggregation",
    }


def test_a_method_that_keeps_nothing_of_it_says_so() -> None:
    (found,) = Grid(k=(2,), methods=("truthful",)).candidates(SCHEMA)
    assert "--epsilon" in str(found.problem)


def test_promises_of_all_plans_and_the_suppression_limit_are_added() -> None:
    grid = Grid(
        k=(2,),
        always=[("distinct-l-diversity", {"attribute": "illness", "l": 2})],
        methods=("generalize",),
        suppression_limit=0.2,
    )
    (found,) = grid.candidates(SCHEMA)
    assert found.promises == "k = 2, l(illness) = 2"
    assert found.plan is not None
    assert found.plan.method.parameters()["suppression_limit"] == 0.2


def test_wrong_values_are_reasons() -> None:
    (found,) = Grid(k=(0,), methods=("generalize",)).candidates(SCHEMA)
    assert "KAnonymity" in str(found.problem)


def test_nothing_to_promise_and_unknown_methods_are_errors() -> None:
    with pytest.raises(ParameterError, match="something to promise"):
        Grid()
    with pytest.raises(ParameterError, match="no method"):
        Grid(k=(2,), methods=("shuffle",))


def test_k_means_what_a_method_keeps() -> None:
    found = Grid(k=(3,), methods=("mdav", "swap", "ir-swap")).candidates(SCHEMA)
    assert all(each.plan is not None for each in found)
    assert [each.plan.models[0].name for each in found if each.plan is not None] == [
        "k-anonymity",
        "probabilistic-k-anonymity",
        "probabilistic-k-anonymity",
    ]


def test_an_epsilon_is_kept_by_the_methods_that_can() -> None:
    def found(**wanted: object) -> list[tuple[str, str]]:
        return [(each.method, each.promises) for each in Grid(**wanted).candidates(SCHEMA)]  # type: ignore[arg-type]

    assert found(k=(5,), epsilon=(1,), methods=("generalize",))[-1][0] == "truthful"
    assert found(epsilon=(1,), methods=("dp-microaggregation",)) == [
        ("dp-microaggregation", "epsilon-budget epsilon=1 delta=1e-06")
    ], "the schema declares no bounds"
    assert found(k=(5,), methods=("swap",)) == [("swap", "probabilistic-k-anonymity k = 5")]
