"""How a set of tables divides epsilon and delta: a public rule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from shoal.errors import ParameterError
from shoal.methods.truthful import gaussian

__all__ = ["Split"]

#: Parts of rho for declared tables, for choosing pairs, and for the tables of pairs; measured on Adult.
_DECLARED, _CHOICE, _PAIRS = Fraction(7, 20), Fraction(1, 20), Fraction(3, 5)
#: Variances are multiples of one over this, and epsilons of choices of one over its fifth power.
_GRID = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """What each table and each choice may spend.

    Parameters
    ----------
    epsilon, delta
        Of all tables together.
    declared, pairs
        The number of tables whose columns are declared, and of pairs that are chosen privately.
    variance, m
        Of the noise of declared tables; see `shoal.methods.truthful.gaussian`.
    choice
        The epsilon of choosing one pair.
    pair_variance, pair_m
        Of the noise of pairs.
    """

    epsilon: Fraction
    delta: Fraction
    declared: int
    pairs: int
    variance: Fraction
    m: int
    choice: Fraction = Fraction(0)
    pair_variance: Fraction = Fraction(0)
    pair_m: int = 0

    @classmethod
    def of(cls, epsilon: Fraction, delta: Fraction, *, declared: int, pairs: int) -> Split:
        """Divide: half of delta for classes that show all their records, in equal parts; rho by fixed parts.

        Examples
        --------
        >>> split = Split.of(Fraction(1), Fraction(1, 10**5), declared=9, pairs=27)
        >>> split.m, split.pair_m, round(float(split.choice), 3), split.holds()
        (104, 136, 0.021, True)
        """
        rho = gaussian.largest_rho(epsilon, delta / 2)
        each = delta / 2 / (declared + pairs)
        first = rho * (_DECLARED if pairs else 1)
        variance = _up(declared / (2 * first))
        made = cls(
            epsilon=epsilon,
            delta=delta,
            declared=declared,
            pairs=0,
            variance=variance,
            m=gaussian.minimal_m(variance, each),
        )
        if not pairs:
            return made
        steps = _GRID**5
        choice = Fraction(math.isqrt(math.floor(8 * rho * _CHOICE / pairs * steps**2)), steps)
        if not choice:
            raise ParameterError(f"epsilon = {float(epsilon):.3g} is too small to choose pairs of columns with.")
        pair_variance = _up(pairs / (2 * rho * _PAIRS))
        return cls(
            epsilon=epsilon,
            delta=delta,
            declared=declared,
            pairs=pairs,
            variance=variance,
            m=made.m,
            choice=choice,
            pair_variance=pair_variance,
            pair_m=gaussian.minimal_m(pair_variance, each),
        )

    @property
    def rho_of_declared(self) -> Fraction:
        """What the declared tables lose together."""
        return self.declared / (2 * self.variance)

    @property
    def rho_of_choice(self) -> Fraction:
        """What choosing all pairs loses."""
        return self.pairs * self.choice**2 / 8

    @property
    def rho_of_pairs(self) -> Fraction:
        """What the tables of pairs lose together."""
        return self.pairs / (2 * self.pair_variance) if self.pairs else Fraction(0)

    @property
    def rho(self) -> Fraction:
        """What everything loses."""
        return self.rho_of_declared + self.rho_of_choice + self.rho_of_pairs

    @property
    def _tables(self) -> list[tuple[int, Fraction]]:
        return [(self.m, self.variance)] * self.declared + [(self.pair_m, self.pair_variance)] * self.pairs

    def holds(self) -> bool:
        """Decide anew whether all of it is (epsilon, delta)-private."""
        return gaussian.satisfies(rho=self.rho, tables=self._tables, epsilon=self.epsilon, delta=self.delta)

    def figures(self) -> dict[str, object]:
        """Return the figures of the promise."""
        pairs = {"m of the pairs": self.pair_m} if self.pairs else {}
        return {
            "m": self.m,
            **pairs,
            "rho": str(self.rho),
            "delta attained, rounded up": gaussian.attained(self.rho, self._tables, self.epsilon),
        }


def _up(variance: Fraction) -> Fraction:
    return Fraction(max(1, math.ceil(variance * _GRID)), _GRID)
