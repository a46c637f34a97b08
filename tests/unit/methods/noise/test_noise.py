from __future__ import annotations

from fractions import Fraction

import pytest

from shoal.methods.noise import centroid_noise

WIDTH, SIZE, CLUSTERS, EPSILON = Fraction(99), 7, 12, Fraction(1, 3)


@pytest.mark.parametrize(
    ("target", "natural", "reach", "rounded"),
    [
        ("original", False, CLUSTERS * WIDTH / SIZE, CLUSTERS),
        ("original", True, WIDTH / SIZE, CLUSTERS),
        ("partition", False, WIDTH / SIZE, 1),
        ("record-query", False, WIDTH / SIZE, 1),
    ],
)
def test_the_scale_is_the_sensitivity_and_one_step_per_rounded_mean_over_epsilon(
    target, natural: bool, reach: Fraction, rounded: int
) -> None:
    noise = centroid_noise(target, width=WIDTH, size=SIZE, clusters=CLUSTERS, natural_order=natural, epsilon=EPSILON)
    step = WIDTH / 2**32
    assert noise.grid.step == step
    assert noise.sensitivity == reach + rounded * step
    assert noise.scale * float(step) == pytest.approx(float(reach / EPSILON), rel=1e-6)
    assert noise.privacy_map(noise.sensitivity) <= EPSILON
    assert noise.neighbours == "replace"
