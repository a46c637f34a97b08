"""Signals of an intruder: log likelihood ratios of a released value, given somebody's quasi-identifiers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from shoal.rehearsal._nearest import features_of
from shoal.relations import ColumnView, Relation, find_relations

Array = np.ndarray

#: records on which relations are looked for, and on which models are fitted
_LOOKED_AT, _FITTED = 20_000, 4_000
#: the most different values of a column that are learnt as classes
_CATEGORIES = 24
#: a Gaussian residual beyond so many standard deviations is an exception
_FAR = 5.0
#: rounds of boosting of a column, and of all columns of a fold together: the work does not grow with wide tables
_ROUNDS, _FEWEST_ROUNDS, _ALL_ROUNDS = 60, 12, 600
#: relations that map one column to another
_MAPS = (
    "equal",
    "equal-codes",
    "rounding",
    "date-part",
    "age",
    "monotone",
    "bins",
    "function",
)


class Signal(Protocol):
    """Something that an intruder reads off a pair of a person and a row."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The released columns that it looks at."""

    def scores(self, people: Array, rows: Array) -> Array:
        """Return log p(row | person) - log p(row) for pairs of record numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class BothSides:
    """The views of all columns: what the intruder knows of everybody, and what is released as it is."""

    known: dict[str, ColumnView]
    released: dict[str, ColumnView]

    def value(self, name: str, people: Array, rows: Array) -> Array:
        """Return the numbers of a column: of the person where the intruder knows it, else of the row."""
        view, at = (self.known[name], people) if name in self.known else (self.released[name], rows)
        return np.asarray(view.values[at])

    def codes(self, name: str, people: Array, rows: Array) -> Array:
        """Return the codes of a column, as :meth:`value` returns numbers."""
        view, at = (self.known[name], people) if name in self.known else (self.released[name], rows)
        return np.asarray(view.codes[at])


def exact_signals(knowledge: BothSides, records: pa.Table, train: Array) -> list[Signal]:
    """Return a signal for each relation of the training records that joins both sides."""
    looked_at = train[:_LOOKED_AT]
    sampled = records.take(pa.array(np.sort(looked_at)))
    relations = find_relations(sampled, exceptions=0.02, across=knowledge.known)
    signals: list[Signal] = []
    for relation in relations:
        sides = {name in knowledge.known for name in relation.columns}
        if len(sides) == 2:
            signal = _signal_of(relation, knowledge, looked_at)
            if signal is not None:
                signals.append(signal)
    return signals


@dataclass(frozen=True, slots=True, eq=False)
class Formula:
    """A relation of numbers: a combination of the columns that is nearly constant."""

    columns: tuple[str, ...]
    names: tuple[str, ...]
    weights: tuple[float, ...]
    multiplied: bool
    knowledge: BothSides
    centre: float
    width: float
    match: float
    mismatch: float

    def scores(self, people: Array, rows: Array) -> Array:
        """Return the score of a match or a mismatch, 0 where a value is missing."""
        away = np.abs(_combination(self, people, rows) - self.centre)
        return np.where(
            np.isfinite(away),
            np.where(away <= self.width, self.match, self.mismatch),
            0.0,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Map:
    """A relation that gives the codes of one column from those of another, learnt as a dictionary of neighbours."""

    columns: tuple[str, ...]
    source: str
    target: str
    places: Array
    images: Array
    by_number: bool
    knowledge: BothSides
    match: float
    mismatch: float

    def scores(self, people: Array, rows: Array) -> Array:
        """Return the score of a match or a mismatch, 0 where a value is missing or was never seen."""
        fits, known = _fits(self, people, rows)
        return np.where(known, np.where(fits, self.match, self.mismatch), 0.0)


def _signal_of(relation: Relation, knowledge: BothSides, train: Array) -> Signal | None:
    columns = tuple(name for name in relation.columns if name not in knowledge.known)
    others = train[np.random.default_rng(5).permutation(len(train))]
    if relation.weights and len(relation.weights) == len(relation.columns):
        multiplied = relation.kind in ("product", "ratio", "ratio-squared")
        draft = Formula(
            columns,
            relation.columns,
            relation.weights,
            multiplied,
            knowledge,
            0.0,
            0.0,
            0.0,
            0.0,
        )
        own = _combination(draft, train, train)
        own = own[np.isfinite(own)]
        if len(own) < 20:
            return None
        centre = float(np.median(own))
        width = float(np.quantile(np.abs(own - centre), 0.99)) * (1 + 1e-6) + 1e-9 * (1 + abs(centre))
        away = np.abs(_combination(draft, train, others) - centre)
        match, mismatch = _ratios(float(np.mean(np.abs(own - centre) <= width)), float(np.mean(away <= width)))
        return Formula(
            columns,
            relation.columns,
            relation.weights,
            multiplied,
            knowledge,
            centre,
            width,
            match,
            mismatch,
        )
    if relation.kind not in _MAPS:
        return None
    source, target = relation.inputs[0], relation.target
    place, image = (
        knowledge.codes(source, train, train),
        knowledge.codes(target, train, train),
    )
    view = knowledge.known.get(source) or knowledge.released[source]
    by_number = view.numbers is not None and relation.kind != "function"
    places = (view.values[train] if by_number else place).astype(np.float64)
    present = (place >= 0) & (image >= 0) & np.isfinite(places)
    if present.sum() < 20:
        return None
    order = np.argsort(places[present], kind="stable")
    draft_map = Map(
        columns,
        source,
        target,
        places[present][order],
        image[present][order],
        by_number,
        knowledge,
        0.0,
        0.0,
    )
    fits, seen = _fits(draft_map, train, train)
    chance, _ = _fits(draft_map, train, others)
    followed = max(
        float(np.mean(fits[seen])) if seen.any() else 0.0,
        relation.share if relation.kind != "monotone" else 0.0,
    )
    match, mismatch = _ratios(followed, float(np.mean(chance)))
    return Map(
        columns,
        source,
        target,
        draft_map.places,
        draft_map.images,
        by_number,
        knowledge,
        match,
        mismatch,
    )


def _combination(formula: Formula, people: Array, rows: Array) -> Array:
    with np.errstate(all="ignore"):
        parts = [
            weight * (np.log(np.abs(value)) if formula.multiplied else value)
            for weight, value in zip(
                formula.weights,
                (formula.knowledge.value(name, people, rows) for name in formula.names),
                strict=True,
            )
        ]
        return np.asarray(sum(parts[1:], parts[0]))


def _fits(mapping: Map, people: Array, rows: Array) -> tuple[Array, Array]:
    """Return whether the image of each pair is that of the nearest place seen in training, and whether it is known."""
    knowledge = mapping.knowledge
    codes = knowledge.codes(mapping.source, people, rows)
    place = knowledge.value(mapping.source, people, rows) if mapping.by_number else codes.astype(np.float64)
    image = knowledge.codes(mapping.target, people, rows)
    at = np.clip(
        np.searchsorted(mapping.places, np.nan_to_num(place)),
        0,
        len(mapping.places) - 1,
    )
    before = np.maximum(at - 1, 0)
    known = (codes >= 0) & (image >= 0) & np.isfinite(place)
    if not mapping.by_number:
        known &= mapping.places[at] == place
        return (mapping.images[at] == image), known
    return (mapping.images[at] == image) | (mapping.images[before] == image), known


def _ratios(own: float, chance: float) -> tuple[float, float]:
    """Return the log likelihood ratios of a match and a mismatch."""
    own, chance = min(max(own, 0.02), 0.995), min(max(chance, 1e-4), 0.995)
    return float(np.log(own / chance)), float(np.log((1 - own) / (1 - chance)))


def learned_signals(knowledge: BothSides, train: Array) -> list[Signal]:
    """Return a signal for each released column that gradient boosting predicts from what the intruder knows."""
    import sklearn.ensemble  # noqa: F401 - a limit holds for libraries that are loaded already
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    # threads that wait for each other cost more than they save on so few records
    with threadpool_limits(limits=1):
        return _learn(knowledge, train[:_FITTED])


def _learn(knowledge: BothSides, train: Array) -> list[Signal]:
    features = features_of(list(knowledge.known.values()))
    rounds = min(_ROUNDS, max(_FEWEST_ROUNDS, _ALL_ROUNDS // max(1, len(knowledge.released))))
    signals: list[Signal] = []
    for name, view in knowledge.released.items():
        present = train[view.codes[train] >= 0]
        if len(present) < 60:
            continue
        if view.numbers is not None and len(np.unique(view.codes[present])) > _CATEGORIES:
            signals.append(_learn_number(name, view, features, present, rounds))
        else:
            learnt = _learn_classes(name, view, features, present, rounds)
            if learnt is not None:
                signals.append(learnt)
    return signals


@dataclass(frozen=True, slots=True, eq=False)
class Predicted:
    """A number as the intruder expects it of each person, and how far off he expects to be."""

    columns: tuple[str, ...]
    values: Array
    expected: Array
    spread: Array
    #: log density of the value of each row, whosever it is
    marginal: Array

    def scores(self, people: Array, rows: Array) -> Array:
        """Return the Gaussian log likelihood ratio, 0 where the value is missing."""
        away = np.clip(
            np.abs(self.values[rows] - self.expected[people]) / self.spread[people],
            0,
            3 * _FAR,
        )
        scores = -np.log(self.spread[people]) - away**2 / 2 - 0.919 - self.marginal[rows]
        return np.where(np.isfinite(self.values[rows]), scores, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Guessed:
    """The chance of each value for each person, over how frequent the value is."""

    columns: tuple[str, ...]
    places: Array
    ratios: Array

    def scores(self, people: Array, rows: Array) -> Array:
        """Return the log ratio, 0 where the value is missing or was never seen."""
        place = self.places[rows]
        return np.where(place >= 0, self.ratios[people, np.maximum(place, 0)], 0.0)


def _learn_number(name: str, view: ColumnView, features: Array, train: Array, rounds: int) -> Predicted:
    """Fit the mean and, out of fold, the spread of a number; its scale is robust."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    def model() -> HistGradientBoostingRegressor:
        return HistGradientBoostingRegressor(max_iter=rounds, early_stopping=False, random_state=0)

    wanted = view.values[train]
    low, high = np.quantile(wanted, [0.005, 0.995])
    clipped = np.clip(wanted, low, high)
    half = np.arange(len(train)) % 2 == 0
    out = np.empty(len(train))
    for part in (half, ~half):
        out[part] = model().fit(features[train[~part]], clipped[~part]).predict(features[train[part]])
    residual = np.abs(wanted - out)
    floor = max(view.unit / 2, 1e-3 * float(np.std(clipped)), 1e-12)
    logs = np.log(np.maximum(residual, floor))
    spread = np.exp(model().fit(features[train], logs).predict(features) + 0.635)  # the mean of log |N(0, 1)| is -0.635
    scale = max(float(np.median(residual)) * 1.4826, floor)
    spread = np.clip(spread, max(floor, 0.02 * scale), 3 * max(scale, float(np.std(clipped))))
    expected = model().fit(features[train], clipped).predict(features)
    return Predicted(
        (name,),
        view.values,
        expected,
        spread,
        _log_density(view.values, clipped, floor),
    )


