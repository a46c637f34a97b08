"""What was done to the data, step by step; what it costs is computed from these and never written by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from string import Formatter
from typing import Any, ClassVar, dataclass_transform

from shoal.errors import counted, quoted
from shoal.exact import fraction
from shoal.schema import Schema

_UNLESS_DEFAULT = "unless default"
UNLESS_DEFAULT: dict[str, bool] = {_UNLESS_DEFAULT: True}
"""The metadata of a field that a certificate states only where it is not the default."""


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that a step did; one that spends privacy budget has fields ``epsilon_spent`` and ``delta_spent``.

    Every kind of event is a frozen dataclass by inheritance. It is said in one sentence: ``sentence`` with the fields
    in their places, or what ``describe`` returns where that is not enough.
    """

    name: ClassVar[str]
    #: ``{columns!q}`` lists names in backticks, ``{columns!c}`` says that they are columns, ``{columns!n:,}`` is how
    #: many there are, ``{records:record}`` counts records in words, ``{rho!f:.4g}`` is a float
    sentence: ClassVar[str]

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True)(cls)

    @property
    def epsilon(self) -> Fraction:
        """The epsilon that this step spends."""
        return Fraction(getattr(self, "epsilon_spent", 0))

    @property
    def delta(self) -> Fraction:
        """The delta that this step spends."""
        return Fraction(getattr(self, "delta_spent", 0))

    def describe(self) -> str:
        """Say what was done, in one plain sentence."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return _SENTENCES.vformat(self.sentence, (), fields)

    def to_json(self) -> dict[str, object]:
        """Return the event as it stands in a certificate."""
        values = {
            field.name: _plain(getattr(self, field.name))
            for field in dataclasses.fields(self)
            if not (field.metadata.get(_UNLESS_DEFAULT) and getattr(self, field.name) == field.default)
        }
        spent = {"epsilon_spent": self.epsilon, "delta_spent": self.delta}
        known = {name: _plain(value) for name, value in spent.items() if value}
        return {"step": self.name, **known, **values, "description": self.describe()}

    @classmethod
    def from_json(cls, step: Mapping[str, object]) -> Event:
        """Read a step of a certificate; KeyError, TypeError or ValueError where it is none that Shoal knows."""
        kinds: list[type[Event]] = [cls]
        for kind in kinds:
            kinds += kind.__subclasses__()
        known = {kind.name: kind for kind in kinds if hasattr(kind, "name")}[str(step["step"])]
        given = {
            field.name: (field.type, step[field.name])
            for field in dataclasses.fields(known)
            if field.name in step or not field.metadata.get(_UNLESS_DEFAULT)
        }
        return known(**{name: _READ.get(kind, _tuples)(value) for name, (kind, value) in given.items()})


_READ: dict[object, Callable[[Any], object]] = {
    "Fraction": lambda value: fraction(str(value)),
    "tuple[Fraction, ...]": lambda values: tuple(fraction(str(value)) for value in values),
}


class Dropped(Event):
    """Columns were removed: identifiers, and those that the schema leaves out though they name nobody."""

    name = "dropped"
    columns: tuple[str, ...]
    left_out: tuple[str, ...] = field(default=(), metadata=UNLESS_DEFAULT)

    @classmethod
    def by(cls, schema: Schema) -> list[Event]:
        """Return the step that removes what a schema does not release, if there is such a column."""
        removed = tuple(name for name in schema.identifiers if not schema[name].pseudonym)
        left_out = tuple(name for name in removed if schema[name].role.left_out)
        return [cls(columns=removed, left_out=left_out)] if removed else []

    def describe(self) -> str:
        naming = tuple(name for name in self.columns if name not in self.left_out)
        removed = f"Removed the identifying {_columns(naming)}." if naming else ""
        left_out = f"Left out the {_columns(self.left_out)}, as the schema asks." if self.left_out else ""
        return f"{removed} {left_out}".strip()


class Pseudonymized(Event):
    """Identifiers were replaced by keyed pseudonyms; who holds the key can link them back."""

    name = "pseudonymized"
    columns: tuple[str, ...]
    algorithm: str = "HMAC-SHA-256"
    sentence = (
        "Replaced the identifying {columns!c} by {algorithm} pseudonyms; anyone who holds the key can link them back."
    )


class LeftOut(Event):
    """Records that miss a value of a column with ``missing = "drop"`` were left out."""

    name = "left-out"
    records: int
    columns: tuple[str, ...]
    sentence = "Left out {records:record} with missing values in {columns!c}."


class Bounded(Event):
    """At most so many records of every person were kept, drawn at random among that person's own."""

    name = "bounded"
    #: The column that says whose record it is.
    column: str
    #: The most that is kept of a person.
    records: int

    def describe(self) -> str:
        kept = "one record" if self.records == 1 else f"at most {self.records:,} records"
        return f"Kept {kept} of every person (`{self.column}`), drawn at random among that person's records."


