"""Recoding written down literally: dictionaries of records, one node at a time, every node of the lattice."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from shoal.exact import fraction
from shoal.hierarchies import Hierarchy
from shoal.kernels.walk import score as score_box
from shoal.methods.recode import Box, Lattice, Tables
from shoal.models import (
    BetaLikeness,
    Classes,
    DeltaDisclosure,
    Model,
    MultiplicativeCloseness,
    TCloseness,
)
from shoal.quality import Measure
from shoal.schema import Provenance
from shoal.tables import Frequencies, Holders, Recoding, SensitiveAttribute


def hierarchy(name: str, parents: Sequence[Sequence[int]], *, ordered: bool = False) -> Hierarchy:
    """Make a hierarchy from ``parents[level][leaf]``; leaf ``i`` is called ``i``, other values ``level.code``."""
    size = len(parents[0])
    leaves = [np.bincount(row) for row in parents]
    return Hierarchy(
        attribute=name,
        labels=tuple(
            tuple(
                "*" if level == len(parents) - 1 and level else f"{code}" if not level else f"{level}.{code}"
                for code in range(max(row) + 1)
            )
            for level, row in enumerate(parents)
        ),
        codes=tuple(np.array(row, dtype=np.int32) for row in parents),
        shares=tuple((count - 1) / max(size - 1, 1) for count in leaves),
        leaves=tuple(count.astype(np.int64) for count in leaves),
        provenance=Provenance.DECLARED,
        positions=np.arange(size) / (size - 1) if ordered and size > 1 else None,
    )


@st.composite
def hierarchies(draw: st.DrawFn, name: str, *, most: int = 6, deepest: int = 3) -> Hierarchy:
    """Draw a hierarchy whose values join neighbours level by level."""
    size = draw(st.integers(1, most))
    parents = [list(range(size))]
    while len(parents) < 2 or max(parents[-1]):
        nodes = max(parents[-1]) + 1
        joins = [0, *(draw(st.integers(0, 1)) for _ in range(nodes - 1))]
        numbers = np.cumsum(joins).tolist() if len(parents) < deepest else [0] * nodes
        parents.append([numbers[code] for code in parents[-1]])
    return hierarchy(name, parents, ordered=draw(st.booleans()))


@st.composite
def tables(
    draw: st.DrawFn,
    *,
    attributes: int = 3,
    rows: int = 25,
    sensitive: int = 0,
    population: bool = False,
    most: int = 6,
) -> Frequencies:
    """Draw a small table of distinct tuples with counts."""
    number = draw(st.integers(1, attributes))
    found = tuple(draw(hierarchies(f"q{j}", most=most)) for j in range(number))
    described = tuple(
        SensitiveAttribute(name=f"s{j}", size=draw(st.integers(1, 4)), ordered=draw(st.booleans()))
        for j in range(sensitive)
    )
    sizes = [h.size for h in found] + [a.size for a in described]
    tuples = draw(
        st.lists(st.tuples(*(st.integers(0, size - 1) for size in sizes)), min_size=1, max_size=rows, unique=True)
    )
    codes = np.array(tuples, dtype=np.int32).reshape(len(tuples), len(sizes))
    least = 0 if population else 1
    counts = np.array([draw(st.integers(least, 5)) for _ in tuples], dtype=np.int64)
    if not counts.any():
        counts[0] = 1
    return Frequencies(
        hierarchies=found,
        codes=np.asfortranarray(codes[:, :number]),
        counts=counts,
        sensitive=described,
        sensitive_codes=np.asfortranarray(codes[:, number:]),
        population=counts + np.array([draw(st.integers(0, 3)) for _ in tuples]) if population else None,
    )


def nodes(frequencies: Frequencies) -> Iterator[tuple[int, ...]]:
    """Yield every node of the lattice."""
    return itertools.product(*(range(height + 1) for height in frequencies.heights))


def node(frequencies: Frequencies, levels: Sequence[int]) -> tuple[list[tuple[int, ...]], list[int]]:
    """Return the classes of a node in lexicographic order, and the class of every row."""
    generalized = [
        tuple(int(h.codes[level][code]) for h, level, code in zip(frequencies.hierarchies, levels, row, strict=True))
        for row in frequencies.codes
    ]
    found = sorted(set(generalized))
    return found, [found.index(entry) for entry in generalized]


def people(frequencies: Frequencies, labels: Sequence[int]) -> Counter[int]:
    """Count the persons of every class, or its records where these have no holders."""
    holders = frequencies.holders
    if holders is None:
        pairs = zip(labels, frequencies.counts.tolist(), strict=True)
        return sum((Counter({label: count}) for label, count in pairs), Counter())
    return Counter(label for label, _ in {(labels[row], person) for row, person, _ in everybody(holders)})


def everybody(holders: Holders) -> Iterator[tuple[int, int, int]]:
    """Return every tuple, person and number of records, also of those persons whom others stand for."""
    times = [1] * holders.number if holders.times is None else holders.times.tolist()
    for row, person, count in zip(holders.tuples, holders.persons, holders.counts, strict=True):
        for copy in range(times[person]):
            yield int(row), int(person) + copy * holders.number, int(count)


def times_weaker(model: Model, times: Fraction) -> Model:
    """Return a model that lets classes differ from the release ``times`` as much."""
    match model:
        case TCloseness():
            return replace(model, t=min(fraction(model.t) * times, Fraction(1)))
        case BetaLikeness():
            return replace(model, beta=fraction(model.beta) * times, enhanced=model.enhanced and times == 1)
        case DeltaDisclosure():
            return replace(model, delta=fraction(model.delta) * times)
        case MultiplicativeCloseness():
            return replace(model, t=1 + (fraction(model.t) - 1) * times)
    return model


#: What is asked of the classes one after the other, as times that a promise is weakened: all at once, the worst first.
RULES = ((Fraction(1),), (Fraction(27, 8), Fraction(9, 4), Fraction(3, 2), Fraction(1)))


def left(models: Sequence[Model], classes: Classes, rule: Sequence[Fraction]) -> np.ndarray:
    """Remove the classes that fail a model, one model after the other, until none fails; for each weakening anew."""
    kept = np.ones(len(classes), dtype=np.bool_)
    for times in rule:
        weakened = [times_weaker(model, times) for model in models]
        weakened.sort(key=lambda model: (not model.capabilities.monotone_suppression, model.capabilities.scope))
        while not all(np.array_equal(model.keep(classes, kept), kept) for model in weakened):
            for model in weakened:
                kept = model.keep(classes, kept)
    return kept


def release(
    frequencies: Frequencies, levels: Sequence[int], models: Sequence[Model], rule: Sequence[Fraction] = (Fraction(1),)
) -> Recoding:
    """Return the release of a node: small classes are suppressed first, then those that violate a model."""
    found, labels = node(frequencies, levels)
    sizes = people(frequencies, labels)
    smallest = max([1, *(model.capabilities.minimal_class_size for model in models)])
    large = [label for label in range(len(found)) if sizes[label] >= smallest]
    rows = np.array([large.index(label) if label in large else -1 for label in labels])
    codes = np.array([found[label] for label in large], dtype=np.int32).reshape(len(large), len(levels))
    classes = dataclasses.replace(Classes.of(frequencies, rows, number=len(large)), codes=codes)
    kept = left(models, classes, rule)
    numbers = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
    return Recoding(
        attributes=frequencies.attributes,
        classes=numbers[rows].astype(np.int32),
        codes=codes[kept],
        labels=tuple(h.labels[level] for h, level in zip(frequencies.hierarchies, levels, strict=True)),
        shares=tuple(h.shares[level] for h, level in zip(frequencies.hierarchies, levels, strict=True)),
        depths=tuple(
            np.full(len(h.labels[level]), level / max(h.height, 1))
            for h, level in zip(frequencies.hierarchies, levels, strict=True)
        ),
        unchanged=tuple(level == 0 for level in levels),
        levels=tuple(levels),
    )


def suppressed(frequencies: Frequencies, recoding: Recoding) -> int:
    """Count the records that are not released."""
    return int(frequencies.counts[recoding.classes < 0].sum())


def best(
    frequencies: Frequencies,
    models: Sequence[Model],
    measure: Measure,
    limit: Fraction,
    *,
    rules: Sequence[Sequence[Fraction]] = RULES,
) -> tuple[tuple[int, ...], float] | None:
    """Try every node and rule of removing classes; return the best node and its value, or None where none does."""
    allowed = math.floor(limit * frequencies.records)
    found = []
    for levels, rule in itertools.product(nodes(frequencies), rules):
        recoding = release(frequencies, levels, models, rule)
        lost = suppressed(frequencies, recoding)
        if lost <= allowed and lost < frequencies.records:
            value = measure.value(recoding, frequencies)
            rank = round(value, 12) if abs(value) < 1 else float(f"{value:.11e}")
            found.append((rank, lost, sum(levels), levels, value))
    return (min(found)[3], min(found)[4]) if found else None


def score(
    frequencies: Frequencies, levels: Sequence[int], gain: Sequence[float], costs: Sequence[Sequence[np.ndarray]]
) -> float:
    """Add up the gain of every class times one minus the cost of its values."""
    found, labels = node(frequencies, levels)
    sizes = Counter()
    for label, count in zip(labels, frequencies.counts.tolist(), strict=True):
        sizes[label] += count
    total = 0.0
    for label, codes in enumerate(found):
        cost = sum(table[level][code] for table, level, code in zip(costs, levels, codes, strict=True))
        total += gain[sizes[label]] * (1 - cost)
    return total


def total(
    frequencies: Frequencies,
    levels: Sequence[int],
    smallest: int,
    costs: Sequence[Sequence[np.ndarray]],
    loss: float,
) -> tuple[float, int]:
    """Return what the release of a node costs, and the records of classes that are too small."""
    found, labels = node(frequencies, levels)
    sizes = Counter()
    for label, count in zip(labels, frequencies.counts.tolist(), strict=True):
        sizes[label] += count
    cost = {
        label: sum(table[level][code] for table, level, code in zip(costs, levels, codes, strict=True))
        for label, codes in enumerate(found)
    }
    lost = sum(size for size in sizes.values() if size < smallest)
    return sum(size * cost[label] for label, size in sizes.items() if size >= smallest) + lost * loss, lost


def score_lattice(
    frequencies: Frequencies,
    gains: np.ndarray,
    costs: Tables,
    *,
    slope: float,
    base: float = 1.0,
    sensitive: str | None = None,
) -> np.ndarray:
    """Score every node in one walk of the kernel: one axis per quasi-identifier, indexed by its level."""
    lattice = Lattice(frequencies, costs)
    target = None if sensitive is None else [attribute.name for attribute in frequencies.sensitive].index(sensitive)
    box = Box(lattice, lattice.bottom, lattice.top, costs, sensitive=target)
    values = score_box(box.start, gains, slope=slope, base=base, best_value=target is not None)
    return values.reshape(box.shape).transpose(np.argsort(box.order))


def covers(hierarchy: Hierarchy, label: str | None, leaf: int) -> bool:
    """Whether a released text holds a leaf: an ancestor's, or an interval's of leaves in order."""
    ancestors = {hierarchy.labels[level][hierarchy.codes[level][leaf]] for level in range(hierarchy.levels)}
    if label in ancestors:
        return True
    if hierarchy.positions is None or label is None or not label.startswith("["):
        return False
    low, high = (hierarchy.labels[0].index(end) for end in label[1:-1].split(", "))
    return low <= leaf <= high


def released_texts(recoding: Recoding, number: int) -> tuple[str | None, ...]:
    """Return the texts that a class releases."""
    return tuple(labels[code] for labels, code in zip(recoding.labels, recoding.codes[number], strict=True))
