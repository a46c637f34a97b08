"""What local recodings share: what guides them, and the choice of the best draft."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from shoal import stopping
from shoal.errors import ParameterError, Problems, RequirementError
from shoal.exact import Arguments, Number, fraction
from shoal.kernels.partition import AttributeCover
from shoal.methods.base import Watch, Work
from shoal.methods.recode._any_time import BranchAndBound
from shoal.methods.recode._draft import LocalDraft
from shoal.methods.recode._judge import Limits, no_solution
from shoal.methods.recode._lattice import Lattice, smallest_class
from shoal.methods.recode._linked import Linked, best_linked, best_local, link_problems
from shoal.methods.recode._method import Recode, check_time_limit
from shoal.methods.recode._result import SearchResult, at_or_above
from shoal.models import KAnonymity, Model, rule_of_removal
from shoal.quality import CellObjective, InformationLoss, Measure
from shoal.schema import Schema
from shoal.tables import Encoded, Frequencies, Table

ENDS = "The ends of released intervals are exact values of records, so that an extreme or rare value shows."
"""What a release says whose intervals were cut where the data says so."""

#: Nodes that the comparison with full-domain recoding may check: at most, at least, and tuples times attributes of all.
_STEPS, _FEWEST, _WORK = 5_000, 100, 2**28
#: How often the comparison starts again at random without finding anything better.
_PATIENCE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalMethod(Recode):
    """Release equal values differently in different records, where that loses less.

    What a method makes is compared with full-domain recoding: a search looks for a node that loses less, which takes
    little as it only has to look at nodes that may (at most 5,000 of them, fewer in large tables), and the better of
    the two is released. The result says whether all other nodes were ruled out.
    """

    #: What to minimise: a measure, its name, or its name and parameters as in a plan file. The method itself is guided
    #: by the cost of single cells where the measure has one, else by loss.
    quality: str | Mapping[str, object] | Measure = "loss"
    #: The greatest share of records that may be suppressed, in [0, 1]; compared exactly, 0.05 being 1/20.
    suppression_limit: Number = 0.05
    #: Of the measure, where ``quality`` is a name (see :class:`~shoal.quality.Measure`).
    weights: Mapping[str, float] = field(default_factory=dict)
    balance: float = 0.5
    #: Seconds after which the method makes do with what it has; the last step may take a little longer. None waits
    #: until it is done.
    time_limit: float | None = None
    #: ``"kept"``: the pseudonym of the person is released, which links all records of a person. k persons then share
    #: all their records, as a multiset of released quasi-identifiers, and whoever does not is suppressed with all
    #: records; the method is run for larger and larger crowds, each with its own ``time_limit``, and compared with
    #: full-domain recoding. By default links are ``"cut"``: such a pseudonym is not released.
    links: Literal["cut", "kept"] | None = None

    def __post_init__(self) -> None:
        arguments = Arguments(self.title)
        arguments.rational("suppression_limit", self.suppression_limit, "[0, 1]")
        problems = arguments.problems
        check_time_limit(self.time_limit, self.title, problems)
        if self.links not in (None, "cut", "kept"):
            problems.add(f'`links` of `{self.title}` must be "cut" or "kept"')
        self._check(problems)
        problems.raise_as(ParameterError)
        self.measure  # noqa: B018 - raises where the parameters make none

    def _check(self, problems: Problems) -> None:
        """Note what is wrong with the method's own parameters."""

    def problems(self, schema: Schema, models: Sequence[Model]) -> list[str]:
        return Recode.problems(self, schema, models) + (link_problems(schema, models) if self.linked else [])

    def recoded(
        self, encoded: Encoded, models: Sequence[Model], table: Table, work: Work
    ) -> tuple[Frequencies, SearchResult, Table]:
        """Return the tuples, what becomes of each, and the released table; kept links leave some persons out."""
        frequencies = encoded.frequencies
        if not self.linked or frequencies.holders is None:
            return Recode.recoded(self, encoded, models, table, work)
        k, watch = smallest_class(models), work.watch
        limits = Limits(math.floor(fraction(self.suppression_limit) * frequencies.records))
        best = best_local(
            lambda crowd: self.search(frequencies, [KAnonymity(crowd)], watch),
            frequencies,
            self.measure,
            k,
            limits.suppressed,
        )
        if best is None or math.prod(height + 1 for height in frequencies.heights) <= _STEPS:
            objective = InformationLoss(weights=self.measure.weights).objective(frequencies)
            try:
                best = self._whole_levels(best, best_linked(frequencies, objective, k, limits, watch).released)
            except RequirementError:
                if best is None:
                    raise
        released, result = best
        return released.frequencies, result, released.applied(table, encoded, work.key)

    def _whole_levels(self, best: tuple[Linked, SearchResult] | None, whole: Linked) -> tuple[Linked, SearchResult]:
        """Return the better one of a local and a full-domain recoding."""
        value = self.measure.value(whole.recoding, whole.frequencies)
        if best is not None and best[1].value <= value:
            return best
        result = SearchResult(
            recoding=whole.recoding,
            measure=self.measure,
            value=value,
            records=whole.frequencies.records,
            suppressed=whole.suppressed,
            notes=(f"The best full-domain recoding that keeps links is not improved by {self.title}.",),
        )
        return whole, result

    def search(self, frequencies: Frequencies, models: Sequence[Model], watch: Watch) -> SearchResult:
        measure = self.measure
        share = fraction(self.suppression_limit)
        allowed = math.floor(share * frequencies.records)
        deadline = math.inf if self.time_limit is None else time.monotonic() + self.time_limit
        task = LocalTask(frequencies, tuple(models), measure, allowed, watch, deadline)
        watch.step(0, 2, f"{self.name} recoding")
        best = min(filter(task.fits, map(task.result, self.drafts(task))), key=lambda found: found.value, default=None)
        watch.step(1, 2, "comparison with full-domain recoding")
        whole, proved = None, False
        if best is None or task.seconds:
            whole, proved = task.full_domain(to_beat=math.inf if best is None else best.value)
        above = at_or_above(frequencies.attributes, [hierarchy.floor for hierarchy in frequencies.hierarchies])
        if whole is not None:
            note = f"The best full-domain recoding{above} is not improved by {self.title}."
        elif proved:
            rule = rule_of_removal(models)
            under = f" under one rule of removing classes: {rule}." if rule else "."
            note = f"No full-domain recoding{above} loses less{under}"
        else:
            note = f"No full-domain recoding{above} that was looked at loses less; that none does is not proved."
        return replace(
            whole or best or task.failed(proved=proved), notes=(note,), bound=None, solutions=(), lattice=None, nodes=0
        )

    @abstractmethod
    def drafts(self, task: LocalTask) -> Iterable[LocalDraft]:
        """Make drafts."""


