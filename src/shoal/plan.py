"""What to promise and how to get there, as a value that can be saved, shown and run again.

A plan file is TOML::

    shoal = 1                      # version of the format

    [[promises]]
    model = "k-anonymity"
    k = 5

    [method]
    name = "generalize"
    suppression_limit = 0.05

    [columns.age]                  # the schema, as in a schema file
    role = "quasi-identifier"
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from shoal import methods, promises, schema
from shoal.errors import InputError, ParameterError, PlanError, Problems
from shoal.methods import AnyMethod
from shoal.methods.noise import DPMicroaggregation, EpsilonBudget
from shoal.methods.recode import Generalize, Method
from shoal.methods.truthful import DifferentialPrivacy, Truthful
from shoal.models import Model
from shoal.promises import Requirement
from shoal.quality import Measure, as_measure
from shoal.schema import Schema

if TYPE_CHECKING:
    from shoal.release import Release
    from shoal.tables import Table

__all__ = ["Plan"]

VERSION = 1
T = TypeVar("T")
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A schema, the promises to keep, the method to use and the measures to report.

    Parameters
    ----------
    schema
        What the columns mean.
    models
        The promises; at least one.
    method
        How to change the data.
    measures
        Quality measures to report, by name, or by name and parameters as in ``{"name": "classification", "target":
        "income"}``.

    Examples
    --------
    >>> from shoal.schema import Attribute, Role, Schema
    >>> age = Attribute(name="age", role=Role.QUASI_IDENTIFIER)
    >>> from shoal.models import KAnonymity
    >>> plan = Plan(schema=Schema(attributes=(age,)), models=(KAnonymity(5),))
    >>> Plan.loads(plan.dumps()) == plan
    True
    """

    schema: Schema
    models: tuple[Requirement, ...]
    method: AnyMethod = field(default_factory=Generalize)
    measures: tuple[str | Mapping[str, object], ...] = ("loss",)

    def __post_init__(self) -> None:
        problems = Problems()
        if not self.models:
            problems.add("a plan needs at least one promise, for example `KAnonymity(5)`")
        if not self.schema.quasi_identifiers:
            problems.add('the schema names no quasi-identifier; give at least one column `role = "quasi-identifier"`')
        for described in self.measures:
            _collect(problems, partial(self._measure, described))
        if isinstance(self.method, Method):
            _collect(problems, partial(self.method.resolved, self.schema))
        for model in self.models:
            for problem in model.problems(self.schema):
                problems.add(problem)
        for problem in self._mismatches():
            problems.add(problem)
        problems.raise_as(PlanError)

    @property
    def privacy(self) -> DifferentialPrivacy | None:
        """The differential privacy that is asked for, if any."""
        return next((model for model in self.models if isinstance(model, DifferentialPrivacy)), None)

    @property
    def class_models(self) -> tuple[Model, ...]:
        """The promises about the classes of the release: all but differential privacy."""
        return tuple(model for model in self.models if isinstance(model, Model))

    @property
    def reported(self) -> tuple[Measure, ...]:
        """The measures to report, with the weights of the schema."""
        return tuple(map(self._measure, self.measures))

    def _measure(self, described: str | Mapping[str, object]) -> Measure:
        weights = {name: self.schema[name].weight for name in self.schema.quasi_identifiers}
        return as_measure(described, weights=weights).resolved(self.schema)

    def _mismatches(self) -> list[str]:
        """Return what does not go together."""
        if isinstance(self.method, DPMicroaggregation):
            return [*self.method.problems(self.schema, self.models), *self._compared()]
        if any(isinstance(model, EpsilonBudget) for model in self.models):
            kept = f"`{EpsilonBudget.title}` is kept by method `{DPMicroaggregation.name}`"
            return [f"{kept}, not by `{self.method.name}`; with --delta, `{Truthful.name}` keeps --epsilon"]
        private = len(self.models) - len(self.class_models)
        if not isinstance(self.method, Truthful):
            kept = f"`{DifferentialPrivacy.title}` is kept by method `{Truthful.name}`, not by `{self.method.name}`"
            found = (
                self.method.problems(self.class_models)
                if isinstance(self.method, Method)
                else self.method.problems(self.schema, self.class_models)
            )
            return [kept, *found] if private else found
        if private != 1:
            return [f"method `{Truthful.name}` keeps one promise `{DifferentialPrivacy.title}`; the plan has {private}"]
        problems = self.method.problems(self.schema)
        problems += [
            f"`{model.title}` compares with a population, whose counts are not covered by differential privacy; leave "
            f"out one of them"
            for model in self.class_models
            if model.capabilities.population
        ]
        return [*problems, *self._compared()]

    def _compared(self) -> list[str]:
        """Say which measures would tell about the input what privacy keeps back."""
        if all(measure.name == "loss" for measure in self.reported):
            return []
        return ["measures other than `loss` compare with the input, which differential privacy keeps back"]

    def run(
        self,
        table: Table,
        *,
        progress: Progress | None = None,
        cancelled: Callable[[], bool] | None = None,
        pseudonym_key: bytes | None = None,
        population: Table | None = None,
    ) -> Release:
        """Anonymise ``table``.

        Parameters
        ----------
        table
            The data; its columns must be those of the plan's schema.
        progress
            Called now and then with the work done, the work in all and what is being done.
        cancelled
            Asked now and then; True stops the work with :class:`shoal.errors.Cancelled`.
        pseudonym_key
            The secret for identifiers with ``pseudonym = true``.
        population
            Everybody whom an intruder may think of, with the same quasi-identifiers, for models that compare with it.
        """
        from shoal._run import run

        return run(
            self,
            table,
            progress=progress,
            cancelled=cancelled,
            pseudonym_key=pseudonym_key,
            population=population,
        )

    def dumps(self) -> str:
        """Return the plan as the text of a plan file."""
        # a schema's text is its head, then a table per column; promises and method come between
        head, mark, columns = schema.dumps(self.schema).partition("\n[columns.")
        lines = [head.rstrip(), f"measures = {schema.toml_value(self.measures)}"]
        for model in self.models:
            lines += ["", "[[promises]]", *_settings({"model": model.name, **model.parameters()})]
        lines += ["", "[method]", *_settings({"name": self.method.name, **self.method.parameters()})]
        return "\n".join(lines) + f"\n{mark}{columns}"

    @classmethod
    def loads(cls, text: str, *, folder: Path | None = None) -> Plan:
        """Read a plan from the text of a plan file; relative paths start at ``folder``."""
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise PlanError(f"the plan is not valid TOML: {error}") from None
        return _plan(content, folder or Path())

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read a plan file."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise PlanError(f"the plan file `{path.name}` cannot be read: {_reason(error)}") from None
        return cls.loads(text, folder=path.parent)


