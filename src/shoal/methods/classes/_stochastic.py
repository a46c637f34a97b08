"""Stochastic closeness as a method: k-anonymous quasi-identifiers and randomised confidential attributes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, get_args

import pyarrow as pa

from shoal.errors import DataError, counted
from shoal.exact import Arguments, Number, fraction, one_of, optional, plain, within
from shoal.kernels import Codes
from shoal.methods._preparation import drafted
from shoal.methods.base import Keeps
from shoal.methods.classes._columns import HeldRecords
from shoal.methods.classes._events import Randomized
from shoal.methods.classes._factors import stochastic_epsilon
from shoal.methods.classes._method import PartitionMethod
from shoal.methods.classes._near_classes import microaggregate_points
from shoal.methods.classes._promises_randomized import DrawnCloseness, LocalPrivacy
from shoal.methods.classes._randomize import Mechanism, mechanism_problems, randomize
from shoal.methods.classes._run import Classified, ClassRun, Form, RandomizedColumns
from shoal.models import Model
from shoal.schema import Attribute, Kind, Schema
from shoal.tables import SensitiveAttribute

DIGITS = 1_000_000
"""An epsilon that follows from t is rounded down to so many parts, so that it can be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StochasticCloseness(PartitionMethod):
    """Make the quasi-identifiers k-anonymous and randomise every confidential value on its own.

    Parameters
    ----------
    form
        What is released of the quasi-identifiers: ``microaggregated`` or ``generalized``.
    epsilon
        The privacy cost of the confidential attributes of one record, divided equally among them. Or give ``t``.
    t
        The stochastic closeness to reach; epsilon then follows from it, the number of records and the smallest class.
    mechanism
        How values are randomised; by default noise for numbers with declared bounds and randomised response else.

    Guarantee
    ---------
    Unconditional: epsilon-differential privacy of the confidential attributes, neighbours replace the confidential
    values of one record. Conditional: stochastic t-closeness [DFSC15 Prop. 1], see `stochastic_t`. Syntactic:
    k-anonymity of the quasi-identifiers.

    Assumptions
    -----------
    Domains of confidential attributes are declared, and values are randomised over the declared domain: the listed
    values, all days between the bounds of a date, a grid between the bounds of a number. Quasi-identifiers are
    protected by k-anonymity alone, and classes are made by looking at quasi-identifiers alone.

    Examples
    --------
    >>> StochasticCloseness(epsilon=1).parameters()["epsilon"]
    1
    """

    form: Form = field(default="microaggregated", metadata=one_of("microaggregated", "generalized"))
    epsilon: Number | None = field(default=None, metadata=optional(within("(0, 40]")))
    t: Number | None = field(default=None, metadata=optional(within("(1, inf)")))
    mechanism: Mechanism | None = field(default=None, metadata=optional(one_of(*get_args(Mechanism))))
    keeps: ClassVar[Keeps] = Keeps()
    name: ClassVar[str] = "stochastic-closeness"

    def fit(self, arguments: Arguments) -> None:
        """Report that there is neither an epsilon nor a t, or both."""
        if (self.epsilon is None) == (self.t is None):
            arguments.problems.add(f"`{self.title}` needs one of `epsilon` and `t`.")

    def parameters(self) -> dict[str, object]:
        """Return the parameters by name, as in plan files and certificates."""
        values = {"epsilon": self.epsilon, "t": self.t}
        return {
            "form": self.form,
            **{name: plain(value) for name, value in values.items()},
            "mechanism": self.mechanism,
        }

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        found = [*PartitionMethod.problems(self, schema, models), *drafted(schema, self.title)]
        if not schema.sensitive:
            found.append(f"method `{self.name}` randomises sensitive columns; the schema has none")
        for name in schema.sensitive:
            found += mechanism_problems(schema[name], self.mechanism_for(schema[name]))
        found += [
            f"method `{self.name}` randomises `{name}`, so `{model.title}` of it would hold by chance only"
            for model in models
            for name in model.capabilities.sensitive
        ]
        return found

    def reads(self, schema: Schema) -> tuple[str, ...]:
        """Return the sensitive columns, all of which are randomised."""
        return schema.sensitive

    def randomized(self, run: ClassRun) -> RandomizedColumns:
        """Randomise every sensitive column of every record."""
        return _randomized(run, self)

    def mechanism_for(self, attribute: Attribute) -> Mechanism:
        """Return how an attribute is randomised."""
        if self.mechanism is not None:
            return self.mechanism
        bounded = attribute.domain is not None and attribute.domain.bounded
        return "noise" if attribute.kind is Kind.NUMERIC and bounded else "randomized-response"

    def spent(self, *, records: int, smallest: int) -> Fraction:
        """Return epsilon for a release of so many records with this smallest class."""
        if self.epsilon is not None:
            return Fraction(self.epsilon)
        assert self.t is not None  # noqa: S101 - checked on construction
        largest = stochastic_epsilon(self.t, records=records, smallest=smallest)
        rounded = Fraction(math.floor(fraction(largest) * DIGITS), DIGITS)
        return rounded or fraction(largest)

    def classify(self, people: HeldRecords, models: Sequence[Model]) -> Classified:
        """Make classes by quasi-identifiers."""
        return Classified(
            partition=microaggregate_points(people.points, people.sensitive, people.codes, models, "merge-first")
        )


def _randomized(run: ClassRun, method: StochasticCloseness) -> RandomizedColumns:
    """Randomise every sensitive column of every record, with equal parts of epsilon."""
    sizes = run.formed.partition.sizes
    epsilon = method.spent(records=len(run.encoded), smallest=int(sizes.min()))
    names = run.schema.sensitive
    drawn = RandomizedColumns(columns={}, promises=[], events=[])
    for j, attribute in enumerate(run.encoded.sensitive):
        declared = run.schema[attribute.name]
        values = _values(attribute, run.encoded.sensitive_codes[:, j])
        mechanism = method.mechanism_for(declared)
        released = randomize(
            declared, values, epsilon / len(names), mechanism, folder=run.schema.folder, source=run.source
        )
        drawn.columns[attribute.name] = pa.array(released)
        drawn.events.append(Randomized(column=attribute.name, mechanism=mechanism, epsilon_spent=epsilon / len(names)))
    local = LocalPrivacy(columns=names, epsilon=epsilon)
    close = DrawnCloseness.made(epsilon, records=len(run.encoded), smallest=int(sizes.min()))
    drawn.promises.extend([local.over(run.schema, method, cryptographic=run.source.cryptographic), close])
    return drawn


def _values(attribute: SensitiveAttribute, codes: Codes) -> list[str]:
    labels = [attribute.labels[code] for code in codes.tolist()]
    known = [label for label in labels if label is not None]
    if len(known) < len(labels):
        raise DataError(
            f"column `{attribute.name}`: {counted(len(labels) - len(known), 'record')} without a value, which cannot "
            "be randomised",
            hint='leave these records out: missing = "drop" in the schema',
        )
    return known
