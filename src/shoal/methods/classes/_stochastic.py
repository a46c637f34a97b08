"""Stochastic closeness: k-anonymous quasi-identifiers with randomised confidential values."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, cast, get_args

import pyarrow as pa

from shoal import tables
from shoal.errors import DataError, counted, quoted
from shoal.exact import COLUMNS, Arguments, Number, fraction, one_of, optional, plain, within
from shoal.guarantees import (
    CLASSES,
    CRYPTOGRAPHIC,
    SEED,
    Decision,
    Event,
    Evidence,
    ExpectedStep,
    Neighbours,
    Promise,
    PromiseEntry,
    Strength,
    Words,
    once,
)
from shoal.kernels import Codes
from shoal.mechanisms import RandomSource
from shoal.methods._private import draft_problems
from shoal.methods.base import MethodCapabilities
from shoal.methods.classes._closeness import RANDOMISED, stochastic_epsilon, stochastic_t
from shoal.methods.classes._columns import HeldRecords
from shoal.methods.classes._method import PartitionMethod
from shoal.methods.classes._near_classes import microaggregate_points
from shoal.methods.classes._promises import ClassPromise, above
from shoal.methods.classes._randomize import (
    Listed,
    Mechanism,
    NumberGrid,
    Randomized,
    declared_domain,
    mechanism_problems,
    randomize,
)
from shoal.methods.classes._run import Classified, ClassRun, Form, RandomizedColumns
from shoal.methods.classes._steps import CLASS_STEPS
from shoal.models import Classes, Model
from shoal.schema import Attribute, Kind, Role, Schema
from shoal.schema.rules import text
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
    capabilities: ClassVar[MethodCapabilities] = MethodCapabilities()
    step_kinds: ClassVar[tuple[type[Event], ...]] = (*CLASS_STEPS, Randomized)
    name: ClassVar[str] = "stochastic-closeness"
    about: ClassVar[str] = "Groups of k; every secret is randomised on its own."

    def fit(self, arguments: Arguments) -> None:
        """Report that there is neither an epsilon nor a t, or both."""
        if (self.epsilon is None) == (self.t is None):
            arguments.problems.add(f"`{self.title}` needs one of `epsilon` and `t`; in a shell, --option epsilon=1.")

    def parameters(self) -> dict[str, object]:
        values = {"epsilon": self.epsilon, "t": self.t}
        return {
            "form": self.form,
            **{name: plain(value) for name, value in values.items()},
            "mechanism": self.mechanism,
        }

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        problems = [*PartitionMethod.problems(self, schema, models), *draft_problems(schema, self.title)]
        if not schema.sensitive:
            problems.append(f"method `{self.name}` randomises sensitive columns; the schema has none")
        for name in schema.sensitive:
            problems += mechanism_problems(schema[name], self.mechanism_for(schema[name]))
        problems += [
            f"method `{self.name}` randomises `{name}`, so `{model.title}` of it would hold only by chance"
            for model in models
            for name in model.capabilities.sensitive
        ]
        return problems

    def expected_form(self, schema: Schema) -> list[ExpectedStep]:
        """Return that every sensitive column was randomised, each with the same part of epsilon."""
        names = schema.sensitive
        steps = [once(Randomized, column=name, mechanism=self.mechanism_for(schema[name])) for name in names]
        if self.epsilon is None:
            return steps
        return [step.deciding(epsilon_spent=Fraction(self.epsilon) / len(names)) for step in steps]

    def reads(self, schema: Schema) -> tuple[str, ...]:
        """Return the sensitive columns, all of which are randomised."""
        return schema.sensitive

    def randomize(self, run: ClassRun) -> RandomizedColumns:
        """Randomise every sensitive column of every record, with equal parts of epsilon."""
        records, smallest = len(run.encoded), int(run.formed.partition.sizes.min())
        epsilon = self.find_epsilon(records=records, smallest=smallest)
        names = run.schema.sensitive
        columns: dict[str, pa.Array] = {}
        events: list[Event] = []
        for j, attribute in enumerate(run.encoded.sensitive):
            declared, part = run.schema[attribute.name], epsilon / len(names)
            values, mechanism = _values(attribute, run.encoded.sensitive_codes[:, j]), self.mechanism_for(declared)
            drawn = randomize(declared, values, part, mechanism, folder=run.schema.folder, source=run.source)
            columns[attribute.name] = pa.array(drawn)
            events.append(Randomized(column=attribute.name, mechanism=mechanism, epsilon_spent=part))
        local = LocalPrivacy(columns=names, epsilon=epsilon)
        close = DrawnCloseness.state_promise(epsilon, records=records, smallest=smallest)
        return columns, [local.over(run.schema, self, cryptographic=run.source.cryptographic), close], events

    def mechanism_for(self, attribute: Attribute) -> Mechanism:
        """Return how an attribute is randomised."""
        if self.mechanism is not None:
            return self.mechanism
        bounded = attribute.domain is not None and attribute.domain.is_bounded
        return "noise" if attribute.kind is Kind.NUMERIC and bounded else "randomized-response"

    def find_epsilon(self, *, records: int, smallest: int) -> Fraction:
        """Return epsilon for a release of so many records with this smallest class."""
        if self.epsilon is not None:
            return Fraction(self.epsilon)
        assert self.t is not None  # noqa: S101 - checked on construction
        largest = stochastic_epsilon(self.t, records=records, smallest=smallest)
        rounded = Fraction(math.floor(fraction(largest) * DIGITS), DIGITS)
        return rounded or fraction(largest)

    def classify(self, people: HeldRecords, models: Sequence[Model], source: RandomSource) -> Classified:
        """Make classes by quasi-identifiers."""
        return Classified(
            partition=microaggregate_points(people.points, people.sensitive, people.codes, models, "merge-first")
        )


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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LocalPrivacy(ClassPromise):
    """Differential privacy of confidential values that were randomised record by record."""

    #: The confidential columns, all together.
    columns: tuple[str, ...] = field(metadata=COLUMNS)
    #: What randomising them spends, above 0.
    epsilon: Fraction = field(metadata=within("(0, 700]"))
    name: ClassVar[str] = "local-differential-privacy"
    neighbours: ClassVar[Neighbours | None] = Neighbours.REPLACE

    def statement(self, words: Words = CLASSES) -> str:
        del words
        return (
            f"Changing {quoted(self.columns)} of any one person changes the probability of what is released by a "
            f"factor of at most e^{plain(self.epsilon)}, which is below {above(math.exp(self.epsilon))}."
        )

    def assumptions(self) -> tuple[str, ...]:
        return (
            "Quasi-identifiers are not covered: they are protected by the other promises alone.",
            "Whether a value is missing is not covered: records without one are left out, or refused.",
            "Each person has one record; for a person with r records, epsilon is multiplied by r.",
            "Bounds, values, hierarchies and all parameters were declared without looking at the data.",
            "Messages, running time and the private report stay with the publisher.",
            "Every further release or answer from the same records adds its own epsilon.",
        )

    def promise(self, words: Words = CLASSES, *, cryptographic: bool = True) -> Promise:
        """Return the promise; with random numbers of a seed it is conditional."""
        made = ClassPromise.promise(self, words)
        if cryptographic:
            return dataclasses.replace(made, strength=Strength.UNCONDITIONAL)
        return dataclasses.replace(made, assumptions=(SEED, *made.assumptions))

    def over(self, schema: Schema, method: StochasticCloseness, *, cryptographic: bool) -> Promise:
        """Return the promise with the domains over which a method randomises, as the schema declares them."""
        domains = {name: _domain(name, schema, method).plain() for name in self.columns}
        return dataclasses.replace(self.promise(cryptographic=cryptographic), exact={"domains": domains})

    def again(self, entry: PromiseEntry, evidence: Evidence) -> Promise:
        """Return the promise with the domains that the plan declares."""
        del entry
        cryptographic = evidence.certificate.randomness == CRYPTOGRAPHIC
        return self.over(
            evidence.plan.schema, cast("StochasticCloseness", evidence.plan.method), cryptographic=cryptographic
        )

    def decide(self, entry: PromiseEntry, evidence: Evidence) -> Decision:
        """Add up what the steps spend on the columns of the promise, and look for values that are not declared."""
        done = _find_randomizing_steps(entry, evidence)
        if {step.column for step in done} != {*self.columns} or len(done) != len(self.columns):
            return False, "the steps do not randomise the columns that it is about"
        if entry.strength is Strength.UNCONDITIONAL and evidence.certificate.roles != "declared":
            return False, "the schema was guessed from the data"
        for step in done:
            if problem := _strange(step, entry, evidence):
                return False, problem
        spent = _sum_epsilon(done)
        shown = f"the steps spend epsilon {float(spent):.6g} in all"
        # the parameter may be a decimal, rounded up
        even = all(step.epsilon == done[0].epsilon for step in done)
        passed = even and spent <= self.epsilon <= spent * (1 + Fraction(1, 10**9))
        return passed, f"{shown}, and every released value is of the declared domain"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DrawnCloseness(ClassPromise):
    """Stochastic closeness of randomised confidential attributes [DFSC15 Prop. 1]."""

    #: The differential privacy of all confidential attributes of a record together.
    epsilon: Fraction = field(metadata=within("(0, 700]"))
    #: What follows from it, the number of records and the smallest class; see `stochastic_t`.
    t: Fraction = field(metadata=within("[1, inf)"))
    name: ClassVar[str] = "stochastic-closeness"

    @classmethod
    def state_promise(cls, epsilon: Fraction, *, records: int, smallest: int) -> Promise:
        """Return the promise of a release of so many records, whose smallest class has so many."""
        t = stochastic_t(epsilon, records=records, smallest=smallest)
        kind = cls(epsilon=epsilon, t=t)  # type: ignore[arg-type]
        return dataclasses.replace(
            kind.promise(),
            parameters={"epsilon": plain(epsilon), "t": t},
            exact={"records": records, "smallest class": smallest},
        )

    def statement(self, words: Words = CLASSES) -> str:
        del words
        return (
            "The distribution from which the confidential values of any class are drawn differs from the one of the "
            f"whole release by a factor of at most {above(float(self.t))}."
        )

    def assumptions(self) -> tuple[str, ...]:
        return RANDOMISED

    def again(self, entry: PromiseEntry, evidence: Evidence) -> Promise:
        """Return the promise with t computed from the records and classes of the data file."""
        records, smallest = _sizes(entry, evidence)
        return self.state_promise(self.epsilon, records=records, smallest=smallest)

    def decide(self, entry: PromiseEntry, evidence: Evidence) -> Decision:
        """Count the records and the smallest class, and compute t from them and from what the steps spend."""
        columns = evidence.data(entry).columns
        done = _find_randomizing_steps(entry, evidence)
        confidential = {column.name for column in columns if column.role is Role.SENSITIVE}
        if {step.column for step in done} != confidential:
            return False, "the steps do not randomise every confidential column"
        if _sum_epsilon(done) > self.epsilon:
            return False, "the steps spend more epsilon than it says"
        records, smallest = _sizes(entry, evidence)
        t = stochastic_t(self.epsilon, records=records, smallest=smallest)
        counted = f"{records:,} records and classes of at least {smallest:,} give t = {t:.6g}"
        return (True, counted) if fraction(t) <= self.t else (False, f"{counted}, which is more than it says")


def _domain(name: str, schema: Schema, method: StochasticCloseness) -> Listed | NumberGrid:
    return declared_domain(schema[name], method.mechanism_for(schema[name]), folder=schema.folder)


def _strange(step: Randomized, entry: PromiseEntry, evidence: Evidence) -> str | None:
    """Say what is wrong with a randomised column: another mechanism than the plan's, or values out of its domain."""
    name, schema, method = step.column, evidence.plan.schema, cast("StochasticCloseness", evidence.plan.method)
    if step.mechanism != method.mechanism_for(schema[name]):
        return f"`{name}` was not randomised as plan.toml asks for"
    domain, values = (
        _domain(name, schema, method),
        tables.distinct_values(evidence.tables[evidence.data(entry).file], name),
    )
    strange = domain.strange(text(values).to_pylist() if isinstance(domain, Listed) else values.to_pylist())
    return f"`{name}` has {strange:,} different values that are not of its declared domain" if strange else None


def _sizes(entry: PromiseEntry, evidence: Evidence) -> tuple[int, int]:
    """Count the records of a table, and those of its smallest class."""
    data = evidence.data(entry)
    names = [column.name for column in data.columns if column.role.known_elsewhere]
    sizes = Classes.from_tuples(evidence.count_tuples(data, names)).sizes
    return int(sizes.sum()), int(sizes.min())


def _find_randomizing_steps(entry: PromiseEntry, evidence: Evidence) -> list[Randomized]:
    """Return the steps that randomised columns of the table that a promise is about."""
    names = {column.name for column in evidence.data(entry).columns}
    return [step for step in evidence.steps(Randomized) if step.column in names]


def _sum_epsilon(steps: Sequence[Randomized]) -> Fraction:
    spent = [step.epsilon for step in steps]
    if not spent or min(spent) <= 0:
        raise ValueError("nothing was randomised")
    return sum(spent, Fraction(0))
