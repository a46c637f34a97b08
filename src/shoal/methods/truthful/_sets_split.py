"""How a set of tables divides epsilon and delta: a public rule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from shoal.errors import ParameterError
from shoal.mechanisms import person_delta, record_delta
from shoal.methods.truthful import gaussian
from shoal.methods.truthful._sets_events import Composed

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
        Of all tables together, for a person with at most ``per_person`` records.
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
    per_person: int = 1

    @classmethod
    def of(cls, epsilon: Fraction, delta: Fraction, *, declared: int, pairs: int, per_person: int = 1) -> Split:
        """Divide: half of delta for classes that show all their records, in equal parts; rho by fixed parts.

        Examples
        --------
        >>> split = Split.of(Fraction(1), Fraction(1, 10**5), declared=9, pairs=27)
        >>> split.m, split.pair_m, round(float(split.choice), 3), split.holds()
        (104, 136, 0.021, True)
        """
        own = record_delta(epsilon, delta, per_person)
        rho = gaussian.largest_rho(epsilon / per_person, own / 2)
        each = own / 2 / (declared + pairs)
        first = rho * (_DECLARED if pairs else 1)
        variance = _up(declared / (2 * first))
        made = cls(
            epsilon=epsilon,
            delta=delta,
            declared=declared,
            pairs=0,
            variance=variance,
            m=gaussian.minimal_m(variance, each),
            per_person=per_person,
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
            per_person=per_person,
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

    def composed(self) -> Composed:
        """Return the step that adds everything up."""
        return Composed(rho=self.rho, epsilon_spent=self.epsilon, delta_spent=self.delta, per_person=self.per_person)

    def holds(self) -> bool:
        """Decide anew whether all of it is (epsilon, delta)-private, by what it is for a record."""
        own = record_delta(self.epsilon, self.delta, self.per_person)
        return gaussian.satisfies(rho=self.rho, tables=self._tables, epsilon=self.epsilon / self.per_person, delta=own)

    def figures(self) -> dict[str, object]:
        """Return the figures of the promise."""
        pairs = {"m of the pairs": self.pair_m} if self.pairs else {}
        attained = gaussian.attained(self.rho, self._tables, self.epsilon / self.per_person)
        return {
            "m": self.m,
            **pairs,
            "rho": str(self.rho),
            "delta attained, rounded up": person_delta(self.epsilon, attained, self.per_person),
        }


def _up(variance: Fraction) -> Fraction:
    return Fraction(max(1, math.ceil(variance * _GRID)), _GRID)
