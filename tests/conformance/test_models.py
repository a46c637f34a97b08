"""Every registered model goes through the same checks."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import pickle
import tomllib
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest

from reference.models import Domain, Group, Release
from shoal import models
from shoal.errors import ParameterError
from shoal.models import Capabilities, Classes, Model, Scope
from shoal.schema import toml_value

#: Models as a user would ask for them; every registered one must be here, with more than one where it has variants.
ASKED: dict[str, list[dict[str, object]]] = {
    "k-anonymity": [{"k": 1}, {"k": 3}],
    "probabilistic-k-anonymity": [{"k": 3}],
    "k-map": [{"k": 3}],
    "estimated-k-map": [{"k": 8, "sampling_fraction": 0.25}, {"k": 3, "sampling_fraction": "1/3", "significance": 0}],
    "p-sensitive-k-anonymity": [{"attributes": ["s"], "p": 2, "k": 3}],
    "distinct-l-diversity": [{"attribute": "s", "l": 2}],
    "entropy-l-diversity": [{"attribute": "s", "l": 2}, {"attribute": "s", "l": 1.5}],
    "recursive-l-diversity": [{"attribute": "s", "c": 2, "l": 2}, {"attribute": "s", "c": "7/3", "l": 3}],
    "t-closeness": [
        {"attribute": "s", "t": 0.3},
        {"attribute": "s", "t": "1/3", "distance": "equal"},
        {"attribute": "s", "t": 0.25, "distance": "ordered"},
        {"attribute": "s", "t": 0.25, "distance": "hierarchical"},
    ],
    "multiplicative-closeness": [{"attribute": "s", "t": 3}],
    "delta-disclosure": [{"attribute": "s", "delta": 1.2}],
    "beta-likeness": [{"attribute": "s", "beta": 1}, {"attribute": "s", "beta": 0.8, "enhanced": True}],
    "delta-presence": [{"minimum": 0, "maximum": 0.5}, {"minimum": 0.1, "maximum": "2/3"}],
    "k-m-anonymity": [{"k": 12, "m": 1}, {"k": 3, "m": 2}],
    "average-risk": [{"risk": 0.1}],
    "sample-uniqueness": [{"share": 0.05}, {"share": 0}],
    "estimated-uniqueness": [
        {"share": 0.001, "sampling_fraction": 0.2},
        {"share": 0.002, "sampling_fraction": "1/3", "estimator": "zayatz"},
        {"share": 0, "sampling_fraction": 1, "estimator": "snb"},
    ],
}
CASES = [models.from_parameters(name, parameters) for name, variants in ASKED.items() for parameters in variants]
TREE = Domain(4, parents=((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0)))

each_model = pytest.mark.parametrize("model", CASES, ids=repr)


def each_seed(test: Callable[[Model, int], None]) -> Callable[[Model], None]:
    """Try releases of all seeds in one test: they take less time than a test does."""

    def tried(model: Model) -> None:
        for seed in range(8):
            test(model, seed)

    return tried


def draw(seed: int, *, number: int = 12) -> Release:
    """Return classes of all sizes and mixtures, some of them alike to the whole."""
    random = np.random.default_rng(seed)
    groups = []
    for _ in range(number):
        scale, most = int(random.choice([1, 2, 6])), int(random.choice([1, 4]))
        values = {value: scale * int(random.integers(0, most)) for value in range(4)}
        values = {value: count for value, count in values.items() if count} or {int(random.integers(0, 4)): 1}
        size = sum(values.values())
        codes = tuple(int(code) for code in random.integers(0, 3, 3))
        groups.append(Group(values, codes, population=size + int(random.integers(0, 2 * size + 1))))
    return Release(groups, TREE, [True] * number)


def everything(classes: Classes) -> np.ndarray:
    return np.ones(len(classes), dtype=np.bool_)


def test_every_registered_model_is_tested() -> None:
    assert set(ASKED) == set(models.names())


@each_model
@each_seed
def test_a_part_of_what_was_kept_is_kept(model: Model, seed: int) -> None:
    classes = draw(seed).classes()
    kept = np.random.default_rng(seed).random(len(classes)) < 0.7
    found = model.keep(classes, kept)
    assert found.dtype == np.bool_
    assert found.shape == kept.shape
    assert not np.any(found & ~kept)


@each_model
@each_seed
def test_arguments_are_not_changed(model: Model, seed: int) -> None:
    classes = draw(seed).classes()
    kept = np.random.default_rng(seed).random(len(classes)) < 0.7
    before = pickle.dumps((classes.sizes, classes.codes, classes.population, classes.histogram("s").counts, kept))
    model.keep(classes, kept)
    model.find_achieved(classes, kept)
    after = pickle.dumps((classes.sizes, classes.codes, classes.population, classes.histogram("s").counts, kept))
    assert before == after


@each_model
@each_seed
def test_what_is_released_in_the_end_satisfies_the_model(model: Model, seed: int) -> None:
    classes = draw(seed).classes()
    kept = models.keep([model], classes)
    assert model.holds(classes, kept)
    assert model.keep(classes, kept).tolist() == kept.tolist()


@each_model
def test_some_of_the_drawn_releases_lose_a_class_and_some_keep_one(model: Model) -> None:
    """Else the other checks of this file would say nothing about the model."""
    kept = [models.keep([model], draw(seed).classes()) for seed in range(8)]
    assert any(mask.any() for mask in kept)
    if model != models.KAnonymity(1):
        assert not all(mask.all() for mask in kept)


@each_model
@each_seed
def test_the_order_of_the_classes_does_not_matter(model: Model, seed: int) -> None:
    release = draw(seed)
    order = np.random.default_rng(seed).permutation(len(release.groups))
    shuffled = Release([release.groups[i] for i in order], release.domain, release.kept)
    kept, again = models.keep([model], release.classes()), models.keep([model], shuffled.classes())
    if model.capabilities.scope is not Scope.RELEASE:
        assert kept[order].tolist() == again.tolist()
    # Among classes of the same size a model of the release may choose; the records that are left are as many.
    assert release.classes().sizes[kept].sum() == shuffled.classes().sizes[again].sum()


@pytest.mark.parametrize("model", [m for m in CASES if m.capabilities.monotone_generalization], ids=repr)
@each_seed
def test_declared_monotonicity_under_generalisation_is_true(model: Model, seed: int) -> None:
    """Merge all classes that agree on some quasi-identifiers, as a full-domain generalisation does."""
    release = _merged(draw(seed).groups, columns=(0, 1, 2))
    kept = models.keep([model], release.classes())
    fine = _merged([group for group, keep in zip(release.groups, kept, strict=True) if keep], columns=(0, 1, 2))
    assert model.holds(fine.classes())
    for columns in ((1, 2), (0, 2), (0, 1), (0,), ()):
        assert model.holds(_merged(fine.groups, columns=columns).classes())


def _merged(groups: Sequence[Group], *, columns: tuple[int, ...]) -> Release:
    found: dict[tuple[int, ...], Group] = {}
    for group in groups:
        codes = tuple(code if place in columns else 0 for place, code in enumerate(group.codes))
        other = found.get(codes, Group({}, codes))
        values = {v: group.values.get(v, 0) + other.values.get(v, 0) for v in {*group.values, *other.values}}
        found[codes] = Group(values, codes, group.population + other.population)
    return Release([*found.values()], TREE, [True] * len(found))


@pytest.mark.parametrize("model", [m for m in CASES if m.capabilities.monotone_suppression], ids=repr)
@each_seed
def test_declared_monotonicity_under_suppression_is_true(model: Model, seed: int) -> None:
    classes = draw(seed).classes()
    part = np.random.default_rng(seed).random(len(classes)) < 0.5
    assert model.keep(classes, part).tolist() == (model.keep(classes, everything(classes)) & part).tolist()


@each_model
@each_seed
def test_the_declared_minimal_class_size_is_true(model: Model, seed: int) -> None:
    classes = draw(seed).classes()
    assert np.all(classes.sizes[models.keep([model], classes)] >= model.capabilities.minimal_class_size)


@each_model
def test_a_model_reads_what_it_declares_and_nothing_else(model: Model) -> None:
    capabilities = model.capabilities
    classes = draw(1).classes()
    bare = Classes(
        sizes=classes.sizes,
        sensitive={name: classes.histogram(name) for name in capabilities.sensitive},
        codes=classes.codes if capabilities.codes else None,
        population=classes.population if capabilities.population else None,
    )
    assert model.keep(bare, everything(bare)).tolist() == model.keep(classes, everything(classes)).tolist()
    assert model.find_achieved(bare) == model.find_achieved(classes)
    assert isinstance(capabilities, Capabilities)


@each_model
def test_no_classes_are_no_problem(model: Model) -> None:
    empty = Release([], TREE).classes()
    assert model.keep(empty, everything(empty)).tolist() == []
    assert model.find_achieved(empty) == {}
    assert model.holds(empty)
    some = draw(0).classes()
    nothing = np.zeros(len(some), dtype=np.bool_)
    assert not model.keep(some, nothing).any()
    assert model.find_achieved(some, nothing) == {}


@each_model
@each_seed
def test_the_achieved_parameters_hold(model: Model, seed: int) -> None:
    classes = draw(seed).classes()
    kept = models.keep([model], classes)
    achieved = model.find_achieved(classes, kept)
    assert set(achieved) <= set(model.parameters())
    if achieved:
        assert all(math.isfinite(value) for value in achieved.values())
        assert dataclasses.replace(model, **achieved).holds(classes, kept)
        assert str(achieved)
        assert json.loads(json.dumps(achieved.plain())) == achieved.plain()


@each_model
def test_a_model_survives_plan_files_certificates_and_processes(model: Model) -> None:
    parameters = model.parameters()
    text = "".join(f"{name} = {toml_value(value)}\n" for name, value in parameters.items())
    assert models.from_parameters(model.name, tomllib.loads(text)) == model
    assert models.from_parameters(model.name, json.loads(json.dumps(parameters))) == model
    assert pickle.loads(pickle.dumps(model)) == model  # noqa: S301
    assert hash(models.from_parameters(model.name, parameters)) == hash(model)
    assert repr(model).startswith(f"{model.title}(")


@each_model
def test_a_model_is_a_frozen_value(model: Model) -> None:
    for field in dataclasses.fields(model):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(model, field.name, None)


@each_model
def test_a_model_explains_itself(model: Model) -> None:
    statement = model.statement()
    assert statement[0].isupper()
    assert statement.endswith(".")
    assert "Fraction" not in statement
    for assumption in model.assumptions():
        assert assumption[0].isupper()
        assert assumption.endswith(".")
    assert model.assumptions()


@pytest.mark.parametrize("name", models.names())
def test_the_docstring_states_guarantee_assumptions_cost_and_example(name: str) -> None:
    text = inspect.getdoc(models.by_name(name)) or ""
    for heading in ("Parameters", "Guarantee", "Assumptions", "Examples"):
        assert f"\n{heading}\n{'-' * len(heading)}\n" in text, heading
    assert "Cost O(" in text
    assert any(f"{source}," in text for source in ("Bild24", "DFSC15", "SC13"))


@pytest.mark.parametrize("name", models.names())
def test_all_problems_of_the_parameters_are_reported_at_once(name: str) -> None:
    model = models.by_name(name)
    fields = [field.name for field in dataclasses.fields(model)]
    with pytest.raises(ParameterError) as raised:
        models.from_parameters(name, {field: object() for field in fields})
    assert len(raised.value.problems) == len(fields)
    assert all(
        problem.startswith("`") and f"of `{model.title}` must be" in problem for problem in raised.value.problems
    )


def test_thresholds_typed_in_different_ways_are_one_threshold() -> None:
    assert models.TCloseness("s", 0.2) == models.TCloseness("s", "1/5") == models.TCloseness("s", Fraction(1, 5))
