"""The choice of relations to show: the most telling ones, without those that follow from them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from shoal.relations._relation import KINDS, Relation
from shoal.relations._view import Array

_MULTIPLIED = ("product", "ratio", "ratio-squared")


def choose_relations(relations: Iterable[Relation]) -> list[Relation]:
    """Return the relations that do not follow from simpler ones, those that say most first."""
    ordered = sorted(relations, key=_simplicity)
    pairs = _choose_pairs([relation for relation in ordered if len(relation.columns) == 2])
    chosen = [*pairs, *_choose_formulas([relation for relation in ordered if len(relation.columns) > 2], pairs)]
    return sorted(chosen, key=lambda each: (KINDS.index(each.kind), each.target, each.inputs))


def _simplicity(relation: Relation) -> tuple[object, ...]:
    digits = sum(len(f"{abs(weight):.6g}") for weight in relation.weights)
    return (
        len(relation.columns),
        relation.approximate,
        -round(relation.share, 3) if len(relation.columns) > 2 else 0,
        KINDS.index(relation.kind),
        digits,
        relation.target,
        relation.inputs,
    )


def _choose_pairs(relations: list[Relation]) -> list[Relation]:
    """Return one relation for each two columns; columns that are maps of each other count as one."""
    same: dict[str, str] = {}
    chosen: list[Relation] = []
    seen: set[frozenset[str]] = set()
    both_ways = [relation for relation in relations if len(relation.gives) == 2]
    for relation in both_ways:
        first, second = (_first(same, name) for name in relation.columns)
        if first != second:
            same[max(first, second)] = min(first, second)
            chosen.append(relation)
    for relation in relations:
        names = frozenset(_first(same, name) for name in relation.columns)
        if len(relation.gives) == 1 and len(names) == 2 and names not in seen:
            seen.add(names)
            chosen.append(relation)
    return chosen


def _choose_formulas(relations: list[Relation], pairs: list[Relation]) -> list[Relation]:
    """Return the formulas that neither repeat another with a map of its columns nor are a combination of others."""
    same: dict[str, str] = {}
    for relation in pairs:
        first, second = (_first(same, name) for name in relation.columns)
        if relation.kind in ("equal", "linear", "monotone", "rounding") and first != second:
            same[max(first, second)] = min(first, second)
    chosen: list[Relation] = []
    seen: set[frozenset[str]] = set()
    for relation in relations:
        names = frozenset(_first(same, name) for name in relation.columns)
        if names in seen or len(names) < len(relation.columns):
            continue
        multiplied = relation.kind in _MULTIPLIED
        alike = [each for each in chosen if (each.kind in _MULTIPLIED) == multiplied]
        linear = [] if multiplied else [each for each in pairs if each.kind in ("linear", "rounding")]
        if not _is_combination(relation, [*alike, *linear]):
            seen.add(names)
            chosen.append(relation)
    return chosen


def _first(same: dict[str, str], name: str) -> str:
    """Return the column that stands for all columns that are maps of each other."""
    while name in same:
        name = same[name]
    return name


def _is_combination(relation: Relation, others: list[Relation]) -> bool:
    """Return whether the weights of a relation are a combination of those of others."""
    others = [other for other in others if other.weights]
    if not others or not relation.weights:
        return False
    names = sorted({name for each in (relation, *others) for name in each.columns})
    matrix = np.array([_row(other, names) for other in others]).T
    row = _row(relation, names)
    solved, *_ = np.linalg.lstsq(matrix, row, rcond=None)
    return bool(np.abs(matrix @ solved - row).max() <= 0.02 * np.abs(row).max())


def _row(relation: Relation, names: list[str]) -> Array:
    weights = dict(zip(relation.columns, relation.weights, strict=True))
    row = np.array([weights.get(name, 0.0) for name in names])
    return np.asarray(row / np.abs(row).max())
