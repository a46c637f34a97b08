"""One intruder against one fold of classes: whom he picks, how sure he is, and what permuted rows would give him."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import ceil, log

import numpy as np

Array = np.ndarray

#: shares of the targets of which the intruder is surest
SLICES = (0.01, 0.05, 0.1, 1.0)
#: error of the lower bound of a success, and level of the permutation test
BOUND, LEVEL = 0.0025, 0.01
#: how many times the risk that a promise states an intruder may be right
MARGIN = 1.5
#: permutations of released rows within classes
PERMUTATIONS = 199
_TIE = 1e-9
#: records of the largest classes whose rows are assigned to people all at once
_ASSIGNED = 300


@dataclass(frozen=True, slots=True)
class StatedRisk:
    """The risk of re-identification that a promise states, if it states one; of every person, or on average."""

    stated: float | None
    is_mean: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """How often an intruder is right among the targets of which he is surest.

    Parameters
    ----------
    columns
        The released columns that he looks at.
    matching
        Whether he assigned all rows of a class at once instead of picking one.
    slice
        The share of the targets, the surest first.
    success
        The share of these for whom he picks the own record.
    equal
        The share for whom he picks a row that equals the own in every column.
    targets
        How many of them there are.
    lower
        The exact lower bound (level .0025) of the success.
    threshold
        The success above which a release is hollow; None where no promise states one.
    """

    columns: tuple[str, ...]
    matching: bool
    slice: float
    success: float
    equal: float
    targets: int
    lower: float
    threshold: float | None

    @property
    def exceeds(self) -> bool:
        """Whether the success surely exceeds the threshold."""
        return self.threshold is not None and self.lower > self.threshold and self.targets >= least(self.threshold)


def least(threshold: float) -> int:
    """Return how many targets a slice must have: with fewer, a run of luck exceeds the threshold.

    Examples
    --------
    >>> least(0.75), least(0.5)
    (21, 9)
    """
    return ceil(log(BOUND) / log(threshold)) if 0 < threshold < 1 else 10**9


def threshold_of(part: float, risk: StatedRisk) -> float | None:
    """Return the success that a promise of a risk allows among a share of the targets."""
    if risk.stated is None or (risk.is_mean and part < 1.0):
        return None
    return MARGIN * risk.stated if part == 1.0 else max(MARGIN * risk.stated, 0.5)


def lower_bound(successes: float, trials: int) -> float:
    """Return the exact binomial lower bound (Clopper and Pearson 1934) of a success.

    Examples
    --------
    >>> round(lower_bound(9, 9), 3)
    0.514
    """
    from scipy.special import betaincinv

    whole = int(np.floor(successes + 1e-9))
    return 0.0 if whole <= 0 else float(betaincinv(whole, trials - whole + 1, BOUND))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Picks:
    """What an intruder decides of the targets of a fold.

    ``weights[i]`` holds, for target i, the chance that he picks each row of its class, a row of an array as wide as the
    largest class.
    """

    columns: tuple[str, ...]
    matching: bool
    weights: Array
    sureness: Array
    #: the class of each target, numbered from 0, and its position in the class
    classes: Array
    positions: Array
    #: the number of a row's content in its class: equal rows have the same
    contents: Array

    def successes(self, positions: Array) -> Array:
        """Return the chance that each target is found, if its own row stands at a position."""
        return np.asarray(self.weights[np.arange(len(positions)), positions])

    def equals(self) -> Array:
        """Return the chance that the row that is picked equals the own."""
        own = self.contents[np.arange(len(self.positions)), self.positions]
        return np.asarray(np.sum(self.weights * (self.contents == own[:, None]), axis=1))


@dataclass(eq=False)
class Fold:
    """Targets in classes, the released rows of the classes, and random orders of them."""

    members: list[Array]
    seed: int
    #: How many releases of columns are tried in all: the more, the more permutations tell what is due to chance.
    tests: int = 1
    classes: Array = field(init=False)
    positions: Array = field(init=False)
    widest: int = field(init=False)

    def __post_init__(self) -> None:
        draws = np.random.default_rng(self.seed)
        sizes = np.array([len(each) for each in self.members])
        self.widest = int(sizes.max())
        self.classes = np.repeat(np.arange(len(sizes)), sizes)
        # rows are shown in a random order, so that ties favour nobody
        self.positions = np.concatenate([draws.permutation(size) for size in sizes])

    @cached_property
    def orders(self) -> Array:
        """Positions of the targets' rows when the rows of every class change places at random, once a row."""
        keys = np.random.default_rng((self.seed, 1)).random((self.tests * (PERMUTATIONS + 1) - 1, len(self.classes)))
        return self.positions[np.argsort(self.classes + keys, axis=1)]

    @property
    def targets(self) -> Array:
        """The records of the targets."""
        return np.concatenate(self.members)


