"""What a release takes from a budget of differential privacy, counted for one kind of neighbours or another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from shoal.exact import ball, enclosures
from shoal.guarantees._promise import Neighbours

__all__ = ["Cost"]

#: neighbours that replace something, by those that add or remove it
_REPLACING = {
    Neighbours.ADD_REMOVE: (Neighbours.REPLACE,),
    Neighbours.ADD_REMOVE_PERSON: (Neighbours.REPLACE_PERSON, Neighbours.REPLACE_RECORDS_OF_PERSON),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The (epsilon, delta) of a release, and which neighbours it is about.

    Examples
    --------
    >>> cost = Cost(epsilon=Fraction(1), neighbours=Neighbours.ADD_REMOVE)
    >>> cost.counted(Neighbours.REPLACE).epsilon
    Fraction(2, 1)
    >>> Cost(epsilon=Fraction(1), neighbours=Neighbours.REPLACE).counted(Neighbours.ADD_REMOVE) is None
    True
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    neighbours: Neighbours

    def counted(self, neighbours: Neighbours) -> Cost | None:
        """Return the cost for other neighbours, or None where nothing follows for them.

        Guarantee
        ---------
        Replacing is removing and adding, so that P[S] <= e^epsilon (e^epsilon P''[S] + delta) + delta: epsilon counts
        twice and delta 1 + e^epsilon times, rounded up. Replacing the records of a person by as many is a case of
        replacing the person. Nothing follows in the other direction: who hides what a record says shows how many there
        are.
        """
        if neighbours is self.neighbours:
            return self
        if neighbours in _REPLACING.get(self.neighbours, ()):
            delta = self.delta
            if delta:
                _, delta = next(enclosures(lambda: ball(self.delta) * (1 + ball(self.epsilon).exp())))
            return Cost(epsilon=2 * self.epsilon, delta=delta, neighbours=neighbours)
        if (self.neighbours, neighbours) == (Neighbours.REPLACE_PERSON, Neighbours.REPLACE_RECORDS_OF_PERSON):
            return replace(self, neighbours=neighbours)
        return None
