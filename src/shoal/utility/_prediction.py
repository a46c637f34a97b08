"""Learning: a model trained on the release and tested on people whom neither it nor the release has seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from shoal import tables
from shoal.errors import DataError, ParameterError
from shoal.kernels import Floats
from shoal.risk import Boxes, ColumnAxis, Pair
from shoal.schema import Kind
from shoal.tables import Table
from shoal.utility._spread import Encoder, fitted, require_learn, sample_rows

MODELS = ("tree", "linear", "boosting")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """How well one kind of model predicts a column of held-out original records."""

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
    """What to predict from what."""

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
        places = axes[self.column].places
        wanted = codes[:, self.column].astype(np.float64)
        if self.regression and places is not None:
            wanted = places[codes[:, self.column]]
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
        guess = fitted(learner, train.features, train.target).predict(test.features)
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
