"""Quality measures written down record by record, for full-domain releases."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from shoal.hierarchies import Hierarchy
from shoal.models import Classes
from shoal.quality import Measure
from shoal.schema import Provenance
from shoal.tables import Frequencies, Recoding, SensitiveAttribute


@dataclass(frozen=True)
class Column:
    """A quasi-identifier: ``parents[level][leaf]`` is the ancestor of a leaf; the last level has one value."""

    parents: tuple[tuple[int, ...], ...]

    @property
    def height(self) -> int:
        return len(self.parents) - 1

    def leaves(self, level: int, leaf: int) -> list[int]:
        """Return the leaves that the ancestor of a leaf covers."""
        return [other for other, code in enumerate(self.parents[level]) if code == self.parents[level][leaf]]

    def hierarchy(self, name: str) -> Hierarchy:
        size = len(self.parents[0])
        leaves = [np.bincount(row).astype(np.int64) for row in self.parents]
        return Hierarchy(
            attribute=name,
            labels=tuple(
                tuple(f"{level}:{code}" for code in range(max(row) + 1)) for level, row in enumerate(self.parents)
            ),
            codes=tuple(np.array(row, dtype=np.int32) for row in self.parents),
            shares=(*((count - 1) / max(size - 1, 1) for count in leaves[:-1]), np.ones(1)),
            leaves=tuple(leaves),
            provenance=Provenance.DECLARED,
        )


@dataclass(frozen=True)
class Table:
    """Records of leaf codes, each with a target value."""

    columns: tuple[Column, ...]
    records: tuple[tuple[tuple[int, ...], int], ...]

    def frequencies(self) -> Frequencies:
        counted = Counter(self.records)
        rows = sorted(counted)
        return Frequencies(
            hierarchies=tuple(column.hierarchy(f"q{number}") for number, column in enumerate(self.columns)),
            codes=np.array([codes for codes, _ in rows], dtype=np.int32).reshape(len(rows), len(self.columns)),
            counts=np.array([counted[row] for row in rows], dtype=np.int64),
            sensitive=(SensitiveAttribute(name="target", size=3, ordered=False),),
            sensitive_codes=np.array([[target] for _, target in rows], dtype=np.int32).reshape(len(rows), 1),
        )

    def nodes(self) -> list[tuple[int, ...]]:
        return [*itertools.product(*(range(column.height + 1) for column in self.columns))]

    def generalized(self, codes: tuple[int, ...], levels: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(c.parents[level][leaf] for c, level, leaf in zip(self.columns, levels, codes, strict=True))


def node_classes(table: Table, levels: tuple[int, ...]) -> tuple[Classes, np.ndarray]:
    """Return the classes of a node with their codes, and the class of every tuple of the frequencies."""
    frequencies = table.frequencies()
    generalized = [table.generalized(tuple(row), levels) for row in frequencies.codes.tolist()]
    numbers = {codes: number for number, codes in enumerate(sorted({*generalized}))}
    labels = np.array([numbers[codes] for codes in generalized], dtype=np.int64)
    classes = Classes.of(frequencies, labels, number=len(numbers))
    codes = np.array([*numbers], dtype=np.int32).reshape(len(numbers), len(levels))
    return Classes(sizes=classes.sizes, sensitive=classes.sensitive, codes=codes), labels


def node_recoding(table: Table, levels: tuple[int, ...], kept: np.ndarray, *, local: bool = False) -> Recoding:
    """Return the release of a node; ``local`` leaves out that it is a full-domain one."""
    frequencies = table.frequencies()
    classes, labels = node_classes(table, levels)
    numbers = np.where(kept, np.cumsum(kept) - 1, -1)
    pairs = [*zip(frequencies.hierarchies, levels, strict=True)]
    return Recoding(
        attributes=frequencies.attributes,
        classes=numbers[labels].astype(np.int32) if len(labels) else labels.astype(np.int32),
        codes=classes.codes[kept],
        labels=tuple(hierarchy.labels[level] for hierarchy, level in pairs),
        shares=tuple(hierarchy.shares[level] for hierarchy, level in pairs),
        depths=tuple(np.full(len(h.labels[level]), level / max(h.height, 1)) for h, level in pairs),
        unchanged=tuple(level == 0 for level in levels),
        levels=None if local else levels,
    )


def value(measure: Measure, table: Table, levels: tuple[int, ...], kept: np.ndarray) -> float:
    """Return the measure of a node's release, one record after the other."""
    generalization, suppression = measure.factors
    weights = [measure.weights.get(f"q{number}", 1.0) for number in range(len(table.columns))]
    weights = [weight / sum(weights) for weight in weights]
    classes, _ = node_classes(table, levels)
    released = {tuple(codes) for codes, keep in zip(classes.codes.tolist(), kept, strict=True) if keep}
    groups: dict[tuple[int, ...], list[tuple[tuple[int, ...], int]]] = {}
    suppressed = []
    for record in table.records:
        codes = table.generalized(record[0], levels)
        groups.setdefault(codes, []).append(record) if codes in released else suppressed.append(record)
    total = len(table.records)
    if not total:
        return 0.0
    tops = tuple(column.height for column in table.columns)

    def cells(cost: object) -> float:
        kept_cost = sum(
            sum(w * cost(j, levels[j], record[0][j]) for j, w in enumerate(weights))
            for group in groups.values()
            for record in group
        )
        lost = sum(sum(w * cost(j, tops[j], r[0][j]) for j, w in enumerate(weights)) for r in suppressed)
        return generalization * kept_cost + suppression * lost

    match measure.name:
        case "loss":
            return (
                cells(lambda j, level, leaf: _share(table.columns[j], level, leaf) if level < tops[j] else 1.0) / total
            )
        case "geometric-loss":
            losses = [
                (
                    generalization
                    * sum(
                        _share(table.columns[j], levels[j], record[0][j]) if levels[j] < tops[j] else 1.0
                        for group in groups.values()
                        for record in group
                    )
                    + suppression * len(suppressed)
                )
                / total
                for j in range(len(table.columns))
            ]
            return math.prod((1 + loss) ** w for loss, w in zip(losses, weights, strict=True)) - 1
        case "record-loss":
            distances = [
                math.sqrt(
                    sum(
                        w * (_share(table.columns[j], levels[j], record[0][j]) if levels[j] < tops[j] else 1.0) ** 2
                        for j, w in enumerate(weights)
                    )
                )
                for group in groups.values()
                for record in group
            ]
            return (generalization * sum(distances) + suppression * len(suppressed)) / total
        case "publisher-payoff":
            everything = math.prod(len(column.parents[0]) for column in table.columns)
            payoffs = []
            for group in groups.values():
                lost = math.log(_volume(table, levels, group[0][0])) / math.log(everything) if everything > 1 else 0.0
                success = 1 / len(group)
                paid = measure.loss * success if measure.gain * success > measure.cost else 0.0
                payoffs += [measure.benefit * (1 - lost) - paid for _ in group]
            return 1 - sum(payoffs) / (measure.benefit * total)
        case "precision":
            return (
                generalization
                * sum(
                    w * levels[j] / max(tops[j], 1)
                    for group in groups.values()
                    for _ in group
                    for j, w in enumerate(weights)
                )
                + suppression * len(suppressed)
            ) / total
        case "discernibility":
            squares = sum(len(group) ** 2 for group in groups.values())
            return (generalization * squares + suppression * total * len(suppressed)) / total**2
        case "average-class-size":
            return total / (len(groups) + bool(suppressed))
        case "non-uniform-entropy":
            count = [Counter(record[0][j] for record in table.records) for j in range(len(table.columns))]

            def bits(j: int, level: int, leaf: int) -> float:
                return math.log2(
                    sum(count[j][other] for other in table.columns[j].leaves(level, leaf)) / count[j][leaf]
                )

            everything = sum(w * bits(j, tops[j], r[0][j]) for r in table.records for j, w in enumerate(weights))
            return cells(bits) / everything if everything else len(suppressed) / total
        case "kl-divergence":
            original = Counter(record[0] for record in table.records)
            domain = math.prod(len(column.parents[0]) for column in table.columns)
            result = 0.0
            for codes, group in groups.items():
                for row, number in Counter(record[0] for record in group).items():
                    share = original[row] / total
                    volume = _volume(table, levels, row)
                    assert number == original[row], codes
                    result += share * math.log(share / (len(group) / total / volume))
            for number in Counter(record[0] for record in suppressed).values():
                share = number / total
                result += share * math.log(share / (len(suppressed) / total / domain))
            return result
        case "ambiguity":
            domain = math.prod(len(column.parents[0]) for column in table.columns)
            volumes = sum(_volume(table, levels, record[0]) - 1 for group in groups.values() for record in group)
            scaled = volumes / (domain - 1) if domain > 1 else 0.0
            return (generalization * scaled + suppression * len(suppressed)) / total
        case "classification":
            wrong = sum(len(group) - max(Counter(t for _, t in group).values()) for group in groups.values())
            return (generalization * wrong + suppression * len(suppressed)) / total
    raise AssertionError(measure.name)


def _share(column: Column, level: int, leaf: int) -> float:
    return (len(column.leaves(level, leaf)) - 1) / max(len(column.parents[0]) - 1, 1)


def _volume(table: Table, levels: tuple[int, ...], row: tuple[int, ...]) -> int:
    return math.prod(
        len(column.leaves(level, leaf)) for column, level, leaf in zip(table.columns, levels, row, strict=True)
    )
