"""The interface of privacy models, as searches, releases and checkers use it."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal.errors import ParameterError
from shoal.exact import Quantity, plain
from shoal.guarantees import Check, Counted, Evidence, PromiseEntry, Requirement, Strength, syntactic
from shoal.kernels import Counts
from shoal.kernels.screening import Proportions
from shoal.schema import Schema
from shoal.tables import Classes, SensitiveAttribute, group

Mask = npt.NDArray[np.bool_]

#: Models that are asked together until they hold, the last ones those of the promise.
Stages = tuple[tuple["Model", ...], ...]

#: How many times weaker the promises are that must hold first where the worst classes are removed first.
_WEAKER = (Fraction(27, 8), Fraction(9, 4), Fraction(3, 2))

_MISWORDED = "the certificate's wording does not match its parameters"
#: assumptions of many models
KNOWN = "Others know at most the quasi-identifiers of a person."
NOTHING_RULED_OUT = "Beforehand, they cannot rule out any value of `{attribute}`."
PRIOR = "Beforehand, they expect `{attribute}` to be distributed as in the whole release."
REPLAY = "They do not run the method backwards: which groups it made may rule out values that a group leaves open."
SIZE_ALONE = "Everyone in a group may have the same sensitive value, where no other promise limits it."
ANY_SHARE = "One value may be far more frequent in a group than the others."
MEANING = "Different values may mean nearly the same."


class Scope(IntEnum):
    """The part of a release that the verdict on a class depends on.

    ``CLASS``: on the class alone. ``REFERENCE``: also on the distribution of the sensitive values in the whole
    release. ``RELEASE``: on the other classes of the release; a class on its own has no verdict.
    """

    CLASS = 0
    REFERENCE = 1
    RELEASE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """The properties of a model that searches and methods may rely on."""

    #: Merging classes that satisfy the model gives a class that satisfies it. For a model of scope ``RELEASE``: if a
    #: release satisfies the model, so does every full-domain generalisation of it.
    monotone_generalization: bool
    #: No smaller class can satisfy the model.
    minimal_class_size: int = 1
    #: What the verdict on a class depends on.
    scope: Scope = Scope.CLASS
    #: The sensitive attributes whose histograms the model reads.
    sensitive: tuple[str, ...] = ()
    #: Whether the model reads the hierarchy of its sensitive attribute.
    hierarchy: bool = False
    #: Whether the model reads the generalised quasi-identifiers of the classes.
    codes: bool = False
    #: Whether the model reads the population counts of the classes.
    population: bool = False
    #: Whether the model speaks of people of the population who fit a class without counting them: classes must then be
    #: made by generalisation, so that it is known who fits.
    estimated_population: bool = False
    #: Whether the model bounds the share of the population that is in a class. This takes classes that cover no person
    #: twice, and the number of all people whom they cover.
    population_share: bool = False
    #: Whether every class of at least ``minimal_class_size`` records satisfies the model.
    decided_by_size: bool = False
    #: The most by which the probability of a sensitive value may differ between a class and the release, as a factor;
    #: None where the model bounds none. For constructions that meet it.
    factor: Fraction | None = None
    #: The greatest earth mover's distance between a class and the release; None where the model bounds none.
    earth_mover: Fraction | None = None
    #: Whether the model bounds the probability of finding a record and nothing else, so that exchanging values at
    #: random inside classes keeps it.
    linkage: bool = False
    #: The mean risk of re-identification that the model bounds; None where it bounds none.
    mean_risk: Fraction | None = None

    @property
    def about_population(self) -> bool:
        """Whether the model speaks of the people of the population who fit a class."""
        return self.population or self.estimated_population

    @property
    def monotone_suppression(self) -> bool:
        """Whether removing other classes never changes whether a class satisfies the model."""
        return self.scope is Scope.CLASS


class Achieved(dict[str, Quantity]):
    """The strongest parameters that a release satisfies, by name; empty if nothing is released.

    Examples
    --------
    >>> print(Achieved(k=7, t=Fraction(1, 6)))
    k = 7, t = 1/6 (0.166667)
    """

    def __str__(self) -> str:
        return ", ".join(f"{name} = {_text(value)}" for name, value in self.items()) or "nothing is released"

    def plain(self) -> dict[str, object]:
        """Return the values as TOML and JSON know them; a fraction that is no short decimal becomes a text."""
        return {name: plain(value) for name, value in self.items()}


@dataclass(frozen=True, slots=True, repr=False)
class Model(Requirement):
    """A privacy model: an exact decision on equivalence classes."""

    #: what must hold for the promise to mean what it says, and what it does not cover; ``{k}`` is the parameter k
    assumes: ClassVar[tuple[str, ...]]
    #: whether a release in which persons keep the promise keeps it, too, if every record is taken for a person
    shown_by_records: ClassVar[bool] = False

    def assumptions(self) -> tuple[str, ...]:
        return tuple(text.format(**self.parameters()) for text in self.assumes)

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What a search may rely on."""

    @abstractmethod
    def keep(self, classes: Classes, kept: Mask) -> Mask:
        """Return which of the ``kept`` classes satisfy the model in a release of exactly the ``kept`` classes.

        The result is a subset of ``kept``. Where the verdict depends on the whole release (closeness to its overall
        distribution, say) removing classes may change the verdict on others: :func:`removal` repeats until nothing
        changes. Models of scope ``RELEASE`` return a subset that satisfies them.
        """

    @abstractmethod
    def strongest(self, classes: Classes, released: Mask) -> Achieved:
        """Return the strongest parameters that hold in a release of exactly these classes, of at least one.

        Exact, or a float on the safe side where the exact figure is irrational. A figure may be infinite, or outside
        of the range of the parameter, where no parameter holds.
        """

    def find_achieved(self, classes: Classes, kept: Mask | None = None) -> Achieved:
        """Return the strongest parameters that hold in a release of exactly the ``kept`` classes (all by default)."""
        released = select_occupied(classes, kept)
        return self.strongest(classes, released) if released.any() else Achieved()

    def holds(self, classes: Classes, kept: Mask | None = None) -> bool:
        """Return whether a release of exactly the ``kept`` classes (all by default) satisfies the model."""
        released = select_occupied(classes, kept)
        return bool(np.array_equal(self.keep(classes, released), released))

    def proportions(self, attribute: SensitiveAttribute) -> Proportions | None:
        """Return what is asked at least of the proportions of the values of ``attribute`` in a class.

        A search refuses classes by it, many nodes at a time, before it asks the model itself; None says nothing.
        """
        return None

    def weaker(self, factor: Fraction) -> Model:
        """Return a model that allows classes to differ from the release ``factor`` times as much, where that is meant.

        Classes that violate it are the worst ones under this model; :func:`orders_of_removal` removes them first.
        """
        return self

    def problems(self, schema: Schema) -> list[str]:
        """Return what keeps this model from being used with ``schema``."""
        problems = []
        for name in self.capabilities.sensitive:
            if name not in schema:
                problems.append(f"`{self.title}` names column `{name}`, which the schema does not have")
            elif name not in schema.sensitive:
                problems.append(
                    f"`{self.title}` names column `{name}`, whose role is {schema[name].role}, not sensitive"
                )
        return problems

    def check(self, entry: PromiseEntry, evidence: Evidence) -> list[Check]:
        """Decide the promise again on the classes of the released table, exactly; compare its words."""
        data, wanted = evidence.data(entry), self.capabilities
        classes = evidence.classes(data, sensitive=wanted.sensitive, population=wanted.population)
        # where every released record is of a person of its own, records are persons
        alone = all(step.persons == step.records for step in evidence.steps(Counted))
        if entry.unit == "person" and not alone:
            return [self._check_persons(entry, evidence, classes)]
        failing = int(np.count_nonzero(~self.keep(classes, np.ones(len(classes), dtype=np.bool_))))
        number = f"{len(classes):,} classes"
        detail = f"{failing:,} of {number} fail" if failing else f"holds for all {number}"
        if not self._rightly_said(entry, evidence):
            return [self._make_check(entry, False, _MISWORDED)]
        achieved = self.find_achieved(classes)
        if entry.exact not in ({}, achieved.plain()):
            return [self._make_check(entry, False, "the release does not have the figures that it states")]
        return [self._make_check(entry, not failing, f"{detail}; the release achieves {achieved}")]

    def _make_check(self, entry: PromiseEntry, passed: bool, detail: str, *, shown: bool = True) -> Check:
        parameters = ", ".join(f"{name} = {value}" for name, value in self.parameters().items())
        subject = f"{self.name} {parameters}".strip() + (f" of {entry.file}" if entry.file else "")
        return Check(subject=subject, passed=passed, detail=detail, shown=shown)

    def _check_persons(self, entry: PromiseEntry, evidence: Evidence, classes: Classes) -> Check:
        """Check what the records show of a promise that counts persons, who are not in the release."""
        if not self._rightly_said(entry, evidence) or entry.exact:
            return self._make_check(entry, False, _MISWORDED)
        if evidence.plan.method.linked:
            return self._check_linked(entry, evidence)
        data = evidence.data(entry)
        # where quasi-identifiers are released as they are, promises hold for records as well
        if not self.shown_by_records and data.class_column is None:
            said = "it counts persons, whom the release does not show"
            return self._make_check(entry, True, said, shown=False)
        failing = int(np.count_nonzero(~self.keep(classes, np.ones(len(classes), dtype=np.bool_))))
        if failing:
            detail = f"{failing:,} of {len(classes):,} classes fail even if every record belongs to a different person"
            return self._make_check(entry, False, detail)
        if not 1 <= self.capabilities.minimal_class_size <= evidence.counting(data.quasi_identifiers).crowd:
            return self._make_check(entry, False, "the certificate's count of persons contradicts it")
        shown = "have enough records" if self.shown_by_records else "keep it if records are counted"
        detail = f"all {len(classes):,} classes {shown}; how many persons they belong to, the release does not show"
        return self._make_check(entry, True, detail)

    def _check_linked(self, entry: PromiseEntry, evidence: Evidence) -> Check:
        """Count how many persons, who are in the release by pseudonyms, share all their records."""
        frequencies = evidence.frequencies(evidence.data(entry))
        k = self.parameters().get("k")
        if frequencies.holders is None or not isinstance(k, int):
            return self._make_check(entry, False, "the release does not link the records of anybody")
        shared = int(frequencies.holders.sharing(group(frequencies.codes)[0]).min())
        people = f"each of {frequencies.persons:,} pseudonyms"
        detail = f"{people} shares all its records with at least {shared - 1:,} of the others"
        return self._make_check(entry, shared >= k, detail)

    def _rightly_said(self, entry: PromiseEntry, evidence: Evidence) -> bool:
        """Return whether a promise says what the model means."""
        promise = syntactic(self, evidence.words(evidence.data(entry)))
        if entry.neighbours is not None or entry.unit != promise.unit or entry.strength is not Strength.SYNTACTIC:
            return False
        statements = {promise.statement}
        if entry.file:
            statements.add(f"In {entry.file}: {promise.statement[:1].lower()}{promise.statement[1:]}")
        assumptions = (*promise.assumptions, *evidence.plan.caveats)
        return entry.statement in statements and entry.assumptions == assumptions


