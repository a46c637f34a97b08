"""All methods by the names that plan files and the command line use."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from inspect import isabstract

from shoal.errors import ParameterError, Problems
from shoal.methods import classes, recode
from shoal.methods.classes import PartitionMethod, Slice
from shoal.methods.noise import DPMicroaggregation, EpsilonBudget
from shoal.methods.recode import Generalize, Method
from shoal.methods.truthful import DifferentialPrivacy, Truthful

__all__ = ["AnyMethod", "by_name", "crowd", "default", "from_parameters", "names"]

#: A method recodes a table so that models hold, puts records into classes, divides the columns, or draws a release that
#: is differentially private, with noise or without.
AnyMethod = Method | PartitionMethod | Slice | Truthful | DPMicroaggregation


def _all() -> dict[str, type[AnyMethod]]:
    homes = (recode, classes)
    values = [getattr(home, name) for home in homes for name in home.__all__]
    bases = (Method, PartitionMethod)
    found = [
        value for value in values if isinstance(value, type) and issubclass(value, bases) and not isabstract(value)
    ]
    known: list[type[AnyMethod]] = [*found, Slice, Truthful, DPMicroaggregation]
    return {method.name: method for method in known}


def names() -> tuple[str, ...]:
    """Return the names of all methods."""
    return tuple(_all())


def default(promises: Iterable[object]) -> AnyMethod:
    """Return the method for promises where none is asked for: one that keeps them."""
    asked = tuple(promises)
    if any(isinstance(promise, EpsilonBudget) for promise in asked):
        return DPMicroaggregation()
    return Truthful() if any(isinstance(promise, DifferentialPrivacy) for promise in asked) else Generalize()


def crowd(name: str | None) -> str:
    """Return the promise that a plain k stands for with the method of that name: what the method keeps.

    Examples
    --------
    >>> crowd("generalize"), crowd("swap")
    ('k-anonymity', 'probabilistic-k-anonymity')
    """
    return str(getattr(None if name is None else by_name(name), "crowd", "k-anonymity"))


def by_name(name: str) -> type[AnyMethod]:
    """Return the method of that name."""
    known = _all()
    if name not in known:
        raise ParameterError(f"there is no method `{name}`; there are {', '.join(f'`{each}`' for each in known)}.")
    return known[name]


def from_parameters(name: str, parameters: Mapping[str, object]) -> AnyMethod:
    """Make a method from its name and parameters, as they stand in a plan file.

    Examples
    --------
    >>> from_parameters("generalize", {"suppression_limit": 0.1}).name
    'generalize'
    """
    method = by_name(name)
    known = [field.name for field in dataclasses.fields(method)]  # type: ignore[arg-type]
    problems = Problems()
    for parameter in parameters:
        if parameter not in known:
            problems.add(f"method `{name}` has no parameter `{parameter}`; it has {', '.join(f'`{k}`' for k in known)}")
    problems.raise_as(ParameterError)
    return method(**parameters)  # type: ignore[arg-type]
