"""Learning from a release: does it predict as well as the originals, and can a model tell them apart?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal import tables
from shoal.errors import DataError, MissingExtraError, ParameterError
from shoal.kernels import Codes, Floats
from shoal.risk import Boxes, ColumnAxis, Pair
from shoal.schema import Kind
from shoal.tables import Table
from shoal.utility._distributions import leaf_shares

MODELS = ("tree", "linear", "boosting")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """The accuracy with which one kind of model predicts a column of held-out original records."""

    #: The column.
    target: str
    #: ``tree``, ``linear`` (logistic or ridge regression) or ``boosting``.
    model: str
    #: ``classification`` by ``accuracy``, in [0, 1], or ``regression`` by ``r2``, at most 1.
    task: str
    score: str
    #: The score of ZeroR, which knows only the commonest value or the mean of the original training records.
    zero: float
    #: The score when trained on the originals, and when trained on their release.
    original: float
    released: float
    #: (released - zero) / (original - zero): 1 for a release as good as the originals, 0 for one that teaches nothing.
    #: None where even the originals teach nothing.
    relative: float | None


def hold_out(table: Table, *, share: float = 0.3, seed: int = 0) -> tuple[Table, Table]:
    """Split a table with a schema into records to release and train on, and records to test on."""
    if not 0 < share < 1 or table.schema is None:
        raise ParameterError("`hold_out` needs a table with a schema and a `share` in (0, 1).")
    records = table.to_arrow()
    tested = np.random.default_rng(seed).random(records.num_rows) < share
    if tested.all() or not tested.any():
        raise DataError(f"{table.source.name} has too few records to hold some out.")
    return tuple(  # type: ignore[return-value]
        tables.read(records.filter(pa.array(mask))).with_schema(table.schema, allow_empty=True)
        for mask in (~tested, tested)
    )


#: boosting grows a tree per class and step: with more classes than this it takes minutes and learns little
_CLASSES = 20


def prediction(
    train: Table,
    released: Table,
    test: Table,
    target: str,
    *,
    models: Sequence[str] = MODELS,
    limit: int = 20_000,
    seed: int = 0,
) -> tuple[Prediction, ...]:
    """Train on ``released``, a release of ``train``, and test on ``test``, other records of the original table.

    Numbers and days are predicted by regression, everything else by classification, from all other columns. Generalised
    values are replaced by one of their leaves, drawn evenly. See :func:`hold_out` for the split.

    At most ``limit`` records, drawn where there are more, are trained on and tested on. Boosting is left out where
    there are more than 20 classes.
    """
    require_learn()
    unknown = [model for model in models if model not in MODELS]
    if unknown:
        raise ParameterError(f"`models` of `prediction` must be among {', '.join(MODELS)}; got {', '.join(unknown)}.")
    pair = Pair.of(train, released)
    if target not in pair.names:
        raise ParameterError(f"`target` of `prediction` must be a released column; `{target}` is not.")
    task = _Lesson.of(pair, target)
    generator = np.random.default_rng(seed)
    tested = pair.with_release(test)
    original = task.rows(pair.original, pair.axes, limit, generator)
    masked = task.rows(pair.released, pair.axes, limit, generator)
    held_out = task.rows(tested.released, tested.axes, limit, generator)
    many = not task.regression and len(np.unique(original.target)) > _CLASSES
    return tuple(
        _prediction(task, model, original, masked, held_out, seed)
        for model in models
        if not (many and model == "boosting")
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Examples:
    """Features and target of some records."""

    features: Floats
    target: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Lesson:
    """A learning task: a target column and its features."""

    column: int
    inputs: tuple[int, ...]
    regression: bool
    encoder: Encoder
    name: str

    @classmethod
    def of(cls, pair: Pair, target: str) -> _Lesson:
        column = pair.names.index(target)
        inputs = tuple(i for i in range(len(pair.axes)) if i != column)
        if not inputs:
            raise ParameterError(f"there is no other column to predict `{target}` from.")
        regression = pair.axes[column].attribute.kind in (Kind.NUMERIC, Kind.DATE)
        return cls(column=column, inputs=inputs, regression=regression, encoder=Encoder.of(pair, inputs), name=target)

    def rows(self, boxes: Boxes, axes: tuple[ColumnAxis, ...], limit: int, generator: np.random.Generator) -> _Examples:
        """Draw records and encode them; those whose number to predict is missing are left out."""
        codes = sample_rows(boxes, limit, generator)
        positions = axes[self.column].places
        wanted = codes[:, self.column].astype(np.float64)
        if self.regression and positions is not None:
            wanted = positions[codes[:, self.column]]
        known = np.isfinite(wanted)
        features = self.encoder.encode(codes[known][:, list(self.inputs)], tuple(axes[i] for i in self.inputs))
        return _Examples(features=features, target=wanted[known])


def _prediction(
    task: _Lesson, model: str, original: _Examples, masked: _Examples, held_out: _Examples, seed: int
) -> Prediction:
    before = _score(task, model, original, held_out, seed)
    after = _score(task, model, masked, held_out, seed)
    zero = _zero(task, original, held_out)
    return Prediction(
        target=task.name,
        model=model,
        task="regression" if task.regression else "classification",
        score="r2" if task.regression else "accuracy",
        zero=zero,
        original=before,
        released=after,
        relative=(after - zero) / (before - zero) if before > zero else None,
    )


def _score(task: _Lesson, model: str, train: _Examples, test: _Examples, seed: int) -> float:
    if not len(test.target):
        return 0.0
    if len(np.unique(train.target)) < 2:  # nothing to learn: everybody is predicted the same
        guess = np.full(len(test.target), train.target[0] if len(train.target) else np.nan)
    else:
        learner = _learner(model, len(train.target), seed, regression=task.regression)
        guess = fit_learner(learner, train.features, train.target).predict(test.features)
    return _quality(task, guess, test.target)


def _zero(task: _Lesson, train: _Examples, test: _Examples) -> float:
    if not len(train.target) or not len(test.target):
        return 0.0
    if task.regression:
        guess = float(train.target.mean())
    else:
        values, counts = np.unique(train.target, return_counts=True)
        guess = float(values[counts.argmax()])
    return _quality(task, np.full(len(test.target), guess), test.target)


def _quality(task: _Lesson, guess: Floats, truth: Floats) -> float:
    if not task.regression:
        return float((guess == truth).mean())
    total = float(np.square(truth - truth.mean()).sum())
    return 1 - float(np.square(guess - truth).sum()) / total if total else 0.0


def _learner(model: str, records: int, seed: int, *, regression: bool) -> Any:
    leaf = max(5, records // 500)
    if model == "tree":
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        made = DecisionTreeRegressor if regression else DecisionTreeClassifier
        return made(min_samples_leaf=leaf, random_state=seed)
    if model == "linear":
        from sklearn.linear_model import LogisticRegression, Ridge

        return Ridge() if regression else LogisticRegression(max_iter=200)
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    boosted = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
    return boosted(max_iter=50, max_leaf_nodes=15, min_samples_leaf=leaf, early_stopping=False, random_state=seed)


Classifier = Literal["tree", "logistic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Propensity:
    """The accuracy with which a model tells original from released records."""

    #: The classifier.
    model: str
    #: The mean squared difference of the classifier's probability and the share of released records among all, c. In
    #: [0, c (1 - c)].
    pmse: float
    #: The pmse of the same classifier when original and released labels are shuffled: what chance gives.
    null: float
    #: pmse / null: 1 for a release that cannot be told apart; None where the null is 0.
    ratio: float | None
    #: (pmse - null) / (c (1 - c) - null), at least 0: 0 for a release that cannot be told apart, 1 for one that always
    #: can.
    distinguishable: float
    #: The number of records looked at.
    records: int


def propensity(
    pair: Pair, *, model: Classifier = "tree", limit: int = 20_000, shuffles: int = 5, seed: int = 0
) -> Propensity:
    """Train a classifier to tell released records from original ones (Woo et al. 2009; Snoke et al. 2018).

    Generalised values are replaced by one of their leaves, drawn evenly, so that the classifier sees values and not
    notations. A ``tree`` sees combinations of columns, ``logistic`` single ones. At most ``limit`` records of each
    table are looked at, drawn where there are more; ``shuffles`` is the number of shuffled labellings behind ``null``.
    """
    require_learn()
    if model not in get_args(Classifier) or limit < 10 or shuffles < 1:
        raise ParameterError(
            "`model` of `propensity` must be `tree` or `logistic`, `limit` at least 10 and `shuffles` at least 1."
        )
    generator = np.random.default_rng(seed)
    encoder = Encoder.of(pair, tuple(range(len(pair.axes))))
    parts = [
        encoder.encode(sample_rows(boxes, limit, generator), pair.axes) for boxes in (pair.original, pair.released)
    ]
    features = np.concatenate(parts)
    labels = np.repeat([0.0, 1.0], [len(part) for part in parts])
    if labels.min() == labels.max():  # one of the tables is empty
        return Propensity(model=model, pmse=0.0, null=0.0, ratio=None, distinguishable=1.0, records=len(labels))
    share = float(labels.mean())
    error = _pmse(model, features, labels, seed)
    null = float(
        np.mean([_pmse(model, features, generator.permutation(labels), seed + 1 + i) for i in range(shuffles)])
    )
    room = share * (1 - share) - null
    return Propensity(
        model=model,
        pmse=error,
        null=null,
        ratio=error / null if null else None,
        distinguishable=min(1.0, max(0.0, (error - null) / room)) if room > 0 else 0.0,
        records=len(labels),
    )


def _pmse(model: str, features: Floats, labels: Floats, seed: int) -> float:
    classifier = fit_learner(_classifier(model, len(labels), seed), features, labels)
    probabilities = classifier.predict_proba(features)[:, 1]
    return float(np.square(probabilities - labels.mean()).mean())


def _classifier(model: str, records: int, seed: int) -> Any:
    if model == "logistic":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=200)
    from sklearn.tree import DecisionTreeClassifier

    # leaves of at least 1 % of the records: a tree that fits every record tells everything apart
    return DecisionTreeClassifier(min_samples_leaf=max(20, records // 100), random_state=seed)


#: values of a categorical column that get a column of their own
_CATEGORIES = 30


def require_learn() -> None:
    """Raise if scikit-learn is not installed."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise MissingExtraError("scikit-learn", extra="learn") from None


