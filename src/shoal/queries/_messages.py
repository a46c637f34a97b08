"""Messages of the vault's protocol: queries in, answers and errors out."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from shoal.errors import ParameterError
from shoal.mechanisms import CategoricalPrior, NumericPrior, Prior
from shoal.queries._look_up import LookUp
from shoal.queries._loss import Loss, written
from shoal.queries._query import Accuracy, Answer, Query
from shoal.queries._statistics import Count, Histogram, Mean, Quantile, Sum

Number = Annotated[str, Field(max_length=64)] | int | float
LARGEST_PRIOR = 4096
"""Masses of a prior; the page of a look-up with 64 columns at once is kept short by the size of a request."""
LARGEST_DENOMINATOR = 1 << 1024
"""The common denominator of the masses of a prior."""
Name = Annotated[str, Field(min_length=1, max_length=1000)]
Filter = Annotated[str, Field(max_length=4096)] | None


class _Message(BaseModel):
    # a message with a field that we do not know was meant for another version
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)


class NumericPriorMessage(_Message):
    """Probabilities of start, start + step, start + 2 step, ..."""

    kind: Literal["numbers"] = "numbers"
    start: Number
    step: Number
    masses: Annotated[list[Number], Field(min_length=1, max_length=LARGEST_PRIOR)]

    def prior(self) -> Prior:
        """Return the prior value."""
        return NumericPrior(start=_exact(self.start), step=_exact(self.step), masses=_masses(self.masses))


class CategoricalPriorMessage(_Message):
    """A probability for each value."""

    kind: Literal["texts"] = "texts"
    masses: Annotated[dict[str, Number], Field(min_length=1, max_length=LARGEST_PRIOR)]

    def prior(self) -> Prior:
        """Return the prior value."""
        return CategoricalPrior(dict(zip(self.masses, _masses(self.masses.values()), strict=True)))


PriorMessage = Annotated[NumericPriorMessage | CategoricalPriorMessage, Field(discriminator="kind")]


class _QueryMessage(_Message):
    makes: ClassVar[type[Query]]

    def value(self) -> Query:
        """Return the query value."""
        names = [name for name in type(self).model_fields if name != "query"]
        return self.makes(**{name: _value(getattr(self, name)) for name in names})


class _NoisyMessage(_QueryMessage):
    epsilon: Number | None = None
    rho: Number | None = None
    scale: Number | None = None
    where: Filter = None


class CountMessage(_NoisyMessage):
    """How many records are there?"""

    makes = Count
    query: Literal["count"]
    prior: NumericPriorMessage | None = None
    delta: Number = 0


class SumMessage(_NoisyMessage):
    """What is the sum of a column?"""

    makes = Sum
    query: Literal["sum"]
    column: Name
    noise: Literal["laplace", "optimal"] = "laplace"
    grid: Number | None = None


class MeanMessage(_QueryMessage):
    """What is the mean of a column?"""

    makes = Mean
    query: Literal["mean"]
    column: Name
    epsilon: Number
    where: Filter = None
    grid: Number | None = None


class HistogramMessage(_NoisyMessage):
    """How many records have each value?"""

    makes = Histogram
    query: Literal["histogram"]
    column: Name
    edges: Annotated[list[Number], Field(max_length=4097)] = []


class QuantileMessage(_QueryMessage):
    """Which number has a given share of the records below it?"""

    makes = Quantile
    query: Literal["quantile"]
    column: Name
    epsilon: Number
    share: Number = "0.5"
    where: Filter = None
    grid: Number | None = None


class LookUpMessage(_QueryMessage):
    """Which values has one person?"""

    makes = LookUp
    query: Literal["look-up"]
    identifier: Name
    person: Name
    columns: Annotated[list[Name], Field(min_length=1, max_length=64)]
    epsilon: Number
    delta: Number = 0
    priors: Annotated[dict[str, PriorMessage], Field(max_length=64)] = {}


QueryMessage = Annotated[
    CountMessage | SumMessage | MeanMessage | HistogramMessage | QuantileMessage | LookUpMessage,
    Field(discriminator="query"),
]


class AmountMessage(BaseModel):
    """An exact amount, as decimal texts."""

    epsilon: str
    delta: str
    rho: str = "0"


class AccuracyMessage(BaseModel):
    """How far the true figure may be from the answer."""

    statement: str
    low: float | int | str | None
    high: float | int | str | None
    confidence: float


class AnswerMessage(BaseModel):
    """The answer to one query."""

    value: int | float | str | dict[str, int | float | str]
    accuracy: AccuracyMessage
    cost: AmountMessage
    spent: AmountMessage
    left: AmountMessage
    query: str
    entry: int | None
    test_only: bool


class EstimateMessage(BaseModel):
    """What an answer would cost, and how wrong it may be; None where only the answer tells."""

    cost: AmountMessage
    left: AmountMessage
    query: str
    accuracy: str | None


class StandingMessage(BaseModel):
    """What an analyst may spend, has spent and has left."""

    budget: AmountMessage
    spent: AmountMessage
    left: AmountMessage


class ErrorMessage(BaseModel):
    """Why there is no answer; never anything about the records."""

    code: str
    problems: list[str]
    hint: str | None = None


def message_of(query: Query) -> dict[str, Any]:
    """Return a query as plain data, as the server reads it."""
    fields: dict[str, Any] = {field.name: getattr(query, field.name) for field in dataclasses.fields(query)}
    return {"query": query.name, **{name: _plain(value) for name, value in fields.items() if value is not None}}


def answer_from(data: Mapping[str, Any]) -> Answer:
    """Return the answer that the server wrote."""
    return Answer(
        value=data["value"],
        accuracy=Accuracy(**data["accuracy"]),
        **{name: loss_from(data[name]) for name in ("cost", "spent", "left")},
        query=data["query"],
        entry=data["entry"],
        test_only=data["test_only"],
    )


def loss_from(data: Mapping[str, str]) -> Loss:
    """Return an amount that the server wrote."""
    # amounts that are all spent are 0, which no query can ask for
    epsilon, rho = (
        Loss.of(amount).epsilon_units if amount != "0" else 0 for amount in (data["epsilon"], data.get("rho", "0"))
    )
    return Loss(epsilon, Loss.of(1, data["delta"]).delta_units, rho)


def _value(sent: Any) -> Any:
    if isinstance(sent, NumericPriorMessage | CategoricalPriorMessage):
        return sent.prior()
    if isinstance(sent, dict):
        return {name: _value(entry) for name, entry in sent.items()}
    return tuple(sent) if isinstance(sent, list) else sent


def _plain(value: object) -> object:
    if isinstance(value, NumericPrior):
        masses = [str(weight) for weight in value.weights]
        return {"kind": "numbers", "start": str(value.start), "step": str(value.step), "masses": masses}
    if isinstance(value, CategoricalPrior):
        return {"kind": "texts", "masses": dict(zip(value.values, map(str, value.weights), strict=True))}
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value if isinstance(value, str | int | float) else str(value)


def _exact(value: str | int | float) -> Fraction:
    """Return a number of a prior, refused where it could not be computed with cheaply."""
    return written(value, "prior")


def _masses(values: Iterable[str | int | float]) -> list[Fraction]:
    """Return the masses of a prior, refused where their common denominator is large."""
    masses, denominator = [], 1
    for value in values:
        masses.append(_exact(value))
        denominator = math.lcm(denominator, masses[-1].denominator)
        if denominator > LARGEST_DENOMINATOR:
            raise ParameterError(
                "the masses of a prior need a common denominator that is too large.",
                hint="write them as decimals of the same length, or as whole numbers",
            )
    return masses
