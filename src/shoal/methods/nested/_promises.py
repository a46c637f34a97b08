"""Promises to people with items in several tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from shoal.datasets import DatasetSchema
from shoal.errors import quoted
from shoal.exact import WHOLE, Arguments, Number, fraction, within
from shoal.guarantees import CLASSES, Check, Evidence, Promise, PromiseEntry, PromiseKind, Strength, Words
from shoal.schema.rules import join_words

#: the most items that an intruder may know: more are not practical to count
MOST_KNOWN = 6


@dataclass(frozen=True, slots=True, repr=False)
class KnownItems(PromiseKind):
    """(k, m)-anonymity of people with items in several tables.

    Parameters
    ----------
    k
        The least number of people who show a pattern, an integer in [1, inf).
    m
        How many items of a person somebody may know, an integer in [0, 6].

    Guarantee
    ---------
    Syntactic: every pattern of a root class and at most m linked items that occurs in the release is shown by at least
    k persons. A pattern is m rows below a root, none of which lies below another, with all rows above them and their
    links. A person shows it if it is found among its rows, each used once, with the links kept; rows above known ones
    are known as well and are not counted among the m. With m = 0 it is k-anonymity of the table of the persons.
    """

    k: int = field(metadata=WHOLE)
    m: int
    name: ClassVar[str] = "known-items"
    title: ClassVar[str] = "KnownItems"

    def fit(self, arguments: Arguments) -> None:
        known = arguments.whole("m", self.m, minimum=0)
        if known > MOST_KNOWN:
            arguments.problems.add(f"`m` of `KnownItems` must be an integer in [0, {MOST_KNOWN}]; got {known}.")

    def statement(self, words: Words = CLASSES) -> str:
        del words
        known = "" if not self.m else f" and up to {self.m} of the rows that belong to the person, with their links,"
        return (
            f"Whoever knows what others may know of a person in the first table{known} finds at least {self.k} persons "
            "who fit, or none."
        )

    def statement_for(self, described: DatasetSchema) -> str:
        """Say what is promised of the tables of a data set, by their names."""
        known, items = _knowledge(described, self.m)
        sizes = [table.name for table in described if table.size is not None]
        others = [name for name in items if name not in sizes]
        covered = [f"How many rows of {quoted(sizes)} somebody has is covered."] if sizes and self.m else []
        if others and self.m:
            covered.append(f"How many rows of {quoted(others)} there are, and which are missing, is not covered.")
        return " ".join([f"Whoever knows {known} finds at least {self.k} persons who fit, or none.", *covered])

    def assumptions(self) -> tuple[str, ...]:
        return (
            "Others know at most what is listed as known: the released columns with the role quasi-identifier, of the "
            f"person and of at most {self.m} items below it; the rows above a known item are known as well.",
            "Not covered: how many items somebody has, unless that is a known column; that an item is missing, the "
            "position of an item, and what is known of several persons at once.",
            "Not covered: columns that are released as they are, where others know them.",
            "Everyone who fits may have the same sensitive value, unless another promise says otherwise.",
        )

    def check(self, entry: PromiseEntry, evidence: Evidence) -> list[Check]:
        """Return nothing: a data set is checked as a whole, by `shoal.verification`."""
        del entry, evidence
        return []


@dataclass(frozen=True, slots=True, repr=False)
class SecretAmongKnownItems(PromiseKind):
    """No pattern of known items makes a named secret value more certain than a fraction.

    Parameters
    ----------
    column
        The column with the secret, as ``table.column``.
    value
        The secret value. A person has it if the root or any of its items has it.
    c
        The largest certainty, in (0, 1].
    m
        How many items of a person somebody may know, as in `KnownItems`.

    Guarantee
    ---------
    Syntactic: of the persons who show a pattern of a root class and at most m linked items, at most the fraction c has
    the value in the release. It is not monotone: making items coarser, or leaving out people without the value, can
    raise it. So it is decided on the release alone, over all patterns that occur there.
    """

    column: str
    value: str
    c: Number = field(metadata=within("(0, 1]"))
    m: int
    name: ClassVar[str] = "secret-among-known-items"
    title: ClassVar[str] = "SecretAmongKnownItems"

    def fit(self, arguments: Arguments) -> None:
        arguments.whole("m", self.m, minimum=0)
        if not isinstance(self.column, str) or "." not in self.column:
            arguments.problems.add("`column` of `SecretAmongKnownItems` must be `table.column`.")
        if not isinstance(self.value, str) or not self.value:
            arguments.problems.add("`value` of `SecretAmongKnownItems` must be a text.")

    @property
    def certainty(self) -> Fraction:
        """The largest certainty, exactly."""
        return fraction(self.c)

    def statement(self, words: Words = CLASSES) -> str:
        del words
        return (
            f"Whoever knows what others may know of a person, and up to {self.m} of its rows with their links, does "
            f"not learn with more than {float(self.certainty):g} certainty that it has the value that is named for "
            f"`{self.column}`."
        )

    def statement_for(self, described: DatasetSchema) -> str:
        """Say what is promised of the tables of a data set, by their names."""
        known, _ = _knowledge(described, self.m)
        return (
            f"Whoever knows {known} does not learn with more than {float(self.certainty):g} certainty that this person "
            f"has the value that is named for `{self.column}`."
        )

    def assumptions(self) -> tuple[str, ...]:
        return (
            "Certainty is the share of those released persons who fit; rows that were left out are not counted.",
            "Only the named value is covered, and a person has it if any of its rows has.",
            "Not covered: how many items somebody has, and that an item is missing.",
        )

    def check(self, entry: PromiseEntry, evidence: Evidence) -> list[Check]:
        """Return nothing: a data set is checked as a whole, by `shoal.verification`."""
        del entry, evidence
        return []


def _knowledge(described: DatasetSchema, most: int) -> tuple[str, list[str]]:
    """Return what somebody knows of a person, and the tables of known rows."""
    own = [*described.root.known, *described.size_columns(described.root.name)]
    person = f"{join_words(f'`{name}`' for name in own)} of" if own else "of"
    known = f"{person} somebody in `{described.root.name}`" if own else f"that somebody is in `{described.root.name}`"
    if not most:
        return known, []
    tables = []
    for table in described.items:
        names = [*table.known, *described.size_columns(table.name)]
        tables.append(f"`{table.name}` ({join_words(f'`{name}`' for name in names) if names else 'that there is one'})")
    rows = "1 row" if most == 1 else f"{most} rows"
    return (
        f"{known}, and up to {rows} of {join_words(tables)} that belong to this person, with the rows that these "
        "belong to,",
        [table.name for table in described.items],
    )


def promise_of(
    kind: KnownItems | SecretAmongKnownItems, described: DatasetSchema, accepted: Sequence[str] = ()
) -> Promise:
    """Return what a certificate says of a promise about the persons of a data set.

    ``accepted`` are columns that are released although they tell whose rows are whose.
    """
    told = f"The publisher accepts that {quoted(accepted)} may tell whose rows are whose."
    return Promise(
        model=kind.name,
        parameters=kind.parameters(),
        strength=Strength.SYNTACTIC,
        statement=kind.statement_for(described),
        assumptions=(*kind.assumptions(), told) if accepted else kind.assumptions(),
        unit="person",
    )
