"""How a set of tables divides epsilon and delta: a public rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from shoal.errors import ParameterError
from shoal.mechanisms import person_delta, record_delta
from shoal.methods.truthful import gaussian
from shoal.methods.truthful._sets_events import Composed, JointTrimmed, Noise

#: Parts of rho for declared tables, for choosing pairs, for the tables of pairs, for drawing the scheme of the table of
#: all columns, and for that table; those that a release has are scaled to the sum 1. Measured on Adult.
_DECLARED, _CHOICE, _PAIRS, _SCHEME, _JOINT = 4, 1, 15, 1, 4
#: Variances are multiples of one over this, and epsilons of choices of one over its fifth power.
_GRID = 16
#: A table whose classes the schema does not list counts as one of so many.
_UNLISTED = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """What each table and each choice may spend."""

    #: Of all tables together, for a person with at most ``per_person`` records.
    epsilon: Fraction
    delta: Fraction
    #: The noise of the tables whose columns are declared.
    declared: tuple[Noise, ...]
    #: How many pairs are chosen privately, the epsilon of choosing one, and what their tables may lose together.
    pairs: int
    choice: Fraction = Fraction(0)
    pairs_rho: Fraction = Fraction(0)
    #: The delta of every table.
    each: Fraction
    #: The noise of the tables of pairs, once they are chosen.
    chosen: tuple[Noise, ...] = ()
    #: The epsilon of drawing the scheme of the table of all columns and the noise of it; 0 without such a table.
    scheme: Fraction = Fraction(0)
    all_columns: Noise | None = None
    #: How many records a person has at most.
    per_person: int = 1

    @classmethod
    def of(
        cls,
        epsilon: Fraction,
        delta: Fraction,
        *,
        declared: Sequence[int | None],
        pairs: int,
        joint: bool = False,
        per_person: int = 1,
    ) -> Split:
        """Divide: half of delta for classes that show all their records, in equal parts; rho by fixed parts.

        ``declared`` are the numbers of classes of the declared tables, None where the schema does not list them.
        Tables get of rho in proportion to the square roots of these numbers: the sum of the errors of all classes is
        smaller than with equal parts, and a table of few classes still shows them.

        Examples
        --------
        >>> split = Split.of(Fraction(1), Fraction(1, 10**5), declared=[2, 100], pairs=1)
        >>> [noise.m for noise in split.declared], round(float(split.choice), 3), split.holds()
        ([115, 46], 0.107, True)
        >>> split.with_pairs([200]).chosen[0].m, split.with_pairs([200]).holds()
        (23, True)
        """
        own = record_delta(epsilon, delta, per_person)
        whole = _DECLARED + (_CHOICE + _PAIRS if pairs else 0) + (_SCHEME + _JOINT if joint else 0)
        part = gaussian.largest_rho(epsilon / per_person, own / 2) / whole
        each = own / 2 / (len(declared) + pairs + joint)
        return cls(
            epsilon=epsilon,
            delta=delta,
            declared=_divided(part * _DECLARED, declared, each),
            pairs=pairs,
            choice=_epsilon_of(part * _CHOICE, pairs, epsilon),
            pairs_rho=part * _PAIRS if pairs else Fraction(0),
            each=each,
            scheme=_epsilon_of(part * _SCHEME, int(joint), epsilon),
            all_columns=_divided(part * _JOINT, [None], each)[0] if joint else None,
            per_person=per_person,
        )

    def with_pairs(self, classes: Sequence[int | None]) -> Split:
        """Divide what the pairs may lose among those that were chosen, by their numbers of classes."""
        return replace(self, chosen=_divided(self.pairs_rho, classes, self.each))

    @property
    def usual(self) -> Noise:
        """The noise of a pair if all had the same."""
        return _divided(self.pairs_rho, [None] * self.pairs, self.each)[0]

    @property
    def rho_of_declared(self) -> Fraction:
        """What the declared tables lose together."""
        return _rho(self.declared)

    @property
    def rho_of_choice(self) -> Fraction:
        """What choosing all pairs loses."""
        return self.pairs * self.choice**2 / 8

    @property
    def rho_of_pairs(self) -> Fraction:
        """What the tables of pairs lose together: once they are chosen what they do, before what they may."""
        return _rho(self.chosen) if self.chosen else self.pairs_rho

    @property
    def rho_of_joint(self) -> Fraction:
        """What the table of all columns loses, its scheme included."""
        return Fraction(0) if self.all_columns is None else self.scheme**2 / 8 + self.all_columns.rho

    @property
    def rho(self) -> Fraction:
        """What everything loses."""
        return self.rho_of_declared + self.rho_of_choice + self.rho_of_pairs + self.rho_of_joint

    @property
    def tables(self) -> tuple[Noise, ...]:
        """The noise of all tables, in the order of their files."""
        chosen = self.chosen or ((self.usual,) * self.pairs if self.pairs else ())
        return (*self.declared, *chosen, *([] if self.all_columns is None else [self.all_columns]))

    @property
    def _trimmed(self) -> list[tuple[int, Fraction]]:
        return [(noise.m, noise.variance) for noise in self.tables]

    def joint_step(self, columns: Sequence[str], lows: Sequence[int]) -> list[JointTrimmed]:
        """Return the step that makes the table of all columns, if there is one."""
        if self.all_columns is None:
            return []
        step = JointTrimmed(
            columns=tuple(columns),
            levels=tuple(lows),
            epsilon_scheme=self.scheme,
            m=self.all_columns.m,
            variance=self.all_columns.variance,
            rho=self.rho_of_joint,
        )
        return [step]

    def composed(self) -> Composed:
        """Return the step that adds everything up."""
        return Composed(rho=self.rho, epsilon_spent=self.epsilon, delta_spent=self.delta, per_person=self.per_person)

    def holds(self) -> bool:
        """Decide anew whether all of it is (epsilon, delta)-private, by what it is for a record."""
        own = record_delta(self.epsilon, self.delta, self.per_person)
        return gaussian.satisfies(rho=self.rho, tables=self._trimmed, epsilon=self.epsilon / self.per_person, delta=own)

    def figures(self) -> dict[str, object]:
        """Return the figures of the promise."""
        attained = gaussian.attained(self.rho, self._trimmed, self.epsilon / self.per_person)
        return {
            "least m": min(noise.m for noise in self.tables),
            "largest m": max(noise.m for noise in self.tables),
            "rho": str(self.rho),
            "delta attained, rounded up": person_delta(self.epsilon, attained, self.per_person),
        }


def _divided(rho: Fraction, classes: Sequence[int | None], delta: Fraction) -> tuple[Noise, ...]:
    """Divide rho among tables of so many classes, and find how many records each must take off."""
    weights = [math.isqrt(100 * (_UNLISTED if number is None else number)) for number in classes]
    variances = [_up(sum(weights) / (2 * rho * weight)) for weight in weights]
    m = {variance: gaussian.minimal_m(variance, delta) for variance in {*variances}}
    return tuple(Noise(m[variance], variance) for variance in variances)


def _rho(tables: Sequence[Noise]) -> Fraction:
    return sum((noise.rho for noise in tables), start=Fraction(0))


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
