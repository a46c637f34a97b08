"""Quality measures: figures for reports and objectives for searches, one file per measure or family of measures."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from shoal.errors import ParameterError, find_by_name, quoted
from shoal.quality._ambiguity import Ambiguity as Ambiguity
from shoal.quality._average_class_size import AverageClassSize as AverageClassSize
from shoal.quality._classification import Classification as Classification
from shoal.quality._discernibility import Discernibility as Discernibility
from shoal.quality._kl_divergence import KLDivergence as KLDivergence
from shoal.quality._loss import GeometricLoss as GeometricLoss
from shoal.quality._loss import InformationLoss as InformationLoss
from shoal.quality._loss import RecordLoss as RecordLoss
from shoal.quality._measure import CellObjective as CellObjective
from shoal.quality._measure import ClassObjective as ClassObjective
from shoal.quality._measure import Measure as Measure
from shoal.quality._measure import Objective as Objective
from shoal.quality._measure import form_classes as form_classes
from shoal.quality._non_uniform_entropy import NonUniformEntropy as NonUniformEntropy
from shoal.quality._precision import Precision as Precision
from shoal.quality._publisher_payoff import PublisherPayoff as PublisherPayoff

#: all measures, by name: a new one is imported above and gets a line here
_LISTED: tuple[type[Measure], ...] = (
    Ambiguity,
    AverageClassSize,
    Classification,
    Discernibility,
    GeometricLoss,
    KLDivergence,
    InformationLoss,
    NonUniformEntropy,
    Precision,
    PublisherPayoff,
    RecordLoss,
)
MEASURES: dict[str, type[Measure]] = {measure.name: measure for measure in _LISTED}
"""All measures by the names that plan files and ``quality=`` use."""


def by_name(name: str) -> type[Measure]:
    """Return the measure with this name."""
    return find_by_name("quality measure", name, MEASURES)


def as_measure(
    described: str | Mapping[str, object] | Measure,
    *,
    weights: Mapping[str, float] | None = None,
    balance: float = 0.5,
    owner: str = "a plan",
) -> Measure:
    """Return the measure that is named, described by its name and parameters as in a plan file, or given.

    Examples
    --------
    >>> as_measure({"name": "classification", "target": "income"}).label
    'classification of income'
    """
    if isinstance(described, Measure):
        return described
    given = {"name": described} if isinstance(described, str) else dict(described)
    parameters: dict[str, object] = {"weights": weights or {}, "balance": balance, **given}
    measure = by_name(str(parameters.pop("name", "loss")))
    strange = set(parameters) - {entry.name for entry in dataclasses.fields(measure)}
    if strange:
        names = quoted(sorted(strange))
        raise ParameterError(f"the measure `{measure.title}` of {owner} has no parameter {names}.")
    return measure(**parameters)  # type: ignore[arg-type]
