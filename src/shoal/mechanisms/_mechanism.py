"""What every mechanism states about itself."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

__all__ = ["Mechanism"]


@runtime_checkable
class Mechanism(Protocol):
    """A random answer with a proof: a value that knows what goes in, who neighbours are, and what a change costs.

    ``release`` or ``select`` draws from it, exactly, with the operating system's random bits unless told otherwise.

    Examples
    --------
    >>> from shoal.mechanisms import Laplace
    >>> mechanism = Laplace(sensitivity=1, epsilon="0.5")
    >>> isinstance(mechanism, Mechanism), mechanism.domain, mechanism.neighbours
    (True, 'numbers, rounded to multiples of 1', 'add/remove')
    """

    @property
    def domain(self) -> str:
        """What goes in, in words."""
        ...

    @property
    def neighbours(self) -> str:
        """Which inputs must not be told apart."""
        ...

    @property
    def epsilon(self) -> Fraction:
        """What one release costs between neighbours."""
        ...

    def privacy_map(self, distance: Any, /) -> Fraction | tuple[Fraction, Fraction]:
        """Return the epsilon, or epsilon and delta, between two inputs that are so far apart."""
        ...
