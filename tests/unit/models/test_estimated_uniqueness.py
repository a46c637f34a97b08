"""Estimated uniqueness, against the estimates of `shoal.risk.population_uniqueness` and Zayatz's formula by scipy."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
from reference.models import estimated_uniques
from shoal.errors import ParameterError, ShoalError
from shoal.models import Classes, EstimatedUniqueness
from shoal.risk import population_uniqueness


def _classes(seed: int) -> Classes:
    return Classes(sizes=np.random.default_rng(seed).zipf(1.6, 300).clip(1, 60).astype(np.int64))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("chance", [0.05, 0.3, 1])
def test_estimates_are_those_of_the_risk_report(seed: int, chance: float) -> None:
    classes = _classes(seed)
    known = population_uniqueness(classes, chance)
    for estimator, wanted in (("dankar", known.share), ("zayatz", known.zayatz), ("pitman", known.pitman)):
        found = EstimatedUniqueness(0, chance, estimator).achieved(classes)["share"]
        assert float(found) == pytest.approx(1.0 if wanted is None else wanted, rel=1e-5)
    by_hand = estimated_uniques(classes.sizes.tolist(), EstimatedUniqueness(0, chance, "zayatz"))
    assert known.zayatz == pytest.approx(by_hand, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("estimator", ["dankar", "zayatz", "pitman", "snb"])
def test_only_records_that_are_alone_go_and_the_rest_keeps_the_promise(seed: int, estimator: str) -> None:
    classes = _classes(seed)
    everything = np.ones(len(classes), dtype=np.bool_)
    model = EstimatedUniqueness(0.01, 0.3, estimator)
    kept = model.keep(classes, everything)
    assert (classes.sizes[~kept] == 1).all()
    assert not kept.all()
    assert model.holds(classes, kept)
    part = Classes(sizes=classes.sizes[kept])
    assert float(model.achieved(part)["share"]) <= 0.0101
    if estimator == "zayatz":
        assert estimated_uniques(part.sizes.tolist(), model) <= 0.01
    nobody = EstimatedUniqueness(0, 0.3, estimator).keep(classes, everything)
    assert (classes.sizes[nobody] > 1).all()
    assert nobody.sum() == (classes.sizes > 1).sum()


def test_it_is_said_to_be_an_estimate_and_only_recodings_keep_it() -> None:
    people = pa.table({"age": [str(20 + row % 40) for row in range(90)]})
    schema = shoal.Schema(attributes=(shoal.Attribute(name="age", role="quasi-identifier"),))
    table = shoal.read(people).with_schema(schema)
    model = EstimatedUniqueness(0.001, 0.1)
    release = shoal.anonymize(table, model, method=shoal.Generalize(suppression_limit=1))
    (promise,) = release.guarantee.promises
    assert "Estimated by the rule of Dankar" in promise.statement
    assert any("no bound" in text for text in promise.assumptions)
    with pytest.raises(ShoalError, match="cannot keep `EstimatedUniqueness`"):
        shoal.anonymize(table, model, method=shoal.TMicroaggregate())
    with pytest.raises(ParameterError, match="estimator"):
        EstimatedUniqueness(0.1, 0.1, "pitmann")  # type: ignore[arg-type]
