"""Shuffling: new numbers are drawn given other columns, and the original ones are put in their order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from shoal.errors import DataError, MissingExtraError, ParameterError, quoted
from shoal.kernels import Floats
from shoal.masking._step import Columns, MaskingStep, generator, numbers_of, plain_text
from shoal.mechanisms import RandomSource

#: of a column that is no number, so many values at most
VALUES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Shuffle(MaskingStep):
    """Shuffle numeric columns so that they keep their ranks' relation to other columns (Muralidhar and Sarathy 2006).

    Numbers are taken to have a normal copula: their ranks become normal scores, new scores are drawn from the
    distribution given the scores of the ``given`` columns, and every record gets the original value of the rank that
    its new score has. Every value stays in its column.

    Nothing is promised. If the copula were the truth, a record's new values would tell no more about its old ones than
    the given columns do; nobody checks that it is, and rare values can be seen to have moved to others like them.

    Parameters
    ----------
    names
        The numeric columns; missing values stay where they are.
    given
        Columns that are released as they are and whose relation to the numbers is kept: numbers by their ranks, others
        by their values, at most 50. None: the columns keep the relation to each other alone.

    Examples
    --------
    >>> Shuffle(names=("income",), given=("age", "town")).columns
    ('income',)
    """

    name: ClassVar[str] = "shuffle"
    names: tuple[str, ...]
    given: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.names or len({*self.names, *self.given}) != len(self.names) + len(self.given):
            raise ParameterError("`names` and `given` of `Shuffle` must be different columns, of `names` at least one.")

    @property
    def columns(self) -> tuple[str, ...]:
        return self.names

    @property
    def reads(self) -> tuple[str, ...]:
        return (*self.names, *self.given)

    def describe(self) -> str:
        given = f" given {quoted(self.given)}" if self.given else ""
        return f"Shuffled {quoted(self.names)}: values changed places by the ranks of numbers drawn{given}."

    def promise(self, detail: Mapping[str, object]) -> str:
        del detail
        return (
            f"Nothing is promised about {quoted(self.names)}: that new values reveal nothing more about old ones rests "
            "on a model of the data that nobody has proved."
        )

    def apply(self, table: Columns, source: RandomSource) -> tuple[dict[str, pa.Array], str]:
        numbers = [numbers_of(table, name) for name in self.names]
        whole = np.asarray(~np.isnan(np.array(numbers)).any(axis=0))
        known = _encode_given_columns(table, self.given)
        if int(whole.sum()) < 2 * (known.shape[1] + len(numbers)) + 2:
            raise DataError(f"columns {quoted(self.names)} have too few records with all values to shuffle them")
        drawn = _draw_scores(np.stack([_scores(number) for number in numbers], axis=1), known, whole, generator(source))
        changed, kept = {}, []
        for j, (name, each) in enumerate(zip(self.names, numbers, strict=True)):
            rows = np.arange(len(each))
            present = np.flatnonzero(~np.isnan(each))
            by_value = present[np.argsort(each[present], kind="stable")]
            rows[present[np.argsort(drawn[present, j], kind="stable")]] = by_value
            changed[name] = table[name].take(pa.array(rows))
            kept.append(_correlation(each[present], each[rows][present]))
        said = ", ".join(f"{value:.3g}" for value in kept)
        return changed, f"{self.describe()} Rank correlation of old and new values: {said}."


def _draw_scores(scores: Floats, known: Floats, whole: np.ndarray, draw: np.random.Generator) -> Floats:
    """Return scores drawn from their normal distribution given what is known, estimated on whole records."""
    inner = known - known[whole].mean(axis=0)
    factors, *_ = np.linalg.lstsq(inner[whole], scores[whole], rcond=None)
    rest = scores[whole] - inner[whole] @ factors
    spread = np.atleast_2d(rest.T @ rest / max(len(rest) - known.shape[1], 1))
    noise = draw.multivariate_normal(np.zeros(scores.shape[1]), spread, size=len(scores), method="svd")
    return np.asarray(inner @ factors + noise)


def _encode_given_columns(table: Columns, names: tuple[str, ...]) -> Floats:
    """Return the given columns as numbers: normal scores, or one column per value but one."""
    rows = len(next(iter(table.values())))
    parts: list[Floats] = []
    problems = []
    for name in names:
        try:
            parts.append(np.nan_to_num(_scores(numbers_of(table, name)))[:, None])
            continue
        except DataError:
            text = plain_text(table[name]).fill_null("")
        values = sorted(text.unique().to_pylist())
        if len(values) > VALUES:
            problems.append(f"column `{name}` has more than {VALUES} values that are not numbers; recode it first")
            continue
        parts.append((np.array(text.to_pylist())[:, None] == np.array(values[1:])[None, :]).astype(np.float64))
    if problems:
        raise DataError(problems)
    return np.concatenate(parts, axis=1) if parts else np.zeros((rows, 0))


def _scores(numbers: Floats) -> Floats:
    """Return the normal scores of ranks, ties by their mean rank; NaN stays."""
    present = ~np.isnan(numbers)
    scores = np.full(len(numbers), np.nan)
    try:
        from scipy.special import ndtri
    except ImportError:
        raise MissingExtraError("SciPy", extra="learn") from None
    scores[present] = ndtri(_ranks(numbers[present]) / (int(present.sum()) + 1))
    return scores


def _correlation(old: Floats, new: Floats) -> float:
    ranks = _ranks(old), _ranks(new)
    return float(np.corrcoef(*ranks)[0, 1]) if all(len({*rank.tolist()}) > 1 for rank in ranks) else 1.0


def _ranks(numbers: Floats) -> Floats:
    """Return the ranks of numbers from 1, ties by their mean rank."""
    _, positions, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[positions], dtype=np.float64)
