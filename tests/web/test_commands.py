"""Commands that are shown for a plan are read back as the same plan."""

from __future__ import annotations

import shlex

import pytest

import shoal
from shoal.cli._anonymize import _method, _models
from shoal.methods.shorthand import SHORT
from shoal.schema import Attribute, Domain, Kind, Role, Schema
from shoal.web._commands import compared, python, shell

SCHEMA = Schema(
    attributes=tuple(
        Attribute(name=name, role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=9))
        for name in ("age", "pay")
    )
)
NOISE = shoal.methods.noise.EpsilonBudget("1/3")
PLANS = [
    (
        NOISE,
        shoal.methods.DPMicroaggregation(fill={"age": 4}, sets=(("age",), ("pay",)), split={"age": "1/9", "pay": 0.2}),
    ),
    (NOISE, shoal.methods.DPMicroaggregation(target="partition", k=7, decimals={"pay": 1})),
    (shoal.KAnonymity(5), shoal.methods.Mdav(groups=[["age"], ["pay"]], decimals=1)),
    (shoal.DifferentialPrivacy(epsilon=1, delta=1e-6), shoal.methods.Truthful(levels={"age": 0})),
]


@pytest.mark.parametrize(("model", "method"), PLANS, ids=repr)
def test_shown_options_are_those_of_the_plan(model, method) -> None:
    plan = shoal.Plan(schema=SCHEMA, models=(model,), method=method)
    words = shlex.split(shell(plan, "people.csv").partition("\n\n")[0].replace("\\\n", " "))
    assert words[:5] == ["shoal", "anonymize", "people.csv", "--schema", "people.schema.toml"]
    given = {name: words[place + 1] for place, name in enumerate(words) if name in ("--method", "--epsilon", "--k")}
    options = [words[place + 1] for place, name in enumerate(words) if name == "--option"]
    assert _method(given["--method"], (model,), options, None) == method
    if isinstance(model, shoal.methods.noise.EpsilonBudget):
        short = {"epsilon": given["--epsilon"]}
        assert _models(dict.fromkeys(SHORT) | short, {"delta": None}, [], given["--method"]) == (model,)


@pytest.mark.parametrize(
    "name", ["ill", "the illness", "a=b", '"q"', "it's", "l=3 k", "true", "3", "[x] y", "\\", "-x"]
)
def test_shown_promises_are_those_of_the_plan_whatever_the_columns_are_called(name: str) -> None:
    secrets = tuple(Attribute(name=each, role=Role.SENSITIVE) for each in (name, "pay grade"))
    models = (
        shoal.KAnonymity(2),
        shoal.DistinctLDiversity(name, 2),
        shoal.TCloseness(name, 0.1234567),
        shoal.models.BetaLikeness(name, 0.5, enhanced=True),
        shoal.models.RecursiveLDiversity(name, c=2.5, l=3),
        shoal.models.PSensitive([name, "pay grade"], p=2, k=2),
    )
    schema = Schema(attributes=(*SCHEMA.attributes[:1], *secrets))
    plan = shoal.Plan(schema=schema, models=models, method=shoal.methods.Anatomy(attribute=name))
    words = shlex.split(shell(plan, "-people.csv").partition("shoal verify")[0].replace("\\\n", " "))
    assert words[2] == "./-people.csv", "a file is no option"
    options = ("--l", "--t", "--promise", "--option")
    given = {option: [words[i + 1] for i, word in enumerate(words) if word == option] for option in options}
    read = _models({"k": 2, "l": given["--l"], "t": given["--t"], "epsilon": None}, {}, given["--promise"], "anatomy")
    assert set(read) == set(models)
    assert _method("anatomy", read, given["--option"], None) == plan.method


def test_a_shown_comparison_has_its_numbers_whole() -> None:
    nothing = {"epsilon": [], "delta": 1e-6, "risk": "average", "utility": "queries"}
    choice = nothing | {"k": [2, 1234567], "t": {"a=b": [0.1234567]}}
    words = compared(choice, {"name": "people.csv"})["shell"]
    assert "--k 2,1234567 " in words
    assert "--t a=b=0.1234567 " in words


@pytest.mark.parametrize(("model", "method"), PLANS, ids=repr)
def test_the_shown_script_makes_the_same_plan(model, method, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    class Release:
        def write(self, folder: str) -> None:
            del folder

    def anonymize(table: object, *models: object, method: object) -> Release:
        del table
        seen.append((models, method))
        return Release()

    monkeypatch.setattr(shoal, "read", lambda *_, **__: None)
    monkeypatch.setattr(shoal, "anonymize", anonymize)
    exec(python(shoal.Plan(schema=SCHEMA, models=(model,), method=method), "people.csv"), {})  # noqa: S102
    assert seen == [((model,), method)]
