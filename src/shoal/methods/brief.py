"""What is asked for: a schema, promises, a method and measures, checked together and written as a plan file."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Self, TypeVar, cast

from shoal import methods, schema
from shoal.errors import InputError, ParameterError, PlanError, Problems, quoted, reason
from shoal.guarantees import Cost, DomainOrigin, Requirement
from shoal.methods import promises
from shoal.methods.base import Method
from shoal.models import Model
from shoal.quality import Measure, as_measure
from shoal.schema import Role, Schema

__all__ = ["About", "Brief"]

VERSION = 1
_LONGEST = 2000
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """Title, purpose and circumstances of a release, in the publisher's words.

    Plans hold them as ``[release]``, reports print them, and :func:`shoal.verify` finds out if a report says otherwise
    than the plan. Whether they are true, no file can show. They are published with the release.

    Parameters
    ----------
    title
        What the release is called.
    purpose
        What it may be used for.
    controller
        Who decided to release it and answers for it, and how to reach them.
    recipient
        Who gets it.
    context
        How it is given: to everyone, under a contract, in a safe room; what the recipient must and must not do.
    other_data
        What else the recipients can know about the same people.
    review
        Who looks at the release again, when, and what happens if somebody is found in it.

    Examples
    --------
    >>> About(title="Discharges 2024", recipient="Institute of Public Health").words()
    {'title': 'Discharges 2024', 'recipient': 'Institute of Public Health'}
    """

    title: str = ""
    purpose: str = ""
    controller: str = ""
    recipient: str = ""
    context: str = ""
    other_data: str = ""
    review: str = ""

    def __post_init__(self) -> None:
        problems = Problems()
        for each in fields(self):
            said = getattr(self, each.name)
            if not isinstance(said, str):
                problems.add(f"`{each.name}` of `[release]` must be text")
            elif len(said) > _LONGEST or not said.replace("\n", " ").isprintable():
                problems.add(f"`{each.name}` of `[release]` must have at most {_LONGEST:,} characters, all printable")
        problems.raise_as(ParameterError)

    def __bool__(self) -> bool:
        """Whether anything is said."""
        return bool(self.words())

    def words(self) -> dict[str, str]:
        """Return what is said, by the names of a plan file."""
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: text for name, text in said.items() if text}

    @classmethod
    def read(cls, entry: object) -> About:
        """Read the ``[release]`` table of a plan."""
        if not isinstance(entry, Mapping):
            raise PlanError("`release` of a plan must be a table: `[release]`")
        known = [each.name for each in fields(cls)]
        if unknown := [str(name) for name in entry if name not in known]:
            listed = quoted(unknown)
            raise PlanError(f"`[release]` has the unknown keys {listed}; the valid keys are {', '.join(known)}")
        return cls(**entry)


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What :class:`shoal.Plan` runs; see there."""

    schema: Schema
    models: tuple[Requirement, ...]
    method: Method = cast("Method", None)  # noqa: RUF009 - chosen below where nobody says
    measures: tuple[str | Mapping[str, object], ...] = ("loss",)
    about: About = About()

    def __post_init__(self) -> None:
        object.__setattr__(self, "method", self.method or methods.default(self.models))
        problems = Problems()
        if not self.models:
            problems.add("a plan needs at least one promise, for example `KAnonymity(5)`")
        if open_ := self.schema.having(Role.DECIDE):
            listed = quoted(open_)
            problems.add(f'these columns have no role yet: {listed}; give each a role, or `role = "drop"`')
        if not self.schema.quasi_identifiers:
            problems.add('the schema names no quasi-identifier; give at least one column `role = "quasi-identifier"`')
        for described in self.measures:
            _collect(problems, partial(self._measure, described))
        _collect(problems, partial(self.method.resolved, self.schema))
        for problem in (*(each for model in self.models for each in model.problems(self.schema)), *self._mismatches()):
            problems.add(problem)
        problems.raise_as(PlanError)

    @property
    def class_models(self) -> tuple[Model, ...]:
        """The promises about the classes of the release: all but differential privacy."""
        return tuple(model for model in self.models if isinstance(model, Model))

    @property
    def privacy(self) -> Requirement | None:
        """The differential privacy that is asked for, if any."""
        return next((model for model in self.models if model.name == self.method.keeps.private), None)

    @property
    def cost(self) -> Cost | None:
        """What a release costs of a budget of differential privacy; None if it promises no such thing as a whole."""
        return None if self.privacy is None else self.method.cost(self.privacy.resolved(self.schema))

    @property
    def reported(self) -> tuple[Measure, ...]:
        """The measures to report, with the weights of the schema."""
        return tuple(map(self._measure, self.measures))

    @property
    def domains(self) -> tuple[DomainOrigin, ...]:
        """Where the domains of the generalised columns came from."""
        return self.method.domains(self.schema)

    def _measure(self, described: str | Mapping[str, object]) -> Measure:
        weights = {name: self.schema[name].weight for name in self.schema.quasi_identifiers}
        return as_measure(described, weights=weights).resolved(self.schema)

    def _mismatches(self) -> list[str]:
        """Return what does not go together."""
        kept = self.method.keeps.private
        found = [
            f"`{model.title}` is kept by method `{methods.keeper(model.name).name}`, not by `{self.method.name}`"
            for model in self.models
            if not isinstance(model, Model) and model.name not in self.method.keeps.alone
        ]
        found += self.method.problems(self.schema, self.class_models)
        if kept is None:
            return found
        mine = [model for model in self.models if model.name == kept]
        if len(mine) != 1:
            title = promises.kind(kept).title
            found.append(f"method `{self.method.name}` keeps one promise `{title}`; the plan has {len(mine)}")
        found += [problem for model in mine for problem in self.method.unfit(model)]
        if not all(measure.name == "loss" for measure in self.reported):
            found.append(
                "measures other than `loss` compare the release with the input, which differential privacy does not "
                "reveal"
            )
        return found

    def dumps(self) -> str:
        """Return the text of a plan file."""
        # a schema's text is its head, then a table per column; promises and method come between
        head, mark, columns = schema.dumps(self.schema).partition("\n[columns.")
        lines = [head.rstrip(), f"measures = {schema.toml_value(self.measures)}"]
        if self.about:
            lines += ["", "[release]", *_settings(self.about.words())]
        for model in self.models:
            lines += ["", "[[promises]]", *_settings({"model": model.name, **model.parameters()})]
        lines += ["", "[method]", *_settings({"name": self.method.name, **self.method.parameters()})]
        return "\n".join(lines) + f"\n{mark}{columns}"

    @classmethod
    def loads(cls, text: str, *, folder: Path | None = None) -> Self:
        """Read the text of a plan file; relative paths start at ``folder``."""
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise PlanError(f"the plan is not valid TOML: {error}") from None
        except (RecursionError, ValueError):
            raise PlanError("the plan is not valid TOML: too deeply nested, or a number has too many digits") from None
        folder = folder or Path()
        problems = Problems()
        if content.get("shoal") != VERSION:
            problems.add(f"a plan file starts with `shoal = {VERSION}`, the version of its format")
        asked = _collect(problems, lambda: _promises(content.pop("promises", [])))
        method = _collect(problems, lambda: _method(content.pop("method", {}), asked or ()))
        about = _collect(problems, lambda: About.read(content.pop("release", {})))
        measures = content.pop("measures", ["loss"])
        if not (isinstance(measures, list) and all(isinstance(each, str | dict) for each in measures)):
            problems.add('`measures` of a plan must be a list of names, or of tables such as `{ name = "loss" }`')
        described = _collect(problems, lambda: schema.from_document(content, folder))
        problems.raise_as(PlanError)
        if (
            asked is None or method is None or described is None or about is None
        ):  # pragma: no cover - a problem was raised above
            raise PlanError("the plan is not complete")
        return cls(
            schema=described,
            models=asked,
            method=method,
            measures=tuple(measures),
            about=about,
        )

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a plan file."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = reason(error) if isinstance(error, OSError) else "it is not UTF-8 text"
            raise PlanError(f"the plan file `{path.name}` cannot be read: {why}") from None
        return cls.loads(text, folder=path.parent)


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


def _method(entry: object, asked: tuple[Requirement, ...]) -> Method:
    if not isinstance(entry, dict):
        raise ParameterError("`method` of a plan must be a table: `[method]`.")
    parameters = {str(name): value for name, value in entry.items() if name != "name"}
    if "name" not in entry:
        return methods.default(asked, parameters)
    return methods.from_parameters(str(entry["name"]), parameters)


def _collect(problems: Problems, make: Callable[[], T]) -> T | None:
    try:
        return make()
    except InputError as error:
        problems.take(error)
    return None


def _settings(parameters: Mapping[str, object]) -> list[str]:
    given = {name: value for name, value in parameters.items() if value is not None and value != {}}
    return [f"{name} = {schema.toml_value(value)}" for name, value in given.items()]
