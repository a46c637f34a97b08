"""Full-domain recoding: the best node of the lattice, with proof."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shoal.errors import ParameterError, Problems, RequirementError
from shoal.models import Model, keep
from shoal.quality import Measure
from shoal.recoding._lattice import Lattice
from shoal.recoding._method import Method, Progress, Watch, as_limit, as_measure
from shoal.recoding._result import ExploredLattice, SearchResult, Solution
from shoal.tables import Frequencies

__all__ = ["Generalize"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Generalize(Method):
    """Generalise every attribute to one level and suppress what still violates a model: the best such release.

    Parameters
    ----------
    quality
        What to minimise: the name of a measure, or a measure.
    suppression_limit
        The greatest share of records that may be suppressed, in [0, 1]; compared exactly, 0.05 being 1/20.
    weights, balance
        Of the measure, where ``quality`` is a name (see :class:`~shoal.quality.Measure`).
    time_limit
        Seconds after which the best node found so far is returned with the gap that was proved. None waits for the
        proof of optimality.
    steps
        The greatest number of nodes to check, likewise.

    Guarantee
    ---------
    Syntactic: the classes of the release satisfy the models. Without a limit the node is optimal; ties go to fewer
    suppressed records, then a lower sum of levels, then lexicographically smaller levels.
    """

    name: ClassVar[str] = "generalize"
    title: ClassVar[str] = "Generalize"
    quality: str | Measure = "loss"
    suppression_limit: float | Fraction = 0.05
    weights: Mapping[str, float] = field(default_factory=dict)
    balance: float = 0.5
    time_limit: float | None = None
    steps: int | None = None

    def __post_init__(self) -> None:
        problems = Problems()
        as_limit(self.suppression_limit, title=self.title, problems=problems)
        if self.time_limit is not None and not (math.isfinite(self.time_limit) and self.time_limit > 0):
            problems.add(f"`time_limit` of `{self.title}` must be a positive number of seconds; got {self.time_limit}")
        if self.steps is not None and (not isinstance(self.steps, int) or self.steps < 1):
            problems.add(f"`steps` of `{self.title}` must be an integer in [1, inf); got {self.steps}")
        problems.raise_as(ParameterError)
        as_measure(self.quality, self.weights, self.balance, title=self.title)

    def recode(
        self,
        frequencies: Frequencies,
        models: Sequence[Model],
        *,
        progress: Progress | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> SearchResult:
        """Find the best node under which every released class satisfies every model."""
        watch = Watch(progress, cancelled)
        measure = as_measure(self.quality, self.weights, self.balance, title=self.title)
        objective = measure.objective(frequencies)
        lattice = Lattice(frequencies)
        limit = as_limit(self.suppression_limit, title=self.title, problems=Problems())
        allowed = math.floor(limit * frequencies.records)
        nodes = sorted(
            (objective.floor(levels), levels) for levels in itertools.product(*(range(h + 1) for h in lattice.heights))
        )
        best: Solution | None = None
        found: list[Solution] = []
        checked: list[tuple[tuple[int, ...], float, int]] = []
        for floor, levels in nodes:
            if best is not None and floor > best.value:
                break
            watch.step(len(checked), len(nodes), "")
            _, classes = lattice.classes(levels)
            kept = keep(models, classes)
            suppressed = frequencies.records - int(classes.sizes[kept].sum())
            value = np.inf
            if suppressed <= allowed:
                value = objective.value(levels, classes, kept)
                found.append(Solution(levels=levels, value=value, suppressed=suppressed))
                if best is None or found[-1].order < best.order:
                    best = found[-1]
            checked.append((levels, value, suppressed))
        if best is None:
            raise RequirementError("No node of the lattice satisfies the models within the suppression limit.")
        labels, classes = lattice.classes(best.levels)
        recoding = lattice.recoding(best.levels, labels, classes, keep(models, classes))
        return SearchResult(
            recoding=recoding,
            measure=measure,
            value=best.value,
            bound=best.value,
            records=frequencies.records,
            suppressed=best.suppressed,
            checked=len(checked),
            pruned=len(nodes) - len(checked),
            nodes=len(nodes),
            solutions=tuple(sorted(found, key=lambda solution: solution.order)[:10]),
            lattice=ExploredLattice(
                heights=lattice.heights,
                levels=np.array([entry[0] for entry in checked], dtype=np.int32),
                values=np.array([entry[1] for entry in checked]),
                suppressed=np.array([entry[2] for entry in checked], dtype=np.int64),
            ),
        )
