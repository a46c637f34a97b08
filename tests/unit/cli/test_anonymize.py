"""What the options of `shoal anonymize` mean."""

from __future__ import annotations

import pytest

import shoal
from shoal.cli._anonymize import _method


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
