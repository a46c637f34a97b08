"""Guess a schema from what the columns look like, and say why.

The guesses err on the side of protection: a column of which nothing is known is a quasi-identifier, and one that can
neither be made coarser nor be released as it is waits for a person's decision.
A drafted schema is marked ``guessed`` until a person has confirmed it.
"""

from __future__ import annotations

import dataclasses
import os
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shoal import notebook
from shoal.errors import Problems, SchemaError
from shoal.schema._domain import Kind, Reading
from shoal.schema._schema import Attribute, Missing, Role, Schema
from shoal.schema._toml import dumps
from shoal.schema.drafts._guesses import ENOUGH, guess_hierarchy, guess_kind, guess_role
from shoal.schema.drafts._names import household_key, names_people, person_key, topic, words
from shoal.schema.drafts._profile import ColumnProfile, Guess
from shoal.writing import write_file

# a key whose values hardly tell records apart is not one of people
_SEPARATING = 0.5
_SEPARATING_PEOPLE = 0.9
# so few records without a key can be left out without a question
_KEYLESS = 0.05
_SPOKEN = {
    Role.QUASI_IDENTIFIER: "that others may know",
    Role.SENSITIVE: "secret",
    Role.IDENTIFIER: "naming people",
    Role.PERSON: "saying whose record it is",
    Role.HOUSEHOLD: "saying whose household it is",
    Role.DROP: "left out",
    Role.INSENSITIVE: "harmless",
    Role.WEIGHT: "saying how many people a record stands for",
    Role.STRATUM: "saying where a record was drawn",
    Role.DECIDE: "to decide",
}
_TEMPLATE = (
    "A template for differential privacy, made from the names of the columns alone: no record was looked at.",
    "Nothing is released until you have",
    '  1. filled in every column of role "decide", from a code book or from common knowledge, not from the data:',
    '     `values = ["...", "..."]`, or `kind = "numeric"` with `minimum` and `maximum`, or `kind = "date"` with days',
    '     as bounds; then `role = "quasi-identifier"`. Or `role = "drop"`, which leaves the column out.',
    "  2. checked the other columns, which were filled in with what is publicly known about such names;",
    "  3. removed the line `guessed = true`.",
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Draft:
    """A guessed schema.

    Parameters
    ----------
    schema
        The schema, marked as guessed.
    reasons
        Why each column was guessed to be what it is; column names and shares, never a value.
    ranking
        The quasi-identifiers, most distinguishing first.
    records
        The number of records that were looked at; None if nothing but the names of the columns was.
    unknown
        The columns of which nothing is known, so that caution alone decided.
    """

    schema: Schema
    reasons: Mapping[str, str]
    ranking: tuple[str, ...] = ()
    records: int | None = 0
    unknown: tuple[str, ...] = ()

    @property
    def undecided(self) -> tuple[str, ...]:
        """The columns that nobody but a person can decide."""
        return self.schema.having(Role.DECIDE)

    @property
    def questions(self) -> tuple[str, ...]:
        """The columns that a person should be asked about: first those that nobody but a person can decide."""
        return (*self.undecided, *self.unknown)

    @property
    def summary(self) -> str:
        """How many columns are what: ``23 that others may know, 13 secret, 4 to decide``."""
        counts = ((len(self.schema.having(role)), words) for role, words in _SPOKEN.items())
        return ", ".join(f"{count} {words}" for count, words in counts if count)

    def with_role(self, name: str, role: Role | str) -> Draft:
        """Return the draft after a person has decided what a column is."""
        schema = self.schema.with_role(name, role)
        if not schema[name].role.known_elsewhere:
            bare = tuple(dataclasses.replace(each, hierarchy=None) if each.name == name else each for each in schema)
            schema = dataclasses.replace(schema, attributes=bare)
        return dataclasses.replace(
            self,
            schema=schema,
            reasons={**self.reasons, name: f"{schema[name].role}: decided by a person."},
            ranking=tuple(each for each in self.ranking if schema[each].role.known_elsewhere),
            unknown=tuple(each for each in self.unknown if each != name),
        )

    def dropping(self, wanted: Sequence[str]) -> Draft:
        """Return the draft without the columns that have one of these words in their names, or are called so.

        Raises
        ------
        SchemaError
            If a word is in no name.
        """
        made, problems = self, Problems()
        for word in wanted:
            found = [name for name in self.schema.names if name == word or (words(word) and words(word) <= words(name))]
            if not found:
                problems.add(f"no column has the word `{word}` in its name")
            for name in found:
                made = made.with_role(name, Role.DROP)
        problems.raise_as(SchemaError)
        return made

    def confirmed(self) -> Draft:
        """Return the draft after a person has looked at all of it: its schema is no longer marked as guessed."""
        return dataclasses.replace(self, schema=dataclasses.replace(self.schema, guessed=False))

    def __repr__(self) -> str:
        return f"<Draft of {len(self.schema.names)} columns: {self.summary}>"

    def _repr_html_(self) -> str:
        rows = [(each.name, each.role, each.kind, self.reasons[each.name]) for each in self.schema]
        return notebook.shown(f"A draft: {self.summary}", ("column", "role", "kind", "why"), rows)

    def to_toml(self) -> str:
        """Return the schema as TOML, each guess with its reason as a comment."""
        if self.records is None:
            return dumps(self.schema, head=[*_TEMPLATE, f"Columns: {self.summary}."], comments=self._comments)
        checked = "Everything below is a guess: check the roles first."
        if not self.schema.guessed:
            checked = "A person has checked it."
        head = [
            f"A draft made from {self.records:,} records. {checked}",
            "A column that an intruder may know from elsewhere must be a quasi-identifier.",
            f"Columns: {self.summary}.",
            "Domains (`minimum` and `maximum`, or `values`) are yours to declare; none is taken from the data.",
        ]
        if self.ranking:
            head.append(f"Quasi-identifiers, most distinguishing first: {', '.join(self.ranking)}.")
        wrapped = [line for text in head for line in textwrap.wrap(text, 110)]
        return dumps(self.schema, head=wrapped, comments=self._comments)

    @property
    def _comments(self) -> dict[str, list[str]]:
        return {name: textwrap.wrap(reason, 100) for name, reason in self.reasons.items()}

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the commented schema to a file; an existing file is kept unless ``overwrite``."""
        write_file(Path(path), self.to_toml().encode(), overwrite=overwrite)


def draft(profiles: Sequence[ColumnProfile], records: int | None = None) -> Draft:
    """Guess kinds, roles and hierarchies of columns.

    Parameters
    ----------
    profiles
        One per column, in the order of the data.
    records
        The number of records; that of the profiles where it is not given.

    Examples
    --------
    >>> age = ColumnProfile(name="age", type="integer", records=1000, missing=0, distinct=80, separation=0.98)
    >>> print(draft([age]).schema["age"].role)
    quasi-identifier
    """
    if not profiles:
        raise SchemaError("there are no columns to describe")
    groups = _groups(profiles)
    guesses = _one_weight([_guess(profile, groups.get(profile.name)) for profile in profiles])
    schema = _shared(Schema(attributes=tuple(each.value for each in guesses), guessed=True))
    telling = [profile for profile in profiles if schema[profile.name].role.known_elsewhere]
    telling.sort(key=lambda profile: (-profile.separation, -profile.distinction))
    return Draft(
        schema=schema,
        reasons={each.value.name: each.reason for each in guesses},
        ranking=tuple(profile.name for profile in telling),
        records=profiles[0].records if records is None else records,
        unknown=tuple(each.value.name for each in guesses if not each.known),
    )


def _guess(profile: ColumnProfile, grouping: Guess[Role] | None) -> Guess[Attribute]:
    about = topic(profile.name, text=profile.type == "text" and not profile.numeric, many=profile.distinct != 2)
    kind = Guess(Kind.CATEGORICAL) if grouping else guess_kind(profile, about)
    role = grouping or guess_role(profile, kind.value, about)
    kind = Guess(Kind.NUMERIC) if role.value is Role.WEIGHT else kind
    attribute = Attribute(name=profile.name, role=role.value, kind=kind.value, reading=_reading(profile, kind.value))
    if role.value.groups_records and profile.missing:  # a record without a key may be of one who is counted already
        attribute = dataclasses.replace(attribute, missing=Missing.DROP)
    why = [f"{role.value}: {role.reason}", *(each for each in (kind.reason, profile.written) if each)]
    if attribute.reading.unreadable:
        why.append(f"{profile.unreadable:,} of {profile.records:,} values cannot be read and count as missing")
    if role.value in (Role.QUASI_IDENTIFIER, Role.DECIDE):
        rule = guess_hierarchy(profile, kind.value, about)
        attribute = dataclasses.replace(attribute, hierarchy=rule.value)
        why += [rule.reason] if rule.reason else []
    return Guess(attribute, "; ".join(why) + ".", known=role.known)


def _one_weight(guesses: Sequence[Guess[Attribute]]) -> list[Guess[Attribute]]:
    """Keep the first sampling weight; a person decides which of several counts, as of those of replicates."""
    why = f"{Role.DECIDE}: its name suggests a survey weight, and a record has only one; drop the others."
    found = list(guesses)
    weights = [place for place, each in enumerate(guesses) if each.value.role is Role.WEIGHT]
    for place in weights[1:]:
        found[place] = Guess(dataclasses.replace(found[place].value, role=Role.DECIDE), why)
    return found


def _shared(schema: Schema) -> Schema:
    """Write what stands for a missing value in several columns once for all; a number may be a quantity elsewhere."""
    times = Counter(value for each in schema for value in each.reading.missing_values)
    shared = tuple(value for value, number in times.items() if number > 1 and not any(c.isdigit() for c in value))
    attributes = []
    for each in schema:
        own = tuple(value for value in each.reading.missing_values if value not in shared)
        attributes.append(dataclasses.replace(each, reading=dataclasses.replace(each.reading, missing_values=own)))
    return dataclasses.replace(schema, attributes=tuple(attributes), missing_values=shared)


def _reading(profile: ColumnProfile, kind: Kind) -> Reading:
    """Return how values are written, as far as that goes with the kind."""
    found = profile.reading
    return Reading(
        missing_values=found.missing_values,
        date_format=found.date_format if kind is Kind.DATE else None,
        decimal=found.decimal if kind is Kind.NUMERIC else None,
        thousands=found.thousands if kind is Kind.NUMERIC else None,
        unreadable=0.01 if profile.unreadable and kind in (Kind.NUMERIC, Kind.DATE) else 0.0,
    )


def _of_a_person(profile: ColumnProfile) -> bool:
    """Return whether a name means the key of a person, or a person where the values are many, as those of a key are."""
    many = profile.distinct >= ENOUGH and profile.separation >= _SEPARATING_PEOPLE
    return person_key(profile.name) or (many and names_people(profile.name))


def _groups(profiles: Sequence[ColumnProfile]) -> dict[str, Guess[Role]]:
    """Return the columns that say which records belong together: keys that repeat."""
    keys = [
        profile
        for profile in profiles
        if profile.type in ("text", "integer")
        and 1 < profile.distinct < profile.records - profile.missing
        and profile.separation >= _SEPARATING
    ]
    found: dict[str, Guess[Role]] = {}
    for role, named in ((Role.PERSON, _of_a_person), (Role.HOUSEHOLD, lambda each: household_key(each.name))):
        ranked = sorted(filter(named, keys), key=lambda each: -each.distinct)
        for place, profile in enumerate(ranked):
            if place:
                found[profile.name] = Guess(
                    Role.IDENTIFIER, "its name suggests a key for people, but another column fits better"
                )
                continue
            told = f"{profile.distinct:,} different values in {profile.records:,} records"
            why = f"its name suggests the key of a {role}, and its values repeat: {told}"
            if profile.missing > _KEYLESS * profile.records:
                todo = 'fill it in, drop it, or leave these out (`missing = "drop"`)'
                found[profile.name] = Guess(Role.DECIDE, f"{why}, but {profile.missing:,} records have none: {todo}")
                continue
            left_out = f"; the {profile.missing:,} without one are left out" if profile.missing else ""
            found[profile.name] = Guess(role, f"{why}{left_out}")
    return found
