"""Data sets with noise as a method: clusters, centroids, and noise scaled to what is to be protected."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from shoal.exact import Arguments, Number, fraction, plain
from shoal.guarantees import (
    COMMON_STEPS,
    Bounded,
    Cost,
    DomainOrigin,
    Dropped,
    Event,
    ExpectedStep,
    Ordered,
    PromiseEntry,
    Requirement,
    exactly,
    maybe,
    once,
)
from shoal.hierarchies import provenance
from shoal.methods._opening import file_hash
from shoal.methods.base import DATA, Method, MethodCapabilities, Result, Work
from shoal.methods.noise._columns import AttributeSet, Columns, NumberColumn
from shoal.methods.noise._design import (
    NOISE_SHARE,
    Clustered,
    Concentrated,
    ConceptsDrawn,
    KeptApart,
    NoiseChoice,
    Noised,
)
from shoal.methods.noise._make import forecast, perturb
from shoal.methods.noise._promises import NOISE, EpsilonBudget
from shoal.methods.noise._sensitivity import Target
from shoal.methods.truthful import released, unreleased
from shoal.models import Model
from shoal.schema import INEXACT, Attribute, Kind, Missing, Schema

if TYPE_CHECKING:
    from shoal.plan import Plan

Sets = Literal["together", "each"] | tuple[tuple[str, ...], ...]
Shares = Literal["equal", "proportional"] | Mapping[str, Number]

MOST_DECIMALS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class DPMicroaggregation(Method):
    """Release noisy averages of clusters of similar records, in place of the records.

    Parameters
    ----------
    target
        What is protected, and so how much noise it takes; see `dp_microaggregate` for the scales.

        ``original``
            the records themselves: differential privacy, neighbours replace one record. Much noise.
        ``partition``
            the values, *given* that everybody may know which records share a cluster [SCDF17]. Little noise.
        ``record-query``
            the answer to a query for one record [SC13, ch. 6], to reproduce its tables; never the table as a whole.
    noise
        ``box`` where several means move together, a sixth of the variance of ``laplace``; ``gaussian``, which needs a
        delta and is the least for many columns or clusters; or ``auto``, which takes the one with the smallest
        expected error. All are exact, and keep the same promise for the same budget.
    k
        The least size of a cluster, or ``auto``: a rule that reads nothing but the numbers of records and columns and
        the budget (`automatic_k`).
    sets
        Which columns are clustered together: ``together`` (all), ``each`` on its own, or lists of columns. Under
        ``original`` every set becomes a table of its own, since nothing may tell which of their rows belong together.
    split
        How epsilon is shared out: ``equal``, ``proportional`` to the widths of the domains, or an epsilon by column.
    reference_points
        Of insensitive clustering; see `insensitive`.
    decimals
        By column, the decimals that released numbers are rounded to; by default a hundredth or so of the noise. Dates
        are rounded to days.
    fill
        By column, the number, date or rank that stands for a missing one; declared, not read off the data. By default
        the middle of the declared domain, which the plan of a release names.

    Guarantee
    ---------
    That of the target: see `dp_microaggregate` and ``docs/explanation/dp-microaggregation.md``. Rounding, clamping and
    sorting see the noisy values alone, so they take nothing from it.

    Assumptions
    -----------
    Bounds, values, hierarchies and all parameters are declared without looking at the data; the number of records is
    public. All columns but the identifiers are covered.

    Notes
    -----
    The variants of [SCDF17] and [SC13]: MDAV+DP is ``target="partition"``, ``split="proportional"``; IR_MDAV+DP_1 and
    IR_MDAV+DP_2 are ``target="partition"``, ``sets="each"`` with ``split="equal"`` and ``"proportional"``; INS+DP is
    ``target="record-query"``.

    Examples
    --------
    >>> DPMicroaggregation(target="partition", sets="each").variant
    'IR_MDAV+DP_1'
    """

    target: Target = "original"
    noise: NoiseChoice = "auto"
    k: int | Literal["auto"] = "auto"
    sets: Sets = "together"
    split: Shares = "equal"
    reference_points: int | None = None
    decimals: Mapping[str, int] = field(default_factory=dict)
    fill: Mapping[str, object] = field(default_factory=dict)
    family: ClassVar[str] = "noise"
    name: ClassVar[str] = "dp-microaggregation"
    about: ClassVar[str] = "Noisy group averages in place of records."
    step_kinds: ClassVar[tuple[type[Event], ...]] = (
        *COMMON_STEPS,
        Clustered,
        Noised,
        ConceptsDrawn,
        Concentrated,
        KeptApart,
    )
    capabilities: ClassVar[MethodCapabilities] = MethodCapabilities(
        private_promise=EpsilonBudget.name,
        pseudonyms=False,
        persons=True,
        measures=(NOISE_SHARE,),
    )

    def __post_init__(self) -> None:
        arguments = Arguments(self.title)
        arguments.choice("target", self.target, get_args(Target))
        arguments.choice("noise", self.noise, get_args(NoiseChoice))
        if self.k != "auto":
            object.__setattr__(self, "k", arguments.whole("k", self.k))
        if self.reference_points is not None:
            arguments.whole("reference_points", self.reference_points)
        self._check_sets(arguments)
        self._check_split(arguments)
        for name in ("decimals", "fill"):
            if not isinstance(getattr(self, name), Mapping):
                arguments.problems.add(f"`{name}` of `{self.title}` must give a value by column.")
        for column, places in (self.decimals if isinstance(self.decimals, Mapping) else {}).items():
            arguments.whole(f"decimals[{column}]", places, minimum=-MOST_DECIMALS)
            if isinstance(places, int) and places > MOST_DECIMALS:
                arguments.problems.add(f"`decimals[{column}]` of `{self.title}` must be at most {MOST_DECIMALS}.")
        arguments.finish()

    def _check_sets(self, arguments: Arguments) -> None:
        if isinstance(self.sets, str):
            arguments.choice("sets", self.sets, ("together", "each"))
            return
        lists = isinstance(self.sets, Sequence) and all(isinstance(own, Sequence) for own in self.sets)
        if not lists or any(isinstance(own, str) for own in self.sets):
            arguments.problems.add(f'`sets` of `{self.title}` must be "together", "each" or lists of columns.')
            return
        object.__setattr__(self, "sets", tuple(arguments.columns("sets", list(own)) for own in self.sets))

    def _check_split(self, arguments: Arguments) -> None:
        if isinstance(self.split, Mapping):
            shares = {
                column: arguments.rational(f"split[{column}]", share, "(0, inf)")
                for column, share in self.split.items()
            }
            object.__setattr__(self, "split", shares)
        else:
            arguments.choice("split", self.split, ("equal", "proportional"))

    @property
    def variant(self) -> str | None:
        """What the papers call this choice of parameters; None where they have no name for it."""
        if self.target == "record-query":
            return "INS+DP"
        if self.target != "partition":
            return None
        if self.sets == "each" and isinstance(self.split, str):
            return "IR_MDAV+DP_1" if self.split == "equal" else "IR_MDAV+DP_2"
        return "MDAV+DP" if self.sets == "together" else None

    def parameters(self) -> dict[str, object]:
        values = {entry.name: getattr(self, entry.name) for entry in dataclasses.fields(self)}
        if isinstance(self.split, Mapping):
            values["split"] = {column: plain(share) for column, share in self.split.items()}
        if not isinstance(self.sets, str):
            values["sets"] = [list(own) for own in self.sets]
        return values

    def expected_steps(self, plan: Plan) -> list[ExpectedStep]:
        schema, columns, (budget,) = plan.schema, Columns.of(plan.schema), plan.models
        assert isinstance(budget, EpsilonBudget)  # noqa: S101 - the plan asks for it and for nothing else
        sets = self.attribute_sets(columns)
        files = [f"set-{number}.parquet" for number, _ in enumerate(sets, start=1)]
        if self.target != "original" or len(sets) == 1:
            files = [DATA] * len(sets)
        most = budget.records_per_person or 1
        steps = exactly(*Dropped.by(schema), *Bounded.by(schema, budget.records_per_person))
        for file, own in zip(files, sets, strict=True):
            numbers = [columns.numbers[position].name for position in own.numeric]
            concepts = [columns.concepts[position].name for position in own.categorical]
            names = tuple(name for name in schema.names if name in (*numbers, *concepts))
            steps.append(once(Clustered, target=self.target, variant=self.variant, columns=names, file=file))
            steps += [once(Noised, column=name, target=self.target, per_person=most) for name in numbers]
            steps += [once(ConceptsDrawn, column=name, target=self.target, per_person=most) for name in concepts]
        # delta is spent only where that makes the noise narrower
        apart = tuple(dict.fromkeys(files))
        last = [*([KeptApart(files=apart)] if len(apart) > 1 else []), Ordered()]
        return [*steps, *([maybe(Concentrated)] if budget.delta else []), *exactly(*last)]

    def make(self, work: Work) -> Result:
        return perturb(work, self)

    def filling(self, columns: Columns) -> DPMicroaggregation:
        """Return the method that names what stands for a missing value of every column where one may be missing."""
        allowed = [number for number in columns.numbers if number.attribute.missing is Missing.CATEGORY]
        middles = {each.name: each.middle for each in allowed if each.name not in self.fill}
        return replace(self, fill={**self.fill, **middles}) if middles else self

    def forecast(self, privacy: Requirement, schema: Schema, records: int) -> dict[str, float]:
        """Return how wide the noise of every column of numbers will be, as a share of its domain.

        The number of records is public under every target of this method. Under ``partition`` the noise of a cluster
        of k records, the widest.
        """
        budget = privacy.resolve(schema)
        return forecast(self, budget, schema, records) if isinstance(budget, EpsilonBudget) else {}

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        problems = []
        if models:
            problems.append(
                f"method `{self.name}` keeps one promise, `{EpsilonBudget.title}` (--epsilon), and no "
                "other; the least size of its clusters is its parameter `k` (--option k=...)"
            )
        if self.target == "record-query" and schema.person is not None:
            problems.append(
                f"target `record-query` of `{self.title}` protects the answer for one record, which is no promise to a "
                "person; use `original`, or `partition`"
            )
        problems += [problem for attribute in released(schema) if (problem := self._undeclared(attribute))]
        problems += [
            f"method `{self.name}`: column `{attribute.name}` leaves out records without a value, and how many records "
            'there are is public: one cell would change that number. Use `missing = "category"`; `fill` says which '
            "number stands for a missing one"
            for attribute in released(schema)
            if attribute.missing is Missing.DROP
        ]
        return [*problems, *self._misnamed(schema)]

    def cost(self, privacy: Requirement, schema: Schema) -> Cost | None:
        del schema
        # only the first target is differential privacy of the records
        return privacy.cost if self.target == "original" else None

    def answers(self, model: Requirement, entry: PromiseEntry) -> bool:
        asked, given = model.parameters(), entry.parameters
        if asked.get("records_per_person") != given.get("records_per_person"):
            return False
        within = all(
            fraction(given.get(name, 0)) <= fraction(asked.get(name, 0))  # type: ignore[arg-type]
            for name in ("epsilon", "delta")
        )
        return NOISE.get(entry.model) == self.target and within

    def files(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        columns = Columns.of(schema)
        sets = self.attribute_sets(columns)
        if self.target != "original" or len(sets) == 1:
            return {DATA: tuple(each.name for each in released(schema))}
        names, first = columns.names, len(columns.numbers)
        named = [
            [names[position] for position in (*own.numeric, *(first + j for j in own.categorical))] for own in sets
        ]
        named[0] += [constant.name for constant in columns.constants]  # without noise, so in no set
        return {f"set-{number}.parquet": tuple(names) for number, names in enumerate(named, start=1)}

    def domains(self, schema: Schema) -> tuple[DomainOrigin, ...]:
        return tuple(
            DomainOrigin(column=each.name, provenance=provenance(each), hierarchy_sha256=file_hash(schema, each.name))
            for each in released(schema)
        )

    def unfit(self, privacy: Requirement, models: Sequence[Model]) -> list[str]:
        del models
        if not isinstance(privacy, EpsilonBudget):
            return []
        if self.noise == "gaussian" and (not privacy.delta or self.target == "record-query"):
            return [
                f'`noise = "gaussian"` of `{self.title}` needs a delta (--delta 1e-6) and another target than '
                "`record-query`"
            ]
        if not isinstance(self.split, Mapping):
            return []
        spent = sum((fraction(share) for share in self.split.values()), Fraction(0))
        return [f"`split` of `{self.title}` shares out {plain(spent)}, more than epsilon"] * (spent > privacy.total)

    def _undeclared(self, attribute: Attribute) -> str | None:
        start = f"method `{self.name}`: column `{attribute.name}`"
        domain = attribute.domain
        if attribute.kind in (Kind.NUMERIC, Kind.DATE) and (domain is None or not domain.is_bounded):
            return f"{start} has no declared bounds; give its `minimum` and `maximum`"
        if attribute.kind is Kind.NUMERIC and domain is not None and not domain.exact:
            return f"{start} {INEXACT}"
        if domain is not None and not domain.provenance.reveals_nothing:
            return f"{start} has values that were read off the data; list under `values` those that it may have"
        if attribute.kind is Kind.ORDINAL and (domain is None or domain.values is None):
            return f"{start} has no declared domain; list its `values` in order"
        if attribute.kind is Kind.CATEGORICAL and not provenance(attribute).reveals_nothing:
            return f"{start} has no declared domain; list its `values`, or give a hierarchy that does (a file, groups)"
        return None

    def _misnamed(self, schema: Schema) -> list[str]:
        names = {attribute.name: attribute for attribute in released(schema)}
        listed: dict[str, Sequence[str]] = {
            "decimals": list(self.decimals),
            "fill": list(self.fill),
            "split": list(self.split) if isinstance(self.split, Mapping) else [],
            "sets": [] if isinstance(self.sets, str) else [name for own in self.sets for name in own],
        }
        problems = unreleased(schema, self.title, listed)
        for parameter in ("sets", "split"):
            given = listed[parameter]
            if given and sorted(given) != sorted(names):
                problems.append(f"`{parameter}` of `{self.title}` must name every released column once")
        for name in self.decimals:
            if name in names and names[name].kind is not Kind.NUMERIC:
                problems.append(f"`decimals` of `{self.title}`: column `{name}` is not numeric")
        for name in self.fill:
            if name in names and not self._fills(names[name]):
                problems.append(f"`fill` of `{self.title}`: the value for a missing `{name}` must be in its domain")
        return problems

    def _fills(self, attribute: Attribute) -> bool:
        if attribute.kind is Kind.CATEGORICAL:
            return False  # a missing name is a value of its own
        declared = self._undeclared(attribute) is None
        return not declared or NumberColumn.of(attribute).place(self.fill[attribute.name]) is not None

    def attribute_sets(self, columns: Columns) -> tuple[AttributeSet, ...]:
        """Return the sets of columns that are clustered together; numbers and concepts are numbered on their own."""
        order, first = columns.names, len(columns.numbers)
        wanted: Sequence[Sequence[str]]
        if isinstance(self.sets, str):
            wanted = [order] if self.sets == "together" else [[name] for name in order]
        else:
            wanted = self.sets
        groups = [[order.index(name) for name in own if name in order] for own in wanted]
        return tuple(
            AttributeSet(
                numeric=tuple(sorted(position for position in own if position < first)),
                categorical=tuple(sorted(position - first for position in own if position >= first)),
            )
            for own in groups
            if own
        )

    def shares(self, columns: Sequence[str]) -> Literal["equal", "proportional"] | list[Fraction]:
        """Return how epsilon is shared out over columns, as `split_budget` takes it."""
        return self.split if isinstance(self.split, str) else [fraction(self.split[name]) for name in columns]
