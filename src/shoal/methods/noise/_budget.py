"""A privacy budget as something to ask for, where the method says what it protects."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from shoal.exact import Arguments, Number, plain
from shoal.guarantees import CLASSES, Check, Evidence, PromiseEntry, Requirement, Words
from shoal.methods._preparation import unfit
from shoal.schema import Schema

__all__ = ["LARGEST_EPSILON", "EpsilonBudget"]

LARGEST_EPSILON = 100


@dataclass(frozen=True, slots=True, repr=False)
class EpsilonBudget(Requirement):
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

    def problems(self, schema: Schema) -> list[str]:
        """Return everything in ``schema`` that keeps the budget from meaning something, each with what to do."""
        return unfit(schema, self.title)

    def check(self, entry: PromiseEntry, evidence: Evidence) -> list[Check]:
        """Refuse: a certificate says what the method's target promises, not what was asked for."""
        del evidence
        detail = "a budget is asked for, not promised"
        return [Check(subject=f"{self.name} ({entry.strength})", passed=False, detail=detail)]

    def assumptions(self) -> tuple[str, ...]:
        """Say what must hold for the promise to mean what it says: the method's target says it."""
        return ()

    def statement(self, words: Words = CLASSES) -> str:
        """Say what is asked for, in one plain sentence."""
        del words
        return (
            f"The noise costs an epsilon of at most {plain(self.epsilon)}, of what the target of the method protects."
        )