@dataclass(frozen=True, slots=True, repr=False)
class ReleaseModel(Model):
    """A model that bounds a figure of the release as a whole, which no generalisation makes worse."""

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(monotone_generalization=True, scope=Scope.RELEASE)


def keep(models: Sequence[Model], classes: Classes, value: Callable[[Mask], float] | None = None) -> Mask:
    """Return classes that can be released together under all ``models``.

    Starting from all classes, those that fail a model are removed until all that are left satisfy all models in a
    release of exactly the classes that are left. The set only shrinks, so this ends; the result is sound by
    construction and may be empty. Of the results of all :func:`orders_of_removal` the one with the least ``value`` is
    returned, by default the one that leaves most records; the earlier one if they are equal. That no other set of
    classes is better is not claimed.
    """
    results = [deque(removal(stages, classes), maxlen=1).pop() for stages in orders_of_removal(models)]
    if len(results) == 1:
        return results[0]
    return min(results, key=value or (lambda kept: -int(classes.sizes[kept].sum())))


def orders_of_removal(models: Sequence[Model]) -> tuple[Stages, ...]:
    """Return the orders in which classes that fail are removed, each as models to be kept one after the other.

    The first order removes all classes that fail at once. Where classes are compared with the release as a whole, which
    changes with every class removed, this may remove classes that would pass once the worst ones are gone. So there
    is a second order: promises that are several times weaker must hold first, and less and less weak ones after them.
    """
    asked = tuple(models)
    weaker = [tuple(model.weaker(factor) for model in asked) for factor in _WEAKER]
    stages = tuple(dict.fromkeys((*weaker, asked)))
    return ((asked,),) if len(stages) == 1 else ((asked,), stages)


