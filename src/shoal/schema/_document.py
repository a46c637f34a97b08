"""The shape of a schema file, and how a document that does not have it is explained.

Every column is read on its own and to the end, so that one run reports every problem of a file.
"""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError
from pydantic_core import PydanticCustomError

from shoal.errors import InputError, Problems, SchemaError
from shoal.schema._attribute import Attribute, Domain, Kind, Missing, Role
from shoal.schema._explain import explain, nearest
from shoal.schema._rules import (
    Cuts,
    Dates,
    Flat,
    FromFile,
    Groups,
    HierarchyRule,
    Intervals,
    Mask,
    Quantiles,
    Taxonomy,
)
from shoal.schema._schema import Schema
from shoal.schema._write import VERSION

__all__ = ["read"]


def read(document: dict[str, Any], folder: Path) -> Schema:
    """Return the schema that a parsed file describes, or raise with all of its problems."""
    problems = Problems()
    try:
        shape = _File.model_validate(document)
    except ValidationError as error:
        explain(error, "the schema", _File.model_fields, problems)
        shape = _File.model_construct(columns=document.get("columns"), guessed=False)
    columns = shape.columns if isinstance(shape.columns, dict) else {}
    found = [_attribute(name, table, problems) for name, table in columns.items()]
    if not columns and not problems:
        problems.add("the schema describes no columns")
    problems.raise_as(SchemaError)
    attributes = tuple(attribute for attribute in found if attribute is not None)
    return Schema(attributes=attributes, folder=folder, guessed=shape.guessed)


def _attribute(name: str, table: object, problems: Problems) -> Attribute | None:
    """Return what one table describes, or None and note why not."""
    subject = f"column `{name}`"
    try:
        shape = _Column.model_validate(table)
    except ValidationError as error:
        explain(error, subject, _Column.model_fields, problems)
        if isinstance(table, dict):
            _rule(subject, table.get("hierarchy"), problems)
        return None
    rule = _rule(subject, shape.hierarchy, problems)
    try:
        domain = shape.domain()
    except InputError as error:
        for problem in error.problems:
            problems.add(f"{subject}: {problem}")
        # a stand-in, so that the rest of the column is checked as well
        domain = Domain(values=("-",)) if shape.kind is Kind.ORDINAL else None
    try:
        return shape.attribute(name, domain, rule)
    except InputError as error:
        for problem in error.problems:
            problems.add(problem)
    return None


def _rule(subject: str, table: object, problems: Problems) -> HierarchyRule | None:
    """Return the rule of a hierarchy table; its key says which one it is."""
    if not isinstance(table, dict):
        return None  # left out, or explained as a wrong type already
    named = [key for key in table if key in _RULES]
    if len(named) != 1:
        problems.add(f"{subject}: {_which_rule(table, named)}")
        return None
    model = _RULES[named[0]]
    try:
        return model.model_validate(table).rule()
    except ValidationError as error:
        explain(error, f"{subject}: `hierarchy`", model.model_fields, problems)
    except InputError as error:
        for problem in error.problems:
            problems.add(f"{subject}: {problem}")
    return None


def _which_rule(table: dict[str, object], named: list[str]) -> str:
    if named:
        return f"`hierarchy` must name one rule; got {', '.join(f'`{key}`' for key in named)}"
    for key in table:
        if guess := nearest(key, _RULES):
            return f"`hierarchy` has no rule `{key}` (did you mean `{guess}`?)"
    return f"`hierarchy` must name a rule: one of {', '.join(_RULES)}"


def _number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PydanticCustomError("expected", "a number")
    return value


def _bound(value: object) -> object:
    if isinstance(value, dt.datetime) or not isinstance(value, dt.date):
        try:
            return _number(value)
        except PydanticCustomError:
            raise PydanticCustomError("expected", "a number, or a date such as 2024-12-31") from None
    return value


def _true(value: object) -> object:
    if value is not True:
        raise PydanticCustomError("expected", "true")
    return value


