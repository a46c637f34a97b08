"""What values look like, whatever their column is called: one detector per look.

A detector judges one text at a time; what leaves this module is the share of a column's distinct texts that have the
look, never a text.
"""

from __future__ import annotations

import functools
import ipaddress
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import ClassVar

# a look is noted where a good part of the values has it; what is rarer is an accident
_NOTED = 0.5
# parsing with a library takes a while; a few hundred texts show what a column holds
_FEW = 300


class Detector(ABC):
    """One look that values may have."""

    #: how drafts call values that look so, in the plural
    name: str
    #: how many texts are looked at
    sample: ClassVar[int] = 2000

    @abstractmethod
    def holds(self, text: str) -> bool:
        """Return whether a text looks so."""

    def share(self, texts: Sequence[str]) -> float:
        """Return the share of texts that look so, in [0, 1]."""
        chosen = texts[: self.sample]
        return sum(map(self.holds, chosen)) / len(chosen) if chosen else 0.0


class Pattern(Detector):
    """A look that a regular expression describes."""

    def __init__(self, name: str, pattern: str) -> None:
        self.name, self._pattern = name, re.compile(pattern)

    def holds(self, text: str) -> bool:
        """Return whether the whole text fits."""
        return self._pattern.fullmatch(text) is not None


class IpAddresses(Detector):
    """Addresses of the internet, versions 4 and 6."""

    name = "IP addresses"

    def holds(self, text: str) -> bool:
        """Return whether a text is an address."""
        if text.count(".") != 3 and text.count(":") < 2:
            return False
        try:
            ipaddress.ip_address(text)
        except ValueError:
            return False
        return True


class PhoneNumbers(Detector):
    """Numbers that telephones of some country have; a mere row of digits is not taken for one."""

    name = "phone numbers"
    sample = _FEW
    _shape = re.compile(r"(\+|00)[\d\s()/.-]{8,20}|\(?0?\d{2,5}\)?[\s/-][\d\s/-]{5,14}")
    _day = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}")
    # fmt: off
    _countries = (
        "US", "DE", "FR", "ES", "IT", "GB", "NL", "PL", "PT", "AT", "CH", "BE", "SE", "DK", "NO", "FI", "CZ", "RO",
    )
    # fmt: on

    def holds(self, text: str) -> bool:
        """Return whether a text is a number that some country's telephones have."""
        if self._shape.fullmatch(text) is None or self._day.match(text):
            return False
        if text.startswith(("+", "00")):
            return self._valid("+" + text.removeprefix("+").removeprefix("00"), None)
        return any(self._valid(text, country) for country in self._countries)

    @staticmethod
    def _valid(text: str, country: str | None) -> bool:
        import phonenumbers

        try:
            number = phonenumbers.parse(text, country)
        except phonenumbers.NumberParseException:
            return False
        return bool(
            phonenumbers.is_possible_number(number) if country is None else phonenumbers.is_valid_number(number)
        )


class _CheckDigits(Detector):
    """Numbers with check digits."""

    sample = _FEW
    modules: ClassVar[tuple[str, ...]]
    #: shorter texts are none; one in ten would pass the check
    shortest: ClassVar[int]

    def holds(self, text: str) -> bool:
        return self._long(text) and any(valid(text) for valid in _validators(self.modules))

    def share(self, texts: Sequence[str]) -> float:
        # the share of one country's numbers, not of any: a check digit alone lets one number in ten pass
        chosen = texts[: self.sample]
        long = list(filter(self._long, chosen))
        if len(long) < _NOTED * len(chosen) or not long:
            return 0.0
        return max(sum(map(valid, long)) for valid in _validators(self.modules)) / len(chosen)

    def _long(self, text: str) -> bool:
        return len(text.replace(" ", "")) >= self.shortest


class BankAccounts(_CheckDigits):
    """International bank account numbers and card numbers."""

    name = "bank account or card numbers"
    modules = ("iban", "luhn")
    shortest = 15


