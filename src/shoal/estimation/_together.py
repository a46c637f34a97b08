"""Draw the values below the labels of a record together, so that columns that go together in a release still do.

The first values are drawn column by column. Then, a few times over, the values of every column with coarse labels are
drawn again: below the label of the record, with the chances that the records of the whole table, as they are drawn by
then, give them beside the values of the columns that tell most about it. So records that show fine values teach those
that show coarse ones. All of it is read off the release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.estimation._below import ValuesBelow
from shoal.kernels import Floats, Integers

#: How often the values of a column are drawn again, chosen on the national excerpt of NIST.
_SWEEPS = 2
#: Columns that tell about another one, at most, and their combinations times the cells of the other.
_TELLING, _MOST_CHANCES = 3, 4_000_000
#: Values of a column that are told apart when it tells about others; neighbours are put together beyond that.
_TOLD_APART = 60
#: How often a value that fits a finer class is drawn again, and how many comparisons of classes and records are made.
_AGAIN, _MOST_COMPARED = 4, 20_000_000
#: How many records the chances by fewer columns count as, beside those of a combination.
_BORROWED = 2.0


def draw_together(
    labels: Mapping[str, tuple[Integers, ValuesBelow, Floats]],
    others: Mapping[str, Integers],
    classes: Sequence[str],
    generator: np.random.Generator,
) -> dict[str, Integers]:
    """Return a cell for every record and column; -1 for a missing value.

    Parameters
    ----------
    labels
        By column: the label of every record, the cells below all labels, and the share of every cell.
    others
        Codes of columns that are known exactly; they tell about the others.
    classes
        The columns with labels whose combinations are the classes of the release.
    """
    cells = {name: below.draw_cells(codes, shares, generator) for name, (codes, below, shares) in labels.items()}
    coarse = [
        name for name, (codes, below, _) in labels.items() if (below.last - below.first)[codes].max(initial=0) > 1
    ]
    known = {name: _grouped(codes) for name, codes in {**others, **cells}.items()}
    telling = {name: _telling(name, known, len(labels[name][2])) for name in coarse}
    equal = {name: _chances(labels[name][1].widths, cells[name], ()) for name in coarse}
    finer = FinerClasses.of([labels[name][:2] for name in classes])
    for _ in range(_SWEEPS):
        for name in coarse:
            chances = _chances(labels[name][2], cells[name], [known[each] for each in telling[name]])
            rows: Integers = np.arange(len(cells[name]))
            for _ in range(1 + _AGAIN):
                cells[name][rows] = _drawn(*labels[name][:2], *chances, rows, generator)
                rows = finer.fitted([cells[each] for each in classes], rows) if name in classes else rows[:0]
                # frequent values have finer classes: they must not be the likeliest again
                chances = equal[name]
                if not len(rows):
                    break
            known[name] = _grouped(cells[name])
    return cells


@dataclass(frozen=True, eq=False)
class FinerClasses:
    """For every record, the classes that lie inside its own: from ``first`` to ``last``, one box of cells each."""

    first: Integers
    last: Integers
    lows: Integers
    highs: Integers

    @classmethod
    def of(cls, columns: Sequence[tuple[Integers, ValuesBelow]]) -> FinerClasses:
        """Compare all classes with each other; none lies inside another where there are too many to compare."""
        if not columns:
            return cls(*(np.zeros(0, dtype=np.int64) for _ in range(4)))
        codes, owners = np.unique(np.stack([own for own, _ in columns], axis=1), axis=0, return_inverse=True)
        owners = owners.ravel()
        # a missing value is a cell of its own, number -1
        low, high = (
            np.stack(
                [np.where(below.is_missing, missing, ends)[own] for own, ends, missing, below in described], axis=1
            )
            for described in (
                [(own, below.first, -1, below) for own, (_, below) in zip(codes.T, columns, strict=True)],
                [(own, below.last, 0, below) for own, (_, below) in zip(codes.T, columns, strict=True)],
            )
        )
        inside: list[Integers] = []
        for number in range(len(codes)):
            if len(codes) ** 2 > _MOST_COMPARED or (high[number] - low[number] == 1).all():
                inside.append(np.zeros(0, dtype=np.int64))
                continue
            within = (low >= low[number]).all(axis=1) & (high <= high[number]).all(axis=1)
            within[number] = False
            inside.append(np.flatnonzero(within))
        ends = np.cumsum([len(each) for each in inside])
        starts = ends - [len(each) for each in inside]
        boxes = np.concatenate(inside)
        return cls(starts[owners], ends[owners], low[boxes], high[boxes])

    def fitted(self, cells: Sequence[Integers], rows: Integers) -> Integers:
        """Return those of these rows that fit a finer class than their own."""
        numbers = (self.last - self.first)[rows]
        if not numbers.sum() or numbers.sum() > _MOST_COMPARED:
            return rows[:0]
        pairs = np.repeat(np.arange(len(rows)), numbers)
        boxes = np.arange(len(pairs)) - np.repeat(np.cumsum(numbers) - numbers, numbers) + self.first[rows][pairs]
        for column, own in enumerate(cells):
            values = own[rows][pairs]
            fits = (values >= self.lows[boxes, column]) & (values < self.highs[boxes, column])
            pairs, boxes = pairs[fits], boxes[fits]
        return rows[np.unique(pairs)]


def _chances(shares: Floats, cells: Integers, columns: Sequence[Integers]) -> tuple[Floats, Integers]:
    """Return the chances of the cells of a column by combinations of others, and the combination of every record.

    Combinations of few records borrow from those of fewer columns, the first of which tells most.
    """
    size, there = len(shares), cells >= 0
    chances, contexts = np.maximum(shares, 1e-300)[None, :], np.zeros(len(cells), dtype=np.int64)
    for column in columns:
        before, (_, contexts) = contexts, np.unique(contexts * (column.max() + 1) + column, return_inverse=True)
        number = int(contexts.max()) + 1
        fewer = np.zeros(number, dtype=np.int64)
        fewer[contexts] = before
        counts = np.bincount(contexts[there] * size + cells[there], minlength=number * size).reshape(number, size)
        chances = counts + _BORROWED * chances[fewer]
        chances /= chances.sum(axis=1, keepdims=True)
    return np.append(0.0, np.cumsum(chances.ravel())), contexts * size


def _drawn(
    codes: Integers, below: ValuesBelow, sums: Floats, starts: Integers, rows: Integers, generator: np.random.Generator
) -> Integers:
    """Draw the cells of some rows again, given the sums of chances and where those of every record start."""
    first, last, start = below.first[codes[rows]], below.last[codes[rows]], starts[rows]
    low, high = sums[start + first], sums[start + last]
    places = np.searchsorted(sums, low + (high - low) * generator.random(len(rows)), side="right") - 1 - start
    inside = np.clip(places, first, np.maximum(last - 1, first))
    return np.where(below.is_missing[codes[rows]], -1, inside).astype(np.int64)


def _telling(name: str, known: Mapping[str, Integers], size: int) -> list[str]:
    """Return the columns that tell most about another one, as many as there are records to learn from."""
    own = known[name]
    information = {each: _information(own, codes) for each, codes in known.items() if each != name}
    chosen: list[str] = []
    combinations = size
    for each in sorted(information, key=lambda each: -information[each]):
        combinations *= int(known[each].max(initial=0)) + 1
        if information[each] <= 0 or len(chosen) == _TELLING or combinations > _MOST_CHANCES:
            break
        chosen.append(each)
    return chosen


def _information(one: Integers, other: Integers) -> float:
    """Return the mutual information of two columns, less what chance alone gives on average."""
    sizes = int(one.max(initial=0)) + 1, int(other.max(initial=0)) + 1
    counts = np.bincount(one * sizes[1] + other, minlength=sizes[0] * sizes[1]).reshape(sizes).astype(np.float64)
    shares = counts / counts.sum()
    independent = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    present = shares > 0
    gained = float((shares[present] * np.log(shares[present] / independent[present])).sum())
    used = (counts.sum(axis=1) > 0).sum() - 1, (counts.sum(axis=0) > 0).sum() - 1
    return gained - float(used[0] * used[1]) / (2 * len(one))


def _grouped(codes: Integers) -> Integers:
    """Return codes from 0 on; where there are many, neighbours with about equally many records share one."""
    values, places, counts = np.unique(codes, return_inverse=True, return_counts=True)
    if len(values) <= _TOLD_APART:
        return np.asarray(places, dtype=np.int64)
    groups = (np.cumsum(counts) - counts) * _TOLD_APART // len(codes)
    return np.asarray(groups[places], dtype=np.int64)
