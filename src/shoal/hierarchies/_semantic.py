"""The semantic distance between concepts [SC13 (6.6)], and the figures derived from it.

Legend: φ(a) are the ancestors of a concept a in its taxonomy, a itself included. A concept is a label: one that several
levels of a hierarchy repeat for the same leaves, as the short branches of a taxonomy do, is one concept, and ``*`` is
the root wherever it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import ParameterError
from shoal.hierarchies._hierarchy import Hierarchy
from shoal.kernels import Floats, Integers

Marks = NDArray[np.bool_]


def dissimilarity(common: ArrayLike, union: ArrayLike) -> Floats:
    """Return the share of the ancestors of two concepts that they do not have in common, in [0, 1).

    It orders pairs as the distance does. Shares of different small whole numbers are different floats, so the order
    and its ties are exact for taxonomies of fewer than 2^26 levels.
    """
    every = np.asarray(union, dtype=np.float64)
    return np.asarray((every - np.asarray(common, dtype=np.float64)) / every)


def semantic_distances(ancestors: NDArray[np.bool_]) -> Floats:
    """Return the distances of all pairs of concepts, given by the ancestors that each row marks [SC13 (6.6)].

    ::

        δ(a, b) = log2(1 + (|φ(a) ∪ φ(b)| - |φ(a) ∩ φ(b)|) / |φ(a) ∪ φ(b)|), in [0, 1)
    """
    marks = ancestors.astype(np.float32)  # exact for counts, and far faster than an integer product
    common = marks @ marks.T
    sizes = marks.sum(axis=1)
    return _distance(common, sizes[:, None] + sizes - common)


def semantic_distance(hierarchy: Hierarchy, first: ArrayLike, second: ArrayLike) -> Floats:
    """Return the semantic distances [SC13 (6.6)] of concepts of a hierarchy; arrays are broadcast.

    Concepts are numbered level by level from the leaves on: a leaf is its own code. O(levels) per pair; nothing is
    computed for pairs that are not asked for.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from shoal.hierarchies import build
    >>> from shoal.schema import Attribute, Groups
    >>> rule = Groups(levels=((("water", ("sailing", "swimming")), ("field", ("soccer",))),))
    >>> sports = build(Attribute(name="sport", hierarchy=rule), pa.array([]))
    >>> leaves = np.arange(3)
    >>> semantic_distance(sports, leaves[:, None], leaves).round(3).tolist()
    [[0.0, 0.585, 0.848], [0.585, 0.0, 0.848], [0.848, 0.848, 0.0]]
    """
    chains, _ = _chains(hierarchy)
    sizes = _chain_sizes(chains)
    counts = [len(labels) for labels in hierarchy.labels]
    level = np.repeat(np.arange(hierarchy.levels), counts)
    # any leaf below a concept tells what lies above it
    below = np.concatenate([np.searchsorted(c, np.arange(n)) for c, n in zip(hierarchy.codes, counts, strict=True)])
    one, other = np.asarray(first), np.asarray(second)
    lowest = np.maximum(level[one], level[other])
    common = np.ones(lowest.shape, dtype=np.int64)
    for height in range(hierarchy.height - 1, -1, -1):
        shared = (chains[height][below[one]] == chains[height][below[other]]) & (lowest <= height)
        common = np.where(shared, sizes[height][below[one]], common)
    union = sizes[level[one], below[one]] + sizes[level[other], below[other]] - common
    return _distance(common, union)


def _distance(common: ArrayLike, union: ArrayLike) -> Floats:
    return np.asarray(np.log2(1.0 + dissimilarity(common, union)))


def _chains(hierarchy: Hierarchy) -> tuple[Integers, tuple[str | None, ...]]:
    """Return the concept of every leaf at each level, and the labels of the concepts in alphabetical order."""
    labels = sorted({label for level in hierarchy.labels for label in level}, key=lambda label: (label is None, label))
    number = {label: position for position, label in enumerate(labels)}
    chains = np.array(
        [
            np.array([number[label] for label in names], dtype=np.int64)[codes]
            for names, codes in zip(hierarchy.labels, hierarchy.codes, strict=True)
        ]
    )
    root = number[hierarchy.labels[-1][0]]
    chains[np.maximum.accumulate(chains == root, axis=0)] = root
    used = np.union1d(chains, root)
    return np.searchsorted(used, chains), tuple(labels[position] for position in used)


def _chain_sizes(chains: Integers) -> Integers:
    """Return the number of different concepts of every leaf from each level to the top."""
    sizes = np.ones(chains.shape, dtype=np.int64)
    for level in range(len(chains) - 2, -1, -1):
        sizes[level] = sizes[level + 1] + (chains[level] != chains[level + 1 :]).all(axis=0)
    return sizes


@dataclass(frozen=True, slots=True, eq=False)
class Concepts:
    """The concepts of a taxonomy, some of which are the values of an attribute, and their distances.

    Concepts are codes 0, 1, ... in alphabetical order, since ties go to the lowest code. Make them with :meth:`of`,
    `from_parents` or `flat`.

    Notes
    -----
    ``distances`` are those of :func:`semantic_distances`, in [0, 1]. The marginality of a concept a in a multiset S of
    values is m(S, a) = sum of δ(a, s) over S [SC13 (6.1)]. Sums are taken over δ rounded to 32 binary places, as
    integers (``fixed_point``), so that equal marginalities compare equal whatever the order of summation.
    ``boundaries`` are the most marginal value and the value most distant from it [SC13 (6.2), (6.3)]. O(c³) once for
    c concepts.

    Examples
    --------
    >>> sports = Concepts.from_parents([-1, 0, 0, 1, 1, 2])  # sport; water, field; sailing, swimming; soccer
    >>> float(sports.distances[3, 4].round(3)), float(sports.distances[3, 5].round(3))
    (0.585, 0.848)
    >>> sports.boundaries
    (5, 3)
    >>> int(sports.centroid(sports.counts([3, 4, 4])))
    4
    """

    #: what marginalities are whole multiples of, turned over
    scale: ClassVar[int] = 2**32

    #: A square Boolean matrix: row a marks φ(a).
    ancestors: Marks = field(repr=False)
    #: The codes that may occur as values, Dom(A); the concepts without descendants where not given.
    domain: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32), repr=False)
    #: What the concepts are called, where they have names; None is the missing value.
    labels: tuple[str | None, ...] = field(default=(), repr=False)
    #: The concept of each leaf of the hierarchy that they were taken from.
    leaves: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32), repr=False)
    distances: Floats = field(init=False, repr=False)
    fixed_point: Integers = field(init=False, repr=False)
    boundaries: tuple[int, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        ancestors = np.array(self.ancestors, dtype=bool)
        _check_ancestors(ancestors)
        domain = np.unique(np.array(self.domain, dtype=np.int32))
        if len(domain) == 0:
            domain = np.flatnonzero(ancestors.sum(axis=0) == 1).astype(np.int32)
        if len(domain) == 0 or domain.min() < 0 or domain.max() >= len(ancestors):
            raise ParameterError(f"`domain` of `Concepts` must hold codes in [0, {len(ancestors)}).")
        distances = semantic_distances(ancestors)
        for array in (ancestors, domain, distances):
            array.flags.writeable = False
        fixed_point = np.rint(distances * float(self.scale)).astype(np.int64)
        within = fixed_point[np.ix_(domain, domain)]
        first = int(within.sum(axis=1).argmax())
        object.__setattr__(self, "ancestors", ancestors)
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "distances", distances)
        object.__setattr__(self, "fixed_point", fixed_point)
        object.__setattr__(self, "boundaries", (int(domain[first]), int(domain[within[first].argmax()])))

    @classmethod
    def of(cls, hierarchy: Hierarchy) -> Self:
        """Return the concepts of a hierarchy, with their labels and the concept of each leaf; leaves are the values."""
        chains, labels = _chains(hierarchy)
        marks = np.zeros((len(labels), len(labels)), dtype=bool)
        for level, below in enumerate(chains):
            for above in chains[level:]:
                marks[below, above] = True
        np.fill_diagonal(marks, True)
        leaves = chains[0].astype(np.int32)
        return cls(marks, np.unique(leaves), labels, leaves)

    @classmethod
    def from_parents(cls, parents: Sequence[int], domain: Sequence[int] = ()) -> Self:
        """Build a tree from the parent of each concept; -1 is the parent of the root."""
        count = len(parents)
        ancestors = np.eye(count, dtype=bool)
        for concept in range(count):
            above, steps = parents[concept], 0
            while above >= 0:
                if above >= count or steps > count:
                    raise ParameterError("`parents` of `Concepts` must lead from every concept to a root.")
                ancestors[concept, above] = True
                above, steps = parents[above], steps + 1
        return cls(ancestors, np.array(domain, np.int32))

    @classmethod
    def flat(cls, count: int) -> Self:
        """Build the taxonomy of ``count`` values, codes 0 to ``count`` - 1, with nothing in common but the root."""
        return cls.from_parents([count] * count + [-1])

    @property
    def count(self) -> int:
        """The number of concepts."""
        return len(self.ancestors)

    @property
    def width(self) -> float:
        """The distance of the boundaries, by which (6.7) divides; 1 where the domain has a single value."""
        distance = float(self.distances[self.boundaries])
        return distance if distance > 0.0 else 1.0

    @property
    def sensitivity(self) -> Fraction:
        """By how much the marginality of any concept can move when one value is replaced by another.

        The greatest difference δ(a, x) - δ(a, y) over concepts a and values x, y, on the fixed-point distances that
        marginalities are made of. [SC13, Alg. 6.3] takes the distance of the boundaries (6.2), (6.3) instead; that
        can be too small, since the most marginal value need not belong to the two values that are farthest apart.
        """
        return Fraction(int(np.ptp(self.fixed_point[:, self.domain], axis=1).max()), self.scale)

    def counts(self, codes: ArrayLike) -> Integers:
        """Count how often each concept occurs among the codes."""
        return np.bincount(np.asarray(codes, dtype=np.int64), minlength=self.count)

    def marginality(self, counts: Integers) -> Integers:
        """Return m(S, a) of every concept a, times 2^32, for multisets S given by their counts of concepts.

        ``counts`` has one row per multiset, or is a single one. O(c |Dom|) per multiset.
        """
        # Values outside the domain occur only where the caller put them; most columns are zero and are skipped.
        present = np.flatnonzero(counts.reshape(-1, self.count).any(axis=0))
        result: Integers = counts[..., present] @ self.fixed_point[present]
        return result

    def centroid(self, counts: Integers) -> NDArray[np.int32]:
        """Return the least marginal concept of the taxonomy [SC13 (6.4)]; the lowest code wins a tie."""
        return np.asarray(self.marginality(counts).argmin(axis=-1), dtype=np.int32)


def _check_ancestors(ancestors: Marks) -> None:
    if ancestors.ndim != 2 or ancestors.shape[0] != ancestors.shape[1] or len(ancestors) == 0:
        raise ParameterError(f"`ancestors` of `Concepts` must be a square matrix; got shape {ancestors.shape}.")
    if not ancestors.diagonal().all():
        raise ParameterError("`ancestors` of `Concepts` must mark each concept as its own ancestor.")
    marks = ancestors.astype(np.float32)
    if ((marks @ marks > 0.0) & ~ancestors).any():
        raise ParameterError("`ancestors` of `Concepts` must mark the ancestors of ancestors.")
