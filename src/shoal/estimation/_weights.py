"""How many records each record of a truthful release stands for: X + m over X for a class that shows X records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from shoal import tables
from shoal.errors import InputError, ParameterError
from shoal.exact import Number, positive
from shoal.guarantees import CERTIFICATE, Event, Sampled, Trimmed, load
from shoal.methods.base import DATA

__all__ = ["WEIGHT", "expected_weight", "weighted", "weighted_records"]

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
    InputError
        If the folder is no release of that method.
    VerificationError
        If it has no certificate.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"there is no release folder `{folder.name}`")
    events = []
    for step in load(folder / CERTIFICATE).steps:
        if step.get("step") in (Trimmed.name, Sampled.name):
            try:
                events.append(Event.from_json(step))
            except (KeyError, TypeError, ValueError):
                raise InputError("the steps of the certificate are not those of a release of this version") from None
    return weighted(events, tables.read(folder / DATA).to_arrow())


def weighted(events: Sequence[Event], records: pa.Table) -> pa.Table:
    """Return the records of a release with their weights, given the steps that made it.

    Guarantee
    ---------
    The weights of a class add up to X + m if it is shown and to 0 if not; `expected_weight` says exactly what that is
    on average. Cells of a multi-dimensional scheme that look alike count as one class, whose estimate is then m too
    small for each of the others.
    """
    made = [each for each in events if isinstance(each, Trimmed | Sampled)]
    if len(made) != 1 or WEIGHT in records.column_names:
        problem = f"has a column `{WEIGHT}` already" if len(made) == 1 else "was not made by method `truthful`"
        raise ParameterError(f"the release {problem}, so its records get no weights")
    (step,) = made
    if isinstance(step, Sampled):
        return records.append_column(WEIGHT, pa.array(np.full(len(records), float(1 / step.beta))))
    names = records.column_names
    counts = records.group_by(names).aggregate([([], "count_all")])
    keys = [counts[name].combine_chunks() for name in names]
    shown = counts["count_all"].to_numpy()
    places = _places(records, keys)
    return records.append_column(WEIGHT, pa.array((1 + step.m / shown)[places]))


def expected_weight(records: int, *, m: int, epsilon: Number, least: int = 1) -> float:
    """Return the exact expectation of the estimate of a class of so many records: X + m if X is shown, else 0.

    P[M = j] is r^|j - m| / Z with r = e^-epsilon for j >= 0, and X = records - M is shown if it is at least ``least``.
    Large classes are short of the truth by E[M] - m = r^(m + 1) (m + 1 + r / (1 - r)) / (1 + r - r^(m + 1)), about
    delta (m + 1 / epsilon) records; small ones also by their size times the probability that they are hidden.

    Examples
    --------
    >>> [round(expected_weight(size, m=12, epsilon="0.9"), 2) for size in (1, 6, 12, 18, 30)]
    [0.0, 0.02, 3.96, 17.96, 30.0]
    """
    rate = float(positive(epsilon, "epsilon", "expected_weight"))
    farthest = m + math.ceil(745 / rate)  # e^-745 is the least float
    lost = np.arange(max(min(records - least, farthest) + 1, 0))
    ratio = math.exp(-rate)
    total = (1 + ratio - ratio ** (m + 1)) / (1 - ratio)
    return math.fsum(np.exp(-rate * np.abs(lost - m)) * (records - lost + m)) / total


def _places(records: pa.Table, keys: list[pa.Array]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the row of the classes that each record is in, by rank of values; missing is a value."""
    combined = np.zeros(len(records), dtype=np.int64)
    of_class = np.zeros(len(keys[0]), dtype=np.int64)
    for name, key in zip(records.column_names, keys, strict=True):
        both = pa.chunked_array([*records[name].chunks, key]).combine_chunks().dictionary_encode("encode").indices
        codes = both.to_numpy(zero_copy_only=False).astype(np.int64)
        joined = np.concatenate([combined, of_class]) * (int(codes.max()) + 1) + codes
        _, ranks = np.unique(joined, return_inverse=True)
        combined, of_class = ranks[: len(records)], ranks[len(records) :]
    order = np.argsort(of_class)
    found: np.ndarray[tuple[int], np.dtype[np.int64]] = order[np.searchsorted(of_class, combined, sorter=order)]
    return found
