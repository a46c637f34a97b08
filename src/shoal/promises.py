"""All promises by the names that plan files and the command line use: privacy models, and privacy by randomness."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from shoal import models
from shoal.errors import ParameterError, Problems
from shoal.methods.noise import EpsilonBudget
from shoal.methods.truthful import DifferentialPrivacy
from shoal.models import Model

__all__ = ["Requirement", "from_parameters", "names"]

#: What can be asked for.
Requirement = Model | DifferentialPrivacy | EpsilonBudget

_RANDOM: dict[str, type[DifferentialPrivacy | EpsilonBudget]] = {
    kind.name: kind for kind in (DifferentialPrivacy, EpsilonBudget)
}


def names() -> tuple[str, ...]:
    """Return the names of all promises."""
    return (*models.names(), *_RANDOM)


def from_parameters(name: str, parameters: Mapping[str, object]) -> Requirement:
    """Make a promise from its name and parameters, as they stand in a plan file.

    Examples
    --------
    >>> from_parameters("differential-privacy", {"epsilon": 1, "delta": 1e-6}).name
    'differential-privacy'
    """
    if name not in _RANDOM:
        return models.from_parameters(name, parameters)
    kind = _RANDOM[name]
    known = {field.name: field.default is dataclasses.MISSING for field in dataclasses.fields(kind)}
    problems = Problems()
    for unknown in sorted(parameters.keys() - known.keys()):
        listed = ", ".join(f"`{each}`" for each in known)
        problems.add(f"`{kind.title}` has no parameter `{unknown}`; it has {listed}.")
    for needed in [each for each, required in known.items() if required and each not in parameters]:
        problems.add(f"`{kind.title}` needs the parameter `{needed}`.")
    problems.raise_as(ParameterError)
    return kind(**parameters)  # type: ignore[arg-type]
