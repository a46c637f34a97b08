"""Kinds of promises: each says itself in words, writes and reads its parameters, and checks itself on a release."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from shoal.errors import ParameterError, Problems, quoted
from shoal.exact import Checked, plain
from shoal.schema import Schema

if TYPE_CHECKING:
    from shoal.guarantees._certificate import PromiseEntry
    from shoal.guarantees._evidence import Check, Evidence
    from shoal.guarantees._promise import Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """How a release speaks of the records that hide each other, so that nobody edits a sentence afterwards."""

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
    def counted(self) -> tuple[str, ...]:
        """What a promise assumes if persons are counted."""
        if self.person is None:
            return ()
        same = f"Records are of the same person where `{self.person}` has the same value, and only there."
        return same, self._together

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a promise about groups assumes if persons are counted, and if records do not look alike."""
        if self.alike:
            return self.counted
        return (
            *self.counted,
            "Quasi-identifiers are released as they are: who is in the release is not hidden.",
            f"An intruder knows no confidential values of other people of the {self.group}.",
        )

    @property
    def _together(self) -> str:
        """What is assumed of an intruder who could put the records of a person together."""
        if self.linked:
            return "An intruder does not know what else happened to somebody: the records of a person are linked."
        if self.alike:
            return "An intruder knows neither how many records somebody has nor which are of the same person."
        return (
            "An intruder may know which records are of the same person, and looks at one at a time: what they tell "
            f"together, such as a value that all their {self.groups} have, is not covered."
        )

    def known(self, whose: str) -> str:
        """Return what an intruder knows of somebody: "its quasi-identifiers"."""
        if not self.columns:
            return f"{whose} quasi-identifiers"
        return f"{whose} values of {quoted(self.columns)}"

    @property
    def shares(self) -> str:
        """How one record stands to the others: "shares its quasi-identifiers with"."""
        return f"shares {self.known('its')} with" if self.alike else f"is in a {self.group} with"

    @property
    def sharing(self) -> str:
        """How several records stand to each other: "that share their quasi-identifiers"."""
        return f"that share {self.known('their')}" if self.alike else f"of the same {self.group}"

    @property
    def among(self) -> str:
        """Whose values are meant: "Among records that share their quasi-identifiers"."""
        if self.person is None:
            return f"Among records {self.sharing}"
        if not self.alike:
            return f"Among records {self.sharing}, and among their persons with one vote each"
        return f"Among the persons with records {self.sharing}, each with one vote"

    def crowd(self, k: int) -> str:
        """Say how many share: "Every record shares its quasi-identifiers with at least 4 other records"."""
        if self.person is None:
            return f"Every record {self.shares} at least {k - 1} other records"
        if self.linked:
            return (
                f"All records of a person together show the same {self.known('').strip()} as those of at least {k - 1} "
                f"other persons, {k} persons in all"
            )
        return f"Every record {self.shares} records of at least {k - 1} other persons, {k} persons in all"

    def hidden(self, k: int) -> str:
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
            listed = quoted(fields)
            problems.add(f"`{cls.title}` has no parameter `{unknown}`; it has {listed}.")
        for field in fields.values():
            needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            if needed and field.name not in parameters:
                problems.add(f"`{cls.title}` needs the parameter `{field.name}`.")
        problems.raise_as(ParameterError)
        return cls(**parameters)

    def __repr__(self) -> str:
        return f"{self.title}({', '.join(f'{name}={value!r}' for name, value in self.parameters().items())})"


class Requirement(PromiseKind):
    """A promise that a plan can ask for."""

    __slots__ = ()

    def problems(self, schema: Schema) -> list[str]:
        """Return everything in ``schema`` that keeps this promise from being kept, each with what to do about it."""
        del schema
        return []

    def resolved(self, schema: Schema) -> Self:
        """Return the promise with everything spelt out that it leaves to the schema."""
        del schema
        return self

    @property
    def cost(self) -> Cost | None:
        """What keeping it costs of a budget of differential privacy; None: no such budget can count it."""
        return None
