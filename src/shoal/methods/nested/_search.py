"""Look for the recoding of all tables that loses least once rare patterns are left out."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from shoal.kernels import Floats, Integers
from shoal.methods.base import Watch
from shoal.methods.nested._encode import EncodedDataset, KnownColumn
from shoal.methods.nested._forest import Forest
from shoal.methods.nested._patterns import choices_of, condense, count_support, find_choices
from shoal.methods.nested._suppress import Suppression, TooMuch

Levels = tuple[int, ...]
#: choices of rows, and rows, that are looked at in about a second
PER_SECOND = 2_000_000
#: items of a part of the persons on which levels to start from are looked for
SAMPLED = 250_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoundRecoding:
    """The best recoding that was found, and what is left under it."""

    levels: Levels
    #: By the place of a column, the level of every leaf of its hierarchy, where these differ.
    cuts: Mapping[int, Integers] = field(default_factory=dict)
    loss: float
    #: No recoding loses less than this; equal to the loss where it was proved to be the least.
    bound: float
    #: The persons that stay, and the items, by their number among all items of the trees.
    people: Integers
    items: Integers
    looked_at: int
    complete: bool

    @property
    def recoding(self) -> tuple[int | Integers, ...]:
        """The level of every column, or of each leaf of it."""
        return tuple(self.cuts.get(place, level) for place, level in enumerate(self.levels))


@dataclass(kw_only=True, eq=False)
class RecodingSearch:
    """Recodings of one level per column, the cheapest first.

    The loss of a recoding is the mean over its columns of the share of the domain that a value covers, rows that are
    left out counting as lost. The loss without suppression, plus what the support of classes and single items forces
    out, bounds the loss of a recoding and of all finer ones from below; no certainty of secrets is used for that,
    which is not monotone. Work is counted, never timed.
    """

    encoded: EncodedDataset
    k: int
    m: int
    confidence: Fraction | None
    limit: Fraction
    single_items: bool
    #: Work after which the search makes do with what it has, in units of about a second; None: until it is done.
    effort: float | None
    watch: Watch
    spent: int = 0
    best: FoundRecoding | None = None
    _looked_at: dict[Levels, float] = field(default_factory=dict, init=False)
    #: What every recoding that was looked at loses at least, whatever is left out.
    _least: dict[Levels, float] = field(default_factory=dict, init=False)
    _forced: list[tuple[Levels, float]] = field(default_factory=list, init=False)

    def run(self) -> FoundRecoding | None:
        """Return the best recoding; None where every recoding leaves out more than is allowed."""
        self._means = [
            [float(column.shares(level).mean()) if len(column.leaves) else 0.0 for level in range(_levels(column))]
            for column in self.encoded.columns
        ]
        self._total = sum(column.weight for column in self.encoded.columns) or 1.0
        self._descend(self._start())
        bound = self._rise()
        if self.best is None:
            return None
        loss = self.best.loss
        # the choice of what is left out is not proved to be the best one, so that less may be lost at some levels
        bound = min([loss if bound is None else bound, *self._least.values()])
        return FoundRecoding(
            levels=self.best.levels,
            loss=loss,
            bound=min(loss, bound),
            people=self.best.people,
            items=self.best.items,
            looked_at=len(self._looked_at),
            complete=bound >= loss,
        )

    def refine(self, found: FoundRecoding, columns: Sequence[int]) -> FoundRecoding:
        """Return a recoding in which the labels of some columns have different levels, if it loses less.

        From the finest labels on, in sizes 1 to m: of every rare pattern, the label whose group costs least is a
        candidate, and is replaced by its group where that costs less than to leave its rows out.
        """
        self.spent = 0
        cuts = {place: np.zeros(len(self.encoded.columns[place].hierarchy.codes[0]), np.int64) for place in columns}
        recoding: list[int | Integers] = [cuts.get(place, level) for place, level in enumerate(found.levels)]
        forest = self.encoded.forest(recoding)
        for size in range(1, self.m + 1):
            while not self.tired:
                self.watch.step(0, 0, f"looked at patterns of {size} items")
                self.spent += choices_of(condense(forest, size).forest, size)
                support = count_support(forest, size)
                rare = support.rare(self.k)
                if not rare.any():
                    break
                rows = find_choices(forest, size, support.keys[rare]).rows
                if not raise_labels(self.encoded, cuts, rows):
                    break
                forest = self.encoded.forest(recoding)
        least = (forest.size - int(self.limit * forest.size), len(forest) - int(self.limit * len(forest)))

        def is_too_much(people: Integers, items: Integers) -> bool:
            fewer = len(people) < least[0] or len(items) < least[1]
            return fewer or self.loss(recoding, people, items) >= found.loss

        work = Suppression(
            forest=forest,
            k=self.k,
            m=self.m,
            confidence=self.confidence,
            single_items=self.single_items,
            is_too_much=is_too_much,
        )
        if is_too_much(work.people, work.items):
            return found
        try:
            work.run()
        except TooMuch:
            return found
        loss = self.loss(recoding, work.people, work.items)
        levels = tuple(
            int(cuts[place].max(initial=0)) if place in cuts else level for place, level in enumerate(found.levels)
        )
        # the bound holds for recodings with one level per column
        return replace(
            found, levels=levels, cuts=cuts, loss=loss, bound=0.0, people=work.people, items=work.items, complete=False
        )

    def recoding_loss(self, levels: Levels) -> float:
        """Return the loss of a recoding that leaves nothing out."""
        columns = zip(self.encoded.columns, self._means, levels, strict=True)
        return sum(column.weight * means[level] for column, means, level in columns) / self._total

    @property
    def tired(self) -> bool:
        """Whether the work that is allowed is done."""
        return self.effort is not None and self.spent > self.effort * PER_SECOND

    def _start(self) -> Levels:
        """Return the levels to descend from: the highest ones; of many items, the best ones of a part of the persons.

        A part has no more persons for any pattern than all persons have, so that all need no coarser levels.
        """
        highest = tuple(column.hierarchy.height for column in self.encoded.columns)
        if len(self.encoded.finest) < 4 * SAMPLED:
            return highest
        chosen = self.encoded.forest(tuple(0 for _ in highest)).sample(SAMPLED)
        encoded = self.encoded.of_persons(chosen)
        if 2 * len(encoded.finest) > len(self.encoded.finest):
            return highest  # persons who are alike are chosen together
        part = replace(self, encoded=encoded, best=None, spent=0)
        found = part.run()
        self.spent += part.spent
        return highest if found is None or self._evaluate(found.levels) == np.inf else found.levels

    def _descend(self, levels: Levels) -> None:
        """Go to finer levels, one column at a time, as long as the loss falls."""
        loss = self._evaluate(levels)
        while not self.tired:
            # those that lose least by themselves first: what they come to rules others out
            order = sorted((self.recoding_loss(each), each) for each in _neighbours(levels, -1))
            finer = [(self._evaluate(each), each) for _, each in order if not self.tired]
            least = min(finer, default=(np.inf, levels))
            if not least[0] < loss:
                break
            loss, levels = least

    def _rise(self) -> float | None:
        """Look at all recodings that may lose less than the best; return the bound where that was too much work."""
        bottom = tuple(0 for _ in self.encoded.columns)
        heap, seen = [(self.recoding_loss(bottom), bottom)], {bottom}
        tops = tuple(column.hierarchy.height for column in self.encoded.columns)
        while heap:
            bound, levels = heapq.heappop(heap)
            if self.best is not None and bound >= self.best.loss:
                return None
            if self.tired:
                return bound
            self._evaluate(levels)
            for each in _neighbours(levels, +1):
                if each not in seen and all(level <= top for level, top in zip(each, tops, strict=True)):
                    seen.add(each)
                    heapq.heappush(heap, (self.recoding_loss(each), each))
        return None

    def _evaluate(self, levels: Levels) -> float:
        """Return the loss of a recoding with what it leaves out, or a bound of it where that is no better."""
        if levels in self._looked_at:
            return self._looked_at[levels]
        self.watch.step(len(self._looked_at), 0, f"looked at {len(self._looked_at):,} recodings")
        base = self.recoding_loss(levels)
        bound = max([base, *(base + forced for coarser, forced in self._forced if _below(levels, coarser))])
        if self.best is not None and bound >= self.best.loss:
            return bound
        forest = self.encoded.forest(levels)
        self._least[levels] = bound = max(bound, base + self._force(forest, levels))
        if self.best is not None and bound >= self.best.loss:
            self._looked_at[levels] = bound
            return bound
        self._looked_at[levels] = np.inf
        least = (len(forest.classes) - int(self.limit * forest.size), len(forest) - int(self.limit * len(forest)))
        best = np.inf if self.best is None else self.best.loss

        def is_too_much(people: Integers, items: Integers) -> bool:
            fewer = len(people) < least[0] or len(items) < least[1]
            return fewer or (best < np.inf and self.loss(levels, people, items) > best)

        work = Suppression(
            forest=forest,
            k=self.k,
            m=self.m,
            confidence=self.confidence,
            single_items=self.single_items,
            is_too_much=is_too_much,
        )
        try:
            work.run()
        except TooMuch:
            return np.inf
        finally:
            self.spent += work.effort
        loss = self.loss(levels, work.people, work.items)
        self._looked_at[levels] = loss
        better = self.best is None or (loss, levels) < (self.best.loss, self.best.levels)
        if better and work.forest.size:
            self.best = FoundRecoding(
                levels=levels, loss=loss, bound=0.0, people=work.people, items=work.items, looked_at=0, complete=False
            )
        return loss

    def _force(self, forest: Forest, levels: Levels) -> float:
        """Return what the loss rises at least by what small classes and rare single items force out.

        It holds for finer recodings as well: their classes and items are rarer. Whoever is left out costs all that its
        values did not cost before.
        """
        self.spent += len(forest) + forest.size
        classes = count_support(forest, 0)
        rare = np.isin(forest.classes, classes.keys[classes.rare(self.k), 0])
        items = rare[forest.persons]
        if self.m and len(forest):
            _, places, numbers = np.unique(forest.paths, return_inverse=True, return_counts=True)
            # no more persons than items show a path
            items = items | (numbers[places.ravel()] < self.k)
        if not rare.any() and not items.any():
            return 0.0
        people, kept = np.flatnonzero(~rare), np.flatnonzero(~items)
        # at these levels; finer ones cost less before and so rise by more
        rise = self.loss(levels, people, kept) - self.recoding_loss(levels)
        self._forced.append((levels, rise))
        return rise

    def loss(self, levels: Sequence[int | Integers], people: Integers, items: Integers) -> float:
        """Return the loss of a recoding where only some persons and items stay."""
        encoded = self.encoded
        staying = {encoded.dataset.schema.root.name: people}
        for number, table in enumerate(encoded.dataset.schema.items):
            staying[table.name] = encoded.rows[items[encoded.tables[items] == number]]
        total = 0.0
        for column, level in zip(encoded.columns, levels, strict=True):
            rows = staying[column.table]
            number = len(column.leaves)
            lost = float(column.shares(level)[rows].sum()) + (number - len(rows))
            total += column.weight * (lost / number if number else 0.0)
        return total / self._total


def raise_labels(encoded: EncodedDataset, cuts: Mapping[int, Integers], choices: Integers) -> bool:
    """Replace labels in rare patterns by their groups, where that loses less than to leave their rows out.

    ``choices`` are items that form rare patterns, a row for each. Return whether any label was replaced.
    """
    places = {encoded.columns[place].table: place for place in cuts}
    costs = np.full(choices.shape, np.inf)
    groups = np.full(choices.shape, -1, dtype=np.int64)
    priced: dict[int, tuple[list[Floats], KnownColumn, Integers]] = {}
    offset = 0
    for number, table in enumerate(encoded.dataset.schema.items):
        if table.name not in places:
            continue
        column, cut = encoded.columns[places[table.name]], cuts[places[table.name]]
        prices = _prices(column, cut)
        mine = encoded.tables[choices] == number
        leaves = column.leaves[encoded.rows[choices[mine]]]
        up = np.minimum(cut[leaves] + 1, column.hierarchy.height)
        codes = np.stack(column.hierarchy.codes)[up, leaves]
        price = np.concatenate(prices)[_starts(prices)[up] + codes]
        costs[mine] = np.where(cut[leaves] < column.hierarchy.height, price, np.inf)
        groups[mine] = offset + _starts(prices)[up] + codes
        priced[offset] = (prices, column, cut)
        offset += sum(map(len, prices))
    each = np.arange(len(choices))
    cheapest = np.argmin(costs, axis=1)
    possible = np.isfinite(costs[each, cheapest])
    pairs = np.unique(np.stack([groups[each, cheapest][possible], choices[each, cheapest][possible]], axis=1), axis=0)
    rows_lost = np.bincount(pairs[:, 0], minlength=offset)
    raised = False
    for start, (prices, column, cut) in priced.items():
        for level in range(1, column.hierarchy.height + 1):
            here = start + _starts(prices)[level] + np.arange(len(prices[level]))
            chosen = (rows_lost[here] > 0) & (rows_lost[here] >= prices[level])
            covered = chosen[column.hierarchy.codes[level]] & (cut < level)
            raised |= bool(covered.any())
            cut[covered] = level
    return raised


def _prices(column: KnownColumn, cut: Integers) -> list[Floats]:
    """Return for every level what it costs to replace all finer labels below each of its labels, in lost rows."""
    counts, shares = np.bincount(column.leaves, minlength=len(cut)), column.leaf_shares(cut)
    found = []
    for level, (codes, domain) in enumerate(zip(column.hierarchy.codes, column.hierarchy.shares, strict=True)):
        more = np.where(cut < level, counts * (np.asarray(domain)[codes] - shares), 0.0)
        found.append(np.bincount(codes, weights=more, minlength=len(domain)).astype(np.float64))
    return found


def _starts(parts: Sequence[Floats]) -> Integers:
    return np.concatenate([[0], np.cumsum([len(part) for part in parts])])[:-1]


def _levels(column: KnownColumn) -> int:
    return column.hierarchy.height + 1


def _neighbours(levels: Levels, step: int) -> Iterator[Levels]:
    for place, level in enumerate(levels):
        if level + step >= 0:
            yield (*levels[:place], level + step, *levels[place + 1 :])


def _below(finer: Levels, coarser: Levels) -> bool:
    return all(one <= other for one, other in zip(finer, coarser, strict=True))
