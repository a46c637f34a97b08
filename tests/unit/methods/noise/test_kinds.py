"""Noise of means that move together: distributions from their definitions; 0.9 and 1.1 times the scale are refused."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from shoal.mechanisms import SeededSource
from shoal.methods.noise import centroid_noise
from shoal.methods.noise._kinds import MeansNoise

CLUSTERS, SIZE, EPSILON, RHO = 3, 10, Fraction(1, 2), Fraction(1, 50)
STEP = 100 / SIZE  # how far a record moves one mean


def noise(kind: str) -> MeansNoise:
    return centroid_noise(
        "original",
        width=Fraction(100),
        size=SIZE,
        clusters=CLUSTERS,
        natural_order=False,
        epsilon=EPSILON,
        kind=kind,  # type: ignore[arg-type]
        rho=RHO,
    )


def drawn(kind: str, number: int) -> np.ndarray:
    made, source = noise(kind), SeededSource(11)
    return np.array([made.release_all([Fraction(0)] * CLUSTERS, source=source) for _ in range(number)])


@pytest.mark.slow
def test_gaussian_noise_has_the_variance_that_rho_asks_for() -> None:
    from scipy.stats import kstest

    deviation = STEP * math.sqrt(CLUSTERS / (2 * float(RHO)))
    values = np.array(noise("gaussian").release_all([Fraction(0)] * 40_000, source=SeededSource(11)))
    assert kstest(values / deviation, "norm").pvalue > 1e-6
    for factor in (0.9, 1.1):
        assert kstest(values / deviation / factor, "norm").pvalue < 1e-6
    assert noise("gaussian").typical == pytest.approx(np.abs(values).mean(), rel=0.02)


@pytest.mark.slow
def test_the_rings_of_box_noise_have_densities_that_fall_by_epsilon() -> None:
    from scipy.stats import chisquare

    number = 3_000
    made = noise("box")
    farthest = np.abs(drawn("box", number)).max(axis=1)
    rings = np.ceil(np.maximum(farthest / STEP - 0.5, 0) - 1e-6).astype(int)
    observed = np.bincount(np.minimum(rings, 30), minlength=31)

    def expected(epsilon: float) -> np.ndarray:
        """Return how many to expect in each ring: its volume times e^(-epsilon ring)."""
        boxes = np.array([(2 * ring + 1.0) ** CLUSTERS for ring in range(400)])
        masses = np.diff(boxes, prepend=0) * np.exp(-epsilon * np.arange(400))
        masses = np.append(masses[:30], masses[30:].sum())
        return number * masses / masses.sum()

    assert chisquare(observed, expected(float(EPSILON))).pvalue > 1e-6
    for factor in (0.9, 1.1):
        assert chisquare(observed, expected(float(EPSILON) * factor)).pvalue < 1e-6
    assert made.typical == pytest.approx(np.abs(drawn("box", number)).mean(), rel=0.03)


def test_neighbours_change_the_probability_of_every_point_by_epsilon_at_most() -> None:
    """On a grid of a few points: every point, every move inside the box, from the definition of the rings."""
    from shoal.mechanisms import OptimalBoxNoise

    made = OptimalBoxNoise(sensitivities=[2, 2], epsilon=1, grids=1)
    sides = np.array(
        [[int(a + c * i) for a, c in zip(made.rings.sides, made.rings.growths, strict=True)] for i in range(80)]
    )
    weights = np.exp(-np.arange(80.0)) * sides.prod(axis=1)
    weights /= weights.sum()

    def probability(x: int, y: int) -> float:
        inside = (2 * abs(x) < sides[:, 0]) & (2 * abs(y) < sides[:, 1])
        return float((weights / sides.prod(axis=1))[inside].sum())

    reach = range(-9, 10)
    losses = [
        abs(math.log(probability(x, y) / probability(x + a, y + b)))
        for x in reach
        for y in reach
        for a in (-2, 0, 1, 2)
        for b in (-2, -1, 0, 2)
    ]
    assert max(losses) == pytest.approx(1, rel=1e-9)
