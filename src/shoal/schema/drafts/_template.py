"""A schema for differential privacy from the names of the columns alone: no record is looked at.

Whoever declares a domain after a look at the data has told something about it that no epsilon covers. So a template
takes what is publicly known of a column of that name (ages are from 0 to 120), and leaves open what is not: nothing is
released before a person has filled it in. Two tables with the same columns have the same template, to the byte.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shoal.errors import SchemaError
from shoal.schema._domain import Domain, Kind
from shoal.schema._schema import Attribute, Role, Schema
from shoal.schema.drafts._draft import Draft
from shoal.schema.drafts._names import Topic, person_key, topic, words
from shoal.schema.drafts._profile import Guess
from shoal.schema.rules import Dates, Digits, Groups, Intervals


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What is publicly known of columns: which they are, what they hold, and how to say so."""

    fits: Callable[[frozenset[str], Topic], bool]
    makes: Callable[[str], Attribute]
    says: str


def template(names: Sequence[str]) -> Draft:
    """Return a schema for differential privacy to be filled in.

    Examples
    --------
    >>> made = template(["age", "diagnosis"])
    >>> made.schema["age"].domain.maximum, made.undecided
    (120, ('diagnosis',))
    """
    if not names:
        raise SchemaError("there are no columns to describe")
    person = next((name for name in names if person_key(name)), None)
    guesses = [_guess(name, whose=name == person) for name in names]
    return Draft(
        schema=Schema(attributes=tuple(each.value for each in guesses), guessed=True),
        reasons={each.value.name: each.reason for each in guesses},
        records=None,
    )


def _guess(name: str, *, whose: bool) -> Guess[Attribute]:
    about = topic(name)
    if whose:
        return _as(
            Role.PERSON, name, "its name suggests whose record it is; where people have one record each, drop it"
        )
    if about is not None and about.role is Role.IDENTIFIER:
        return _as(Role.IDENTIFIER, name, f"its name suggests {about.means}")
    if person_key(name):
        return _as(Role.IDENTIFIER, name, "its name suggests a key of people")
    if about is not None:
        for known in _PUBLIC:
            if known.fits(words(name), about):
                made = known.makes(name)
                return Guess(made, f"{made.role}: its name suggests {known.says}.")
    named = "its name says nothing" if about is None else f"its name suggests {about.means}"
    return _as(Role.DECIDE, name, f"FILL IN what values it may have, or drop it; {named}")


def _as(role: Role, name: str, why: str) -> Guess[Attribute]:
    return Guess(Attribute(name=name, role=role), f"{role}: {why}.")


# -- what is publicly known


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DATES = _set("date datum fecha data dob dod birthday birthdate gebdatum geburtsdatum fechanacimiento")
_YEARS = _set("year yob birthyear jahr gebjahr geburtsjahr annee annais ano anno jaar rok yrdth")
_MONTHS = _set("month monat mois mes mese maand miesiac modth")
_PLACES = ("place", "place-of-address")
_POSTAL = _set("zip zipcode postcode postal plz postleitzahl codepostal codigopostal cap postnummer")
_FIRST, _LAST = 1900, 2049
_STATES = (
    ("Northeast", "CT MA ME NH NJ NY PA RI VT"),
    ("Midwest", "IA IL IN KS MI MN MO ND NE OH SD WI"),
    ("South", "AL AR DC DE FL GA KY LA MD MS NC OK SC TN TX VA WV"),
    ("West", "AK AZ CA CO HI ID MT NM NV OR UT WA WY"),
    ("Territories", "AS GU MP PR VI"),
)


def _numbers(low: int, high: int, *widths: int) -> Callable[[str], Attribute]:
    def made(name: str) -> Attribute:
        return Attribute(
            name=name,
            role=Role.QUASI_IDENTIFIER,
            kind=Kind.NUMERIC,
            domain=Domain(minimum=low, maximum=high),
            hierarchy=Intervals(widths=widths),
        )

    return made


def _days(name: str) -> Attribute:
    days = Domain(minimum=dt.date(_FIRST, 1, 1), maximum=dt.date(_LAST, 12, 31))
    return Attribute(name=name, role=Role.QUASI_IDENTIFIER, kind=Kind.DATE, domain=days, hierarchy=Dates())


def _sexes(name: str) -> Attribute:
    return Attribute(name=name, role=Role.QUASI_IDENTIFIER, domain=Domain(values=("female", "male")))


def _states(name: str) -> Attribute:
    groups = tuple((region, tuple(states.split())) for region, states in _STATES)
    return Attribute(name=name, role=Role.QUASI_IDENTIFIER, hierarchy=Groups(levels=(groups,)))


def _postal(name: str) -> Attribute:
    return Attribute(name=name, role=Role.QUASI_IDENTIFIER, hierarchy=Digits(length=5, hidden=(1, 2, 3, 4)))


_WHEN = ("birth", "death", "event")
#: The first that fits decides.
_PUBLIC = (
    _Known(
        fits=lambda _, about: about.key == "age",
        makes=_numbers(0, 120, 5, 10, 20, 40),
        says="a person's age: a number from 0 to 120",
    ),
    _Known(
        fits=lambda _, about: about.key == "sex",
        makes=_sexes,
        says='a person\'s sex: "female" or "male"; CHECK how your data spells it, for example "F" and "M"',
    ),
    _Known(
        fits=lambda found, about: about.key in _PLACES and bool(found & _POSTAL),
        makes=_postal,
        says="postal codes: all codes of 5 digits; CHECK how many digits yours have",
    ),
    _Known(
        fits=lambda found, about: about.key in _PLACES and "state" in found,
        makes=_states,
        says='states of the USA by their two letters; CHECK that your data does not write "Texas" or mean other states',
    ),
    _Known(
        fits=lambda _, about: about.key == "number-in-family",
        makes=_numbers(0, 30, 2, 10),
        says="a number of people in a family: from 0 to 30",
    ),
    _Known(
        fits=lambda found, about: about.key in _WHEN and bool(found & _YEARS),
        makes=_numbers(_FIRST, _LAST, 5, 10, 50),
        says=f"a year, from {_FIRST} to {_LAST}",
    ),
    _Known(
        fits=lambda found, about: about.key in _WHEN and bool(found & _MONTHS),
        makes=_numbers(1, 12, 3, 6),
        says="a month, from 1 to 12",
    ),
    _Known(
        fits=lambda found, about: about.key in _WHEN and bool(found & _DATES),
        makes=_days,
        says=f"dates written as {_FIRST}-12-31, from {_FIRST} to {_LAST}; CHECK the years, fewer keep more detail",
    ),
)
