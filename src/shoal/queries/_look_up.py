"""Look-ups of one person: answers that refine what the analyst believes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from shoal.errors import FilterError, ParameterError, SchemaError
from shoal.exact import Number
from shoal.mechanisms import (
    AbsoluteDistance,
    CategoricalPrior,
    Distance,
    NominalDistance,
    NumericPrior,
    Prior,
    RandomSource,
    Refinement,
    TaxonomyDistance,
)
from shoal.queries._query import (
    CONFIDENCE,
    Accuracy,
    Prepared,
    Query,
    Value,
    as_value,
    attribute_of,
    bounds,
    declared_hierarchy,
    nice_step,
    values,
    within,
)
from shoal.queries._records import ExactFigures
from shoal.queries._unit import RECORD, Unit
from shoal.schema import Attribute, Kind, Schema
from shoal.schema.conditions import Texts


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUp(Query):
    """Which values has the person with this identifier?

    Guarantee
    ---------
    (epsilon, delta)-differential privacy for neighbours that add or remove the person's record [SC13 Prop. 3 and
    Protocol 2]: each column is answered by `Refinement` for individual queries, with its share of epsilon and delta.
    Somebody who is not in the table, or is there more than once, or has no value is answered from the prior. Only the
    person's own budget is touched: look-ups of different people cost the maximum.

    Assumptions
    -----------
    An identifier belongs to one person, and priors were chosen without the data.
    """

    name: ClassVar[str] = "look-up"
    #: A column with the role identifier.
    identifier: str
    #: The identifier's value.
    person: str
    #: The columns to ask for; they share epsilon equally.
    columns: tuple[str, ...]
    #: What is believed about a column; by default every declared value is equally likely.
    priors: Mapping[str, Prior] = field(default_factory=dict)
    #: See :class:`~shoal.mechanisms.Refinement`.
    delta: Number = 0

    def prepare(self, schema: Schema, unit: Unit = RECORD) -> Prepared:
        if self.where is not None:
            raise ParameterError("a look-up takes no `where`.")
        if self.identifier not in schema or not schema[self.identifier].role.names_someone:
            raise FilterError("a look-up needs a column with the role identifier.")
        if schema[self.identifier].kind in (Kind.NUMERIC, Kind.DATE):
            raise SchemaError(
                f"column `{self.identifier}` is {schema[self.identifier].kind}; people can be looked up only by text.",
                hint=f'write `kind = "categorical"` under [columns.{self.identifier}] of the schema',
            )
        if not 1 <= len(self.columns) <= 64 or len(set(self.columns)) != len(self.columns):
            raise ParameterError("`columns` of a look-up must be 1 to 64 different columns.")
        unknown = sorted(set(self.priors) - set(self.columns))
        if unknown:
            raise ParameterError("`priors` of a look-up must belong to its `columns`.")
        loss, parts = self._loss(delta=self.delta), len(self.columns)
        attributes = [attribute_of(schema, column) for column in self.columns]
        refinements = {
            attribute.name: _refinement(
                attribute, schema, self.priors.get(attribute.name), unit.epsilon(loss) / parts, unit.delta(loss) / parts
            )
            for attribute in attributes
        }

        def answer(records: ExactFigures, source: RandomSource) -> tuple[Value, Accuracy]:
            found: dict[str, int | float | str] = {}
            for attribute in attributes:
                truth = records.value_of(self.identifier, self.person, attribute.name)
                released = refinements[attribute.name].release(truth, source=source)
                found[attribute.name] = released if isinstance(released, str) else as_value(released, attribute)
            if parts > 1:
                return found, Accuracy(statement="; ".join(_said(each, refinements[each.name]) for each in attributes))
            (value,), (refinement,) = found.values(), refinements.values()
            margin = refinement.interval(CONFIDENCE)
            if margin is None or isinstance(value, str):
                return value, Accuracy(statement=_said(attributes[0], refinement))
            return value, within(value, margin)

        text = f"look-up of {', '.join(self.columns)} by {self.identifier}"
        region = {self.identifier: Texts(frozenset({self.person}))}
        return Prepared(loss=loss, region=region, text=text, answer=answer)


def _refinement(
    attribute: Attribute, schema: Schema, prior: Prior | None, epsilon: Fraction, delta: Fraction
) -> Refinement:
    numeric = attribute.kind in (Kind.NUMERIC, Kind.DATE)
    if prior is None:
        prior = _uniform(attribute, schema)
    elif isinstance(prior, NumericPrior) != numeric:
        raise ParameterError(f"the prior of `{attribute.name}` must be for {attribute.kind} values.")
    elif isinstance(prior, CategoricalPrior) and not set(prior.values) <= set(values(attribute, schema)):
        raise ParameterError(f"the prior of `{attribute.name}` may contain only its declared values.")
    distance = None if numeric else _distance(attribute, schema)
    return Refinement(prior, epsilon=epsilon, query="individual", distance=distance, delta=delta)


def _uniform(attribute: Attribute, schema: Schema) -> Prior:
    if attribute.kind not in (Kind.NUMERIC, Kind.DATE):
        return CategoricalPrior.uniform(values(attribute, schema))
    low, high = bounds(attribute)
    step = Fraction(1) if attribute.kind is Kind.DATE else nice_step(low, high, parts=100)
    return NumericPrior.uniform(low, high, step=step)


def _distance(attribute: Attribute, schema: Schema) -> Distance:
    if attribute.kind is Kind.ORDINAL:
        return AbsoluteDistance()
    hierarchy = declared_hierarchy(attribute, schema)
    return NominalDistance() if hierarchy is None else TaxonomyDistance.of(hierarchy)


def _said(attribute: Attribute, refinement: Refinement) -> str:
    margin = refinement.interval(CONFIDENCE)
    if margin is None:
        return f"{attribute.name} is the true value with a probability of at least {refinement.certainty():.0%}"
    unit = " days" if attribute.kind is Kind.DATE else ""
    return f"{attribute.name} is within {margin:,}{unit} of the true value ({CONFIDENCE:.0%} confidence)"