def rule_of_removal(models: Sequence[Model]) -> str | None:
    """Say how classes are chosen for removal; None where the models leave no choice, each class having its verdict."""
    if all(model.capabilities.monotone_suppression for model in models):
        return None
    if len(orders_of_removal(models)) > 1:
        return "all classes that break the promise at once, or the worst first, whichever is better"
    return "classes that break the promise, in a fixed order, until it holds"


def removal(stages: Stages, classes: Classes) -> Iterator[Mask]:
    """Remove classes in one order; yield what is left after every question to a model, at last the result.

    Models that judge a class alone are asked first and once; those of a wider scope later, so that they judge what the
    others leave.
    """
    kept = np.ones(len(classes), dtype=np.bool_)
    for stage in stages:
        for model in in_order(stage):
            if model.capabilities.monotone_suppression:
                kept = model.keep(classes, kept)
        yield kept
        unstable = [model for model in in_order(stage) if not model.capabilities.monotone_suppression]
        satisfied = 0
        for model in itertools.cycle(unstable):
            before, kept = kept, model.keep(classes, kept)
            satisfied = satisfied + 1 if np.array_equal(before, kept) else 0
            if satisfied == len(unstable):
                break
            yield kept
    yield kept


def in_order(models: Sequence[Model]) -> list[Model]:
    """Return the models as :func:`removal` asks them: those that judge a class alone first, wider scopes later."""
    return sorted(models, key=lambda model: model.capabilities.scope)


def select_occupied(classes: Classes, kept: Mask | None) -> Mask:
    """Return the kept classes that hold records."""
    occupied = classes.sizes > 0
    return np.asarray(occupied if kept is None else occupied & kept)


def costs_of(classes: Classes) -> npt.NDArray[np.float64]:
    """Return what a record of each class costs if it is released; nothing where that is not known."""
    return np.zeros(len(classes)) if classes.costs is None else classes.costs


def population(classes: Classes, title: str) -> Counts:
    """Return the number of people of the population in every class, for a model that needs it."""
    if classes.population is None:
        raise ParameterError(
            f"`{title}` needs a population table; none was given.",
            hint="pass a table of everybody an intruder may consider, with the same quasi-identifiers",
        )
    return classes.population


def _text(value: Quantity) -> str:
    return f"{value} ({float(value):.6g})" if isinstance(value, Fraction) and value.denominator > 1 else f"{value}"
