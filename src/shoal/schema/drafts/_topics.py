"""The topic of a column, from its name or label, unless its values contradict it."""

from __future__ import annotations

from shoal.schema._schema import Role
from shoal.schema.drafts._names import COUNTS, STATES, Topic, means, topic, word_set, words
from shoal.schema.drafts._profile import ColumnProfile

# numbers of accounts are long, and few people have a thousand accounts
_ACCOUNTS = 1000
# so few values, each of many records, are kinds of accounts and no accounts
_FEW, _SHARED = 20, 0.02
_COST_CENTRES = word_set("kostenstelle kostenstellen costcenter costcentre center centre centro")
_CHARGES = word_set("charge charges fee")
_WEIGHTS = word_set("weight weights gewicht poids peso waga wt")
# babies and adults: in kilograms, pounds and grams, on average
_BODIES = ((2, 6), (30, 260), (1500, 6000))
# the heaviest of them against the average, and the average against the lightest
_HEAVIEST, _LIGHTEST = 4, 8


def about(profile: ColumnProfile) -> Topic | None:
    """Return what a column is about, or None where nothing is known of it."""
    text, many = profile.type == "text" and not profile.numeric, profile.distinct != 2
    for name in (profile.name, profile.title):
        meaning = topic(name, text=text, many=many, languages=profile.languages) if name else None
        if meaning is not None and means(name, _WEIGHTS) and meaning.key in ("body", "survey-weight"):
            return _weight(profile, meaning)
        # a label says much of a column in passing: `Telephone use`
        passing = (
            name == profile.title and meaning is not None and meaning.role is Role.IDENTIFIER and is_shared(profile)
        )
        if meaning is not None and not passing and not contradicts(profile, meaning):
            return meaning
    return None


def contradicts(profile: ColumnProfile, topic: Topic) -> bool:
    """Return whether the values of a column, or its other words, say that it is not about the topic of its name.

    A day is no amount, and a charge in words is none. A count of mortgages is no death,
    and a count or a kind of accounts is no account.
    """
    if topic.key == "money":
        in_words = profile.type == "text" and not profile.numeric and not profile.bands
        return profile.dated or means(profile.name, _COST_CENTRES) or (in_words and means(profile.name, _CHARGES))
    if topic.key == "device":
        largest = profile.maximum
        small = profile.numeric and isinstance(largest, int | float) and largest < _ACCOUNTS
        return small or (is_shared(profile) and profile.distinct > 1 and len(words(profile.name)) > 1)
    if topic.role is Role.IDENTIFIER and means(profile.name, STATES) and is_shared(profile):
        return True
    return topic.key == "death" and profile.numeric and means(profile.name, COUNTS)


def is_shared(profile: ColumnProfile) -> bool:
    """Return whether a column has few values, each of many records."""
    return profile.distinct <= _FEW and profile.distinction <= _SHARED


def _weight(profile: ColumnProfile, found: Topic) -> Topic | None:
    """Tell weights of bodies from those of a survey by their numbers: no body weighs four times the average."""
    low, high = profile.minimum, profile.maximum
    if not isinstance(low, int | float) or not isinstance(high, int | float) or not profile.mean:
        return found
    usual = any(least <= profile.mean <= most for least, most in _BODIES)
    of_bodies = usual and high <= _HEAVIEST * profile.mean and low * _LIGHTEST >= profile.mean
    plain = words(profile.name) <= _WEIGHTS | words("body at birth kg lb lbs current self reported of in")
    if found.key == "body" and not of_bodies and low >= 0:
        return topic("survey weights", text=False)
    if found.key == "survey-weight" and (low < 0 or (of_bodies and plain)):
        return topic("body weight", text=False)
    return found
