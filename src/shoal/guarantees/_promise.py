"""Promises of a release, with their strength, assumptions, cost and source of randomness."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from shoal.errors import ParameterError, ParameterProblem, Problems, quoted
from shoal.exact import Checked, Number, ball, enclosures, plain
from shoal.guarantees._events import Budget, Event, budget
from shoal.schema import Schema

if TYPE_CHECKING:
    from shoal.guarantees._certificate import PromiseEntry
    from shoal.guarantees._evidence import Evidence
    from shoal.guarantees._verification import Check


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The terms in which the statements of a release speak of its classes and persons."""

    #: What such a set of records is called: a class, or a cluster.
    group: str = "class"
    #: Whether its records share their released quasi-identifiers; else they are only said to be in the same group.
    alike: bool = True
    #: The quasi-identifiers that the promise is about; empty for all of them.
    columns: tuple[str, ...] = ()
    #: The column that says whose record it is, where persons are counted; None where every record is a person.
    person: str | None = None
    #: Whether a pseudonym links the records of a person.
    linked: bool = False

    @property
    def unit(self) -> str:
        """Whose privacy is meant."""
        return "record" if self.person is None else "person"

    @property
    def groups(self) -> str:
        """The plural of `group`."""
        return f"{self.group}es" if self.group.endswith("s") else f"{self.group}s"

    @property
    def person_assumptions(self) -> tuple[str, ...]:
        """What a promise assumes if persons are counted."""
        if self.person is None:
            return ()
        same = f"Records belong to the same person where `{self.person}` has the same value, and only there."
        return same, self._together

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a promise about groups assumes if persons are counted, and if records do not look alike."""
        if self.alike:
            return self.person_assumptions
        return (
            *self.person_assumptions,
            "Quasi-identifiers are released as they are: who is in the release is not hidden.",
            f"An intruder knows no confidential values of other people in the {self.group}.",
        )

    @property
    def _together(self) -> str:
        """What is assumed of an intruder who could put the records of a person together."""
        if self.linked:
            return "An intruder does not know what else happened to somebody: the records of a person are linked."
        if self.alike:
            return "An intruder knows neither how many records somebody has nor which belong to the same person."
        return (
            "An intruder may know which records belong to the same person, but considers one at a time: what they "
            f"reveal together, such as a value that all their {self.groups} have, is not covered."
        )

    def quasi_identifiers(self, whose: str) -> str:
        """Return what an intruder knows of somebody: "its quasi-identifiers"."""
        if not self.columns:
            return f"{whose} quasi-identifiers"
        return f"{whose} values of {quoted(self.columns)}"

    @property
    def shares(self) -> str:
        """How one record stands to the others: "shares its quasi-identifiers with"."""
        return f"shares {self.quasi_identifiers('its')} with" if self.alike else f"is in a {self.group} with"

    @property
    def sharing(self) -> str:
        """How several records stand to each other: "that share their quasi-identifiers"."""
        return f"that share {self.quasi_identifiers('their')}" if self.alike else f"of the same {self.group}"

    @property
    def among(self) -> str:
        """Whose values are meant: "Among records that share their quasi-identifiers"."""
        if self.person is None:
            return f"Among records {self.sharing}"
        if not self.alike:
            return f"Among records {self.sharing}, and among their persons with one vote each"
        return f"Among the persons with records {self.sharing}, each with one vote"

    def say_crowd(self, k: int) -> str:
        """Say how many share: "Every record shares its quasi-identifiers with at least 4 other records"."""
        others = f"{k - 1} other {'record' if self.person is None else 'person'}{'' if k == 2 else 's'}"
        if self.person is None:
            return f"Every record {self.shares} at least {others}"
        if self.linked:
            same = f"show the same {self.quasi_identifiers('').strip()} as those of at least {others}"
            return f"All records of a person together {same}, {k} persons in all"
        return f"Every record {self.shares} records of at least {others}, {k} persons in all"

    def say_hidden_among(self, k: int) -> str:
        """Say that values hide among those of k people, where quasi-identifiers are released as they are."""
        share = "" if self.person is None else f", of whom nobody has more than 1/{k} of its records"
        among = f"at least {k} people in a {self.group}{share}"
        return f"The confidential values of every person are hidden among those of {among}."


CLASSES = Words()
"""The words of a release whose classes share their quasi-identifiers."""


class PromiseKind(Checked, ABC):
    """A kind of promise; a value of it is one promise, with its parameters."""

    __slots__ = ()
    name: ClassVar[str]
    #: Whether it is differential privacy of everything that is released, so that no figure of the input may be told.
    private: ClassVar[bool] = False
    #: Whether ``k`` says among how many records values were exchanged, in classes that are not published.
    hides_among_k: ClassVar[bool] = False

    @abstractmethod
    def statement(self, words: Words = CLASSES) -> str:
        """Say what is promised, in one plain sentence."""

    @abstractmethod
    def assumptions(self) -> tuple[str, ...]:
        """Say what must hold for the promise to mean what it says, and what it does not cover."""

    @abstractmethod
    def check(self, entry: PromiseEntry, evidence: Evidence) -> list[Check]:
        """Decide the promise again, from what the files of a release show."""

    def parameters(self) -> dict[str, object]:
        """Return the parameters by name, as in plan files and certificates: plain values of TOML and JSON."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {name: plain(value) for name, value in values.items() if value is not None}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, object]) -> Self:
        """Make the promise from parameters as :meth:`parameters` gives them; all problems are reported at once."""
        fields = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
        problems = Problems()
        for unknown in sorted(parameters.keys() - fields.keys()):
            problems.add(f"`{cls.title}` has no parameter `{unknown}`; it has {quoted(fields)}.")
        for name, each in fields.items():
            needed = each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING
            if needed and name not in parameters:
                problems.add(ParameterProblem.of(cls.title, name, "given"))
        problems.raise_as(ParameterError)
        return cls(**parameters)

    def __repr__(self) -> str:
        return f"{self.title}({', '.join(f'{name}={value!r}' for name, value in self.parameters().items())})"


