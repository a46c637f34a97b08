"""Guess a schema from what the columns look like, and say why.

The guesses err on the side of protection: a column that is not recognised is left out until a person asks for it, and
one that can neither be made coarser nor be released as it is waits for a person's decision.
A drafted schema is marked ``guessed`` until a person has confirmed it.
"""

from __future__ import annotations

import dataclasses
import os
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shoal import notebook
from shoal.errors import Problems, SchemaError
from shoal.schema._schema import Attribute, PersonsAnswer, Role, Schema
from shoal.schema._toml import dumps
from shoal.schema.drafts._column import guess_column
from shoal.schema.drafts._evidence import DraftEvidence, FinestStep, RelationFinder
from shoal.schema.drafts._guesses import ENOUGH
from shoal.schema.drafts._names import (
    household_key,
    household_weight,
    languages_of,
    names_people,
    person_key,
    words,
)
from shoal.schema.drafts._people import PossiblePerson, Sampler, possible_person
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
# of columns that are not needed for the purpose, but stay
_SECOND = 0.2
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
        The columns that are left out because their meaning is unknown.
    person
        The columns that may say whose record it is, where persons seem to have several; a person must say if they do.
    weights
        The columns that may be survey weights; a record has only one.
    """

    schema: Schema
    reasons: Mapping[str, str]
    ranking: tuple[str, ...] = ()
    records: int | None = 0
    unknown: tuple[str, ...] = ()
    person: PossiblePerson | None = None
    weights: tuple[str, ...] = ()
    _evidence: DraftEvidence | None = field(default=None, compare=False)

    @property
    def undecided(self) -> tuple[str, ...]:
        """The columns that nobody but a person can decide."""
        return self.schema.having(Role.DECIDE)

    def number_of_values(self, name: str) -> int | None:
        """Return how many different values a column has; None if no record was looked at."""
        profiles = () if self._evidence is None else self._evidence.profiles
        return next((profile.distinct for profile in profiles if profile.name == name), None)

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
        others = self.schema if role != Role.PERSON else self._without_person(name)
        schema = others.with_role(name, role)
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

    def keeping(self, wanted: Sequence[str] = (), *, also: Sequence[str] = ()) -> Draft:
        """Return the draft for a purpose: of the columns, what is needed stays.

        Parameters
        ----------
        wanted
            The columns that the purpose needs, by their names or words in them; where any is given, all others are
            left out. A column whose meaning is unknown becomes a quasi-identifier, and one that names people or holds
            free text waits for a decision.
        also
            Columns that stay as well, but count less in what is kept precise; without ``wanted``, beside all that are
            recognised.

        Raises
        ------
        SchemaError
            If a word is in no name.
        """
        problems = Problems()
        needed, more = self._named(wanted, problems), self._named(also, problems)
        problems.raise_as(SchemaError)
        made = dataclasses.replace(self, _evidence=None)._weighted_by(needed)
        for name in self.schema.names:
            role = made.schema[name].role
            stays = role is Role.WEIGHT or (role.names_someone and role is not Role.DECIDE)
            if name in needed or name in more:
                made = made._kept(name, weight=1.0 if name in needed or not needed else _SECOND)
            elif needed and not stays:
                made = made._with(name, Role.DROP, "not needed for the purpose")
        return made if self._evidence is None else made.settled(self._evidence)

    def settled(self, evidence: DraftEvidence) -> Draft:
        """Return the draft with what the records say of its columns together, which later changes of it heed, too."""
        drafted = [
            Guess(column, self.reasons[column.name], known=column.name not in self.unknown) for column in self.schema
        ]
        guesses = evidence.settle(drafted)
        shared = self.schema.missing_values
        columns = tuple(
            old.value if new is old else _without_missing(new.value, shared)
            for new, old in zip(guesses, drafted, strict=True)
        )
        schema = dataclasses.replace(self.schema, attributes=columns)
        telling = [profile for profile in evidence.profiles if schema[profile.name].role.known_elsewhere]
        telling.sort(key=lambda profile: (-profile.separation, -profile.distinction))
        return dataclasses.replace(
            self,
            schema=schema,
            reasons={guess.value.name: guess.reason for guess in guesses},
            ranking=tuple(profile.name for profile in telling),
            unknown=tuple(guess.value.name for guess in guesses if not guess.known),
            _evidence=evidence,
        )

    def _named(self, wanted: Sequence[str], problems: Problems, *, whole: bool = True) -> list[str]:
        """Return the columns that have all words of one of these in their names; only those called so, if ``whole``."""
        names: list[str] = []
        for word in wanted:
            named = [name for name in self.schema.names if name == word] if whole else []
            named = named or [
                name for name in self.schema.names if name == word or (words(word) and words(word) <= words(name))
            ]
            names += named
            if not named:
                problems.add(f"no column has the word `{word}` in its name")
        return names

    def _kept(self, name: str, *, weight: float) -> Draft:
        """Return the draft with a column that somebody needs."""
        column = self.schema[name]
        made = self
        if name in self.unknown and column.role is Role.DROP:
            made = self._with(name, Role.QUASI_IDENTIFIER, "meaning unknown; treated as identifying")
        elif column.role in (Role.DROP, Role.IDENTIFIER):
            why = self.reasons[name].partition(": ")[2].rstrip(".")
            made = self._with(name, Role.DECIDE, f"it is needed, but: {why}")
        if not made.schema[name].role.known_elsewhere or weight == 1:
            return made
        attributes = tuple(
            dataclasses.replace(each, weight=weight) if each.name == name else each for each in made.schema
        )
        return dataclasses.replace(made, schema=dataclasses.replace(made.schema, attributes=attributes))

    def _weighted_by(self, needed: Sequence[str]) -> Draft:
        """Return the draft with the one survey weight that a purpose names in place of the one that was chosen."""
        named, chosen = [name for name in needed if name in self.weights], self.schema.sampling_weight
        if len(named) != 1 or named[0] == chosen or chosen is None:
            return self
        made = self._with(chosen, Role.DROP, f"the purpose needs `{named[0]}`, and a record has only one weight")
        return made._with(named[0], Role.WEIGHT, "its name suggests a survey weight, and the purpose needs it")

    def _with(self, name: str, role: Role, why: str) -> Draft:
        """Return the draft with another role of a column; its hierarchy stays in the file for whoever takes it back."""
        return dataclasses.replace(
            self,
            schema=self.schema.with_role(name, role),
            reasons={**self.reasons, name: f"{role}: {why}."},
            ranking=tuple(each for each in self.ranking if each != name or role.known_elsewhere),
            unknown=tuple(each for each in self.unknown if each != name),
        )

    def _without_person(self, name: str) -> Schema:
        """Return the schema without the question, or another column, that says whose record it is."""
        schema = dataclasses.replace(self.schema, persons=PersonsAnswer.UNSTATED)
        old = schema.person
        return schema if old in (None, name) else schema.with_role(old, Role.IDENTIFIER)

    def with_persons(self, answer: str) -> Draft:
        """Return the draft after a person has said whose the records are.

        Parameters
        ----------
        answer
            The column that says whose record it is, or ``records`` where every record stands for another person.
        """
        if answer == PersonsAnswer.RECORDS:
            old = self.schema.person
            made = self if old is None else self._with(old, Role.IDENTIFIER, "every record stands for another person")
            return dataclasses.replace(made, schema=dataclasses.replace(made.schema, persons=PersonsAnswer.RECORDS))
        return self.with_role(answer, Role.PERSON)

    def dropping(self, wanted: Sequence[str]) -> Draft:
        """Return the draft without the columns that have one of these words in their names, or are called so.

        Raises
        ------
        SchemaError
            If a word is in no name.
        """
        made, problems = self, Problems()
        for name in self._named(wanted, problems, whole=False):
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
        return notebook.render_table(f"A draft: {self.summary}", ("column", "role", "kind", "why"), rows)

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
            "Domains (`minimum` and `maximum`, or `values`) are yours to declare; none is taken from the data but "
            "lists of bands such as 25-34.",
        ]
        if self.ranking:
            head.append(f"Quasi-identifiers, most distinguishing first: {', '.join(self.ranking)}.")
        wrapped = [line for text in head for line in textwrap.wrap(text, 110)]
        return dumps(self.schema, head=wrapped, comments=self._comments)

    @property
    def _comments(self) -> dict[str, list[str]]:
        comments = {name: textwrap.wrap(reason, 100) for name, reason in self.reasons.items()}
        return comments | ({"": textwrap.wrap(self.question, 100)} if self.person else {})

    @property
    def question(self) -> str:
        """What a person must say about whose the records are; empty where nothing is to be asked."""
        if self.person is None:
            return ""
        yes = f'give `{self.person.columns[0]}` the role "person"'
        if len(self.person.columns) > 1:
            yes = 'add a column that numbers the persons, and give it the role "person"'
        no = 'If not, write: persons = "records".'
        return f"May one person have several records? {self.person}. If so, {yes}. {no}"

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the commented schema to a file; an existing file is kept unless ``overwrite``."""
        write_file(Path(path), self.to_toml().encode(), overwrite=overwrite)


