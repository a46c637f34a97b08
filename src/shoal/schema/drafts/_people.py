"""Find out from the records, not from names, whether a table may hold several records of a person.

A key of persons repeats, and records that share it agree in what stays the same about a person: birth, sex, origin,
name. A ward or a postal code repeats, too, but its records disagree there. What is looked at are pairs of records that
share a value; no value leaves this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.errors import counted, quoted
from shoal.kernels import Mask
from shoal.schema.drafts._names import means_key, means_thing, person_key, topic, words
from shoal.schema.drafts._profile import ColumnProfile
from shoal.schema.drafts._topics import about

ColumnCodes = npt.NDArray[np.int64]
#: Returns records as codes per column, -1 for a missing value: some that share values of the named columns, or, where
#: none is named, some of all. In a small table these are all records.
Sampler = Callable[[Sequence[str]], Mapping[str, ColumnCodes]]

# what stays the same about a person, by the topics of names
_STABLE = ("birth", "sex", "origin", "whole-name", "person-name", "name-alone", "name-part", "number-of-person")
_NAMES = ("whole-name", "person-name", "name-alone")
# a key has more values than there are kinds of anything, and so many records share theirs
_KEYS, _SHARED = 20, 0.01
# words that so many records share on average name kinds of people
_CROWDED = 200
# typing errors: pairs that share a key disagree at most this much as often as any two records
_ERRORS = 0.04
# as many disagreements must have been expected before their absence says something
_EXPECTED = 20
# a column that nearly all records agree in says nothing about who they are of
_TELLING, _INFORMATIVE = 0.02, 0.2
# of the stable columns, or of all where none is known by name
_MOST_STABLE, _MOST = 2 / 3, 0.5
_FEWEST = 3
# columns and candidates that are looked at; more of them tell no more
_COLUMNS, _CANDIDATES = 60, 200
# values that look like names and surnames
_NAMED = 0.6
# a key of people is another one for so many records, and so many share theirs
_SEVERAL, _REPEATING = 0.1, 0.01
# days of birth and names are exact where there are so many
_EXACT = 100
# so many records share one, and of those pairs so many are alike in the rest beyond chance
_TOGETHER, _BEYOND_CHANCE = 0.1, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class PossiblePerson:
    """Columns whose values may say whose record it is."""

    columns: tuple[str, ...]
    #: Columns that say the same.
    copies: tuple[str, ...] = ()
    #: The columns in which records agree that share the values.
    agreeing: tuple[str, ...]
    distinct: int
    records: int

    def __str__(self) -> str:
        if not self.agreeing:
            return (
                f"`{self.columns[0]}` repeats ({self.distinct:,} different values in {counted(self.records, 'record')})"
            )
        agreeing = quoted(self.agreeing[:4]) + (" and more" if len(self.agreeing) > 4 else "")
        repeats = f"{self.distinct:,} different values in {counted(self.records, 'record')}"
        if len(self.columns) == 1:
            return f"`{self.columns[0]}` repeats ({repeats}), and records that share a value agree in {agreeing}"
        repeats = f"{self.distinct:,} different values of `{self.columns[0]}` in {counted(self.records, 'record')}"
        return f"{quoted(self.columns)} repeat together ({repeats}), far more often than by chance"


def possible_person(profiles: Sequence[ColumnProfile], sampler: Sampler) -> PossiblePerson | None:
    """Return the column, or the columns together, that may say whose record it is; None where nothing suggests it.

    Cost: O(candidates * columns * records) of a sample.
    """
    stable = [
        profile
        for profile in profiles
        if (known := about(profile)) is not None and known.key in _STABLE and profile.separation >= _TELLING
    ]
    people = [each for each in map(_Judge(profiles, stable, sampler), _candidates(profiles)) if each is not None]
    if people:
        best = max(people, key=lambda each: (len(each.agreeing), each.distinct))
        return _with_copies(best, [each for each in people if each is not best], sampler)
    return _by_name(profiles) or _together(profiles, stable, sampler)


def _candidates(profiles: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    """Return the columns that may be keys: whole numbers or texts that repeat, those called keys first."""
    candidates = []
    for profile in profiles:
        known = about(profile)
        # first names and surnames are shared, and tell sex and origin
        shared = known is not None and known.key in ("person-name", "name-part")
        key_like = not shared and (known is None or known.role.names_someone or means_key(profile.name))
        sharing = profile.records - profile.missing - profile.singles
        fitting = profile.type == "integer" or (
            profile.type == "text" and not (profile.dated or profile.looks_like("free texts"))
        )
        if fitting and profile.numeric and not profile.whole:
            fitting = False
        # so few texts are kinds of something
        kinds = profile.type == "text" and not profile.numeric and profile.distinct * _CROWDED < profile.records
        if kinds and not means_key(profile.name):
            continue
        if key_like and fitting and profile.distinct >= _KEYS and sharing >= max(_EXPECTED, _SHARED * profile.records):
            candidates.append(profile)
    candidates.sort(key=lambda each: (not means_key(each.name), -each.distinct))
    return candidates[:_CANDIDATES]


@dataclass(frozen=True)
class _Judge:
    """Decides whether a column may be a key of persons."""

    profiles: Sequence[ColumnProfile]
    stable: Sequence[ColumnProfile]
    sampler: Sampler

    def __call__(self, candidate: ColumnProfile) -> PossiblePerson | None:
        records = self.sampler((candidate.name,))
        first, second = _pairs(records, (candidate.name,))
        if len(first) < _EXPECTED:
            return None
        stable = [each for each in self.stable if each.name != candidate.name]
        agreeing = [each.name for each in stable if agrees(records[each.name], first, second, each.separation)]
        if stable and len(agreeing) < max(1, _MOST_STABLE * len(stable)):
            return None
        # several columns may say one thing: which of six origins somebody has
        subjects = {_subject(each.name) for each in stable}
        if len({_subject(name) for name in agreeing}) < _MOST_STABLE * len(subjects):
            return None
        # first names tell the sex, too
        whole = candidate.looks_like("names of people", _NAMED) and not any(map(_tells_persons, self.profiles))
        if not (candidate.numeric or means_key(candidate.name) or whole) and all(
            topic_is(name, ("sex",)) for name in agreeing
        ):
            agreeing = []
        others = [
            profile
            for profile in self.profiles
            if profile.separation >= _INFORMATIVE and profile not in self.stable and profile.name in records
        ]
        others = [other for other in others if other.name != candidate.name][:_COLUMNS]
        also = [other.name for other in others if agrees(records[other.name], first, second, other.separation)]
        if not agreeing and len(also) < max(_FEWEST, _MOST * len(others)):
            return None
        return PossiblePerson(
            columns=(candidate.name,),
            agreeing=(*agreeing, *also),
            distinct=candidate.distinct,
            records=candidate.records,
        )


def _subject(name: str) -> str:
    """Return the topic of a column."""
    known = topic(name)
    return name if known is None else known.key


def _tells_persons(profile: ColumnProfile) -> bool:
    """Return whether a column numbers people, and is another number in every record: `patient_id`."""
    return person_key(profile.name) and len(words(profile.name)) > 1 and profile.distinct == profile.records


def _pairs(records: Mapping[str, ColumnCodes], names: Sequence[str]) -> tuple[ColumnCodes, ColumnCodes]:
    """Return pairs of records that share the values of columns, and are not the same in all others."""
    key = np.stack([records[name] for name in names])
    order = np.lexsort(key[::-1])
    ordered = key[:, order]
    same = (ordered[:, 1:] == ordered[:, :-1]).all(axis=0) & (ordered[:, 1:] >= 0).all(axis=0)
    first, second = order[:-1][same], order[1:][same]
    different: Mask = np.zeros(len(first), dtype=np.bool_)
    for codes in records.values():
        different |= codes[first] != codes[second]
    return first[different], second[different]


def agrees(codes: ColumnCodes, first: ColumnCodes, second: ColumnCodes, separation: float) -> bool:
    """Return whether pairs of records agree in a column, far more often than any two records do."""
    present = (codes[first] >= 0) & (codes[second] >= 0)
    pairs = int(present.sum())
    if pairs * separation < _EXPECTED:
        return False
    apart = int((codes[first] != codes[second])[present].sum())
    return apart <= _ERRORS * separation * pairs


def _with_copies(best: PossiblePerson, others: Sequence[PossiblePerson], sampler: Sampler) -> PossiblePerson:
    """Name the other columns that say the same, and leave out what they say of each other."""
    copies = tuple(other.columns[0] for other in others if best.columns[0] in other.agreeing)
    agreeing = tuple(name for name in best.agreeing if name not in copies)
    return PossiblePerson(
        columns=best.columns, copies=copies, agreeing=agreeing, distinct=best.distinct, records=best.records
    )


def _together(
    profiles: Sequence[ColumnProfile], stable: Sequence[ColumnProfile], sampler: Sampler
) -> PossiblePerson | None:
    """Return an exact birth date or name, with what else stays the same, that repeats as if persons did."""
    for exact in (each for each in stable if _is_exact(each)):
        telling_sex = topic_is(exact.name, _NAMES)  # as names do
        others = [
            profile
            for profile in profiles
            if profile is not exact
            and profile.separation >= _TELLING
            and topic_is(profile.name, (*_STABLE, "place"))
            and not (telling_sex and topic_is(profile.name, ("sex",)))
        ]
        records = sampler((exact.name,))
        first, second = _pairs(records, (exact.name,))
        total = len(records[exact.name])
        alike = [other.name for other in others if _alike(records[other.name], first, second, other.separation)]
        if len(first) >= _TOGETHER * total and alike and len(alike) >= _MOST_STABLE * len(others):
            names = (exact.name, *alike)
            return PossiblePerson(columns=names, agreeing=names, distinct=exact.distinct, records=profiles[0].records)
    return None


def _by_name(profiles: Sequence[ColumnProfile]) -> PossiblePerson | None:
    """Return a key of something that repeats, where no record shows what it is one of and its name does not say."""
    keys = [
        profile
        for profile in profiles
        if profile.type in ("text", "integer")
        and means_key(profile.name)
        and not means_thing(profile.name)
        and (profile.type == "text" or profile.whole)
        and _SEVERAL * profile.records <= profile.distinct < profile.records - profile.missing
        and profile.singles <= (1 - _REPEATING) * (profile.records - profile.missing)
    ]
    if not keys:
        return None
    best = max(keys, key=lambda each: each.distinct)
    return PossiblePerson(columns=(best.name,), agreeing=(), distinct=best.distinct, records=best.records)


def _alike(codes: ColumnCodes, first: ColumnCodes, second: ColumnCodes, separation: float) -> bool:
    """Return whether at least half of some pairs of records are alike in a column for another reason than chance."""
    pairs = len(first)
    apart = int((codes[first] != codes[second]).sum())
    return pairs * separation >= _EXPECTED and apart <= (1 - _BEYOND_CHANCE) * separation * pairs


def topic_is(name: str, keys: Sequence[str]) -> bool:
    """Return whether a name is about one of some topics."""
    known = topic(name)
    return known is not None and known.key in keys


def _is_exact(profile: ColumnProfile) -> bool:
    """Return whether values are days of birth or whole names, which few people share."""
    if profile.distinct < _EXACT:
        return False
    return (topic_is(profile.name, ("birth",)) and profile.dated) or topic_is(profile.name, _NAMES)
