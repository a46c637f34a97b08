"""What categorical values mean: a taxonomy, the semantic distance in it, and the middle and the ends of a domain."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import ParameterError

__all__ = ["Taxonomy"]

Codes = NDArray[np.int32]
FIXED_POINT = 2.0**32


@dataclass(frozen=True, slots=True, eq=False)
class Taxonomy:
    """A taxonomy of concepts, some of which are the values of an attribute.

    Concepts are codes 0, 1, ...; number them in alphabetical order, since ties go to the lowest code. Build one with
    `from_parents`, `from_ancestors` or `flat`.

    Parameters
    ----------
    ancestors
        A square Boolean matrix: row a marks phi(a), the ancestors of concept a and a itself.
    domain
        The codes that may occur as values, Dom(A); the concepts without descendants where not given.

    Notes
    -----
    The distance of two concepts is [SC13 (6.6)]

        δ(a, b) = log2(1 + (|φ(a) ∪ φ(b)| - |φ(a) ∩ φ(b)|) / |φ(a) ∪ φ(b)|), in [0, 1],

    and the marginality of a concept a in a multiset S of values is m(S, a) = sum of δ(a, s) over S [SC13 (6.1)].
    Sums are taken over δ rounded to 32 binary places, as integers, so that equal marginalities compare equal
    whatever the order of summation. O(c³) once for c concepts.

    Examples
    --------
    >>> sports = Taxonomy.from_parents([-1, 0, 0, 1, 1, 2])  # sport; water, field; sailing, swimming; soccer
    >>> float(sports.distances[3, 4].round(3)), float(sports.distances[3, 5].round(3))
    (0.585, 0.848)
    >>> sports.boundaries
    (5, 3)
    >>> int(sports.centroid(sports.counts([3, 4, 4])))
    4
    """

    ancestors: NDArray[np.bool_] = field(repr=False)
    domain: Codes = field(default_factory=lambda: np.empty(0, np.int32), repr=False)
    distances: NDArray[np.float64] = field(init=False, repr=False)
    fixed_point: NDArray[np.int64] = field(init=False, repr=False)
    boundaries: tuple[int, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        ancestors = np.array(self.ancestors, dtype=bool)
        if ancestors.ndim != 2 or ancestors.shape[0] != ancestors.shape[1] or len(ancestors) == 0:
            raise ParameterError(f"`ancestors` of `Taxonomy` must be a square matrix; got shape {ancestors.shape}.")
        if not ancestors.diagonal().all():
            raise ParameterError("`ancestors` of `Taxonomy` must mark each concept as its own ancestor.")
        marks = ancestors.astype(np.float64)
        if ((marks @ marks > 0.0) & ~ancestors).any():
            raise ParameterError("`ancestors` of `Taxonomy` must mark the ancestors of ancestors.")
        domain = np.array(self.domain, dtype=np.int32)
        if len(domain) == 0:
            domain = np.flatnonzero(ancestors.sum(axis=0) == 1).astype(np.int32)
        if len(domain) == 0 or domain.min() < 0 or domain.max() >= len(ancestors):
            raise ParameterError(f"`domain` of `Taxonomy` must hold codes in [0, {len(ancestors)}).")
        distances = semantic_distances(ancestors)
        for array in (ancestors, domain, distances):
            array.flags.writeable = False
        object.__setattr__(self, "ancestors", ancestors)
        object.__setattr__(self, "domain", np.unique(domain))
        object.__setattr__(self, "distances", distances)
        object.__setattr__(self, "fixed_point", np.rint(distances * FIXED_POINT).astype(np.int64))
        object.__setattr__(self, "boundaries", self._find_boundaries())

    @classmethod
    def from_parents(cls, parents: Sequence[int], domain: Sequence[int] = ()) -> Self:
        """Build a tree from the parent of each concept; -1 is the parent of the root."""
        count = len(parents)
        ancestors = np.eye(count, dtype=bool)
        for concept in range(count):
            above, steps = parents[concept], 0
            while above >= 0:
                if above >= count or steps > count:
                    raise ParameterError("`parents` of `Taxonomy` must lead from every concept to a root.")
                ancestors[concept, above] = True
                above, steps = parents[above], steps + 1
        return cls(ancestors, np.array(domain, np.int32))

    @classmethod
    def from_ancestors(cls, ancestors: Sequence[AbstractSet[int]], domain: Sequence[int] = ()) -> Self:
        """Build a taxonomy from the ancestors of each concept; a concept may have several parents."""
        matrix = np.eye(len(ancestors), dtype=bool)
        for concept, above in enumerate(ancestors):
            if not all(0 <= code < len(ancestors) for code in above):
                raise ParameterError(f"`ancestors` of `Taxonomy` must hold codes in [0, {len(ancestors)}).")
            matrix[concept, list(above)] = True
        return cls(matrix, np.array(domain, np.int32))

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

    def counts(self, codes: ArrayLike) -> NDArray[np.int64]:
        """Count how often each concept occurs among the codes."""
        return np.bincount(np.asarray(codes, dtype=np.int64), minlength=self.count)

    def marginality(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return m(S, a) of every concept a, times 2^32, for multisets S given by their counts of concepts.

        ``counts`` has one row per multiset, or is a single one. O(c |Dom|) per multiset.
        """
        # Values outside the domain occur only where the caller put them; most columns are zero and are skipped.
        present = np.flatnonzero(counts.reshape(-1, self.count).any(axis=0))
        result: NDArray[np.int64] = counts[..., present] @ self.fixed_point[present]
        return result

    def centroid(self, counts: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the least marginal concept of the taxonomy [SC13 (6.4)]; the lowest code wins a tie."""
        return np.asarray(self.marginality(counts).argmin(axis=-1), dtype=np.int32)

    def _find_boundaries(self) -> tuple[int, int]:
        """Return the most marginal value and the value most distant from it [SC13 (6.2), (6.3)]."""
        within = self.fixed_point[np.ix_(self.domain, self.domain)]
        first = int(within.sum(axis=1).argmax())
        return int(self.domain[first]), int(self.domain[within[first].argmax()])


def semantic_distances(ancestors: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the distances (6.6) of all pairs of concepts."""
    marks = ancestors.astype(np.float64)  # exact for counts, and far faster than an integer product
    common = marks @ marks.T
    sizes = marks.sum(axis=1)
    union = sizes[:, None] + sizes[None, :] - common
    distances: NDArray[np.float64] = np.log2(1.0 + (union - common) / union)
    return distances
