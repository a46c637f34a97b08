"""What local recodings share: what guides them, and the choice of the best draft."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shoal.errors import ParameterError, Problems, RequirementError
from shoal.kernels.partition import Cover
from shoal.models import Model
from shoal.quality import CellObjective, Loss, Measure
from shoal.recoding._draft import Draft
from shoal.recoding._full_domain import Generalize
from shoal.recoding._method import Method, Progress, Watch, as_limit, as_measure
from shoal.recoding._result import SearchResult
from shoal.tables import Frequencies

__all__ = ["LocalMethod", "Task", "covers", "ordered"]

#: Nodes that the search for the best full-domain recoding may check, for comparison.
_STEPS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalMethod(Method):
    """Release equal values differently in different records, where that loses less.

    Every draft that a method makes is compared with the best full-domain recoding (found in at most 20,000 steps), so
    that a local recoding never loses more than that.

    Parameters
    ----------
    quality
        What to minimise: a measure, its name, or its name and parameters as in a plan file. The method itself is
        guided by the cost of single cells where the measure has one, else by loss.
    suppression_limit
        The greatest share of records that may be suppressed, in [0, 1]; compared exactly, 0.05 being 1/20.
    weights, balance
        Of the measure, where ``quality`` is a name (see :class:`~shoal.quality.Measure`).
    """

    title: ClassVar[str] = "LocalMethod"
    quality: str | Mapping[str, object] | Measure = "loss"
    suppression_limit: float | str | Fraction = 0.05
    weights: Mapping[str, float] = field(default_factory=dict)
    balance: float = 0.5

    def __post_init__(self) -> None:
        problems = Problems()
        as_limit(self.suppression_limit, title=self.title, problems=problems)
        self._check(problems)
        problems.raise_as(ParameterError)
        as_measure(self.quality, self.weights, self.balance, title=self.title)

    def _check(self, problems: Problems) -> None:
        """Note what is wrong with the method's own parameters."""

    def recode(
        self,
        frequencies: Frequencies,
        models: Sequence[Model],
        *,
        progress: Progress | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> SearchResult:
        """Find a recoding under which every released class satisfies every model."""
        measure = as_measure(self.quality, self.weights, self.balance, title=self.title)
        task = Task(frequencies, tuple(models), measure, Watch(progress, cancelled))
        task.watch.step(0, 2, "best full-domain recoding")
        whole, failure = self._whole(task)
        task.watch.step(1, 2, f"{self.name} recoding")
        share = as_limit(self.suppression_limit, title=self.title, problems=Problems())
        allowed = math.floor(share * frequencies.records)
        compared = "" if whole is None else f" (the best full-domain recoding: {whole.value:.6g})"
        local = f"Recoded locally{compared}."
        best, notes = whole, f"The best full-domain recoding was not improved by {self.title}."
        for draft in self.drafts(task, whole):
            result = task.result(draft)
            fits = result.suppressed <= allowed and result.suppressed < max(frequencies.records, 1)
            if fits and (best is None or result.value < best.value):
                best, notes = result, local
        if best is None:
            raise failure or RequirementError(f"{self.title} finds no release that keeps the promise.")
        return SearchResult(
            recoding=best.recoding,
            measure=measure,
            value=best.value,
            records=frequencies.records,
            suppressed=best.suppressed,
            notes=(notes,),
        )

    def drafts(self, task: Task, whole: SearchResult | None) -> Iterable[Draft]:
        """Make drafts; ``whole`` is the best full-domain recoding, if there is one."""
        raise NotImplementedError

    def _whole(self, task: Task) -> tuple[SearchResult | None, RequirementError | None]:
        search = Generalize(quality=task.measure, suppression_limit=self.suppression_limit, steps=_STEPS)
        try:
            return search.recode(task.frequencies, task.models, cancelled=task.watch.stopped), None
        except RequirementError as failure:
            return None, failure


class Task:
    """One table, the models that must hold, and the costs that guide a local recoding."""

    def __init__(self, frequencies: Frequencies, models: tuple[Model, ...], measure: Measure, watch: Watch) -> None:
        self.frequencies, self.models, self.measure, self.watch = frequencies, models, measure, watch
        self.objective = self._objective()

    def _objective(self) -> CellObjective:
        objective = self.measure.objective(self.frequencies)
        if isinstance(objective, CellObjective) and objective.monotone:
            return objective
        return Loss(weights=self.measure.weights).objective(self.frequencies)

    def result(self, draft: Draft) -> SearchResult:
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


def ordered(frequencies: Frequencies, *, intervals: bool) -> tuple[bool, ...]:
    """Return which attributes release intervals."""
    return tuple(intervals and hierarchy.positions is not None for hierarchy in frequencies.hierarchies)


def covers(task: Task, intervals: Sequence[bool]) -> list[Cover]:
    """Return what covering values costs; of an ordered attribute in proportion to what ``*`` costs."""
    found = []
    for hierarchy, table, interval in zip(task.frequencies.hierarchies, task.objective.tables, intervals, strict=True):
        codes = np.array(hierarchy.codes, dtype=np.int32)
        if interval and hierarchy.positions is not None:
            found.append(Cover(codes=codes, costs=hierarchy.positions[None] * float(table[-1][0]), ordered=True))
        else:
            costs = np.array([level[leaves] for level, leaves in zip(table, hierarchy.codes, strict=True)])
            found.append(Cover(codes=codes, costs=costs))
    return found
