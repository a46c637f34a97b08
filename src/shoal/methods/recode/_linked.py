"""Full-domain recoding where records stay linked: everybody shares all their records with k - 1 others."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shoal.errors import ParameterError, RequirementError, ShoalError
from shoal.kernels import Mask
from shoal.methods.base import Watch
from shoal.methods.recode._judge import Limits
from shoal.methods.recode._lattice import Lattice, Levels, recoding_of
from shoal.methods.recode._result import Solution
from shoal.quality import CellObjective
from shoal.tables import Frequencies, Holders, Recoding

__all__ = ["LinkedNode", "best_linked", "check_linked"]

#: more nodes than this are not gone through one by one
_NODES = 200_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkedNode:
    """The best node, what it releases, and how many nodes were looked at.

    Parameters
    ----------
    solution
        The node.
    kept
        The persons that are released.
    whole
        The recoding of the tuples, for the records of these persons.
    frequencies, recoding
        Every tuple twice, the records of the released persons and those of the others, and what becomes of each.
    checked, nodes
        How many nodes were looked at, of how many.
    """

    solution: Solution
    kept: Mask
    whole: Recoding
    frequencies: Frequencies
    recoding: Recoding
    checked: int
    nodes: int


def best_linked(frequencies: Frequencies, objective: CellObjective, k: int, limits: Limits, watch: Watch) -> LinkedNode:
    """Go through the nodes, the cheapest first, until all that are left cost more than the best one found.

    The released records of a person are a multiset of classes, and k persons must share it; all others are suppressed
    with all their records. Whoever shares at a node shares at every node above it, so a node at which too many records
    are suppressed rules out all nodes below.
    """
    holders = frequencies.holders
    assert holders is not None  # noqa: S101 - without several records of a person there are no links
    lattice = Lattice(frequencies, objective.tables, enough=k)
    if lattice.nodes > _NODES:
        raise ParameterError(
            f'`links = "kept"` goes through all generalisations one by one, and there are {lattice.nodes:,}.',
            hint="give columns fewer levels",
        )
    floors = [(floors / objective.scale).tolist() for floors in objective.floors]
    every = itertools.product(*(range(height + 1) for height in lattice.heights))
    ordered = sorted((sum(own[level] for own, level in zip(floors, levels, strict=True)), levels) for levels in every)
    owned = np.bincount(holders.persons, weights=holders.counts, minlength=holders.number).astype(np.int64)
    best: tuple[Solution, Mask] | None = None
    impossible: list[Levels] = []
    checked, least = 0, frequencies.records
    for floor, levels in ordered:
        if best is not None and floor > best[0].value * (1 + 1e-12):
            break
        if any(all(a <= b for a, b in zip(levels, high, strict=True)) for high in impossible):
            continue
        watch.step(checked, lattice.nodes, f"{checked:,} nodes checked")
        checked += 1
        node = lattice.node(levels)
        labels = node.labels
        kept = holders.sharing(labels) >= k
        lost = int(owned[~kept].sum())
        least = min(least, lost)
        if lost > limits.suppressed or lost == frequencies.records:
            impossible.append(levels)
            continue
        pairs = kept[holders.persons]
        cost = float((node.costs[labels[holders.tuples[pairs]]] * holders.counts[pairs]).sum())
        found = Solution(levels=levels, value=(cost + objective.loss * lost) / objective.scale, suppressed=lost)
        if best is None or found.order < best[0].order:
            best = found, kept
    if best is None:
        raise RequirementError(
            f"No generalisation lets {k} persons share all their records while suppressing at most "
            f"{limits.suppressed:,} of {frequencies.records:,} records.",
            hint=f"a `suppression_limit` of {math.ceil(least / frequencies.records * 10_000) / 10_000} is enough, or "
            'cut the links: links = "cut", without a pseudonym'
            if least < frequencies.records
            else 'cut the links: links = "cut", without a pseudonym',
        )
    return _released(lattice, holders, *best, k, checked)


def _released(lattice: Lattice, holders: Holders, solution: Solution, kept: Mask, k: int, checked: int) -> LinkedNode:
    """Return what the node releases for the persons who are kept, after counting once more."""
    frequencies, node = lattice.frequencies, lattice.node(solution.levels)
    labels = node.labels
    check_linked(holders, labels, kept, k)
    pairs, rows = kept[holders.persons], len(frequencies.counts)
    left = np.bincount(holders.tuples[pairs], weights=holders.counts[pairs], minlength=rows).astype(np.int64)
    occupied = np.bincount(labels[left > 0], minlength=len(node.starts)) > 0
    whole = recoding_of(frequencies, solution.levels, labels, node.codes(), occupied)
    whole = replace(whole, classes=np.where(left > 0, whole.classes, -1).astype(np.int32))
    twice = replace(
        frequencies,
        codes=np.asfortranarray(np.concatenate([frequencies.codes, frequencies.codes])),
        counts=np.concatenate([left, frequencies.counts - left]),
        sensitive_codes=np.asfortranarray(np.concatenate([frequencies.sensitive_codes, frequencies.sensitive_codes])),
        population=None,
        residents=None,
        holders=replace(holders, tuples=np.where(pairs, holders.tuples, holders.tuples + rows)),
    )
    nothing = np.full(rows, -1, dtype=np.int32)
    return LinkedNode(
        solution=solution,
        kept=kept,
        whole=whole,
        frequencies=twice,
        recoding=replace(whole, classes=np.concatenate([whole.classes, nothing])),
        checked=checked,
        nodes=lattice.nodes,
    )


def check_linked(holders: Holders, labels: npt.NDArray[np.integer], kept: Mask, k: int) -> None:
    """Count once more, one person at a time, how many share all their released records."""
    trajectories: dict[int, Counter[int]] = defaultdict(Counter)
    for row, person, count in zip(holders.tuples, holders.persons, holders.counts, strict=True):
        if kept[person]:
            trajectories[int(person)][int(labels[row])] += int(count)
    shared = Counter(frozenset(each.items()) for each in trajectories.values())
    if min(shared.values(), default=k) < k:
        raise ShoalError(
            "persons do not share their records as promised; nothing was released",
            hint="this is a defect of Shoal: please report it",
        )
