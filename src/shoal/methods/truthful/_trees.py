"""A multi-dimensional scheme, drawn at once from all trees of specialisations.

A *region* is one hierarchy value per attribute. A *tree* starts with the most general regions; at each region it stops,
or takes one attribute one level down and goes on with each of the regions that this gives. Where it stops are the
*cells*: disjoint, together everything. A tree is a scheme: a record is released with the values of its cell.

The score of a tree is the sum over its cells of worth(|cell|) q(cell), as for the nodes of a lattice, and a tree is
drawn with probability proportional to

    pi(tree) exp(rate score(tree)).

pi is the probability of the tree if at each region stopping has probability 1/2 and the attributes share the rest
equally. There are far too many trees to list, but the sum over all of them factorises. With Z(R) the sum over the trees
below a region R,

    Z(R) = 1/2 exp(rate worth(|R|) q(R)) + 1/(2 a) sum over the a attributes of prod over children C of Z(C),

computed from the finest regions up; then a tree is drawn from the top down, at each region one option with
probability proportional to its term. Regions of fewer records than a public number ``cut`` have Z(R) = 1: there the
worth is set to 0 (`Survival.from_size`), so that no cell inside them has any, and pi is a probability. Hence a tree
inside them is drawn from pi. Sampling shows nothing of a class of fewer than cut = k records; trimming, with cut = m +
least, shows little of them, and seldom.

**Theorem.** The draw is epsilon-differentially private (add or remove one record), with one epsilon for the whole tree.

*Proof.* The exponential mechanism with base measure pi over the fixed set of trees: the score of every tree is monotone
with sensitivity Delta, since a record lies in exactly one cell of each tree; rate = epsilon / Delta (McSherry and
Talwar; [Bild24 Thm 2], seed 003; the argument for monotone scores is that of `ExponentialMechanism`). No budget is
divided over depths or regions. What happens inside regions of which nothing can be released, those of fewer records
than the operator ever shows, is not drawn, because it does not change the release.

*Several top regions*, where the level of some attributes is fixed: their trees are drawn independently, and a record
lies in one of them (parallel composition).

*Persons with r records.* All this at epsilon / r for a record, so that epsilon is what r records can change.

*Arithmetic.* Logarithms are integers in units of 2^-b. Scores enter as integers times an integer weight g, and sums
over children are sums of integers: exact. Each choice is made exactly (`ExponentialMechanism`) with the integers l_o
of its options. The only rounding is that of L(R) = log Z(R) to an integer: L(R) = log(sum over options of pi_o e^l_o)
+ r(R), |r(R)| <= 1 unit (half a unit, and the error of the library's exp and log, which is assumed to be below
2^-40). In the probability of a tree the L of all regions but the top cancel: it is pi(tree) exp(g score(tree) -
L(top) + sum over its regions of r(R)). Between neighbours D and D' = D + record, only regions that hold the record
differ: at most T = 1 + sum of heights of them in any tree. So the exponents A(tree) = g score(tree) + sum of r satisfy
-2T <= A' - A <= g Delta + 2T, the normaliser L(top) moves within the same bounds, and the probability changes by a
factor of at most exp((g Delta + 4T) 2^-b). The weight g is the largest integer with (g Delta + 4T) 2^-b <= epsilon.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.errors import ParameterError
from shoal.exact import fraction
from shoal.hierarchies import build, leaves_declared
from shoal.kernels import Integers
from shoal.kernels.walk import BoxAttribute, LargeRegions, large_regions, weigh_trees
from shoal.mechanisms import ExponentialMechanism, RandomSource
from shoal.methods.truthful._scores import RECORD_BITS, ExpectedScore
from shoal.methods.truthful._survival import SCALE, Survival
from shoal.schema import Attribute, Intervals, Schema

Keys = npt.NDArray[np.uint64]

#: Bits of the codes of a combination of values.
LARGEST_WIDTH = 64

#: Bits of a unit of logarithms, for an epsilon of at most 8: sums stay below 2^63 for fewer than 2^28 records.
UNIT_BITS = 32


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """The cells of a drawn tree; those of which nothing can be released may be missing."""

    #: One row per cell, one column per attribute: the level of its value, and its code at that level.
    levels: npt.NDArray[np.int32]
    codes: npt.NDArray[np.int32]
    #: The cell of every distinct tuple of the lattice's lowest node; -1 where nothing can be released.
    owners: Integers


def draw_tree(
    score: ExpectedScore, epsilon: Fraction, source: RandomSource, *, step: Callable[[], None] | None = None
) -> Cells:
    """Draw a tree; see the module's text for the mechanism and its proof.

    Notes
    -----
    Cost O(regions of at least ``cut`` records * attributes), after one walk over the lattice; 40 bytes per such region.
    """
    # the plan was refused otherwise: see `tree_problems`
    assert score.box.fits  # noqa: S101
    return _Drawing(score, epsilon, source, step).cells()


def tree_problems(schema: Schema, names: Sequence[str], levels: Mapping[str, int], title: str) -> list[str]:
    """Return that a tree of some columns from these levels up is too wide, decided by the schema alone.

    How many values occur must not decide it: that one record more makes a release impossible is an answer about it.
    """
    bits = sum(_width(schema[name], schema, levels.get(name, 0)) for name in names)
    if bits <= LARGEST_WIDTH:
        return []
    return [
        f"`{title}`: the released columns may have too many different values for one scheme of all of them (codes of "
        f"{bits} bits; the most are {LARGEST_WIDTH}); list `values` of numbers, set `levels` to start with intervals, "
        "or release fewer columns"
    ]


def _width(attribute: Attribute, schema: Schema, level: int) -> int:
    """Return how many bits the codes of a column need at a level, whatever the table holds."""
    rule, domain = attribute.hierarchy, attribute.domain
    low, high = (None, None) if domain is None else (domain.minimum, domain.maximum)
    # besides the values in the bounds there is a missing one
    if isinstance(low, dt.date) and isinstance(high, dt.date):
        return _bits((high - low).days + 2)
    if leaves_declared(attribute):
        hierarchy = build(attribute, pa.array([], pa.string()), folder=schema.folder, missing=True)
        return _bits(len(hierarchy.labels[min(level, hierarchy.height)]))
    if level and isinstance(rule, Intervals) and isinstance(low, int | float) and isinstance(high, int | float):
        span = fraction(high) - fraction(low)
        # intervals may reach over both bounds, and what lies beyond `bottom` and `top` has codes of its own
        return min(_bits(math.floor(span / fraction(rule.widths[min(level, len(rule.widths)) - 1])) + 5), RECORD_BITS)
    # as many values as records
    return RECORD_BITS


def _bits(size: int) -> int:
    return max(size - 1, 0).bit_length()


class _Drawing:
    """The weights of all regions, and a tree drawn from them."""

    def __init__(
        self, score: ExpectedScore, epsilon: Fraction, source: RandomSource, step: Callable[[], None] | None
    ) -> None:
        self._box, self._start, self._step = score.box, score.box.start, step
        operator = score.setting.operator
        self._regions = large_regions(self._start, operator.cut)
        self._shape = score.box.shape
        self._volumes = [math.prod(self._shape[number + 1 :]) for number in range(len(self._shape))]
        bits = UNIT_BITS - max(0, math.ceil(math.log2(epsilon / 8)))
        worth = score.worth.from_size(operator.cut)
        self._stops = _worths(score, worth, self._regions) * _weight(score, epsilon, bits)
        self._weights = weigh_trees(self._start, self._regions, self._stops, 2.0**-bits)
        self._lifts = [_lifts(axis) for axis in self._start.axes]
        # a rate of 2^-b: the exponent of an option is its integer, in units
        self._selection = ExponentialMechanism(epsilon=1, sensitivity=2**bits, monotone=True)
        self._source = source
        self._all_shown = operator.least < operator.cut
        # rows of small regions that may be released all the same, by the node that they were left at
        self._small: list[tuple[int, Integers]] = []

    def cells(self) -> Cells:
        """Draw from the top down."""
        self._small = []
        top = math.prod(self._shape) - 1
        keys = self._start.keys
        owners = np.full(len(keys), -1, dtype=np.int64)
        waiting = self._children(top, range(*self._offsets(top)), np.arange(len(keys)))
        levels: list[list[int]] = []
        codes: list[list[int]] = []
        while waiting:
            node, region, rows = waiting.pop()
            options = self._options(node, region)
            chosen = self._choose(region, options)
            if chosen is not None:
                waiting += self._children(node - self._volumes[chosen], options[chosen], rows)
                continue
            owners[rows] = len(levels)
            levels.append(self._steps(node))
            codes.append([self._code(number, self._regions.keys[region]) for number in range(len(self._shape))])
            if self._step is not None:
                self._step()
        steps = np.array(levels, dtype=np.int64).reshape(-1, len(self._shape))
        cells = np.array(codes, dtype=np.int64).reshape(-1, len(self._shape))
        if self._small:
            more_steps, more_codes = self._from_base_measure(owners, len(levels))
            steps, cells = np.concatenate([steps, more_steps]), np.concatenate([cells, more_codes])
        places = np.argsort(self._box.order)  # attributes in the table's order
        return Cells(
            levels=steps[:, places].astype(np.int32) + np.array(self._box.low, dtype=np.int32),
            codes=cells[:, places].astype(np.int32),
            owners=owners,
        )

    def _from_base_measure(self, owners: Integers, first: int) -> tuple[Integers, Integers]:
        """Draw trees inside small regions from pi, all regions at once; return steps and codes of their cells."""
        rows = np.concatenate([own for _, own in self._small])
        nodes, sizes = [self._steps(node) for node, _ in self._small], [len(own) for _, own in self._small]
        steps = np.repeat(nodes, sizes, axis=0)
        open_still = np.arange(len(rows))
        while len(open_still):
            current = steps[open_still]
            places, groups = self._regions_of(rows[open_still], current)
            chosen = self._from_pi(current[places])[groups]
            going = np.flatnonzero(chosen >= 0)
            open_still = open_still[going]
            steps[open_still, chosen[going]] -= 1
        places, groups = self._regions_of(rows, steps)
        owners[rows] = first + groups
        return steps[places], self._codes(rows[places], steps[places])

    def _from_pi(self, steps: Integers) -> Integers:
        """Draw from pi, for each region, the axis to specialise; -1 to stop."""
        options = np.cumsum(steps > 0, axis=1)
        number = options[:, -1]
        stop = (self._source.uint8(len(steps)) < 128) | (number == 0)
        wanted = _below(np.maximum(number, 1), self._source)
        return np.where(stop, -1, (options <= wanted[:, None]).sum(axis=1))

    def _regions_of(self, rows: Integers, steps: Integers) -> tuple[Integers, Integers]:
        """Return the first place of every region that rows lie in, each on its own steps, and their regions."""
        keys = np.zeros(len(rows), dtype=np.uint64)
        for axis, codes in zip(self._start.axes, self._codes(rows, steps).T, strict=True):
            keys |= codes.astype(np.uint64) << np.uint64(axis.shift)
        nodes = steps @ np.array(self._volumes)
        order = np.lexsort((keys, nodes))
        new = np.append(True, (np.diff(nodes[order]) != 0) | (keys[order][1:] != keys[order][:-1]))
        groups = np.empty(len(rows), dtype=np.int64)
        groups[order] = np.cumsum(new) - 1
        return order[new], groups

    def _codes(self, rows: Integers, steps: Integers) -> Integers:
        """Return the codes of rows, each on its own steps, one column per axis."""
        keys = self._start.keys[rows]
        columns = []
        for axis, lift, step in zip(self._start.axes, self._lifts, steps.T, strict=True):
            leaves = (keys >> np.uint64(axis.shift)) & np.uint64((1 << axis.bits) - 1)
            columns.append(lift[step, leaves.astype(np.int64)].astype(np.int64))
        return np.stack(columns, axis=1)

    def _options(self, node: int, region: int) -> dict[int, Sequence[int]]:
        """Return the large children of a region, by the axis that is specialised."""
        key = self._regions.keys[region]
        options: dict[int, Sequence[int]] = {}
        for number, (axis, step) in enumerate(zip(self._start.axes, self._steps(node), strict=True)):
            if not step:
                continue
            code = self._code(number, key)
            # codes never decrease from one level to the next, so those of the children are a range
            children = np.arange(*np.searchsorted(axis.maps[step - 1], (code, code + 1)), dtype=np.uint64)
            field = np.uint64(((1 << axis.bits) - 1) << axis.shift)
            wanted = (key & ~field) | (children << np.uint64(axis.shift))
            first, end = self._offsets(node - self._volumes[number])
            known = self._regions.keys[first:end]
            places = np.searchsorted(known, wanted)
            inside = places < len(known)
            inside[inside] = known[places[inside]] == wanted[inside]
            options[number] = (first + places[inside]).tolist()
        return options

    def _choose(self, region: int, options: dict[int, Sequence[int]]) -> int | None:
        """Return the axis to specialise, or None to stop."""
        if not options:
            return None
        splits = [sum(int(self._weights[child]) for child in children) for children in options.values()]
        # stopping stands there as often as there are axes: half of the weight
        exponents = [int(self._stops[region])] * len(splits) + splits
        largest = max(exponents)
        gaps = [exponent - largest for exponent in exponents]
        chosen = self._selection.select(gaps, source=self._source)
        return None if chosen < len(splits) else list(options)[chosen - len(splits)]

    def _children(self, node: int, regions: Sequence[int], rows: Integers) -> list[tuple[int, int, Integers]]:
        """Return regions of one node, each with its part of ``rows``."""
        keys = self._start.keys[rows]
        lifted = np.zeros_like(keys)
        for number, (axis, step) in enumerate(zip(self._start.axes, self._steps(node), strict=True)):
            shift = np.uint64(axis.shift)
            codes = (keys >> shift) & np.uint64((1 << axis.bits) - 1)
            lifted |= self._lifts[number][step][codes.astype(np.int64)] << shift
        order = np.argsort(lifted, kind="stable")
        wanted = self._regions.keys[list(regions)]
        starts, ends = (np.searchsorted(lifted[order], wanted, side=side) for side in ("left", "right"))
        if self._all_shown:
            rest = rows[~np.isin(lifted, wanted)]
            self._small += [(node, rest)] if len(rest) else []
        return [
            (node, region, rows[order[start:end]]) for region, start, end in zip(regions, starts, ends, strict=True)
        ]

    def _steps(self, node: int) -> list[int]:
        return [node // volume % size for volume, size in zip(self._volumes, self._shape, strict=True)]

    def _offsets(self, node: int) -> tuple[int, int]:
        return int(self._regions.offsets[node]), int(self._regions.offsets[node + 1])

    def _code(self, number: int, key: np.uint64) -> int:
        axis = self._start.axes[number]
        return int(key) >> axis.shift & ((1 << axis.bits) - 1)


def _below(bounds: Integers, source: RandomSource) -> Integers:
    """Draw uniform integers in [0, bound), exactly: words beyond the last multiple of a bound are drawn again."""
    counts = np.zeros(len(bounds), dtype=np.int64)
    open_still = np.arange(len(bounds))
    while len(open_still):
        words, own = source.uint64(len(open_still)), bounds[open_still].astype(np.uint64)
        counts[open_still] = (words % own).astype(np.int64)
        # 2^64 mod bound, in 64 bits
        rest = (np.uint64(2**64 - 1) % own + np.uint64(1)) % own
        open_still = open_still[words > np.uint64(2**64 - 1) - rest]
    return counts


def _lifts(axis: BoxAttribute) -> Keys:
    """Return, for every step, its codes for the codes of step 0."""
    size = len(axis.maps[0]) if axis.maps else 1 << axis.bits
    lifts = [np.arange(size, dtype=np.uint64)]
    for mapping in axis.maps:
        lifts.append(mapping.astype(np.uint64)[lifts[-1].astype(np.int64)])
    return np.stack(lifts)


def _worths(score: ExpectedScore, worth: Survival, regions: LargeRegions) -> Integers:
    """Return the scores of regions as cells, in whole records times base / SCALE, rounded down."""
    exact = worth.of(regions.sizes) * (score.base - regions.costs)
    return np.asarray(exact.astype(np.int64) // SCALE)


def _weight(score: ExpectedScore, epsilon: Fraction, bits: int) -> int:
    """Return g: rounding a score down to a multiple of SCALE adds at most one to what a record can change."""
    per_person = score.setting.operator.per_person
    sensitivity = -(-score.sensitivity / per_person // SCALE)
    depth = 1 + sum(score.box.shape) - len(score.box.shape)
    weight = (epsilon / per_person * 2**bits - 4 * depth) // sensitivity
    if weight < 1:
        raise ParameterError(f"epsilon = {float(epsilon):.3g} is too small for a search.")
    return int(weight)
