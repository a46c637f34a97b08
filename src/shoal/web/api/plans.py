"""Plans: what can be promised and how, the plan, Python and shell of a choice, and what it costs, tried in a second."""

from __future__ import annotations

import dataclasses
import inspect
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from shoal.errors import InputError, ParameterError, ParameterProblem
from shoal.exact import Described, describe_parameters
from shoal.web._commands import chosen, repeated
from shoal.web._context import Context, Here
from shoal.web._words import FAMILIES, OPTIONS, PRESETS, field_problem, number, share
from shoal.web.api.answers import EstimateAnswer, PlanAnswer, RequestBody
from shoal.web.api.tables import UPLOAD, received

if TYPE_CHECKING:
    from shoal import Plan

router = APIRouter()
estimates = APIRouter()

#: bytes of a plan file
_PLAN = 4 * 2**20
#: models that need a second table, which the app does not take yet
_POPULATION = ("k-map", "delta-presence")
#: the effort of the search of a try, and the records that it is made of at most
_EFFORT, _RECORDS = 1.0, 200_000


class PromiseChoice(RequestBody):
    """A model by its name, with its parameters as in plan files."""

    model: str = Field(max_length=60)
    parameters: dict[str, Any] = Field(default={})


class MethodChoice(RequestBody):
    """A method by its name, with its parameters as in plan files."""

    name: str | None = Field(default=None, max_length=60, description="the method that loses least where not given")
    parameters: dict[str, Any] = Field(default={})


class PlanChoice(RequestBody):
    """What to promise and how to get there."""

    promises: list[PromiseChoice] = Field(max_length=20)
    method: MethodChoice = MethodChoice()
    measures: list[str] = Field(default=["loss"], max_length=20)
    weights: dict[str, float] = Field(default={}, description="importance of columns by name, instead of the schema's")
    accepted: list[str] = Field(
        default=[], max_length=200, description="columns that are released although they tell whose records are whose"
    )
    columns: str | None = Field(default=None, max_length=64, description="the version of the schema that was looked at")
    account: str | None = Field(
        default=None, max_length=64, description="of a private release: the account that pays before anything is drawn"
    )
    reason: str = Field(
        default="", max_length=500, description="why the account of the table does not pay for a private release"
    )


@router.get("/catalogue")
def catalogue() -> dict[str, Any]:
    """Return all models, methods and measures with their parameters, and presets."""
    import shoal
    from shoal import methods, models, quality
    from shoal.methods.shorthand import SHORT

    known = [models.by_name(name) for name in models.names() if name not in _POPULATION]
    return {
        "models": [_described(each) for each in (*known, shoal.DifferentialPrivacy)],
        "methods": [_described(methods.by_name(name)) | _kept(name) for name in methods.names()],
        "measures": [{"name": name, "summary": _summary(each)} for name, each in quality.MEASURES.items()],
        "short": [_short(name) for name in SHORT],
        "presets": list(PRESETS),
        "default": methods.default(()).name,
        "default_private": methods.keeper(shoal.DifferentialPrivacy.name).name,
    }


@router.post("/tables/{table}/plan", response_model=PlanAnswer)
def plan(here: Here, table: str, choice: PlanChoice) -> dict[str, Any]:
    """Check a choice against the schema and return its plan file and the equivalent Python and shell."""
    made = make_plan(here, table, choice)
    account = None if choice.account is None else here.account(choice.account)
    return {"plan": made.dumps(), **repeated(made, here.store.tables.about(table), account)}


def make_plan(here: Context, table: str, choice: PlanChoice) -> Plan:
    """Return the plan of a choice, or raise with all of its problems."""
    import shoal
    from shoal import methods
    from shoal.methods import promises as registry

    here.check_version(table, choice.columns)
    schema = here.schema(table)
    problems: dict[str, list[str]] = {}
    promises = []
    for place, entry in enumerate(choice.promises):
        with _noted(problems, f"promises.{place}", f"promise {place + 1}"):
            promises.append(registry.from_parameters(entry.model, entry.parameters))
    method, wanted = None, choice.method
    with _noted(problems, "method", f"method `{wanted.name or 'by default'}`"):
        method = (
            methods.default(promises, wanted.parameters)
            if wanted.name is None
            else methods.from_parameters(wanted.name, wanted.parameters)
        )
    _note_impossible(here, table, promises, problems)
    if problems or method is None:
        raise WrongFields(problems)
    if choice.weights:
        attributes = tuple(
            dataclasses.replace(each, weight=choice.weights.get(each.name, each.weight)) for each in schema
        )
        schema = dataclasses.replace(schema, attributes=attributes)
    return shoal.Plan(
        schema=schema,
        models=tuple(promises),
        method=method,
        measures=tuple(choice.measures),
        accepted=tuple(choice.accepted),
    )


