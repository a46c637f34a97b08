from __future__ import annotations

import re
from pathlib import Path

import pytest

from shoal import models
from shoal.errors import ParameterError
from shoal.methods import promises
from shoal.methods.nested import KnownItems, SecretAmongKnownItems
from shoal.methods.noise import EpsilonBudget
from shoal.models import KAnonymity


def test_names_are_the_models_own_names() -> None:
    assert all(models.by_name(name).name == name for name in models.names())


def test_every_model_is_public() -> None:
    assert all(getattr(models, model.__name__) is model for model in models.MODELS.values())


def test_every_file_of_a_model_is_registered() -> None:
    modules = {model.__module__.rpartition(".")[2] for model in models.MODELS.values()}
    shared = {"__init__", "_model", "_population_estimates", "_ratios", "_sensitive"}
    assert {path.stem for path in Path(models.__file__).parent.glob("*.py")} == modules | shared


def test_the_second_verifier_knows_every_promise() -> None:
    sources = Path(models.__file__).parents[3] / "verifier" / "src" / "entries.js"
    if not sources.is_file():
        pytest.skip("needs the sources of the second verifier")
    listed = re.search(r"const MODELS = new Set\(\((.*?)\)\.split", sources.read_text(encoding="utf-8"), re.DOTALL)
    assert listed is not None
    known = " ".join(re.findall(r'"([^"]*)"', listed[1])).split()
    # a budget is asked for by its name and promised by that of its guarantee; known items are promises of data sets
    made = {*models.MODELS, *promises.KINDS, KnownItems.name, SecretAmongKnownItems.name} - {EpsilonBudget.name}
    assert {*known} == made, "say in verifier/src/entries.js which promises releases make"


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(ParameterError, match="There is no model `k-anonimity`") as raised:
        models.by_name("k-anonimity")
    assert raised.value.hint == "did you mean `k-anonymity`?"
    with pytest.raises(ParameterError) as raised:
        models.by_name("zzz")
    assert "`t-closeness`" in (raised.value.hint or "")


def test_missing_and_unknown_parameters_are_reported_together() -> None:
    with pytest.raises(ParameterError) as raised:
        models.from_parameters("t-closeness", {"atribute": "x", "tee": 1})
    assert raised.value.problems == (
        "`TCloseness` has no parameter `atribute`; it has `attribute`, `t`, `distance`.",
        "`TCloseness` has no parameter `tee`; it has `attribute`, `t`, `distance`.",
        "`TCloseness` needs the parameter `attribute`.",
        "`TCloseness` needs the parameter `t`.",
    )


def test_values_out_of_range_are_reported_by_the_model() -> None:
    with pytest.raises(ParameterError, match="`k` of `KAnonymity` must be an integer"):
        models.from_parameters("k-anonymity", {"k": "five"})


def test_a_default_may_be_left_out() -> None:
    assert models.from_parameters("k-anonymity", {"k": 5}) == KAnonymity(5)
    assert models.from_parameters("beta-likeness", {"attribute": "s", "beta": 1}).parameters()["enhanced"] is False
