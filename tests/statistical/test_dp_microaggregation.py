"""The noise of each target has the scale stated: right is accepted, 0.9 and 1.1 times are not (KS, alpha = 1e-6)."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from shoal.methods.classes import Records
from shoal.methods.noise import Target, dp_microaggregate

N = 100_000
ALPHA = 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("target", get_args(Target))
def test_noise_has_the_scale_stated(target: Target) -> None:
    from scipy.stats import kstest

    # All values equal, so that every mean is known whatever the order of the clusters, and far from the bounds, so
    # that nothing is clamped. One number: the natural order, so the original records take no more noise.
    records = Records(numeric=np.full((2 * N, 1), 0.5), lower=[0.0], upper=[1.0])
    part = dp_microaggregate(records, epsilon=50, k=2, target=target).parts[0]
    noise = (part.centroids.numeric[:, 0] - 0.5) * (2 * 50)
    assert len(noise) == N
    assert kstest(noise, "laplace").pvalue > ALPHA
    for factor in (0.9, 1.1):
        assert kstest(noise / factor, "laplace").pvalue < ALPHA
