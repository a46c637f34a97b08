"""How a set of tables divides epsilon and delta: a public rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from shoal.errors import ParameterError
from shoal.mechanisms import person_delta, record_delta
from shoal.methods.truthful import gaussian
from shoal.methods.truthful._sets_events import Composed, JointTrimmed

__all__ = ["Split"]

#: Parts of rho for declared tables, for choosing pairs, for the tables of pairs, for drawing the scheme of the table of
#: all columns, and for that table; those that a release has are scaled to the sum 1. Measured on Adult.
_DECLARED, _CHOICE, _PAIRS, _SCHEME, _JOINT = 7, 1, 12, 1, 4
#: Variances are multiples of one over this, and epsilons of choices of one over its fifth power.
_GRID = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """What each table and each choice may spend."""

    #: Of all tables together, for a person with at most ``per_person`` records.
    epsilon: Fraction
    delta: Fraction
    #: The number of tables whose columns are declared, and of pairs that are chosen privately.
    declared: int
    pairs: int
    #: Of the noise of declared tables; see `shoal.methods.truthful.gaussian`.
    variance: Fraction
    m: int
    #: The epsilon of choosing one pair.
    choice: Fraction = Fraction(0)
    #: Of the noise of pairs.
    pair_variance: Fraction = Fraction(0)
    pair_m: int = 0
    #: The epsilon of drawing the scheme of the table of all columns; 0 without such a table.
    scheme: Fraction = Fraction(0)
    #: Of the noise of the table of all columns.
    joint_variance: Fraction = Fraction(0)
    joint_m: int = 0
    #: How many records a person has at most.
    per_person: int = 1

    @classmethod
    def of(
        cls,
        epsilon: Fraction,
        delta: Fraction,
        *,
        declared: int,
        pairs: int,
        joint: bool = False,
        per_person: int = 1,
    ) -> Split:
        """Divide: half of delta for classes that show all their records, in equal parts; rho by fixed parts.

        Examples
        --------
        >>> split = Split.of(Fraction(1), Fraction(1, 10**5), declared=9, pairs=27)
        >>> split.m, split.pair_m, round(float(split.choice), 3), split.holds()
        (104, 136, 0.021, True)
        >>> split = Split.of(Fraction(1), Fraction(1, 10**5), declared=9, pairs=27, joint=True)
        >>> split.m, split.pair_m, split.joint_m, round(float(split.scheme), 3), split.holds()
        (116, 151, 53, 0.095, True)
        """
        own = record_delta(epsilon, delta, per_person)
        each = own / 2 / (declared + pairs + joint)
        whole = _DECLARED + (_CHOICE + _PAIRS if pairs else 0) + (_SCHEME + _JOINT if joint else 0)
        part = gaussian.largest_rho(epsilon / per_person, own / 2) / whole

        def noise(tables: int, parts: int) -> tuple[Fraction, int]:
            variance = _up(tables / (2 * part * parts)) if tables else Fraction(0)
            return variance, gaussian.minimal_m(variance, each) if tables else 0

        (variance, m), (pair_variance, pair_m) = noise(declared, _DECLARED), noise(pairs, _PAIRS)
        joint_variance, joint_m = noise(int(joint), _JOINT)
        return cls(
            epsilon=epsilon,
            delta=delta,
            declared=declared,
            pairs=pairs,
            variance=variance,
            m=m,
            choice=_epsilon_of(part * _CHOICE, pairs, epsilon),
            pair_variance=pair_variance,
            pair_m=pair_m,
            scheme=_epsilon_of(part * _SCHEME, int(joint), epsilon),
            joint_variance=joint_variance,
            joint_m=joint_m,
            per_person=per_person,
        )

    @property
    def joint(self) -> bool:
        """Whether there is a table of all columns."""
        return self.scheme > 0

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
    def rho_of_joint(self) -> Fraction:
        """What the table of all columns loses, its scheme included."""
        return self.scheme**2 / 8 + 1 / (2 * self.joint_variance) if self.joint else Fraction(0)

    @property
    def rho(self) -> Fraction:
        """What everything loses."""
        return self.rho_of_declared + self.rho_of_choice + self.rho_of_pairs + self.rho_of_joint

    @property
    def _tables(self) -> list[tuple[int, Fraction]]:
        few = [(self.m, self.variance)] * self.declared + [(self.pair_m, self.pair_variance)] * self.pairs
        return [*few, *([(self.joint_m, self.joint_variance)] if self.joint else [])]

    def joint_step(self, columns: Sequence[str], lows: Sequence[int]) -> JointTrimmed:
        """Return the step that makes the table of all columns."""
        return JointTrimmed(
            columns=tuple(columns),
            levels=tuple(lows),
            epsilon_scheme=self.scheme,
            m=self.joint_m,
            variance=self.joint_variance,
            rho=self.rho_of_joint,
        )

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
        joint = {"m of the table of all columns": self.joint_m} if self.joint else {}
        attained = gaussian.attained(self.rho, self._tables, self.epsilon / self.per_person)
        return {
            "m": self.m,
            **pairs,
            **joint,
            "rho": str(self.rho),
            "delta attained, rounded up": person_delta(self.epsilon, attained, self.per_person),
        }


def _up(variance: Fraction) -> Fraction:
    return Fraction(max(1, math.ceil(variance * _GRID)), _GRID)


def _epsilon_of(rho: Fraction, choices: int, epsilon: Fraction) -> Fraction:
    """Return the epsilon of each of so many choices that lose at most rho together: choices times its square over 8."""
    if not choices:
        return Fraction(0)
    steps = _GRID**5
    found = Fraction(math.isqrt(math.floor(8 * rho / choices * steps**2)), steps)
    if not found:
        raise ParameterError(f"epsilon = {float(epsilon):.3g} is too small to choose pairs of columns with.")
    return found
