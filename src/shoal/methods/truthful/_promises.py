"""Differential privacy as something to ask for."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self, get_args

from shoal.exact import Arguments, Number, plain
from shoal.guarantees import CLASSES, Check, Evidence, PromiseEntry, Requirement, Words
from shoal.hierarchies import provenance
from shoal.methods._preparation import unfit
from shoal.methods.truthful._check import check_privacy
from shoal.methods.truthful._worst_case import LARGEST_EPSILON, Definition
from shoal.methods.truthful.parameters import Parameters, parameters
from shoal.schema import INEXACT, Attribute, Kind, Provenance, Role, Schema

__all__ = ["DifferentialPrivacy", "released"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DifferentialPrivacy(Requirement):
    """Whether one record is in the table or not hardly changes what is released.

    Not a property of a release but of how it is made, so only a method that is built for it keeps this promise:
    :class:`Truthful`.

    Parameters
    ----------
    epsilon : number in (0, 40]
        For search and release together. A float means its decimal notation: 0.1 is 1/10.
    delta : number in (0, 1)
        Take it well below 1 / (number of records).
    search_share : number in [0, 1)
        The part of epsilon that chooses the scheme; the rest samples the records.
    definition : "probabilistic" or "standard"
        See `parameters`. The first is stronger, but not closed under post-processing. So
        where another promise leaves classes out of what was sampled, the second is asked for and
        promised.

    Guarantee
    ---------
    (epsilon, delta)-differential privacy, neighbours differ by one record added or removed.

    Examples
    --------
    >>> wanted = DifferentialPrivacy(epsilon=1, delta=1e-6)
    >>> wanted
    DifferentialPrivacy(epsilon=1, delta=1e-06, search_share=0.1, definition='probabilistic')
    >>> wanted.operator(searching=True).k
    73
    """

    epsilon: Number
    delta: Number
    search_share: Number = Fraction(1, 10)
    definition: Definition = "probabilistic"
    name: ClassVar[str] = "differential-privacy"
    title: ClassVar[str] = "DifferentialPrivacy"

    def __post_init__(self) -> None:
        arguments = Arguments(self.title)
        for name, interval in (
            ("epsilon", f"(0, {LARGEST_EPSILON}]"),
            ("delta", "(0, 1)"),
            ("search_share", "[0, 1)"),
        ):
            object.__setattr__(self, name, arguments.rational(name, getattr(self, name), interval))
        arguments.choice("definition", self.definition, get_args(Definition))
        arguments.finish()

    @property
    def total(self) -> Fraction:
        """The epsilon of search and release together."""
        return Fraction(self.epsilon)

    def search_epsilon(self, *, searching: bool) -> Fraction:
        """Return what choosing the scheme may spend: nothing, where there is nothing to choose."""
        return self.total * Fraction(self.search_share) if searching else Fraction(0)

    def operator(self, *, searching: bool) -> Parameters:
        """Return the sampling rate and the threshold of the operator, given whether a scheme is searched for."""
        rest = self.total - self.search_epsilon(searching=searching)
        return parameters(rest, Fraction(self.delta), definition=self.definition)

    def post_processed(self) -> Self:
        """Return what can be asked for where the release is a function of what was sampled.

        The standard definition, whatever was asked for: P[f(S) in A] = P[S in f^-1(A)], so that it holds of f(S) as it
        does of S. The probabilistic one is not closed: f may merge an outcome whose ratio is too large with others.
        """
        return dataclasses.replace(self, definition="standard")

    def problems(self, schema: Schema) -> list[str]:
        """Return everything in ``schema`` that keeps this promise from being kept, each with what to do about it."""
        problems = unfit(schema, self.title)
        for attribute in released(schema):
            if provenance(attribute) is not Provenance.DECLARED:
                problems.append(f"`{self.title}`: column `{attribute.name}` {_undeclared(attribute)}")
            elif attribute.kind is Kind.NUMERIC and attribute.domain is not None and not attribute.domain.exact:
                problems.append(f"`{self.title}`: column `{attribute.name}` {INEXACT}")
        return problems

    def check(self, entry: PromiseEntry, evidence: Evidence) -> list[Check]:
        """Compute again what the steps claim, and compare it with what the data file shows."""
        return check_privacy(self, entry, evidence)

    def statement(self, words: Words = CLASSES) -> str:
        """Say what is promised, in one plain sentence."""
        del words
        factor, delta = f"e^{plain(self.total)} = {math.exp(self.total):.3g}", plain(Fraction(self.delta))
        if self.definition == "probabilistic":
            return (
                "Adding or removing any one record changes the probability of what is released by a factor of at most "
                f"{factor}, but for outcomes of probability {delta} in all."
            )
        return (
            "Adding or removing any one record changes the probability p of any set of releases to at most "
            f"{factor} times p, plus {delta}."
        )

    def assumptions(self) -> tuple[str, ...]:
        """Say what must hold for the promise to mean what it says, and what it does not cover."""
        return (
            "One person has one record; with r records of a person epsilon counts r times, and delta more than that: "
            "(e^(r epsilon) - 1) / (e^epsilon - 1) times.",
            "Domains, hierarchies and weights were declared without looking at the data.",
            "Messages, running time and the private report stay with the publisher.",
            "Every further release or answer from the same records adds its own epsilon and delta.",
        )

    def doubts(self, *, covered: bool, cryptographic: bool) -> tuple[str, ...]:
        """Say what makes the promise a conditional one: a search that no proof covers, random numbers from a seed."""
        walked = "The last step of the published walk, which compares exact scores, shows nothing: no proof covers it."
        seeded = "Nobody knows the seed that the random numbers came from."
        return (*(() if covered else (walked,)), *(() if cryptographic else (seeded,)))


def released(schema: Schema) -> tuple[Attribute, ...]:
    """Return the columns that a release under differential privacy holds: all but the identifiers."""
    return tuple(attribute for attribute in schema if attribute.role is not Role.IDENTIFIER)


def _undeclared(attribute: Attribute) -> str:
    if attribute.hierarchy is not None and attribute.hierarchy.data_dependent:
        return f"has the hierarchy `{attribute.hierarchy.name}`, which looks at the data; give it fixed levels"
    if attribute.kind in (Kind.NUMERIC, Kind.DATE):
        return "has no declared domain; give its `minimum` and `maximum`"
    return "has no declared domain; list its `values`, or give a hierarchy that does (a file, groups, a taxonomy)"
