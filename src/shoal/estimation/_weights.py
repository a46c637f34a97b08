"""Weights of released records: how many each stands for, and sampling weights calibrated to their strata again."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from shoal import hierarchies
from shoal.errors import InputError, ParameterError, VerificationError
from shoal.exact import Number, positive
from shoal.folder import PLAN, ReleaseFolder
from shoal.guarantees import Event
from shoal.methods.truthful import Sampled, Trimmed
from shoal.schema import Schema
from shoal.schema.rules import text
from shoal.tables import Table

WEIGHT = "weight"


def weighted_records(folder: str | Path) -> pa.Table:
    """Return the records of a truthful release with a weight each: an estimate of how many records it stands for.

    A function of the published folder alone, so it costs no privacy. A class that shows X records had about X + m, with
    the m of the certificate, so each of them stands for (X + m) / X. Records of a release that was sampled with
    probability beta stand for 1 / beta each.

    Parameters
    ----------
    folder
        A release of method ``truthful``. Whether it keeps its promise, `verify` says.

    Raises
    ------
    InputError, VerificationError
        If the folder is no release of that method, or has no certificate.
    """
    release = ReleaseFolder.inspected(folder)
    return weighted(certified_steps(release), release.open().to_arrow())


def certified_steps(release: ReleaseFolder) -> tuple[Event, ...]:
    """Return the steps of a release as its certificate tells them."""
    if not release.path.is_dir():
        raise InputError(f"there is no release folder `{release.path.name}`")
    release.certificate  # noqa: B018 - raises where there is none
    try:
        return release.steps
    except VerificationError:
        raise InputError("the steps of the certificate are not those of a release of this version") from None


def weighted(events: Sequence[Event], records: pa.Table) -> pa.Table:
    """Return the records of a release with their weights, given the steps that made it.

    Guarantee
    ---------
    The weights of a class add up to X + m if it is shown and to 0 if not; `expected_weight` says exactly what that is
    on average: too little over all releases, and too much over those that show a small class. Cells of a
    multi-dimensional scheme that look alike count as one class, whose estimate is then m too small for each of the
    others.
    """
    made = [each for each in events if isinstance(each, Trimmed | Sampled)]
    if len(made) != 1 or WEIGHT in map(str.lower, records.column_names):
        problem = f"already has a column `{WEIGHT}`" if len(made) == 1 else "was not made by method `truthful`"
        raise ParameterError(f"the release {problem}, so its records get no weights")
    (step,) = made
    if isinstance(step, Sampled):
        return records.append_column(WEIGHT, pa.array(np.full(len(records), float(1 / step.beta))))
    classes = _classes(records)
    return records.append_column(WEIGHT, pa.array((1 + step.m / np.bincount(classes))[classes]))


def expected_weight(records: int, *, m: int, epsilon: Number, least: int = 1, shown: bool = False) -> float:
    """Return the exact expectation of the estimate of a class of so many records: X + m if X is shown, else 0.

    With ``shown``, that of X + m where X is shown: small classes are shown only if they lose little, and are then taken
    for larger than they are.

    P[M = j] is r^|j - m| / Z with r = e^-epsilon for j >= 0, and X = records - M is shown if it is at least ``least``.
    Large classes are short of the truth by E[M] - m = r^(m + 1) (m + 1 + r / (1 - r)) / (1 + r - r^(m + 1)), about
    delta (m + 1 / epsilon) records; small ones also by their size times the probability that they are hidden.

    Examples
    --------
    >>> [round(expected_weight(size, m=12, epsilon="0.9"), 2) for size in (1, 6, 12, 18, 30)]
    [0.0, 0.02, 3.96, 17.96, 30.0]
    >>> [round(expected_weight(size, m=12, epsilon="0.9", shown=True), 2) for size in (1, 6, 12, 18, 30)]
    [13.0, 13.66, 13.68, 18.02, 30.0]
    """
    rate = float(positive(epsilon, "epsilon", "expected_weight"))
    farthest = m + math.ceil(745 / rate)  # e^-745 is the least float
    lost = np.arange(max(min(records - least, farthest) + 1, 0))
    ratio = math.exp(-rate)
    chances = np.exp(-rate * np.abs(lost - m))
    total = math.fsum(chances) if shown else (1 + ratio - ratio ** (m + 1)) / (1 - ratio)
    return math.fsum(chances * (records - lost + m)) / total if total else math.nan


def _classes(records: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the class of each record, by rank of values; missing is a value."""
    classes = np.zeros(len(records), dtype=np.int64)
    for column in records.columns:
        codes = column.combine_chunks().dictionary_encode("encode").indices.to_numpy(zero_copy_only=False)
        _, classes = np.unique(classes * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)
    return classes


