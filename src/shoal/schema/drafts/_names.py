"""What the name of a column means: topics and their words in the larger European languages, read from a table."""

from __future__ import annotations

import functools
import re
import tomllib
import unicodedata
from dataclasses import dataclass, field
from importlib import resources

from shoal.schema._schema import Role


def word_set(words: str) -> frozenset[str]:
    """Return words that are written in one line."""
    return frozenset(words.split())


_SETTINGS = ("role", "means", "nominal", "alone", "text", "many", "with")
_KEYS = word_set("id uuid guid key identifier nr nbr no number pid uid cod clave cle schluessel kennung numero num")
_CODED = word_set("code codigo codice kode")
_PLAIN_KEYS = word_set("id uuid guid key identifier pid uid")
_HOUSEHOLDS = word_set("household hh family dwelling home")
_HOUSEHOLD_KEYS = word_set("hid hhid hhnr hhno householdid familyid haushaltsnr haushaltsnummer haushaltsid")
#: whose record it is, where so many values repeat that no kind of people is meant
_PEOPLE = word_set(
    "patient person customer client employee user student subject participant respondent member worker individual "
    "beneficiary enrollee insured donor pseudonym pat kunde patienten mitarbeiter mitglied teilnehmer proband klient "
    "versicherter schueler schuler bewohner paciente cliente empleado alumno paziente utente klant medewerker pessoa "
    "aluno"
)
#: how many of something there are
COUNTS = word_set("count counts number num n nb nbr anzahl nombre numero cantidad total zahl aantal liczba many")
#: how long something lasted: `years_at_company`
DURATIONS = word_set(
    "years months weeks days hours minutes time duration tenure seniority jahre monate wochen tage stunden dauer "
    "annees mois jours heures duree anos meses semanas dias horas anni mesi giorni ore jaren maanden dagen uren lata"
)
#: what became of something, or which kind it is: `checking_account_status`
STATES = word_set("status type kind category class clicked opened sent viewed verified provider consent typ tipo")
#: a code: digits that are not a quantity
CODES = word_set(
    "zip zipcode postcode postal plz code codes kode codigo codice cod icd icd9 icd10 icd11 naics nace isco "
    "isco08 soc fips cpt atc"
)
_FILLERS = word_set("of the de la del des du der van di 1 2 y et e")
#: keys of people whose words are written together: `Patientennummer`, `patientnr`, `customerid`, `USUBJID`
_COMPOUND = re.compile(
    r"(?:patient|pasient|versichert|proband|klient|klant|kund|personal|mitarbeiter|mitglied|teilnehmer|schuler)\w*"
    r"(?:nummer|nr|id|kennung|code)"
    r"|(?:pat|pers|person|u?subj|subject|participant|resp|respondent|case|customer|client|employee|emp|member|user|"
    r"student|worker)(?:nr|no|num|id|key|code)"
    r"|(?:fall|lop|p)nr|idno|ident|idpers|mergeid|pidp"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """What a name is about."""

    #: Its name in the table of words.
    key: str
    #: What a column of this topic is drafted as.
    role: Role
    #: How a draft calls it.
    means: str
    #: Whether numbers are codes that name something, not quantities.
    nominal: bool
    #: The words of such names, and how words of them start and end.
    whole: frozenset[str] = field(repr=False)
    starts: tuple[str, ...] = field(repr=False)
    ends: tuple[str, ...] = field(repr=False)
    #: Whether no other words may stand beside them but those that keep them ``company``.
    alone: bool
    company: frozenset[str] = field(repr=False)
    #: Whether only columns of text, or of more than a yes or no, are meant.
    text: bool
    many: bool

    def has(self, found: frozenset[str], spelt: frozenset[str]) -> bool:
        """Return whether the words of a name, or how it is spelt, are of this topic."""
        if self.alone:
            return bool(found & self.whole) and found <= self.whole | self.company | _FILLERS
        if (found | spelt) & self.whole:
            return True
        return any(word.startswith(self.starts) or word.endswith(self.ends) for word in found)


def topic(name: str, *, text: bool = True, many: bool = True) -> Topic | None:
    """Return what a name is about, or None where no word of it is known.

    ``text`` says whether the column holds text, ``many`` whether it holds more than a yes or no.

    Examples
    --------
    >>> topic("Geschlecht").means
    "a person's sex"
    """
    found, parts = words(name), _parts(name)
    singular = found | {word[:-1] for word in found if word.endswith("s") and len(word) > 3}
    # `e-mail` and `zip code` are also known as one word, and `icd10` with its number
    spelt = frozenset((*parts, "".join(parts)))
    topics = [each for each in _table() if (text or not each.text) and (many or not each.many)]
    return next((each for spelling in (found, singular) for each in topics if each.has(spelling, spelt)), None)


def means_key(name: str) -> bool:
    """Return whether a name means a key, which identifies persons where it is nearly unique."""
    found = words(name)
    return bool(found & _KEYS) or any(_COMPOUND.fullmatch(word) or word.endswith(("nummer", "nr")) for word in found)


def person_key(name: str) -> bool:
    """Return whether a key stands for a person, not for a ward or a shop: `id`, `patient_nbr`, `customer id`."""
    found = words(name)
    people = _PEOPLE | next(each.company for each in _table() if each.alone)
    of_people = bool(found & (_KEYS | _CODED)) and bool(found & people) and "of" not in found
    of_people = of_people or any(_COMPOUND.fullmatch(word) for word in found)
    return bool(found) and (found <= _PLAIN_KEYS or of_people) and not household_key(name)


def names_people(name: str) -> bool:
    """Return whether a name says nothing but whose record it is, as a key may be called: `patient`, `customer`."""
    return bool(words(name)) and words(name) <= _PEOPLE


def household_key(name: str) -> bool:
    """Return whether a name means the key of a household: `hid`, `household_id`."""
    found = words(name)
    return bool(found & _HOUSEHOLD_KEYS) or (
        bool(found & _HOUSEHOLDS) and bool(found & _KEYS - {"number", "no", "num"})
    )


def means(name: str, meant: frozenset[str]) -> bool:
    """Return whether a name has one of the words that mean something."""
    return bool(words(name) & meant)


def words(name: str) -> frozenset[str]:
    """Split ``admissionDate``, ``admission_date`` and ``Admission Date 2`` alike, without accents and capitals."""
    return frozenset(word.rstrip("0123456789") or word for word in _parts(name))


def _parts(name: str) -> list[str]:
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    plain = plain.replace("ß", "ss").replace("ø", "o").replace("æ", "ae").replace("ł", "l")
    parted = re.sub(r"(?<=^ID)(?=[a-z])|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?!(?<=^I)D)(?=[A-Z][a-z])", " ", plain)
    return re.findall(r"[^\W_]+", parted.lower())


@functools.cache
def _table() -> tuple[Topic, ...]:
    text = resources.files("shoal.schema.drafts").joinpath("names.toml").read_text(encoding="utf-8")
    return tuple(_topic(key, each) for key, each in tomllib.loads(text).items())


def _topic(key: str, found: dict[str, object]) -> Topic:
    listed = [word for key, value in found.items() if key not in _SETTINGS for word in str(value).split()]
    return Topic(
        key=key,
        role=Role(str(found["role"])),
        means=str(found["means"]),
        nominal=bool(found.get("nominal")),
        whole=frozenset(word for word in listed if "*" not in word),
        starts=tuple(word[:-1] for word in listed if word.endswith("*")),
        ends=tuple(word[1:] for word in listed if word.startswith("*")),
        alone=bool(found.get("alone")),
        company=word_set(str(found.get("with", ""))),
        text=bool(found.get("text")),
        many=bool(found.get("many")),
    )
