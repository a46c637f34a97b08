from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reference.models import Domain, Group, Release
from shoal import models
from shoal.models import Achieved, AverageRisk, KAnonymity, KMAnonymity, TCloseness
from shoal.schema import Attribute, Kind, Role, Schema


def release(*rows: dict[int, int]) -> Release:
    return Release([Group(row) for row in rows], Domain(4), [True] * len(rows))


def test_classes_are_removed_until_all_that_are_left_satisfy_the_models_together() -> None:
    """{0: 1} goes first; without it value 0 is rarer in the release, and {0: 2, 1: 3} is no longer near."""
    classes = release({0: 1}, {1: 5}, {1: 4}, {0: 2, 1: 3}).classes()
    model = TCloseness("s", "1/4")
    first = model.keep(classes, np.ones(4, dtype=np.bool_))
    last = models.keep([model], classes)
    assert first.tolist() == [False, True, True, True]
    assert last.tolist() == [False, True, True, False]
    assert not model.holds(classes)
    assert not model.holds(classes, first)
    assert model.holds(classes, last)


def test_a_model_of_the_distribution_judges_what_the_models_of_classes_leave() -> None:
    """{0: 2} is too small; without it {1: 9, 0: 1} is at distance 0.0, with it at 0.15."""
    classes = release({0: 2}, {0: 1, 1: 9}).classes()
    assert models.keep([TCloseness("s", "1/10"), KAnonymity(3)], classes).tolist() == [False, True]
    assert TCloseness("s", "1/10").keep(classes, np.ones(2, dtype=np.bool_)).tolist() == [False, False]


def test_the_order_in_which_models_are_given_does_not_matter_across_scopes() -> None:
    classes = release({0: 1}, {0: 5, 1: 4}, {1: 1}, {0: 3, 1: 4, 2: 1}).classes()
    chosen = [AverageRisk("1/5"), TCloseness("s", "1/4"), KAnonymity(2)]
    assert models.keep(chosen, classes).tolist() == models.keep(chosen[::-1], classes).tolist()


def test_no_classes_and_no_models() -> None:
    assert models.keep([KAnonymity(2)], release().classes()).tolist() == []
    assert models.keep([], release({0: 1}).classes()).tolist() == [True]


def test_a_class_that_only_the_population_holds_is_not_released() -> None:
    groups = [Group({}, (0,), population=9), Group({0: 2}, (1,), population=9)]
    classes = Release(groups, Domain(2), [True, True]).classes()
    for name in models.names():
        model = models.from_parameters(name, EASY[name])
        assert model.keep(classes, np.ones(2, dtype=np.bool_)).tolist() == [False, True], name
        assert model.holds(classes)


EASY: dict[str, dict[str, object]] = {
    "k-anonymity": {"k": 1},
    "probabilistic-k-anonymity": {"k": 1},
    "k-map": {"k": 1},
    "estimated-k-map": {"k": 1, "sampling_fraction": 0.5},
    "p-sensitive-k-anonymity": {"attributes": ["s"], "p": 1, "k": 1},
    "distinct-l-diversity": {"attribute": "s", "l": 1},
    "entropy-l-diversity": {"attribute": "s", "l": 1},
    "recursive-l-diversity": {"attribute": "s", "c": 2, "l": 1},
    "t-closeness": {"attribute": "s", "t": 0},
    "multiplicative-closeness": {"attribute": "s", "t": 1},
    "delta-disclosure": {"attribute": "s", "delta": 0},
    "beta-likeness": {"attribute": "s", "beta": 0},
    "delta-presence": {"minimum": 0, "maximum": 1},
    "k-m-anonymity": {"k": 1, "m": 1},
    "average-risk": {"risk": 1},
    "sample-uniqueness": {"share": 0},
    "estimated-uniqueness": {"share": 0, "sampling_fraction": 0.5},
}


def test_a_model_names_the_columns_that_the_schema_does_not_offer() -> None:
    schema = Schema(
        attributes=(
            Attribute(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC),
            Attribute(name="illness", role=Role.SENSITIVE),
        )
    )
    assert TCloseness("illness", 0.2).problems(schema) == []
    assert TCloseness("age", 0.2).problems(schema) == [
        "`TCloseness` names column `age`, whose role is quasi-identifier, not sensitive"
    ]
    assert TCloseness("pay", 0.2).problems(schema) == [
        "`TCloseness` names column `pay`, which the schema does not have"
    ]
    assert KMAnonymity(2, 1).resolve(schema) == KMAnonymity(2, 1)


def test_achieved_figures_read_as_text_and_as_plain_values() -> None:
    achieved = Achieved(k=7, t=Fraction(1, 6))
    assert str(achieved) == "k = 7, t = 1/6 (0.166667)"
    assert achieved.plain() == {"k": 7, "t": "1/6"}
    assert str(Achieved()) == "nothing is released"


@pytest.mark.parametrize("model", [KAnonymity(5), TCloseness("illness", Fraction(1, 5)), TCloseness("illness", "1/3")])
def test_a_model_prints_as_it_can_be_typed(model: models.Model) -> None:
    from shoal.models import KAnonymity, TCloseness

    assert eval(repr(model), {"KAnonymity": KAnonymity, "TCloseness": TCloseness}) == model  # noqa: S307
