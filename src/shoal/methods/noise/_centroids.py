"""Differentially private data sets through microaggregation, with three targets told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.guarantees import Promise
from shoal.hierarchies import Concepts
from shoal.kernels.clusters import in_turns
from shoal.mechanisms import SYSTEM, ExponentialMechanism, NoiseGrid, RandomSource
from shoal.methods.classes import Partition, individual_ranking, mdav, permutation_within, require_size
from shoal.methods.noise._columns import AttributeSet, Records, require_disjoint
from shoal.methods.noise._design import Design, NoiseChoice, NoiseCost, choice_epsilon, design, one_number
from shoal.methods.noise._promises import privacy_promise
from shoal.methods.noise._sensitivity import (
    Clustering,
    NoiseKind,
    Number,
    Split,
    Target,
    centroid_noise,
    widths,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyCentroids:
    """The release of one set of attributes."""

    #: Which columns of the records these are.
    attributes: AttributeSet
    #: One record per cluster, with noise, inside the declared domain.
    centroids: Records
    #: How many records each stands for.
    sizes: NDArray[np.int64]
    #: The cluster of each input row, where the target lets it be known; else None.
    labels: NDArray[np.int32] | None
    #: For each numeric attribute how far off the noise puts the mean of each cluster on average: the scale of Laplace
    #: noise.
    scales: NDArray[np.float64]
    #: The noise of the numbers.
    kind: NoiseKind
    #: How the clusters were found; ``"natural order"`` is insensitive and of one number.
    clustering: Clustering


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DPRelease:
    """What `dp_microaggregate` gives: the noisy centroids, and what they promise."""

    parts: tuple[NoisyCentroids, ...]
    design: Design
    promise: Promise

    @property
    def target(self) -> Target:
        return self.design.target

    @property
    def k(self) -> int:
        return self.design.k

    def table(self) -> list[Records]:
        """Return one record per input record, for each set of attributes.

        In the order of the input rows where the target lets it be known; else in the random order of the clusters, in
        which rows of different sets do not belong together.
        """
        rows = [
            np.repeat(np.arange(len(part.sizes)), part.sizes) if part.labels is None else part.labels
            for part in self.parts
        ]
        return [part.centroids.take(own) for part, own in zip(self.parts, rows, strict=True)]


def dp_microaggregate(
    records: Records,
    *,
    epsilon: Number,
    delta: Number = 0,
    k: int | Literal["auto"] = "auto",
    target: Target = "original",
    noise: NoiseChoice = "auto",
    sets: Sequence[AttributeSet] | None = None,
    split: Split = "equal",
    reference_points: int | None = None,
    records_per_person: int | None = None,
    source: RandomSource = SYSTEM,
) -> DPRelease:
    """Cluster records, replace each cluster by its centroid, and add noise to the centroids.

    Parameters
    ----------
    records
        Records with declared bounds and taxonomies.
    epsilon, delta
        The whole budget: epsilon above 0, delta in [0, 1). No delta is spent where noise is not Gaussian.
    k
        The least cluster size, or ``"auto"`` for a public rule (`automatic_k`).
    target
        What is protected, and so how much noise it takes. Width Δ_j, c clusters, budget ε_j of attribute j:

        ``"original"``
            the original records; clusters from `insensitive`; box noise of variance about (c Δ_j / k)² / 3ε_j²
            (Laplace noise: 2 (c Δ_j / k)² / ε_j²), and Laplace noise of scale (Δ_j / k) / ε_j for a set of one number,
            in its natural order.
        ``"partition"``
            the values, given that the clusters are public [SCDF17]; clusters from `mdav`, or from
            `individual_ranking` for a set of one number (IR_MDAV+DP); scale Δ_j / (size ε_j).
        ``"record-query"``
            the answer to a query for one record [SC13, ch. 6] (INS+DP); clusters from `insensitive`; scale
            Δ_j / (k ε_j).
    noise
        ``"laplace"``, ``"box"`` (Laplace where means do not move together), ``"gaussian"``, which needs a delta, or
        ``"auto"``: box noise, or Gaussian noise where there is a delta and it makes the expected error smaller.
    sets
        Disjoint sets of attributes that cover all, each clustered on its own; all attributes together by default.
    split
        How epsilon is shared out over the attributes, numbers first; see `split_budget`.
    reference_points
        See `insensitive`; 1 for a set of one number under ``"original"``.
    records_per_person
        The most records that a person has among ``records``, if (ε, the promise) is one to persons. A record then has
        ε / r, or ρ / r² (Bun and Steinke 2016, Prop. 1.9): tables that differ by the r records of a person are r
        replacements of one record apart.
    source
        Where random bits come from; a seeded source is for tests only.

    Guarantee
    ---------
    ``"original"``: ε-differential privacy, neighbours replace one record, the number of records is public;
    unconditional. A record's change moves the means of attribute j by at most the sensitivity that the noise is
    scaled to (`centroid_sensitivity`), since corresponding clusters differ in at most one record [SC13 Prop. 7];
    attributes compose by adding their ε_j. With Gaussian noise every attribute is ρ_j-zero-concentrated differentially
    private, and ρ = Σ ρ_j is (ε, δ) (`shoal.methods.truthful.gaussian`). Sizes depend on n and k alone.

    ``"partition"``: ε-differential privacy
    of the values *conditional on the partition*, which is computed from the data and not protected [SCDF17 Prop. 2].
    ``"record-query"``: conditional: the answer about one record that stays in its cluster, not the data set. [SC13
    Prop. 8] claims the whole data set by parallel composition, which does not apply, since one record's change may
    reach every cluster; and it says nothing of a record that changes its cluster.

    A concept is chosen by the exponential mechanism over all concepts, with quality -marginality [SC13 Alg. 6.3]; under
    ``"original"`` each of the c choices gets ε_j / c.

    Assumptions
    -----------
    Bounds, taxonomies, k, sets and reference points are declared, not read off the records. Values are rounded to a
    grid of 2^32 steps per width, their means are exact integers rounded once, and OpenDP draws the noise on the same
    grid; the sensitivity is raised by one step for each mean that may move, which covers its rounding. Running time
    is not protected.

    Examples
    --------
    >>> ages = Records(numeric=np.arange(20.0, 60.0)[:, None], lower=[0], upper=[120])
    >>> release = dp_microaggregate(ages, epsilon=1, k=10)
    >>> release.parts[0].sizes.tolist(), release.parts[0].scales.round(3)[0].tolist()
    ([10, 10, 10, 10], [12.0, 12.0, 12.0, 12.0])
    >>> release.promise.strength.value
    'unconditional'
    """
    numbers, categories = records.numeric.shape[1], len(records.taxonomies)
    everything = AttributeSet(numeric=tuple(range(numbers)), categorical=tuple(range(categories)))
    chosen = tuple(sets) if sets is not None else (everything,)
    require_disjoint(chosen)
    if sum(len(s.numeric) + len(s.categorical) for s in chosen) != numbers + categories:
        raise ParameterError("`sets` of `dp_microaggregate` must cover all attributes.")
    made = design(
        target=target,
        sets=chosen,
        records=len(records),
        spans=widths(records),
        epsilon=epsilon,
        delta=NoiseGrid(delta).step if delta else Fraction(0),
        k=k,
        split=split,
        noise=noise,
        records_per_person=records_per_person,
    )
    costs = [cost.each(records_per_person or 1) for cost in made.costs]
    parts = tuple(_release(records, attributes, made, costs, reference_points, source) for attributes in chosen)
    promise = privacy_promise(
        target,
        k=made.k,
        epsilon=made.epsilon,
        delta=made.delta,
        cryptographic=source.cryptographic,
        records_per_person=records_per_person,
    )
    return DPRelease(parts=parts, design=made, promise=promise)


def _release(
    records: Records,
    attributes: AttributeSet,
    made: Design,
    costs: Sequence[NoiseCost],
    reference_points: int | None,
    source: RandomSource,
) -> NoisyCentroids:
    own, target, kind = attributes.of(records), made.target, made.kind(attributes)
    partition, clustering = _clusters(own, attributes, made.k, target, reference_points)
    numeric, scales = _noisy_means(
        own,
        partition,
        made,
        [costs[column] for column in attributes.numeric],
        kind,
        natural_order=clustering == "natural order",
        source=source,
    )
    first = records.numeric.shape[1]
    codes = np.empty((partition.count, len(attributes.categorical)), np.int32)
    for column, attribute in enumerate(attributes.categorical):
        budget = choice_epsilon(costs[first + attribute], partition.count if target == "original" else 1)
        codes[:, column] = _noisy_concepts(own.taxonomies[column], own.codes[:, column], partition, budget, source)
    # The order of the clusters says which order they came from; aligned rows show it anyway.
    order = permutation_within(Partition(np.zeros(partition.count, np.int32)), source=source)
    labels = None if target == "original" else np.argsort(order).astype(np.int32)[partition.labels]
    return NoisyCentroids(
        attributes=attributes,
        centroids=replace(own, numeric=numeric[order], codes=codes[order]),
        sizes=partition.sizes[order],
        labels=labels,
        scales=scales[:, order],
        kind=kind,
        clustering=clustering,
    )


def _clusters(
    own: Records, attributes: AttributeSet, k: int, target: Target, reference_points: int | None
) -> tuple[Partition, Clustering]:
    single = one_number(attributes)
    if target == "partition" and single:
        return individual_ranking(own.numeric[:, 0], k), "individual ranking"
    if target == "partition":
        return mdav(own.space(), k), "mdav"
    points = 1 if single and target == "original" else reference_points
    natural = single and points == 1
    return insensitive(own, k, reference_points=points), "natural order" if natural else "insensitive"


def _noisy_means(
    own: Records,
    partition: Partition,
    made: Design,
    costs: list[NoiseCost],
    kind: NoiseKind,
    *,
    natural_order: bool,
    source: RandomSource,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the noisy means, cluster by attribute, and how far off they are on average, attribute by cluster."""
    noisy, scales = np.empty((partition.count, len(costs))), np.empty((len(costs), partition.count))
    if not costs:
        return noisy, scales
    lower, upper = own.bounds
    spans = widths(own)
    for column, cost in enumerate(costs):
        for size, members in _alike(partition, made.target, made.k):
            noise = centroid_noise(
                made.target,
                width=spans[column],
                size=size,
                clusters=partition.count,
                natural_order=natural_order,
                epsilon=cost.epsilon,
                kind=kind,
                rho=cost.rho,
            )
            step = noise.grid.step
            steps = int(spans[column] / step)
            means = _grid_means(own.numeric[:, column] - lower[column], float(step), steps, partition)[members]
            released = noise.release_all([int(mean) * step for mean in means], source=source)
            noisy[members, column] = lower[column] + np.array(released, np.float64)
            scales[column, members] = noise.typical
    return np.clip(noisy, lower, upper), scales


