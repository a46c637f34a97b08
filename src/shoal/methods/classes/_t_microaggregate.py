"""Microaggregation under closeness in the earth mover's distance, or under any model of classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import ParameterError
from shoal.exact import Arguments
from shoal.methods.classes._blocked import blocked_mdav
from shoal.methods.classes._closeness_first import closeness_first
from shoal.methods.classes._distance import Scaling
from shoal.methods.classes._geometry import points
from shoal.methods.classes._mdav import mdav
from shoal.methods.classes._merge import merged
from shoal.methods.classes._method import PartitionMethod
from shoal.methods.classes._partition import Partition
from shoal.methods.classes._people import Classified, People, classes_of
from shoal.methods.classes._records import Records
from shoal.methods.classes._shapes import squared_error
from shoal.models import Classes, Model
from shoal.tables import SensitiveAttribute

__all__ = ["Strategy", "TMicroaggregate", "microaggregate_points", "satisfied", "t_microaggregate"]

Points = NDArray[np.float64]
Strategy = Literal["best", "closeness-first", "merge-first"]
"""Give every class its share of the confidential values; or cluster by quasi-identifiers and merge what fails; or do
both and keep the better."""

BLOCKED, BLOCK_ROWS = 200_000, 50_000
"""Tables with more records are clustered in blocks of so many."""


def t_microaggregate(
    quasi_identifiers: Records | ArrayLike,
    sensitive: Sequence[SensitiveAttribute],
    codes: NDArray[np.integer],
    models: Sequence[Model],
    *,
    strategy: Strategy = "best",
    scaling: Scaling = "z-score",
) -> Partition:
    """Partition records into homogeneous classes that satisfy all models.

    Parameters
    ----------
    quasi_identifiers
        Records, or a matrix of numbers with one row per record.
    sensitive, codes
        The confidential attributes that models look at, and their codes, one row per record.
    models
        What every class must satisfy, for example ``TCloseness("charge", 0.2)`` and ``KAnonymity(5)``.
    strategy
        ``"merge-first"``: MDAV with clusters of the least size that the models allow; then failing clusters are merged
        with their neighbours. Good for weak promises. ``"closeness-first"``: classes have about the right distribution
        from the beginning; better the stronger closeness is. ``"best"``: both, and the one with the lower sum of
        squared errors is kept; closeness first alone where there are more than 200,000 records.
    scaling
        What numbers are divided by before distances are taken; see `Space`.

    Guarantee
    ---------
    Syntactic: every model holds for every class, decided exactly on the result [Bild24 Def. 4 for t-closeness].
    Whatever the strategy leaves failing is merged.

    Assumptions
    -----------
    Those of the models. The confidential values themselves are released as they are.

    Examples
    --------
    >>> from shoal.models import KAnonymity, TCloseness
    >>> charge = SensitiveAttribute(name="charge", size=6, ordered=True)
    >>> ages, charges = [20.0, 21, 22, 60, 61, 62], np.array([[0], [5], [1], [4], [2], [3]])
    >>> wanted = (KAnonymity(2), TCloseness("charge", 0.2))
    >>> t_microaggregate(ages, [charge], charges, wanted).labels.tolist()
    [0, 0, 2, 2, 1, 1]
    """
    if strategy not in get_args(Strategy):
        raise ParameterError(f"`strategy` must be one of {', '.join(get_args(Strategy))}; got {strategy!r}.")
    places = points(Records.of(quasi_identifiers), scaling)
    return microaggregate_points(places, tuple(sensitive), codes, models, strategy)


def microaggregate_points(
    places: Points,
    sensitive: tuple[SensitiveAttribute, ...],
    codes: NDArray[np.integer],
    models: Sequence[Model],
    strategy: Strategy,
    clusters: Callable[[int], Partition] | None = None,
) -> Partition:
    """As `t_microaggregate`, for quasi-identifiers that are points already.

    ``clusters`` makes the classes to begin with, of at least so many records; by default MDAV does.
    """

    def repair(some: Points, rows: NDArray[np.int64], start: Partition) -> Partition:
        chosen = codes[rows]
        return merged(some, start, lambda partition: satisfied(models, classes_of(partition, sensitive, chosen)))

    k = min(max((model.capabilities.minimal_class_size for model in models), default=1), len(places))
    close = [model for model in models if model.capabilities.earth_mover is not None]
    found = []
    if strategy == "merge-first" or not close or (strategy == "best" and len(places) <= BLOCKED):
        start = _clusters(places, k) if clusters is None else clusters(k)
        found.append(repair(places, np.arange(len(places)), start))
    if strategy == "merge-first" or not close:
        return found[0]
    model = close[0]
    column = [attribute.name for attribute in sensitive].index(model.capabilities.sensitive[0])
    made = closeness_first(
        places,
        sensitive[column],
        codes[:, column],
        t=float(model.capabilities.earth_mover or 0),
        k=k,
        holds=lambda classes: bool(satisfied([model], classes).all()),
        repair=repair,
    )
    return min([made, *found], key=lambda partition: squared_error(places, partition))


def satisfied(models: Sequence[Model], classes: Classes) -> NDArray[np.bool_]:
    """Return which classes satisfy all models in a release of all of them."""
    everything = np.ones(len(classes), dtype=np.bool_)
    verdict = everything.copy()
    for model in models:
        verdict &= model.keep(classes, everything)
    return verdict


def _clusters(places: Points, k: int) -> Partition:
    # points are scaled already, and categories are points too, so MDAV runs in the compiled kernel
    if len(places) > BLOCKED:
        return blocked_mdav(places, k, block_rows=BLOCK_ROWS, repair=0, scaling="none")
    return mdav(places, k, scaling="none")


@dataclass(frozen=True, slots=True, kw_only=True)
class TMicroaggregate(PartitionMethod):
    """Group near records so that every class satisfies the promises; confidential values stay as they are.

    Made for t-closeness in the earth mover's distance; any promise about classes will do.

    Parameters
    ----------
    form
        What is released: ``microaggregated``, ``generalized`` or ``anatomy``; see :data:`Form`.
    strategy
        ``"best"``, ``"closeness-first"`` or ``"merge-first"``; see `t_microaggregate`.

    Guarantee
    ---------
    Syntactic: the promises, decided exactly on the released classes.

    Assumptions
    -----------
    Those of the promises.

    Examples
    --------
    >>> TMicroaggregate(strategy="merge-first").name
    't-microaggregate'
    """

    strategy: Strategy = "best"
    name: ClassVar[str] = "t-microaggregate"
    title: ClassVar[str] = "TMicroaggregate"

    def __post_init__(self) -> None:
        arguments = Arguments(self.title)
        arguments.choice("form", self.form, ("microaggregated", "generalized", "anatomy"))
        arguments.choice("strategy", self.strategy, get_args(Strategy))
        arguments.finish()

    def classify(self, people: People, models: Sequence[Model]) -> Classified:
        """Make classes by the strategy."""
        partition = microaggregate_points(people.points, people.sensitive, people.codes, models, self.strategy)
        return Classified(partition=partition)
