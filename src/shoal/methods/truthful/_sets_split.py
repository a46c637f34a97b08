"""The division of epsilon and delta over a set of tables, by a public rule, and the steps that state it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeVar

from shoal.errors import ParameterError, counted
from shoal.guarantees import UNLESS_DEFAULT, Event, Kept
from shoal.mechanisms import person_delta, record_delta
from shoal.methods.truthful import gaussian

_Any = TypeVar("_Any")

#: Parts of rho for declared tables, for choosing pairs, for the tables of pairs, for drawing the scheme of the table of
#: all columns, and for that table; those that a release has are scaled to the sum 1. Measured on Adult; with 4 for
#: declared tables, NIST's excerpt had single columns a fifth further off, and pairs no nearer.
_DECLARED, _CHOICE, _PAIRS, _SCHEME, _JOINT = 8, 1, 15, 1, 4
#: Pairs are chosen in so many rounds of about equally many.
_ROUNDS = 4
#: Variances are multiples of one over this, and epsilons of choices of one over its fifth power.
_GRID = 16
#: A table whose classes the schema does not list counts as one of so many.
_UNLISTED = 64


@dataclass(frozen=True, slots=True)
class Noise:
    """How many records trimming takes off a class of a table on average, and the variance of that number."""

    m: int
    variance: Fraction

    @property
    def rho(self) -> Fraction:
        return 1 / (2 * self.variance)


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
        ([90, 36], 0.097, True)
        >>> split.with_pairs([200]).chosen[0].m, split.with_pairs([200]).holds()
        (25, True)
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

    @property
    def rounds(self) -> tuple[int, ...]:
        """How many pairs are chosen in each round, before their tables are made and tell what to expect of others."""
        most = min(_ROUNDS, self.pairs)
        return tuple(self.pairs // most + (number < self.pairs % most) for number in range(most))

    def by_round(self, chosen: Sequence[_Any]) -> list[Sequence[_Any]]:
        """Return what belongs to the pairs of each round."""
        ends = [0, *itertools.accumulate(self.rounds)]
        return [chosen[start:end] for start, end in itertools.pairwise(ends)]

    def with_pairs(self, classes: Sequence[int | None]) -> Split:
        """Divide what the pairs of each round may lose among those that were chosen, by their numbers of classes.

        What the tables of a round may lose together does not depend on which pairs were chosen: variances are rounded
        up. So a round is one step of a composition whose losses are fixed beforehand, although its noise is not.

        ``classes`` has those of all pairs, or of those of the first rounds.
        """
        each_pair = self.pairs_rho / self.pairs
        rounds = zip(self.rounds, self.by_round(classes), strict=True)
        noise = [_divided(number * each_pair, own, self.each) for number, own in rounds if own]
        return replace(self, chosen=tuple(itertools.chain(*noise)))

    @property
    def usual(self) -> Noise:
        """The noise of a pair if all had the same."""
        return _divided(self.pairs_rho, [None] * self.pairs, self.each)[0]

    @property
    def rho_of_choice(self) -> Fraction:
        """What choosing all pairs loses."""
        return self.pairs * self.choice**2 / 8

    @property
    def rho_of_joint(self) -> Fraction:
        """What the table of all columns loses, its scheme included."""
        return Fraction(0) if self.all_columns is None else self.scheme**2 / 8 + self.all_columns.rho

    @property
    def rho(self) -> Fraction:
        """What everything loses; before pairs are chosen, what their tables may."""
        pairs = _rho(self.chosen) if self.chosen else self.pairs_rho
        return _rho(self.declared) + self.rho_of_choice + pairs + self.rho_of_joint

    @property
    def beta(self) -> Fraction:
        """The most that the probabilities of classes that show all their records can add up to."""
        return self.each * (len(self.declared) + self.pairs + (self.all_columns is not None))

    @property
    def tables(self) -> tuple[Noise, ...]:
        """The noise of all tables, in the order of their files."""
        chosen = self.chosen or ((self.usual,) * self.pairs if self.pairs else ())
        return (*self.declared, *chosen, *(() if self.all_columns is None else (self.all_columns,)))

    @property
    def _trimmed(self) -> list[tuple[int, Fraction]]:
        return [(noise.m, noise.variance) for noise in self.tables]

    def composed(self) -> Composed:
        return Composed(rho=self.rho, epsilon_spent=self.epsilon, delta_spent=self.delta, per_person=self.per_person)

    def holds(self) -> bool:
        """Decide anew whether all of it is (epsilon, delta)-private, by what it is for a record."""
        own = record_delta(self.epsilon, self.delta, self.per_person)
        return gaussian.satisfies(rho=self.rho, tables=self._trimmed, epsilon=self.epsilon / self.per_person, delta=own)

    def figures(self) -> dict[str, object]:
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
        raise ParameterError(f"epsilon = {float(epsilon):.3g} is too small for choosing pairs of columns.")
    return found


# -- the steps


class TablesTrimmed(Event):
    """Tables over some columns each were made, and a random number of records of every class was left out."""

    name = "tables-trimmed"
    draws = True
    term = "record suppression"
    #: The columns of each table, and the level that each of them was generalised to.
    tables: tuple[tuple[str, ...], ...]
    levels: tuple[tuple[int, ...], ...]
    #: How many records a class of each table lost on average, and the variance of that number.
    m: tuple[int, ...]
    variance: tuple[Fraction, ...]
    #: What all these tables lose together.
    rho: Fraction

    def kept_of(self, column: str) -> Kept | None:
        """Return that the columns of all tables hold labels."""
        return "label" if any(column in names for names in self.tables) else None

    @classmethod
    def by(
        cls, tables: Sequence[Sequence[str]], levels: Sequence[Sequence[int]], noise: Sequence[Noise]
    ) -> TablesTrimmed:
        return cls(
            tables=tuple(map(tuple, tables)),
            levels=tuple(map(tuple, levels)),
            m=tuple(each.m for each in noise),
            variance=tuple(each.variance for each in noise),
            rho=_rho(noise),
        )

    def describe(self) -> str:
        least, most = min(self.m), max(self.m)
        number = f"{least:,}" if least == most else f"{least:,} to {most:,}, depending on the table"
        return (
            f"Made {counted(len(self.tables), 'table')} of {_widths(self.tables)} and left out a random number of the "
            f"records of every combination of values, on average about {number} (rho {float(self.rho):.4g})."
        )

    def effects(self) -> Iterator[tuple[str, str]]:
        for names, levels in zip(self.tables, self.levels, strict=True):
            for name, level in zip(names, levels, strict=True):
                if level:
                    yield name, "generalised in some tables"


class HiddenCounted(Event):
    """Classes that the schema lists and no record shows were counted with the noise that hid them."""

    name = "hidden-counted"
    #: Tables whose classes the schema lists, and their classes without a record.
    tables: int
    classes: int

    @classmethod
    def of(cls, hidden: Mapping[str, Mapping[tuple[str | None, ...], int]]) -> HiddenCounted:
        return cls(tables=len(hidden), classes=sum(map(len, hidden.values())))

    sentence = (
        "Listed in `hidden.csv` a noisy count of each of the {classes:,} combinations of values that the schema lists "
        "for {tables:table} and no record shows. The noise is the one that hid them, so this costs nothing more."
    )


class PairsChosen(Event):
    """Pairs of columns, and how far each is generalised, were chosen privately, one after the other."""

    name = "pairs-chosen"
    draws = True
    #: Later rounds know the tables of the ones before.
    round: int
    #: What was chosen, in that order.
    pairs: tuple[tuple[str, ...], ...]
    levels: tuple[tuple[int, ...], ...]
    #: How many pairs with their levels there were to choose from; known without the data.
    candidates: int
    #: The epsilon of each choice, and what all of them lose together.
    epsilon_each: Fraction
    rho: Fraction
    sentence = (
        "Round {round}: chose {pairs!n:pair} of columns and their levels from {candidates:,} candidates by exact "
        "exponential mechanisms (epsilon {epsilon_each!f:.4g} each, rho {rho!f:.4g} together)."
    )


class JointTrimmed(Event):
    """A table of all columns was made by a scheme that was drawn privately, and trimmed like the others."""

    name = "joint-trimmed"
    draws = True
    term = "record suppression"
    effect = "generalised in the table of all columns"
    kept = "label"
    #: Its columns, and the lowest level of each; values of one column may be generalised differently.
    columns: tuple[str, ...]
    levels: tuple[int, ...]
    #: The epsilon of drawing the scheme.
    epsilon_scheme: Fraction
    #: How many records a class lost on average, and the variance of that number.
    m: int
    variance: Fraction
    #: What the scheme and the table lose together.
    rho: Fraction
    sentence = (
        "Made a table of all {columns!n:,} columns, drew how far each combination of values is generalised by an "
        "exact exponential mechanism (epsilon {epsilon_scheme!f:.4g}), and left out a random number of the records of "
        "every combination, about {m:,} on average (rho {rho!f:.4g} together)."
    )


class Composed(Event):
    """What all tables and choices lose together, as one epsilon and delta."""

    name = "composed"
    rho: Fraction
    epsilon_spent: Fraction
    delta_spent: Fraction
    per_person: int = field(default=1, metadata=UNLESS_DEFAULT)

    def describe(self) -> str:
        whose = "" if self.per_person == 1 else f" for a person with at most {self.per_person:,} records"
        return (
            f"Every record is in every table: together they cost rho {float(self.rho):.4g}, which amounts to "
            f"epsilon {float(self.epsilon_spent):.6g} and delta {float(self.delta_spent):.3g}{whose}."
        )


def _widths(tables: tuple[tuple[str, ...], ...]) -> str:
    widths = {len(table) for table in tables}
    if widths == {1}:
        return "one column each"
    return f"{widths.pop()} columns each" if len(widths) == 1 else "one or more columns each"
