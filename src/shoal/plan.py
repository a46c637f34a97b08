"""The plan: columns, promises, method and measures as one value that can be saved, shown and run again.

A plan file is TOML::

    shoal = 1                      # version of the format

    [release]                      # what the release is for, in your words; may be left out
    title = "Discharges 2024 and 2025"
    purpose = "research on ageing"

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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from shoal import schema
from shoal.copying import read_bytes
from shoal.errors import InputError, ParameterError, PlanError, Problems, RequirementError, quoted, reason
from shoal.guarantees import BudgetRequirement, Cost, DomainOrigin, Requirement
from shoal.mechanisms import SYSTEM, RandomSource
from shoal.models import Model
from shoal.policy import Policy
from shoal.quality import Measure, as_measure
from shoal.rehearsal import REHEARSALS
from shoal.schema import Role, Schema
from shoal.series import Series, SeriesKAnonymity
from shoal.tables import Table

if TYPE_CHECKING:
    from shoal.methods import Method, Progress
    from shoal.release import Payer, Release

__all__ = ["About", "Plan", "schema_under"]

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
        for field in fields(self):
            said = getattr(self, field.name)
            if not isinstance(said, str):
                problems.add(f"`{field.name}` of `[release]` must be text")
            elif len(said) > _LONGEST or not said.replace("\n", " ").isprintable():
                problems.add(f"`{field.name}` of `[release]` must have at most {_LONGEST:,} characters, all printable")
        problems.raise_as(ParameterError)

    def __bool__(self) -> bool:
        """Whether anything is said."""
        return bool(self.words())

    def words(self) -> dict[str, str]:
        """Return what is said, by the names of a plan file."""
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: text for name, text in said.items() if text}

    @classmethod
    def read(cls, entry: object) -> About:
        """Read the ``[release]`` table of a plan."""
        if not isinstance(entry, Mapping):
            raise PlanError("`release` of a plan must be a table: `[release]`")
        known = [field.name for field in fields(cls)]
        if unknown := [str(name) for name in entry if name not in known]:
            listed = quoted(unknown)
            raise PlanError(f"`[release]` has the unknown keys {listed}; the valid keys are {', '.join(known)}")
        return cls(**entry)


def schema_under(described: Schema, models: Sequence[Requirement]) -> Schema:
    """Return the schema by which records are read under some promises: with differential privacy no value is refused.

    Where neighbours replace a record, none is left out for a value that the schema refuses, either.
    """
    budgets = [model for model in models if isinstance(model, BudgetRequirement)]
    if not budgets:
        return described
    return described.total(keep_records=any(model.cost.neighbours.same_size for model in budgets))


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
        How to change the data; by default the method that loses least under the promises, with a limit of time.
    measures
        Quality measures to report, by name, or by name and parameters as in ``{"name": "classification", "target":
        "income"}``.
    about
        Title, purpose, controller, recipient and context, in the publisher's words; the report prints them.

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
    method: Method = cast("Method", None)  # noqa: RUF009 - chosen below where nobody says
    measures: tuple[str | Mapping[str, object], ...] = ("loss",)
    about: About = About()
    #: Columns that are released although they tell which record of a class is whose; see `shoal.Release.rehearse`.
    accepted: tuple[str, ...] = ()
    #: How a release is attacked before it is written: ``exact`` or ``learned``; see `shoal.Release.rehearse`.
    rehearsal: str = "exact"
    #: The policy of the office under which the plan was run; the plan keeps to it.
    policy: Policy | None = None

    def __post_init__(self) -> None:
        from shoal import methods

        object.__setattr__(self, "method", self.method or methods.default(self.models))
        object.__setattr__(self, "schema", schema_under(self.schema, self.models))
        problems = Problems()
        if not self.models:
            problems.add("a plan needs at least one promise, for example `KAnonymity(5)`")
        if open_ := self.schema.having(Role.DECIDE):
            listed = quoted(open_)
            problems.add(f'these columns have no role yet: {listed}; give each a role, or `role = "drop"`')
        if self.schema.asks_for_persons:
            problems.add(
                "persons may have several records, and nobody has said if they do: give the column that says whose "
                'record it is the role "person", or, where every record stands for another person, set '
                '`persons = "records"` in the schema'
            )
        if not self.schema.quasi_identifiers:
            problems.add('the schema names no quasi-identifier; give at least one column `role = "quasi-identifier"`')
        for name in self.accepted:
            if name not in self.schema.names or name in self.schema.quasi_identifiers:
                problems.add(f"`{name}` is accepted as a way to tell records apart, and is no column released as it is")
        if self.rehearsal not in REHEARSALS:
            problems.add(f"`rehearsal` must be {' or '.join(f'`{kind}`' for kind in REHEARSALS)}")
        if self.accepted and not self.class_models:
            problems.add("`accepted` is for promises about classes, and the plan has none")
        for described in self.measures:
            _collect(problems, partial(self._measure, described))
        _collect(problems, partial(self.method.resolve, self.schema))
        for problem in (
            *(problem for model in self.models for problem in model.problems(self.schema)),
            *self._mismatches(),
        ):
            problems.add(problem)
        problems.raise_as(PlanError)
        if self.policy is not None and (against := self.against(self.policy)):
            raise RequirementError(against)

    def against(self, policy: Policy) -> list[str]:
        """Return what a policy does not allow of the plan."""
        sizes = [model.capabilities.minimal_class_size for model in self.class_models]
        sizes += [model.k for model in self.models if isinstance(model, SeriesKAnonymity)]
        cost = self.cost
        return policy.problems(
            columns=sorted({name for names in self.method.files(self.schema).values() for name in names}),
            k=max(sizes, default=1),
            epsilon=None if cost is None else cost.epsilon,
            delta=Fraction(0) if cost is None else cost.delta,
            accepted=self.accepted,
        )

    def under(self, policy: Policy | None) -> Self:
        """Return the plan, run by this user, under a policy, or else its own; RequirementError: what is not allowed."""
        policy = policy or self.policy
        return self if policy is None else replace(self, policy=policy.of_user(accepts=bool(self.accepted)))

    @property
    def class_models(self) -> tuple[Model, ...]:
        """The promises about the classes of the release: all but differential privacy."""
        return tuple(model for model in self.models if isinstance(model, Model))

    @property
    def privacy(self) -> Requirement | None:
        """The differential privacy that is asked for, if any."""
        return next((model for model in self.models if model.name == self.method.capabilities.private_promise), None)

    @property
    def cost(self) -> Cost | None:
        """What a release costs of a budget of differential privacy; None if it promises no such thing as a whole."""
        return None if self.privacy is None else self.method.cost(self.privacy.resolve(self.schema), self.schema)

    @property
    def weighted_measures(self) -> tuple[Measure, ...]:
        """The measures to report, with the weights of the schema."""
        return tuple(map(self._measure, self.measures))

    @property
    def in_series(self) -> bool:
        """Whether a release continues a series."""
        return any(isinstance(model, SeriesKAnonymity) for model in self.models)

    @property
    def notes(self) -> tuple[str, ...]:
        """Files that a release has beside its tables."""
        shown = (name for model in self.models if isinstance(model, SeriesKAnonymity) for name in model.files)
        return (*self.method.notes, *shown)

    @property
    def caveats(self) -> tuple[str, ...]:
        """What the plan and its method add to the assumptions of promises about classes."""
        if not self.accepted:
            return self.method.caveats
        accepted = f"The publisher accepts that {quoted(self.accepted)} may tell which record of a class is whose."
        return (*self.method.caveats, accepted)

    @property
    def domains(self) -> tuple[DomainOrigin, ...]:
        """Where the domains of the generalised columns came from."""
        return self.method.domains(self.schema)

    def forecast(self, records: int) -> dict[str, float]:
        """Return figures that are known before anything is spent: how wide noise will be, as a share of each domain.

        Parameters
        ----------
        records
            The number of records, which such a method takes as public; the data are not looked at.
        """
        return {} if self.privacy is None else self.method.forecast(self.privacy, self.schema, records)

    def run(
        self,
        table: Table,
        *,
        progress: Progress | None = None,
        cancelled: Callable[[], bool] | None = None,
        enough: Callable[[], bool] | None = None,
        pseudonym_key: bytes | None = None,
        population: Table | None = None,
        source: RandomSource = SYSTEM,
        account: Payer | None = None,
        series: Series | None = None,
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
        enough
            Asked now and then; True lets a search make do with the best that it has.
        pseudonym_key
            The secret for identifiers with ``pseudonym = true``.
        population
            Everybody whom an intruder may think of, with the same quasi-identifiers, for models that compare with it.
        source
            Random numbers; any but the system's are for tests, and the guarantee then says so.
        account
            The :class:`shoal.Account` of the table, which pays for differential privacy: durably, before the first
            random number is drawn. What is paid stays spent, whether a release comes of it or not.
        series
            The :class:`shoal.Series` that the release continues; it is recorded there before it is written.
        """
        from shoal.running import run

        return run(
            self,
            table,
            progress=progress,
            cancelled=cancelled,
            enough=enough,
            pseudonym_key=pseudonym_key,
            population=population,
            source=source,
            account=account,
            series=series,
        )

    def _measure(self, described: str | Mapping[str, object]) -> Measure:
        weights = {name: self.schema[name].weight for name in self.schema.quasi_identifiers}
        return as_measure(described, weights=weights).resolve(self.schema)

    def _mismatches(self) -> list[str]:
        """Return what does not go together."""
        from shoal import methods
        from shoal.methods import promises

        kept = self.method.capabilities.private_promise
        problems = [
            f"`{model.title}` is kept by method `{methods.keeper(model.name).name}`, not by `{self.method.name}`"
            for model in self.models
            if not isinstance(model, Model) and model.name not in self.method.capabilities.promises_besides_models
        ]
        problems += self.method.problems(self.schema, self.class_models)
        if kept is None:
            return problems
        mine = [model for model in self.models if model.name == kept]
        if len(mine) != 1:
            title = promises.kind(kept).title
            problems.append(f"method `{self.method.name}` keeps one promise `{title}`; the plan has {len(mine)}")
        problems += [problem for model in mine for problem in self.method.unfit(model, self.class_models)]
        if not all(measure.name == "loss" for measure in self.weighted_measures):
            problems.append(
                "measures other than `loss` compare the release with the input, which differential privacy does not "
                "reveal"
            )
        return problems

    def dumps(self) -> str:
        """Return the text of a plan file."""
        # a schema's text is its head, then a table per column; promises and method come between
        head, mark, columns = schema.dumps(self.schema).partition("\n[columns.")
        lines = [head.rstrip(), f"measures = {schema.toml_value(self.measures)}"]
        if self.accepted:
            lines.append(f"accepted = {schema.toml_value(self.accepted)}")
        if self.rehearsal != REHEARSALS[0]:
            lines.append(f"rehearsal = {schema.toml_value(self.rehearsal)}")
        if self.policy is not None:
            lines += ["", "[policy]", *_settings(self.policy.entries())]
        if self.about:
            lines += ["", "[release]", *_settings(self.about.words())]
        for model in self.models:
            lines += ["", "[[promises]]", *_settings({"model": model.name, **model.parameters()})]
        lines += ["", "[method]", *_settings({"name": self.method.name, **self.method.parameters()})]
        return "\n".join(lines) + f"\n{mark}{columns}"

    @classmethod
    def loads(cls, text: str, *, folder: Path | None = None, released: bool = False) -> Self:
        """Read the text of a plan file; paths start at ``folder``, and may not lead out of it if ``released``."""
        try:
            content = schema.parse(text)
        except ValueError as error:
            raise PlanError(f"the plan is not valid TOML: {error}") from None
        folder = folder or Path()
        if released:
            _check_derived(content)
        problems = Problems()
        if content.get("shoal") != VERSION:
            problems.add(f"a plan file starts with `shoal = {VERSION}`, the version of its format")
        asked = _collect(problems, lambda: _promises(content.pop("promises", [])))
        method = _collect(problems, lambda: _method(content.pop("method", {}), asked or ()))
        about = _collect(problems, lambda: About.read(content.pop("release", {})))
        policy = (
            _collect(problems, lambda: Policy.from_document(content.pop("policy"))) if "policy" in content else None
        )
        measures = content.pop("measures", ["loss"])
        if not (isinstance(measures, list) and all(isinstance(measure, str | dict) for measure in measures)):
            problems.add('`measures` of a plan must be a list of names, or of tables such as `{ name = "loss" }`')
        accepted = content.pop("accepted", [])
        if not (isinstance(accepted, list) and all(isinstance(each, str) for each in accepted)):
            problems.add("`accepted` of a plan must be a list of names of columns")
        rehearsal = content.pop("rehearsal", REHEARSALS[0])
        described = _collect(problems, lambda: schema.from_document(content, folder))
        problems.raise_as(PlanError)
        if (
            asked is None or method is None or described is None or about is None
        ):  # pragma: no cover - a problem was raised above
            raise PlanError("the plan is not complete")
        if released:
            _check_hierarchies(described)
        return cls(
            schema=described,
            models=asked,
            method=method,
            measures=tuple(measures),
            about=about,
            accepted=tuple(accepted),
            rehearsal=rehearsal,
            policy=policy,
        )

    @classmethod
    def load(cls, path: str | Path, *, released: bool = False) -> Self:
        """Read a plan file; that of a release may name no file elsewhere."""
        path = Path(path)
        try:
            text = read_bytes(path, follow=True).decode()
        except (OSError, UnicodeDecodeError) as error:
            why = reason(error) if isinstance(error, OSError) else "it is not UTF-8 text"
            raise PlanError(f"the plan file `{path.name}` cannot be read: {why}") from None
        return cls.loads(text, folder=path.parent, released=released)


def _check_derived(content: Mapping[str, Any]) -> None:
    """Refuse files that columns follow from: a release holds what is in them in its plan itself."""
    columns = content.get("columns")
    for name, column in columns.items() if isinstance(columns, dict) else ():
        derived = column.get("derived") if isinstance(column, dict) else None
        if isinstance(derived, dict) and "file" in derived:
            raise PlanError(f"column `{name}` of the plan needs a file that is not in the folder of the release")


def _check_hierarchies(described: Schema) -> None:
    for attribute in described:
        name = None if attribute.hierarchy is None else attribute.hierarchy.file
        if name is not None and (Path(name).is_absolute() or ".." in Path(name).parts):
            problem = f"column `{attribute.name}` of the plan needs a file that is not in the folder of the release"
            raise PlanError(problem)


def _promises(entries: object) -> tuple[Requirement, ...]:
    from shoal.methods import promises

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
    from shoal import methods

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
