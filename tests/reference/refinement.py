"""Algorithm 5.1 of [SC13] as it is written, in floats, with erratum 5 corrected; exact checks of privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import arb, ctx

from shoal.mechanisms import Refinement
from shoal.mechanisms._refinement import _Refined

BITS = 256


def algorithm_5_1(masses: Sequence[float], distances: Sequence[float], up: float, down: float) -> list[float]:
    """Return the refined probabilities: grow the ball around the answer one distance at a time."""
    wanted = (1 - down) / (up - down)
    inside: set[int] = set()
    for radius in sorted(set(distances)):
        ball = {i for i, distance in enumerate(distances) if distance <= radius}
        if sum(masses[i] for i in ball) > wanted:
            break
        inside = ball
    outside = set(range(len(masses))) - ball
    shell = set(range(len(masses))) - inside - outside
    between = (1 - up * sum(masses[i] for i in inside) - down * sum(masses[i] for i in outside)) / sum(
        masses[i] for i in shell
    )
    assert down - 1e-9 <= between <= up + 1e-9
    factor = {**dict.fromkeys(inside, up), **dict.fromkeys(shell, between), **dict.fromkeys(outside, down)}
    return [factor[i] * mass for i, mass in enumerate(masses)]


def exact_probabilities(mechanism: Refinement, position: int) -> list[Any]:
    """Return balls around the true probabilities that the sampler has."""
    with ctx.workprec(BITS):
        refined, nothing = _Refined(mechanism, position), arb(0)
        weight_of_rank = np.diff(refined.ends, prepend=0)
        found, gained = [nothing] * len(mechanism.prior.weights), nothing
        for place, rank, weight in zip(refined.order, refined.ranks.tolist(), refined.weights.tolist(), strict=True):
            mass = refined._rank_mass(rank) * weight / int(weight_of_rank[rank]) if weight else nothing
            moved = mass * refined._moved(rank) if mechanism.delta and weight else nothing
            found[place], gained = mass - moved, gained + moved
        found[position] += gained
        return found


def prior_probabilities(mechanism: Refinement) -> list[Any]:
    with ctx.workprec(BITS):
        total = sum(mechanism.prior.weights)
        return [arb(weight) / total for weight in mechanism.prior.weights]


def within(first: Sequence[Any], second: Sequence[Any], epsilon: Any) -> bool:
    """Decide in balls whether no probability grows by more than e^epsilon."""
    with ctx.workprec(BITS):
        return not any(a > b * epsilon.exp() for a, b in zip(first, second, strict=True))


def hockey_stick(first: Sequence[Any], second: Sequence[Any], epsilon: float) -> float:
    """Return the smallest delta with P[S] <= e^epsilon P'[S] + delta for all S."""
    return math.fsum(max(0.0, float(a) - math.exp(epsilon) * float(b)) for a, b in zip(first, second, strict=True))


def all_pairs(count: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(count) for j in range(count) if i != j]
