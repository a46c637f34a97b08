"""What every attack reports: how often it is right, how often it would be without the release, and the difference."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from shoal.errors import ParameterError

#: two-sided 95 % of the normal distribution
_Z = 1.959963984540054


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A share of attempts that succeeded, with its 95 % confidence interval (Wilson 1927).

    Examples
    --------
    >>> Rate.of(3, 10)
    Rate(rate=0.3, low=0.108, high=0.603, attempts=10)
    """

    rate: float
    low: float
    high: float
    attempts: int

    @classmethod
    def of(cls, successes: float, attempts: int) -> Rate:
        """Return the rate of ``successes``, a whole or an expected number."""
        if not 0 <= successes <= attempts:
            raise ParameterError(f"`successes` of `Rate` must be in [0, {attempts}]; got {successes}.")
        if not attempts:
            return cls(rate=0.0, low=0.0, high=1.0, attempts=0)
        share = successes / attempts
        scale = 1 + _Z**2 / attempts
        centre = (share + _Z**2 / (2 * attempts)) / scale
        spread = _Z / scale * math.sqrt(share * (1 - share) / attempts + _Z**2 / (4 * attempts**2))
        return cls(
            rate=share,
            low=round(max(0.0, min(centre - spread, share)), 3),
            high=round(min(1.0, max(centre + spread, share)), 3),
            attempts=attempts,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """The outcome of one attack."""

    #: What the attack is called.
    name: str
    #: What it tries to find out, in a sentence.
    question: str
    #: How often it was right.
    success: Rate
    #: How often the same intruder is right without looking at the records of the release.
    baseline: Rate
    #: The columns that it is about, where it is not about all.
    columns: tuple[str, ...] = ()
    #: What the release adds, computed: (success - baseline) / (1 - baseline), at least 0.
    risk: float = field(init=False)

    def __post_init__(self) -> None:
        added, room = self.success.rate - self.baseline.rate, 1 - self.baseline.rate
        object.__setattr__(self, "risk", max(0.0, added / room) if room else 0.0)