def _grid_means(offsets: NDArray[np.float64], step: float, steps: int, partition: Partition) -> NDArray[np.int64]:
    """Return the means in whole steps, halves upwards, of values rounded to the grid: exact from there on."""
    whole = np.clip(np.rint(offsets / step), 0, steps).astype(np.int64)
    sums = np.add.reduceat(whole[partition.order()], partition.starts())
    means: NDArray[np.int64] = (2 * sums + partition.sizes) // (2 * partition.sizes)
    return means


def _alike(partition: Partition, target: Target, k: int) -> list[tuple[int, NDArray[np.int64]]]:
    """Return the clusters that share a noise scale: by their size where the partition is public, else all."""
    if target != "partition":
        return [(k, np.arange(partition.count))]
    return [(int(size), np.flatnonzero(partition.sizes == size)) for size in np.unique(partition.sizes)]


def _noisy_concepts(
    taxonomy: Concepts, codes: NDArray[np.int32], partition: Partition, budget: Fraction, source: RandomSource
) -> NDArray[np.int32]:
    reach = taxonomy.sensitivity
    chosen = np.zeros(partition.count, np.int32)
    if reach == 0:  # no value can change a marginality, so the least marginal concept says nothing
        return np.full(partition.count, int(taxonomy.centroid(taxonomy.counts(taxonomy.domain[:1]))), np.int32)
    mechanism = ExponentialMechanism(epsilon=budget, sensitivity=reach * taxonomy.scale, neighbours="replace")
    for cluster, rows in enumerate(partition.clusters()):
        scores = -taxonomy.marginality(taxonomy.counts(codes[rows]))
        chosen[cluster] = mechanism.select([int(score) for score in scores], source=source)
    return chosen


