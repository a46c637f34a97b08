"""Clustering as the papers write it down: lists, loops, and no care for speed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

Record = Sequence[float]


def squared_distance(left: Record, right: Record) -> float:
    total = 0.0
    for a, b in zip(left, right, strict=True):
        total += (a - b) * (a - b)
    return total


def mdav(records: Sequence[Record], k: int) -> list[int]:
    """[SC13 Alg. 2.1], ties by row; s is sought outside the cluster of r."""
    labels = [-1] * len(records)
    rows = list(range(len(records)))
    label = 0

    def farthest(point: Record) -> int:
        return min(rows, key=lambda row: (-squared_distance(records[row], point), row))

    def cluster(seed: int) -> None:
        nonlocal rows, label
        others = [row for row in rows if row != seed]
        others.sort(key=lambda row: (squared_distance(records[row], records[seed]), row))
        for row in [seed, *others[: k - 1]]:
            labels[row] = label
        rows = [row for row in rows if labels[row] < 0]
        label += 1

    while len(rows) >= 3 * k:
        r = farthest(centroid([records[row] for row in rows]))
        cluster(r)
        cluster(farthest(records[r]))
    if len(rows) >= 2 * k:
        cluster(farthest(centroid([records[row] for row in rows])))
    for row in rows:
        labels[row] = label
    return labels


def vmdav(records: Sequence[Record], k: int, gamma: float) -> list[int]:
    labels = [-1] * len(records)
    centre = centroid(records)
    label = 0

    def free() -> list[int]:
        return [row for row in range(len(records)) if labels[row] < 0]

    while len(free()) >= k:
        seed = min(free(), key=lambda row: (-squared_distance(records[row], centre), row))
        others = sorted(
            (row for row in free() if row != seed),
            key=lambda row: (squared_distance(records[row], records[seed]), row),
        )
        members = [seed, *others[: k - 1]]
        for row in members:
            labels[row] = label
        while len(members) < 2 * k - 1 and free():
            reach = {row: min(squared_distance(records[row], records[other]) for other in members) for row in free()}
            joining = min(reach, key=lambda row: (reach[row], row))
            outside = min(
                (squared_distance(records[joining], records[row]) for row in free() if row != joining),
                default=math.inf,
            )
            if not reach[joining] < gamma * gamma * outside:
                break
            labels[joining] = label
            members.append(joining)
        label += 1
    centroids = [centroid([records[row] for row, own in enumerate(labels) if own == c]) for c in range(label)]
    for row in free():
        labels[row] = min(range(label), key=lambda c: (squared_distance(records[row], centroids[c]), c))
    return labels


def centroid(records: Sequence[Record]) -> list[float]:
    return [math.fsum(column) / len(records) for column in zip(*records, strict=True)]


def insensitive(records: Sequence[Record], k: int, orders: Sequence[Callable[[Record], object]]) -> list[list[Record]]:
    """[SC13 Alg. 6.1]: clusters of records; order i ranks records by the key ``orders[i % len(orders)]``."""
    left, clusters = list(records), []
    while len(left) >= 2 * k:
        left.sort(key=orders[len(clusters) % len(orders)])  # type: ignore[arg-type]
        clusters.append(left[:k])
        left = left[k:]
    return [*clusters, left]


def differ_in_one(left: Sequence[Record], right: Sequence[Record]) -> bool:
    """Whether two multisets differ in at most one record."""
    a, b = Counter(map(tuple, left)), Counter(map(tuple, right))
    return sum((a - b).values()) <= 1 and sum((b - a).values()) <= 1


def record_linkage(original: Sequence[Record], masked: Sequence[Record]) -> float:
    """RL in per cent, on exact fractions: every pair of records, ties shared [SC13, section 6.4.2]."""
    total = Fraction(0)
    for j, record in enumerate(masked):
        distances = [_exact_distance(record, other) for other in original]
        nearest = [i for i, distance in enumerate(distances) if distance == min(distances)]
        if j in nearest:
            total += Fraction(1, len(nearest))
    return float(100 * total / len(original))


def _exact_distance(left: Record, right: Record) -> Fraction:
    return sum(((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(left, right, strict=True)), Fraction(0))


def aggregate(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the records, each replaced by the mean of its cluster."""
    masked = np.array(values, dtype=float)
    for rows in (labels == label for label in np.unique(labels)):
        masked[rows] = masked[rows].mean(axis=0)
    return masked
