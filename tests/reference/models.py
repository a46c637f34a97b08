"""Privacy models written down literally from their definitions: slow, in fractions, one record set at a time."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from shoal.hierarchies import Hierarchy
from shoal.models import Classes, ClassHistogram, Model
from shoal.schema import Provenance
from shoal.tables import SensitiveAttribute

DIGITS = 120


@dataclass(frozen=True)
class Group:
    """An equivalence class: records per sensitive value, released quasi-identifiers, people of the population."""

    values: dict[int, int]
    codes: tuple[int, ...] = ()
    population: int = 0

    @property
    def size(self) -> int:
        return sum(self.values.values())


@dataclass(frozen=True)
class Domain:
    """The sensitive attribute; ``parents[level][leaf]`` is the ancestor of a leaf, the last level one value for all."""

    size: int
    ordered: bool = False
    parents: tuple[tuple[int, ...], ...] = ()
    name: str = "s"

    @property
    def hierarchy(self) -> Hierarchy | None:
        if not self.parents:
            return None
        return Hierarchy(
            attribute=self.name,
            labels=tuple(
                tuple(f"{level}.{code}" for code in range(max(row) + 1)) for level, row in enumerate(self.parents)
            ),
            codes=tuple(np.array(row, dtype=np.int32) for row in self.parents),
            shares=tuple(np.zeros(max(row) + 1) for row in self.parents),
            leaves=tuple(np.bincount(row).astype(np.int64) for row in self.parents),
            provenance=Provenance.DECLARED,
        )


@dataclass
class Release:
    """Some classes, of which only the kept ones are released."""

    groups: Sequence[Group]
    domain: Domain
    kept: Sequence[bool] = field(default=())

    @property
    def released(self) -> list[Group]:
        return [group for group, kept in zip(self.groups, self.kept, strict=True) if kept and group.size]

    @property
    def whole(self) -> dict[int, int]:
        return dict(sum((Counter(group.values) for group in self.released), Counter()))

    @property
    def mask(self) -> np.ndarray:
        return np.array(self.kept, dtype=np.bool_)

    def classes(self) -> Classes:
        """Return the same classes as the library knows them."""
        entries = [sorted((v, c) for v, c in group.values.items() if c) for group in self.groups]
        histogram = ClassHistogram(
            attribute=SensitiveAttribute(
                name=self.domain.name,
                size=self.domain.size,
                ordered=self.domain.ordered,
                hierarchy=self.domain.hierarchy,
            ),
            offsets=np.cumsum([0, *map(len, entries)]).astype(np.int64),
            codes=np.array([v for row in entries for v, _ in row], dtype=np.int32),
            counts=np.array([c for row in entries for _, c in row], dtype=np.int64),
        )
        return Classes(
            sizes=np.array([group.size for group in self.groups], dtype=np.int64),
            sensitive={self.domain.name: histogram},
            codes=np.array([group.codes for group in self.groups], dtype=np.int32).reshape(
                len(self.groups), len(self.groups[0].codes) if self.groups else 0
            ),
            population=np.array([group.population for group in self.groups], dtype=np.int64),
        )


def shares(values: dict[int, int]) -> dict[int, Fraction]:
    total = sum(values.values())
    return {value: Fraction(count, total) for value, count in values.items() if count}


def equal_distance(p: dict[int, Fraction], q: dict[int, Fraction]) -> Fraction:
    return sum((abs(p.get(v, Fraction(0)) - q.get(v, Fraction(0))) for v in {*p, *q}), Fraction(0)) / 2


def ordered_distance(p: dict[int, Fraction], q: dict[int, Fraction]) -> Fraction:
    values = sorted(q)
    if len(values) == 1:
        return Fraction(0)
    differences = itertools.accumulate(p.get(v, Fraction(0)) - q[v] for v in values)
    return sum(map(abs, differences), Fraction(0)) / (len(values) - 1)


def hierarchical_distance(
    p: dict[int, Fraction], q: dict[int, Fraction], parents: tuple[tuple[int, ...], ...]
) -> Fraction:
    """Add up the work at every inner node: what must cross it, times its height over the height of the tree."""
    height = len(parents) - 1
    if height < 1:
        return Fraction(0)
    extra = {leaf: p.get(leaf, Fraction(0)) - q.get(leaf, Fraction(0)) for leaf in range(len(parents[0]))}
    work = Fraction(0)
    for level in range(1, height + 1):
        lower = {parents[level - 1][leaf]: parents[level][leaf] for leaf in range(len(parents[0]))}
        upper: dict[int, list[Fraction]] = {}
        for node, amount in extra.items():
            upper.setdefault(lower[node], []).append(amount)
        for amounts in upper.values():
            gains = sum((a for a in amounts if a > 0), Fraction(0))
            losses = -sum((a for a in amounts if a < 0), Fraction(0))
            work += Fraction(level, height) * min(gains, losses)
        extra = {node: sum(amounts, Fraction(0)) for node, amounts in upper.items()}
    return work


def distance(release: Release, group: Group, kind: str | None) -> Fraction:
    p, q, domain = shares(group.values), shares(release.whole), release.domain
    kind = kind or ("ordered" if domain.ordered else "hierarchical" if domain.parents else "equal")
    if kind == "hierarchical":
        return hierarchical_distance(p, q, domain.parents)
    return ordered_distance(p, q) if kind == "ordered" else equal_distance(p, q)


def logarithm(value: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = DIGITS
        return Decimal(value.numerator).ln() - Decimal(value.denominator).ln()


def decimal(value: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = DIGITS
        return Decimal(value.numerator) / Decimal(value.denominator)


def entropy_at_least(values: dict[int, int], limit: Fraction) -> bool:
    """Compare exp(e * entropy) = e^e / prod c^c with l^e in integers."""
    counts = [count for count in values.values() if count]
    size = sum(counts)
    return (size * limit.denominator) ** size >= limit.numerator**size * math.prod(c**c for c in counts)


def factor(release: Release, group: Group) -> Fraction | None:
    """Return the multiplicative distance, None for infinity."""
    p, q = shares(group.values), shares(release.whole)
    if p.keys() != q.keys():
        return None
    return max(max(p[v] / q[v], q[v] / p[v]) for v in q)


def rarest_combination(release: Release, group: Group, m: int) -> int:
    """Return how often the rarest combination of at most m quasi-identifier values of the class occurs."""
    width = len(group.codes)
    return min(
        sum(other.size for other in release.released if all(other.codes[c] == group.codes[c] for c in columns))
        for number in range(min(m, width) + 1)
        for columns in itertools.combinations(range(width), number)
    )


def satisfied(model: Model, release: Release, group: Group) -> bool:
    """Return whether a class of the release satisfies a model whose verdict is on classes."""
    given = {field.name: getattr(model, field.name) for field in dataclasses.fields(model)}
    p, q = shares(group.values), shares(release.whole)
    match model.name:
        case "k-anonymity" | "probabilistic-k-anonymity":
            return group.size >= given["k"]
        case "estimated-k-map":
            chance, people = Fraction(given["sampling_fraction"]), given["k"] - 1
            tail = [
                math.comb(people, i) * chance**i * (1 - chance) ** (people - i) for i in range(group.size, people + 1)
            ]
            return sum(tail) <= Fraction(given["significance"])
        case "k-map":
            return group.population >= given["k"]
        case "p-sensitive-k-anonymity":
            return group.size >= given["k"] and len(p) >= given["p"]
        case "distinct-l-diversity":
            return len(p) >= given["l"]
        case "entropy-l-diversity":
            return entropy_at_least(group.values, given["l"])
        case "recursive-l-diversity":
            counts = sorted(group.values.values(), reverse=True)
            return counts[0] < given["c"] * sum(counts[given["l"] - 1 :])
        case "t-closeness":
            return distance(release, group, given["distance"]) <= given["t"]
        case "multiplicative-closeness":
            found = factor(release, group)
            return found is not None and found <= given["t"]
        case "delta-disclosure":
            found = factor(release, group)
            return found is not None and (found == 1 or logarithm(found) <= decimal(given["delta"]))
        case "beta-likeness":
            gains = {v: (p[v] - q[v]) / q[v] for v in p if p[v] > q[v]}
            bounded = all(gain <= given["beta"] for gain in gains.values())
            return bounded and (not given["enhanced"] or all(decimal(g) <= -logarithm(q[v]) for v, g in gains.items()))
        case "delta-presence":
            share = Fraction(group.size, group.population) if group.population else None
            return share is not None and given["minimum"] <= share <= given["maximum"]
    raise AssertionError(model.name)


def release_satisfies(model: Model, release: Release) -> bool:
    """Return whether the whole release satisfies a model."""
    groups = release.released
    if not groups:
        return True
    records = sum(group.size for group in groups)
    match model.name:
        case "k-m-anonymity":
            return all(rarest_combination(release, group, model.m) >= model.k for group in groups)
        case "average-risk":
            return Fraction(len(groups), records) <= model.risk
        case "sample-uniqueness":
            return Fraction(sum(group.size == 1 for group in groups), records) <= model.share
        case "estimated-uniqueness":
            return estimated_uniques([group.size for group in groups], model) <= model.share
        case _:
            return all(satisfied(model, release, group) for group in groups)


def estimated_uniques(sizes: list[int], model: Model) -> float:
    """Return Zayatz's estimate of the share of population uniques, from hypergeometric probabilities."""
    from scipy.stats import hypergeom

    alone, records = sizes.count(1), sum(sizes)
    people = max(round(records / Fraction(model.sampling_fraction)), records)
    if not alone or people == records:
        return alone / records
    once = sum(hypergeom(people, size, records).pmf(1) for size in sizes)
    return alone * (records / people * alone / once) / (records / people) / people


def best_subset(model: Model, release: Release) -> int:
    """Return the most records that a part of the release which satisfies the model can hold, by trying all parts."""
    positions = [i for i, kept in enumerate(release.kept) if kept and release.groups[i].size]
    best = 0
    for number in range(len(positions) + 1):
        for chosen in itertools.combinations(positions, number):
            part = Release(release.groups, release.domain, [i in chosen for i in range(len(release.groups))])
            if release_satisfies(model, part):
                best = max(best, sum(release.groups[i].size for i in chosen))
    return best
