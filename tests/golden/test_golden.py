"""Releases come out as they did when their hashes were committed: data, certificate, plan, texts and reports."""

from __future__ import annotations

import pytest

from golden.artefacts import artefacts
from golden.cases import CASES
from golden.regenerate import hashed, known
from shoal import methods, models

FORMS = {"microaggregated", "generalized", "permuted", "anatomy"}


def test_every_method_form_and_promise_is_here() -> None:
    assert {name.partition(",")[0] for name in CASES} == {*methods.names()}
    assert all(name.partition(",")[0] == case.method.name for name, case in CASES.items())
    assert {getattr(case.method, "form", None) for case in CASES.values()} >= FORMS
    promised = {promise.name for case in CASES.values() for promise in case.promises}
    assert promised >= {*models.names(), "differential-privacy", "epsilon-budget"}
    assert {*known()} == {*CASES}


#: the developer loop tries the plainest release of each method
EACH = [pytest.param(name, marks=[pytest.mark.slow] if "," in name else []) for name in CASES]


@pytest.mark.parametrize("name", EACH)
def test_a_release_comes_out_as_before(name: str) -> None:
    before, now = known()[name], hashed(artefacts(CASES[name]))
    changed = sorted(each for each in {*before, *now} if before.get(each) != now.get(each))
    assert not changed, (
        f"case `{name}`: {', '.join(changed)} changed. To see how: on the commit before, run "
        f"`python tests/golden/regenerate.py --keep /tmp/before '{name}'` (and discard hashes.json); then, here, "
        f"`python tests/golden/regenerate.py --diff /tmp/before '{name}'`. If it is meant: regenerate.py '{name}'."
    )
