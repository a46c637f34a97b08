"""The identifiers that HIPAA's Safe Harbor names, looked for in every column of a table that is to be released."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from shoal import tables
from shoal.exact import share
from shoal.schema import ColumnProfile, Kind, Schema, topic
from shoal.schema.rules import text
from shoal.tables import Table

#: 45 CFR 164.514(b)(2)(i), in short
IDENTIFIERS: Mapping[str, str] = {
    "A": "names",
    "B": "places smaller than a state; three digits of a ZIP code may stay where more than 20,000 people live there",
    "C": "dates about a person, except the year; ages over 89, except as one group of 90 and over",
    "D": "telephone numbers",
    "E": "fax numbers",
    "F": "e-mail addresses",
    "G": "social security numbers",
    "H": "medical record numbers",
    "I": "numbers of a health plan",
    "J": "account numbers",
    "K": "numbers of certificates and licences",
    "L": "vehicles: serial numbers and licence plates",
    "M": "devices: identifiers and serial numbers",
    "N": "web addresses",
    "O": "IP addresses",
    "P": "biometric identifiers, including finger and voice prints",
    "Q": "photographs of the full face",
    "R": "any other number, characteristic or code that is unique",
}
_TOPICS = {
    "a person's name": "A",
    "a part of a person's name": "A",
    "a number that belongs to one person": "GHI",
    "how to reach a person": "DEF",
    "where a person lives, to the door": "B",
    "a device, an account or a document": "JKLM",
    "a place": "B",
    "when or where a person was born": "C",
    "a person's age": "C",
    "a person's death": "C",
    "when something happened": "C",
}
_LOOKS = {
    "e-mail addresses": "F",
    "web addresses": "N",
    "tokens or hashes": "R",
    "device addresses": "M",
    "IP addresses": "O",
    "phone numbers": "DE",
    "bank account or card numbers": "J",
    "national numbers of persons": "G",
    "coordinates": "B",
    "names of people": "A",
    "free texts": "ABCDEFGHIJKLMNOPQR",
}
_YEARS = re.compile(r"\W*\d{4}(\W+(to\W+)?\d{4})?\W*")
_DATED = re.compile(r"\W*\d{4}(-\d\d|-Q\d|-W\d\d).*")
_NUMBER = re.compile(r"\d+(\.\d+)?")
# so many records alone with a value make it a characteristic that may be unique
_ALONE = 0.05
_OLDEST = 90


class Verdict(StrEnum):
    """The verdict on a column; only a person can say that it holds no identifier."""

    FOUND = "found"
    DECIDE = "a person must decide"
    NOTHING = "nothing found"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The identifiers that one released column holds or may hold.

    Parameters
    ----------
    column
        Its name.
    letters
        Which of :data:`IDENTIFIERS` it may be; empty where nothing was found.
    verdict
        How sure that is.
    words
        What was seen.
    """

    column: str
    letters: str = ""
    verdict: Verdict = Verdict.NOTHING
    words: str = "neither its name nor its values look like any of the 18 identifiers"


def safe_harbor(released: Table, schema: Schema) -> tuple[Finding, ...]:
    """Look for the identifiers that Safe Harbor (45 CFR 164.514(b)(2)) removes, in every column of a released table.

    Names of columns are understood in the larger European languages, values by their looks: the same tables with which
    schemas are drafted. That nothing is found does not show that nothing is there, and Safe Harbor also requires that
    the holder knows of no other way to find somebody.

    Cost: every column is grouped once, on the engine.

    Parameters
    ----------
    released
        The table as it is to leave.
    schema
        The schema of the original, which says which columns are pseudonyms and dates.
    """
    return tuple(_finding(released, each, schema) for each in tables.profile(released))


