"""Propensity-score utility: can a model tell released records from original ones?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from shoal.errors import ParameterError
from shoal.kernels import Floats
from shoal.risk import Pair
from shoal.utility._spread import Encoder, fitted, require_learn, sample_rows

Classifier = Literal["tree", "logistic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Propensity:
    """How well original and released records can be told apart."""

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
    found = _pmse(model, features, labels, seed)
    null = float(
        np.mean([_pmse(model, features, generator.permutation(labels), seed + 1 + i) for i in range(shuffles)])
    )
    room = share * (1 - share) - null
    return Propensity(
        model=model,
        pmse=found,
        null=null,
        ratio=found / null if null else None,
        distinguishable=min(1.0, max(0.0, (found - null) / room)) if room > 0 else 0.0,
        records=len(labels),
    )


def _pmse(model: str, features: Floats, labels: Floats, seed: int) -> float:
    classifier = fitted(_classifier(model, len(labels), seed), features, labels)
    probabilities = classifier.predict_proba(features)[:, 1]
    return float(np.square(probabilities - labels.mean()).mean())


def _classifier(model: str, records: int, seed: int) -> Any:
    if model == "logistic":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=200)
    from sklearn.tree import DecisionTreeClassifier

    # leaves of at least 1 % of the records: a tree that fits every record tells everything apart
    return DecisionTreeClassifier(min_samples_leaf=max(20, records // 100), random_state=seed)
