"""Microaggregation under closeness."""

from __future__ import annotations

from fractions import Fraction
from typing import get_args

import numpy as np
import pytest

from reference import closeness as reference
from shoal.errors import ParameterError
from shoal.methods.classes import Strategy, TMicroaggregate, standardize, t_microaggregate
from shoal.methods.classes._shapes import squared_error
from shoal.models import DistinctLDiversity, KAnonymity, Model, TCloseness
from shoal.tables import SensitiveAttribute


def _table(
    records: int, values: int, seed: int, *, ordered: bool = True
) -> tuple[np.ndarray, SensitiveAttribute, np.ndarray]:
    draw = np.random.default_rng(seed)
    places = draw.normal(size=(records, 2))
    codes = np.unique(
        np.floor(places[:, 0] * values / 4 + draw.normal(size=records) * values / 8), return_inverse=True
    )[1]
    labels = tuple(f"{i:04}" for i in range(codes.max() + 1))
    return places, SensitiveAttribute(name="x", size=codes.max() + 1, ordered=ordered, labels=labels), codes[:, None]


@pytest.mark.parametrize("strategy", get_args(Strategy))
@pytest.mark.parametrize(("values", "distance"), [(500, "ordered"), (8, "ordered"), (8, "equal")])
@pytest.mark.parametrize("t", ["0.05", "0.2"])
def test_every_class_keeps_the_distance_and_k(strategy: Strategy, values: int, distance: str, t: str) -> None:
    places, attribute, codes = _table(307, values, 1, ordered=distance == "ordered")
    wanted: tuple[Model, ...] = (KAnonymity(4), TCloseness("x", t, distance=distance))  # type: ignore[arg-type]
    partition = t_microaggregate(places, [attribute], codes, wanted, strategy=strategy)
    assert partition.sizes.min() >= 4
    farthest = reference.greatest_distance(
        partition.labels.tolist(), codes[:, 0].tolist(), ordered=distance == "ordered"
    )
    assert farthest <= Fraction(t)


def test_closeness_first_is_more_homogeneous_where_values_follow_the_quasi_identifiers() -> None:
    places, attribute, codes = _table(600, 600, 2)
    wanted = (KAnonymity(3), TCloseness("x", "0.1"))
    first, merged = (
        squared_error(standardize(places), t_microaggregate(places, [attribute], codes, wanted, strategy=strategy))
        for strategy in ("closeness-first", "merge-first")
    )
    assert first < 0.8 * merged  # type: ignore[operator]


def test_other_models_are_kept_by_merging() -> None:
    places, attribute, codes = _table(200, 6, 3)
    partition = t_microaggregate(places, [attribute], codes, (KAnonymity(3), DistinctLDiversity("x", 3)))
    for members in reference.classes(partition.labels.tolist(), codes[:, 0].tolist()):
        assert len({*members}) >= 3


def test_a_single_record_is_a_class() -> None:
    attribute = SensitiveAttribute(name="x", size=1, ordered=True, labels=("a",))
    found = t_microaggregate([1.0], [attribute], np.array([[0]]), (TCloseness("x", 0),))
    assert found.labels.tolist() == [0]


def test_wrong_parameters_are_named() -> None:
    with pytest.raises(ParameterError, match="strategy"):
        TMicroaggregate(strategy="luck")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="form"):
        TMicroaggregate(form="permuted")
    with pytest.raises(ParameterError, match="strategy"):
        t_microaggregate([1.0], [], np.empty((1, 0), dtype=int), (KAnonymity(1),), strategy="luck")  # type: ignore[arg-type]
