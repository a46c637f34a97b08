"""Noise and refinement against their distributions, at alpha = 1e-6; the scale at x0.9 and x1.1 must be rejected.

KS on 100,000 draws for noise on fine grids, chi-square on 20,000 draws where outcomes are few. Audits must pass sound
mechanisms and catch their broken twins.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import pytest
from scipy import stats

from reference.noise import ALPHA, QuickSource, discrete_laplace, fits, optimal
from reference.refinement import exact_probabilities
from shoal.mechanisms import (
    CategoricalPrior,
    Laplace,
    NumericPrior,
    OptimalBoxNoise,
    OptimalNoise,
    RandomizedResponse,
    Refinement,
)
from shoal.testing.audit import audit

DRAWS = 20_000
SCALES = (0.9, 1.1)


def test_laplace_noise_of_opendp_is_laplace_noise_of_its_scale() -> None:
    drawn = Laplace(sensitivity=1, epsilon="0.5", grid="0.001").release_all([0] * 100_000)
    assert stats.kstest(drawn, stats.laplace(scale=2).cdf).pvalue > ALPHA
    for factor in SCALES:
        assert stats.kstest(drawn, stats.laplace(scale=2 * factor).cdf).pvalue < ALPHA


@pytest.mark.parametrize("source", [None, QuickSource(31)], ids=["opendp", "ours"])
def test_discrete_laplace_draws_follow_their_masses(source: QuickSource | None) -> None:
    made = Laplace(sensitivity=1, epsilon="0.5")
    drawn = made.release_all([0] * DRAWS) if source is None else made.release_all([0] * DRAWS, source=source)
    assert fits(drawn, lambda k: discrete_laplace(k, 2.0)) > ALPHA  # type: ignore[arg-type]
    for factor in SCALES:
        assert fits(drawn, lambda k: discrete_laplace(k, 2.0 * factor)) < ALPHA  # type: ignore[arg-type]  # noqa: B023


@pytest.mark.parametrize(("core", "span", "epsilon"), [(0, 1, "1"), (2, 5, "1"), (5, 5, "0.5"), (1, 3, "3")])
def test_optimal_noise_follows_its_masses(core: int, span: int, epsilon: str) -> None:
    made, source = OptimalNoise(sensitivity=span, epsilon=epsilon, core=core), QuickSource(32)
    drawn = [int(made.release(0, source=source)) for _ in range(DRAWS)]
    assert fits(drawn, lambda k: optimal(k, core, span, float(epsilon))) > ALPHA
    for factor in SCALES:
        assert fits(drawn, lambda k: optimal(k, core, span, float(epsilon) * factor)) < ALPHA  # noqa: B023


def test_components_of_box_noise_follow_their_marginals() -> None:
    made, source = OptimalBoxNoise(sensitivities=(2, 4), epsilon=1, core="0.5"), QuickSource(33)
    drawn = [made.release((0, 0), source=source) for _ in range(DRAWS)]
    # the marginal of a mixture of boxes is the mixture of its sides
    for j in (0, 1):
        for factor in (1.0, *SCALES):
            rings = made.rings
            weights = [math.exp(-factor * i) * float(rings.volume(i)) for i in range(200)]
            sides = [int(rings.sides[j] + i * rings.growths[j]) for i in range(200)]

            def mass(k: int, weights: list[float] = weights, sides: list[int] = sides) -> float:
                inside = (w / side for w, side in zip(weights, sides, strict=True) if abs(k) <= side // 2)
                return sum(inside) / sum(weights)

            assert (fits([int(point[j]) for point in drawn], mass) > ALPHA) == (factor == 1.0)


def test_randomised_responses_follow_their_probabilities() -> None:
    source, values = QuickSource(34), ("a", "b", "c")
    drawn = Counter(RandomizedResponse(values, epsilon=1).release("b", source=source) for _ in range(DRAWS))

    def expected(epsilon: float) -> list[float]:
        made = RandomizedResponse(values, epsilon=Fraction(epsilon))
        return [DRAWS * (made.truth if value == "b" else (1 - made.truth) / 2) for value in values]

    observed = [drawn[value] for value in values]
    assert stats.chisquare(observed, expected(1.0)).pvalue > ALPHA
    for factor in SCALES:
        assert stats.chisquare(observed, expected(factor)).pvalue < 0.01


@pytest.mark.parametrize("delta", ["0", "0.3"])
@pytest.mark.parametrize("answer", [0, 5, 9])
def test_refined_answers_follow_their_probabilities(answer: int, delta: str) -> None:
    prior, source = NumericPrior(start=0, step=1, masses=[1, 2, 3, 4, 5, 5, 4, 3, 2, 1]), QuickSource(35 + answer)
    made = Refinement(prior, epsilon=1, query="individual", delta=delta)
    drawn = [int(made.release(answer, source=source)) for _ in range(DRAWS // 2)]  # the twin is farther off
    masses = [float(p) for p in exact_probabilities(made, answer)]
    assert fits(drawn, lambda k: masses[k] if 0 <= k < 10 else 0.0) > ALPHA
    wrong = Refinement(prior, epsilon="1.3", query="individual", delta=delta)
    others = [float(p) for p in exact_probabilities(wrong, answer)]
    assert fits(drawn, lambda k: others[k] if 0 <= k < 10 else 0.0) < ALPHA


class TestAudits:
    def test_noise_passes_and_half_the_noise_is_caught(self) -> None:
        source = QuickSource(41)
        for twin, caught in ((1, False), (2, True)):
            for noise in (
                Laplace(sensitivity=1, epsilon=twin),
                OptimalNoise(sensitivity=4, epsilon=twin, core=1, grid=1),
            ):
                step = int(noise.sensitivity)
                result = audit(lambda x: noise.release(x, source=source), 0, step, trials=4000)  # noqa: B023
                assert result.refutes(1) == caught

    def test_a_sensitivity_rounded_down_is_caught(self) -> None:
        # the twin takes 1.5 steps for 1
        source = QuickSource(42)
        sound = OptimalNoise(sensitivity="1.5", epsilon=1, core=0)
        twin = OptimalNoise(sensitivity=1, epsilon=1, core=0)
        for noise, caught in ((sound, False), (twin, True)):
            result = audit(lambda x: noise.release(x, source=source), "0.4", "1.9", trials=10_000)  # noqa: B023
            assert result.refutes(1) == caught

    def test_refinement_passes_and_individual_factors_for_two_tables_are_caught(self) -> None:
        source, prior = QuickSource(43), NumericPrior(start=0, step=1, masses=[1] * 8)
        sound = Refinement(prior, epsilon=1, query="statistical")
        twin = Refinement(prior, epsilon=1, query="individual")
        for made, caught in ((sound, False), (twin, True)):
            result = audit(lambda x: made.release(x, source=source), 0, 7, trials=4000)  # noqa: B023
            assert result.refutes(1) == caught

    def test_an_absent_record_answered_with_the_truth_of_another_is_caught(self) -> None:
        source, prior = QuickSource(44), CategoricalPrior.uniform(("a", "b"))
        made = Refinement(prior, epsilon=1, query="individual")

        def sound(record: str | None) -> object:
            return made.release(record, source=source)

        def twin(record: str | None) -> object:
            # a default answer for those who are absent looks harmless
            return made.release("b" if record is None else record, source=source)

        assert not audit(sound, "a", None, trials=4000).refutes(1)
        assert audit(twin, "a", None, trials=4000).refutes(1)

    def test_randomised_response_passes_and_an_honest_twin_is_caught(self) -> None:
        source = QuickSource(45)
        for epsilon, caught in ((1, False), (2, True)):
            made = RandomizedResponse(("a", "b", "c"), epsilon=epsilon)
            result = audit(lambda x: made.release(x, source=source), "a", "b", trials=4000)  # noqa: B023
            assert result.refutes(1) == caught
