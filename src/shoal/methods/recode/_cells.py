"""Cell suppression: suppress single cells instead of the record where that suffices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shoal.hierarchies import Hierarchy
from shoal.methods.base import Watch
from shoal.methods.recode._draft import Draft
from shoal.methods.recode._lattice import Levels, Mask
from shoal.methods.recode._rounds import Prices, rounds
from shoal.models import Model
from shoal.quality import CellObjective, Loss, Measure
from shoal.tables import Frequencies

__all__ = ["suppress_cells"]


def suppress_cells(
    frequencies: Frequencies, levels: Levels, kept: Mask, models: Sequence[Model], measure: Measure, watch: Watch
) -> Draft:
    """Return the release of a node in which suppressed records come back with some of their cells as ``*``.

    The suppressed records are released round by round: each takes the set of cells to suppress that costs least for
    the records it brings back, and releases the classes that satisfy the models.

    Parameters
    ----------
    levels, kept
        The node, and the rows that it releases as they are.
    """
    narrow = _two_levels(frequencies, levels)
    objective = measure.objective(narrow)
    if not isinstance(objective, CellObjective) or not objective.monotone:
        objective = Loss(weights=measure.weights).objective(narrow)
    draft = Draft(frequencies)
    draft.generalize(kept, levels)
    for starred, released in rounds(narrow, ~kept, models, objective.tables, Prices(), watch):
        chosen = [
            h.height if star else level for h, level, star in zip(frequencies.hierarchies, levels, starred, strict=True)
        ]
        draft.generalize(released, chosen)
    return draft


def _two_levels(frequencies: Frequencies, levels: Levels) -> Frequencies:
    """Return the table at a node, whose only generalisation of a value is ``*``."""
    codes = np.empty_like(frequencies.codes)
    for j, (hierarchy, level) in enumerate(zip(frequencies.hierarchies, levels, strict=True)):
        codes[:, j] = hierarchy.codes[level][frequencies.codes[:, j]]
    narrow = tuple(_narrow(hierarchy, level) for hierarchy, level in zip(frequencies.hierarchies, levels, strict=True))
    return replace(frequencies, hierarchies=narrow, codes=codes)


def _narrow(hierarchy: Hierarchy, level: int) -> Hierarchy:
    chosen = [level] if level == hierarchy.height else [level, hierarchy.height]
    size = len(hierarchy.labels[level])
    return replace(
        hierarchy,
        labels=tuple(hierarchy.labels[kept] for kept in chosen),
        codes=tuple(np.arange(size, dtype=np.int32) if kept == level else np.zeros(size, np.int32) for kept in chosen),
        shares=tuple(hierarchy.shares[kept] for kept in chosen),
        leaves=tuple(hierarchy.leaves[kept] for kept in chosen),
        positions=None,
    )