def _plan(content: dict[str, object], folder: Path) -> Plan:
    problems = Problems()
    if content.get("shoal") != VERSION:
        problems.add(f"a plan file starts with `shoal = {VERSION}`, the version of its format")
    asked = _collect(problems, lambda: _promises(content.pop("promises", [])))
    method = _collect(problems, lambda: _method(content.pop("method", {}), asked or ()))
    measures = content.pop("measures", ["loss"])
    if not (isinstance(measures, list) and all(isinstance(each, str | dict) for each in measures)):
        problems.add('`measures` of a plan must be a list of names, or of tables such as `{ name = "loss" }`')
    described = _collect(problems, lambda: schema.from_document(content, folder))
    problems.raise_as(PlanError)
    if asked is None or method is None or described is None:  # pragma: no cover - a problem was raised above
        raise PlanError("the plan is not complete")
    return Plan(schema=described, models=asked, method=method, measures=tuple(measures))  # type: ignore[arg-type]


def _promises(entries: object) -> tuple[Requirement, ...]:
    problems, found = Problems(), []
    if not isinstance(entries, list):
        raise ParameterError("`promises` of a plan must be tables: `[[promises]]`.")
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict) or not isinstance(entry.get("model"), str):
            problems.add(f"promise {number} of the plan must name its `model`")
            continue
        parameters = {name: value for name, value in entry.items() if name != "model"}
        model = _collect(problems, partial(promises.from_parameters, entry["model"], parameters))
        found += [model] if model is not None else []
    problems.raise_as(ParameterError)
    return tuple(found)


def _method(entry: object, asked: tuple[Requirement, ...]) -> AnyMethod:
    if not isinstance(entry, dict):
        raise ParameterError("`method` of a plan must be a table: `[method]`.")
    parameters = {str(name): value for name, value in entry.items() if name != "name"}
    return methods.from_parameters(str(entry.get("name", methods.default(asked).name)), parameters)


def _collect(problems: Problems, make: Callable[[], T]) -> T | None:
    try:
        return make()
    except InputError as error:
        for problem in error.problems:
            problems.add(problem)
    return None


def _settings(parameters: Mapping[str, object]) -> list[str]:
    given = {name: value for name, value in parameters.items() if value is not None and value != {}}
    return [f"{name} = {schema.toml_value(value)}" for name, value in given.items()]


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return (error.strerror or "the system refuses").lower()
    return "it is not UTF-8 text"