Key = tuple[str | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Calibration:
    """The records of a release with calibrated weights.

    Parameters
    ----------
    records
        The released records, their weights multiplied by the factor of their stratum.
    factors
        One row per released stratum: its columns, the sum of weights ``before`` and ``after`` records were left out,
        and the ``factor`` between them.
    lost
        The sum of weights of strata of which nothing was released: no factor gives them back.
    """

    records: pa.Table
    factors: pa.Table
    lost: float


def calibrated_weights(folder: str | Path, original: Table) -> Calibration:
    """Multiply the weights of a release so that those of every stratum add up to what they were.

    Strata are compared at the level of their hierarchy that was released; where no one level has all released values,
    as after local recoding, the table is taken as one stratum. This is for the publisher: the factors tell how much
    weight was left out of each stratum, which the release alone does not.

    Parameters
    ----------
    folder
        A release of a table with a column of the role ``weight``, as numbers.
    original
        The table that it was made from.

    Raises
    ------
    InputError
        If the release has no weights, or the original not the columns of its plan.
    """
    release = ReleaseFolder.inspected(folder)
    if not release.has_one_table or not (release.path / PLAN).is_file():
        raise InputError(f"there is no release of one table in `{release.path.name}`")
    release.certificate  # noqa: B018 - raises where there is none
    schema = release.plan.schema
    name = schema.sampling_weight
    if name is None:
        raise InputError("no column of the release has the role `weight`")
    released, rows = release.open().to_arrow(), original.with_schema(schema).to_arrow()
    weights = [_numbers(each, name) for each in (rows, released)]
    strata = _strata(schema, rows, released)
    before, after = (_summed(keys, each) for keys, each in zip(strata, weights, strict=True))
    factor = {key: before.get(key, total) / total for key, total in after.items()}
    changed = pa.array(weights[1] * np.array([factor[key] for key in strata[1]]))
    strata_names = schema.strata if () not in after else ()
    columns: dict[str, list[object]] = {each: [key[j] for key in after] for j, each in enumerate(strata_names)}
    sums = {"before": [before.get(key, 0.0) for key in after], "after": [*after.values()], "factor": [*factor.values()]}
    return Calibration(
        records=released.set_column(released.column_names.index(name), name, changed),
        factors=pa.table(columns | sums),
        lost=float(sum(total for key, total in before.items() if key not in after)),
    )


def _numbers(rows: pa.Table, name: str) -> np.ndarray:
    try:
        return np.asarray(rows[name].cast(pa.float64()).to_numpy(), dtype=np.float64)
    except (pa.ArrowInvalid, KeyError):
        raise InputError(f"column `{name}` does not hold record weights as numbers") from None


def _strata(schema: Schema, original: pa.Table, released: pa.Table) -> tuple[list[Key], list[Key]]:
    """Return the stratum of every record of both tables, at the level that was released; () where there is none."""
    columns = []
    for name in schema.strata:
        shown, values = (text(each[name].combine_chunks()) for each in (released, original))
        hierarchy = hierarchies.build(schema[name], original[name].combine_chunks(), folder=schema.folder)
        wanted = {*shown.to_pylist()}
        level = next((level for level, labels in enumerate(hierarchy.labels) if wanted <= {*labels}), None)
        if level is None:
            return [()] * len(original), [()] * len(released)
        leaves = hierarchies.leaf_codes(hierarchy, values)
        labels = np.array(hierarchy.labels[level], dtype=object)[hierarchy.codes[level][leaves]]
        columns.append((labels.tolist(), shown.to_pylist()))
    if not columns:
        return [()] * len(original), [()] * len(released)
    first, second = zip(*columns, strict=True)
    return [*zip(*first, strict=True)], [*zip(*second, strict=True)]


def _summed(keys: list[Key], weights: np.ndarray) -> dict[Key, float]:
    found: defaultdict[Key, float] = defaultdict(float)
    for key, weight in zip(keys, weights.tolist(), strict=True):
        found[key] += weight
    return dict(sorted(found.items(), key=lambda pair: repr(pair[0])))
