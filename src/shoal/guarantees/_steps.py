"""Steps that methods of several families take, before and after records are protected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from shoal.errors import counted, quoted
from shoal.guarantees._events import UNLESS_DEFAULT, Event, columns_in_words
from shoal.schema import Missing, Schema
from shoal.tables import Classes, distinct_values

if TYPE_CHECKING:
    from shoal.guarantees._certificate import Data
    from shoal.guarantees._evidence import Decision, Evidence

#: columns that a sentence names, of those that a schema leaves out
_NAMED = 12


class Dropped(Event):
    """Columns were removed: identifiers, and those that the schema leaves out though they name nobody."""

    name = "dropped"
    term = "masking: direct identifiers removed"
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
        removed = f"Removed the identifying {columns_in_words(naming)}." if naming else ""
        left_out = f"Left out the {columns_in_words(self.left_out)}, as the schema asks." if self.left_out else ""
        if len(self.left_out) > _NAMED:  # the step itself lists them all
            some, others = quoted(self.left_out[:_NAMED]), len(self.left_out) - _NAMED
            left_out = f"Left out {len(self.left_out):,} columns, as the schema asks: {some} and {others:,} more."
        return f"{removed} {left_out}".strip()


class Pseudonymized(Event):
    """Identifiers were replaced by keyed pseudonyms; who holds the key can link them back."""

    name = "pseudonymized"
    term = "pseudonymization"
    columns: tuple[str, ...]
    algorithm: str = "HMAC-SHA-256"
    sentence = (
        "Replaced the identifying {columns!c} by {algorithm} pseudonyms; anyone who holds the key can link them back."
    )

    @classmethod
    def by(cls, schema: Schema) -> list[Event]:
        """Return the step that replaces identifiers by pseudonyms, if a schema asks for it."""
        columns = tuple(name for name in schema.identifiers if schema[name].pseudonym)
        return [cls(columns=columns)] if columns else []


class Repeated(Event):
    """Identifiers have the same value in several records, which every promise counts one by one."""

    name = "repeated"
    warns = True
    #: The identifiers, and how many different values each has.
    columns: tuple[str, ...]
    values: tuple[int, ...]
    #: The records that they were counted in: those that were not left out for missing values.
    records: int

    def describe(self) -> str:
        told = [
            f"`{column}` ({number:,} different values)"
            for column, number in zip(self.columns, self.values, strict=True)
        ]
        several = len(told) > 1
        return (
            f"{'Columns' if several else 'Column'} {', '.join(told)} {'repeat' if several else 'repeats'} in "
            f"{self.records:,} records. If {'one of them' if several else 'it'} says whose a record is, give it the "
            "role `person`; promises then count people instead of records."
        )

    def check(self, evidence: Evidence) -> Decision:
        """Look whether these are identifiers, and values of so many records may repeat as often."""
        named = [name for name in evidence.plan.schema.identifiers if name in self.columns]
        if not named or list(self.columns) != named:
            return False, "these are not identifiers of the plan"
        released = max(data.records for data in evidence.certificate.tables)
        repeats = all(1 < number < self.records for number in self.values)
        return repeats and self.records >= released, "" if repeats else "so many values do not repeat"


class Rounded(Event):
    """Numbers of columns that are released as they are were rounded to multiples of a step when they were read."""

    name = "rounded"
    term = "generalization: rounding"
    effect = "rounded to a step"
    columns: tuple[str, ...]
    #: The step of every column, as decimal text.
    steps: tuple[str, ...]

    @classmethod
    def by(cls, schema: Schema) -> list[Event]:
        """Return the step that rounds numbers, if a schema asks for it."""
        steps = {
            each.name: each.reading.round_to for each in schema if each.reading.round_to and not each.role.left_out
        }
        return [cls(columns=tuple(steps), steps=tuple(f"{step:.15g}" for step in steps.values()))] if steps else []

    def describe(self) -> str:
        pairs = zip(self.columns, self.steps, strict=True)
        return f"Rounded {', '.join(f'`{name}` to multiples of {step}' for name, step in pairs)}."

    def check(self, evidence: Evidence) -> Decision:
        """Look whether every released number is a multiple of its step."""
        for name, step in zip(self.columns, self.steps, strict=True):
            file = next(
                (table.file for table in evidence.certificate.tables if name in {c.name for c in table.columns}), ""
            )
            values = distinct_values(evidence.tables[file], name).drop_null().cast(pa.float64()).to_numpy()
            nearest = np.rint(values / float(step)) * float(step)
            if np.any(np.abs(values - nearest) > 1e-9 * np.maximum(np.abs(values), float(step))):
                return False, f"`{name}` holds numbers that are no multiples of {step}"
        return True, f"{counted(len(self.columns), 'column')} of multiples of the steps"


class LeftOut(Event):
    """Records that miss a value of a column with ``missing = "drop"`` were left out."""

    name = "left-out"
    term = "record suppression"
    records: int
    columns: tuple[str, ...]
    sentence = "Left out {records:record} with missing values in {columns!c}."

    @staticmethod
    def possible_columns(schema: Schema) -> tuple[str, ...]:
        """Return the columns whose missing values leave records out."""
        return tuple(attribute.name for attribute in schema if attribute.missing is Missing.DROP)

    def check(self, evidence: Evidence) -> Decision:
        """Look whether any record was left out; how many, no file shows."""
        del evidence
        return self.records >= 1, "" if self.records >= 1 else "no record was left out"


class Bounded(Event):
    """At most so many records of every person were kept, drawn at random among that person's own."""

    name = "bounded"
    draws = True
    term = "sampling"
    #: The column that says whose record it is.
    column: str
    #: The most that is kept of a person.
    records: int

    @classmethod
    def by(cls, schema: Schema, records: int | None) -> list[Event]:
        """Return the step that keeps so many records of a person, where a schema names persons."""
        return [] if schema.person is None or records is None else [cls(column=schema.person, records=records)]

    def describe(self) -> str:
        kept = "one record" if self.records == 1 else f"at most {self.records:,} records"
        return f"Kept {kept} of every person (`{self.column}`), drawn at random among that person's records."


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

    def describe(self) -> str:
        if self.persons == self.records:
            among = f"each of the {self.records:,} released records belongs to a different person"
            return f"Counted persons by `{self.column}`: {among}."
        alone = "" if not self.columns else f" of {columns_in_words(self.columns)}"
        share = "" if self.hidden is None else f"; nobody has more than 1/{self.hidden:,} of the records of a class"
        return (
            f"Counted persons by `{self.column}`: {self.persons:,} in {self.records:,} released records; the smallest "
            f"class{alone} has {self.smallest:,} records, and no class has fewer than {self.fewest:,} persons{share}."
        )

    def effects(self) -> Iterator[tuple[str, str]]:
        yield from ()

    @property
    def crowd(self) -> int:
        """Among how many people a record hides."""
        return self.fewest if self.hidden is None else self.hidden

    def check(self, evidence: Evidence) -> Decision:
        """Compare the numbers with the records and classes of the release, and with each other."""
        problem = self._contradiction(evidence)
        return problem is None, problem or ""

    def _contradiction(self, evidence: Evidence) -> str | None:
        method, data = evidence.plan.method, self._data(evidence)
        if method.shows_members != (self.hidden is not None):
            return "it does not say how many records of a class one person has"
        if method.shows_members and data.class_column is None:
            # some steps put records into classes that nobody sees
            sizes = [step.hidden_classes for step in evidence.all_steps if step.hidden_classes is not None]
        else:
            described = data.with_classes_of(self.columns or data.quasi_identifiers)
            classes = Classes.from_tuples(evidence.frequencies(data, columns=described))
            sizes = [(len(classes), int(classes.sizes.min(initial=data.records)))]
            shown = (int(classes.crowds.sum()), int(classes.crowds.min(initial=data.records)))
            if method.linked and evidence.frequencies(data).persons != self.persons:
                return "the pseudonyms are not as many as the persons"
            if method.linked and shown != (self.memberships, self.fewest):
                return "the numbers of persons are not those of the pseudonyms"
        number = max((number for number, smallest in sizes if smallest == self.smallest), default=None)
        if self.records != data.records or number is None:
            return "the numbers of records are not those of the release"
        ascending = (1, self.crowd, self.fewest, self.persons, self.memberships, self.records)
        if list(ascending) != sorted(ascending) or not number * self.fewest <= self.memberships:
            return "the numbers of persons contradict each other"
        return "a class has more persons than records" if self.fewest > self.smallest else None

    def _data(self, evidence: Evidence) -> Data:
        """Return the table whose classes are meant: the one that shows them, where two are linked by classes."""
        linked = [data for data in evidence.certificate.tables if data.class_column is not None]
        named = [
            data for data in evidence.certificate.tables if {*self.columns} <= {column.name for column in data.columns}
        ]
        return linked[-1] if linked else named[0]


class Ordered(Event):
    """Records were put in an order that holds nothing of the input's order."""

    name = "ordered"
    by: str = "the released values"
    sentence = "Ordered the records by {by}, so that their order reveals nothing more."

    @property
    def is_routine(self) -> bool:
        return True


#: the steps that every method may take
COMMON_STEPS: tuple[type[Event], ...] = (Dropped, Pseudonymized, Rounded, Repeated, LeftOut, Bounded, Counted, Ordered)
