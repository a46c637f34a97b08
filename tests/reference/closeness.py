"""Closeness of classes, record by record: what every construction is compared with.

Plain Python on lists and fractions, with none of the code of the package.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from fractions import Fraction


def classes(labels: Sequence[Hashable], values: Sequence[Hashable]) -> list[list[Hashable]]:
    """Return the values of every class."""
    found: dict[Hashable, list[Hashable]] = defaultdict(list)
    for label, value in zip(labels, values, strict=True):
        found[label].append(value)
    return list(found.values())


def factor(labels: Sequence[Hashable], values: Sequence[Hashable]) -> Fraction | float:
    """Return the greatest max(p / q, q / p) over classes and values; infinite if a class misses a value."""
    total = Counter(values)
    worst: Fraction | float = Fraction(1)
    for members in classes(labels, values):
        mine = Counter(members)
        for value, count in total.items():
            if mine[value] == 0:
                return math.inf
            ratio = Fraction(mine[value], len(members)) / Fraction(count, len(values))
            worst = max(worst, ratio, 1 / ratio)
    return worst


def ordered_distance(members: Sequence[int], values: Sequence[int]) -> Fraction:
    """Return 1/(v-1) sum_i |sum_{j<=i} (p_j - q_j)| over the different values in order."""
    order = sorted(set(values))
    if len(order) == 1:
        return Fraction(0)
    mine, total = Counter(members), Counter(values)
    running, result = Fraction(0), Fraction(0)
    for value in order:
        running += Fraction(mine[value], len(members)) - Fraction(total[value], len(values))
        result += abs(running)
    return result / (len(order) - 1)


def equal_distance(members: Sequence[int], values: Sequence[int]) -> Fraction:
    """Return half the sum of |p - q|."""
    mine, total = Counter(members), Counter(values)
    parts = (abs(Fraction(mine[value], len(members)) - Fraction(count, len(values))) for value, count in total.items())
    return sum(parts, Fraction(0)) / 2


def greatest_distance(labels: Sequence[int], values: Sequence[int], *, ordered: bool) -> Fraction:
    """Return the distance of the class that is farthest from all records."""
    measure = ordered_distance if ordered else equal_distance
    return max(measure(members, values) for members in classes(labels, values))  # type: ignore[arg-type]


def quotas_exist(sizes: Sequence[int], t: Fraction, class_sizes: Sequence[int]) -> bool:
    """Say whether classes of these sizes can take whole numbers of every bucket within the factor t, by trying all."""
    records = sum(sizes)

    def allowed(size: int, bucket: int) -> range:
        share = Fraction(size * sizes[bucket], records)
        return range(math.ceil(share / t), math.floor(share * t) + 1)

    def splits(size: int) -> list[tuple[int, ...]]:
        found: list[tuple[int, ...]] = [()]
        for bucket in range(len(sizes)):
            found = [(*row, number) for row in found for number in allowed(size, bucket)]
        return [row for row in found if sum(row) == size]

    reachable = {tuple(0 for _ in sizes)}
    for size in class_sizes:
        sums = {tuple(a + b for a, b in zip(before, row, strict=True)) for before in reachable for row in splits(size)}
        reachable = {after for after in sums if all(a <= b for a, b in zip(after, sizes, strict=True))}
    return tuple(sizes) in reachable
