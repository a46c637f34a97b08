"""What there is to see of a search: the best solutions, what they risk, and the lattice."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.methods.recode import Lattice, SearchResult
from shoal.models import Model
from shoal.tables import Frequencies

__all__ = ["number", "search"]

_NODES, _SOLUTIONS = 1500, 12
#: solutions whose risk is computed, and the seconds that this may take
_POINTS, _PATIENCE = 40, 0.25


def search(found: SearchResult, frequencies: Frequencies, models: Sequence[Model]) -> dict[str, Any]:
    return {
        "attributes": list(found.recoding.attributes),
        # a value of every level says more than its number
        "examples": [
            [labels[(len(labels) - 1) // 2] for labels in hierarchy.labels] for hierarchy in frequencies.hierarchies
        ],
        "measure": found.measure.title,
        "value": number(found.value),
        "bound": number(found.bound),
        "optimal": found.optimal,
        "suppressed": found.suppressed,
        "records": found.records,
        "checked": found.checked,
        "nodes": found.nodes,
        "levels": None if found.levels is None else list(map(int, found.levels)),
        "explanation": found.explain().splitlines(),
        "solutions": [
            {"levels": list(map(int, each.levels)), "value": number(each.value), "suppressed": int(each.suppressed)}
            for each in found.solutions[:_SOLUTIONS]
        ],
        "lattice": _lattice(found),
        "frontier": _frontier(found, frequencies, models),
    }


def _frontier(found: SearchResult, frequencies: Frequencies, models: Sequence[Model]) -> list[dict[str, Any]]:
    """Return the average risk of some solutions, the best first and then others of the whole range of values."""
    if found.lattice is None or found.levels is None or any(model.capabilities.population for model in models):
        return []
    explored, started = found.lattice, time.monotonic()
    order = np.argsort(explored.values, kind="stable")[: int(np.isfinite(explored.values).sum())]
    spread = order[np.linspace(0, len(order) - 1, min(len(order), _POINTS)).astype(int)]
    lattice, points = Lattice(frequencies), []
    for i in dict.fromkeys([*order[:_SOLUTIONS].tolist(), *spread.tolist()]):
        node = lattice.node(tuple(map(int, explored.levels[i])))
        kept = node.keep(models)
        points.append(
            {
                "levels": explored.levels[i].tolist(),
                "value": number(float(explored.values[i])),
                "risk": float(kept.sum() / max(node.sizes[kept].sum(), 1)),
                "suppressed": int(explored.suppressed[i]),
            }
        )
        if time.monotonic() - started > _PATIENCE:
            break
    return [point | {"beaten": _beaten(point, points)} for point in points]


def _beaten(point: dict[str, Any], points: Sequence[dict[str, Any]]) -> bool:
    """Return whether another solution is as good in both figures, and better in one."""
    mine = (point["risk"], point["value"])
    both = [(other["risk"], other["value"]) for other in points]
    return any(other[0] <= mine[0] and other[1] <= mine[1] and other != mine for other in both)


def _lattice(found: SearchResult) -> dict[str, Any] | None:
    if found.lattice is None:
        return None
    lattice = found.lattice
    order = np.argsort(lattice.values, kind="stable")[:_NODES]
    return {
        "heights": list(map(int, lattice.heights)),
        "nodes": [
            {
                "levels": lattice.levels[i].tolist(),
                "value": number(float(lattice.values[i])),
                "suppressed": int(lattice.suppressed[i]),
            }
            for i in order
        ],
    }


def number(value: float | None) -> float | None:
    """Return a number that JSON knows, or None."""
    return None if value is None or not math.isfinite(value) else float(value)