def decide(fold: Fold, scores: Array, contents: Array, columns: tuple[str, ...]) -> list[Picks]:
    """Return the single picks and the matching of an intruder, given the score of every target with every row."""
    best = scores.max(axis=1, keepdims=True)
    near = scores >= best - _TIE * (1 + np.abs(best))
    weights = near / near.sum(axis=1, keepdims=True)
    chances = np.exp(scores - best)
    chances /= chances.sum(axis=1, keepdims=True)
    shared = partial(Picks, columns=columns, classes=fold.classes, positions=fold.positions, contents=contents)
    single = shared(matching=False, weights=weights, sureness=chances.max(axis=1))
    return [
        single,
        shared(matching=True, weights=_assign(fold, scores), sureness=_margin(fold, chances)),
    ]


def _assign(fold: Fold, scores: Array) -> Array:
    """Return the best assignment of rows to the people of every class."""
    from scipy.optimize import linear_sum_assignment

    weights = np.zeros_like(scores)
    start = 0
    for members in fold.members:
        size = len(members)
        block = scores[start : start + size, :size]
        if size <= _ASSIGNED:
            people, rows = linear_sum_assignment(block, maximize=True)
        else:
            people, rows = np.arange(size), block.argmax(axis=1)
        weights[start + people, rows] = 1.0
        start += size
    return weights


def _margin(fold: Fold, chances: Array) -> Array:
    """Return how sure an intruder is of a class: the mean chance of his best rows there."""
    best = chances.max(axis=1)
    mean = np.bincount(fold.classes, best) / np.bincount(fold.classes)
    return np.asarray(mean[fold.classes])


def slice_of(picks: Picks, part: float) -> Array:
    """Return the targets of which an intruder is surest; ties are kept in the order of the targets."""
    number = max(1, ceil(part * len(picks.sureness)))
    return np.argsort(-picks.sureness, kind="stable")[:number]


def p_value(fold: Fold, picks: Sequence[Picks]) -> float:
    """Return the level at which permuted rows do as well: the smallest over all picks and slices, calibrated."""
    from scipy.special import betainc

    levels = []
    for each in picks:
        own = each.successes(fold.positions)
        permuted = np.stack([each.successes(order) for order in fold.orders])
        for part in SLICES:
            chosen = slice_of(each, part)
            values = np.concatenate([[own[chosen].sum()], permuted[:, chosen].sum(axis=1)])
            whole, mean = (
                np.floor(values + 1e-9),
                np.clip(values.mean() / len(chosen), 1e-9, 1 - 1e-9),
            )
            level = betainc(np.maximum(whole, 1), len(chosen) - whole + 1, mean)
            levels.append(np.where(whole > 0, level, 1.0))
    if not levels:
        return 1.0
    smallest = np.min(np.stack(levels), axis=0)
    return float(np.sum(smallest <= smallest[0]) / len(smallest))


def exposures(folds: Sequence[Fold], picks: Sequence[Sequence[Picks]], risk: StatedRisk) -> list[Exposure]:
    """Return how exposed the targets of all folds together are, for each kind of pick and slice."""
    found = []
    for alike in zip(*picks, strict=True):
        for part in SLICES:
            chosen = [slice_of(each, part) for each in alike]
            own = np.concatenate([e.successes(f.positions)[c] for f, e, c in zip(folds, alike, chosen, strict=True)])
            equal = np.concatenate([e.equals()[c] for e, c in zip(alike, chosen, strict=True)])
            classes = sum(len(np.unique(e.classes[c])) for e, c in zip(alike, chosen, strict=True))
            trials = classes if alike[0].matching else len(own)
            success = float(own.mean())
            found.append(
                Exposure(
                    columns=alike[0].columns,
                    matching=alike[0].matching,
                    slice=part,
                    success=success,
                    equal=float(equal.mean()),
                    targets=trials,
                    lower=lower_bound(success * trials, trials),
                    threshold=threshold_of(part, risk),
                )
            )
    return found
