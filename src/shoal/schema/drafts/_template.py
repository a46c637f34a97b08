"""A schema for differential privacy from the names of the columns alone: no record is looked at.

Whoever declares a domain after a look at the data has told something about it that no epsilon covers. So a template
takes what is publicly known of a column of that name (ages are from 0 to 120), and leaves open what is not: nothing is
released before a person has filled it in. Two tables with the same columns have the same template, to the byte.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from functools import partial

from shoal.errors import SchemaError
from shoal.schema._domain import Domain, Kind, Provenance
from shoal.schema._schema import Attribute, Role, Schema
from shoal.schema.drafts._draft import Draft
from shoal.schema.drafts._names import COUNTS, DURATIONS, Topic, person_key, topic, word_set, words
from shoal.schema.drafts._profile import Guess
from shoal.schema.rules import Dates, Digits, Groups, Intervals


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
        schema=Schema(attributes=tuple(guess.value for guess in guesses), guessed=True),
        reasons={guess.value.name: guess.reason for guess in guesses},
        records=None,
    )


def _guess(name: str, *, whose: bool) -> Guess[Attribute]:
    about = topic(name)
    if whose:
        why = "its name suggests whose record it is; where people have one record each, drop it"
        return _as(Role.PERSON, name, why)
    if about is not None and about.role is Role.IDENTIFIER:
        return _as(Role.IDENTIFIER, name, f"its name suggests {about.means}")
    if person_key(name):
        return _as(Role.IDENTIFIER, name, "its name suggests a key for people")
    if about is not None and (known := _known(name, about, words(name))):
        made, says = known
        return Guess(made, f"{made.role}: its name suggests {says}.")
    named = "its name says nothing" if about is None else f"its name suggests {about.means}"
    return _as(Role.DECIDE, name, f"FILL IN the values it may have, or drop it; {named}")


def _as(role: Role, name: str, why: str) -> Guess[Attribute]:
    return Guess(Attribute(name=name, role=role), f"{role}: {why}.")


# -- what is publicly known


_DATES = word_set("date datum fecha data dob dod birthday birthdate gebdatum geburtsdatum fechanacimiento")
_YEARS = word_set("year yob birthyear jahr gebjahr geburtsjahr annee annais ano anno jaar rok yrdth")
_MONTHS = word_set("month monat mois mes mese maand miesiac modth")
_POSTAL = word_set("zip zipcode postcode postal plz postleitzahl codepostal codigopostal cap postnummer")
_OFTEN = COUNTS | DURATIONS | word_set("times visits per last past previous since every")
_FIRST, _LAST = 1900, 2049
_STATES = (
    ("Northeast", "CT MA ME NH NJ NY PA RI VT"),
    ("Midwest", "IA IL IN KS MI MN MO ND NE OH SD WI"),
    ("South", "AL AR DC DE FL GA KY LA MD MS NC OK SC TN TX VA WV"),
    ("West", "AK AZ CA CO HI ID MT NM NV OR UT WA WY"),
    ("Territories", "AS GU MP PR VI"),
)


def _known(name: str, about: Topic, found: frozenset[str]) -> tuple[Attribute, str] | None:
    """Return what is publicly known of a column, and how to say so."""
    in_time, in_space = about.key in ("birth", "death", "event"), about.key in ("place", "place-of-address")
    is_count = bool(found & _OFTEN)  # `visits_last_year` is no year
    if about.key == "age":
        return _numbers(name, 0, 120, 5, 10, 20, 40), "a person's age: a number from 0 to 120"
    if about.key == "sex":
        sexes = Attribute(name=name, role=Role.QUASI_IDENTIFIER, domain=_public(values=("female", "male")))
        return sexes, 'a person\'s sex: "female" or "male"; CHECK how your data spells it, for example "F" and "M"'
    if in_space and found & _POSTAL:
        digits = Digits(length=5, hidden=(1, 2, 3, 4))
        postal = Attribute(name=name, role=Role.QUASI_IDENTIFIER, hierarchy=digits)
        return postal, "postal codes: all codes of 5 digits; CHECK how many digits yours have"
    if in_space and "state" in found:
        groups = tuple((region, tuple(states.split())) for region, states in _STATES)
        states = Attribute(name=name, role=Role.QUASI_IDENTIFIER, hierarchy=Groups(levels=(groups,)))
        check = 'CHECK that your data does not write "Texas" or mean other states'
        return states, f"US states by their two-letter codes; {check}"
    if about.key == "number-in-family":
        return _numbers(name, 0, 30, 2, 10), "the number of people in a family: from 0 to 30"
    if in_time and found & _YEARS and not is_count:
        return _numbers(name, _FIRST, _LAST, 5, 10, 50), f"a year, from {_FIRST} to {_LAST}"
    if in_time and found & _MONTHS and not is_count:
        return _numbers(name, 1, 12, 3, 6), "a month, from 1 to 12"
    if in_time and found & _DATES:
        domain = _public(minimum=dt.date(_FIRST, 1, 1), maximum=dt.date(_LAST, 12, 31))
        days = Attribute(name=name, role=Role.QUASI_IDENTIFIER, kind=Kind.DATE, domain=domain, hierarchy=Dates())
        says = (
            f"dates written as {_FIRST}-12-31, from {_FIRST} to {_LAST}; CHECK the years: fewer years keep more detail"
        )
        return days, says
    return None


_public = partial(Domain, provenance=Provenance.PUBLIC)


def _numbers(name: str, low: int, high: int, *widths: int) -> Attribute:
    return Attribute(
        name=name,
        role=Role.QUASI_IDENTIFIER,
        kind=Kind.NUMERIC,
        domain=_public(minimum=low, maximum=high),
        hierarchy=Intervals(widths=widths),
    )
