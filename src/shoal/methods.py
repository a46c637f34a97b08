"""All methods by the names that plan files and the command line use."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from shoal import recoding
from shoal.errors import ParameterError, Problems
from shoal.recoding import Method

__all__ = ["by_name", "from_parameters", "names"]


def _all() -> dict[str, type[Method]]:
    values = (getattr(recoding, name) for name in recoding.__all__)
    found = [value for value in values if isinstance(value, type) and issubclass(value, Method) and value is not Method]
    return {method.name: method for method in found}


def names() -> tuple[str, ...]:
    """Return the names of all methods."""
    return tuple(_all())


def by_name(name: str) -> type[Method]:
    """Return the method of that name."""
    known = _all()
    if name not in known:
        raise ParameterError(f"there is no method `{name}`; there are {', '.join(f'`{each}`' for each in known)}.")
    return known[name]


def from_parameters(name: str, parameters: Mapping[str, object]) -> Method:
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
    return method(**parameters)
