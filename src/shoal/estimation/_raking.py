"""A pool of possible records, weighted so that it agrees with all tables at once.

The pool is drawn from a tree of the pairs that tell most (Chow and Liu), then raked: for one table after the other the
weights of each of its classes are multiplied so that they add up to what the table says, and those of all hidden
classes to what is left. The factors of later rounds are damped, so that tables that disagree by their noise meet in
the middle. The pool is no set of records: nobody in it need exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.estimation._margins import Codes, Joint, Margin, Margins
from shoal.kernels import Floats

__all__ = ["POOL", "RakedPool", "raked"]

#: Records of a pool by default: more make sampling errors smaller, and everything slower.
POOL = 200_000
_ROUNDS, _FREE, _AGAIN = 20, 10, 4
_LARGEST_FACTOR = 5.0
REPLICATES = 10

Parts = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class _Constraint:
    """The class of every record of the pool in one table, the last one for all that it hides, and what they must be."""

    parts: Parts
    targets: Floats
    deviation: float


@dataclass(frozen=True, eq=False)
class RakedPool:
    """Possible records: codes at the lowest level of each column, and weights."""

    codes: Codes
    weights: Floats
    constraints: Sequence[_Constraint]

    @cached_property
    def replicates(self) -> Floats:
        """The weights that other noise of the same size would have given, one row each."""
        return _replicated(self.weights, self.constraints, REPLICATES, np.random.default_rng(1))


def raked(margins: Margins, *, size: int, seed: int) -> RakedPool:
    """Draw a pool and rake it; the seed decides nothing but which records the pool has."""
    generator = np.random.default_rng(seed)
    codes = _drawn(margins, size, generator)
    constraints = [_constraint(margins, table, codes) for table in margins.tables]
    if margins.joint is not None:
        constraints.append(_joint_constraint(margins, margins.joint, codes))
    weights = np.full(size, margins.records / size)
    for number in range(_ROUNDS):
        weights = _round(weights, constraints, 1.0 if number < _FREE else 1 / (2 + number - _FREE))
    weights *= margins.records / weights.sum()
    return RakedPool(codes, weights, constraints)


def _replicated(
    weights: Floats, constraints: Sequence[_Constraint], number: int, generator: np.random.Generator
) -> Floats:
    """Rake again to tables with fresh noise around what the pool says; from there it is not far."""
    found = np.empty((number, len(weights)))
    for row in found:
        moved = []
        for each in constraints:
            fitted = np.bincount(each.parts, weights, minlength=len(each.targets))
            noise = generator.normal(0, each.deviation, len(fitted) - 1)
            shown = np.where(each.targets[:-1] > 0, np.maximum(fitted[:-1] + noise, 0), 0)
            moved.append(_Constraint(each.parts, np.append(shown, fitted[-1]), each.deviation))
        again = weights
        for step in range(_AGAIN):
            again = _round(again, moved, 1 / (1 + step))
        row[:] = again
    return found


def _round(weights: Floats, constraints: Sequence[_Constraint], damping: float) -> Floats:
    for each in constraints:
        now = np.bincount(each.parts, weights, minlength=len(each.targets))
        factors = np.divide(each.targets, now, out=np.ones_like(now), where=now > 0)
        factors = np.clip(factors, 1 / _LARGEST_FACTOR, _LARGEST_FACTOR) ** damping
        weights = weights * factors[each.parts]
    return weights


def _constraint(margins: Margins, table: Margin, codes: Codes) -> _Constraint:
    lifted = np.stack(
        [margins.lift(j, level)[codes[:, j]] for j, level in zip(table.columns, table.levels, strict=True)], axis=1
    )
    sizes = [margins.size(*pair) for pair in zip(table.columns, table.levels, strict=True)]
    parts = _found(_packed(lifted, sizes), _packed(table.codes, sizes))
    return _targeted(margins, parts, table)


def _joint_constraint(margins: Margins, joint: Joint, codes: Codes) -> _Constraint:
    """Look for the class of every record, one choice of levels after the other; no two classes share a record."""
    lifted: dict[tuple[int, int], Codes] = {}
    parts = np.full(len(codes), -1, dtype=np.int32)
    open_still = np.arange(len(codes))
    kinds, owners = np.unique(joint.levels, axis=0, return_inverse=True)
    for kind, levels in enumerate(kinds):
        own = np.flatnonzero(owners.ravel() == kind)
        sizes = [margins.size(j, int(level)) for j, level in enumerate(levels)]
        used = [j for j, size in enumerate(sizes) if size > 1]
        for j in used:
            if (j, int(levels[j])) not in lifted:
                lifted[j, int(levels[j])] = margins.lift(j, int(levels[j]))[codes[:, j]]
        rows = [lifted[j, int(levels[j])][open_still] for j in used]
        places = _matched(rows, [joint.codes[own, j] for j in used], [sizes[j] for j in used], len(open_still))
        inside = places >= 0
        parts[open_still[inside]] = own[places[inside]]
        open_still = open_still[~inside]
    return _targeted(margins, parts, joint)


def _matched(rows: Sequence[Codes], own: Sequence[Codes], sizes: Sequence[int], number: int) -> Parts:
    """Return the place of each of so many rows among others, column by column, so that no key grows large."""
    keys, going = np.zeros(number, dtype=np.int64), np.arange(number)
    ranks = np.zeros(len(own[0]) if own else 1, dtype=np.int64)
    for column, codes, size in zip(rows, own, sizes, strict=True):
        prefixes, ranks = np.unique(ranks * size + codes, return_inverse=True)
        found = _found(keys * size + column[going], prefixes)
        keys, going = found[found >= 0].astype(np.int64), going[found >= 0]
    places = np.full(number, -1, dtype=np.int32)
    places[going] = np.argsort(ranks)[keys]
    return places


def _targeted(margins: Margins, parts: Parts, table: Margin | Joint) -> _Constraint:
    """Ask for the sizes of the shown classes, and for what is left in the hidden ones."""
    rest = max(margins.records - float(table.sizes.sum()), 0.0)
    hidden = np.where(parts < 0, len(table.sizes), parts).astype(np.int32)
    return _Constraint(hidden, np.append(table.sizes, rest), float(np.sqrt(table.variance)))


def _found(keys: Codes, own: Codes) -> Parts:
    """Return the place of each key among others, -1 where it is not there."""
    order = np.argsort(own)
    places = np.searchsorted(own[order], keys)
    inside = places < len(own)
    inside[inside] = own[order][places[inside]] == keys[inside]
    found = np.full(len(keys), -1, dtype=np.int32)
    found[inside] = order[places[inside]]
    return found


def _packed(codes: Codes, sizes: Sequence[int]) -> Codes:
    keys = np.zeros(len(codes), dtype=np.int64)
    for place, size in enumerate(sizes):
        keys = keys * size + codes[:, place]
    return keys


# -- the tree


@dataclass(frozen=True, eq=False)
class _Edge:
    """A pair of columns with the shares of its classes at their levels, and how much these tell."""

    columns: tuple[int, int]
    levels: tuple[int, int]
    shares: Floats
    information: float

    def turned(self) -> _Edge:
        """Return the edge with its columns exchanged."""
        return _Edge(self.columns[::-1], self.levels[::-1], self.shares.T, self.information)


def _drawn(margins: Margins, size: int, generator: np.random.Generator) -> Codes:
    """Draw columns one after the other, each given the one that it goes with most, from left to right along a tree."""
    alone = [counts / counts.sum() for counts in map(margins.of_column, range(len(margins.names)))]
    edges = sorted(_edges(margins, alone), key=lambda edge: -edge.information)
    codes = np.zeros((size, len(alone)), dtype=np.int64)
    first = edges[0].columns[0] if edges else 0
    codes[:, first] = generator.choice(len(alone[first]), size, p=alone[first])
    done = {first}
    while len(done) < len(alone):
        edge = next((each for each in edges if len({*each.columns} & done) == 1), None)
        if edge is None:
            column = min({*range(len(alone))} - done)
            codes[:, column] = generator.choice(len(alone[column]), size, p=alone[column])
        else:
            edge = edge if edge.columns[0] in done else edge.turned()
            column = edge.columns[1]
            codes[:, column] = _given(margins, edge, codes[:, edge.columns[0]], alone[column], generator)
        done.add(column)
    return codes


def _given(margins: Margins, edge: _Edge, known: Codes, alone: Floats, generator: np.random.Generator) -> Codes:
    """Draw a column given another one: its class by the pair, its value inside the class as in the column alone."""
    (one, other), (level, own) = edge.columns, edge.levels
    classes, lifted = margins.lift(one, level)[known], margins.lift(other, own)
    inside = alone / np.maximum(np.bincount(lifted, alone)[lifted], 1e-300)
    found = np.zeros(len(known), dtype=np.int64)
    for each in np.unique(classes):
        rows = np.flatnonzero(classes == each)
        shares = edge.shares[each]
        chances = (shares[lifted] if shares.sum() > 0 else np.bincount(lifted, alone)[lifted]) * inside
        found[rows] = generator.choice(len(alone), len(rows), p=chances / chances.sum())
    return found


def _edges(margins: Margins, alone: Sequence[Floats]) -> list[_Edge]:
    found = []
    for table in margins.tables:
        if len(table.columns) != 2:
            continue
        (one, other), (level, own) = table.columns, table.levels
        first, second = (np.bincount(margins.lift(j, at), alone[j]) for j, at in ((one, level), (other, own)))
        independent: Floats = np.outer(first, second).astype(np.float64)
        shares: Floats = np.zeros(independent.shape)
        shares[table.codes[:, 0], table.codes[:, 1]] = table.sizes / margins.records
        hidden = np.where(shares > 0, 0.0, independent)
        rest = max(1 - float(shares.sum()), 1e-6)
        shares = shares + hidden * (rest / hidden.sum() if hidden.sum() > 0 else 0.0)
        shares = shares / shares.sum()
        logs = np.log(np.maximum(shares, 1e-12) / np.maximum(independent, 1e-12))
        found.append(_Edge((one, other), (level, own), shares, float((shares * logs).sum())))
    return found
