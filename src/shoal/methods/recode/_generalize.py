"""Full-domain recoding: the best node of the lattice, with proof."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, get_args

from shoal import tables
from shoal.errors import ParameterError, Problems, quoted
from shoal.exact import FLAG, Arguments, fraction
from shoal.guarantees import Event
from shoal.methods.base import MethodCapabilities, Watch, Work
from shoal.methods.recode._aggregate import Aggregate, aggregate_problems, aggregated
from shoal.methods.recode._any_time import BranchAndBound
from shoal.methods.recode._iterate import suppress_cells
from shoal.methods.recode._judge import Limits, no_solution
from shoal.methods.recode._lattice import Lattice, Levels, smallest_class
from shoal.methods.recode._linked import best_linked, link_problems
from shoal.methods.recode._method import Recode
from shoal.methods.recode._result import SearchResult
from shoal.methods.recode._steps import Aggregated
from shoal.models import Model, rule_of_removal
from shoal.quality import CellObjective
from shoal.schema import Schema
from shoal.tables import Encoded, Frequencies, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Generalize(Recode):
    """Generalise every attribute to one level and suppress what still violates a model: the best such release.

    Parameters
    ----------
    quality
        What to minimise: a measure, its name, or its name and parameters as in a plan file.
    suppression_limit
        The greatest share of records that may be suppressed, in [0, 1]; compared exactly, 0.05 being 1/20.
    weights, balance
        Of the measure, where ``quality`` is a name (see :class:`~shoal.quality.Measure`).
    effort, time_limit
        Work, in units of about a second, and seconds, after which the best node found so far is returned with the gap
        that was proved. None waits for the proof of optimality.
    steps
        The greatest number of nodes to check, likewise.
    cells
        Whether to suppress single cells instead of the record where that suffices: records that the best node
        suppresses are released with as few of their values as ``*`` as the models allow.
    levels
        Columns whose level is declared, not searched for. Where all are declared without looking at sensitive values,
        the levels tell nothing about them: no intruder learns from what would have been released otherwise.
    aggregates
        Columns that are released as an aggregate of the original values of their class instead of the generalised
        value: ``mean``, ``geometric-mean``, ``median`` (the lower one of two), ``mode`` (of equally frequent values the
        least), ``interval`` (from the least to the greatest) or ``set``. With its level declared as the top in
        ``levels`` a column has no part in forming classes: it is then microaggregated inside the classes of the others.
    links
        ``"kept"``: the pseudonym of the person is released, which links all records of a person. k persons then share
        all their records, as a multiset of quasi-identifiers, and whoever does not is suppressed with all records.
        By default links are ``"cut"``: such a pseudonym is not released.

    Guarantee
    ---------
    Syntactic: the classes of the release satisfy the models [Bild24, 2.1.4]. Every released value is the ancestor of
    the original at one level per attribute. Without a limit on time or steps no node has a lower value; ties go to
    fewer suppressed records, then a lower sum of levels, then lexicographically smaller levels. Where a model compares
    classes with the whole release, which classes to remove is a choice: all that fail at once, or those first that fail
    a promise several times weaker, whichever is better at the node (`shoal.models.orders_of_removal`). That no node is
    better holds under this rule; finding the best of all sets of classes is another, hard problem.

    An aggregate is a function of the original values of a class, shared by all its records: classes that then look the
    same become one, none is divided, and the models are decided once more on what is released.

    Assumptions
    -----------
    The node is chosen by looking at the data. Classes smaller than any model allows are suppressed before the others
    are decided on. Cost O(tuples * attributes) per node checked; see `BranchAndBound`.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from shoal.hierarchies import build
    >>> from shoal.models import KAnonymity
    >>> from shoal.schema import Attribute, Intervals, Kind
    >>> from shoal.tables import Frequencies
    >>> age = Attribute(name="age", kind=Kind.NUMERIC, hierarchy=Intervals(widths=(10, 20)))
    >>> table = Frequencies(
    ...     hierarchies=(build(age, pa.array([21, 25, 38, 44])),),
    ...     codes=np.array([[0], [1], [2], [3]], dtype=np.int32),
    ...     counts=np.array([1, 2, 2, 1]),
    ...     sensitive_codes=np.zeros((4, 0), dtype=np.int32),
    ... )
    >>> found = Generalize(suppression_limit=0.2).recode(table, [KAnonymity(2)])
    >>> found.levels, found.suppressed
    ((1,), 1)
    """

    name: ClassVar[str] = "generalize"
    about: ClassVar[str] = "One level per column, provably the best one."
    capabilities: ClassVar[MethodCapabilities] = replace(Recode.capabilities, one_level=True)
    steps: int | None = None
    cells: bool = field(default=False, metadata=FLAG)
    levels: Mapping[str, int] = field(default_factory=dict)
    links: Literal["cut", "kept"] | None = None
    aggregates: Mapping[str, Aggregate] = field(default_factory=dict)

    def fit(self, arguments: Arguments) -> None:
        problems = arguments.problems
        given: dict[str, object] = {"levels": self.levels, "aggregates": self.aggregates}
        if wrong := [name for name, table in given.items() if not isinstance(table, Mapping)]:
            problems.add(f"`{wrong[0]}` of `{self.title}` must be a table with an entry for each column")
            return
        if self.steps is not None and (not isinstance(self.steps, int) or self.steps < 1):
            problems.add(f"`steps` of `{self.title}` must be an integer in [1, inf); got {self.steps}")
        for column, level in self.levels.items():
            arguments.whole(f"levels[{column}]", level, minimum=0)
        if self.links not in (None, "cut", "kept"):
            problems.add(f'`links` of `{self.title}` must be "cut" or "kept"')
        for column, function in self.aggregates.items():
            arguments.choice(f"aggregates[{column}]", function, get_args(Aggregate))
        if self.aggregates and self.cells:
            problems.add(
                f"`aggregates` of `{self.title}` cannot be combined with `cells`: a suppressed cell has no aggregate"
            )
        if self.linked and (self.cells or self.levels or self.aggregates or self.steps is not None):
            problems.add(
                f'`links = "kept"` of `{self.title}` cannot be combined with `cells`, `levels`, `aggregates` or `steps`'
            )

    @property
    def linked(self) -> bool:
        return self.links == "kept"

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        problems = Recode.problems(self, schema, models)
        problems += [
            f"`levels` of `{self.title}` names column `{name}`, which is not a quasi-identifier"
            for name in self.levels
            if name not in schema.quasi_identifiers
        ]
        problems += aggregate_problems(self.aggregates, schema, self.title)
        problems += [
            f"`{model.title}` depends on which values or people a class covers, which an aggregate does not show; "
            f"leave out `aggregates` of `{self.title}`"
            for model in models
            if self.aggregates and (model.capabilities.codes or model.capabilities.about_population)
        ]
        return problems + (link_problems(schema, models) if self.linked else [])

    @property
    def caveats(self) -> tuple[str, ...]:
        """What aggregates add to the assumptions of the promises."""
        if not self.aggregates:
            return ()
        named = quoted(self.aggregates)
        return (
            f"The values of {named} are computed from the exact values of a class: anyone who knows those of all its "
            "members but one may be able to work out the last.",
        )

    @property
    def aggregate_steps(self) -> tuple[Event, ...]:
        if not self.aggregates:
            return ()
        return (Aggregated(columns=tuple(self.aggregates), functions=tuple(self.aggregates.values())),)

    def recoded(
        self, encoded: Encoded, models: Sequence[Model], table: Table, work: Work
    ) -> tuple[Frequencies, SearchResult, Table]:
        """Return the tuples, what becomes of each, and the released table; kept links leave some persons out."""
        frequencies = encoded.frequencies
        objective = self.measure.objective(frequencies)
        if not self.linked or frequencies.holders is None or encoded.persons is None:
            return self._aggregated(Recode.recoded(self, encoded, models, table, work), encoded, table, work)
        if not isinstance(objective, CellObjective):
            raise ParameterError(
                f'`links = "kept"` can minimise only measures that add up over cells, such as loss, '
                f"not `{self.measure.name}`."
            )
        released, result = best_linked(
            frequencies,
            objective,
            self.measure,
            smallest_class(models),
            self.limits(frequencies, work.watch),
            work.watch,
        )
        return released.frequencies, result, released.applied(table, encoded, work.key)

    def _aggregated(
        self, made: tuple[Frequencies, SearchResult, Table], encoded: Encoded, table: Table, work: Work
    ) -> tuple[Frequencies, SearchResult, Table]:
        """Put aggregates of classes in the place of generalised values, where they are asked for."""
        if not self.aggregates:
            return made
        frequencies, result, _ = made
        released = aggregated(result.recoding, frequencies, work.schema, self.aggregates)
        (step,) = self.aggregate_steps
        said = f"{step.describe()} The measure refers to the generalised values, which are coarser."
        result = replace(result, released=released, notes=(*result.notes, said))
        return frequencies, result, tables.apply(table, encoded, released, key=work.key)

    @property
    def disjoint(self) -> bool:
        return not self.cells

    def search(self, frequencies: Frequencies, models: Sequence[Model], watch: Watch) -> SearchResult:
        measure = self.measure
        objective = measure.objective(frequencies)
        limits = self.limits(frequencies, watch)
        lattice = Lattice(
            frequencies,
            objective.tables if isinstance(objective, CellObjective) else (),
            enough=smallest_class(models),
            effort=limits.effort,
        )
        between = self._between(frequencies, lattice)
        found = BranchAndBound(lattice, objective, models, limits, watch, between=between).run()
        if found.recoding is None:
            raise no_solution(lattice, models, limits.suppressed, found.least_suppressed, proved=found.proved)
        best, names = found.solutions[0], quoted(self.levels)
        declared = f"The levels of {names} were declared, not searched for; nodes with other levels were not compared."
        result = SearchResult(
            recoding=found.recoding,
            measure=measure,
            value=best.value,
            bound=found.bound,
            rule=rule_of_removal(models),
            records=frequencies.records,
            suppressed=best.suppressed,
            checked=found.checked,
            pruned=found.pruned,
            nodes=math.prod(most - least + 1 for least, most in zip(*between, strict=True)),
            solutions=found.solutions,
            lattice=found.lattice,
            notes=(declared,) if self.levels else (),
        )
        return _with_cells(frequencies, models, result, watch) if self.cells and best.suppressed else result

    def _between(self, frequencies: Frequencies, lattice: Lattice) -> tuple[Levels, Levels]:
        """Return the lowest and the highest node with the declared levels."""
        problems = Problems()
        floors = {hierarchy.attribute: hierarchy.floor for hierarchy in frequencies.hierarchies}
        for name, top in zip(frequencies.attributes, lattice.top, strict=True):
            level, floor = self.levels.get(name, floors[name]), floors[name]
            said = f"`levels` of `{self.title}` sets column `{name}` to level {level}"
            if level > floor + top:
                problems.add(f"{said}; the highest level is {floor + top}")
            elif level < floor:
                problems.add(f"{said}; only level {floor} and above fit in memory (SHOAL_MEMORY)")
        problems.raise_as(ParameterError)
        declared = {name: level - floors[name] for name, level in self.levels.items()}
        low, high = (
            tuple(declared.get(name, level) for name, level in zip(frequencies.attributes, levels, strict=True))
            for levels in (lattice.bottom, lattice.top)
        )
        return low, high

    def limits(self, frequencies: Frequencies, watch: Watch) -> Limits:
        """Return when to stop, for one table and from now on."""
        share = fraction(self.suppression_limit)
        return Limits(
            suppressed=math.floor(share * frequencies.records),
            effort=self.allowance(watch),
            steps=math.inf if self.steps is None else self.steps,
        )


def _with_cells(frequencies: Frequencies, models: Sequence[Model], result: SearchResult, watch: Watch) -> SearchResult:
    """Suppress cells instead of records, unless that is no better."""
    levels = result.solutions[0].levels
    kept = result.recoding.classes >= 0
    draft = suppress_cells(frequencies, levels, kept, models, result.measure, watch).settle(models)
    recoding = draft.recoding()
    value = result.measure.value(recoding, frequencies)
    if value >= result.value or draft.suppressed > result.suppressed:
        return result
    back = result.suppressed - draft.suppressed
    note = f"{back:,} records are released with single values suppressed instead of being left out."
    notes = (*result.notes, note)
    return replace(result, recoding=recoding, value=value, suppressed=draft.suppressed, notes=notes)
