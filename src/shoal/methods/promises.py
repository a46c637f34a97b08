"""All kinds of promises by the names that plan files and certificates use: models, and those of the methods."""

from __future__ import annotations

from collections.abc import Mapping

from shoal import models
from shoal.errors import ParameterError
from shoal.guarantees import Check, Evidence, PromiseEntry, PromiseKind, Requirement, Strength
from shoal.methods import classes, noise, truthful

__all__ = ["check", "from_parameters", "kind", "names"]

_KINDS: dict[str, type[PromiseKind]] = {
    kind.name: kind for family in (truthful.PROMISES, noise.PROMISES, classes.PROMISES) for kind in family
}
_ASKED: dict[str, type[Requirement]] = {name: kind for name, kind in _KINDS.items() if issubclass(kind, Requirement)}


def names() -> tuple[str, ...]:
    """Return the names of all promises that a plan can ask for."""
    return (*models.names(), *_ASKED)


def from_parameters(name: str, parameters: Mapping[str, object]) -> Requirement:
    """Make a promise from its name and parameters, as they stand in a plan file.

    Examples
    --------
    >>> from_parameters("differential-privacy", {"epsilon": 1, "delta": 1e-6}).name
    'differential-privacy'
    """
    return _ASKED[name].from_parameters(parameters) if name in _ASKED else models.from_parameters(name, parameters)


def kind(name: str) -> type[Requirement]:
    """Return the kind of promises of that name; raises KeyError where there is none."""
    return _ASKED[name] if name in _ASKED else models.MODELS[name]


def check(entry: PromiseEntry, evidence: Evidence) -> list[Check]:
    """Decide a promise of a certificate again; raises KeyError where no kind of promises has its name."""
    # a model is a property of the table; of the same name there may be a promise that is more than that
    plain = entry.model in models.MODELS and (entry.strength is Strength.SYNTACTIC or entry.model not in _KINDS)
    known: type[PromiseKind] = models.MODELS[entry.model] if plain else _KINDS[entry.model]
    try:
        promise = known.from_parameters(entry.parameters)
    except ParameterError as error:
        return [Check(subject=f"{entry.model} ({entry.strength})", passed=False, detail="; ".join(error.problems))]
    return promise.check(entry, evidence)
