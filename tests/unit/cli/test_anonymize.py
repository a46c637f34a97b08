"""What the options of `shoal anonymize` mean."""

from __future__ import annotations

import pytest

import shoal
from shoal.cli._anonymize import _method, _models
from shoal.errors import ParameterError


@pytest.mark.parametrize("method", ["generalize", "specialize", "iterate", "mondrian", "subtree"])
def test_links_can_be_kept_with_the_limit_of_time_that_the_program_sets(method: str) -> None:
    found = _method(method, (shoal.KAnonymity(2),), ["links=kept"], None)
    assert found.linked


def test_spaces_around_the_sign_of_an_option_mean_nothing() -> None:
    """As the documentation writes it."""
    found = _method("generalize", (shoal.KAnonymity(2),), ["aggregates = { age = 'mean' }", "steps =7"], None)
    assert isinstance(found, shoal.Generalize)
    assert found.aggregates == {"age": "mean"}
    assert found.steps == 7


@pytest.mark.parametrize(("said", "name"), [("'main diagnosis'", "main diagnosis"), ("patient's", "patient's")])
def test_promises_can_be_about_columns_with_spaces_in_their_names(said: str, name: str) -> None:
    asked = [f"entropy-l-diversity attribute={said} l=3"]
    assert _models(None, [], [], asked, {"epsilon": None, "delta": None}, None) == (shoal.EntropyLDiversity(name, 3),)


def test_a_promise_that_is_none_gets_a_hint() -> None:
    with pytest.raises(ParameterError, match="There is no model `l-diversity`") as raised:
        _models(None, [], [], ["l-diversity attribute=x l=2"], {"epsilon": None, "delta": None}, None)
    assert "`entropy-l-diversity`" in str(raised.value.hint)
