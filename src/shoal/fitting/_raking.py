"""A pool of possible records, weighted so that it agrees with all tables as well as their noise allows.

The pool is drawn from a tree of the pairs that tell most (Chow and Liu). Its weights w are those that make

    the sum over all classes of (records of the class in the pool - what its table tells)^2 / (2 variance)

smallest, plus a little of the Kullback-Leibler divergence of w from equal weights. Every class has a multiplier, and w
is the product of the multipliers of the classes that a possible record is in; table after table the multipliers are set
to their best, all others kept, which is raking with targets that give way as far as they are uncertain. Large tables
come first; those of single columns, which know most of a class, and the number of all records have the last word in
every round. Rounds end when the weights hardly change any more. The pool is no set of records: nobody in it need exist.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError
from shoal.fitting._margins import Codes, Joint, Margin, Margins
from shoal.kernels import Floats

#: Records of a pool by default: more make sampling errors smaller, and everything slower.
POOL = 200_000
_ROUNDS, _AGAIN = 100, 4
#: Rounds end once no more than this share of all records moves in one.
_TOLERANCE = 2e-4
#: How much divergence counts, chosen on Adult: more says that tables tell less than they do.
_DIVERGENCE = 0.03
#: No class of the pool becomes smaller than this power of e.
_LEAST_LOG = -50.0
#: Estimates below so many deviations of the noise may well be noise; the tree is drawn without them.
_DOUBTFUL = 1.5
REPLICATES = 10
_LARGEST_KEY = 1 << 62

Parts = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]
#: How many further pools are drawn in place of impossible records.
_REDRAWS = 4


@dataclass(frozen=True, eq=False)
class _Constraint:
    """The class of every record of the pool in one table, the last one for all that it tells nothing of.

    ``targets`` are what the classes must be, ``variances`` how uncertain that is.
    """

    parts: Parts
    targets: Floats
    variances: Floats
    #: How much the table weighs in the number of all records; None for that number itself.
    share: float | None = 0.0


@dataclass(frozen=True, eq=False)
class RakedPool:
    """Different possible records: codes at the lowest level of each column, and weights."""

    codes: Codes
    weights: Floats
    constraints: Sequence[_Constraint]
    #: The logarithms of the multipliers of all classes, by table.
    multipliers: Sequence[Floats]

    @cached_property
    def replicates(self) -> Floats:
        """The weights that other noise of the same size would have given, one row each."""
        generator = np.random.default_rng(1)
        replicates = np.empty((REPLICATES, len(self.weights)))
        for row in replicates:
            moved, of_all = [], 0.0
            for constraint in self.constraints:
                fitted = np.bincount(constraint.parts, self.weights, minlength=len(constraint.targets))
                noise = generator.normal(0, np.sqrt(constraint.variances))
                noise[-1] = 0.0
                of_all += float(noise.sum()) * (constraint.share or 0.0)
                if constraint.share is None:
                    noise[0] = of_all
                moved.append(_Constraint(constraint.parts, fitted + noise, constraint.variances))
            row[:] = _fitted(self.weights, moved, self.multipliers, _AGAIN)[0]
        return replicates


def raked(
    margins: Margins,
    *,
    size: int,
    seed: int,
    rounds: int = _ROUNDS,
    is_impossible: Callable[[Codes], Mask] | None = None,
) -> RakedPool:
    """Draw a pool and rake it in at most so many rounds; the seed decides nothing but which records the pool has.

    Records that are impossible are drawn again; those that stay impossible are left out.
    """
    generator = np.random.default_rng(seed)
    codes = _drawn(margins, size, generator)
    if is_impossible is not None:
        codes = codes[~is_impossible(codes)]
        for _ in range(_REDRAWS):
            if len(codes) == size:
                break
            more = _drawn(margins, size, generator)
            codes = np.concatenate([codes, more[~is_impossible(more)]])[:size]
        size = len(codes)
        if not size:
            raise InputError("the rules of `impossible` in the schema leave no record possible")
    codes, times = _different(codes)
    constraints = [] if margins.joint is None else [_joint_constraint(margins, margins.joint, codes)]
    largest_first = sorted(margins.tables, key=lambda table: (len(table.columns) == 1, -len(table.sizes)))
    constraints += [_constraint(margins, table, codes) for table in largest_first]
    if margins.whole:
        constraints.append(_all_records(margins, len(codes)))
    drawn = times * (margins.records / size)
    weights, multipliers = _fitted(
        drawn, constraints, [np.zeros(len(constraint.targets)) for constraint in constraints], rounds
    )
    return RakedPool(codes, weights, constraints, multipliers)


def _different(codes: Codes) -> tuple[Codes, Floats]:
    """Return the different rows, sorted, and how often each is there."""
    ordered = codes[np.lexsort(codes.T[::-1])]
    starts = np.flatnonzero(np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1)))
    return ordered[starts], np.diff(starts, append=len(codes)).astype(np.float64)


def _fitted(
    weights: Floats, constraints: Sequence[_Constraint], multipliers: Sequence[Floats], rounds: int
) -> tuple[Floats, list[Floats]]:
    """Set the multipliers of one table after the other to their best, at most so many times."""
    solved = list(multipliers)
    for _ in range(rounds):
        before = weights
        for position, each in enumerate(constraints):
            now = np.bincount(each.parts, weights, minlength=len(each.targets))
            there = now > 0
            without = np.log(now[there]) - solved[position][there]
            best = np.zeros(len(now))
            best[there] = _agreed(without, each.targets[there], _DIVERGENCE * each.variances[there]) - without
            weights = weights * np.exp(np.where(there, best - solved[position], 0.0))[each.parts]
            solved[position] = best
        if np.abs(weights - before).sum() <= _TOLERANCE * weights.sum():
            break
    return weights, solved


def _agreed(log_size: Floats, target: Floats, softness: Floats) -> Floats:
    """Return the logarithm u of the size between that of the pool and the target: e^u + softness u = what both ask for.

    The left side grows and is convex, so that Newton's method converges from every point to the right of the solution.
    It must not start far from it: where e^u is large, a step makes u smaller by no more than 1.
    """
    asked = target + softness * log_size
    wanted = np.maximum(target, 0.0)
    # u >= _LEAST_LOG, so e^u = target + softness (log_size - u) is at most the second of these
    largest = np.minimum(log_size, np.log(wanted + softness * np.maximum(log_size - _LEAST_LOG, 1.0)))
    agreed: Floats = np.maximum(largest, np.log(np.maximum(wanted, 1e-300)))
    for _ in range(30):
        size = np.exp(agreed)
        agreed = np.maximum(agreed - (size + softness * agreed - asked) / (size + softness), _LEAST_LOG)
    return agreed


def _constraint(margins: Margins, table: Margin, codes: Codes) -> _Constraint:
    own = list(zip(table.columns, table.levels, strict=True))
    rows = [margins.lift(j, level)[codes[:, j]] for j, level in own]
    parts = _matched(rows, [*table.codes.T], [margins.size(*pair) for pair in own], len(codes))
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
        positions = _matched(rows, [joint.codes[own, j] for j in used], [sizes[j] for j in used], len(open_still))
        inside = positions >= 0
        parts[open_still[inside]] = own[positions[inside]]
        open_still = open_still[~inside]
    return _targeted(margins, parts, joint)


def _matched(rows: Sequence[Codes], own: Sequence[Codes], sizes: Sequence[int], number: int) -> Parts:
    """Return the place of each of so many rows among others, -1 where it is not there; both column by column.

    Keys of several columns are replaced by their ranks before they grow beyond 64 bits.
    """
    keys, going = np.zeros(number, dtype=np.int64), np.arange(number)
    classes, span = np.zeros(len(own[0]) if own else 1, dtype=np.int64), 1
    for column, codes, size in zip(rows, own, sizes, strict=True):
        if span * size >= _LARGEST_KEY:
            prefixes, classes = np.unique(classes, return_inverse=True)
            positions = _found(keys, prefixes)
            keys, going, span = positions[positions >= 0].astype(np.int64), going[positions >= 0], len(prefixes)
        keys, classes, span = keys * size + column[going], classes * size + codes, span * size
    places = np.full(number, -1, dtype=np.int32)
    places[going] = _found(keys, classes)
    return places


def _targeted(margins: Margins, parts: Parts, table: Margin | Joint) -> _Constraint:
    """Ask for the sizes of the classes that a table tells of, and for what is left in all others."""
    rest = max(margins.records - float(table.sizes.sum()), 0.0)
    other = np.where(parts < 0, len(table.sizes), parts).astype(np.int32)
    variances = np.full(len(table.sizes) + 1, table.variance)
    variances[-1] *= max(len(table.sizes), 1)
    share = 0.0
    if isinstance(table, Margin) and table.whole:
        share = margins.records_variance / (table.classes * table.variance)
    return _Constraint(other, np.append(table.sizes, rest), variances, share)


def _all_records(margins: Margins, size: int) -> _Constraint:
    """Ask for the number of records: rare classes cannot be below nothing, and would add up to too many."""
    uncertain = np.array([margins.records_variance] * 2)
    return _Constraint(np.zeros(size, dtype=np.int32), np.array([margins.records, 0.0]), uncertain, None)


def _found(keys: Codes, own: Codes) -> Parts:
    """Return the place of each key among others, -1 where it is not there."""
    order = np.argsort(own)
    places = np.searchsorted(own[order], keys)
    inside = places < len(own)
    inside[inside] = own[order][places[inside]] == keys[inside]
    positions = np.full(len(keys), -1, dtype=np.int32)
    positions[inside] = order[places[inside]]
    return positions


# -- the tree


@dataclass(frozen=True, eq=False)
class _Edge:
    """A pair of columns with the shares of its classes at their levels, and how much these tell."""

    columns: tuple[int, int]
    levels: tuple[int, int]
    shares: Floats
    information: float

    def turned(self) -> _Edge:
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
        edge = next((edge for edge in edges if len({*edge.columns} & done) == 1), None)
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
    codes = np.zeros(len(known), dtype=np.int64)
    for each in np.unique(classes):
        rows = np.flatnonzero(classes == each)
        shares = edge.shares[each]
        chances = (shares[lifted] if shares.sum() > 0 else np.bincount(lifted, alone)[lifted]) * inside
        codes[rows] = generator.choice(len(alone), len(rows), p=chances / chances.sum())
    return codes


def _edges(margins: Margins, alone: Sequence[Floats]) -> list[_Edge]:
    edges = []
    for table in margins.tables:
        if len(table.columns) != 2:
            continue
        (one, other), (level, own) = table.columns, table.levels
        first, second = (np.bincount(margins.lift(j, at), alone[j]) for j, at in ((one, level), (other, own)))
        independent: Floats = np.outer(first, second).astype(np.float64)
        shares: Floats = np.zeros(independent.shape)
        certain = np.where(table.sizes < _DOUBTFUL * np.sqrt(table.variance), 0.0, table.sizes)
        shares[table.codes[:, 0], table.codes[:, 1]] = certain / margins.records
        hidden = np.where(shares > 0, 0.0, independent)
        rest = max(1 - float(shares.sum()), 0.02)
        shares = shares + hidden * (rest / hidden.sum() if hidden.sum() > 0 else 0.0)
        shares = shares / shares.sum()
        logs = np.log(np.maximum(shares, 1e-12) / np.maximum(independent, 1e-12))
        edges.append(_Edge((one, other), (level, own), shares, float((shares * logs).sum())))
    return edges
