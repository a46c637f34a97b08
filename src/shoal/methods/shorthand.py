"""Promises that can be asked for in short: by one number, or by one number for each of some columns.

A kind of promise says with ``short`` which of its parameters stands for it. The command line, comparisons, shown
commands and the app's page ask here which promise that is with a method, and spell none of them out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from shoal import methods, models
from shoal.exact import describe_parameters
from shoal.guarantees import BudgetRequirement, Requirement
from shoal.methods.promises import KINDS

__all__ = [
    "AUDIENCES",
    "SHORT",
    "Asked",
    "Audience",
    "are_private",
    "asked_in_short",
    "by_column",
    "every_short_name",
    "in_short",
    "short_of",
]

Value = TypeVar("Value")

#: A promise by its name, and its parameters.
Asked = tuple[str, Mapping[str, object]]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """Who gets the data, and what is usually promised then."""

    k: int
    #: How many values a group shows of each secret; 0 where that is not asked.
    varied: int
    recipient: str


AUDIENCES: Mapping[str, Audience] = MappingProxyType(
    {
        "partners": Audience(k=3, varied=0, recipient="partners under contract, in their own rooms"),
        "researchers": Audience(k=5, varied=2, recipient="researchers under contract"),
        "public": Audience(k=11, varied=3, recipient="the public"),
    }
)

#: the kinds of promises by the parameter that stands for them, the usual one first
SHORT: dict[str, tuple[type[Requirement], ...]] = {}
for _kind in (*models.MODELS.values(), *KINDS.values()):
    if issubclass(_kind, Requirement) and _kind.short:
        SHORT[_kind.short] = (*SHORT.get(_kind.short, ()), _kind)


def in_short(name: str, method: str | None = None) -> type[Requirement]:
    """Return the promise that a short name stands for with a method, or with the usual one.

    Examples
    --------
    >>> in_short("k").name, in_short("k", "swap").name, in_short("epsilon", "dp-microaggregation").name
    ('k-anonymity', 'probabilistic-k-anonymity', 'epsilon-budget')
    """
    able = None if method is None else methods.by_name(method).capabilities
    names = () if able is None else (able.model_for_k, able.private_promise)
    return next((kind for kind in SHORT[name] if kind.name in names), SHORT[name][0])


def by_column(name: str) -> bool:
    """Return whether a short name takes a number for each of some columns."""
    return "attribute" in _parameters(SHORT[name][0])


def are_private(name: str) -> bool:
    """Return whether a short name stands for differential privacy."""
    return issubclass(SHORT[name][0], BudgetRequirement)


def every_short_name(given: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return values by short name as they are; raise where one was forgotten on the way, or there is no such name."""
    if given.keys() != SHORT.keys():
        raise KeyError(f"short names of promises that differ: {sorted(given.keys() ^ SHORT.keys())}")
    return given


def asked_in_short(
    given: Mapping[str, object], method: str | None = None, more: Mapping[str, object] | None = None
) -> Iterator[Asked]:
    """Yield the promises that are asked for by short names, differential privacy first; what is None is left out.

    ``more`` are further parameters of differential privacy, by name.
    """
    more = {name: value for name, value in (more or {}).items() if value is not None}
    for name in sorted(SHORT, key=lambda name: not are_private(name)):
        kind, value = in_short(name, method), given.get(name)
        if by_column(name):
            columns = value if isinstance(value, Mapping) else {}
            yield from ((kind.name, {"attribute": column, name: number}) for column, number in columns.items())
        elif value is not None or (more and are_private(name)):
            number = {} if value is None else {name: value}
            yield kind.name, {**number, **(more if are_private(name) else {})}


def short_of(promise: Requirement, method: str) -> Sequence[tuple[str, str | None, object]] | None:
    """Return the short names that ask for a promise with a method, each with the column and the value it takes.

    None where no short name says all of it.
    """
    defaults = {each.name: each.default for each in describe_parameters(type(promise)) if each.default is not None}
    unusual = {key: value for key, value in promise.parameters().items() if value != defaults.get(key)}
    name, parameters = promise.short, unusual
    if not name or in_short(name, method) is not type(promise):
        return None
    column = parameters.pop("attribute", None)
    asked = [(name, None if column is None else str(column), parameters.pop(name))]
    if parameters and not are_private(name):
        return None
    return [*asked, *((other, None, value) for other, value in parameters.items())]


def _parameters(kind: type[Requirement]) -> set[str]:
    return {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
