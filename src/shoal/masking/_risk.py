"""The risk of a masked file, measured record by record against the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from shoal.errors import DataError, quoted
from shoal.kernels import Codes, Floats
from shoal.masking._step import numbers_of, plain_text
from shoal.risk import linked_percentage

#: masked records that are linked at most; a share of them is an estimate
RECORDS = 2_000
#: numbers are compared by the part of their distribution that they lie in
PARTS = 20
NEAR = 0.05
TIE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskingRisk:
    """The risk from an intruder who knows the original values of some columns.

    Parameters
    ----------
    records, columns
        The records, and the columns that the intruder knows.
    by_distance
        The share of masked records that the nearest original is the right one of, by numeric columns; None without.
    by_probability
        The same by agreement of values, weighted as in probabilistic record linkage (Fellegi and Sunter 1969); the
        intruder is given the true rates of agreement, which is more than he has.
    within
        The share of records whose masked numbers are all within 0.05 standard deviations of the original ones; None
        without numeric columns.
    guessed
        What a blind guess links.
    """

    records: int
    columns: tuple[str, ...]
    by_distance: float | None
    by_probability: float
    within: float | None
    guessed: float

    def describe(self) -> str:
        """Say it, one figure per line."""
        lines = [f"An intruder who knows {quoted(self.columns)} as they were:"]
        if self.by_distance is not None:
            lines.append(f"  links by distance                    {self.by_distance:.2%} of the records correctly")
        lines.append(f"  links by agreement (probabilistic)   {self.by_probability:.2%}")
        lines.append(f"  links by a blind guess               {self.guessed:.2%}")
        if self.within is not None:
            lines.append(f"  finds all numbers within {NEAR} sd      {self.within:.2%}")
        return "\n".join(lines)


def measure_masking_risk(
    before: Mapping[str, pa.Array], after: Mapping[str, pa.Array], columns: Sequence[str]
) -> MaskingRisk:
    """Measure the risk of columns of two tables whose records correspond row by row."""
    numeric = [name for name in columns if _numeric(before, name) and _numeric(after, name)]
    mine, theirs = ([numbers_of(table, name) for name in numeric] for table in (before, after))
    whole = ~np.isnan(np.array([*mine, *theirs])).any(axis=0) if numeric else None
    distance = within = None
    if whole is not None and whole.any():
        original, masked = (np.stack(part, axis=1)[whole] for part in (mine, theirs))
        distance = linked_percentage(original, masked) / 100
        within = interval_disclosure(original, masked)
    codes, masked_codes = _encode_both(before, after, columns, numeric)
    records = len(codes)
    return MaskingRisk(
        records=records,
        columns=tuple(columns),
        by_distance=distance,
        by_probability=probabilistic_linkage(codes, masked_codes),
        within=within,
        guessed=1 / records if records else 0.0,
    )


def interval_disclosure(original: Floats, masked: Floats, near: float = NEAR) -> float:
    """Return the share of records whose masked numbers all lie within ``near`` standard deviations of their own.

    Examples
    --------
    >>> interval_disclosure(np.array([[0.0], [10.0]]), np.array([[0.0], [9.0]]))
    0.5
    """
    if not len(original):
        return 0.0
    width = near * original.std(axis=0, ddof=1 if len(original) > 1 else 0)
    return float((np.abs(original - masked) <= width).all(axis=1).mean())


def probabilistic_linkage(original: Codes, masked: Codes) -> float:
    """Return the share of masked records that are linked to their own original by agreement of values.

    Every column weighs ln m/u where values agree and ln (1 - m)/(1 - u) where not; m is how often a masked value agrees
    with its own original, u with any. A masked record is linked to the originals of the greatest sum; ties are shared.
    Of many records, `RECORDS` that are spread evenly are linked.
    """
    count = len(original)
    if not count:
        return 0.0
    agree = (original == masked).mean(axis=0)
    shares = [np.bincount(column, minlength=size) / count for column, size in _sizes(original, masked)]
    others = [np.bincount(column, minlength=size) / count for column, size in _sizes(masked, original)]
    chance = np.array([float(a @ b) for a, b in zip(shares, others, strict=True)])
    m, u = (np.clip(rate, 1e-6, 1 - 1e-6) for rate in (agree, chance))
    same, different = np.log(m / u), np.log((1 - m) / (1 - u))
    chosen = np.arange(min(count, RECORDS)) * count // min(count, RECORDS)
    right = 0.0
    for row in chosen:
        score = np.where(original == masked[row], same, different).sum(axis=1)
        best = score.max()
        tied = score >= best - TIE * max(1.0, abs(best))
        right += float(tied[row]) / int(tied.sum())
    return right / len(chosen)


def _sizes(one: Codes, other: Codes) -> list[tuple[Codes, int]]:
    return [(one[:, j], int(max(one[:, j].max(), other[:, j].max())) + 1) for j in range(one.shape[1])]


def _numeric(table: Mapping[str, pa.Array], name: str) -> bool:
    try:
        numbers = numbers_of(table, name)
    except DataError:
        return False
    return len(np.unique(numbers[~np.isnan(numbers)])) > PARTS


def _encode_both(
    before: Mapping[str, pa.Array], after: Mapping[str, pa.Array], columns: Sequence[str], numeric: Sequence[str]
) -> tuple[Codes, Codes]:
    """Return the values of both tables as the same codes; numbers by the part of the original distribution."""
    found = []
    for name in columns:
        if name in numeric:
            mine, theirs = (numbers_of(table, name) for table in (before, after))
            cuts = np.unique(np.nanquantile(mine, np.arange(1, PARTS) / PARTS))
            found.append([np.where(np.isnan(part), PARTS, np.searchsorted(cuts, part)) for part in (mine, theirs)])
        else:
            words = [plain_text(table[name]).fill_null("").to_pylist() for table in (before, after)]
            codes = np.unique([*words[0], *words[1]], return_inverse=True)[1]
            found.append([codes[: len(words[0])], codes[len(words[0]) :]])
    first, second = (np.stack([pair[side] for pair in found], axis=1).astype(np.int32) for side in (0, 1))
    return first, second
