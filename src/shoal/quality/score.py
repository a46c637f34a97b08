"""The relative score: what masking costs in information against what it gains in protection."""

from __future__ import annotations

import math
from dataclasses import dataclass

from shoal.errors import ParameterError

__all__ = ["RelativeScore", "relative_score"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelativeScore:
    """A method against a baseline [SC13, section 6.4.2].

    Parameters
    ----------
    sse_factor
        sqrt(SSE_0) / sqrt(SSE): above 1 where the method loses less than the baseline.
    rl_factor
        RL_0 / RL: above 1 where fewer records are linked than under the baseline.
    """

    sse_factor: float
    rl_factor: float

    @property
    def score(self) -> float:
        """The balance, sse_factor * rl_factor: above 1 where the method is better on the whole."""
        return self.sse_factor * self.rl_factor


def relative_score(*, sse: float, linkage: float, baseline_sse: float, baseline_linkage: float) -> RelativeScore:
    """Compare SSE and RL of a method with those of a baseline.

    [SC13] prints the score as the *ratio* of the factors; its tables hold their product (0.014 * 386.92 = 5.4 in Table
    6.1), which is what "above 1 is an improvement" needs. The product is used here.

    Examples
    --------
    >>> result = relative_score(sse=4e10, linkage=1.0, baseline_sse=1e10, baseline_linkage=6.0)
    >>> result.sse_factor, result.rl_factor, result.score
    (0.5, 6.0, 3.0)
    """
    figures = {"sse": sse, "linkage": linkage, "baseline_sse": baseline_sse, "baseline_linkage": baseline_linkage}
    for name, value in figures.items():
        if not (math.isfinite(value) and value >= 0.0):
            raise ParameterError(f"`{name}` of `relative_score` must be in [0, ∞); got {value}.")
    return RelativeScore(
        sse_factor=_ratio(math.sqrt(baseline_sse), math.sqrt(sse)), rl_factor=_ratio(baseline_linkage, linkage)
    )


def _ratio(above: float, below: float) -> float:
    if below == 0.0:
        return 1.0 if above == 0.0 else math.inf
    return above / below