class LocalTask:
    """One table, the models that must hold, and the costs that guide a local recoding."""

    def __init__(
        self,
        frequencies: Frequencies,
        models: tuple[Model, ...],
        measure: Measure,
        allowed: int,
        watch: Watch,
        deadline: float = math.inf,
    ) -> None:
        self.frequencies, self.models, self.measure = frequencies, models, measure
        self.allowed, self.watch, self.deadline = allowed, watch, deadline
        self.objective = self._objective()
        self._least_suppressed = frequencies.records

    def _objective(self) -> CellObjective:
        objective = self.measure.objective(self.frequencies)
        if isinstance(objective, CellObjective) and objective.monotone:
            return objective
        return InformationLoss(weights=self.measure.weights).objective(self.frequencies)

    def result(self, draft: LocalDraft) -> SearchResult:
        """Suppress what violates a model, and measure what is left."""
        draft = draft.settle(self.models)
        recoding = draft.recoding()
        return SearchResult(
            recoding=recoding,
            measure=self.measure,
            value=self.measure.value(recoding, self.frequencies),
            records=self.frequencies.records,
            suppressed=draft.suppressed,
        )

    def fits(self, result: SearchResult) -> bool:
        """Return whether a result releases something and does not suppress too much."""
        return result.suppressed <= self.allowed and result.suppressed < max(self.frequencies.records, 1)

    @property
    def seconds(self) -> float:
        """The seconds that are left."""
        return 0.0 if stopping.enough() else max(0.0, self.deadline - time.monotonic())

    def full_domain(self, *, to_beat: float = math.inf) -> tuple[SearchResult | None, bool]:
        """Search for the best node among those better than ``to_beat``; say whether no other is better for sure."""
        objective = self.measure.objective(self.frequencies)
        costs = objective.tables if isinstance(objective, CellObjective) else ()
        lattice = Lattice(self.frequencies, costs, enough=smallest_class(self.models))
        cells = max(lattice.leaves * len(lattice.heights), 1)
        steps = min(_STEPS, max(_FEWEST, _WORK // cells))
        limits = Limits(self.allowed, deadline=self.deadline, steps=steps, value=to_beat, patience=_PATIENCE)
        found = BranchAndBound(lattice, objective, self.models, limits, Watch(None, self.watch.cancelled)).run()
        self._least_suppressed = found.least_suppressed
        if found.recoding is None or not found.solutions[0].value < to_beat:
            return None, found.proved
        best = found.solutions[0]
        result = SearchResult(
            recoding=found.recoding,
            measure=self.measure,
            value=best.value,
            records=self.frequencies.records,
            suppressed=best.suppressed,
        )
        return result, found.proved

    def failed(self, *, proved: bool) -> SearchResult:
        """Say what stands in the way of any release."""
        raise no_solution(Lattice(self.frequencies), self.models, self.allowed, self._least_suppressed, proved=proved)


def ordered(frequencies: Frequencies, *, intervals: bool) -> tuple[bool, ...]:
    """Return which attributes release intervals."""
    return tuple(intervals and hierarchy.positions is not None for hierarchy in frequencies.hierarchies)


def covers(task: LocalTask, intervals: Sequence[bool]) -> list[AttributeCover]:
    """Return what covering values costs; of an ordered attribute in proportion to what ``*`` costs."""
    found = []
    for hierarchy, table, interval in zip(task.frequencies.hierarchies, task.objective.tables, intervals, strict=True):
        codes = np.array(hierarchy.codes, dtype=np.int32)
        if interval and hierarchy.positions is not None:
            found.append(
                AttributeCover(codes=codes, costs=hierarchy.positions[None] * float(table[-1][0]), ordered=True)
            )
        else:
            costs = np.array([level[leaves] for level, leaves in zip(table, hierarchy.codes, strict=True)])
            found.append(AttributeCover(codes=codes, costs=costs))
    return found
