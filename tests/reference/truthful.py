"""Truthful differential privacy, literally: one record at a time, one tree at a time."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.hierarchies import Hierarchy
from shoal.methods.truthful._operators import Sampling, Trimming
from shoal.methods.truthful._scores import Setting
from shoal.methods.truthful._sets_choice import GaussianTrimming
from shoal.methods.truthful._survival import SCALE, Shows, Survival
from shoal.schema import Provenance
from shoal.tables import Frequencies

Record = tuple[int, ...]
Cell = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Column:
    """A hierarchy: ``levels[l][leaf]`` is the value of a leaf at level l; the last level has one value."""

    levels: tuple[tuple[int, ...], ...]

    @property
    def height(self) -> int:
        return len(self.levels) - 1

    @property
    def leaves(self) -> int:
        return len(self.levels[0])

    def below(self, level: int, value: int) -> list[int]:
        """Return the values of the next level down that lie in a value."""
        pairs = zip(self.levels[level - 1], self.levels[level], strict=True)
        return sorted({fine for fine, coarse in pairs if coarse == value})

    def share(self, level: int, value: int) -> float:
        covered = sum(each == value for each in self.levels[level])
        return (covered - 1) / max(self.leaves - 1, 1) if level < self.height else 1.0

    def hierarchy(self, name: str) -> Hierarchy:
        sizes = [max(level) + 1 for level in self.levels]
        return Hierarchy(
            attribute=name,
            labels=tuple(
                tuple("*" if number == self.height else f"{number}:{value}" for value in range(size))
                for number, size in enumerate(sizes)
            ),
            codes=tuple(np.array(level, dtype=np.int32) for level in self.levels),
            shares=tuple(
                np.array([self.share(number, value) for value in range(size)]) for number, size in enumerate(sizes)
            ),
            leaves=tuple(np.bincount(level) for level in self.levels),
            provenance=Provenance.DECLARED,
        )


def frequencies(columns: Sequence[Column], records: Sequence[Record]) -> Frequencies:
    """Return the distinct records with their counts, as encoding does."""
    counted = sorted(Counter(records).items())
    return Frequencies(
        hierarchies=tuple(column.hierarchy(f"c{number}") for number, column in enumerate(columns)),
        codes=np.asfortranarray(
            np.array([record for record, _ in counted], dtype=np.int32).reshape(len(counted), len(columns))
        ),
        counts=np.array([count for _, count in counted], dtype=np.int64),
        sensitive_codes=np.zeros((len(counted), 0), dtype=np.int32),
    )


def sampling(beta: Fraction, k: int) -> Sampling:
    """Return an operator that samples as it is told, whatever that promises."""
    return Sampling(epsilon=Fraction(1), delta=Fraction(1, 2), exact_delta=0.5, beta=beta, k=k)


def trimming(m: int, *, epsilon: Fraction = Fraction(1, 2), least: int = 1) -> Trimming:
    """Return an operator that trims as it is told, whatever that promises."""
    return Trimming(epsilon=epsilon, delta=Fraction(1, 2), exact_delta=0.5, m=m, smallest=least)


def setting(columns: Sequence[Column], records: Sequence[Record], operator: Shows) -> Setting:
    return Setting(
        frequencies=frequencies(columns, records),
        low=(0,) * len(columns),
        high=tuple(column.height for column in columns),
        operator=operator,
        weights={},
    )


def classes(columns: Sequence[Column], records: Sequence[Record], levels: Sequence[int]) -> Counter[Record]:
    """Return the classes of a node with their sizes."""
    return Counter(
        tuple(column.levels[level][leaf] for column, level, leaf in zip(columns, levels, record, strict=True))
        for record in records
    )


def nodes(columns: Sequence[Column]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*(range(column.height + 1) for column in columns))


def worth(survival: Survival, size: int) -> int:
    last = len(survival.table) - 1
    return int(survival.table[size]) if size <= last else int(survival.table[last]) + survival.slope * (size - last)


def quality(columns: Sequence[Column], levels: Sequence[int], values: Sequence[int]) -> int:
    """Return sum_j floor(w (1 - share) 2^12) with equal weights, each at most floor(w 2^12)."""
    weight = 1.0 / len(columns)
    return sum(
        min(
            math.floor(weight * (1 - column.share(level, value)) * SCALE),
            math.floor(weight * SCALE),
        )
        for column, level, value in zip(columns, levels, values, strict=True)
    )


def granularity(columns: Sequence[Column], records: Sequence[Record], levels: Sequence[int], survival: Survival) -> int:
    """Return the expected-quality score of a node."""
    return sum(
        worth(survival, size) * quality(columns, levels, values)
        for values, size in classes(columns, records, levels).items()
    )


def trees(columns: Sequence[Column], cell: Cell) -> list[tuple[Fraction, frozenset[Cell]]]:
    """Return every tree below a cell, with its probability before any data is seen, as the set of its cells."""
    splits = [number for number, (level, _) in enumerate(cell) if level > 0]
    if not splits:
        return [(Fraction(1), frozenset([cell]))]
    found = [(Fraction(1, 2), frozenset([cell]))]
    for number in splits:
        level, value = cell[number]
        children = [
            (*cell[:number], (level - 1, below), *cell[number + 1 :]) for below in columns[number].below(level, value)
        ]
        for chosen in itertools.product(*(trees(columns, child) for child in children)):
            prior = Fraction(1, 2 * len(splits)) * math.prod(part for part, _ in chosen)
            found.append((prior, frozenset().union(*(cells for _, cells in chosen))))
    return found


def inside(columns: Sequence[Column], records: Sequence[Record], cell: Cell) -> int:
    """Return how many records lie in a cell."""
    return sum(
        all(
            column.levels[level][leaf] == value
            for column, leaf, (level, value) in zip(columns, record, cell, strict=True)
        )
        for record in records
    )


# -- the whole method: the probability of everything that can be released

Outcome = tuple[object, ...]
Distribution = dict[Outcome, float]


def shown(operator: Shows, size: int) -> dict[int, float]:
    """Return how many copies a class of so many records shows, with probabilities; 0 stands for nothing."""
    if isinstance(operator, Trimming):
        epsilon, m = float(operator.epsilon), operator.m
        weights = [math.exp(-epsilon * abs(j - m)) for j in range(size + 1)]
        everything = sum(math.exp(-epsilon * j) for j in range(1, m + 1)) + 1 / -math.expm1(-epsilon)
        chances = {size - j: weight / everything for j, weight in enumerate(weights)}
    elif isinstance(operator, GaussianTrimming):
        v, m = float(operator.variance), operator.m
        far = m + math.ceil(40 * math.sqrt(v)) + size
        normal = [math.exp(-((j - m) ** 2) / (2 * v)) for j in range(far)]
        chances = {size - j: normal[j] / math.fsum(normal) for j in range(size + 1)}
    else:
        assert isinstance(operator, Sampling)
        beta = float(operator.beta)
        chances = {j: math.comb(size, j) * beta**j * (1 - beta) ** (size - j) for j in range(size + 1)}
    found = {copies: chance for copies, chance in chances.items() if copies >= operator.least}
    return {**found, 0: 1 - sum(found.values())}


def released_from(cells: dict[object, int], operator: Shows) -> Distribution:
    """Return the probabilities of what is released of cells with so many records: cells and their copies."""
    found: Distribution = {(): 1.0}
    for cell, size in sorted(cells.items(), key=repr):
        found = {
            (*before, *(((cell, copies),) if copies else ())): chance * part
            for before, chance in found.items()
            for copies, part in shown(operator, size).items()
        }
    return found


def mixed(parts: Iterator[tuple[float, Outcome, Distribution]]) -> Distribution:
    """Return the mixture of distributions with weights, each outcome after what is told of the part."""
    found: Distribution = {}
    total = 0.0
    for weight, told, chances in parts:
        total += weight
        for outcome, chance in chances.items():
            found[(*told, *outcome)] = found.get((*told, *outcome), 0.0) + weight * chance
    return {outcome: weight / total for outcome, weight in found.items()}


def full_domain(
    columns: Sequence[Column], records: Sequence[Record], operator: Shows, epsilon: Fraction
) -> Distribution:
    """Return the joint distribution of the chosen levels and the released counts."""
    survival = operator.records
    tops = sum(math.floor(SCALE / len(columns)) for _ in columns)
    rate = float(epsilon / (survival.step * tops))
    scores = {levels: granularity(columns, records, levels, survival) for levels in nodes(columns)}
    best = max(scores.values())
    return mixed(
        (math.exp(rate * (score - best)), (levels,), released_from(dict(classes(columns, records, levels)), operator))
        for levels, score in scores.items()
    )


def multi_dimensional(
    columns: Sequence[Column],
    records: Sequence[Record],
    operator: Shows,
    epsilon: Fraction,
    *,
    labels: Sequence[Sequence[Sequence[str]]] | None = None,
) -> Distribution:
    """Return the distribution of what a tree releases; the tree itself is not told.

    ``labels[column][level][value]`` is what a value looks like; by default different values look different.
    """

    def look(cell: Cell) -> object:
        if labels is None:
            return cell
        return tuple(labels[number][level][value] for number, (level, value) in enumerate(cell))

    def parts() -> Iterator[tuple[float, Outcome, Distribution]]:
        for cells, chance in tree_chances(columns, records, operator, epsilon):
            kept: dict[object, list[int]] = {}
            for cell, size in cells.items():
                kept.setdefault(look(cell), []).append(size)
            yield chance, (), counted_together(kept, operator)

    return mixed(parts())


def counted_together(cells: dict[object, list[int]], operator: Shows) -> Distribution:
    """Return what is released where cells may look alike: then what is seen is how much they show together."""
    found: Distribution = {(): 1.0}
    for look, sizes in sorted(cells.items(), key=repr):
        copies = {0: 1.0}
        for size in sizes:
            sums: dict[int, float] = {}
            for (before, p), (more, q) in itertools.product(copies.items(), shown(operator, size).items()):
                sums[before + more] = sums.get(before + more, 0.0) + p * q
            copies = sums
        found = {
            (*before, *(((look, number),) if number else ())): chance * part
            for before, chance in found.items()
            for number, part in copies.items()
        }
    return found


def tree_chances(
    columns: Sequence[Column], records: Sequence[Record], operator: Shows, epsilon: Fraction
) -> list[tuple[dict[Cell, int], float]]:
    """Return every tree, as its cells that hold records with their numbers, with the probability of drawing it."""
    survival = operator.records.from_size(operator.cut)
    tops = sum(math.floor(SCALE / len(columns)) for _ in columns)
    rate = float(epsilon / -(-Fraction(operator.records.step * tops) // SCALE))
    sizes: dict[Cell, int] = {}
    found = []
    for prior, cells in trees(columns, tuple((column.height, 0) for column in columns)):
        for cell in cells - sizes.keys():
            sizes[cell] = inside(columns, records, cell)
        total = sum(
            worth(survival, sizes[cell]) * quality(columns, *zip(*cell, strict=True)) // SCALE for cell in cells
        )
        found.append(({cell: sizes[cell] for cell in cells if sizes[cell]}, float(prior) * math.exp(rate * total)))
    whole = math.fsum(chance for _, chance in found)
    return [(cells, chance / whole) for cells, chance in found]


def bad(first: Distribution, second: Distribution, epsilon: float) -> float:
    """Return the probability, under ``first``, of outcomes whose ratio is not within e^-epsilon and e^epsilon."""
    factor = math.exp(epsilon) * (1 + 1e-9)
    return sum(
        chance
        for outcome, chance in first.items()
        if chance > factor * second.get(outcome, 0.0) or second.get(outcome, 0.0) > factor * chance
    )


def hockey_stick(first: Distribution, second: Distribution, epsilon: float) -> float:
    """Return the smallest delta with P[S] <= e^epsilon P'[S] + delta for all S."""
    factor = math.exp(epsilon)
    return sum(max(0.0, chance - factor * second.get(outcome, 0.0)) for outcome, chance in first.items())
