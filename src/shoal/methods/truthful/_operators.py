"""The operators on the classes of a scheme: trimming, or sampling and suppression as published."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np

from shoal.errors import ParameterError
from shoal.exact import ball, below
from shoal.guarantees import Event
from shoal.kernels import Floats, Integers
from shoal.mechanisms import RandomSource, binomial, discrete_laplaces, person_delta, record_delta
from shoal.methods.truthful import parameters, trimming
from shoal.methods.truthful._steps import Sampled, Trimmed
from shoal.methods.truthful._survival import (
    SCALE,
    STEEPNESS,
    Shows,
    Survival,
    Trims,
    laplace_losses,
    surviving_classes,
    surviving_records,
)
from shoal.methods.truthful._worst_case import Definition

OperatorName = Literal["trim", "sampling"]


@dataclass(frozen=True, kw_only=True)
class Operator(Shows):
    """What happens to the classes of a scheme, with the promise that this keeps."""

    #: What is promised, given the scheme.
    epsilon: Fraction
    delta: Fraction
    #: The smallest delta that is attained, rounded up to a float.
    exact_delta: float
    #: What (epsilon, delta) means; see `shoal.methods.truthful.parameters.parameters`.
    definition: Definition = "probabilistic"
    #: How many records a person has at most; (epsilon, delta) is what such a person is promised.
    per_person: int = 1
    name: ClassVar[OperatorName]
    doing: ClassVar[str]
    step: ClassVar[type[Trimmed | Sampled]]

    @classmethod
    def of(cls, epsilon: Fraction, delta: Fraction, *, definition: Definition, least: int, per_person: int = 1) -> Self:
        """Return the operator that keeps the most records and shows classes of ``least`` records or more."""
        own, own_delta = epsilon / per_person, record_delta(epsilon, delta, per_person)
        figures, attained = cls.best(own, own_delta, definition, least)
        return cls(
            epsilon=epsilon,
            delta=delta,
            definition=definition,
            exact_delta=person_delta(epsilon, attained, per_person),
            per_person=per_person,
            **figures,
        )

    @classmethod
    def of_step(cls, step: Trimmed | Sampled, exact_delta: float, *, per_person: int = 1) -> Self:
        """Return the operator that a step of a certificate describes."""
        return cls(
            epsilon=step.epsilon,
            delta=step.delta,
            definition=step.definition,
            exact_delta=exact_delta,
            per_person=per_person,
            **cls.own_figures(step),
        )

    @staticmethod
    @abstractmethod
    def best(epsilon: Fraction, delta: Fraction, definition: Definition, least: int) -> tuple[dict[str, Any], float]:
        """Return the fields of its own that keep the most records, and the delta that is attained."""

    @staticmethod
    @abstractmethod
    def own_figures(step: Any) -> dict[str, Any]:
        """Return the fields of its own that a step of a certificate states."""

    @property
    def record_epsilon(self) -> Fraction:
        """What a record is promised, so that a person is promised epsilon: see `shoal.mechanisms.record_delta`."""
        return self.epsilon / self.per_person

    def of_a_record(self) -> dict[str, object]:
        """Return what a record is promised, as figures of the promise, where a person may have several."""
        if self.per_person == 1:
            return {}
        return {
            f"epsilon of a record in the {self.doing}": str(self.record_epsilon),
            f"delta of a record in the {self.doing}, rounded down": below(lambda: ball(self._record_delta(None))),
        }

    @property
    def _spent(self) -> dict[str, Any]:
        return {"epsilon_spent": self.epsilon, "delta_spent": self.delta, "definition": self.definition}

    def _record_delta(self, delta: Fraction | None) -> Fraction:
        return record_delta(self.epsilon, self.delta if delta is None else delta, self.per_person)

    @abstractmethod
    def shown(self, counts: Integers, source: RandomSource) -> Integers:
        """Draw how many copies classes of these sizes show; 0 for nothing."""

    @abstractmethod
    def event(self) -> Event:
        """Return what is done, as a step."""

    @abstractmethod
    def figures(self) -> dict[str, object]:
        """Return the figures of the promise."""

    @abstractmethod
    def holds(self, delta: Fraction | None = None) -> bool:
        """Decide anew whether the promise, or one with another delta, is kept."""


@dataclass(frozen=True, kw_only=True)
class Trimming(Trims, Operator):
    """Show X = c - M of the c records of a class if that is at least ``least``, nothing otherwise.

    Guarantee
    ---------
    (epsilon, delta)-differential privacy in both senses, given the scheme: see `shoal.methods.truthful.trimming`.
    """

    #: What a class loses on average: M = m + L, L discrete Laplace conditioned on L >= -m.
    m: int
    #: The smallest class that is shown.
    smallest: int = 1
    name: ClassVar[OperatorName] = "trim"
    doing: ClassVar[str] = "trimming"
    step: ClassVar[type[Trimmed | Sampled]] = Trimmed

    def __post_init__(self) -> None:
        if not 0 <= self.m <= trimming.LARGEST_M or self.smallest < 1:
            raise ParameterError("`m` of `Trimming` must be at least 0, and `smallest` at least 1.")

    @staticmethod
    def best(epsilon: Fraction, delta: Fraction, definition: Definition, least: int) -> tuple[dict[str, Any], float]:
        del definition  # trimming keeps both
        m = trimming.minimal_m(epsilon, delta)
        return {"m": m, "smallest": least}, trimming.exact_delta(m, epsilon)

    @staticmethod
    def own_figures(step: Trimmed) -> dict[str, Any]:
        return {"m": step.m, "smallest": step.least}

    @property
    def least(self) -> int:
        return self.smallest

    @property
    def losses(self) -> Floats:
        return laplace_losses(self.record_epsilon, self.m)

    def shown(self, counts: Integers, source: RandomSource) -> Integers:
        # exact: draws below -m are repeated; classes below the least size are not drawn
        left = np.zeros_like(counts)
        open_still = np.flatnonzero(counts >= self.smallest)
        while len(open_still):
            trimmed = self.m + discrete_laplaces(1 / self.record_epsilon, len(open_still), source=source)
            left[open_still] = counts[open_still] - trimmed
            open_still = open_still[trimmed < 0]
        return np.where(left >= self.smallest, left, 0)

    def event(self) -> Trimmed:
        return Trimmed(m=self.m, least=self.smallest, **self._spent)

    def figures(self) -> dict[str, object]:
        return {"m": self.m, "least class shown": self.smallest, "delta attained, rounded up": self.exact_delta}

    def holds(self, delta: Fraction | None = None) -> bool:
        return trimming.satisfies(m=self.m, epsilon=self.record_epsilon, delta=self._record_delta(delta))


@dataclass(frozen=True, kw_only=True)
class Sampling(Operator):
    """Draw X ~ Bin(c, beta) for a class of c records; show X copies if X >= k, nothing otherwise.

    Guarantee
    ---------
    (epsilon, delta)-differential privacy given the scheme: [LQS10 Thm 1] (seed 002) = [Bild24 Thm 3] (seed 003), see
    `shoal.methods.truthful.parameters`. Sampling records one by one and counting them per class gives independent
    binomial counts; which of the equal records of a class were sampled cannot be seen. A larger k keeps the promise:
    d(k, beta, epsilon) is a maximum over j >= k.
    """

    #: The sampling rate and the threshold.
    beta: Fraction
    k: int
    name: ClassVar[OperatorName] = "sampling"
    doing: ClassVar[str] = "sampling"
    step: ClassVar[type[Trimmed | Sampled]] = Sampled

    @staticmethod
    def best(epsilon: Fraction, delta: Fraction, definition: Definition, least: int) -> tuple[dict[str, Any], float]:
        values = parameters.parameters(epsilon, delta, definition=definition)
        if least <= values.k:
            return {"beta": values.beta, "k": values.k}, values.exact_delta
        attained = parameters.exact_delta(least, values.beta, epsilon, definition=definition)
        return {"beta": values.beta, "k": least}, attained

    @staticmethod
    def own_figures(step: Sampled) -> dict[str, Any]:
        return {"beta": step.beta, "k": step.k}

    @property
    def least(self) -> int:
        return self.k

    cut = least

    @property
    def likely(self) -> int:
        """The size from which on more than half of all samples keep a class."""
        return math.ceil(self.k / self.beta)

    @cached_property
    def records(self) -> Survival:
        return surviving_records(self.beta, self.k)

    @cached_property
    def classes(self) -> Survival:
        return surviving_classes(self.beta, self.k)

    def shown(self, counts: Integers, source: RandomSource) -> Integers:
        # exact, about two random bits per record; classes below k are not drawn
        drawn = np.zeros_like(counts)
        possible = counts >= self.k
        drawn[possible] = binomial(counts[possible], self.beta, source=source)
        return np.where(drawn >= self.k, drawn, 0)

    def event(self) -> Sampled:
        return Sampled(beta=self.beta, k=self.k, **self._spent)

    def figures(self) -> dict[str, object]:
        return {"beta": str(self.beta), "k": self.k, "delta attained, rounded up": self.exact_delta}

    def holds(self, delta: Fraction | None = None) -> bool:
        if (self.beta * 2**parameters.SAMPLER_BITS).denominator != 1:
            return False
        return parameters.satisfies(
            k=self.k,
            beta=self.beta,
            epsilon=self.record_epsilon,
            delta=self._record_delta(delta),
            definition=self.definition,
        )


OPERATORS: dict[OperatorName, type[Operator]] = {kind.name: kind for kind in (Trimming, Sampling)}
assert set(OPERATORS) == set(get_args(OperatorName))  # noqa: S101 - one class per name


def figures(operator: Operator, *, sensitivity: Fraction, search_epsilon: Fraction) -> dict[str, object]:
    """Return all figures that a promise was computed with, those of the search and those of the operator."""
    return {
        **operator.figures(),
        **operator.of_a_record(),
        "sensitivity of the score": str(sensitivity),
        "epsilon of the scheme": str(search_epsilon),
        f"epsilon of the {operator.doing}": str(operator.epsilon),
    }


def sensitivity_range(score: str, operator: Operator, *, columns: int) -> tuple[Fraction, Fraction]:
    """Return the least and the largest sensitivity that a score can have, whatever the weights of the columns.

    That of a person, who has so many records as the operator allows, each of which can change the score by as much.

    Qualities are rounded down once per column, so that their sum is less than ``columns`` units below the scale
    [`shoal.methods.truthful._scores`]; of the scores of [Bild24] the sensitivity is a formula.

    Examples
    --------
    >>> operator = Sampling.of(Fraction(1), Fraction(1, 10**6), definition="probabilistic", least=1)
    >>> low, high = sensitivity_range("granularity", operator, columns=4)
    >>> float(high / SCALE**2), high - low == 4 * 1.75 * SCALE
    (1.75, True)
    """
    low: Fraction | int
    high: Fraction | int
    if score in ("granularity", "intensity", "classification"):
        step = operator.records.step
        # other steps are sums of probabilities in floating point, which another machine may round to the next unit
        loose = 0 if step in (SCALE, math.floor(STEEPNESS * SCALE)) else 1
        units = SCALE - (0 if score == "classification" else columns)
        low, high = (step - loose) * units, (step + loose) * SCALE
    elif score == "group-size":
        step = operator.classes.step
        low, high = max(step - 1, 1) * SCALE, (step + 1) * SCALE
    else:
        terms = {"discernibility": 1, "non-uniform-entropy": columns}[score]
        threshold = max(2, operator.likely)
        low = high = terms * (Fraction(threshold**2, threshold - 1) + 1) + Fraction(terms**2, 2**22)
    return Fraction(low * operator.per_person), Fraction(high * operator.per_person)
