"""Topics of column names, from a table of words by language."""

from __future__ import annotations

import functools
import re
import tomllib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import resources

from shoal.schema._schema import Role


def word_set(words: str) -> frozenset[str]:
    """Return words that are written in one line."""
    return frozenset(words.split())


def _without_accents(text: str) -> str:
    """Return a text without accents; Korean letters are taken apart on the way, in names and words alike."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return plain.replace("\u0131", "i")  # the Turkish letter that has no dot


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
    "aluno pupil resident applicant candidate player athlete senator legislator politician deputy inmate prisoner "
    "defendant voter borrower tenant spieler kandidat abgeordneter joueur candidat depute eleve salarie jugador "
    "candidato diputado trabajador giocatore deputato deputado eleitor speler"
)
_THINGS = word_set(
    "product item article sku order invoice transaction trans session event visit encounter stay admission case claim "
    "test specimen sample lab device agency clinic hospital ward provider school class classroom teacher department "
    "site station store shop branch region area county city tract block zip vehicle veh route trip flight game match "
    "geo geoid place location district team club group grp batch study trial survey wave form version page row line "
    "record obs index loan account policy sector industry occ ind job course exam question film movie book produkt "
    "artikel bestellung rechnung fall betrieb schule klasse klinik"
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
_NAME_PARTS = word_set("first last given family middle maiden")
# a question of a survey says more than a few words, and no single one of them what its answers are
_QUESTION = 8
# so many names of a language are no accident
_SEVERAL = 2
#: what stands behind another word that is written together with it: `agegrp`, `racecode`
_GROUPED = word_set(
    "grp group groups cat category band bands bracket bucket bin range class code cd recode gruppe klasse"
)
#: letters of the words that a word may be made of
_SHORTEST, _BESIDE_ANOTHER = 3, 4
_FILLERS = word_set("of the de la del des du der van di 1 2 y et e")
_KOREAN_PEOPLE = tuple(map(_without_accents, ("환자", "고객", "회원", "학생", "직원")))
_NUMBERED = tuple(map(_without_accents, ("番号", "编号", "編號", "번호")))
#: keys of people whose words are written together: `Patientennummer`, `patientnr`, `customerid`, `USUBJID`
_COMPOUND = re.compile(
    rf"(?:患者|病人|员工|員工|学生|學生|社員|会員|會員|顧客|客户|客戶|{'|'.join(_KOREAN_PEOPLE)})"
    rf"(?:{'|'.join(_NUMBERED)}|号|號|id)|"
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


def topic(name: str, *, text: bool = True, many: bool = True, languages: frozenset[str] | None = None) -> Topic | None:
    """Return what a name is about, or None where no word of it is known.

    ``text`` says whether the column holds text, ``many`` whether it holds more than a yes or no, and ``languages``
    which ones the names of its table are in: those of :func:`languages_of`, None for all.
    Words that name somebody count in every language, and others not in questions of many words.

    Examples
    --------
    >>> topic("Geschlecht").means
    "a person's sex"
    """
    tokens, parts = words(name), _parts(name)
    singular = tokens | {word[:-1] for word in tokens if word.endswith("s") and len(word) > 3}
    # `e-mail` and `zip code` are also known as one word, and `icd10` with its number
    spelt = frozenset((*parts, "".join(parts)))

    def first(of: frozenset[str] | None, *, naming: bool) -> Topic | None:
        topics = [each for each in _table(of) if (text or not each.text) and (many or not each.many)]
        if naming:
            topics = [topic for topic in topics if topic.role not in (Role.QUASI_IDENTIFIER, Role.SENSITIVE)]
        return next((topic for spelling in (tokens, singular) for topic in topics if topic.has(spelling, spelt)), None)

    if many and "name" in tokens and tokens & _NAME_PARTS:
        return next(each for each in _table(None) if each.key == "person-name")
    known = None if len(parts) > _QUESTION else first(languages, naming=False)
    if known is None and len(parts) <= _QUESTION:
        compounds = filter(None, (_compound(word, languages) for word in parts))
        known = next(
            (compound for compound in compounds if (text or not compound.text) and (many or not compound.many)), None
        )
    return known or first(None, naming=True)


@functools.cache
def _compound(word: str, languages: frozenset[str] | None) -> Topic | None:
    """Return what a word is about that is two words written together: `agegrp`, `raceethnicity`.

    All of it must be known words, of the same topic or a group and its topic: a word inside of another decides nothing.
    """

    def about(part: str) -> Topic | None:
        return next((each for each in _table(languages) if not each.alone and part in each.whole), None)

    for cut in range(_SHORTEST, len(word) - 1):
        start, end = about(word[:cut]), word[cut:]
        if start is None or start.role not in (Role.QUASI_IDENTIFIER, Role.SENSITIVE):
            continue
        same = min(cut, len(end)) >= _BESIDE_ANOTHER and about(end) == start
        if end in _GROUPED or same:
            return start
    return None


def languages_of(names: Iterable[str]) -> frozenset[str] | None:
    """Return the languages that the names of a table's columns are in, English always among them; None if unclear.

    The same word means different things: `land` is a country in German, and `alter` an age.

    Examples
    --------
    >>> sorted(languages_of(["Geschlecht", "Alter", "Wohnort", "Einkommen", "id"]))
    ['de', 'en']
    """
    english = [name for name in names if topic(name, languages=frozenset({"en"})) is not None]
    others = [name for name in names if name not in english]
    hits = {
        language: sum(topic(name, languages=frozenset({language})) is not None for name in others)
        for language in _languages()
    }
    best = max(hits.values())
    if 4 * best <= len(english) and len(english) >= _SEVERAL:
        return frozenset({"en"})
    if best < _SEVERAL:
        return None
    return frozenset({"en", *(language for language, number in hits.items() if 4 * number >= 3 * best)})


def means_key(name: str) -> bool:
    """Return whether a name means a key, which identifies persons where it is nearly unique."""
    tokens = words(name)
    endings = ("nummer", "nr", *_NUMBERED)
    return bool(tokens & _KEYS) or any(_COMPOUND.fullmatch(word) or word.endswith(endings) for word in tokens)


def means_thing(name: str) -> bool:
    """Return whether a key is one of things, places or events, not of people: `product_id`, `clinic_nr`."""
    return bool(words(name) & _THINGS)


def person_key(name: str) -> bool:
    """Return whether a key stands for a person, not for a ward or a shop: `id`, `patient_nbr`, `customer id`."""
    tokens = words(name)
    people = _PEOPLE | next(each.company for each in _table() if each.alone)
    of_people = bool(tokens & (_KEYS | _CODED)) and bool(tokens & people) and "of" not in tokens
    of_people = of_people or any(_COMPOUND.fullmatch(word) for word in tokens)
    return bool(tokens) and (tokens <= _PLAIN_KEYS or of_people) and not household_key(name)


def names_people(name: str) -> bool:
    """Return whether a name says nothing but whose record it is, as a key may be called: `patient`, `customer`."""
    return bool(words(name)) and words(name) <= _PEOPLE


def household_key(name: str) -> bool:
    """Return whether a name means the key of a household: `hid`, `household_id`."""
    tokens = words(name)
    return bool(tokens & _HOUSEHOLD_KEYS) or (
        bool(tokens & _HOUSEHOLDS) and bool(tokens & _KEYS - {"number", "no", "num"})
    )


def household_weight(name: str) -> bool:
    """Return whether a weight is one of households: `hh_weight`, `household_wgt`."""
    return bool(words(name) & (_HOUSEHOLDS | {"haushalt", "hogar", "menage", "hhwgt", "hhwt", "hweight"}))


def means(name: str, meant: frozenset[str]) -> bool:
    """Return whether a name has one of the words that mean something."""
    return bool(words(name) & meant)


def words(name: str) -> frozenset[str]:
    """Split ``admissionDate``, ``admission_date`` and ``Admission Date 2`` alike, without accents and capitals."""
    return frozenset(word.rstrip("0123456789") or word for word in _parts(name))


def _parts(name: str) -> list[str]:
    plain = _without_accents(name)
    plain = plain.replace("ß", "ss").replace("ø", "o").replace("æ", "ae").replace("ł", "l")
    parted = re.sub(r"(?<=^ID)(?=[a-z])|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?!(?<=^I)D)(?=[A-Z][a-z])", " ", plain)
    return re.findall(r"[^\W_]+", parted.lower())


@functools.cache
def _words() -> dict[str, dict[str, object]]:
    return tomllib.loads(resources.files("shoal.schema.drafts").joinpath("names.toml").read_text(encoding="utf-8"))


@functools.cache
def _languages() -> tuple[str, ...]:
    return tuple(sorted({key for languages in _words().values() for key in languages if key not in (*_SETTINGS, "en")}))


@functools.cache
def _table(languages: frozenset[str] | None = None) -> tuple[Topic, ...]:
    return tuple(_topic(key, each, languages) for key, each in _words().items())


def _topic(key: str, found: dict[str, object], languages: frozenset[str] | None) -> Topic:
    listed = [
        word
        for key, value in found.items()
        if key not in _SETTINGS and (languages is None or key in languages)
        for word in _without_accents(str(value)).split()
    ]
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