def _log_density(values: Array, sample: Array, floor: float) -> Array:
    """Return the log density of values, from a histogram of a sample with 30 bins of equal counts."""
    edges = np.unique(np.quantile(sample, np.linspace(0, 1, 31)))
    if len(edges) < 2:
        return np.zeros(len(values))
    counts, _ = np.histogram(sample, edges)
    density = (counts + 0.5) / (counts.sum() + 0.5 * len(counts)) / np.maximum(np.diff(edges), floor)
    place = np.clip(
        np.searchsorted(edges, np.nan_to_num(values), side="right") - 1,
        0,
        len(counts) - 1,
    )
    return np.asarray(np.log(density)[place])


def _learn_classes(name: str, view: ColumnView, features: Array, train: Array, rounds: int) -> Guessed | None:
    """Fit the chances of the most frequent values."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    counts = np.bincount(view.codes[train], minlength=view.size)
    frequent = np.argsort(-counts, kind="stable")[:_CATEGORIES]
    frequent = frequent[counts[frequent] >= 10]
    if len(frequent) < 2:
        return None
    place_of = np.full(view.size + 1, -1)
    place_of[frequent] = np.arange(len(frequent))
    places = place_of[np.where(view.codes < 0, view.size, view.codes)]
    some = train[places[train] >= 0]
    model = HistGradientBoostingClassifier(
        max_iter=max(4, rounds // 3), early_stopping=False, random_state=0, max_leaf_nodes=15
    )
    chances = model.fit(features[some], places[some]).predict_proba(features)
    base = np.bincount(places[some], minlength=len(frequent)) / len(some)
    smoothed = (chances + 0.02 * base) / 1.02
    return Guessed((name,), places, np.log(smoothed / base))
