"""Guess a schema from what the columns look like, and say why.

The guesses err on the side of protection: a column that distinguishes most records is a quasi-identifier unless its
name says otherwise.
A drafted schema is marked ``guessed`` until a person has confirmed it.
"""

from __future__ import annotations

import dataclasses
import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import OutputError, SchemaError
from shoal.exact import share
from shoal.schema._domain import Kind
from shoal.schema._guess import (
    ColumnProfile,
    Guess,
    guess_hierarchy,
    guess_kind,
    household_key,
    identifier_name,
    key_name,
    person_key,
    quasi_identifier_name,
    sensitive_name,
)
from shoal.schema._schema import Attribute, Role, Schema
from shoal.schema._write import dumps

__all__ = ["Draft", "draft"]

# a column that distinguishes most pairs of records helps an intruder, whatever it is called
_SEPARATING = 0.5
# fewer than one record in a hundred shares its value: a key of persons, not of wards or shops
_NEARLY_UNIQUE = 0.99
# uniqueness in a handful of records says nothing
_ENOUGH = 20


@dataclass(frozen=True, slots=True, kw_only=True)
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
        The number of records that were looked at.
    """

    schema: Schema
    reasons: Mapping[str, str]
    ranking: tuple[str, ...] = ()
    records: int = 0

    def to_toml(self) -> str:
        """Return the schema as TOML, each guess with its reason as a comment."""
        head = [
            f"A draft made from {self.records:,} records. Everything below is a guess: check the roles first.",
            "A column that an intruder may know from elsewhere must be a quasi-identifier.",
            "Domains (`minimum` and `maximum`, or `values`) are yours to declare; none is taken from the data.",
        ]
        if self.ranking:
            head.append(f"Quasi-identifiers, most distinguishing first: {', '.join(self.ranking)}.")
        comments = {name: textwrap.wrap(reason, 100) for name, reason in self.reasons.items()}
        return dumps(self.schema, head=[line for text in head for line in textwrap.wrap(text, 110)], comments=comments)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the commented schema to a file; an existing file is kept unless ``overwrite``."""
        try:
            with Path(path).open("w" if overwrite else "x", encoding="utf-8") as file:
                file.write(self.to_toml())
        except FileExistsError:
            raise OutputError(f"`{path}` already exists", hint="choose another name, or overwrite it") from None
        except OSError as error:
            raise OutputError(f"the schema cannot be written to `{path}`: {error.strerror}") from None


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
    >>> draft([age]).reasons["age"]
    'quasi-identifier: its name suggests that others may know it; it distinguishes 98.0% of all pairs of records.'
    """
    if not profiles:
        raise SchemaError("there are no columns to describe")
    attributes, reasons = [], {}
    groups = _groups(profiles)
    for profile in profiles:
        grouping = groups.get(profile.name)
        kind = Guess(Kind.CATEGORICAL) if grouping else guess_kind(profile)
        role = grouping or _role(profile, kind.value)
        attribute = Attribute(name=profile.name, role=role.value, kind=kind.value)
        why = [f"{role.value}: {role.reason}", *([kind.reason] if kind.reason else [])]
        if role.value is Role.QUASI_IDENTIFIER:
            rule = guess_hierarchy(profile, kind.value)
            attribute = dataclasses.replace(attribute, hierarchy=rule.value)
            why += [rule.reason] if rule.reason else []
        attributes.append(attribute)
        reasons[profile.name] = "; ".join(why) + "."
    schema = Schema(attributes=tuple(attributes), guessed=True)
    return Draft(
        schema=schema,
        reasons=reasons,
        ranking=_ranking(schema, profiles),
        records=profiles[0].records if records is None else records,
    )


def _groups(profiles: Sequence[ColumnProfile]) -> dict[str, Guess[Role]]:
    """Return the columns that say which records belong together: keys that repeat."""
    keys = [profile for profile in profiles if profile.type in ("text", "integer") and _repeats(profile)]
    found: dict[str, Guess[Role]] = {}
    for role, named in ((Role.PERSON, person_key), (Role.HOUSEHOLD, household_key)):
        ranked = sorted((each for each in keys if named(each.name)), key=lambda each: -each.distinct)
        for place, profile in enumerate(ranked):
            if place:
                found[profile.name] = Guess(Role.IDENTIFIER, "its name suggests a key of people, and another is nearer")
                continue
            told = f"{profile.distinct:,} different values in {profile.records:,} records"
            found[profile.name] = Guess(role, f"its name suggests the key of a {role}, and it repeats: {told}")
    return found


def _repeats(profile: ColumnProfile) -> bool:
    return 1 < profile.distinct < profile.records - profile.missing and profile.separation >= _SEPARATING


def _role(profile: ColumnProfile, kind: Kind) -> Guess[Role]:
    """Names decide before numbers: an income may be unique, and a key may be called `key` and be shared."""
    apart = f"it distinguishes {share(profile.separation)} of all pairs of records"
    if profile.type == "other":
        return Guess(Role.IDENTIFIER, "its values are not text, numbers or dates, so it is dropped")
    if identifier_name(profile.name):
        return Guess(Role.IDENTIFIER, "its name suggests that it identifies a person")
    if key_name(profile.name) and _unique(profile) >= _NEARLY_UNIQUE:
        return Guess(Role.IDENTIFIER, "its name suggests a key, and almost no two records share a value")
    if profile.distinct <= 1:
        return Guess(Role.INSENSITIVE, "all its values are the same")
    if sensitive_name(profile.name):
        return Guess(Role.SENSITIVE, "its name suggests something people keep private")
    if quasi_identifier_name(profile.name):
        return Guess(Role.QUASI_IDENTIFIER, f"its name suggests that others may know it; {apart}")
    if kind is Kind.DATE:
        return Guess(Role.QUASI_IDENTIFIER, f"others may know when something happened; {apart}")
    if _unique(profile) == 1 and profile.records >= _ENOUGH and profile.type in ("text", "integer"):
        return Guess(Role.IDENTIFIER, "no two records have the same value")
    if profile.separation >= _SEPARATING:
        return Guess(Role.QUASI_IDENTIFIER, f"{apart}, and nothing suggests that others cannot know it")
    return Guess(Role.INSENSITIVE, f"{apart}, and its name gives no hint")


def _unique(profile: ColumnProfile) -> float:
    present = profile.records - profile.missing
    return profile.distinct / present if present else 0.0


def _ranking(schema: Schema, profiles: Sequence[ColumnProfile]) -> tuple[str, ...]:
    telling = [profile for profile in profiles if profile.name in schema.quasi_identifiers]
    telling.sort(key=lambda profile: (-profile.separation, -profile.distinction))
    return tuple(profile.name for profile in telling)
