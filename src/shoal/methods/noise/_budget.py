"""A privacy budget as something to ask for, where the method says what it protects."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from shoal.exact import Arguments, Number, plain
from shoal.guarantees._declared import unfit
from shoal.schema import Schema

__all__ = ["LARGEST_EPSILON", "EpsilonBudget"]

LARGEST_EPSILON = 100


@dataclass(frozen=True, slots=True, repr=False)
class EpsilonBudget:
    """At most so much privacy loss of what the method protects.

    Not a property of a release but of how it is made, so only a method that adds noise keeps it:
    :class:`DPMicroaggregation`, whose ``target`` says what is protected. Under its default target, ``original``, this
    asks for differential privacy of the records, neighbours replace one.

    Parameters
    ----------
    epsilon : number in (0, 100]
        For all columns together. A float means its decimal notation: 0.1 is 1/10. Beyond 10 hardly anything is hidden.

    Guarantee
    ---------
    None by itself: the method's target decides, and the promise of the release says which it is.

    Examples
    --------
    >>> EpsilonBudget(0.5)
    EpsilonBudget(epsilon=0.5)
    """

    epsilon: Number
    name: ClassVar[str] = "epsilon-budget"
    title: ClassVar[str] = "EpsilonBudget"

    def __post_init__(self) -> None:
        arguments = Arguments(self.title)
        object.__setattr__(self, "epsilon", arguments.rational("epsilon", self.epsilon, f"(0, {LARGEST_EPSILON}]"))
        arguments.finish()

    @property
    def total(self) -> Fraction:
        """The epsilon of all columns together."""
        return Fraction(self.epsilon)

    def parameters(self) -> dict[str, object]:
        """Return the parameters by name, as in plan files and certificates: plain values of TOML and JSON."""
        return {"epsilon": plain(self.epsilon)}

    def resolved(self, schema: Schema) -> Self:
        """Return the budget with everything spelt out that it leaves to the schema: it leaves nothing to it."""
        del schema
        return self

    def problems(self, schema: Schema) -> list[str]:
        """Return everything in ``schema`` that keeps the budget from meaning something, each with what to do."""
        return unfit(schema, self.title)

    def statement(self) -> str:
        """Say what is asked for, in one plain sentence."""
        return (
            f"The noise costs an epsilon of at most {plain(self.epsilon)}, of what the target of the method protects."
        )

    def __repr__(self) -> str:
        return f"{self.title}(epsilon={plain(self.epsilon)!r})"
