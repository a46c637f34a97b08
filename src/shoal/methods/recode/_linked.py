"""Recoding where records stay linked: everybody shares all their released records with k - 1 others."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shoal import tables
from shoal.errors import ParameterError, RequirementError, ShoalError
from shoal.kernels import Mask
from shoal.methods.base import Watch
from shoal.methods.recode._judge import Limits
from shoal.methods.recode._lattice import Lattice, Levels
from shoal.methods.recode._result import SearchResult, Solution
from shoal.models import KAnonymity, Model
from shoal.quality import CellObjective, Measure
from shoal.schema import Schema
from shoal.tables import Encoded, Frequencies, Holders, Recoding, Table

#: more nodes than this are not gone through one by one
_NODES = 200_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Linked:
    """What is released of whom."""

    #: The persons that are released.
    kept: Mask
    #: The recoding of the tuples, for the records of these persons.
    whole: Recoding
    #: Every tuple twice, the records of the released persons and those of the others, and what becomes of each.
    frequencies: Frequencies
    recoding: Recoding
    #: The records of the others.
    suppressed: int

    @classmethod
    def of(cls, frequencies: Frequencies, whole: Recoding, kept: Mask, k: int) -> Linked:
        """Leave out all persons who are not kept, after counting once more that k share all their records."""
        holders = frequencies.holders
        assert holders is not None  # noqa: S101 - without several records of a person there are no links
        check_linked(holders, whole.classes, kept, k)
        pairs, rows = kept[holders.persons], len(frequencies.counts)
        left = np.bincount(holders.tuples[pairs], weights=holders.records[pairs], minlength=rows).astype(np.int64)
        occupied = np.zeros(whole.number, dtype=np.bool_)
        occupied[whole.classes[left > 0]] = True
        numbers = np.where(occupied, np.cumsum(occupied) - 1, -1)
        classes = np.where(left > 0, numbers[whole.classes], -1).astype(np.int32)
        whole = replace(whole, classes=classes, codes=whole.codes[occupied])
        twice = replace(
            frequencies,
            codes=np.asfortranarray(np.concatenate([frequencies.codes, frequencies.codes])),
            counts=np.concatenate([left, frequencies.counts - left]),
            sensitive_codes=np.asfortranarray(
                np.concatenate([frequencies.sensitive_codes, frequencies.sensitive_codes])
            ),
            population=None,
            residents=None,
            holders=replace(holders, tuples=np.where(pairs, holders.tuples, holders.tuples + rows)),
        )
        nothing = np.full(rows, -1, dtype=np.int32)
        return cls(
            kept=kept,
            whole=whole,
            frequencies=twice,
            recoding=replace(whole, classes=np.concatenate([classes, nothing])),
            suppressed=int((frequencies.counts - left).sum()),
        )

    def applied(self, table: Table, encoded: Encoded, key: bytes | None) -> Table:
        """Return the released table."""
        assert encoded.persons is not None  # noqa: S101 - somebody has several records
        return tables.apply(encoded.persons.only(table, self.kept), encoded, self.whole, key=key)


def link_problems(schema: Schema, models: Sequence[Model]) -> list[str]:
    """Return what keeps links from being kept with a schema and promises."""
    problems = []
    if schema.person is None or not schema[schema.person].pseudonym:
        problems.append('`links = "kept"` needs a column with role = "person" and pseudonym = true')
    return problems + [
        f'`links = "kept"` supports only `KAnonymity`; `{model.title}` says nothing about linked records'
        for model in models
        if model.name != KAnonymity.name
    ]


def best_local(
    recode: Callable[[int], SearchResult], frequencies: Frequencies, measure: Measure, k: int, allowed: int
) -> tuple[Linked, SearchResult] | None:
    """Return the best of several local recodings, or None where all leave out more records than are allowed.

    A local recoding looks at single records, and the finer it is, the fewer persons share all of theirs. So it is made
    for crowds of k, 2k, 4k, ... persons; in each, whoever does not share all records with k - 1 others is left out, and
    so is whoever has a record that the recoding leaves out. Persons with the same released records are kept or left out
    together, so that those who are kept share theirs with k - 1 others who are kept: once is enough, and that is exact.
    """
    holders = frequencies.holders
    assert holders is not None  # noqa: S101 - without several records of a person there are no links
    best: tuple[Linked, SearchResult] | None = None
    crowd = k
    while crowd <= max(holders.people, k):
        try:
            recoded = recode(crowd)
        except RequirementError:
            break
        whole = recoded.recoding
        labels = np.where(whole.classes < 0, whole.number, whole.classes)
        complete = np.ones(holders.number, dtype=np.bool_)
        complete[holders.persons[whole.classes[holders.tuples] < 0]] = False
        released = Linked.of(frequencies, whole, complete & (holders.sharing(labels) >= k), k)
        if released.suppressed <= allowed and released.kept.any():
            value = measure.value(released.recoding, released.frequencies)
            said = (
                f"Made for groups of {crowd:,} persons; anyone who does not share all their records with "
                f"{k - 1:,} others was left out."
            )
            result = replace(
                recoded, recoding=released.recoding, value=value, suppressed=released.suppressed, notes=(said,)
            )
            if best is None or value < best[1].value:
                best = released, result
        crowd *= 2
    return best


def best_linked(
    frequencies: Frequencies, objective: CellObjective, measure: Measure, k: int, limits: Limits, watch: Watch
) -> tuple[Linked, SearchResult]:
    """Go through the nodes, the cheapest first, until all that are left cost more than the best one found.

    The released records of a person are a multiset of classes, and k persons must share it; all others are suppressed
    with all their records. Whoever shares at a node shares at every node above it, so a node at which too many records
    are suppressed rules out all nodes below. When the effort is over, the best node so far is taken, with the bound
    that is left.
    """
    holders = frequencies.holders
    assert holders is not None  # noqa: S101 - without several records of a person there are no links
    lattice = Lattice(frequencies, objective.tables, enough=k, effort=limits.effort)
    if lattice.nodes > _NODES:
        raise ParameterError(
            f'`links = "kept"` goes through all generalisations one by one, and there are {lattice.nodes:,}.',
            hint="give columns fewer levels",
        )
    floors = [(floors / objective.scale).tolist() for floors in objective.floors]
    every = itertools.product(*(range(height + 1) for height in lattice.heights))
    ordered = sorted((sum(own[level] for own, level in zip(floors, levels, strict=True)), levels) for levels in every)
    owned = np.bincount(holders.persons, weights=holders.records, minlength=holders.number).astype(np.int64)
    best: tuple[Solution, Mask] | None = None
    impossible: list[Levels] = []
    checked, least, bound = 0, frequencies.records, math.inf
    for floor, levels in ordered:
        if best is not None and floor > best[0].value * (1 + 1e-12):
            break
        if best is not None and limits.effort.over:
            bound = min(floor, best[0].value)
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
        cost = float((node.costs[labels[holders.tuples[pairs]]] * holders.records[pairs]).sum())
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
    solution, kept = best
    released = Linked.of(frequencies, lattice.recoding(solution.levels), kept, k)
    return released, SearchResult(
        recoding=released.recoding,
        measure=measure,
        value=solution.value,
        bound=min(bound, solution.value),
        records=frequencies.records,
        suppressed=solution.suppressed,
        checked=checked,
        pruned=lattice.nodes - checked,
        nodes=lattice.nodes,
        solutions=(solution,),
    )


def check_linked(holders: Holders, labels: npt.NDArray[np.integer], kept: Mask, k: int) -> None:
    """Count once more, one person at a time, how many share all their released records."""
    trajectories: dict[int, Counter[int]] = defaultdict(Counter)
    for row, person, count in zip(holders.tuples, holders.persons, holders.counts, strict=True):
        if kept[person]:
            trajectories[int(person)][int(labels[row])] += int(count)
    shared: Counter[frozenset[tuple[int, int]]] = Counter()
    for person, each in trajectories.items():
        shared[frozenset(each.items())] += 1 if holders.times is None else int(holders.times[person])
    if min(shared.values(), default=k) < k or any(-1 in trajectory for trajectory in trajectories.values()):
        raise ShoalError(
            "persons do not share their records as promised; nothing was released",
            hint="this is a bug in Shoal: please report it",
        )