class Requirement(PromiseKind):
    """A promise that a plan can ask for."""

    __slots__ = ()
    #: What it means to people who choose a promise, and which values are usual; shown by the app.
    advice: ClassVar[str] = ""
    #: The parameter that stands for the promise where it is asked for in short, as by ``--k 5`` or ``--l COLUMN=3``,
    #: and what that number is; empty where it has no short form.
    short: ClassVar[str] = ""
    label: ClassVar[str] = ""

    def problems(self, schema: Schema) -> list[str]:
        """Return everything in ``schema`` that keeps this promise from being kept, each with what to do about it."""
        del schema
        return []

    def resolve(self, schema: Schema) -> Self:
        """Return the promise with everything spelt out that it leaves to the schema."""
        del schema
        return self

    @property
    def cost(self) -> Cost | None:
        """What keeping it costs of a budget of differential privacy; None: no such budget can count it."""
        return None


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

    @property
    def same_size(self) -> bool:
        """Whether neighbours have equally many records or persons, so that this number is public."""
        return self in (Neighbours.REPLACE, Neighbours.REPLACE_PERSON, Neighbours.REPLACE_RECORDS_OF_PERSON)


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """One promise of a release, in words and figures."""

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
        Where random numbers came from, as observed while they were drawn, whatever the method says; a seeded source is
        for tests and says so here.
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
    """Say where the random numbers that were drawn came from."""
    return CRYPTOGRAPHIC if cryptographic else "a seed, for tests: whoever knows it can repeat the draw"


def without_randomness(*, key: bool) -> str:
    """Say that no random number was drawn, but for the secret key of pseudonyms where there is one."""
    return f"{NO_RANDOMNESS}, but for the secret key of the pseudonyms" if key else NO_RANDOMNESS


#: neighbours that replace something, by those that add or remove it
_REPLACING = {
    Neighbours.ADD_REMOVE: (Neighbours.REPLACE,),
    Neighbours.ADD_REMOVE_PERSON: (Neighbours.REPLACE_PERSON, Neighbours.REPLACE_RECORDS_OF_PERSON),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The (epsilon, delta) of a release, what it is in concentrated privacy, and which neighbours it is about.

    An account that adds up rho counts ``rho`` and ``beta``: the release is beta-approximately rho-concentrated for
    whole orders (Bun and Steinke 2016, Def. 8.1; the conversions to epsilon use whole orders only). A method that knows
    less leaves them out; then they follow from (epsilon, delta) (Prop. 1.4 and section 8 there; rho = epsilon, too,
    since no divergence is above epsilon).

    Examples
    --------
    >>> cost = Cost(epsilon=Fraction(1), neighbours=Neighbours.ADD_REMOVE)
    >>> cost.convert_neighbours(Neighbours.REPLACE).epsilon
    Fraction(2, 1)
    >>> Cost(epsilon=Fraction(1), neighbours=Neighbours.REPLACE).convert_neighbours(Neighbours.ADD_REMOVE) is None
    True
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    neighbours: Neighbours
    rho: Fraction | None = None
    beta: Fraction = Fraction(0)

    @property
    def rho_and_beta(self) -> tuple[Fraction, Fraction]:
        """Rho and beta: those that are known, or those that follow from epsilon and delta.

        Examples
        --------
        >>> Cost(epsilon=Fraction(1), neighbours=Neighbours.ADD_REMOVE).rho_and_beta
        (Fraction(1, 2), Fraction(0, 1))
        """
        if self.rho is not None:
            return self.rho, self.beta
        return convert_epsilon_to_rho(self.epsilon), self.delta

    def convert_neighbours(self, neighbours: Neighbours) -> Cost | None:
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


def convert_epsilon_to_rho(epsilon: Fraction) -> Fraction:
    """Return the rho of what is epsilon-differentially private."""
    return min(epsilon**2 / 2, epsilon)


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
