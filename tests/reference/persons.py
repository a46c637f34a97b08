"""Persons counted literally: every record with its person, every vote a fraction, one class at a time."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from reference import models as reference
from reference import recoding
from shoal.models import Model
from shoal.quality import Measure
from shoal.tables import Frequencies, Holders

#: what asks for so many people beside so many values
DIVERSE = ("distinct-l-diversity", "entropy-l-diversity", "recursive-l-diversity")


@st.composite
def tables(
    draw: st.DrawFn, *, people: int = 12, most: int = 5, residents: bool = False, **options: object
) -> Frequencies:
    """Draw a small table in which persons have several records, or may have; likewise the residents of a population.

    Persons with the same records may be there as one who stands for them.
    """
    together = draw(st.booleans())
    found = draw(recoding.tables(**options))
    number = draw(st.integers(1, people))
    counts = np.array([draw(st.integers(1, most)) if count else 0 for count in found.counts.tolist()])
    rows = np.repeat(np.arange(len(counts)), counts)
    persons = np.array([draw(st.integers(0, number - 1)) for _ in rows], dtype=np.int64)
    known, persons = np.unique(persons, return_inverse=True)
    holders = Holders.of(rows, persons, np.ones(len(rows), dtype=np.int64), len(known))
    population = None if found.population is None else found.population + counts
    living = None
    if residents:
        everybody = draw(st.integers(1, people))
        pairs = [
            (row, draw(st.integers(0, everybody - 1)))
            for row in range(len(counts))
            for _ in range(draw(st.integers(0, 4)))
        ]
        homes = np.array([row for row, _ in pairs], dtype=np.int64), np.array([who for _, who in pairs], dtype=np.int64)
        living = Holders.of(*homes, np.ones(len(pairs), dtype=np.int64), everybody)
        population = np.bincount(living.tuples, minlength=len(counts)).astype(np.int64)
    return dataclasses.replace(
        found,
        counts=counts.astype(np.int64),
        holders=gathered(holders) if together else holders,
        population=population,
        residents=gathered(living) if together and living is not None else living,
    )


def gathered(holders: Holders) -> Holders:
    """Return one person for all who have the same records, literally; households are left out."""
    profiles: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for row, person, count in recoding.everybody(holders):
        profiles[person].append((row, count))
    kinds = Counter(tuple(sorted(own)) for own in profiles.values())
    pairs = [(row, who, count) for who, own in enumerate(kinds) for row, count in own]
    rows, persons, counts = (np.array([pair[j] for pair in pairs], dtype=np.int64) for j in range(3))
    made = Holders.of(rows, persons, counts, len(kinds))
    return dataclasses.replace(made, times=np.array([*kinds.values()], dtype=np.int64))


def records(frequencies: Frequencies, labels: Sequence[int]) -> dict[int, list[tuple[int, tuple[int, ...]]]]:
    """Return the person and the sensitive values of every record of every class."""
    holders = frequencies.holders
    found: dict[int, list[tuple[int, tuple[int, ...]]]] = defaultdict(list)
    for row, person, count in recoding.everybody(holders):
        if labels[row] >= 0:
            values = tuple(frequencies.sensitive_codes[row].tolist())
            found[int(labels[row])] += [(person, values)] * count
    return found


def votes(of_class: Sequence[tuple[int, tuple[int, ...]]], column: int) -> dict[int, Fraction]:
    """Give every person of a class one vote, in equal parts to the values of the person's records."""
    found: dict[int, Fraction] = defaultdict(Fraction)
    for person, values in of_class:
        found[values[column]] += Fraction(1, sum(other == person for other, _ in of_class))
    return dict(found)


def holds(model: Model, frequencies: Frequencies, labels: Sequence[int]) -> bool:
    """Return whether the classes of a release satisfy a model, in persons."""
    return all(verdicts(model, frequencies, labels).values())


def verdicts(model: Model, frequencies: Frequencies, labels: Sequence[int]) -> dict[int, bool]:
    """Return which classes satisfy a model in a release of all of them."""
    classes = records(frequencies, labels)
    names = [attribute.name for attribute in frequencies.sensitive]
    column = names.index(model.attribute) if hasattr(model, "attribute") else 0
    attribute = frequencies.sensitive[column] if frequencies.sensitive else None
    domain = reference.Domain(size=1) if attribute is None else reference.Domain(attribute.size, attribute.ordered)
    people = {label: len({person for person, _ in found}) for label, found in classes.items()}
    population = defaultdict(int)
    if frequencies.population is not None:
        for label, count in zip(labels, frequencies.population.tolist(), strict=True):
            population[int(label)] += count
    if frequencies.residents is not None:
        fitting = defaultdict(set)
        for row, person, _ in recoding.everybody(frequencies.residents):
            fitting[int(labels[row])].add(person)
        population = defaultdict(int, {label: len(found) for label, found in fitting.items()})
    groups = {
        label: reference.Group(
            votes(found, column) if names else {0: Fraction(people[label])}, population=population[label]
        )
        for label, found in classes.items()
    }
    release = reference.Release(list(groups.values()), domain, [True] * len(groups))
    if model.name in ("average-risk", "sample-uniqueness"):
        return dict.fromkeys(groups, reference.release_satisfies(model, release))
    return {label: _satisfied(model, release, group, people[label]) for label, group in groups.items()}


def _satisfied(model: Model, release: reference.Release, group: reference.Group, people: int) -> bool:
    if model.name in DIVERSE and people < model.l:
        return False
    if model.name == "entropy-l-diversity":
        common = math.lcm(*(share.denominator for share in group.values.values()))
        return reference.entropy_at_least({v: int(s * common) for v, s in group.values.items()}, Fraction(model.l))
    return reference.satisfied(model, release, group)


def linked_values(frequencies: Frequencies, measure: Measure, k: int, allowed: int) -> Iterator[float]:
    """Return the value of every node at which k persons share all records, those who do not being left out."""
    holders = frequencies.holders
    for levels in recoding.nodes(frequencies):
        _, labels = recoding.node(frequencies, levels)
        records = defaultdict(list)
        for row, person, count in recoding.everybody(holders):
            records[person] += [labels[row]] * count
        shared = Counter(tuple(sorted(own)) for own in records.values())
        kept = {person for person, own in records.items() if shared[tuple(sorted(own))] >= k}
        left = np.zeros(len(frequencies.counts), dtype=np.int64)
        for row, person, count in recoding.everybody(holders):
            left[row] += count if person in kept else 0
        if not left.sum() > 0 or frequencies.records - left.sum() > allowed:
            continue
        alone = dataclasses.replace(frequencies, holders=None)
        released = recoding.release(alone, levels, [])
        twice = dataclasses.replace(
            alone,
            codes=np.concatenate([alone.codes, alone.codes]),
            counts=np.concatenate([left, alone.counts - left]),
            sensitive_codes=np.concatenate([alone.sensitive_codes, alone.sensitive_codes]),
        )
        classes = np.concatenate([np.where(left > 0, released.classes, -1), np.full(len(left), -1)])
        yield measure.value(dataclasses.replace(released, classes=classes.astype(np.int32)), twice)