class NationalNumbers(_CheckDigits):
    """Numbers that a state gives to a person, where they have check digits."""

    name = "national numbers of persons"
    # fmt: off
    modules = (
        "de.idnr", "fr.nir", "es.dni", "es.nie", "it.codicefiscale", "pt.nif", "nl.bsn", "be.nn",
        "pl.pesel", "gb.nhs", "se.personnummer", "no.fodselsnummer", "fi.hetu", "dk.cpr", "cz.rc", "ro.cnp",
        "at.vnr", "ch.ssn", "bg.egn", "hr.oib", "gr.amka", "lt.asmens", "ee.ik", "si.emso", "ie.pps",
        "br.cpf", "mx.curp", "ca.sin",
    )
    # fmt: on
    shortest = 8


class FreeText(Detector):
    """Sentences, or at least four words in a row."""

    name = "free texts"

    def holds(self, text: str) -> bool:
        """Return whether a text is more than a label."""
        return len(text) > 60 or (len(text) > 20 and text.count(" ") >= 3)


class Countries(Detector):
    """Countries by name, or by their codes of two or three letters."""

    name = "countries"

    def holds(self, text: str) -> bool:
        """Return whether a text is in the table of countries."""
        from shoal.schema.rules import country

        return country(text) is not None


@functools.cache
def _validators(modules: Iterable[str]) -> tuple[Callable[[str], bool], ...]:
    return tuple(import_module(f"stdnum.{name}").is_valid for name in modules)


DETECTORS: tuple[Detector, ...] = (
    # somebody@example.org
    Pattern("e-mail addresses", r"[^@\s,;]+@[^@\s,;]+\.[A-Za-z]{2,}"),
    # https://example.org/somebody
    Pattern("web addresses", r"(?i)(https?://|www\.)\S+"),
    # universally unique identifiers, and hashes written in hexadecimal digits
    Pattern(
        "tokens or hashes",
        r"(?i)\{?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\}?|(?=.*\d)(?=.*[a-f])[0-9a-f]{24,128}",
    ),
    # 00:1b:44:11:3a:b7
    Pattern("device addresses", r"(?i)[0-9a-f]{2}([:-][0-9a-f]{2}){5}"),
    IpAddresses(),
    PhoneNumbers(),
    BankAccounts(),
    NationalNumbers(),
    # 48.2082, 16.3738: a latitude and a longitude
    Pattern("coordinates", r"[([]?-?\d{1,2}\.\d{2,}\s*[,; ]\s*-?\d{1,3}\.\d{2,}[)\]]?|POINT ?\(.*\)"),
    Countries(),
    # codes that go from the general to the particular: J45.0, C10.1 or N02BE01
    Pattern(
        "classification codes",
        r"[A-Z]\d{2}(\.?[0-9A-Z]{1,4})?|[A-Z]\d{2}[A-Z]{2}\d{2}|\d{2}\.\d{1,2}|\d{3}(\.\d{1,2})?"
        r"|[EV]\d{2,3}(\.\d{1,2})?",
    ),
    # two to four capitalised words without digits, as in Ada Lovelace or Lovelace, Ada
    Pattern(
        "names of people",
        r"(?:(?:Mr|Mrs|Ms|Dr|Herr|Frau|Sr|Sra|M|Mme)\.? )?[^\W\d_a-zß-ÿ][\w'-]*,? "
        r"(?:(?:de|van|von|der|da|di|del|la) )*(?:[^\W\d_a-zß-ÿ](?:[\w'-]*|\.) ?){1,3}",
    ),
    FreeText(),
)


def looks(texts: Iterable[str]) -> Mapping[str, float]:
    """Return which looks a good part of distinct texts has, and which part that is, in [0, 1]."""
    chosen = [text.strip() for text in texts if text.strip()]
    shares = {each.name: each.share(chosen) for each in DETECTORS}
    return {name: share for name, share in shares.items() if share >= _NOTED}
