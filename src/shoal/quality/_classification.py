"""Classification: the records whose target attribute the released quasi-identifiers no longer predict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from shoal.errors import ParameterError, quoted
from shoal.models import Classes
from shoal.quality._measure import ClassObjective, Costs, Measure, form_classes
from shoal.schema import Schema
from shoal.tables import Frequencies, Recoding


@dataclass(frozen=True, slots=True, kw_only=True)
class Classification(Measure):
    """The share of records that do not have the most frequent target value of their class, or are suppressed.

    ``value = 1/n * (sum over classes E of (|E| - largest count of a target value in E) + suppressed records)``
    (Iyengar 2002; [Bild24, 5.5]): the training error of the best prediction from the released quasi-identifiers.
    In [0, 1]. It looks at classes, not at values: attribute weights do not apply. Cost of a value O(tuples log
    tuples).

    As an objective it prunes if suppression counts at least as much as generalisation: merging classes makes no
    prediction better.

    Parameters
    ----------
    target
        The sensitive attribute to predict; None if the table has one sensitive attribute only.

    Examples
    --------
    >>> Classification(target="income").target
    'income'
    """

    name: ClassVar[str] = "classification"
    target: str | None = None

    @property
    def label(self) -> str:
        return self.name if self.target is None else f"{self.name} of {self.target}"

    @property
    def sensitive(self) -> tuple[str, ...]:
        return () if self.target is None else (self.target,)

    def resolve(self, schema: Schema) -> Classification:
        """Return it with the schema's only sensitive attribute as target, where none is given."""
        return replace(self, target=self._choose_target(schema.sensitive))

    def value(self, recoding: Recoding, frequencies: Frequencies) -> float:
        objective = self.objective(frequencies)
        classes = form_classes(recoding, frequencies)
        suppressed = frequencies.records - classes.records
        return (float(objective.costs((), classes).sum()) + objective.loss * suppressed) / objective.scale

    def objective(self, frequencies: Frequencies) -> ClassificationObjective:
        target = self._choose_target([attribute.name for attribute in frequencies.sensitive])
        return ClassificationObjective(frequencies, target, *self.factors)

    def _choose_target(self, names: Sequence[str]) -> str:
        if self.target is None and len(names) == 1:
            return names[0]
        if self.target is None or self.target not in names:
            known = quoted(names) or "none"
            got = "; there is no default" if self.target is None else f"; got {self.target}"
            raise ParameterError(
                f"`target` of `{self.title}` must be one of the sensitive columns ({known}){got}.",
                hint="give the attribute to predict the role `sensitive` and name it as `target`",
            )
        return self.target


class ClassificationObjective(ClassObjective):
    """The training error of the nodes of one table."""

    def __init__(self, frequencies: Frequencies, target: str, generalization: float, suppression: float) -> None:
        super().__init__(frequencies, generalization, suppression)
        self.sensitive = (target,)
        self.values = max(next(a.size for a in frequencies.sensitive if a.name == target), 1)
        lowest = float(self.costs((), Classes.from_tuples(frequencies)).sum()) / self.scale
        self.lowest = lowest if self.superadditive else 0.0

    def costs(self, levels: Sequence[int], classes: Classes) -> Costs:
        histogram = classes.histogram(self.sensitive[0])
        majorities = np.zeros(len(classes), dtype=np.int64)
        occupied = np.diff(histogram.offsets) > 0
        if occupied.any():
            majorities[occupied] = np.maximum.reduceat(histogram.counts, histogram.offsets[:-1][occupied])
        return np.asarray(self.generalization * (classes.sizes - majorities), dtype=np.float64)

    def floor(self, levels: Sequence[int]) -> float:
        """Return a lower bound for all nodes: the error of the best prediction from the original values."""
        return self.lowest

    def excess(self, levels: Sequence[int], lost: Classes) -> float:
        """Return what the suppression of the ``lost`` classes adds to the bound of any node below this one.

        Their histograms are not at hand, but the most frequent of v values has at least |E| / v records.
        """
        if not self.superadditive:
            return 0.0
        majorities = -(-lost.sizes // self.values)
        added = self.loss * lost.sizes - self.generalization * (lost.sizes - majorities)
        return float(added.sum()) / self.scale