def draft(
    profiles: Sequence[ColumnProfile],
    records: int | None = None,
    *,
    sampler: Sampler | None = None,
    relations: RelationFinder | None = None,
    finest_step: FinestStep | None = None,
    purpose: Callable[[Draft], Draft] | None = None,
) -> Draft:
    """Guess kinds, roles and hierarchies of columns.

    Parameters
    ----------
    profiles
        One per column, in the order of the data.
    records
        The number of records; that of the profiles where it is not given.
    sampler
        Where records can be looked at: what returns some of them as codes, to find out how columns depend on each
        other.
    relations
        What finds the relations between some columns: secrets that follow from quasi-identifiers become such, and
        copies are left out.
    finest_step
        Where values can be counted: what returns the step to which the numbers of a secret must be rounded so that few
        records are alone with theirs, and the share that still is.
    purpose
        What a person says of the columns beforehand: it returns the draft with other roles.

    Examples
    --------
    >>> age = ColumnProfile(name="age", type="integer", records=1000, missing=0, distinct=80, separation=0.98)
    >>> print(draft([age]).schema["age"].role)
    quasi-identifier
    """
    if not profiles:
        raise SchemaError("there are no columns to describe")
    languages = languages_of([profile.name for profile in profiles])
    profiles = [dataclasses.replace(profile, languages=languages) for profile in profiles]
    groups = _groups(profiles)
    person = None
    if sampler is not None and not any(group.value.groups_records for group in groups.values()):
        person = possible_person(profiles, sampler)
        groups |= _as_keys(person)
    guesses = [guess_column(profile, groups.get(profile.name)) for profile in profiles]
    weights = tuple(guess.value.name for guess in guesses if guess.value.role is Role.WEIGHT)
    guesses = _one_weight(guesses)
    persons = PersonsAnswer.UNSTATED if person is None else PersonsAnswer.DECIDE
    drafted = Draft(
        schema=_shared(Schema(attributes=tuple(guess.value for guess in guesses), guessed=True, persons=persons)),
        reasons={guess.value.name: guess.reason for guess in guesses},
        records=profiles[0].records if records is None else records,
        unknown=tuple(guess.value.name for guess in guesses if not guess.known),
        person=person,
        weights=weights,
    )
    evidence = DraftEvidence(profiles=profiles, sampler=sampler, relations=relations, finest_step=finest_step)
    return (drafted if purpose is None else purpose(drafted)).settled(evidence)


