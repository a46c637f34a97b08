"""A privacy budget as something to ask for, and what noisy centroids promise: for each target what is proved of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar, Self

from shoal.exact import WHOLE, Arguments, Number, optional, plain, within
from shoal.guarantees import (
    CLASSES,
    CRYPTOGRAPHIC,
    SEED,
    BudgetRequirement,
    Check,
    Evidence,
    Neighbours,
    Promise,
    PromiseEntry,
    PromiseKind,
    Words,
    private,
)
from shoal.methods._private import assume_limit, unfit, unit_problems
from shoal.methods.noise._check import check_noise
from shoal.methods.noise._sensitivity import Target
from shoal.schema import Schema

LARGEST_EPSILON = 100
"""The largest budget that can be asked for; from it on, the factor that an epsilon stands for says nothing any more."""


@dataclass(frozen=True, slots=True, repr=False)
class EpsilonBudget(BudgetRequirement):
    """At most so much privacy loss of what the method protects.

    Not a property of a release but of how it is made, so only a method that adds noise keeps it:
    :class:`DPMicroaggregation`, whose ``target`` says what is protected. Under its default target, ``original``, this
    asks for differential privacy of the records, neighbours replace one.

    Parameters
    ----------
    epsilon : number in [1e-12, 100]
        For all columns together. A float means its decimal notation: 0.1 is 1/10. Beyond 10 hardly anything is hidden.
    delta : number in [0, 1)
        Lets the method use Gaussian noise where that is less, which it is for many columns or clusters: well below one
        over the number of records.
    records_per_person : integer, at least 1, or None
        Where the schema says whose record it is: at most so many records of a person are used, drawn at random; 1
        unless it is given. With r of them, a record has epsilon / r.

    Guarantee
    ---------
    None by itself: the method's target decides, and the promise of the release says which it is.

    Examples
    --------
    >>> EpsilonBudget(0.5)
    EpsilonBudget(epsilon=0.5)
    """

    epsilon: Number = field(metadata=within(f"[1e-12, {LARGEST_EPSILON}]"))
    records_per_person: int | None = field(default=None, metadata=optional(WHOLE))
    delta: Number = field(default=0, metadata=within("[0, 1)"))
    name: ClassVar[str] = "epsilon-budget"
    short: ClassVar[str] = "epsilon"
    label: ClassVar[str] = "privacy loss, at most"

    @property
    def _neighbours(self) -> Neighbours:
        """Which tables the promise compares, if the whole table is what is protected."""
        return _NEIGHBOURS[_unit(self.records_per_person)]

    def parameters(self) -> dict[str, object]:
        given = PromiseKind.parameters(self)
        return {name: value for name, value in given.items() if value or name != "delta"}

    def problems(self, schema: Schema) -> list[str]:
        return unfit(schema, self.title) + unit_problems(schema, self.title, self.records_per_person)

    def resolve(self, schema: Schema) -> Self:
        return self if schema.person is None else replace(self, records_per_person=self.records_per_person or 1)

    def check(self, entry: PromiseEntry, evidence: Evidence) -> list[Check]:
        """Refuse: a certificate says what the method's target promises, not what was asked for."""
        del evidence
        detail = "a budget is asked for, not promised"
        return [Check(subject=f"{self.name} ({entry.strength})", passed=False, detail=detail)]

    def assumptions(self) -> tuple[str, ...]:
        return ()  # the method's target says it

    def statement(self, words: Words = CLASSES) -> str:
        del words
        delta = f" with delta {plain(self.delta)}" if self.delta else ""
        return (
            f"The noise spends an epsilon of at most {plain(self.epsilon)}{delta} on what the target of the method "
            "protects."
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NoisyCentroidsPrivacy(PromiseKind):
    """What a release of noisy centroids promises; one subclass for each target."""

    #: What all columns spend together.
    epsilon: Number = field(metadata=within("(0, inf)"))
    #: What is protected: see `dp_microaggregate`.
    target: Target
    #: The least size of a cluster.
    k: int = field(metadata=WHOLE)
    #: The most records of a person that are used, where the promise is one to persons.
    records_per_person: int | None = field(default=None, metadata=optional(WHOLE))
    #: What the factor does not cover; 0 unless noise is Gaussian.
    delta: Number = field(default=0, metadata=within("[0, 1)"))
    protects: ClassVar[Target]
    sentence: ClassVar[str]
    replacing: ClassVar[tuple[str, str, str]]
    """What neighbours replace: one record, a person of whom one record is used, and one of whom several may be."""
    conditions: ClassVar[tuple[str, ...]] = ()

    def fit(self, arguments: Arguments) -> None:
        """Report a target that another promise protects."""
        arguments.choice("target", self.target, [self.protects])

    def parameters(self) -> dict[str, object]:
        persons = {} if self.records_per_person is None else {"records_per_person": self.records_per_person}
        delta = {"delta": plain(self.delta)} if self.delta else {}
        return {"epsilon": plain(self.epsilon), **delta, "target": self.target, "k": self.k, **persons}

    def statement(self, words: Words = CLASSES) -> str:
        del words
        return self.sentence.format(
            replacing=self.replacing[self._unit],
            what="any set of releases" if self.delta else "what is released",
            factor=_factor(Fraction(self.epsilon)) + self._more(),
        )

    def _more(self) -> str:
        return f", plus {plain(self.delta)}" if self.delta else ""

    @property
    def _unit(self) -> int:
        return _unit(self.records_per_person)

    def assumptions(self) -> tuple[str, ...]:
        return (
            _PUBLIC[self._unit],
            "Each person has one record; for a person with r records, epsilon is multiplied by r."
            if self.records_per_person is None
            else assume_limit(self.records_per_person),
            "Bounds, values, hierarchies and all parameters were declared without looking at the data.",
            "Messages, running time and the private report stay with the publisher.",
            "Every further release or answer from the same records adds its own epsilon.",
        )

    def promise(self, *, cryptographic: bool) -> Promise:
        """Return what is promised, given whether the random bits came from the operating system."""
        doubts = (*self.conditions, *(() if cryptographic else (SEED,)))
        unit = "person" if self._unit else "record"
        return private(self, doubts, neighbours=_NEIGHBOURS[self._unit], unit=unit)

    def check(self, entry: PromiseEntry, evidence: Evidence) -> list[Check]:
        """Say the promise again, compute again what its steps claim, and compare with what the data files show."""
        again = self.promise(cryptographic=evidence.certificate.randomness == CRYPTOGRAPHIC)
        return check_noise(entry, evidence, target=self.target, again=again, records_per_person=self.records_per_person)


class BoundedPrivacy(NoisyCentroidsPrivacy):
    """Differential privacy of the records; neighbours replace one."""

    __slots__ = ()
    name = "bounded-differential-privacy"
    title = "BoundedPrivacy"
    protects = "original"
    private = True
    sentence = "Replacing {replacing} changes the probability of {what} by a factor of at most {factor}."
    replacing = (
        "any one record by another",
        "any one person with all records by another",
        "all records of any one person by as many others",
    )


class PrivacyGivenPartition(NoisyCentroidsPrivacy):
    """Differential privacy of the values, given which records share a cluster."""

    __slots__ = ()
    name = "privacy-given-partition"
    title = "PrivacyGivenPartition"
    protects = "partition"
    sentence = (
        "Given which records share a cluster, replacing the values of {replacing} changes the probability "
        "of {what} by a factor of at most {factor}. Who shares a cluster with whom is not protected."
    )
    replacing = ("any one record", "any one person's record", "all records of any one person")
    conditions = (
        "The partition into clusters is public: it was computed from the records, and what it reveals about them "
        "is not protected.",
    )


class RecordQueryPrivacy(NoisyCentroidsPrivacy):
    """Differential privacy of the answer to a query for one record."""

    __slots__ = ()
    name = "record-query-privacy"
    title = "RecordQueryPrivacy"
    protects = "record-query"
    sentence = (
        "Replacing {replacing} changes the probability of the answer to a query for one record, and for "
        "one only, by a factor of at most {factor}. The released table as a whole is not protected by it."
    )
    replacing = ("any one record",) * 3
    conditions = (
        "Somebody sees the answer for a single record. The released table answers for all of them, and a change of one "
        "record may reach every cluster: the table as a whole is not protected by this epsilon.",
        "The record that is asked for stays in its cluster when a record changes.",
    )


_NEIGHBOURS = (Neighbours.REPLACE, Neighbours.REPLACE_PERSON, Neighbours.REPLACE_RECORDS_OF_PERSON)
_PUBLIC = (
    "The number of records is public; the promise hides what a record says, not that it is in the table.",
    "The number of persons is public; the promise hides what their records say, not that somebody is in the table.",
    "How many records of a person are used is public; the promise hides what they say, not that somebody is in the "
    "table.",
)
_KINDS: dict[Target, type[NoisyCentroidsPrivacy]] = {
    kind.protects: kind for kind in (BoundedPrivacy, PrivacyGivenPartition, RecordQueryPrivacy)
}
PROMISES: tuple[type[PromiseKind], ...] = (EpsilonBudget, *_KINDS.values())
"""All kinds of promises of this family."""
NOISE: dict[str, Target] = {kind.name: target for target, kind in _KINDS.items()}
"""The promises of noisy centroids by name, with the target of each; only the first is differential privacy."""
BOUNDED, GIVEN_PARTITION, RECORD_QUERY = NOISE


def privacy_promise(
    target: Target,
    *,
    k: int,
    epsilon: Fraction,
    cryptographic: bool,
    delta: Fraction = Fraction(0),
    records_per_person: int | None = None,
) -> Promise:
    """Return what is promised for a target; see `NoisyCentroidsPrivacy` for the parameters.

    Examples
    --------
    >>> privacy_promise("original", k=5, epsilon=Fraction(1), cryptographic=True).strength.value
    'unconditional'
    >>> privacy_promise("partition", k=5, epsilon=Fraction(1), cryptographic=True).model
    'privacy-given-partition'
    """
    kind = _KINDS[target](epsilon=epsilon, delta=delta, target=target, k=k, records_per_person=records_per_person)
    return kind.promise(cryptographic=cryptographic)


def _unit(records_per_person: int | None) -> int:
    """Return 0 for a record, 1 for a person of whom one record is used, 2 for one of whom several may be."""
    return 0 if records_per_person is None else min(records_per_person, 2)


def _factor(epsilon: Fraction) -> str:
    return f"e^{plain(epsilon)}" + (f" = {math.exp(epsilon):.3g}" if epsilon < LARGEST_EPSILON else "")
