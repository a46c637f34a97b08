"""Detectors of the form of values (dates, codes, names, ...), whatever the column is called.

A detector is given distinct texts of a column; what leaves this module is the share of them that have its look, never a
text.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module

Detector = Callable[[Sequence[str]], float]

# a look is noted where a good part of the values has it; what is rarer is an accident
_NOTED = 0.5
# parsing with a library takes a while; a few hundred texts show what a column holds
_MANY, _FEW = 2000, 300
_PHONE = re.compile(r"(\+|00)[\d\s()/.-]{8,20}|\(?0?\d{2,5}\)?[\s/-][\d\s/-]{5,14}")
_DAY = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}")
# fmt: off
_COUNTRIES = (
    "US", "DE", "FR", "ES", "IT", "GB", "NL", "PL", "PT", "AT", "CH", "BE", "SE", "DK", "NO", "FI", "CZ", "RO",
)
_NATIONAL = (
    "de.idnr", "fr.nir", "es.dni", "es.nie", "it.codicefiscale", "pt.nif", "nl.bsn", "be.nn",
    "pl.pesel", "gb.nhs", "se.personnummer", "no.fodselsnummer", "fi.hetu", "dk.cpr", "cz.rc", "ro.cnp",
    "at.vnr", "ch.ssn", "bg.egn", "hr.oib", "gr.amka", "lt.asmens", "ee.ik", "si.emso", "ie.pps",
    "br.cpf", "mx.curp", "ca.sin",
)
# fmt: on


def looks(texts: Iterable[str]) -> Mapping[str, float]:
    """Return which looks a good part of distinct texts has, and which part that is, in [0, 1]."""
    chosen = [text.strip() for text in texts if text.strip()]
    shares = {name: share(chosen) for name, share in DETECTORS.items()}
    return {name: share for name, share in shares.items() if share >= _NOTED}


def each(holds: Callable[[str], object], sample: int = _MANY) -> Detector:
    """Return a detector that judges one text at a time."""

    def share(texts: Sequence[str]) -> float:
        chosen = texts[:sample]
        return sum(bool(holds(text)) for text in chosen) / len(chosen) if chosen else 0.0

    return share


def pattern(written: str) -> Detector:
    """Return a detector of whole texts that fit a regular expression."""
    return each(re.compile(written).fullmatch)


def check_digits(*modules: str, shortest: int) -> Detector:
    """Return a detector of numbers with check digits, which modules of ``stdnum`` know; shorter texts are none."""

    def share(texts: Sequence[str]) -> float:
        chosen = texts[:_FEW]
        long = [text for text in chosen if len(text.replace(" ", "")) >= shortest]
        if len(long) < _NOTED * len(chosen) or not long:
            return 0.0
        # the share of one country's numbers, not of any: a check digit alone lets one number in ten pass
        validators: list[Callable[[str], bool]] = [import_module(f"stdnum.{name}").is_valid for name in modules]
        return max(sum(map(valid, long)) for valid in validators) / len(chosen)

    return share


def _is_ip_address(text: str) -> bool:
    if text.count(".") != 3 and text.count(":") < 2:
        return False
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_phone_number(text: str) -> bool:
    """Return whether telephones of some country have the number; a mere row of digits is not taken for one."""
    if _PHONE.fullmatch(text) is None or _DAY.match(text):
        return False
    if text.startswith(("+", "00")):
        return _can_be_called("+" + text.removeprefix("+").removeprefix("00"), None)
    return any(_can_be_called(text, country) for country in _COUNTRIES)


def _can_be_called(text: str, country: str | None) -> bool:
    import phonenumbers

    try:
        number = phonenumbers.parse(text, country)
    except phonenumbers.NumberParseException:
        return False
    return bool(phonenumbers.is_possible_number(number) if country is None else phonenumbers.is_valid_number(number))


def _is_country(text: str) -> bool:
    from shoal.schema.rules import country

    return country(text) is not None


def _is_free_text(text: str) -> bool:
    """Return whether a text is more than a label: a sentence, or at least four words in a row."""
    return len(text) > 60 or (len(text) > 20 and text.count(" ") >= 3)


#: Each by how drafts call values that look so, in the plural.
DETECTORS: Mapping[str, Detector] = {
    # somebody@example.org
    "e-mail addresses": pattern(r"[^@\s,;]+@[^@\s,;]+\.[A-Za-z]{2,}"),
    # https://example.org/somebody
    "web addresses": pattern(r"(?i)(https?://|www\.)\S+"),
    # universally unique identifiers, and hashes written in hexadecimal digits
    "tokens or hashes": pattern(
        r"(?i)\{?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\}?|(?=.*\d)(?=.*[a-f])[0-9a-f]{24,128}"
    ),
    # 00:1b:44:11:3a:b7
    "device addresses": pattern(r"(?i)[0-9a-f]{2}([:-][0-9a-f]{2}){5}"),
    "IP addresses": each(_is_ip_address),
    "phone numbers": each(_is_phone_number, _FEW),
    "bank account or card numbers": check_digits("iban", "luhn", shortest=15),
    # numbers that a state gives to a person, where they have check digits
    "national numbers of persons": check_digits(*_NATIONAL, shortest=8),
    # 48.2082, 16.3738: a latitude and a longitude
    "coordinates": pattern(r"[([]?-?\d{1,2}\.\d{2,}\s*[,; ]\s*-?\d{1,3}\.\d{2,}[)\]]?|POINT ?\(.*\)"),
    # by name, or by their codes of two or three letters
    "countries": each(_is_country),
    # regions of Europe: DE2, DE21, DE212
    "NUTS codes": pattern(r"[A-Z]{2}[0-9A-Z]{1,3}"),
    # codes that go from the general to the particular: J45.0, C10.1 or N02BE01
    "classification codes": pattern(
        r"[A-Z]\d{2}(\.?[0-9A-Z]{1,4})?|[A-Z]\d{2}[A-Z]{2}\d{2}|\d{2}\.\d{1,2}|\d{3}(\.\d{1,2})?"
        r"|[EV]\d{2,3}(\.\d{1,2})?"
    ),
    # two to four capitalised words without digits, as in Ada Lovelace or Lovelace, Ada
    "names of people": pattern(
        r"(?:(?:Mr|Mrs|Ms|Dr|Herr|Frau|Sr|Sra|M|Mme)\.? )?[^\W\d_a-zß-ÿ][\w'-]*,? "
        r"(?:(?:de|van|von|der|da|di|del|la) )*(?:[^\W\d_a-zß-ÿ](?:[\w'-]*|\.) ?){1,3}"
    ),
    "free texts": each(_is_free_text),
}