# -- insensitive clustering: a change of one record changes at most one record of every cluster

DEFAULT_CORNERS = 64


def insensitive(records: Records, k: int, *, reference_points: int | None = None) -> Partition:
    """Partition records by a fixed sequence of total orders.

    The i-th cluster takes the k records that are free and first in order i; the last takes the fewer than 2k that
    are left [SC13 Alg. 6.1]. Order i is the distance (6.7) to the reference point R_i, ties by the lexicographic
    order of the records (numbers first). The reference points are corners of the declared domain, used in turns;
    see `corners`.

    There are 1 to 2^m reference points for m attributes; where their number is not given, all of them but at most 64.
    With one numeric attribute and 1 reference point the order is the natural order of the numbers.

    Guarantee
    ---------
    For records X and X' of the same number that differ in one record, the i-th clusters of X and of X' differ in at
    most one record, for every i [SC13 Def. 12, Prop. 7]. So a mean of an attribute of width Δ moves by at most Δ/k,
    in *every* cluster: the c means together by at most cΔ/k. In the natural order of one attribute the moves
    telescope: all means together move by at most Δ/k.

    Assumptions
    -----------
    The domain, its boundaries, the taxonomies, k and the number of reference points are declared, not read off the
    records. The number of records is public. Distances are floating-point functions of one record each, so they
    define the same order for X and X'.

    Notes
    -----
    O(m n log n) and O(n (m + log n)) for each reference point; 4n bytes for each.

    Examples
    --------
    >>> ages = Records(numeric=[[31], [18], [64], [25], [40]], lower=[0], upper=[120])
    >>> insensitive(ages, 2, reference_points=1).labels.tolist()
    [1, 0, 1, 0, 1]
    """
    size = require_size(k, len(records), "insensitive")
    return insensitive_orders(fixed_orders(records, reference_points), size)


