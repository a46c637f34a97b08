"""How to get there: all methods, by the names that plan files and the command line use.

A method is a class of one of the families below, listed once in ``__all__``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from shoal.errors import ParameterError, Problems
from shoal.guarantees import Requirement
from shoal.methods.base import Keeps, Made, Method, Progress, Work
from shoal.methods.classes import (
    Anatomy,
    Bucketize,
    IndividualRankingSwap,
    Mdav,
    Slice,
    StochasticCloseness,
    Swap,
    TMicroaggregate,
    VMdav,
)
from shoal.methods.noise import DPMicroaggregation
from shoal.methods.recode import Generalize, Iterate, Mondrian, Specialize, Subtree
from shoal.methods.truthful import Truthful

__all__ = [
    "Anatomy",
    "Bucketize",
    "DPMicroaggregation",
    "Generalize",
    "IndividualRankingSwap",
    "Iterate",
    "Keeps",
    "Made",
    "Mdav",
    "Method",
    "Mondrian",
    "Progress",
    "Slice",
    "Specialize",
    "StochasticCloseness",
    "Subtree",
    "Swap",
    "TMicroaggregate",
    "Truthful",
    "VMdav",
    "Work",
    "by_name",
    "crowd",
    "default",
    "from_parameters",
    "keeper",
    "names",
]

_METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (globals()[name] for name in __all__ if name[0].isupper())
    if isinstance(method, type) and issubclass(method, Method) and method is not Method
}


def names() -> tuple[str, ...]:
    """Return the names of all methods."""
    return tuple(_METHODS)


def default(promises: Iterable[Requirement]) -> Method:
    """Return the method for promises where none is asked for: one that keeps them."""
    asked = {promise.name for promise in promises}
    return next((method() for method in _METHODS.values() if method.keeps.private in asked), Generalize())


def keeper(promise: str) -> type[Method]:
    """Return the method that keeps a promise of differential privacy, by the promise's name."""
    return next(method for method in _METHODS.values() if method.keeps.private == promise)


def crowd(name: str | None) -> str:
    """Return the promise that a plain k stands for with the method of that name: what the method keeps.

    Examples
    --------
    >>> crowd("generalize"), crowd("swap")
    ('k-anonymity', 'probabilistic-k-anonymity')
    """
    return (Generalize if name is None else by_name(name)).keeps.crowd


def by_name(name: str) -> type[Method]:
    """Return the method of that name."""
    if name not in _METHODS:
        raise ParameterError(f"there is no method `{name}`; there are {', '.join(f'`{each}`' for each in _METHODS)}.")
    return _METHODS[name]


def from_parameters(name: str, parameters: Mapping[str, object]) -> Method:
    """Make a method from its name and parameters, as they stand in a plan file.

    Examples
    --------
    >>> from_parameters("generalize", {"suppression_limit": 0.1}).name
    'generalize'
    """
    method = by_name(name)
    known = [field.name for field in dataclasses.fields(method)]
    problems = Problems()
    for parameter in parameters:
        if parameter not in known:
            problems.add(f"method `{name}` has no parameter `{parameter}`; it has {', '.join(f'`{k}`' for k in known)}")
    problems.raise_as(ParameterError)
    return method(**parameters)
