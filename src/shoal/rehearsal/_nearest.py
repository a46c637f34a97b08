"""Nearest values: formulas that some of the people follow, and differences inside of a class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.relations import ColumnView

Array = np.ndarray

#: widths within which a value counts as near, in standard deviations
_WIDTHS = (0.0, 0.002, 0.01, 0.05)
#: standard deviations of the count by chance that a formula must exceed
_TELLING = 6.0
#: numbers of which sums, differences, products and ratios are tried
_MOST_NUMBERS = 5
_MOST_FEATURES = 60


def features_of(views: Sequence[ColumnView]) -> Array:
    """Return the numbers and codes that the intruder knows, and sums, differences, products and ratios of numbers."""
    columns = [
        view.numbers if view.numbers is not None else np.where(view.codes < 0, np.nan, view.codes) for view in views
    ]
    numeric = [view.values for view in views if view.numbers is not None][:_MOST_NUMBERS]
    with np.errstate(all="ignore"):
        for at, a in enumerate(numeric):
            for b in numeric[at + 1 :]:
                columns += [
                    a + b,
                    a - b,
                    a * b,
                    np.where(b == 0, np.nan, a / b),
                    np.where(b == 0, np.nan, a / b**2),
                ]
    return np.stack([np.where(np.isfinite(column), column, np.nan) for column in columns], axis=1).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Spike:
    """A formula whose value some people have, though not all: near the value of the row, or not."""

    columns: tuple[str, ...]
    values: Array
    feature: Array
    width: float
    match: float
    mismatch: float

    def scores(self, people: Array, rows: Array) -> Array:
        """Return the log likelihood ratio of being near or not, 0 where a value is missing."""
        away = np.abs(self.values[rows] - self.feature[people])
        return np.where(
            np.isfinite(away),
            np.where(away <= self.width, self.match, self.mismatch),
            0.0,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Within:
    """How a number differs from the mean of its class, as a linear formula of how the person differs from it."""

    columns: tuple[str, ...]
    values: Array
    expected: Array
    spread: float
    #: the log density of each row's difference, whosever it is
    marginal: Array

    def scores(self, people: Array, rows: Array) -> Array:
        """Return the Gaussian log likelihood ratio, 0 where the value is missing."""
        away = np.clip(np.abs(self.values[rows] - self.expected[people]) / self.spread, 0, 15)
        scores = -np.log(self.spread) - away**2 / 2 - self.marginal[rows]
        return np.where(np.isfinite(scores), scores, 0.0)


def nearest_signals(
    known: Mapping[str, ColumnView],
    released: Mapping[str, ColumnView],
    numbers: Array,
    train: Array,
) -> list[Spike | Within]:
    """Return the signals of each released number; ``numbers`` are the classes of all records."""
    features = features_of(list(known.values()))[:, :_MOST_FEATURES]
    draws = np.random.default_rng(7)
    signals: list[Spike | Within] = []
    for name, view in released.items():
        if view.numbers is None:
            continue
        for signal in (
            _find_spike(name, view, features, train, draws),
            _fit_within(name, view, features, numbers, train),
        ):
            if signal is not None:
                signals.append(signal)
    return signals


def _find_spike(
    name: str,
    view: ColumnView,
    features: Array,
    train: Array,
    draws: np.random.Generator,
) -> Spike | None:
    """Return the formula that more people follow than permuted values explain, if there is one."""
    values = view.values[train]
    spread = float(np.nanstd(values))
    order = draws.permutation(len(train))
    best, spike = _TELLING, None
    for column in features.T:
        feature = column[train]
        own, other = np.abs(values - feature), np.abs(values[order] - feature)
        both = np.isfinite(own)
        compared = int(both.sum())
        if compared < 60:
            continue
        for share in _WIDTHS:
            width = max(share * spread, view.unit) * (1 + 1e-6) + 1e-9
            hits, chance = int(np.sum(own <= width)), int(np.sum(other <= width))
            telling = (hits - chance) / np.sqrt(chance + 1)
            if telling > best:
                best = telling
                near, far = (
                    (hits + 0.5) / (compared + 1),
                    (chance + 0.5) / (compared + 1),
                )
                match, mismatch = np.log(near / far), np.log((1 - near) / (1 - far))
                spike = Spike((name,), view.values, column, width, float(match), float(mismatch))
    return spike


def _fit_within(name: str, view: ColumnView, features: Array, numbers: Array, train: Array) -> Within | None:
    """Fit the differences inside of classes by least squares, with a little shrinkage, judged out of half."""
    values = _centred(view.values[:, None], numbers)[:, 0]
    inputs = _centred(np.nan_to_num(features - np.nanmean(features, axis=0, keepdims=True)), numbers)
    scale = inputs.std(axis=0)
    inputs = inputs[:, scale > 0] / scale[scale > 0]
    train = train[np.isfinite(values[train])]
    if len(train) < 60 or not inputs.shape[1] or not np.nanstd(values[train]):
        return None
    half = np.unique(numbers[train], return_inverse=True)[1] % 2 == 0  # of whole classes
    spread = max(float(np.std(values[train])), view.unit / 4, 1e-12)
    out = np.full(len(train), np.nan)
    for part in (half, ~half):
        if part.sum() < 30 or (~part).sum() < 30:
            return None
        out[part] = inputs[train[part]] @ _ridge(inputs[train[~part]], values[train[~part]])
    residual = values[train] - out
    if np.mean(residual**2) > 0.995 * spread**2:
        return None
    noise = max(
        float(np.sqrt(np.mean(np.clip(residual, *np.quantile(residual, [0.01, 0.99])) ** 2))),
        view.unit / 4,
    )
    expected = inputs @ _ridge(inputs[train], values[train])
    marginal = -np.log(spread) - np.minimum((values / spread) ** 2, 50) / 2
    return Within((name,), values, expected, max(noise, 1e-3 * spread), marginal)


def _centred(columns: Array, numbers: Array) -> Array:
    """Return columns less the means of their classes; missing values stay missing."""
    present = np.isfinite(columns)
    counts = np.maximum(np.stack([np.bincount(numbers, each) for each in present.T], axis=1), 1)
    sums = np.stack([np.bincount(numbers, each) for each in np.where(present, columns, 0).T], axis=1)
    return np.asarray(columns - (sums / counts)[numbers])


def _ridge(inputs: Array, values: Array) -> Array:
    gram = inputs.T @ inputs + (1e-3 * len(inputs)) * np.eye(inputs.shape[1])
    return np.asarray(np.linalg.solve(gram, inputs.T @ np.clip(values, *np.quantile(values, [0.005, 0.995]))))
