"""The grid of a comparison: plans made from lists of parameters."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from shoal import methods
from shoal.comparison._comparison import describe
from shoal.errors import InputError, ParameterError
from shoal.methods import promises
from shoal.methods.shorthand import SHORT, are_private, asked_in_short, by_column, in_short
from shoal.plan import Plan
from shoal.schema import Schema

#: the delta of differential privacy where none is given; it must not depend on the data
DELTA = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A plan to try, or why there is none."""

    method: str
    promises: str
    plan: Plan | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The plans to compare: every method with every combination of the parameters that it supports.

    Examples
    --------
    >>> from shoal.schema import Attribute, Role
    >>> schema = Schema(attributes=(Attribute(name="age", role=Role.QUASI_IDENTIFIER),))
    >>> [each.promises for each in Grid(k=(2, 5), methods=("generalize",)).candidates(schema)]
    ['k = 2', 'k = 5']
    """

    #: Values of k for k-anonymity.
    k: Sequence[int] = ()
    #: For sensitive columns, values of l for distinct l-diversity and of t for t-closeness.
    l: Mapping[str, Sequence[float]] = field(default_factory=dict)  # noqa: E741
    t: Mapping[str, Sequence[float]] = field(default_factory=dict)
    #: Values of epsilon for differential privacy, and its delta.
    epsilon: Sequence[float] = ()
    delta: float = DELTA
    #: Names of methods; where not given, all that keep what is asked for.
    methods: Sequence[str] | None = None
    #: Promises by name and parameters that every class-based plan makes besides.
    always: Sequence[tuple[str, Mapping[str, object]]] = ()
    #: For the methods that have one.
    suppression_limit: float | None = None

    def __post_init__(self) -> None:
        if not (self.k or self.l or self.t or self.epsilon or self.always):
            raise ParameterError("`compare` needs something to promise, for example `k=(2, 5, 10)`.")
        for name in self.methods or ():
            methods.by_name(name)

    def candidates(self, schema: Schema) -> tuple[Candidate, ...]:
        """Return the plans, method by method."""
        return tuple(candidate for name in self._methods() for candidate in self._of_method(name, schema))

    def _methods(self) -> tuple[str, ...]:
        private, classes = _private_methods(), bool(self.k or self.l or self.t or self.always)
        if self.methods is None:
            # tables of a few columns each have no figures that single tables have
            single = [name for name in methods.names() if not methods.by_name(name).capabilities.shared_columns]
            return tuple(name for name in single if (self.epsilon if name in private else classes))
        wanted = tuple(dict.fromkeys(self.methods))
        return (
            wanted
            if not self.epsilon or set(private) & set(wanted)
            else (*wanted, methods.keeper(in_short("epsilon").name).name)
        )

    def _of_method(self, name: str, schema: Schema) -> Iterator[Candidate]:
        private = _private_methods().get(name)
        any_fits = False
        for wanted in self._private_promises(private) if private else self._class_promises(name):
            any_fits = True
            yield _candidate(name, wanted, self._parameters(name), schema)
        if not any_fits:
            asked = "--epsilon" if private else "--k, --l or --t"
            yield Candidate(method=name, promises="", problem=f"it keeps none of the promises asked for; add {asked}")

    def _private_promises(self, model: str) -> Iterator[list[_Promise]]:
        takes = inspect.signature(promises.kind(model)).parameters
        delta = {"delta": self.delta} if "delta" in takes else {}
        for value in self.epsilon:
            yield [(model, {"epsilon": value, **delta})]

    def _class_promises(self, name: str) -> Iterator[list[_Promise]]:
        """Return every combination of one k, in the sense that a method keeps, one l and one t per column."""
        axes: list[list[_Promise]] = []
        for short in SHORT:
            values = getattr(self, short)
            if by_column(short):
                axes += [
                    [asked for value in numbers for asked in asked_in_short({short: {column: value}}, name)]
                    for column, numbers in values.items()
                ]
            elif values and not are_private(short):
                axes.append([asked for value in values for asked in asked_in_short({short: value}, name)])
        axes += [[(model, dict(parameters))] for model, parameters in self.always]
        if axes:
            for chosen in itertools.product(*axes):
                yield list(chosen)

    def _parameters(self, name: str) -> dict[str, object]:
        takes = "suppression_limit" in methods.by_name(name).__dataclass_fields__
        return {"suppression_limit": self.suppression_limit} if takes and self.suppression_limit is not None else {}


_Promise = tuple[str, Mapping[str, object]]


def _private_methods() -> dict[str, str]:
    """Return the methods that keep an epsilon, with the promise that they keep."""
    kept = {name: methods.by_name(name).capabilities.private_promise for name in methods.names()}
    return {name: promise for name, promise in kept.items() if promise is not None}


def _candidate(name: str, wanted: list[_Promise], parameters: dict[str, object], schema: Schema) -> Candidate:
    label = ", ".join(
        f"{model} {' '.join(f'{key}={value}' for key, value in given.items())}" for model, given in wanted
    )
    try:
        plan = Plan(
            schema=schema,
            models=tuple(promises.from_parameters(model, given) for model, given in wanted),
            method=methods.from_parameters(name, parameters),
        )
    except InputError as error:
        return Candidate(method=name, promises=label, problem="; ".join(error.problems))
    return Candidate(method=name, promises=describe(plan), plan=plan)
