"""Homogeneous classes under closeness in the earth mover's distance, or under any model of classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import RequirementError
from shoal.kernels import Counts, Floats, Integers
from shoal.methods.classes._blocks import blocked_mdav
from shoal.methods.classes._closeness_first import closeness_first
from shoal.methods.classes._mdav import mdav
from shoal.methods.classes._partition import Partition, merged, squared_error
from shoal.methods.classes._run import classes_of, satisfied, verdict
from shoal.models import Classes, Model
from shoal.tables import SensitiveAttribute

Strategy = Literal["best", "closeness-first", "merge-first"]
"""Give every class its share of the confidential values; or cluster by quasi-identifiers and merge what fails; or do
both and keep the better."""

BLOCKED, BLOCK_ROWS = 200_000, 50_000
"""Tables with more records are clustered in blocks of so many."""


def microaggregate_points(
    places: Floats,
    sensitive: tuple[SensitiveAttribute, ...],
    codes: NDArray[np.integer],
    models: Sequence[Model],
    strategy: Strategy,
    clusters: Callable[[int], Partition] | None = None,
    persons: Integers | None = None,
    *,
    shown: bool = False,
    totals: Mapping[str, Counts] | None = None,
) -> Partition:
    """Partition records into homogeneous classes that satisfy all models.

    ``codes`` has one row per record. ``clusters`` makes the classes to begin with, of at least so many records; by
    default MDAV does. ``persons`` is the person of every record; without, every record is of a person of its own.
    Classes to begin with have so many records; those that have too few persons are merged with their neighbours, before
    values are looked at. ``shown`` says whether quasi-identifiers are released as they are; see `readings`. ``totals``
    say how often every sensitive value occurs in the release, where these are not all of its records: classes are
    compared with it, and so must be able to keep the models as one class.

    Guarantee
    ---------
    Syntactic: every model holds for every class, decided exactly on the result [Bild24 Def. 4 for t-closeness].
    Whatever the strategy leaves failing is merged.

    Examples
    --------
    >>> from shoal.models import KAnonymity, TCloseness
    >>> charge = SensitiveAttribute(name="charge", size=6, ordered=True)
    >>> ages, charges = np.array([[20.0], [21], [22], [60], [61], [62]]), np.array([[0], [5], [1], [4], [2], [3]])
    >>> wanted = (KAnonymity(2), TCloseness("charge", 0.2))
    >>> microaggregate_points(ages, (charge,), charges, wanted, "best").labels.tolist()
    [0, 0, 2, 2, 1, 1]
    """

    def repair(some: Floats, rows: Integers, start: Partition) -> Partition:
        chosen, whose = codes[rows], None if persons is None else persons[rows]

        def kept(promises: Sequence[Model], start: Partition) -> Partition:
            try:
                return merged(
                    some,
                    start,
                    lambda own: verdict(promises, own, sensitive, chosen, whose, shown=shown, totals=totals),
                )
            except RequirementError:
                if totals is None or len(rows) == len(places):
                    raise
                return Partition(np.zeros(len(rows), np.int32))  # a trial on some of the records, farther than all are

        crowds = [model for model in models if model.capabilities.decided_by_size]
        return kept(models, start if whose is None else kept(crowds, start))

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
    limit, holds = float(model.capabilities.earth_mover or 0), model.holds
    if totals is not None:
        # a distance: these records lie so far from all, and their classes may lie as far from them as is left
        together = classes_of(Partition(np.zeros(len(places), np.int32)), sensitive, codes).among(totals)
        limit = max(limit - float(model.achieved(together)["t"]), 0.0)
        holds = partial(_hold_among, model, totals)
    made = closeness_first(places, sensitive[column], codes[:, column], t=limit, k=k, holds=holds, repair=repair)
    return min([made, *found], key=lambda partition: squared_error(places, partition))


def _hold_among(model: Model, totals: Mapping[str, Counts], classes: Classes) -> bool:
    """Say whether classes keep a model in a release of them and all other records."""
    return bool(satisfied([model], classes.among(totals))[: len(classes)].all())


def _clusters(places: Floats, k: int) -> Partition:
    # points are scaled already, and categories are points too, so MDAV runs in the compiled kernel
    if len(places) > BLOCKED:
        return blocked_mdav(places, k, block_rows=BLOCK_ROWS, repair=0)
    return mdav(places, k)