def insensitive_orders(orders: NDArray[np.int32], k: int) -> Partition:
    """Partition records by given orders, one permutation of the rows each, used in turns.

    Insensitive if each order is a fixed total order of the domain, the same whatever the records are [SC13 Prop. 7].
    """
    size = require_size(k, orders.shape[1], "insensitive_orders")
    return Partition(in_turns(orders, size)).require(size, 2 * size - 1)


def fixed_orders(records: Records, reference_points: int | None = None) -> NDArray[np.int32]:
    """Return, for each reference point in turn, the rows by distance from it; one row of the result each."""
    space = records.space()
    numbers, categories = records.numeric.shape[1], len(records.taxonomies)
    limit = 2 ** min(numbers + categories, 30)
    count = min(limit, DEFAULT_CORNERS) if reference_points is None else reference_points
    if not 1 <= count <= limit:
        raise ParameterError(
            f"`reference_points` of `insensitive` must be in [1, 2^attributes]; got {count} for "
            f"{numbers + categories} attributes."
        )
    # Rows in lexicographic order first; a stable sort by distance then leaves ties in that order.
    keys = [*records.numeric.T, *records.codes.T]
    lexicographic = np.lexsort(keys[::-1])
    orders = np.empty((count, len(records)), np.int32)
    for order, corner in zip(orders, corners(numbers + categories, count), strict=True):
        ends = zip(records.taxonomies, corner[numbers:], strict=True)
        codes = np.array([taxonomy.boundaries[end] for taxonomy, end in ends], np.int32)
        distances = space.distances(np.array(corner[:numbers], np.float64), codes, lexicographic)
        order[:] = lexicographic[np.argsort(distances, kind="stable")]
    return orders


def corners(attributes: int, count: int) -> list[tuple[int, ...]]:
    """Return the first reference points: for each attribute 0, its lower boundary, or 1, its upper boundary.

    The first is (0, ..., 0). The next is, of those not chosen yet, the one at the greatest Hamming distance from the
    last chosen; of several the one at the greatest distance from the one chosen before; and so on
    [SC13, section 6.3.3]. Where that leaves a choice, the lexicographically first.

    >>> corners(2, 4)
    [(0, 0), (1, 1), (0, 1), (1, 0)]
    """
    chosen = [(0,) * attributes]
    while len(chosen) < count:
        taken = set(chosen)
        opposite = tuple(1 - end for end in chosen[-1])
        # The points at Hamming distance attributes - d from the last are its opposite with d ends turned.
        for turned in range(attributes + 1):
            flips = combinations(range(attributes), turned)
            candidates = [point for point in (_turn(opposite, ends) for ends in flips) if point not in taken]
            if candidates:
                break
        distances = [tuple(-_hamming(point, before) for before in reversed(chosen)) for point in candidates]
        chosen.append(min(zip(distances, candidates, strict=True))[1])
    return chosen


def _turn(point: tuple[int, ...], ends: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(1 - end if position in ends else end for position, end in enumerate(point))


def _hamming(left: tuple[int, ...], right: tuple[int, ...]) -> int:
    return sum(a != b for a, b in zip(left, right, strict=True))
