"""Which values count as near the true answer; knowledge refinement needs their order only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.hierarchies import Hierarchy, dissimilarity
from shoal.mechanisms._priors import Prior


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
    """The semantic distance of values in a taxonomy [SC13 (6.6)]: see :func:`shoal.hierarchies.semantic_distances`.

    Only its order is needed, so the logarithm is never taken.

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
        above = [concepts[str(value)] for value in values]
        ratios = dissimilarity([len(centre & each) for each in above], [len(centre | each) for each in above])
        return np.asarray(np.unique(ratios, return_inverse=True)[1], dtype=np.int64)
