"""The steps of truthful releases of one table: how a scheme is chosen, and what becomes of its classes."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from shoal.errors import counted
from shoal.guarantees import COMMON_STEPS, Event
from shoal.methods.recode import Generalized
from shoal.methods.truthful._worst_case import Definition

#: How a scheme is chosen.
SchemeSearch = Literal["draw", "tree", "split walk", "fixed", "published walk"]


class SchemeChosen(Event):
    """A generalisation scheme was chosen by private selections."""

    name = "scheme-chosen"
    draws = True
    #: ``draw`` over all nodes of the lattice, ``tree``: a draw over all trees of specialisations, ``split walk``,
    #: ``published walk`` (whose last step no proof covers), or ``fixed``: nothing was chosen.
    search: SchemeSearch
    #: What was maximised, and how much one record can change it.
    score: str
    sensitivity: Fraction
    #: The number of selections, and of nodes of the lattice.
    selections: int
    candidates: int
    #: By all selections together.
    epsilon_spent: Fraction

    def describe(self) -> str:
        if self.search == "fixed":
            return "Used a generalisation scheme that was fixed beforehand."
        how = {
            "draw": f"one private draw among all {self.candidates:,} nodes of the lattice",
            "tree": "one private draw among all trees of specialisations",
            "split walk": f"{self.selections:,} private draws on a walk over the lattice",
            "published walk": f"{self.selections:,} private draws on a walk, and the best of them by an exact score",
        }
        chosen = how.get(self.search, self.search)
        return f"Chose the generalisation scheme by {chosen} (score: {self.score}; epsilon {float(self.epsilon):.6g})."


class Sampled(Event):
    """Records were sampled, and tuples that were sampled too few times were left out."""

    name = "sampled"
    draws = True
    term = "sampling"
    #: The probability with which each record was sampled.
    beta: Fraction
    #: Tuples that were sampled fewer times were left out.
    k: int
    #: What that promises, given the scheme.
    epsilon_spent: Fraction
    delta_spent: Fraction
    definition: Definition
    sentence = (
        "Sampled every record with probability {beta!f:.6g} and left out every combination of values that was sampled "
        "fewer than {k:,} times (epsilon {epsilon_spent!f:.6g}, delta {delta_spent!f:.6g})."
    )


class Trimmed(Event):
    """A random number of records of every class was left out, and classes with too few left."""

    name = "trimmed"
    draws = True
    term = "record suppression"
    #: How many records a class lost on average.
    m: int
    #: Classes with fewer records left were left out.
    least: int
    #: What that promises, given the scheme.
    epsilon_spent: Fraction
    delta_spent: Fraction
    definition: Definition

    def describe(self) -> str:
        few = f" and then every combination with fewer than {self.least:,} records left" if self.least > 1 else ""
        return (
            f"Left out a random number of the records of every combination of values, about "
            f"{counted(self.m, 'record')} on average{few} (epsilon {float(self.epsilon):.6g}, delta "
            f"{float(self.delta):.6g})."
        )


class Filtered(Event):
    """Drawn classes that violate a model were left out; what is left depends on nothing but the drawn classes."""

    name = "filtered"
    term = "record suppression"
    models: tuple[str, ...]
    sentence = "Left out classes that violate {models!q}."


#: the steps of the method
TRUTHFUL_STEPS = (*COMMON_STEPS, SchemeChosen, Generalized, Sampled, Trimmed, Filtered)
