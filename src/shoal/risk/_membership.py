"""Membership inference: can an intruder who knows a whole record tell whether it went into a release?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from shoal import tables
from shoal.errors import Cancelled, ParameterError, RequirementError
from shoal.kernels import Codes, Floats, Mask
from shoal.risk._attacks import Attack, Rate
from shoal.risk._boxes import Rows
from shoal.risk._pair import Pair, candidates
from shoal.schema.rules import text
from shoal.tables import Table, schema_of

_QUESTION = "Given a person's whole record, does the release reveal whether that record went into it?"


def membership(
    table: Table,
    release: Callable[[Table], Table],
    *,
    targets: int = 20,
    shadows: int = 40,
    outliers: bool = True,
    seed: int = 0,
    progress: Callable[[int, int, str], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Attack:
    """Attack a *method*: release many random halves of a table, and tell from each who was in it.

    Every shadow release is made from half of the records, drawn afresh, each target being in or out by a fair coin. The
    intruder counts the released records that fit a target on the quasi-identifiers, and those that fit it on all
    columns, learns from the first half of the shadows which count is how much higher for members, and is judged on
    the second half. The baseline is a coin; ``risk`` of the result is the intruder's advantage.

    Parameters
    ----------
    table
        The records to draw from, with a schema.
    release
        Makes the released table of a table; for example
        ``lambda half: shoal.anonymize(half, shoal.KAnonymity(5)).table``.
    targets
        The number of people.
    shadows
        The number of releases to make, at least 4; this is what takes time.
    outliers
        Whether the targets are the records with the rarest values, who have most to fear, or drawn at random.
    seed
        Of the draws; the method draws its own randomness.
    progress, cancelled
        As in :meth:`shoal.Plan.run`.

    Raises
    ------
    RequirementError
        If fewer than half of the shadow releases can be made.
    """
    if targets < 1 or shadows < 4:
        raise ParameterError("`targets` of `membership` must be at least 1, and `shadows` at least 4.")
    schema = schema_of(table)
    generator = np.random.default_rng(seed)
    records = table.to_arrow()
    pair = Pair.of(table, table)
    rows = _people(pair, records, targets, generator, outliers=outliers)
    people = _codes(pair, records.take(pa.array(rows)))
    features, inside = [], []
    for shadow in range(shadows):
        if cancelled is not None and cancelled():
            raise Cancelled
        if progress is not None:
            progress(shadow, shadows, "shadow releases")
        chosen = generator.random(records.num_rows) < 0.5
        half = tables.read(records.filter(pa.array(chosen))).with_schema(schema, allow_empty=True)
        try:
            made = release(half)
        except RequirementError:  # this half cannot be released: the intruder sees nothing
            continue
        features.append(_features(pair.with_release(made), people))
        inside.append(chosen[rows])
    if len(features) < shadows / 2:
        raise RequirementError(f"only {len(features)} of {shadows} shadow releases could be made")
    return _judge(np.array(features), np.array(inside))


def _people(pair: Pair, records: pa.Table, number: int, generator: np.random.Generator, *, outliers: bool) -> Rows:
    """Return the rows of the targets."""
    if not outliers:
        return np.asarray(generator.choice(records.num_rows, size=min(number, records.num_rows), replace=False))
    rarity = np.zeros(records.num_rows)
    for column, codes in enumerate(_codes(pair, records).T):
        counts = np.bincount(pair.original.low[:, column], weights=pair.original.counts)
        rarity += np.log(counts[codes])
    return np.argsort(rarity, kind="stable")[:number]


def _codes(pair: Pair, records: pa.Table) -> Codes:
    """Return the leaves of records, in their order."""
    columns = []
    for axis in pair.axes:
        known = {label: code for code, label in enumerate(axis.labels)}
        encoded = text(records[axis.name]).dictionary_encode("encode")
        codes = np.array([known[label] for label in encoded.dictionary.to_pylist()], dtype=np.int32)
        columns.append(codes[encoded.indices.to_numpy()])
    return np.stack(columns, axis=1)


def _features(pair: Pair, people: Codes) -> Floats:
    """Return the number of released records that fit each target on the quasi-identifiers, and on all columns."""
    known = list(pair.quasi_identifiers)
    return np.stack(
        [
            candidates(pair.only(known), people[:, known]).astype(np.float64),
            candidates(pair, people).astype(np.float64),
        ],
        axis=1,
    )


def _judge(features: Floats, inside: Mask) -> Attack:
    """Learn on the first half of the shadows, judge on the second; arrays are (shadows, targets, ...)."""
    learn = len(features) // 2
    outside = np.where(inside[:learn, :, None], np.nan, features[:learn])
    number = np.maximum(np.isfinite(outside).sum(axis=0), 1)
    mean = np.nansum(outside, axis=0) / number
    spread = np.sqrt(np.nansum((outside - mean) ** 2, axis=0) / number)
    scores = (features - mean) / np.maximum(spread, 0.5)
    best = max(
        ((*_threshold(scores[:learn, :, feature], inside[:learn]), feature) for feature in range(features.shape[2])),
        key=lambda trial: trial[0],
    )
    _, threshold, upward, feature = best
    said = scores[learn:, :, feature] >= threshold
    said = said if upward else ~said
    right = int(np.count_nonzero(said == inside[learn:]))
    attempts = int(said.size)
    return Attack(
        name="membership inference",
        question=_QUESTION,
        success=Rate.of(right, attempts),
        baseline=Rate.of(attempts / 2, attempts),
    )


def _threshold(scores: Floats, inside: Mask) -> tuple[float, float, bool]:
    """Return the accuracy of the best threshold, the threshold, and whether members lie above it."""
    order = np.argsort(scores, axis=None, kind="stable")
    values, member = scores.ravel()[order], inside.ravel()[order]
    # said to be members: everybody from position i on
    above = np.concatenate([[member.sum()], member.sum() - np.cumsum(member)])
    below = np.concatenate([[0], np.cumsum(~member)])
    edges = np.concatenate([[True], np.diff(values) > 0, [True]])
    right = np.where(edges, above + below, -1)
    wrong = np.where(edges, len(values) - above - below, -1)
    cuts = np.append(values, np.inf)
    if right.max() >= wrong.max():
        return float(right.max()) / len(values), float(cuts[right.argmax()]), True
    return float(wrong.max()) / len(values), float(cuts[wrong.argmax()]), False
