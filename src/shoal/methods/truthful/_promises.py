"""Differential privacy as something to ask for."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Self, get_args

import pyarrow as pa

from shoal.errors import ParameterError, quoted
from shoal.exact import WHOLE, Number, one_of, optional, plain, within
from shoal.guarantees import (
    CLASSES,
    SEED,
    BudgetRequirement,
    Check,
    Evidence,
    Neighbours,
    Promise,
    PromiseEntry,
    Words,
    private,
)
from shoal.hierarchies import TOP, Hierarchy, leaves_declared, provenance
from shoal.methods._private import assume_limit, unfit, unit_problems
from shoal.methods.truthful._check import check_privacy
from shoal.methods.truthful._operators import OPERATORS, Operator, OperatorName
from shoal.methods.truthful._sets_check import check_tables
from shoal.methods.truthful._sets_listed import hierarchies_from
from shoal.methods.truthful._worst_case import LARGEST_EPSILON, Definition
from shoal.schema import INEXACT, Attribute, Kind, Provenance, Schema


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DifferentialPrivacy(BudgetRequirement):
    """Whether one record is in the table or not hardly changes what is released.

    Not a property of a release but of how it is made, so only a method that is built for it keeps this promise:
    :class:`Truthful`.

    Parameters
    ----------
    epsilon : number in [1e-12, 40]
        For search and release together. A float means its decimal notation: 0.1 is 1/10.
    delta : number in (0, 1)
        Take it well below 1 / (number of records).
    search_share : number in [0, 1), or None
        The part of epsilon that chooses the scheme; the rest is spent on what is released of it. None: what was best in
        measurements of the method, see `Truthful`.
    definition : "probabilistic" or "standard"
        See `shoal.methods.truthful.parameters.parameters`. The first is stronger, but not closed under post-processing.
        So the second is asked for and promised where another promise leaves classes out of what was drawn, and for a
        multi-dimensional scheme over a hierarchy that has the label ``*`` below its top, under which different cells
        look alike; and to persons, see `shoal.mechanisms.record_delta`.
    records_per_person : integer, at least 1, or None
        Where the schema says whose record it is: at most so many records of a person are used, drawn at random; 1
        unless it is given. More of them keep more of what people with many records did, and cost more noise.

    Guarantee
    ---------
    (epsilon, delta)-differential privacy, neighbours differ by one record added or removed; where the schema has a
    person column, by one person with all records.

    Examples
    --------
    >>> wanted = DifferentialPrivacy(epsilon=1, delta=1e-6)
    >>> wanted
    DifferentialPrivacy(epsilon=1, delta=1e-06, definition='probabilistic')
    >>> wanted.sharing("0.1").operator(searching=True).figures()["m"]
    15
    """

    epsilon: Number = field(metadata=within(f"[1e-12, {LARGEST_EPSILON}]"))
    delta: Number = field(metadata=within("(0, 1)"))
    search_share: Number | None = field(default=None, metadata=optional(within("[0, 1)")))
    definition: Definition = field(default="probabilistic", metadata=one_of(*get_args(Definition)))
    records_per_person: int | None = field(default=None, metadata=optional(WHOLE))
    private: ClassVar[bool] = True
    name: ClassVar[str] = "differential-privacy"
    short: ClassVar[str] = "epsilon"
    label: ClassVar[str] = "privacy loss, at most"
    advice: ClassVar[str] = (
        "Whether one person is in the table or not hardly changes what is released, whatever anyone already "
        "knows. Real records are made coarser, and some are left out at random. The smaller epsilon, the "
        "stronger: 0.5 is strict, 1 is usual, 2 is mild. Delta is the chance that this fails: well below one "
        "over the number of records."
    )

    @property
    def _neighbours(self) -> Neighbours:
        return Neighbours.ADD_REMOVE if self.records_per_person is None else Neighbours.ADD_REMOVE_PERSON

    def sharing(self, search_share: Number) -> Self:
        """Return the promise with this part of epsilon for the search, unless it names one."""
        return dataclasses.replace(self, search_share=search_share) if self.search_share is None else self

    def search_epsilon(self, *, searching: bool) -> Fraction:
        """Return what choosing the scheme may spend: nothing, where there is nothing to choose."""
        if not searching:
            return Fraction(0)
        if self.search_share is None:
            raise ParameterError(f"`search_share` of `{self.title}` must be given to choose a scheme.")
        return self.total * Fraction(self.search_share)

    def operator(self, name: OperatorName = "trim", *, searching: bool, least: int = 1) -> Operator:
        """Return what happens to the classes of the scheme, the least of which that is shown is given.

        A search for the scheme takes its share of epsilon.
        """
        rest = self.total - self.search_epsilon(searching=searching)
        return OPERATORS[name].of(
            rest,
            Fraction(self.delta),
            definition=self.definition,
            least=least,
            per_person=self.records_per_person or 1,
        )

    def resolve(self, schema: Schema) -> Self:
        """Return the promise to persons where the schema says whose record it is: of the standard definition."""
        if schema.person is None:
            return self
        return dataclasses.replace(self.post_processed(), records_per_person=self.records_per_person or 1)

    def post_processed(self) -> Self:
        """Return what can be asked for where the release is a function of what was drawn.

        The standard definition, whatever was asked for: P[f(S) in A] = P[S in f^-1(A)], so that it holds of f(S) as it
        does of S. The probabilistic one is not closed: f may merge an outcome whose ratio is too large with others.
        """
        return dataclasses.replace(self, definition="standard")

    def problems(self, schema: Schema) -> list[str]:
        problems = unfit(schema, self.title) + unit_problems(schema, self.title, self.records_per_person)
        wanting: dict[str, list[str]] = {}
        for attribute in released(schema):
            if not provenance(attribute).reveals_nothing:
                wanting.setdefault(_undeclared(attribute), []).append(attribute.name)
            elif attribute.kind is Kind.NUMERIC and attribute.domain is not None and not attribute.domain.exact:
                wanting.setdefault(INEXACT, []).append(attribute.name)
        return problems + [f"`{self.title}`: {_named(names)} {problem}" for problem, names in wanting.items()]

    def check(self, entry: PromiseEntry, evidence: Evidence) -> list[Check]:
        """Compute again what the steps claim, and compare it with what the data file shows."""
        hierarchies = listed(evidence.plan.schema)
        if evidence.plan.method.capabilities.shared_columns:
            return check_tables(self, entry, evidence, hierarchies=hierarchies)
        return check_privacy(self, entry, evidence, hierarchies=hierarchies, alike=look_alike(hierarchies))

    def statement(self, words: Words = CLASSES) -> str:
        del words
        factor, delta = f"e^{plain(self.total)} = {math.exp(self.total):.3g}", plain(Fraction(self.delta))
        whom = "record" if self.records_per_person is None else "person with all records"
        if self.definition == "probabilistic":
            return (
                f"Adding or removing any one {whom} changes the probability of what is released by a factor of at most "
                f"{factor}, except for outcomes whose total probability is at most {delta}."
            )
        return (
            f"Adding or removing any one {whom} changes the probability p of any set of releases to at most "
            f"{factor} times p, plus {delta}."
        )

    def assumptions(self) -> tuple[str, ...]:
        single = (
            "Each person has one record; for a person with r records, epsilon is multiplied by r, and delta by more "
            "than that: (e^(r epsilon) - 1) / (e^epsilon - 1)."
        )
        return (
            single if self.records_per_person is None else assume_limit(self.records_per_person),
            "Domains, hierarchies and weights were declared, and levels, score, scheme, target, epsilon, delta, k and "
            "all other settings were chosen, without looking at the data.",
            "Messages, running time and the private report stay with the publisher.",
            "Every further release or answer from the same records adds its own epsilon and delta.",
        )

    def promise(self, *, covered: bool, cryptographic: bool, figures: Mapping[str, object]) -> Promise:
        """Return what a release promises, with the figures that it was computed with.

        A search that no proof covers and random numbers from a seed make the promise a conditional one.
        """
        walked = (
            "The last step of the published walk, which compares exact scores, reveals nothing: no proof covers this."
        )
        doubts = (*(() if covered else (walked,)), *(() if cryptographic else (SEED,)))
        unit = "record" if self.records_per_person is None else "person"
        return private(self, doubts, neighbours=self._neighbours, unit=unit, exact=figures)


def released(schema: Schema) -> tuple[Attribute, ...]:
    """Return the columns that a release under differential privacy holds: all but the identifiers."""
    return tuple(attribute for attribute in schema if not attribute.role.names_someone)


def released_names(schema: Schema) -> tuple[str, ...]:
    """Return the names of these columns."""
    return tuple(attribute.name for attribute in released(schema))


def unreleased(schema: Schema, title: str, named: Mapping[str, Iterable[str]]) -> list[str]:
    """Return which parameters of a method name columns that are not released."""
    known = released_names(schema)
    return [
        f"`{parameter}` of `{title}` names column `{column}`, which is not released"
        for parameter, columns in named.items()
        for column in columns
        if column not in known
    ]


def listed(schema: Schema) -> dict[str, Hierarchy]:
    """Return the hierarchies of the released columns whose values are listed, made from the schema alone."""
    return hierarchies_from(
        schema, lambda each: pa.array([], pa.string()) if leaves_declared(each) and each.kind is not Kind.DATE else None
    )


def look_alike(hierarchies: Mapping[str, Hierarchy]) -> tuple[str, ...]:
    """Return the columns of which different cells of a multi-dimensional scheme can look alike.

    Those with the label ``*`` below the top of their hierarchy: of any other label that stands for two sets of values
    one is marked (`shoal.hierarchies`). Columns whose values are not `listed` have intervals or periods, never ``*``,
    below the top.
    """
    return tuple(
        name for name, hierarchy in hierarchies.items() if any(TOP in labels for labels in hierarchy.labels[:-1])
    )


def _undeclared(attribute: Attribute) -> str:
    if attribute.domain is not None and attribute.domain.provenance is Provenance.INFERRED:
        return "has values that were read off the data; list under `values` those that everybody may know it can have"
    if attribute.hierarchy is not None and attribute.hierarchy.data_dependent:
        return f"has the hierarchy `{attribute.hierarchy.name}`, which looks at the data; give it fixed levels"
    if attribute.kind in (Kind.NUMERIC, Kind.DATE):
        return "has no declared domain; give its `minimum` and `maximum`"
    return "has no declared domain; list its `values`, or give a hierarchy that does (a file, groups, a taxonomy)"


def _named(names: Sequence[str]) -> str:
    return f"{'column' if len(names) == 1 else f'each of the {len(names):,} columns'} {quoted(names)}"