class Generalized(Event):
    """Quasi-identifiers were generalised; ``levels`` are those of a full-domain recoding, else empty."""

    name = "generalized"
    method: str
    columns: tuple[str, ...]
    levels: tuple[int, ...] = ()
    heights: tuple[int, ...] = ()

    def describe(self) -> str:
        if not self.levels:
            return f"Generalised the {_columns(self.columns)} with method `{self.method}`."
        chosen = ", ".join(
            f"{column} {level}/{height}"
            for column, level, height in zip(self.columns, self.levels, self.heights, strict=True)
        )
        return f"Generalised every value of a column to one level of its hierarchy (level/top): {chosen}."


class SchemeChosen(Event):
    """A generalisation scheme was chosen by private selections."""

    name = "scheme-chosen"
    #: ``draw`` over all nodes of the lattice, ``tree``: a draw over all trees of specialisations, ``split walk``,
    #: ``published walk`` (whose last step no proof covers), or ``fixed``: nothing was chosen.
    search: str
    #: What was maximised, and how much one record can change it.
    score: str
    sensitivity: Fraction
    #: The number of selections, and of nodes of the lattice.
    selections: int
    candidates: int
    #: By all selections together.
    epsilon_spent: Fraction

    def describe(self) -> str:
        if self.search == "fixed":
            return "Used a generalisation scheme that was fixed beforehand."
        how = {
            "draw": f"one private draw among all {self.candidates:,} nodes of the lattice",
            "tree": "one private draw among all trees of specialisations",
            "split walk": f"{self.selections:,} private draws on a walk over the lattice",
            "published walk": f"{self.selections:,} private draws on a walk, and the best of them by an exact score",
        }
        chosen = how.get(self.search, self.search)
        return f"Chose the generalisation scheme by {chosen} (score: {self.score}; epsilon {_number(self.epsilon)})."


class Sampled(Event):
    """Records were sampled, and tuples that were sampled too few times were left out."""

    name = "sampled"
    #: The probability with which each record was sampled.
    beta: Fraction
    #: Tuples that were sampled fewer times were left out.
    k: int
    #: What that promises, given the scheme.
    epsilon_spent: Fraction
    delta_spent: Fraction
    definition: str
    sentence = (
        "Sampled every record with probability {beta!f:.6g} and left out every combination of values that was sampled "
        "fewer than {k:,} times (epsilon {epsilon_spent!f:.6g}, delta {delta_spent!f:.6g})."
    )


class Trimmed(Event):
    """A random number of records of every class was left out, and classes with too few left."""

    name = "trimmed"
    #: How many records a class lost on average.
    m: int
    #: Classes with fewer records left were left out.
    least: int
    #: What that promises, given the scheme.
    epsilon_spent: Fraction
    delta_spent: Fraction
    definition: str

    def describe(self) -> str:
        few = f" and then every combination with fewer than {self.least:,} records left" if self.least > 1 else ""
        return (
            f"Left out a random number of the records of every combination of values, about "
            f"{counted(self.m, 'record')} on average{few} (epsilon {_number(self.epsilon)}, delta "
            f"{_number(self.delta)})."
        )


class Filtered(Event):
    """Drawn classes that violate a model were left out; what is left depends on nothing but the drawn classes."""

    name = "filtered"
    models: tuple[str, ...]
    sentence = "Left out classes that violate {models!q}."


class Suppressed(Event):
    """Records of classes that no promise allows were removed."""

    name = "suppressed"
    records: int
    of: int
    sentence = "Suppressed {records:,} of {of:,} records."


