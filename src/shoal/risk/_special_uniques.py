"""Special uniques (SUDA2): records that are unique on few columns, and the columns that make them so."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from shoal.errors import ParameterError
from shoal.kernels import Counts, Floats
from shoal.kernels.uniques import unique_sets
from shoal.risk._survey import Sample, sample
from shoal.tables import Table

Scores = Literal["original", "shares"]

#: the share of pairs of records that are alike by chance, in the intrusion simulation behind DIS
_DISTRACTED = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnContribution:
    """The share of all scores from minimal uniques that hold a column, in [0, 1]; shares do not add up to 1."""

    column: str
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialUniques:
    """Minimal sample uniques of a table, and the columns that they consist of.

    A *minimal sample unique* of a record is a set of columns on which no other record resembles it, while on each of
    its proper subsets some record does. A record that is unique on few columns is special: it is likely to be unique in
    the population too.
    """

    #: The number of records, and of those with a score above 0.
    records: int
    scored: int
    #: The number of minimal sample uniques of 1, 2, ... columns.
    by_size: tuple[int, ...]
    #: The sum of all scores, and the highest one.
    score: float
    highest: float
    #: The sum of the scores on the DIS scale; see :func:`special_uniques`.
    intrusions: float
    #: The part of each column, the largest first.
    columns: tuple[ColumnContribution, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordScores:
    """The special uniques of every record."""

    #: The columns.
    keys: tuple[str, ...]
    #: Pairs of a record and a minimal set on which it is unique: bit j stands for column j.
    rows: Counts
    sets: np.typing.NDArray[np.uint64]
    #: The score of every record, and the same on the DIS scale, in [0, 1].
    scores: Floats
    intrusions: Floats
    #: Per column, the sum over all records of the scores from sets that hold it.
    contributions: Floats

    def smallest(self) -> dict[int, tuple[str, ...]]:
        """Return, for every record that has one, the first of its smallest minimal uniques."""
        sizes: dict[int, int] = {}
        for row, chosen in zip(self.rows.tolist(), self.sets.tolist(), strict=True):
            if row not in sizes or chosen.bit_count() < sizes[row].bit_count():
                sizes[row] = chosen
        return {
            row: tuple(name for j, name in enumerate(self.keys) if chosen >> j & 1) for row, chosen in sizes.items()
        }


def special_uniques(table: Table, *, largest: int | None = None, scores: Scores = "original") -> SpecialUniques:
    """Find the minimal sample uniques of a table and score its records by them.

    Parameters
    ----------
    table
        A table with a schema that names at least one quasi-identifier.
    largest
        The most columns of a minimal sample unique; all by default. The search looks at every set of so many columns.
    scores
        ``"original"``: a minimal unique of s of M columns scores (M - s)! (Elliot 2000). ``"shares"``: it scores
        (2^(M - s) - 1) s! (M - s)! / M!, sdcMicro's other choice.

    Notes
    -----
    The DIS scale takes P records in classes of two, delta = 0.01 and Q = 1 + (8 - M)/20 into
    1 / (1 + P (1 - delta) / (delta s^Q A)), s the record's score and A the sum of s^-Q over scored records. It orders
    records as the scores do. It is *not* a calibrated probability that an intruder finds somebody: it says nothing
    about the population. Where nobody is in a class of two it is 1 for every scored record; sdcMicro gives NaN there.

    A missing value is no part of a minimal unique. Cost: O(records) per set of columns, less where records became
    unique on fewer; Adult with 8 columns takes a tenth of a second.

    Examples
    --------
    >>> import pyarrow, shoal
    >>> people = pyarrow.table({"sex": ["f", "f", "m"], "town": ["Ulm", "Rome", "Rome"]})
    >>> columns = tuple(shoal.Attribute(name=name, role="quasi-identifier") for name in people.column_names)
    >>> found = shoal.risk.special_uniques(shoal.read(people).with_schema(shoal.Schema(attributes=columns)))
    >>> found.by_size, found.scored, found.score
    ((2, 1), 3, 3.0)
    """
    return summarize_scores(record_scores(sample(table), largest=largest, scores=scores))


def summarize_scores(scores: RecordScores) -> SpecialUniques:
    """Return the figures of a whole table."""
    total = float(scores.scores.sum())
    sizes = np.array([chosen.bit_count() for chosen in scores.sets.tolist()], dtype=np.int64)
    parts = [
        ColumnContribution(column=name, share=float(part) / total if total else 0.0)
        for name, part in zip(scores.keys, scores.contributions, strict=True)
    ]
    return SpecialUniques(
        records=len(scores.scores),
        scored=int(np.count_nonzero(scores.scores)),
        by_size=tuple(np.bincount(sizes, minlength=len(scores.keys) + 1)[1:].tolist()),
        score=total,
        highest=float(scores.scores.max(initial=0.0)),
        intrusions=float(scores.intrusions.sum()),
        columns=tuple(sorted(parts, key=lambda each: (-each.share, each.column))),
    )


def record_scores(data: Sample, *, largest: int | None = None, scores: Scores = "original") -> RecordScores:
    """Score every record by its minimal sample uniques; see :func:`special_uniques`."""
    columns = len(data.keys)
    if largest is not None and largest < 1:
        raise ParameterError(f"`largest` of `special_uniques` must be at least 1; got {largest}.")
    if columns > 64:
        raise ParameterError(
            f"special uniques can be looked for among at most 64 columns; the schema names {columns}.",
            hint="make fewer columns quasi-identifiers",
        )
    sets = unique_sets(data.codes, largest)
    sizes = np.array([chosen.bit_count() for chosen in sets.sets.tolist()], dtype=np.int64)
    each = np.array([_score(size, columns, scores) for size in range(columns + 1)])[sizes]
    total = np.bincount(sets.rows, weights=each, minlength=len(data)).astype(np.float64)
    holds = sets.sets[:, None] >> np.arange(columns, dtype=np.uint64) & np.uint64(1)
    return RecordScores(
        keys=data.keys,
        rows=sets.rows,
        sets=sets.sets,
        scores=total,
        intrusions=_intrusions(total, data.classes()[1], columns),
        contributions=each @ holds.astype(np.float64),
    )


def _score(size: int, columns: int, scores: Scores) -> float:
    if scores == "original":
        return float(math.factorial(columns - size))
    if scores == "shares":
        return float((2 ** (columns - size) - 1) / math.comb(columns, size))
    raise ParameterError(f'`scores` of `special_uniques` must be "original" or "shares"; got "{scores}".')


def _intrusions(scores: Floats, classes: Counts, columns: int) -> Floats:
    power = 1 + (8 - columns) / 20
    scored = scores > 0
    raised = scores[scored] ** power
    pairs = 2 * int(np.count_nonzero(classes == 2))
    result = np.zeros(len(scores))
    result[scored] = 1 / (1 + pairs * (1 - _DISTRACTED) / (_DISTRACTED * raised * (1 / raised).sum()))
    return result
