"""What column names give away: the words that people use for identifiers, quasi-identifiers and sensitive values."""

from __future__ import annotations

import re

__all__ = ["code_name", "identifier_name", "key_name", "quasi_identifier_name", "sensitive_name"]


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_IDENTIFIERS = _set(
    "ssn sin nin nhs mrn email mail phone telephone tel mobile fax passport iban bic account license licence plate vin "
    "url ip ipaddress mac imei username login surname firstname lastname fullname forename address street insurance "
    "signature photo fingerprint"
)
_KEYS = _set("id uuid guid key identifier nr no number pid uid")
# `name` alone is a person's; `product name` and `drug name` are not
_PEOPLE = _set(
    "first last full given family middle maiden patient person customer client employee user student mother father "
    "contact doctor physician"
)
_QUASI_IDENTIFIERS = _set(
    "age sex gender birth born birthday birthdate birthyear dob yob zip zipcode postcode postal plz race ethnicity "
    "ethnic nationality citizenship country state county city town municipality district region province canton "
    "neighborhood neighbourhood marital education degree occupation job profession workclass employer employment "
    "industry household children family language height weight death latitude longitude lat lon location school "
    "university department rank"
)
_SENSITIVE = _set(
    "diagnosis diagnoses disease illness condition disorder icd icd9 icd10 icd11 procedure treatment medication drug "
    "drugs prescription result lab hiv test symptom outcome severity income salary wage wages pay earnings revenue "
    "charge charges cost costs price amount balance debt loan credit tax taxes asset assets wealth benefit benefits "
    "religion political party orientation crime conviction offence offense grade grades score iq rating disability "
    "abortion pregnancy alcohol los stay"
)
_CODES = _set("zip zipcode postcode postal plz code codes icd icd9 icd10 icd11 naics isco fips cpt")


def identifier_name(name: str) -> bool:
    """Return whether a name means a person's name, number, address or account."""
    words = _words(name)
    alone = bool(words) and words <= {"name", "names"}
    return alone or bool(words & _IDENTIFIERS) or ("name" in words and bool(words & _PEOPLE))


def key_name(name: str) -> bool:
    """Return whether a name means a key, which identifies persons where it is nearly unique."""
    return bool(_words(name) & _KEYS)


def quasi_identifier_name(name: str) -> bool:
    """Return whether a name means something that neighbours, colleagues or registers know."""
    return bool(_words(name) & _QUASI_IDENTIFIERS)


def sensitive_name(name: str) -> bool:
    """Return whether a name means something that people keep to themselves."""
    return bool(_words(name) & _SENSITIVE)


def code_name(name: str) -> bool:
    """Return whether a name means a code: digits that are not a quantity."""
    return bool(_words(name) & _CODES)


def _words(name: str) -> frozenset[str]:
    """Split ``admissionDate``, ``admission_date`` and ``Admission Date`` alike; a plural counts as its singular."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    words = re.findall(r"[^\W_]+", parted.lower())
    return frozenset(words) | {word[:-1] for word in words if word.endswith("s")}
