"""Guess the role of a column: by what its values look like, by its name, and on the safe side where neither helps."""

from __future__ import annotations

from shoal.exact import share
from shoal.schema._domain import Kind
from shoal.schema._schema import Role
from shoal.schema.drafts._names import Topic, means_count, means_key, means_state
from shoal.schema.drafts._profile import ColumnProfile, Guess

# fewer than one record in a hundred shares its value: a key of persons, not of wards or shops
_NEARLY_UNIQUE = 0.99
# a key with so many values per record is of persons or households that have several records
_OF_PEOPLE = 0.1
# uniqueness in a handful of records says nothing
ENOUGH = 20
# so many records that are alone with their value make it a way to find people
_TELLING = 0.05
# so few values, each of many records, are states of an account and no account
_FEW, _SHARED = 20, 0.02

_NAMING = (
    "e-mail addresses",
    "web addresses",
    "tokens or hashes",
    "device addresses",
    "IP addresses",
    "phone numbers",
    "bank account or card numbers",
    "national numbers of persons",
)


def guess_role(profile: ColumnProfile, kind: Kind, topic: Topic | None) -> Guess[Role]:
    """Return the role of a column and why.

    What is not known is taken as known to others (a quasi-identifier); what can neither be coarsened nor safely be
    released as it is must be decided by a person. No column is released as it is because nothing is known about it.
    """
    apart = f"it tells {share(profile.separation)} of all pairs of records apart"
    if profile.type == "other":
        return Guess(Role.DROP, "its values are not text, numbers or dates")
    if not profile.distinct:
        return Guess(Role.DROP, "it has no values")
    telling = topic is not None and topic.role in (Role.WEIGHT, Role.IDENTIFIER)
    if profile.distinct == 1 and not profile.missing and not telling and _naming(profile) is None:
        return Guess(Role.INSENSITIVE, "all its values are the same")
    found = _naming(profile) or (_by_topic(profile, kind, topic, apart) if topic else None)
    if found is not None:
        return found
    return _free_text(profile) or _key(profile, apart) or _unknown(profile, kind, apart)


def _naming(profile: ColumnProfile) -> Guess[Role] | None:
    """Values that name a person decide before any name of a column does."""
    for look in _NAMING:
        if profile.looks_like(look):
            return Guess(Role.IDENTIFIER, f"its values look like {look}")
    if profile.looks_like("coordinates"):
        return Guess(Role.QUASI_IDENTIFIER, "its values look like coordinates, which lead to a door")
    if profile.looks_like("names of people") and profile.unique >= 0.5 and profile.distinct >= ENOUGH:
        return Guess(Role.IDENTIFIER, "its values look like names of people, and few records share one")
    return None


def _by_topic(profile: ColumnProfile, kind: Kind, topic: Topic, apart: str) -> Guess[Role] | None:
    named = f"its name suggests {topic.means}"
    if (
        topic.role is Role.IDENTIFIER
        and means_count(profile.name)
        and profile.numeric
        and profile.unique < _NEARLY_UNIQUE
    ):
        return Guess(Role.QUASI_IDENTIFIER, f"its name suggests a count; {apart}")
    if topic.role is Role.IDENTIFIER and means_state(profile.name) and _is_shared(profile):
        return Guess(Role.QUASI_IDENTIFIER, f"its name suggests a state or a kind, which many records share; {apart}")
    if topic.role is Role.SENSITIVE:
        return _secret(profile, kind, named)
    if topic.role is Role.QUASI_IDENTIFIER:
        if (found := _free_text(profile)) is not None:
            return found
        return Guess(topic.role, f"{named}, which others may know; {apart}")
    if topic.role is Role.WEIGHT:
        return _weight(profile, named)
    return Guess(topic.role, named)


def _is_shared(profile: ColumnProfile) -> bool:
    return profile.distinct <= _FEW and profile.distinction <= _SHARED


def _secret(profile: ColumnProfile, kind: Kind, named: str) -> Guess[Role]:
    """A secret that is exact enough to find people by it is not released without a word."""
    if kind is Kind.DATE:
        return Guess(Role.QUASI_IDENTIFIER, f"{named}, but others may know when something happened; {_alone(profile)}")
    if (found := _free_text(profile)) is not None:
        return Guess(Role.DECIDE, f"{named}; {found.reason}")
    if kind is Kind.CATEGORICAL and profile.alone >= _TELLING and profile.records >= ENOUGH:
        return Guess(Role.DECIDE, f"{named}, but it singles people out: {_alone(profile)}")
    if profile.alone >= _TELLING:
        return Guess(Role.SENSITIVE, f"{named}; its exact values single people out, so round them: {_alone(profile)}")
    return Guess(Role.SENSITIVE, f"{named}, which people keep private")


def _weight(profile: ColumnProfile, named: str) -> Guess[Role] | None:
    """A weight is released as it is: one that is exact enough to find people by it is rounded first."""
    if not profile.numeric:
        return None
    if profile.alone >= _TELLING or profile.missing:
        why = _alone(profile) if profile.alone >= _TELLING else "some records have none"
        told = 'round it and give it the role "weight", make a weight of bodies a quasi-identifier, or drop it'
        return Guess(Role.DECIDE, f"{named}; {told}: {why}")
    return Guess(Role.WEIGHT, f"{named}, with which risks are estimated for the population")


def _free_text(profile: ColumnProfile) -> Guess[Role] | None:
    if profile.looks_like("free texts", 0.5) and (profile.unique >= _OF_PEOPLE or profile.distinct > 1000):
        return Guess(Role.DECIDE, "free text cannot be made coarser, and may name people: drop it or code it")
    return None


def _key(profile: ColumnProfile, apart: str) -> Guess[Role] | None:
    if profile.type not in ("text", "integer") or (profile.numeric and not profile.whole):
        return None
    if means_key(profile.name) and profile.unique >= _NEARLY_UNIQUE:
        return Guess(Role.IDENTIFIER, "its name suggests a key, and almost no two records share a value")
    if means_key(profile.name) and profile.unique >= _OF_PEOPLE and profile.distinct >= ENOUGH:
        return Guess(Role.IDENTIFIER, "its name suggests a key of people or households with several records each")
    if profile.unique == 1 and profile.records >= ENOUGH:
        return Guess(Role.IDENTIFIER, "no two records have the same value", known=False)
    return None


def _unknown(profile: ColumnProfile, kind: Kind, apart: str) -> Guess[Role]:
    if kind is Kind.DATE:
        return Guess(Role.QUASI_IDENTIFIER, f"others may know when something happened; {apart}")
    if kind is Kind.CATEGORICAL and profile.distinction >= 0.5 and profile.records >= ENOUGH:
        return Guess(Role.DECIDE, f"its name says nothing, and it singles people out: {_alone(profile)}")
    return Guess(Role.QUASI_IDENTIFIER, f"nothing says that others cannot know it; {apart}", known=False)


def _alone(profile: ColumnProfile) -> str:
    return f"{share(profile.alone)} of the records are alone with their value"
