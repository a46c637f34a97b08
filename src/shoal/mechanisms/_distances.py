"""Which values count as near the true answer; knowledge refinement needs their order only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.mechanisms._priors import Prior

if TYPE_CHECKING:
    from shoal.hierarchies import Hierarchy

__all__ = ["AbsoluteDistance", "Distance", "NominalDistance", "TaxonomyDistance"]


class Distance(Protocol):
    """A distance between the values of a prior."""

    def ranks(self, prior: Prior, position: int) -> NDArray[np.int64]:
        """Return each value's rank by distance from the value at ``position``: 0 for the nearest, ties equal."""
        ...


@dataclass(frozen=True, slots=True)
class AbsoluteDistance:
    """d(x, y) = abs(x - y) for numbers; for ordered categories the number of places between them [SC13 Table 5.1].

    Examples
    --------
    >>> from shoal.mechanisms import CategoricalPrior
    >>> AbsoluteDistance().ranks(CategoricalPrior.uniform(("low", "middle", "high")), 0).tolist()
    [0, 1, 2]
    """

    def ranks(self, prior: Prior, position: int) -> NDArray[np.int64]:
        """Return each value's rank by distance from the value at ``position``."""
        return np.abs(np.arange(len(prior.weights), dtype=np.int64) - position)


@dataclass(frozen=True, slots=True)
class NominalDistance:
    """d(x, y) = 0 if x = y, else 1 [SC13 Table 5.1].

    Examples
    --------
    >>> from shoal.mechanisms import CategoricalPrior
    >>> NominalDistance().ranks(CategoricalPrior.uniform(("a", "b", "c")), 1).tolist()
    [1, 0, 1]
    """

    def ranks(self, prior: Prior, position: int) -> NDArray[np.int64]:
        """Return each value's rank by distance from the value at ``position``."""
        found: NDArray[np.int64] = (np.arange(len(prior.weights)) != position).astype(np.int64)
        return found


@dataclass(frozen=True, slots=True, init=False)
class TaxonomyDistance:
    """d(x, y) = log2(1 + (|A u B| - |A n B|) / |A u B|), A and B the concepts above x and y, themselves included.

    [SC13 (6.6)], seed 000. The order is that of the ratio, an exact rational; the logarithm is never needed.

    Parameters
    ----------
    ancestors
        For each value the concepts above it.

    Examples
    --------
    >>> from shoal.mechanisms import CategoricalPrior
    >>> distance = TaxonomyDistance({"flu": ("lung",), "asthma": ("lung",), "angina": ("heart",)})
    >>> distance.ranks(CategoricalPrior.uniform(("flu", "asthma", "angina")), 0).tolist()
    [0, 1, 2]
    """

    concepts: tuple[tuple[str, frozenset[str]], ...]

    def __init__(self, ancestors: Mapping[str, tuple[str, ...]]) -> None:
        object.__setattr__(
            self, "concepts", tuple((value, frozenset((value, *above, "*"))) for value, above in ancestors.items())
        )

    @classmethod
    def of(cls, hierarchy: Hierarchy) -> TaxonomyDistance:
        """Return the distance of a column's hierarchy."""
        return cls(
            {
                value: tuple(
                    label
                    for labels, codes in zip(hierarchy.labels[1:], hierarchy.codes[1:], strict=True)
                    if (label := labels[codes[leaf]]) is not None
                )
                for leaf, value in enumerate(hierarchy.labels[0])
                if value is not None
            }
        )

    def ranks(self, prior: Prior, position: int) -> NDArray[np.int64]:
        """Return each value's rank by distance from the value at ``position``."""
        concepts = dict(self.concepts)
        values = [prior.value(i) for i in range(len(prior.weights))]
        unknown = sum(value not in concepts for value in values)
        if unknown:
            raise ParameterError(
                f"`ancestors` of `TaxonomyDistance` must have all values of the prior; {unknown} are absent."
            )
        centre = concepts[str(values[position])]
        ratios = [Fraction(len(centre ^ (other := concepts[str(value)])), len(centre | other)) for value in values]
        places = {ratio: rank for rank, ratio in enumerate(sorted(set(ratios)))}
        return np.array([places[ratio] for ratio in ratios], dtype=np.int64)