def _note_impossible(here: Context, table: str, promises: Sequence[Any], problems: dict[str, list[str]]) -> None:
    """Note promises that nothing can keep: more people than there are, more values than a column has."""
    if any(place.startswith("promises.") for place in problems):
        return  # those that could not be read have no place among the others
    about, schema = here.store.tables.about(table), here.schema(table)
    distinct = {each["name"]: int(each["distinct"]) + (int(each["missing"]) > 0) for each in about["columns"]}
    people = distinct[schema.person] if schema.person in distinct else int(about["records"])
    whose = "records" if schema.person is None else "persons"
    for place, promise in enumerate(promises):
        given = promise.parameters()
        most = {"k": (people, f"the table has no more {whose}")}
        column = str(given.get("attribute"))
        if column in distinct:
            most |= dict.fromkeys(("l", "p"), (distinct[column], f"`{column}` has no more different values"))
        for name, (limit, why) in most.items():
            if isinstance(given.get(name), int | float | str) and float(given[name]) > limit:
                said = ParameterProblem.of(type(promise).__name__, name, f"at most {limit:,}: {why}", str(given[name]))
                problems.setdefault(f"promises.{place}", []).append(said)


class WrongFields(ParameterError):
    """Parameters that are wrong, by the part of the choice that they stand in: ``promises.0``, ..., ``method``."""

    def __init__(self, fields: Mapping[str, list[str]]) -> None:
        super().__init__(list(dict.fromkeys(problem for part in fields.values() for problem in part)))
        self.fields = {place: [field_problem(problem) for problem in part] for place, part in fields.items()}


@contextmanager
def _noted(problems: dict[str, list[str]], place: str, title: str) -> Iterator[None]:
    """Note what is wrong with a part of the choice, and go on."""
    try:
        yield
    except InputError as error:
        problems[place] = list(error.problems)
    except (TypeError, ValueError, ArithmeticError):
        problems[place] = [f"{title} has a parameter that cannot be read"]


@router.post("/tables/{table}/plan/file", openapi_extra=UPLOAD, response_model=PlanChoice)
async def take_plan(request: Request, here: Here, table: str) -> dict[str, Any]:
    """Return the choice that a plan file makes; the columns stay those of this table."""
    body = await received(request, _PLAN, f"a plan file may have at most {_PLAN:,} bytes")
    return await run_in_threadpool(_plan_file, here.store.tables.path(table), body)


def _plan_file(folder: Path, body: bytes) -> dict[str, Any]:
    import shoal

    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise ParameterError("the plan file is not UTF-8 text") from None
    return choice_of(shoal.Plan.loads(text, folder=folder))


def choice_of(plan: Plan) -> dict[str, Any]:
    """Return the choice that makes a plan, as the page of the promise takes it."""
    return {
        "promises": [{"model": model.name, "parameters": model.parameters()} for model in plan.models],
        "method": {"name": plan.method.name, "parameters": chosen(plan.method)},
        "weights": {attribute.name: attribute.weight for attribute in plan.schema},
        "accepted": list(plan.accepted),
    }


@estimates.post("/tables/{table}/estimate", response_model=EstimateAnswer)
def estimate(here: Here, table: str, choice: PlanChoice) -> dict[str, Any]:
    """Try a choice with a short search, where that is cheap and tells something; nothing is released."""
    plan = make_plan(here, table, choice)
    reason = why_not_tried(plan, int(here.store.tables.about(table)["records"]))
    return {"words": reason} if reason else try_plan(here, table, plan)