def _tree(value: object) -> object:
    pairs = isinstance(value, dict) and all(isinstance(parent, str) for parent in value.values())
    if not (pairs or isinstance(value, str)):
        raise PydanticCustomError("expected", 'a path, or a table of `child = "parent"`')
    return value


Number = Annotated[float, PlainValidator(_number)]
Bound = Annotated[Any, PlainValidator(_bound)]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _File(_Shape):
    shoal: int = Field(default=VERSION, ge=VERSION, le=VERSION)
    guessed: bool = False
    columns: dict[str, Any] = {}


class _Column(_Shape):
    role: Annotated[Role, Field(strict=False)]
    kind: Annotated[Kind, Field(strict=False)] = Kind.CATEGORICAL
    values: list[str] | None = None
    minimum: Bound | None = None
    maximum: Bound | None = None
    missing: Annotated[Missing, Field(strict=False)] = Missing.CATEGORY
    weight: Number = 1.0
    hierarchy: dict[str, Any] | None = None
    pseudonym: bool = False

    def domain(self) -> Domain | None:
        if self.values is None and self.minimum is None and self.maximum is None:
            return None
        values = None if self.values is None else tuple(self.values)
        return Domain(values=values, minimum=self.minimum, maximum=self.maximum)

    def attribute(self, name: str, domain: Domain | None, rule: HierarchyRule | None) -> Attribute:
        return Attribute(
            name=name,
            role=self.role,
            kind=self.kind,
            domain=domain,
            missing=self.missing,
            weight=self.weight,
            hierarchy=rule,
            pseudonym=self.pseudonym,
        )


class _Rule(_Shape, ABC):
    @abstractmethod
    def rule(self) -> HierarchyRule: ...


class _Intervals(_Rule):
    intervals: list[Number]
    origin: Number = 0.0

    def rule(self) -> HierarchyRule:
        return Intervals(widths=tuple(self.intervals), origin=self.origin)


class _Cuts(_Rule):
    cuts: list[list[Number]]

    def rule(self) -> HierarchyRule:
        return Cuts(levels=tuple(map(tuple, self.cuts)))


class _Quantiles(_Rule):
    quantiles: list[int]

    def rule(self) -> HierarchyRule:
        return Quantiles(counts=tuple(self.quantiles))


class _Mask(_Rule):
    mask: list[int]
    length: int
    side: str = "right"
    symbol: str = "*"

    def rule(self) -> HierarchyRule:
        return Mask(masked=tuple(self.mask), length=self.length, side=self.side, symbol=self.symbol)


class _Dates(_Rule):
    dates: list[str]

    def rule(self) -> HierarchyRule:
        return Dates(levels=tuple(self.dates))


class _Groups(_Rule):
    groups: list[dict[str, list[str]]]

    def rule(self) -> HierarchyRule:
        return Groups(
            levels=tuple(tuple((label, tuple(members)) for label, members in level.items()) for level in self.groups)
        )


class _Taxonomy(_Rule):
    taxonomy: Annotated[str | dict[str, str], PlainValidator(_tree)]
    delimiter: str = ";"

    def rule(self) -> HierarchyRule:
        if isinstance(self.taxonomy, str):
            return Taxonomy(path=self.taxonomy, delimiter=self.delimiter)
        return Taxonomy(pairs=tuple(self.taxonomy.items()), delimiter=self.delimiter)


class _FromFile(_Rule):
    file: str
    delimiter: str = ";"

    def rule(self) -> HierarchyRule:
        return FromFile(path=self.file, delimiter=self.delimiter)


class _Flat(_Rule):
    flat: Annotated[bool, PlainValidator(_true)]

    def rule(self) -> HierarchyRule:
        return Flat()


_RULES: dict[str, type[_Rule]] = {
    "intervals": _Intervals,
    "cuts": _Cuts,
    "quantiles": _Quantiles,
    "mask": _Mask,
    "dates": _Dates,
    "groups": _Groups,
    "taxonomy": _Taxonomy,
    "file": _FromFile,
    "flat": _Flat,
}
