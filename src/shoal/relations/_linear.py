"""Numbers that are linear in one, two or three other columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, groupby, islice

import numpy as np

from shoal.relations._relation import Relation
from shoal.relations._support import Sides, is_candidate, weigh
from shoal.relations._view import Array, ColumnView

#: small sets of records on which columns are chosen: one of them without a typing error is enough
_TRIALS, _FITTED = 5, 64
#: sets of columns that are extended, and that are decided on the data, for each target
_BEAM, _DECIDED = 12, 8
#: columns by which a set is extended
_EXTENDED = 64
#: sets of as many columns that are decided on the data, for all targets together: those that fit best
_MOST = 200
#: records on which the better of two fits is chosen
_COMPARED = 1_000
_INPUTS = 3


@dataclass(frozen=True, slots=True)
class Linear:
    """The search for linear relations."""

    views: list[ColumnView]
    exceptions: float
    draws: np.random.Generator
    rows: Array
    sides: Sides

    def find(self) -> Iterator[Relation]:
        """Return the relations that do not follow from each other, those of the fewest columns first."""
        if len(self.views) < 2:
            return
        numbers = np.stack([view.numbers for view in self.views if view.numbers is not None])
        candidates: dict[tuple[int, tuple[int, ...]], float] = {}
        for target in self.sides.targets(self.views):
            for trial in range(_TRIALS):
                for inputs, residual in self._choose(numbers, target, trial):
                    key = (target, tuple(sorted(inputs)))
                    candidates[key] = min(residual, candidates.get(key, np.inf))
        held: set[tuple[int, tuple[int, ...]]] = set()
        ordered = sorted(candidates.items(), key=lambda entry: (len(entry[0][1]), entry[1]))
        for (target, inputs), _ in [each for _, alike in groupby(ordered, _inputs_of) for each in islice(alike, _MOST)]:
            if any((target, fewer) in held for size in range(1, len(inputs)) for fewer in combinations(inputs, size)):
                continue
            relation = self._decide(numbers, target, inputs)
            if relation is not None and not self._needs_fewer(numbers, target, inputs):
                held.add((target, inputs))
                yield relation

    def _needs_fewer(self, numbers: Array, target: int, inputs: tuple[int, ...]) -> bool:
        """Return whether some of the inputs give the target as well."""
        fewer = combinations(inputs, len(inputs) - 1) if len(inputs) > 1 else ()
        return any(self._decide(numbers, target, some) is not None for some in fewer)

    def _choose(self, numbers: Array, target: int, trial: int) -> list[tuple[tuple[int, ...], float]]:
        """Return the sets of columns that fit a target best on a few records, of each size."""
        present = self.rows[np.isfinite(numbers[target, self.rows])]
        codes = self.views[target].codes[present]
        rare = present[codes != np.bincount(codes).argmax()] if len(present) else present
        if len(rare) < _FITTED // 2:
            return []
        rows = np.concatenate([self.draws.choice(rare, _FITTED // 2), self.draws.choice(present, _FITTED // 2)])
        values = numbers[:, rows]
        usable = np.isfinite(values).all(axis=1)
        values = np.where(np.isfinite(values), values, 0)
        values = values - values.mean(axis=1, keepdims=True)
        lengths = np.sqrt((values**2).sum(axis=1))
        usable &= lengths > 0
        if not usable[target]:
            return []
        values = values / np.where(lengths > 0, lengths, 1)[:, None]
        usable[target] = False
        marked = self.sides.mark(self.views)
        unit = self.views[target].unit / lengths[target]
        goal = max(_FITTED * (unit * 1.5) ** 2, 1e-10)
        chosen: list[tuple[tuple[int, ...], float]] = []
        beam: list[tuple[int, ...]] = [()]
        for _ in range(_INPUTS):
            fits = _extend(values, target, beam, np.flatnonzero(usable))
            beam = [inputs for inputs, _ in fits[:_BEAM]]
            if marked is not None:
                fits = [fit for fit in fits if marked[[target, *fit[0]]].any() and not marked[[target, *fit[0]]].all()]
            chosen += [(inputs, residual) for inputs, residual in fits[:_DECIDED] if residual <= goal]
        return chosen

    def _decide(self, numbers: Array, target: int, inputs: tuple[int, ...]) -> Relation | None:
        """Return the relation of a set of columns, its coefficients fitted to the records that follow it."""
        columns = [numbers[target], *(numbers[at] for at in inputs)]
        sampled = [column[self.rows] for column in columns]
        present = np.all([np.isfinite(column) for column in sampled], axis=0)
        if present.sum() < _FITTED:
            return None
        sampled = [column[present] for column in sampled]
        units = [self.views[at].unit for at in (target, *inputs)]
        weights = self._fit(sampled, units)
        if weights is None:
            return None
        constant, *slopes = weights
        tolerance = max(units[0] / 2, *(abs(slope) * unit / 2 for slope, unit in zip(slopes, units[1:], strict=True)))
        tolerance *= 1.02  # coefficients that are no round numbers are known from the records only

        def broken(v: Array, *x: Array) -> Array:
            computed = constant + sum((slope * each for slope, each in zip(slopes, x, strict=True)), np.zeros(len(v)))
            return ~(np.abs(computed - v) <= tolerance * (1 + 1e-6) + 1e-9 * np.abs(v))

        support = weigh(broken, *sampled, draws=self.draws, exceptions=self.exceptions)
        if not is_candidate(support, self.exceptions):
            return None
        if len(self.rows) < numbers.shape[1]:
            present = np.all([np.isfinite(column) for column in columns], axis=0)
            support = weigh(broken, *(column[present] for column in columns), draws=self.draws)
        if not support.holds(self.exceptions):
            return None
        if len(inputs) == 1 and self.views[target].size < 0.9 * self.views[inputs[0]].size:
            return None  # intervals of equal width
        names = [self.views[at].name for at in (target, *inputs)]
        return Relation(
            kind="linear",
            target=names[0],
            inputs=tuple(names[1:]),
            formula=_formula(names, slopes, constant),
            share=support.share,
            records=support.records,
            gives=tuple(names),
            weights=(1, *(-slope for slope in slopes)),
        )

    def _fit(self, columns: list[Array], units: list[float]) -> list[float] | None:
        """Return the constant and the slopes, fitted to the records that follow them."""
        target, inputs = columns[0], np.stack([np.ones(len(columns[0])), *columns[1:]], axis=1)
        best: Array | None = None
        nearest = np.inf
        for _ in range(12):
            rows = self.draws.choice(len(target), min(len(target), _FITTED))
            weights, *_ = np.linalg.lstsq(inputs[rows], target[rows], rcond=None)
            middle = float(np.median(np.abs(inputs[:_COMPARED] @ weights - target[:_COMPARED])))
            if middle < nearest:
                nearest, best = middle, weights
        if best is None:
            return None
        for _ in range(3):
            away = np.abs(inputs @ best - target)
            near = away <= max(4 * float(np.median(away)), units[0], 1e-9 * float(np.abs(target).max()))
            if near.sum() < len(inputs[0]) + 2:
                return None
            best, *_ = np.linalg.lstsq(inputs[near], target[near], rcond=None)
        return self._rounded(best, inputs, target, units)

    def _rounded(self, weights: Array, inputs: Array, target: Array, units: list[float]) -> list[float]:
        """Return coefficients as round numbers where that fits as well."""
        round_ones = np.array([_nice(weight) for weight in weights])
        slopes = round_ones[1:]
        rest = target - inputs[:, 1:] @ slopes
        constant = float(np.median(rest))
        step = max(units[0], 1e-9)
        round_ones[0] = (
            round(constant / step) * step if abs(constant - round(constant / step) * step) < step else constant
        )
        plain = np.abs(inputs @ weights - target)
        limit = units[0] / 2 + 1e-9 * np.abs(target) + 1e-6 * units[0]
        if np.mean(np.abs(inputs @ round_ones - target) <= limit) >= np.mean(plain <= limit) - 0.002:
            return [float(weight) for weight in round_ones]
        return [float(weight) for weight in weights]


def _extend(
    values: Array, target: int, beam: list[tuple[int, ...]], columns: Array
) -> list[tuple[tuple[int, ...], float]]:
    """Return the sets of a beam with one column more that fit best, and the share of the target's variance they leave.

    Every column is looked at after what the set explains of it is taken away.
    """
    fits: dict[tuple[int, ...], float] = {}
    looked_at = values[columns]
    for inputs in beam:
        basis, _ = np.linalg.qr(values[list(inputs)].T)
        rest = values[target] - basis @ (basis.T @ values[target])
        lengths = 1 - np.sum((looked_at @ basis) ** 2, axis=1)
        lengths[np.isin(columns, inputs)] = 0
        gains = np.where(lengths > 1e-9, (looked_at @ rest) ** 2 / np.maximum(lengths, 1e-9), -1.0)
        left = float(rest @ rest)
        for place in np.argsort(-gains, kind="stable")[:_EXTENDED].tolist():
            if gains[place] >= 0:
                extended = tuple(sorted((*inputs, int(columns[place]))))
                fits[extended] = min(fits.get(extended, np.inf), max(left - float(gains[place]), 0.0))
    return sorted(fits.items(), key=lambda entry: (entry[1], entry[0]))


def _inputs_of(candidate: tuple[tuple[int, tuple[int, ...]], float]) -> int:
    return len(candidate[0][1])


def _nice(weight: float) -> float:
    """Return the roundest number within one in 200 of a weight."""
    if weight == 0:
        return 0.0
    size = 10.0 ** np.floor(np.log10(abs(weight)))
    for digits in range(4):
        near = float(np.round(weight / size, digits) * size)
        if abs(near - weight) <= 0.005 * abs(weight) / 4**digits:
            return float(f"{near:.6g}")
    return float(weight)


def _formula(names: list[str], slopes: list[float], constant: float) -> str:
    terms: list[str] = []
    for slope, name in zip(slopes, names[1:], strict=True):
        size = "" if abs(slope) == 1 else f"{abs(slope):.6g} * "
        sign = ("-" if slope < 0 else "") if not terms else ("- " if slope < 0 else "+ ")
        terms.append(f"{sign}{size}`{name}`")
    if constant:
        terms.append(f"{'-' if constant < 0 else '+'} {abs(constant):.6g}")
    return f"`{names[0]}` = {' '.join(terms)}"
