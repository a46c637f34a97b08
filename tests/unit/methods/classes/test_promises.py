"""What a release of classes promises."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.guarantees import Strength, Words
from shoal.methods.classes import Partition, ViewPrivacy, classes_of
from shoal.methods.classes._promises import state_promise, strengthen
from shoal.models import Achieved, DistinctLDiversity, KAnonymity, MultiplicativeCloseness, TCloseness
from shoal.tables import SensitiveAttribute

ATTRIBUTE = SensitiveAttribute(name="x", size=2, ordered=True, labels=("a", "b"))
CLASSES = classes_of(Partition([0, 0, 0, 0, 1, 1, 1]), (ATTRIBUTE,), np.array([[0], [0], [1], [1], [0], [1], [1]]))


def test_a_promise_states_what_was_achieved_and_never_less_than_asked() -> None:
    assert strengthen(KAnonymity(2), KAnonymity(2).find_achieved(CLASSES)) == KAnonymity(3)
    promise = state_promise(MultiplicativeCloseness("x", 2), (CLASSES,), Words())
    assert promise.exact["t"] == "9/7"
    assert promise.parameters["t"] == 1.2858  # 9/7 = 1.28571..., rounded up
    close = state_promise(TCloseness("x", "0.5"), (CLASSES,), Words())
    assert Fraction(str(close.parameters["t"])) >= Fraction(str(close.exact["t"]))


def test_rounding_up_does_not_pass_what_was_asked() -> None:
    asked = MultiplicativeCloseness("x", Fraction("1.99999"))
    assert strengthen(asked, Achieved(t=Fraction("1.99998"))) == asked


def test_models_without_a_strongest_parameter_stay_as_they_are() -> None:
    model = DistinctLDiversity("x", 2)
    assert strengthen(model, model.find_achieved(CLASSES)) == model


def test_anatomy_speaks_of_classes_and_not_of_shared_quasi_identifiers() -> None:
    for model in (KAnonymity(2), MultiplicativeCloseness("x", 2), TCloseness("x", "0.5")):
        promise = state_promise(model, (CLASSES,), Words(alike=False))
        assert "quasi-identifiers" not in promise.statement
        assert any("not hidden" in assumption for assumption in promise.assumptions)


def test_the_view_is_conditional_and_rounds_up() -> None:
    promise = ViewPrivacy(columns=("x",), t=Fraction(2)).promise()
    assert promise.strength is Strength.CONDITIONAL
    assert float(str(promise.parameters["epsilon"])) == pytest.approx(1.386294)
    assert "1.3863" in promise.statement


def test_an_epsilon_that_t_does_not_give_is_refused() -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        ViewPrivacy(columns=("x",), t=Fraction(2), epsilon=0.1)