class Repeated(Event):
    """Identifiers have the same value in several records, which every promise counts one by one."""

    name = "repeated"
    #: The identifiers, and how many different values each has.
    columns: tuple[str, ...]
    values: tuple[int, ...]
    #: The records that they were counted in: those that were not left out for missing values.
    records: int

    def describe(self) -> str:
        told = [
            f"{number:,} people in {self.records:,} records, if `{column}` says whose they are"
            for column, number in zip(self.columns, self.values, strict=True)
        ]
        return f"{'; '.join(told)}: promises count records (the role `person` makes them count people)."


class Counted(Event):
    """The persons of the released records were counted."""

    name = "counted"
    #: The column that says whose record it is.
    column: str
    #: The released records, and the persons that they are of.
    records: int
    persons: int
    #: The persons of every class, added up: somebody with records in two classes counts twice.
    memberships: int
    #: The records of the class with the fewest records, and the persons of the class with the fewest persons.
    smallest: int
    fewest: int
    #: Where quasi-identifiers are released as they are, so that anybody sees how many records of a class are of whom:
    #: nobody has more than one in so many of the records of a class. None where the records of a class look alike.
    hidden: int | None = field(default=None, metadata=UNLESS_DEFAULT)
    #: The columns whose values make the classes, where they are not all quasi-identifiers; empty where they are.
    columns: tuple[str, ...] = field(default=(), metadata=UNLESS_DEFAULT)

    def __post_init__(self) -> None:
        numbers = [self.records, self.persons, self.memberships, self.smallest, self.fewest]
        numbers += [] if self.hidden is None else [self.hidden]
        if not all(type(number) is int and number >= 1 for number in numbers):
            raise ValueError("numbers of records and persons are whole and positive")

    @classmethod
    def of(cls, steps: Iterable[Mapping[str, object]]) -> Counted | None:
        """Return the step of a certificate that counts persons, if it has a readable one."""
        for step in steps:
            if step.get("step") == cls.name:
                try:
                    found = Event.from_json(step)
                except (KeyError, TypeError, ValueError):
                    return None
                return found if isinstance(found, cls) else None
        return None

    def describe(self) -> str:
        if self.persons == self.records:
            among = f"each of the {self.records:,} released records belongs to a different person"
            return f"Counted persons by `{self.column}`: {among}."
        alone = "" if not self.columns else f" of {_columns(self.columns)}"
        share = "" if self.hidden is None else f"; nobody has more than 1/{self.hidden:,} of the records of a class"
        return (
            f"Counted persons by `{self.column}`: {self.persons:,} in {self.records:,} released records; the smallest "
            f"class{alone} has {self.smallest:,} records, and no class has fewer than {self.fewest:,} persons{share}."
        )

    @property
    def crowd(self) -> int:
        """Among how many people a record hides."""
        return self.fewest if self.hidden is None else self.hidden


class Ordered(Event):
    """Records were put in an order that holds nothing of the input's order."""

    name = "ordered"
    by: str = "the released values"
    sentence = "Ordered the records by {by}, so that their order reveals nothing more."


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The total privacy loss of all steps: sequential composition adds both parts."""

    epsilon: Fraction
    delta: Fraction


def budget(events: Iterable[Event]) -> Budget:
    """Add up what the steps spend (basic composition).

    Examples
    --------
    >>> budget([Ordered()])
    Budget(epsilon=Fraction(0, 1), delta=Fraction(0, 1))
    """
    steps = list(events)
    return Budget(
        epsilon=sum((step.epsilon for step in steps), Fraction(0)),
        delta=sum((step.delta for step in steps), Fraction(0)),
    )


def _tuples(value: object) -> object:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _columns(names: tuple[str, ...]) -> str:
    return f"column{'s' if len(names) > 1 else ''} {quoted(names)}"


def _number(value: Fraction) -> str:
    return f"{float(value):.6g}"


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return str(value)
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else value


class _Sentences(Formatter):
    _conversions: ClassVar[dict[str, Callable[[Any], object]]] = {"q": quoted, "c": _columns, "n": len, "f": float}

    def convert_field(self, value: object, conversion: str | None) -> object:
        return self._conversions[conversion](value) if conversion else value

    def format_field(self, value: Any, format_spec: str) -> str:
        noun = len(format_spec) > 1 and format_spec.isalpha()
        return counted(value, format_spec) if noun else format(value, format_spec)


_SENTENCES = _Sentences()