def fit_learner(learner: Any, features: Floats, target: Floats) -> Any:
    """Train a model on one processor: on tables of this size threads cost more than they save."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(limits=1):
        return learner.fit(features, target)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Encoder:
    """Turns leaves into numbers: ordered columns as their place, others as one indicator per common value.

    Missing values of ordered columns become the median of the original, with an indicator. What is common, the median
    and the scale come from the original, so that tables are encoded alike.
    """

    axes: tuple[ColumnAxis, ...]
    common: tuple[npt.NDArray[np.int64], ...]
    centres: tuple[float, ...]
    scales: tuple[float, ...]

    @classmethod
    def of(cls, pair: Pair, columns: tuple[int, ...]) -> Encoder:
        """Prepare the columns of a pair."""
        common, centres, scales = [], [], []
        for column in columns:
            axis, shares = pair.axes[column], leaf_shares(pair.original, column, pair.axes[column])
            common.append(np.sort(np.argsort(-shares, kind="stable")[: min(_CATEGORIES, axis.leaves)]))
            centre, scale = _location(axis, shares)
            centres.append(centre)
            scales.append(scale)
        return cls(
            axes=tuple(pair.axes[column] for column in columns),
            common=tuple(common),
            centres=tuple(centres),
            scales=tuple(scales),
        )

    def encode(self, codes: Codes, axes: tuple[ColumnAxis, ...]) -> Floats:
        """Return the matrix of features of leaves of ``axes``: those of the pair, with other foreign values."""
        parts: list[Floats] = []
        for column, axis in enumerate(axes):
            if axis.places is None:
                parts.append((codes[:, column, None] == self.common[column]).astype(np.float64))
                continue
            positions = axis.places[codes[:, column]]
            missing = ~np.isfinite(positions)
            scaled = (np.where(missing, self.centres[column], positions) - self.centres[column]) / self.scales[column]
            parts += [scaled[:, None], missing[:, None].astype(np.float64)]
        return np.concatenate(parts, axis=1)


def _location(axis: ColumnAxis, shares: Floats) -> tuple[float, float]:
    if axis.places is None:
        return 0.0, 1.0
    known = np.flatnonzero(np.isfinite(axis.places) & (shares > 0))
    if not len(known):
        return 0.0, 1.0
    known = known[np.argsort(axis.places[known], kind="stable")]
    reached = np.cumsum(shares[known])
    positions = axis.places[known]
    median = float(positions[np.searchsorted(reached, reached[-1] / 2)])
    spread = float(np.sqrt((shares[known] * (positions - median) ** 2).sum() / reached[-1]))
    return median, spread or 1.0


def sample_rows(boxes: Boxes, limit: int, generator: np.random.Generator) -> Codes:
    """Draw at most ``limit`` records, and one leaf for each of their values."""
    records = boxes.records
    chosen = np.arange(records) if records <= limit else np.sort(generator.choice(records, size=limit, replace=False))
    return draw_leaves(boxes, np.searchsorted(np.cumsum(boxes.counts), chosen, side="right"), generator)


def draw_leaves(boxes: Boxes, rows: npt.NDArray[np.int64], generator: np.random.Generator) -> Codes:
    """Return one leaf per column for each of the rows, drawn evenly from those that its box covers."""
    low, high = boxes.low[rows], boxes.high[rows]
    return np.asarray(low + (generator.random(low.shape) * (high - low + 1)).astype(np.int32), dtype=np.int32)
