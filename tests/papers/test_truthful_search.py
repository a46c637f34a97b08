"""Bild's thesis on SafePub [Bild24]: search and quality on the US Census (Adult) data."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import shoal
from shoal import tables
from shoal.mechanisms import SeededSource
from shoal.methods.truthful import DifferentialPrivacy, Truthful
from shoal.methods.truthful._operators import Sampling
from shoal.methods.truthful._scores import DiscernibilityScore, Granularity, NonUniformEntropyScore, Setting
from shoal.methods.truthful._survival import SCALE, STEEPNESS
from shoal.methods.truthful.parameters import parameters, sampling_rate
from shoal.methods.truthful.trimming import minimal_m
from shoal.schema import Attribute, FromFile, Kind, Role, Schema
from shoal.tables import Frequencies

COLUMNS = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
)


@pytest.fixture(scope="module")
def adult(shared_data: Path) -> Frequencies:
    folder = shared_data / "adult"
    attributes = tuple(
        Attribute(
            name=name,
            role=Role.QUASI_IDENTIFIER,
            kind=Kind.NUMERIC if name == "age" else Kind.CATEGORICAL,
            hierarchy=FromFile(path=f"adult_hierarchy_{name}.csv"),
        )
        for name in COLUMNS
    )
    table = shoal.read(folder / "adult.csv").with_schema(Schema(attributes=attributes, folder=folder))
    return tables.encode(table).frequencies


def setting(adult: Frequencies, search_share: str) -> Setting:
    operator = wanted(search_share).operator("sampling", searching=True)
    return Setting(frequencies=adult, low=(0,) * 9, high=adult.heights, operator=operator, weights={})


def wanted(search_share: str) -> DifferentialPrivacy:
    return DifferentialPrivacy(epsilon=1, delta="1e-5", search_share=search_share)


def loss_of_nodes(score: Granularity, numbers: np.ndarray) -> np.ndarray:
    """Return the expected loss of nodes: 1 - E[quality of what is released] / records, by the binomial distribution."""
    operator = score.setting.operator
    assert isinstance(operator, Sampling)
    beta, k = float(operator.beta), operator.k
    found = []
    for number in numbers:
        node = score.lattice.node(score.box.levels(int(number)))
        kept = node.sizes * beta * stats.binom.sf(k - 2, node.sizes - 1, beta)
        found.append(1 - float((kept * (score.base - node.costs)).sum()) / SCALE / score.setting.frequencies.records)
    return np.array(found)


def test_the_lattice_is_that_of_the_data_set(adult: Frequencies) -> None:
    assert adult.records == 30_162
    assert len(adult.counts) == 19_502
    assert np.prod(np.array(adult.heights) + 1) == 12_960


def test_scores_are_far_less_sensitive_than_the_published_ones(adult: Frequencies) -> None:
    made = setting(adult, "0.1")
    assert made.operator.least == 58
    published = (made.operator.least - 1) * 9  # [Bild24 Thm 6]
    assert published == 513
    ours = Granularity(made).sensitivity / SCALE**2  # in records of quality 1; the published unit is an attribute
    assert ours <= STEEPNESS < published / 9
    threshold = DiscernibilityScore(made).threshold
    assert threshold == 98
    assert DiscernibilityScore(made).sensitivity == pytest.approx(threshold**2 / (threshold - 1) + 1, rel=1e-6)  # Thm 7
    assert NonUniformEntropyScore(made).sensitivity == pytest.approx(9 * (threshold**2 / (threshold - 1) + 1), rel=1e-6)


@pytest.mark.parametrize(("share", "within"), [("0.1", 0.01), ("0.05", 0.02)])
def test_one_draw_is_expected_to_lose_next_to_nothing(adult: Frequencies, share: str, within: float) -> None:
    """No random numbers: the mean over all draws, from the probabilities of the nodes."""
    score = Granularity(setting(adult, share))
    scores = score.all()
    rate = float(wanted(share).search_epsilon(searching=True) / score.sensitivity)
    chances = np.exp(rate * (scores - scores.max()))
    chances /= chances.sum()
    likely = np.argsort(-chances)[:400]
    assert chances[likely].sum() > 0.99
    losses = loss_of_nodes(score, likely)
    mean = float((chances[likely] * losses).sum() / chances[likely].sum())
    assert mean <= losses.min() * (1 + within)


def test_a_multi_dimensional_scheme_beats_every_full_domain_scheme(adult: Frequencies) -> None:
    score = Granularity(setting(adult, "0.1"))
    best = loss_of_nodes(score, np.argsort(-score.all())[:20]).min()
    drawn = Truthful(scheme="multi-dimensional", operator="sampling").draw(adult, wanted("0.1"), source=SeededSource(1))
    shares = np.mean([drawn.tuples.shares(j) for j in range(9)], axis=0)
    loss = 1 - float((drawn.tuples.counts * (1 - shares)).sum()) / adult.records
    assert best == pytest.approx(0.654, abs=0.001)
    # seen: 0.597 with a standard deviation of 0.004
    assert loss < 0.63 < best


@pytest.mark.parametrize(
    ("levels", "sampled", "trimmed"),
    [
        ((1,) * 9, (8.0, 22.2, 39.5, 47.5, 48.5), (57.6, 69.6, 79.0, 82.5, 85.2)),
        ((1, 2, 1, 1, 2, 1, 1, 1, 1), (15.8, 32.2, 54.2, 66.0, 70.8), (78.3, 84.6, 89.5, 91.4, 92.9)),
        ((1, 3, 1, 1, 2, 1, 1, 1, 1), (17.9, 34.6, 56.4, 69.1, 76.3), (84.5, 89.1, 92.7, 94.1, 95.2)),
    ],
)
def test_figure_11_records_kept_by_sampling_and_by_trimming(
    adult: Frequencies, levels: tuple[int, ...], sampled: tuple[float, ...], trimmed: tuple[float, ...]
) -> None:
    """The expected share in % at epsilon 0.25, 0.5, 1, 1.5 and 2; the thesis does not say which levels it took."""
    columns = [
        each.codes[level][adult.codes[:, j]]
        for j, (each, level) in enumerate(zip(adult.hierarchies, levels, strict=True))
    ]
    _, classes = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    sizes = np.bincount(classes.ravel(), weights=adult.counts).astype(int)
    for place, epsilon in enumerate(("0.25", "0.5", "1", "1.5", "2")):
        found = parameters(epsilon, "1e-5")
        beta, m = float(sampling_rate(epsilon)), minimal_m(Fraction(epsilon), Fraction("1e-5"))
        kept = (sizes * beta * stats.binom.sf(found.k - 2, sizes - 1, beta)).sum() / sizes.sum()
        assert round(100 * kept, 1) == sampled[place]
        assert round(100 * np.maximum(sizes - m, 0).sum() / sizes.sum(), 1) == trimmed[place]