def _finding(released: Table, profile: ColumnProfile, schema: Schema) -> Finding:
    identifiers = list(_find_identifiers(released, profile, schema))
    if not identifiers:
        return Finding(column=profile.name)
    verdict = min((identifier.verdict for identifier in identifiers), key=list(Verdict).index)
    worst = [identifier for identifier in identifiers if identifier.verdict is verdict]
    letters = "".join(sorted({letter for each in worst for letter in each.letters}))
    words = "; ".join(dict.fromkeys(each.words for each in worst))
    return Finding(column=profile.name, letters=letters, verdict=verdict, words=words)


def _find_identifiers(released: Table, profile: ColumnProfile, schema: Schema) -> Iterator[Finding]:
    name = profile.name
    attribute = next((each for each in schema if each.name == name), None)
    if attribute is not None and attribute.pseudonym:
        words = "a pseudonym that is computed from an identifier: 164.514(c) requires codes that are not"
        yield Finding(column=name, letters="R", verdict=Verdict.FOUND, words=words)
        return
    about = topic(name, text=profile.type == "text")
    letters = "" if about is None else _TOPICS.get(about.means, "")
    for look, part in profile.looks.items():
        if look in _LOOKS:
            words = f"{share(part)} of its values look like {look}"
            doubtful = look == "free texts" or (look == "names of people" and letters != "A")
            verdict = Verdict.DECIDE if doubtful else Verdict.FOUND
            yield Finding(column=name, letters=_LOOKS[look], verdict=verdict, words=words)
    labels = [label for label in text(tables.distinct_values(released, name)).to_pylist() if label not in (None, "*")]
    if about is not None and about.means == "a person's age":
        yield _age(name, labels)
    elif _holds_dates(
        labels, profile, timed=attribute is not None and attribute.kind is Kind.DATE, named=letters == "C"
    ):
        yield _date(name, labels)
    elif letters == "B":
        yield _place(name, labels)
    elif about is not None and letters:
        words = f"its name suggests {about.means}"
        yield Finding(column=name, letters=letters, verdict=Verdict.DECIDE, words=words)
    if profile.alone >= _ALONE:
        words = f"{share(profile.alone)} of the records have a value that no other record has"
        yield Finding(column=name, letters="R", verdict=Verdict.DECIDE, words=words)


def _holds_dates(labels: list[str], profile: ColumnProfile, *, timed: bool, named: bool) -> bool:
    """Return whether released values are dates: declared so, written so, or years in a column named after a time."""
    years = named and all(map(_YEARS.fullmatch, labels))
    return timed or profile.dated or years or any(map(_DATED.match, labels))


def _date(name: str, labels: list[str]) -> Finding:
    finer = [label for label in labels if not _YEARS.fullmatch(label)]
    if finer:
        words = f"{len(finer):,} of its {len(labels):,} values are finer than a year"
        return Finding(column=name, letters="C", verdict=Verdict.FOUND, words=words)
    return Finding(column=name, words="dates, no finer than the year")


def _age(name: str, labels: list[str]) -> Finding:
    begins = {label: float(match[0]) for label in labels if (match := _NUMBER.search(label))}
    old = [label for label, begin in begins.items() if begin >= _OLDEST]
    if any(begins[label] > _OLDEST for label in old) or len(old) > 1:
        words = "ages over 89 are shown separately"
        return Finding(column=name, letters="C", verdict=Verdict.FOUND, words=words)
    if old:
        words = "one value begins at 90: it must stand for all ages of 90 and over"
        return Finding(column=name, letters="C", verdict=Verdict.DECIDE, words=words)
    return Finding(column=name, words="ages; no value stands for ages over 89 alone")


def _place(name: str, labels: list[str]) -> Finding:
    digits = max((len(match[0]) for label in labels if (match := re.match(r"\d+", label))), default=0)
    if digits > 3:
        words = f"a place, shown with up to {digits} digits"
        return Finding(column=name, letters="B", verdict=Verdict.FOUND, words=words)
    words = (
        f"a place, shown with up to {digits} digits: every area must hold more than 20,000 people"
        if digits
        else "a place: it must not be smaller than a state"
    )
    return Finding(column=name, letters="B", verdict=Verdict.DECIDE, words=words)
