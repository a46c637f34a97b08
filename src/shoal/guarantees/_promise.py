"""The promises of a release: what holds, for whom, under which assumptions, at what cost, from which randomness."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction

from shoal.errors import ParameterError
from shoal.exact import Number, ball, enclosures
from shoal.guarantees._events import Budget, Event, budget
from shoal.guarantees._kind import CLASSES, PromiseKind, Requirement, Words

#: of a release that drew nothing
NO_RANDOMNESS = "none used"


class Strength(StrEnum):
    """What a promise rests on.

    ``SYNTACTIC``: a property of the released table, which anybody can check on it. ``UNCONDITIONAL``: differential
    privacy, whatever the intruder knows. ``CONDITIONAL``: holds under the assumptions that the promise lists.
    """

    SYNTACTIC = "syntactic"
    UNCONDITIONAL = "unconditional"
    CONDITIONAL = "conditional"


class Neighbours(StrEnum):
    """Which two tables a differentially private release must not tell apart."""

    ADD_REMOVE = "add or remove one record"
    REPLACE = "replace one record; the number of records is public"
    ADD_REMOVE_PERSON = "add or remove one person with all records"
    REPLACE_PERSON = "replace one person with all records; the number of persons is public"
    REPLACE_RECORDS_OF_PERSON = "replace all records of one person by as many; the number of each person's is public"


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What a release promises."""

    #: The privacy model by its name in plan files, and its parameters.
    model: str
    parameters: Mapping[str, object]
    #: See :class:`Strength`.
    strength: Strength
    #: The promise in plain words.
    statement: str
    #: What must hold for the promise to mean what it says. A conditional promise has at least one.
    assumptions: tuple[str, ...] = ()
    #: For differential privacy, the neighbour relation.
    neighbours: Neighbours | None = None
    #: Whose privacy is meant: a record, of which a person may have several, or a person with all records.
    unit: str = "record"
    #: Quantities the promise was computed with, as text where they are exact rationals.
    exact: Mapping[str, object] = field(default_factory=dict)
    #: The data file that the promise is about, where a release has several; the first one if None.
    file: str | None = None

    def __post_init__(self) -> None:
        if self.strength is Strength.CONDITIONAL and not self.assumptions:
            raise ParameterError("`assumptions` of a conditional `Promise` must not be empty.")
        if self.strength is Strength.UNCONDITIONAL and self.neighbours is None:
            raise ParameterError("`neighbours` of an unconditional `Promise` must name the neighbour relation.")


def syntactic(model: PromiseKind, words: Words = CLASSES) -> Promise:
    """Return the promise that the released table satisfies ``model``."""
    return Promise(
        model=model.name,
        parameters=model.parameters(),
        strength=Strength.SYNTACTIC,
        statement=model.statement(words),
        assumptions=(*model.assumptions(), *words.assumptions),
        unit=words.unit,
    )


def private(
    kind: PromiseKind,
    doubts: tuple[str, ...],
    *,
    neighbours: Neighbours,
    unit: str,
    exact: Mapping[str, object] | None = None,
) -> Promise:
    """Return a promise of differential privacy: a conditional one where anything leaves doubts."""
    return Promise(
        model=kind.name,
        parameters=kind.parameters(),
        strength=Strength.CONDITIONAL if doubts else Strength.UNCONDITIONAL,
        statement=kind.statement(),
        assumptions=(*doubts, *kind.assumptions()),
        neighbours=neighbours,
        unit=unit,
        exact=exact or {},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """The promises of a release, the steps that made it, and where its randomness came from.

    Parameters
    ----------
    promises
        What holds; at least one.
    events
        What was done, in order; an accountant (:func:`budget`) turns them into totals.
    randomness
        Where random numbers came from; a seeded source is for tests and says so here.
    """

    promises: tuple[Promise, ...]
    events: tuple[Event, ...] = ()
    randomness: str = NO_RANDOMNESS

    @property
    def budget(self) -> Budget:
        """The total epsilon and delta of all steps."""
        return budget(self.events)

    def __str__(self) -> str:
        lines = []
        for promise in self.promises:
            lines.append(f"{promise.statement} ({promise.strength})")
            lines.extend(f"  assuming: {assumption}" for assumption in promise.assumptions)
        return "\n".join(lines)


CRYPTOGRAPHIC = "the cryptographic generator of the operating system"
"""The only source of random numbers that an unconditional promise may rest on."""
SEED = "Nobody knows the seed that the random numbers came from."
"""What a promise rests on where the random numbers came from a seed."""


def randomness(*, cryptographic: bool) -> str:
    """Say where random numbers came from."""
    return CRYPTOGRAPHIC if cryptographic else "a seed, for tests: whoever knows it can repeat the draw"


#: neighbours that replace something, by those that add or remove it
_REPLACING = {
    Neighbours.ADD_REMOVE: (Neighbours.REPLACE,),
    Neighbours.ADD_REMOVE_PERSON: (Neighbours.REPLACE_PERSON, Neighbours.REPLACE_RECORDS_OF_PERSON),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The (epsilon, delta) of a release, and which neighbours it is about.

    Examples
    --------
    >>> cost = Cost(epsilon=Fraction(1), neighbours=Neighbours.ADD_REMOVE)
    >>> cost.counted(Neighbours.REPLACE).epsilon
    Fraction(2, 1)
    >>> Cost(epsilon=Fraction(1), neighbours=Neighbours.REPLACE).counted(Neighbours.ADD_REMOVE) is None
    True
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    neighbours: Neighbours

    def counted(self, neighbours: Neighbours) -> Cost | None:
        """Return the cost for other neighbours, or None where nothing follows for them.

        Guarantee
        ---------
        Replacing is removing and adding, so that P[S] <= e^epsilon (e^epsilon P''[S] + delta) + delta: epsilon counts
        twice and delta 1 + e^epsilon times, rounded up. Replacing the records of a person by as many is a case of
        replacing the person. Nothing follows in the other direction: who hides what a record says shows how many there
        are.
        """
        if neighbours is self.neighbours:
            return self
        if neighbours in _REPLACING.get(self.neighbours, ()):
            delta = self.delta
            if delta:
                _, delta = next(enclosures(lambda: ball(self.delta) * (1 + ball(self.epsilon).exp())))
            return Cost(epsilon=2 * self.epsilon, delta=delta, neighbours=neighbours)
        if (self.neighbours, neighbours) == (Neighbours.REPLACE_PERSON, Neighbours.REPLACE_RECORDS_OF_PERSON):
            return replace(self, neighbours=neighbours)
        return None


class BudgetRequirement(Requirement):
    """A promise that spends a budget of differential privacy."""

    __slots__ = ()
    epsilon: Number
    delta: Number

    @property
    def total(self) -> Fraction:
        """The epsilon of all that is done together."""
        return Fraction(self.epsilon)

    @property
    @abstractmethod
    def _neighbours(self) -> Neighbours:
        """Which tables the promise compares."""

    @property
    def cost(self) -> Cost:
        """What keeping it costs of a budget of differential privacy."""
        return Cost(epsilon=self.total, delta=Fraction(self.delta), neighbours=self._neighbours)
