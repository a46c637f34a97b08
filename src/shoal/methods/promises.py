"""All kinds of promises by the names that plan files and certificates use: models, and those of the methods."""

from __future__ import annotations

from collections.abc import Mapping

from shoal import models
from shoal.errors import ParameterError
from shoal.guarantees import Check, Evidence, PromiseEntry, PromiseKind, Requirement, Strength
from shoal.methods.classes import (
    Composition,
    DrawnCloseness,
    Exchanged,
    HiddenClasses,
    KWildcards,
    LocalPrivacy,
    OfAttributeSet,
    OfClusters,
    ViewPrivacy,
)
from shoal.methods.noise import PROMISES as NOISY
from shoal.methods.truthful import DifferentialPrivacy
from shoal.series import SeriesKAnonymity

__all__ = ["KINDS", "check", "from_parameters", "kind", "names"]

_LISTED: tuple[type[PromiseKind], ...] = (
    DifferentialPrivacy,
    *NOISY,
    ViewPrivacy,
    HiddenClasses,
    LocalPrivacy,
    DrawnCloseness,
    Exchanged,  # shares its name with the model that it is another form of
    OfAttributeSet,
    OfClusters,
    Composition,
    KWildcards,
    SeriesKAnonymity,
)
#: the kinds of promises that are no models, by name
KINDS = {kind.name: kind for kind in _LISTED}
_ASKED: dict[str, type[Requirement]] = {name: kind for name, kind in KINDS.items() if issubclass(kind, Requirement)}


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


def is_private(entry: PromiseEntry) -> bool:
    """Return whether a promise of a certificate is differential privacy of all that is released.

    Of a kind that nobody knows it is taken to be: nothing is then said that only the data tell.
    """
    try:
        return _kind_of(entry).private
    except KeyError:
        return True


def hides_among_k(entry: PromiseEntry) -> bool:
    """Return whether a promise says among how many records values were exchanged, in classes that are not published."""
    try:
        return _kind_of(entry).hides_among_k
    except KeyError:
        return False


def _kind_of(entry: PromiseEntry) -> type[PromiseKind]:
    # a model is a property of the table; of the same name there may be a promise that is more than that
    plain = entry.model in models.MODELS and (entry.strength is Strength.SYNTACTIC or entry.model not in KINDS)
    return models.MODELS[entry.model] if plain else KINDS[entry.model]


def check(entry: PromiseEntry, evidence: Evidence) -> list[Check]:
    """Decide a promise of a certificate again; raises KeyError where no kind of promises has its name."""
    known = _kind_of(entry)
    try:
        promise = known.from_parameters(entry.parameters)
    except ParameterError as error:
        return [Check(subject=f"{entry.model} ({entry.strength})", passed=False, detail="; ".join(error.problems))]
    return promise.check(entry, evidence)
