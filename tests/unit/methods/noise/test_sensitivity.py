"""Sensitivities against brute force over all neighbours of all small data sets."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.hierarchies import Concepts
from shoal.mechanisms import SeededSource
from shoal.methods.classes import Partition
from shoal.methods.noise import (
    NoiseCost,
    Records,
    automatic_k,
    centroid_noise,
    centroid_sensitivity,
    insensitive,
    split_budget,
)
from shoal.methods.noise._sensitivity import MeansNoise


@cache
def centroids(records: tuple[tuple[int, ...], ...], k: int, top: int, points: int | None) -> list[list[Fraction]]:
    """Return the exact means of each cluster of `insensitive`."""
    made = Records(numeric=records, lower=[0] * len(records[0]), upper=[top] * len(records[0]))
    clusters = insensitive(made, k, reference_points=points).clusters()
    return [
        [Fraction(sum(records[row][j] for row in rows), len(rows)) for j in range(len(records[0]))] for rows in clusters
    ]


def neighbouring(domain: list[tuple[int, ...]], n: int) -> Iterator[list[tuple[tuple[int, ...], ...]]]:
    """Go through all pairs of data sets of n records, up to the order of the records, that differ in one."""
    for rest in itertools.combinations_with_replacement(domain, n - 1):
        for pair in itertools.combinations(domain, 2):
            yield [tuple(sorted([*rest, one])) for one in pair]


def greatest_moves(domain: list[tuple[int, ...]], n: int, k: int, points: int | None) -> tuple[Fraction, Fraction]:
    """Return the greatest move of one attribute in all clusters together, and in one cluster."""
    together, single = Fraction(0), Fraction(0)
    for before, after in neighbouring(domain, n):
        left, right = (centroids(records, k, max(map(max, domain)), points) for records in (before, after))
        for j in range(len(domain[0])):
            moves = [abs(a[j] - b[j]) for a, b in zip(left, right, strict=True)]
            together, single = max(together, sum(moves, Fraction(0))), max(single, *moves)
    return together, single


@pytest.mark.parametrize(("n", "k"), [(4, 1), (5, 2), (6, 2), (6, 3)])
def test_the_natural_order_moves_exactly_as_far_as_stated(n: int, k: int) -> None:
    domain = [(value,) for value in range(4)]
    together, _ = greatest_moves(domain, n, k, 1)
    assert together == centroid_sensitivity(
        "original", width=Fraction(3), size=k, clusters=max(1, n // k), natural_order=True
    )


@pytest.mark.slow
@pytest.mark.parametrize(("n", "k"), [(3, 1), (4, 1), (4, 2)])
def test_several_attributes_move_no_farther_than_stated_and_farther_than_one_cluster(n: int, k: int) -> None:
    domain = list(itertools.product(range(3), repeat=2))
    together, single = greatest_moves(domain, n, k, None)
    assert single <= centroid_sensitivity("record-query", width=Fraction(2), size=k)
    # what is right for one record's query is too little for the whole data set
    assert single < together <= centroid_sensitivity("original", width=Fraction(2), size=k, clusters=n // k)


def test_a_fixed_partition_moves_one_mean_by_the_width_over_its_size() -> None:
    partition = Partition(np.array([0, 0, 0, 1, 1]))
    greatest = [Fraction(0)] * 2
    for before in itertools.product(range(3), repeat=5):
        for row, value in itertools.product(range(5), range(3)):
            cluster = int(partition.labels[row])
            move = abs(Fraction(value - before[row], int(partition.sizes[cluster])))
            greatest[cluster] = max(greatest[cluster], move)
    assert greatest == [centroid_sensitivity("partition", width=Fraction(2), size=size) for size in (3, 2)]


TAXONOMIES = [
    Concepts.flat(3),
    Concepts.from_parents([-1, 0, 0, 2, 1, 2]),
    Concepts.from_parents([-1, 0, 1, 1, 0, 4, 4, 0]),
]


@pytest.mark.parametrize("taxonomy", TAXONOMIES)
def test_marginalities_move_exactly_as_far_as_stated(taxonomy: Concepts) -> None:
    greatest = 0
    for rest in itertools.combinations_with_replacement(taxonomy.domain, 2):
        for x, y in itertools.combinations(taxonomy.domain, 2):
            moves = taxonomy.marginality(taxonomy.counts([*rest, x])) - taxonomy.marginality(
                taxonomy.counts([*rest, y])
            )
            greatest = max(greatest, int(np.abs(moves).max()))
    assert Fraction(greatest, 2**32) == taxonomy.sensitivity


def test_the_distance_of_the_boundaries_can_be_too_small() -> None:
    # two families of two and a value on its own: it is the most marginal, but the families are farther apart
    taxonomy = TAXONOMIES[2]
    assert taxonomy.boundaries[0] == 7
    assert taxonomy.sensitivity > Fraction(taxonomy.width) + Fraction(1, 100)


def test_budgets_add_up_exactly() -> None:
    spans = [Fraction(1), Fraction(2), Fraction(4)]
    for split in ("equal", "proportional"):
        assert sum(split_budget("0.1", spans, split)) == Fraction(1, 10)
    assert split_budget(1, spans, ["0.5", "0.25", "0.25"]) == (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))


@pytest.mark.parametrize("split", [["0.5", "0.6"], ["0.5"], [1, 0], [1, -1]])
def test_shares_beyond_the_budget_are_refused(split: list[object]) -> None:
    with pytest.raises(ParameterError):
        split_budget(1, [Fraction(1), Fraction(1)], split)


def test_unknown_words_are_refused() -> None:
    with pytest.raises(ParameterError, match="`split` must be"):
        split_budget(1, [Fraction(1)], "fair")
    with pytest.raises(ParameterError, match="`target` must be one of 'original'"):
        centroid_sensitivity("all", width=Fraction(1), size=1)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="above 0"):
        split_budget(0, [Fraction(1)])


@pytest.mark.parametrize("target", ["original", "partition", "record-query"])
def test_the_public_rule_grows_with_the_records_and_shrinks_with_the_budget(target) -> None:
    def k(records: int, epsilon: str) -> int:
        return automatic_k(target, records=records, attributes=3, cost=NoiseCost(epsilon=Fraction(epsilon)))

    assert k(100, "1") < k(10_000, "1")
    assert k(10_000, "1") < k(10_000, "0.01")
    assert k(1, "0.001") == 1


@pytest.mark.parametrize(
    ("kind", "natural_order", "variance"),
    [
        ("laplace", True, lambda n, k: 2 / (k * 0.1) ** 2),
        ("laplace", False, lambda n, k: 2 * (n / k / k / 0.1) ** 2),
        ("box", False, lambda n, k: (n / k / k / 0.1) ** 2 / 3),
        ("gaussian", True, lambda n, k: 1 / k**2 / 0.02),
        ("gaussian", False, lambda n, k: n / k / k**2 / 0.02),
    ],
)
def test_under_the_public_rule_noise_and_width_of_clusters_are_least_together(
    kind, natural_order: bool, variance
) -> None:
    n, m, cost = 10**6, (1 if natural_order else 3), NoiseCost(epsilon=Fraction(1, 10), rho=Fraction(1, 100))
    k = automatic_k("original", records=n, attributes=m, cost=cost, kind=kind, natural_order=natural_order)

    def error(size: float) -> float:
        return variance(n, size) + (size / n) ** (2 / m) / 12

    assert error(k) < min(error(0.9 * k), error(1.1 * k))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "k"), [(3, 1), (4, 1), (4, 2), (6, 2)])
@pytest.mark.parametrize("kind", ["box", "gaussian"])
def test_no_change_of_a_record_moves_the_means_out_of_what_the_noise_covers(n: int, k: int, kind) -> None:
    domain = list(itertools.product(range(3), repeat=2)) if n < 6 else [(0, 0), (0, 2), (2, 0), (2, 2)]
    noise = centroid_noise(
        "original",
        width=Fraction(2),
        size=k,
        clusters=n // k,
        natural_order=False,
        epsilon=Fraction(1),
        kind=kind,
        rho=Fraction(1),
    )
    farthest = Fraction(0)
    for before, after in neighbouring(domain, n):
        left, right = (centroids(records, k, 2, None) for records in (before, after))
        for j in range(2):
            moves = [abs(a[j] - b[j]) + noise.grid.step for a, b in zip(left, right, strict=True)]
            if kind == "box":
                assert all(move <= each for move, each in zip(moves, noise.sensitivities, strict=True))
            else:
                assert sum((move**2 for move in moves), Fraction(0)) <= noise.square
                farthest = max(farthest, sum((move**2 for move in moves), Fraction(0)) / noise.square)
    # half of it would not do
    assert kind == "box" or farthest > Fraction(1, 2)


@pytest.mark.parametrize(("n", "k"), [(4, 1), (5, 2), (6, 3)])
def test_in_the_natural_order_the_squares_of_moves_stay_below_the_square_of_their_sum(n: int, k: int) -> None:
    noise = centroid_noise(
        "original",
        width=Fraction(3),
        size=k,
        clusters=max(1, n // k),
        natural_order=True,
        epsilon=Fraction(1),
        kind="gaussian",
        rho=Fraction(1),
    )
    for before, after in neighbouring([(value,) for value in range(4)], n):
        left, right = (centroids(records, k, 3, 1) for records in (before, after))
        moves = [abs(a[0] - b[0]) + noise.grid.step for a, b in zip(left, right, strict=True)]
        assert sum((move**2 for move in moves), Fraction(0)) <= noise.square


def test_box_noise_has_a_sixth_of_the_variance() -> None:
    # METHODS: 29 clusters, unit step, epsilon 1: 310 instead of 1,682
    about = {"width": Fraction(29), "size": 29, "clusters": 29, "natural_order": False, "epsilon": Fraction(1)}
    box, laplace = (centroid_noise("original", kind=kind, **about) for kind in ("box", "laplace"))
    assert box.variance(0) == pytest.approx(310, rel=1e-4)
    assert laplace.variance == pytest.approx(1682, rel=1e-4)


WIDTH, SIZE, CLUSTERS, EPSILON = Fraction(99), 7, 12, Fraction(1, 3)


@pytest.mark.parametrize(
    ("target", "natural", "reach", "rounded"),
    [
        ("original", False, CLUSTERS * WIDTH / SIZE, CLUSTERS),
        ("original", True, WIDTH / SIZE, CLUSTERS),
        ("partition", False, WIDTH / SIZE, 1),
        ("record-query", False, WIDTH / SIZE, 1),
    ],
)
def test_the_scale_is_the_sensitivity_and_one_step_per_rounded_mean_over_epsilon(
    target, natural: bool, reach: Fraction, rounded: int
) -> None:
    noise = centroid_noise(target, width=WIDTH, size=SIZE, clusters=CLUSTERS, natural_order=natural, epsilon=EPSILON)
    step = WIDTH / 2**32
    assert noise.grid.step == step
    assert noise.sensitivity == reach + rounded * step
    assert noise.scale * float(step) == pytest.approx(float(reach / EPSILON), rel=1e-6)
    assert noise.privacy_map(noise.sensitivity) <= EPSILON
    assert noise.neighbours == "replace"


# -- noise of means that move together: distributions from their definitions; 0.9 and 1.1 times the scale are refused


MEANS, OF_EACH, BUDGET, RHO = 3, 10, Fraction(1, 2), Fraction(1, 50)
STEP = 100 / OF_EACH  # how far a record moves one mean


def noise(kind: str) -> MeansNoise:
    return centroid_noise(
        "original",
        width=Fraction(100),
        size=OF_EACH,
        clusters=MEANS,
        natural_order=False,
        epsilon=BUDGET,
        kind=kind,  # type: ignore[arg-type]
        rho=RHO,
    )


def drawn(kind: str, number: int) -> np.ndarray:
    made, source = noise(kind), SeededSource(11)
    return np.array([made.release_all([Fraction(0)] * MEANS, source=source) for _ in range(number)])


@pytest.mark.slow
def test_gaussian_noise_has_the_variance_that_rho_asks_for() -> None:
    from scipy.stats import kstest

    deviation = STEP * math.sqrt(MEANS / (2 * float(RHO)))
    values = np.array(noise("gaussian").release_all([Fraction(0)] * 40_000, source=SeededSource(11)))
    assert kstest(values / deviation, "norm").pvalue > 1e-6
    for factor in (0.9, 1.1):
        assert kstest(values / deviation / factor, "norm").pvalue < 1e-6
    assert noise("gaussian").typical == pytest.approx(np.abs(values).mean(), rel=0.02)


@pytest.mark.slow
def test_the_rings_of_box_noise_have_densities_that_fall_by_epsilon() -> None:
    from scipy.stats import chisquare

    number = 3_000
    made = noise("box")
    farthest = np.abs(drawn("box", number)).max(axis=1)
    rings = np.ceil(np.maximum(farthest / STEP - 0.5, 0) - 1e-6).astype(int)
    observed = np.bincount(np.minimum(rings, 30), minlength=31)

    def expected(epsilon: float) -> np.ndarray:
        """Return how many to expect in each ring: its volume times e^(-epsilon ring)."""
        boxes = np.array([(2 * ring + 1.0) ** MEANS for ring in range(400)])
        masses = np.diff(boxes, prepend=0) * np.exp(-epsilon * np.arange(400))
        masses = np.append(masses[:30], masses[30:].sum())
        return number * masses / masses.sum()

    assert chisquare(observed, expected(float(BUDGET))).pvalue > 1e-6
    for factor in (0.9, 1.1):
        assert chisquare(observed, expected(float(BUDGET) * factor)).pvalue < 1e-6
    assert made.typical == pytest.approx(np.abs(drawn("box", number)).mean(), rel=0.03)


def test_neighbours_change_the_probability_of_every_point_by_epsilon_at_most() -> None:
    """On a grid of a few points: every point, every move inside the box, from the definition of the rings."""
    from shoal.mechanisms import OptimalBoxNoise

    made = OptimalBoxNoise(sensitivities=[2, 2], epsilon=1, grids=1)
    sides = np.array(
        [[int(a + c * i) for a, c in zip(made.rings.sides, made.rings.growths, strict=True)] for i in range(80)]
    )
    weights = np.exp(-np.arange(80.0)) * sides.prod(axis=1)
    weights /= weights.sum()

    def probability(x: int, y: int) -> float:
        inside = (2 * abs(x) < sides[:, 0]) & (2 * abs(y) < sides[:, 1])
        return float((weights / sides.prod(axis=1))[inside].sum())

    reach = range(-9, 10)
    losses = [
        abs(math.log(probability(x, y) / probability(x + a, y + b)))
        for x in reach
        for y in reach
        for a in (-2, 0, 1, 2)
        for b in (-2, -1, 0, 2)
    ]
    assert max(losses) == pytest.approx(1, rel=1e-9)
