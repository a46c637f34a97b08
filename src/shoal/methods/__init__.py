"""All methods, by the names that plan files and the command line use.

A method is a class of one of the families below, imported here in one line.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from shoal.errors import ParameterError, Problems, find_by_name, quoted
from shoal.guarantees import Requirement
from shoal.methods._opening import check_unit as check_unit
from shoal.methods._own_values import OwnValue as OwnValue
from shoal.methods._rehearsal import finest_steps as finest_steps
from shoal.methods._rehearsal import policy_entry as policy_entry
from shoal.methods._rehearsal import rehearsal_entry as rehearsal_entry
from shoal.methods._rehearsal import rehearse_release as rehearse_release
from shoal.methods.base import Method as Method
from shoal.methods.base import MethodCapabilities as MethodCapabilities
from shoal.methods.base import Progress as Progress
from shoal.methods.base import Result as Result
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
from shoal.methods.truthful import DifferentialPrivacy
from shoal.methods.truthful import Truthful as Truthful
from shoal.methods.truthful import TruthfulTables as TruthfulTables
from shoal.models import Model
from shoal.schema import Schema
from shoal.series import SeriesKAnonymity

#: all methods, in the order in which people should look at them
METHODS: tuple[type[Method], ...] = (
    Generalize,
    Iterate,
    Mondrian,
    Specialize,
    Subtree,
    Anatomy,
    Bucketize,
    IndividualRankingSwap,
    Mdav,
    Slice,
    StochasticCloseness,
    Suppress,
    Swap,
    TMicroaggregate,
    VMdav,
    Truthful,
    TruthfulTables,
    DPMicroaggregation,
)
_METHODS = {method.name: method for method in METHODS}


def names() -> tuple[str, ...]:
    """Return the names of all methods."""
    return tuple(_METHODS)


#: the effort after which a search that nobody gave a limit makes do with the best that it has
EFFORT = 20.0


# columns that one differentially private table can show together
_TOGETHER = 4


def _are_many(promises: Iterable[Requirement], schema: Schema | None, parameters: Mapping[str, object] | None) -> bool:
    """Return whether a schema has more columns than one differentially private table can show, as far as is asked."""
    if schema is None or schema.person is not None or parameters:
        return False
    plain = all(
        isinstance(each, DifferentialPrivacy) and each == DifferentialPrivacy(epsilon=each.epsilon, delta=each.delta)
        for each in promises
    )
    return plain and len((*schema.quasi_identifiers, *schema.sensitive, *schema.insensitive)) > _TOGETHER


def default(
    promises: Iterable[Requirement], parameters: Mapping[str, object] | None = None, *, schema: Schema | None = None
) -> Method:
    """Return the method for promises where none is asked for: the one that keeps them and loses least.

    ``parameters`` are those that were given without saying of which method.

    Local recoding with the declared hierarchies loses a fraction of what one level per column does, and compares itself
    with that. Promises that look at the released values, or need classes that cover no person twice, are kept by the
    methods that make such. Searches end after ``EFFORT``, about as many seconds of one processor.

    Under differential privacy one table of many columns shows little but `*`, whatever its records are: more than four
    columns of ``schema`` are released as tables of one and two columns.

    Examples
    --------
    >>> from shoal.models import KAnonymity
    >>> default([KAnonymity(5)]).name
    'specialize'
    """
    # a series asks nothing of the method that others do not
    asked = tuple(promise for promise in promises if not isinstance(promise, SeriesKAnonymity))
    able = [promise.capabilities for promise in asked if isinstance(promise, Model)]
    if bound := [
        each
        for each in _METHODS.values()
        if {promise.name for promise in asked} & each.capabilities.promises_besides_models
    ]:
        method = TruthfulTables if bound[0] is Truthful and _are_many(asked, schema, parameters) else bound[0]
    elif any(each.population_share for each in able):
        method = Generalize
    else:
        method = Iterate if any(each.codes for each in able) else Specialize
    limit = {"effort": EFFORT} if searches(method) else {}
    return from_parameters(method.name, {**limit, **(parameters or {})})


def searches(method: type[Method]) -> bool:
    """Return whether a method searches, so that it can be given a limit of effort and of time."""
    return any(each.name == "effort" for each in dataclasses.fields(method))


def keeper(promise: str) -> type[Method]:
    """Return the method that keeps a promise that is no model, by the promise's name."""
    return next(method for method in _METHODS.values() if promise in method.capabilities.promises_besides_models)


def by_name(name: str) -> type[Method]:
    """Return the method of that name."""
    return find_by_name("method", name, _METHODS)


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
