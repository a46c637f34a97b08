"""How to get there: all methods, by the names that plan files and the command line use.

A method is a class of one of the families below, imported here in one line.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from shoal.errors import ParameterError, Problems, named, quoted
from shoal.guarantees import Requirement
from shoal.methods._preparation import check_unit as check_unit
from shoal.methods.base import Keeps as Keeps
from shoal.methods.base import Made as Made
from shoal.methods.base import Method as Method
from shoal.methods.base import Progress as Progress
from shoal.methods.base import Work as Work
from shoal.methods.classes import Anatomy as Anatomy
from shoal.methods.classes import Bucketize as Bucketize
from shoal.methods.classes import IndividualRankingSwap as IndividualRankingSwap
from shoal.methods.classes import Mdav as Mdav
from shoal.methods.classes import Slice as Slice
from shoal.methods.classes import StochasticCloseness as StochasticCloseness
from shoal.methods.classes import Suppress as Suppress
from shoal.methods.classes import Swap as Swap
from shoal.methods.classes import TMicroaggregate as TMicroaggregate
from shoal.methods.classes import VMdav as VMdav
from shoal.methods.noise import DPMicroaggregation as DPMicroaggregation
from shoal.methods.recode import Generalize as Generalize
from shoal.methods.recode import Iterate as Iterate
from shoal.methods.recode import Mondrian as Mondrian
from shoal.methods.recode import Specialize as Specialize
from shoal.methods.recode import Subtree as Subtree
from shoal.methods.truthful import Truthful as Truthful
from shoal.methods.truthful import TruthfulTables as TruthfulTables
from shoal.models import Model

_LISTED: list[type[Method]] = [
    each
    for each in tuple(globals().values())
    if isinstance(each, type) and issubclass(each, Method) and each is not Method
]
#: families in the order in which people should look at them
_FAMILIES = ("recode", "classes", "truthful", "noise")
_METHODS = {
    method.name: method
    for method in sorted(_LISTED, key=lambda each: (_FAMILIES.index(each.__module__.split(".")[2]), each.name))
}


def names() -> tuple[str, ...]:
    """Return the names of all methods."""
    return tuple(_METHODS)


#: seconds after which a search that nobody gave a limit makes do with the best that it has
SECONDS = 15.0


def default(promises: Iterable[Requirement], parameters: Mapping[str, object] | None = None) -> Method:
    """Return the method for promises where none is asked for: the one that keeps them and loses least.

    ``parameters`` are those that were given without saying of which method.

    Local recoding with the declared hierarchies loses a fraction of what one level per column does, and compares itself
    with that. Promises that look at the released values, or need classes that cover no person twice, are kept by the
    methods that make such. Searches end after ``SECONDS``.

    Examples
    --------
    >>> from shoal.models import KAnonymity
    >>> default([KAnonymity(5)]).name
    'specialize'
    """
    asked = tuple(promises)
    able = [promise.capabilities for promise in asked if isinstance(promise, Model)]
    if bound := [each for each in _METHODS.values() if {promise.name for promise in asked} & each.keeps.alone]:
        method = bound[0]
    elif any(each.population_share for each in able):
        method = Generalize
    else:
        method = Iterate if any(each.codes for each in able) else Specialize
    limit = {"time_limit": SECONDS} if timed(method) else {}
    return from_parameters(method.name, {**limit, **(parameters or {})})


def timed(method: type[Method]) -> bool:
    """Return whether the search of a method can be given a limit of time."""
    return any(each.name == "time_limit" for each in dataclasses.fields(method))


def keeper(promise: str) -> type[Method]:
    """Return the method that keeps a promise that is no model, by the promise's name."""
    return next(method for method in _METHODS.values() if promise in method.keeps.alone)


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
    return named("method", name, _METHODS)


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
            problems.add(f"method `{name}` has no parameter `{parameter}`; it has {quoted(known)}")
    problems.raise_as(ParameterError)
    return method(**parameters)
