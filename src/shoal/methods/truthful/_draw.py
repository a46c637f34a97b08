"""What a run of the method gives."""

from __future__ import annotations

from dataclasses import dataclass, field

from shoal.methods.truthful._scheme import Searched
from shoal.methods.truthful._tuples import Tuples
from shoal.methods.truthful.parameters import Parameters

__all__ = ["Drawn"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """What a run of the method gives.

    Parameters
    ----------
    tuples
        The released tuples with their numbers of copies.
    searched, parameters
        How the scheme was chosen, and what the operator used.
    scheme
        The tuples of the whole table under the scheme, before sampling. *Never to be published*, unlike the others.
    """

    tuples: Tuples
    searched: Searched
    parameters: Parameters
    scheme: Tuples = field(repr=False)