def try_plan(here: Context, table: str, plan: Plan) -> dict[str, Any]:
    """Return what a short search of a plan loses, in words and figures; nothing is released."""
    key = secrets.token_bytes(32) if any(attribute.pseudonym for attribute in plan.schema) else None
    started = time.perf_counter()
    with here.table(table) as opened:
        found = _quick(plan).run(opened.with_schema(plan.schema), pseudonym_key=key)
    seconds = time.perf_counter() - started
    records = 0 if found.before is None else found.before.records
    left_out, loss = records - found.after.records, found.measures.get("loss")
    lost = "" if loss is None else f" {share(loss)} of the detail gone, and"
    words = (
        f"A short search kept this promise with{lost} {number(left_out)} of {number(records)} "
        f"records left out. It took {seconds:.1f} s; the run searches longer and may lose less."
    )
    risks = {"average_risk": found.after.marketer, "highest_risk": found.after.prosecutor}
    return {"words": words, "loss": loss, "left_out": left_out, "seconds": seconds} | risks


def why_not_tried(plan: Plan, records: int) -> str:
    """Return why nothing is tried: what is random must not be looked at twice, and the rest would take long."""
    if plan.method.capabilities.private_promise is not None:
        return "Nothing is tried out for differential privacy: every look at the data would cost epsilon."
    if not plan.method.capabilities.generalizes:
        return f"Only a run shows what {plan.method.name} costs."
    if records > _RECORDS:
        return f"Only a run shows what it costs: tables of more than {_RECORDS:,} records take longer to try."
    return ""


def _quick(plan: Plan) -> Plan:
    fields = {each.name for each in dataclasses.fields(plan.method)}
    given = {name: value for name, value in (("effort", _EFFORT), ("foresight", 0)) if name in fields}
    method: Any = plan.method
    return dataclasses.replace(plan, method=dataclasses.replace(method, **given))


def _described(kind: Any) -> dict[str, Any]:
    return {
        "name": kind.name,
        "title": kind.title,
        "summary": _summary(kind),
        "help": getattr(kind, "advice", ""),
        "parameters": [_parameter(each) for each in describe_parameters(kind)],
    }


def _parameter(parameter: Described) -> dict[str, Any]:
    """Return a parameter as forms need it: what it may be, in which bounds, and what it begins with."""
    from shoal import methods

    expected, name = parameter.expected, parameter.name
    least, most = expected.bounds
    label, text = OPTIONS.get(name, (name.replace("_", " "), ""))
    return {
        "name": name,
        "label": label,
        "help": text,
        "kind": expected.kind,
        "expected": expected.in_plain_words(),
        "minimum": least,
        "maximum": most,
        "choices": list(expected.options),
        "required": parameter.required,
        "default": int(methods.EFFORT) if name == "effort" else parameter.default,
    }


def _short(name: str) -> dict[str, Any]:
    """Return a promise that one number asks for: which number, of each column or not, and which promise it is."""
    from shoal.methods.shorthand import SHORT, are_private, by_column

    kind = SHORT[name][0]
    (parameter,) = (each for each in describe_parameters(kind) if each.name == name)
    return {
        **_parameter(parameter),
        "label": kind.label,
        "by_column": by_column(name),
        "private": are_private(name),
        "models": [each.name for each in SHORT[name]],
        # further parameters that a promise needs, by its name
        "needs": {each.name: _needed(each, name) for each in SHORT[name]},
        "help": kind.advice,
    }


def _needed(kind: type[Any], short: str) -> list[str]:
    return [each.name for each in describe_parameters(kind) if each.required and each.name not in (short, "attribute")]


def _kept(name: str) -> dict[str, Any]:
    """Return which promises short names stand for with a method."""
    from shoal import methods
    from shoal.methods.shorthand import SHORT, in_short

    method = methods.by_name(name)
    return {
        "family": FAMILIES[method.family],
        "line": method.about,
        "short": {short: in_short(short, name).name for short in SHORT},
        "private": method.capabilities.private_promise is not None,
        "compared": method in (methods.Generalize, methods.Iterate, methods.Mondrian),  # unless somebody says otherwise
    }


def _summary(kind: Any) -> str:
    return (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " ").replace("``", "")