def _as_keys(person: PossiblePerson | None) -> dict[str, Guess[Role]]:
    """Return the roles of columns that may say whose record it is: they leave in no form."""
    if person is None or len(person.columns) > 1:
        return {}
    agreed = str(person).partition(", and ")[2]
    why = f"may say whose record it is: {agreed}" if agreed else "its name suggests a key, and its values repeat"
    roles = {person.columns[0]: Guess(Role.IDENTIFIER, why)}
    return roles | {name: Guess(Role.IDENTIFIER, f"says the same as `{person.columns[0]}`") for name in person.copies}


def _one_weight(guesses: Sequence[Guess[Attribute]]) -> list[Guess[Attribute]]:
    """Keep the first sampling weight; a person decides which of several counts, as of those of replicates."""
    why = f"{Role.DECIDE}: its name suggests a survey weight, and a record has only one; drop the others."
    settled = list(guesses)
    weights = [place for place, each in enumerate(guesses) if each.value.role is Role.WEIGHT]
    weights.sort(key=lambda place: household_weight(guesses[place].value.name))  # those of persons first
    for place in weights[1:]:
        settled[place] = Guess(dataclasses.replace(settled[place].value, role=Role.DECIDE), why)
    return settled


def _shared(schema: Schema) -> Schema:
    """Write what stands for a missing value in several columns once for all; a number may be a quantity elsewhere."""
    times = Counter(value for each in schema for value in each.reading.missing_values)
    shared = tuple(value for value, number in times.items() if number > 1 and not any(c.isdigit() for c in value))
    attributes = tuple(_without_missing(each, shared) for each in schema)
    return dataclasses.replace(schema, attributes=attributes, missing_values=shared)


def _without_missing(column: Attribute, shared: Sequence[str]) -> Attribute:
    """Return a column without the missing values that are written once for all columns."""
    own = tuple(value for value in column.reading.missing_values if value not in shared)
    return dataclasses.replace(column, reading=dataclasses.replace(column.reading, missing_values=own))


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
    roles: dict[str, Guess[Role]] = {}
    for role, named in ((Role.PERSON, _of_a_person), (Role.HOUSEHOLD, lambda each: household_key(each.name))):
        ranked = sorted(filter(named, keys), key=lambda each: -each.distinct)
        for place, profile in enumerate(ranked):
            if place:
                roles[profile.name] = Guess(
                    Role.IDENTIFIER, "its name suggests a key for people, but another column fits better"
                )
                continue
            told = f"{profile.distinct:,} different values in {profile.records:,} records"
            why = f"its name suggests the key of a {role}, and its values repeat: {told}"
            if profile.missing > _KEYLESS * profile.records:
                todo = 'fill it in, drop it, or leave these out (`missing = "drop"`)'
                roles[profile.name] = Guess(Role.DECIDE, f"{why}, but {profile.missing:,} records have none: {todo}")
                continue
            left_out = f"; the {profile.missing:,} without one are left out" if profile.missing else ""
            roles[profile.name] = Guess(role, f"{why}{left_out}")
    return roles
