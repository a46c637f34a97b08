"""The lattice of a table: a node is one level per quasi-identifier, and its release is a recoding."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoal.kernels import Codes, Counts, Floats, Mask
from shoal.kernels.recoding import ChosenTuples, MappedTuples, choose, group, roll_up
from shoal.kernels.walk import BoxAttribute, Start
from shoal.methods.recode._effort import Effort
from shoal.models import Classes, ClassHistogram, Model, keep
from shoal.tables import Frequencies, Recoding, count_places, tally

Levels = tuple[int, ...]
Tables = tuple[tuple[Floats, ...], ...]

#: Codes in the nodes that are kept to roll others up from: 128 MB.
_STORE = 2**25
#: What rolling up one cell takes, in looks at a cell.
ROLLED_UP = 1.0


class Lattice:
    """The nodes of one table, each rolled up from the smallest known node below it.

    ``costs[attribute][level][code]`` are added up for every class, where they are given. Where persons have several
    records, those of classes are counted up to ``enough``. Its work is counted as ``effort``.
    """

    def __init__(
        self, frequencies: Frequencies, costs: Tables = (), *, enough: int = 1, effort: Effort | None = None
    ) -> None:
        self.frequencies = frequencies
        self.effort = effort or Effort()
        self.heights = frequencies.heights
        self.nodes = math.prod(height + 1 for height in self.heights)
        self._costs = costs
        self._maps: dict[tuple[int, int, int], Codes] = {}
        self._leaves = self._start(enough)
        self._known: OrderedDict[Levels, Node] = OrderedDict()
        self._stored = 0
        self._asked: dict[Levels, int] = {}

    @property
    def bottom(self) -> Levels:
        """The node in which every value is as it was."""
        return (0,) * len(self.heights)

    @property
    def top(self) -> Levels:
        """The node in which every value is ``*``."""
        return self.heights

    @property
    def leaves(self) -> int:
        """The number of distinct tuples."""
        return self._leaves.rows

    def node(self, levels: Levels, *, low: Levels | None = None) -> Node:
        """Return a node. Nodes above ``low`` are likely to be asked for next."""
        if low is not None and low not in self._known:
            asked = self._asked[low] = self._asked.get(low, 0) + 1
            if asked == 2:  # for a single node it would not pay
                self._keep(self._rolled_up(self._below(low, None), low))
        return self._keep(self._rolled_up(self._below(levels, low), levels))

    def recoding(self, levels: Levels, kept: Mask | None = None) -> Recoding:
        """Return the release of a node, of which all classes are released or the ``kept`` ones."""
        node = self._rolled_up(self._leaves, levels)
        kept = np.ones(len(node.starts), dtype=np.bool_) if kept is None else kept
        numbers = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        at_level = list(zip(self.frequencies.hierarchies, levels, strict=True))
        return Recoding(
            attributes=self.frequencies.attributes,
            classes=numbers[node.labels],
            codes=node.codes()[kept],
            labels=tuple(hierarchy.labels[level] for hierarchy, level in at_level),
            shares=tuple(hierarchy.shares[level] for hierarchy, level in at_level),
            depths=tuple(np.full(len(own.labels[level]), own.depth(level)) for own, level in at_level),
            unchanged=tuple(hierarchy.floor + level == 0 for hierarchy, level in at_level),
            levels=tuple(int(level) for level in levels),
        )

    def _below(self, levels: Levels, low: Levels | None) -> Node:
        """Return the smallest known node among the next ones below, ``low`` and the leaves."""
        candidates = [
            node
            for j, level in enumerate(levels)
            if level and (node := self._known.get((*levels[:j], level - 1, *levels[j + 1 :])))
        ]
        if low is not None and (found := self._known.get(low)):
            candidates.append(found)
        return min(candidates, key=lambda node: node.rows, default=self._leaves)

    def _keep(self, node: Node) -> Node:
        if node.rows < self._leaves.rows:
            self._known[node.levels] = node
            self._stored += node.weight
            while self._stored > _STORE:
                self._stored -= self._known.popitem(last=False)[1].weight
        return node

    def _start(self, enough: int) -> Node:
        frequencies, population = self.frequencies, self.frequencies.population
        counts = np.array([frequencies.counts] if population is None else [frequencies.counts, population])
        unordered = Node(
            frequencies=frequencies,
            levels=self.bottom,
            maps=(),
            columns=np.concatenate([frequencies.codes.T, frequencies.sensitive_codes.T]),
            counts=counts,
            starts=np.zeros(0, dtype=np.int64),
            totals=np.zeros((len(counts), 0), dtype=np.int64),
            costs=np.zeros(0),
        )
        leaves = self._rolled_up(unordered, self.bottom)
        return replace(leaves, crowd=Crowd.of(frequencies, leaves.labels, len(leaves.starts), enough))

    def _rolled_up(self, source: Node, levels: Levels) -> Node:
        self.effort.spend(source.columns.size * ROLLED_UP)
        costs = [table[level] for table, level in zip(self._costs, levels, strict=False)]
        rolled = source.rolled_up(self._maps_between(source.levels, levels), self.widths(levels), costs)
        return replace(rolled, levels=levels, maps=tuple(self._maps_between(self.bottom, levels)))

    def _maps_between(self, low: Levels, high: Levels) -> list[Codes]:
        return [self.mapping(j, *ends) for j, ends in enumerate(zip(low, high, strict=True))]

    def widths(self, levels: Levels) -> list[int]:
        """Return the number of values of every attribute at a node."""
        return [len(h.labels[level]) for h, level in zip(self.frequencies.hierarchies, levels, strict=True)]

    def mapping(self, attribute: int, low: int, high: int) -> Codes:
        """Return the codes at level ``high`` of the codes at level ``low`` of an attribute."""
        key = (attribute, low, high)
        if key not in self._maps:
            hierarchy = self.frequencies.hierarchies[attribute]
            mapping = np.zeros(len(hierarchy.labels[low]), dtype=np.int32)
            mapping[hierarchy.codes[low]] = hierarchy.codes[high]
            self._maps[key] = mapping
        return self._maps[key]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Crowd:
    """Which classes have ``enough`` persons, and the persons of those that have not.

    The persons of a merged class are not the sum of those of its parts. But as soon as one part has enough, so has the
    class; and where none has, the persons of all parts are known, and so are those of the class. So nodes are rolled up
    from each other as with records, exactly, and the less there is to keep the higher they are.
    """

    #: The number of persons that is asked for.
    enough: int
    #: Which classes have as many.
    full: Mask
    #: ``class * number + person`` of the persons of all other classes, ascending.
    keys: Counts
    #: The number of all persons, and how many each stands for; see :class:`~shoal.tables.Holders`.
    number: int
    times: Counts | None

    @classmethod
    def of(cls, frequencies: Frequencies, labels: Codes, classes: int, enough: int) -> Crowd | None:
        """Count the persons of classes of tuples; None where records need not be told from persons."""
        if frequencies.holders is None:
            return None
        owners, persons = frequencies.holders.group_pairs(labels)
        number, times = frequencies.holders.number, frequencies.holders.times
        none, keys = np.zeros(classes, dtype=np.bool_), owners * number + persons
        return cls(enough=enough, full=none, keys=keys, number=number, times=times)._settled()

    def rolled_up(self, labels: Codes, classes: int) -> Crowd:
        """Return the crowd of larger classes, given the one that every class goes to."""
        full = np.zeros(classes, dtype=np.bool_)
        full[labels[self.full]] = True
        owners = labels[self.keys // self.number].astype(np.int64)
        open_ = ~full[owners]
        keys = np.unique(owners[open_] * self.number + self.keys[open_] % self.number)
        return replace(self, full=full, keys=keys)._settled()

    @property
    def persons(self) -> Counts:
        """The persons of every class, or ``enough`` where there are more."""
        return np.asarray(np.where(self.full, self.enough, self._count_records()), dtype=np.int64)

    def _settled(self) -> Crowd:
        full = self.full | (self._count_records() >= self.enough)
        return replace(self, full=full, keys=self.keys[~full[self.keys // self.number]])

    def _count_records(self) -> Counts:
        weights = None if self.times is None else self.times[self.keys % self.number]
        return count_places(self.keys // self.number, weights, len(self.full))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Node:
    """The distinct tuples of a node in lexicographic order, sensitive values last; its classes are runs of them."""

    frequencies: Frequencies
    levels: Levels
    #: The codes of the leaves of every quasi-identifier.
    maps: tuple[Codes, ...]
    #: Codes of the quasi-identifiers at ``levels``, then of the sensitive attributes; one column per row.
    columns: Codes
    #: Records per tuple; in a second row those of the population, where there is one.
    counts: Counts
    #: The first tuple of every class.
    starts: Counts
    #: The sums of the counts of every class, likewise.
    totals: Counts
    #: What a record of every class costs, where the lattice knows costs.
    costs: Floats
    #: The persons of the classes, where persons have several records.
    crowd: Crowd | None = None

    @property
    def weight(self) -> int:
        """How many numbers the node keeps."""
        return self.columns.size + (0 if self.crowd is None else 2 * self.crowd.keys.size)

    @property
    def labels(self) -> Codes:
        """The class of every row of the frequencies."""
        return _grouped(self.frequencies.codes.T, self.maps)

    def rolled_up(self, maps: Sequence[Codes], widths: Sequence[int], costs: Sequence[Floats]) -> Node:
        """Return the node to which ``maps`` take the codes of this one: so many values, and what each costs.

        Its ``maps`` are those of the leaves, if this node is that of the leaves.
        """
        sensitive = [attribute.size for attribute in self.frequencies.sensitive]
        every = [*maps, *(np.arange(size, dtype=np.int32) for size in sensitive)]
        rolled = roll_up(MappedTuples(self.columns, every, [*widths, *sensitive], self.counts, len(maps), costs))
        crowd = self.crowd
        return replace(
            self,
            maps=tuple(maps),
            columns=rolled.columns,
            counts=rolled.counts,
            starts=rolled.starts,
            totals=rolled.sizes,
            costs=rolled.costs,
            crowd=None if crowd is None else crowd.rolled_up(_grouped(self.codes().T, maps), len(rolled.starts)),
        )

    def large(self, smallest: int) -> Mask:
        """Return the classes of at least so many people."""
        if self.crowd is None or smallest <= 1:
            return np.asarray(self.sizes >= smallest)
        assert smallest == self.crowd.enough  # noqa: S101 - the lattice was made for these models
        return self.crowd.full.copy()

    @property
    def rows(self) -> int:
        """The number of distinct tuples."""
        return int(self.counts.shape[1])

    @property
    def sizes(self) -> Counts:
        """The records of every class; a class that only the population holds has none."""
        return np.asarray(self.totals[0])

    def codes(self, chosen: Mask | None = None) -> Codes:
        """Return the quasi-identifiers of all classes, or of the ``chosen`` ones; one row per class."""
        starts = self.starts if chosen is None else self.starts[chosen]
        return np.asarray(self.columns[: len(self.levels), starts].T)

    def classes(
        self,
        chosen: Mask,
        *,
        sensitive: Iterable[str] = (),
        codes: bool = True,
        population: bool = True,
        votes: bool = False,
    ) -> Classes:
        """Return the ``chosen`` classes with what is asked for.

        ``votes`` counts persons to the end and lets them vote; else there are at least as many as the classes say.
        """
        wanted = set(sensitive)
        classes = Classes(
            sizes=self.sizes[chosen],
            sensitive={
                attribute.name: self._histogram(number, chosen)
                for number, attribute in enumerate(self.frequencies.sensitive)
                if attribute.name in wanted
            },
            codes=self.codes(chosen) if codes else None,
            population=self._people(chosen) if population else None,
            persons=None if self.crowd is None else self.crowd.persons[chosen],
            costs=self.costs[chosen] if len(self.costs) else None,
        )
        if not votes or self.crowd is None:
            return classes
        positions = np.where(chosen, np.cumsum(chosen) - 1, -1)
        return classes.count_votes(self.frequencies, positions[self.labels])

    def _people(self, chosen: Mask) -> Counts | None:
        """Return the people of the population in the chosen classes: they add up where nobody has several records."""
        if self.frequencies.residents is not None:
            return self.frequencies.residents.crowds(self.labels, len(self.starts))[chosen]
        return np.asarray(self.totals[1, chosen]) if len(self.totals) > 1 else None

    def keep(self, models: Sequence[Model], value: Callable[[Mask], float] | None = None) -> Mask:
        """Return which classes are released: those that are large enough, and then those that satisfy all models.

        Of the sets that are left by different orders of removal, the one with the least ``value``.
        """
        chosen = self.large(smallest_class(models))
        names = [attribute.name for attribute in self.frequencies.sensitive]
        classes = self.classes(chosen, sensitive=names, votes=not by_size(models))
        worth = None if value is None else lambda kept: value(_within(chosen, kept))
        return _within(chosen, keep(models, classes, worth))

    def _histogram(self, number: int, chosen: Mask) -> ClassHistogram:
        """Gather the values of one sensitive attribute in the chosen classes."""
        attribute = self.frequencies.sensitive[number]
        values = choose(self.starts, chosen, self.columns[len(self.levels) + number], self.counts[0])
        if len(self.frequencies.sensitive) > 1:  # tuples of a class differ in other sensitive attributes as well
            values = _merged(values, attribute.size)
        return ClassHistogram(attribute=attribute, offsets=values.offsets, codes=values.codes, counts=values.counts)


def _within(chosen: Mask, kept: Mask) -> Mask:
    """Return the ``kept`` ones of the chosen classes among all classes."""
    result = chosen.copy()
    result[chosen] = kept
    return result


def _merged(values: ChosenTuples, size: int) -> ChosenTuples:
    """Add up the counts of equal values of a class."""
    classes = len(values.offsets) - 1
    owners = np.repeat(np.arange(classes, dtype=np.int32), np.diff(values.offsets))
    pairs = group(np.stack([owners, values.codes]), (classes, size))
    offsets = np.searchsorted(owners[pairs.first], np.arange(classes + 1))
    return ChosenTuples(offsets, values.codes[pairs.first], tally(pairs.labels, values.counts, len(pairs.first)))


def _grouped(columns: Codes, maps: Sequence[Codes]) -> Codes:
    """Return the number of every row among the distinct rows of mapped codes, in lexicographic order."""
    mapped = np.array([mapping[column] for mapping, column in zip(maps, columns, strict=True)], dtype=np.int32)
    sizes = [int(mapping.max(initial=0)) + 1 for mapping in maps]
    return group(mapped.reshape(len(maps), -1), sizes).labels


def by_size(models: Sequence[Model]) -> bool:
    """Return whether models ask for numbers of people alone."""
    return all(model.capabilities.decided_by_size for model in models)


def smallest_class(models: Sequence[Model]) -> int:
    """Return the least size of a class that all models allow."""
    return max((model.capabilities.minimal_class_size for model in models), default=1)


class Box:
    """All nodes from ``low`` to ``high``, as a walk takes them.

    The attribute with the most bits of information comes first: raising it makes the tables of all nodes after it
    smaller. ``costs[attribute][level][code]`` add up; ``sensitive`` is the number of the sensitive attribute that
    tuples are told apart by, if any.
    """

    def __init__(self, lattice: Lattice, low: Levels, high: Levels, costs: Tables, *, sensitive: int | None = None):
        node = lattice.node(low)
        self.low, self.high = low, high
        self.order = sorted(range(len(low)), key=lambda j: -_entropy(node, j))
        self.shape = tuple(high[j] - low[j] + 1 for j in self.order)
        sizes = [lattice.widths(low)[j] for j in self.order]
        target = 0 if sensitive is None else _bits(lattice.frequencies.sensitive[sensitive].size)
        shifts = np.cumsum([target, *map(_bits, sizes[::-1])])[::-1].tolist()
        self.fits = shifts[0] <= 64
        if not self.fits:
            return
        axes = tuple(
            BoxAttribute(
                shift=shift,
                bits=_bits(size),
                maps=tuple(lattice.mapping(j, level, level + 1) for level in range(low[j], high[j])),
                costs=tuple(costs[j][low[j] : high[j] + 1]),
            )
            for j, size, shift in zip(self.order, sizes, shifts[1:], strict=True)
        )
        self.start = _start(node, self.order, axes, target, sensitive)

    def levels(self, number: int) -> Levels:
        """Return the node with a number in the walk."""
        steps = np.unravel_index(number, self.shape) if self.shape else ()
        raised = dict(zip(self.order, steps, strict=True))
        return tuple(int(level + raised[j]) for j, level in enumerate(self.low))


def _start(
    node: Node, order: Sequence[int], axes: tuple[BoxAttribute, ...], target: int, sensitive: int | None
) -> Start:
    keys = np.zeros(node.rows, dtype=np.uint64)
    for j, axis in zip(order, axes, strict=True):
        keys |= node.columns[j].astype(np.uint64) << np.uint64(axis.shift)
    if sensitive is not None:
        keys |= node.columns[len(node.levels) + sensitive].astype(np.uint64)
    occupied = node.counts[0] > 0
    distinct, labels = np.unique(keys[occupied], return_inverse=True)
    return Start(distinct, tally(labels, node.counts[0, occupied], len(distinct)), axes, target)


def _entropy(node: Node, attribute: int) -> float:
    counts = np.bincount(node.columns[attribute], weights=node.counts[0])
    shares = counts[counts > 0] / max(float(counts.sum()), 1.0)
    return -float((shares * np.log(shares)).sum())


def _bits(size: int) -> int:
    return max(size - 1, 0).bit_length()
