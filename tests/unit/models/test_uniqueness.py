"""Uniqueness; its estimates against those of `shoal.risk.population_uniqueness` and Zayatz's formula by scipy."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

import shoal
from reference.models import estimated_uniques
from shoal.errors import ParameterError, ShoalError
from shoal.exact import working_precision
from shoal.kernels.superpopulation import SizeCounts
from shoal.models import Classes, EstimatedUniqueness, SampleUniqueness
from shoal.models._population_estimates import by_pitman, by_slide_negative_binomial
from shoal.risk import population_uniqueness


def test_the_share_of_unique_records_is_achieved() -> None:
    classes = Classes(sizes=np.array([1, 3, 1, 5]))
    assert SampleUniqueness(0).find_achieved(classes) == {"share": Fraction(1, 5)}
    assert SampleUniqueness(0.2).holds(classes)
    assert not SampleUniqueness("0.19").holds(classes)


def test_as_few_unique_records_as_needed_are_removed() -> None:
    classes = Classes(sizes=np.array([1, 3, 1, 5]))
    everything = np.ones(4, dtype=np.bool_)
    assert SampleUniqueness(0.19).keep(classes, everything).tolist() == [True, True, False, True]
    assert SampleUniqueness(0.1).keep(classes, everything).tolist() == [False, True, False, True]
    assert SampleUniqueness("1/9").keep(classes, everything).tolist() == [True, True, False, True]


def test_no_unique_records_at_all_is_2_anonymity() -> None:
    assert SampleUniqueness(0).keep(Classes(sizes=np.array([1, 2, 1])), np.ones(3, dtype=np.bool_)).tolist() == [
        False,
        True,
        False,
    ]
    assert SampleUniqueness(0).statement() == "No record is the only one with its quasi-identifiers."


def test_everything_may_be_unique_if_the_share_is_1() -> None:
    assert SampleUniqueness(1).holds(Classes(sizes=np.array([1, 1, 1])))


def test_the_unique_records_that_cost_most_go_first() -> None:
    everything = np.ones(4, dtype=np.bool_)
    classes = Classes(sizes=np.array([1, 9, 1, 1]), costs=np.array([0.7, 0.5, 0.1, 0.2]))
    assert SampleUniqueness(0.1).keep(classes, everything).tolist() == [False, True, True, False]


def _classes(seed: int) -> Classes:
    return Classes(sizes=np.random.default_rng(seed).zipf(1.6, 300).clip(1, 60).astype(np.int64))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("chance", [0.05, 0.3, 1])
def test_estimates_are_those_of_the_risk_report(seed: int, chance: float) -> None:
    classes = _classes(seed)
    known = population_uniqueness(classes, chance)
    for estimator, wanted in (("dankar", known.share), ("zayatz", known.zayatz), ("pitman", known.pitman)):
        found = EstimatedUniqueness(0, chance, estimator).find_achieved(classes)["share"]
        assert float(found) == pytest.approx(1.0 if wanted is None else wanted, rel=1e-5)
    by_hand = estimated_uniques(classes.sizes.tolist(), EstimatedUniqueness(0, chance, "zayatz"))
    assert known.zayatz == pytest.approx(by_hand, rel=1e-6)


@pytest.mark.slow
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
    assert float(model.find_achieved(part)["share"]) <= 0.0101
    if estimator == "zayatz":
        assert estimated_uniques(part.sizes.tolist(), model) <= 0.01
    nobody = EstimatedUniqueness(0, 0.3, estimator).keep(classes, everything)
    assert (classes.sizes[nobody] > 1).all()
    assert nobody.sum() == (classes.sizes > 1).sum()


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ["dankar", "zayatz"])
@pytest.mark.parametrize(("alone", "pairs", "chance"), [(3, 11, "1/3"), (5, 8, "1/7"), (40, 60, "1/9"), (8, 4, "1")])
def test_at_a_tie_the_threshold_is_met_and_below_it_is_not(alone: int, pairs: int, chance: str, estimator: str) -> None:
    classes = Classes(sizes=np.array([1] * alone + [2] * pairs))
    records, everything = alone + 2 * pairs, np.ones(alone + pairs, dtype=np.bool_)
    people = round(records / Fraction(chance))
    once = Fraction(people - records, people - 1)  # that the other of two is not sampled, if one is
    tie = Fraction(alone, records) if chance == "1" else Fraction(alone**2, records) / (alone + 2 * pairs * once)
    for share, holds in ((tie, True), (tie - Fraction(1, 10**40), False), (tie + Fraction(1, 10**40), True)):
        assert EstimatedUniqueness(share, Fraction(chance), estimator).holds(classes, everything) is holds
    stated = EstimatedUniqueness(0, Fraction(chance), estimator).find_achieved(classes)["share"]
    assert tie <= Fraction(str(stated)) <= tie * (1 + Fraction(1, 10**5))


@pytest.mark.parametrize("estimator", ["pitman", "snb"])
def test_solutions_are_proved_and_the_threshold_is_decided_far_below_floats(estimator: str) -> None:
    classes = _classes(1)
    everything = np.ones(len(classes), dtype=np.bool_)
    counts = SizeCounts.of(classes.sizes)
    find = by_pitman if estimator == "pitman" else by_slide_negative_binomial
    with working_precision(256):
        found = find(counts, round(counts.records / Fraction(3, 10)))
        assert found is not None
        low, high = Fraction(str(found.lower().fmpq())), Fraction(str(found.upper().fmpq()))
    assert high - low < Fraction(1, 10**25)
    model = partial(EstimatedUniqueness, sampling_fraction=Fraction(3, 10), estimator=estimator)
    assert model(high).holds(classes, everything)
    assert not model(low - Fraction(1, 10**25)).holds(classes, everything)


def test_it_is_said_to_be_an_estimate_and_only_recodings_keep_it() -> None:
    people = pa.table({"age": [str(20 + row % 40) for row in range(90)]})
    schema = shoal.Schema(attributes=(shoal.Attribute(name="age", role="quasi-identifier"),))
    table = shoal.read(people).with_schema(schema)
    model = EstimatedUniqueness(0.001, 0.1)
    release = shoal.anonymize(table, model, method=shoal.Generalize(suppression_limit=1))
    (promise,) = release.guarantee.promises
    assert "Estimated by the rule of Dankar" in promise.statement
    assert any("not a bound" in text for text in promise.assumptions)
    with pytest.raises(ShoalError, match="cannot keep `EstimatedUniqueness`"):
        shoal.anonymize(table, model, method=shoal.methods.TMicroaggregate())
    with pytest.raises(ParameterError, match="estimator"):
        EstimatedUniqueness(0.1, 0.1, "pitmann")  # type: ignore[arg-type]
