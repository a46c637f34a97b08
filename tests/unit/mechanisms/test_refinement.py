from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from reference.examples import examples
from reference.noise import QuickSource
from reference.refinement import (
    algorithm_5_1,
    all_pairs,
    exact_probabilities,
    hockey_stick,
    prior_probabilities,
    within,
)
from shoal.errors import ParameterError
from shoal.mechanisms import (
    AbsoluteDistance,
    CategoricalPrior,
    NominalDistance,
    NumericPrior,
    Prior,
    QueryKind,
    Refinement,
    TaxonomyDistance,
    _refinement,
)

weights = st.lists(st.integers(0, 30), min_size=2, max_size=9).filter(any)
epsilons = st.fractions(Fraction(1, 20), 3, max_denominator=40)
TREE = {"flu": ("lung",), "asthma": ("lung",), "angina": ("heart",), "stroke": ("heart",), "migraine": ("head",)}


def numbers(masses: list[int]) -> NumericPrior:
    return NumericPrior(start=0, step=1, masses=masses)


def exact(epsilon: Fraction) -> arb:
    return arb(fmpq(epsilon.numerator, epsilon.denominator))


@given(weights, epsilons)
@examples(40)
def test_an_individual_answer_stays_within_epsilon_of_the_prior(masses: list[int], epsilon: Fraction) -> None:
    made = Refinement(numbers(masses), epsilon=epsilon, query="individual")
    prior = prior_probabilities(made)
    for position in range(len(masses)):
        refined = exact_probabilities(made, position)
        assert within(refined, prior, exact(epsilon))
        assert within(prior, refined, exact(epsilon))


@given(weights, epsilons, st.sampled_from(["0.2", "0.5", "0.8"]))
@examples(40)
def test_statistical_answers_stay_within_epsilon_of_each_other(
    masses: list[int], epsilon: Fraction, balance: str
) -> None:
    made = Refinement(numbers(masses), epsilon=epsilon, query="statistical", balance=balance)
    refined = [exact_probabilities(made, position) for position in range(len(masses))]
    assert all(within(refined[i], refined[j], exact(epsilon)) for i, j in all_pairs(len(masses)))


def test_individual_factors_are_not_private_for_statistical_queries() -> None:
    # the check above can fail: factors of individual queries spend twice as much between two tables
    made = Refinement(numbers([1] * 20), epsilon=1, query="individual")
    first, second = exact_probabilities(made, 0), exact_probabilities(made, 19)
    assert not within(first, second, exact(Fraction(1)))
    assert within(first, second, exact(Fraction(2)))


@given(weights, epsilons, st.sampled_from(["individual", "statistical"]))
@examples(40)
def test_the_probabilities_are_those_of_algorithm_5_1_and_add_up(
    masses: list[int], epsilon: Fraction, query: QueryKind
) -> None:
    made = Refinement(numbers(masses), epsilon=epsilon, query=query)
    up, down = (math.exp(made.exponents[0]), math.exp(-made.exponents[1]))
    shares = [mass / sum(masses) for mass in masses]
    for position in range(len(masses)):
        refined = [float(p) for p in exact_probabilities(made, position)]
        assert sum(refined) == pytest.approx(1)
        distances = [abs(i - position) for i in range(len(masses))]
        assert refined == pytest.approx(algorithm_5_1(shares, distances, up, down), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("query", ["individual", "statistical"])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(7, 10), Fraction(2)])
@pytest.mark.parametrize("delta", ["0.01", "0.2", "0.9"])
def test_delta_is_never_exceeded(query: QueryKind, epsilon: Fraction, delta: str) -> None:
    made = Refinement(numbers([1] * 24), epsilon=epsilon, query=query, delta=delta)
    refined = [exact_probabilities(made, position) for position in range(24)]
    prior = prior_probabilities(made)
    pairs = (
        [(each, prior) for each in refined] + [(prior, each) for each in refined]
        if query == "individual"
        else [(refined[i], refined[j]) for i, j in all_pairs(24)]
    )
    worst = max(hockey_stick(first, second, float(epsilon)) for first, second in pairs)
    assert worst <= float(delta) + 1e-12
    # nearly all of it is used, so that the check means something
    assert worst >= 0.4 * float(delta)


def test_the_move_that_the_thesis_proposes_exceeds_delta() -> None:
    # [SC13 5.2] moves delta itself for an individual query: as much as ours moves for delta e^epsilon
    epsilon, delta = Fraction(7, 10), 0.05
    theirs = Refinement(
        numbers([1] * 24), epsilon=epsilon, query="individual", delta=Fraction(delta * math.exp(epsilon))
    )
    refined, prior = exact_probabilities(theirs, 0), prior_probabilities(theirs)
    assert hockey_stick(prior, refined, float(epsilon)) == pytest.approx(delta * math.exp(epsilon))
    assert hockey_stick(prior, refined, float(epsilon)) > 1.9 * delta


def test_delta_moves_mass_from_the_farthest_values_to_the_answer() -> None:
    plain = Refinement(numbers([1] * 10), epsilon=1, query="individual")
    moved = Refinement(numbers([1] * 10), epsilon=1, query="individual", delta="0.1")
    before, after = exact_probabilities(plain, 0), exact_probabilities(moved, 0)
    mass = 0.1 * math.exp(-1)
    assert float(after[0] - before[0]) == pytest.approx(mass)
    assert float(before[9] - after[9]) == pytest.approx(min(mass, float(before[9])))
    assert [float(p) for p in after[1:7]] == pytest.approx([float(p) for p in before[1:7]])


def test_taxonomies_raise_the_relatives_of_the_answer() -> None:
    values = tuple(TREE)
    made = Refinement(CategoricalPrior.uniform(values), epsilon=1, query="statistical", distance=TaxonomyDistance(TREE))
    refined = dict(zip(values, (float(p) for p in exact_probabilities(made, 0)), strict=True))
    assert refined["flu"] > refined["asthma"] > refined["angina"]
    assert refined["angina"] == pytest.approx(refined["stroke"]) == pytest.approx(refined["migraine"])


def test_the_taxonomy_order_is_that_of_the_published_distance() -> None:
    distance, values = TaxonomyDistance(TREE), list(TREE)
    prior = CategoricalPrior.uniform(values)

    def published(a: str, b: str) -> float:
        above = [{a, *TREE[a], "*"}, {b, *TREE[b], "*"}]
        union, common = above[0] | above[1], above[0] & above[1]
        return math.log2(1 + (len(union) - len(common)) / len(union))

    for position, value in enumerate(values):
        ranks = distance.ranks(prior, position)
        lengths = [published(value, other) for other in values]
        assert sorted(range(5), key=lambda i: (ranks[i], i)) == sorted(range(5), key=lambda i: (lengths[i], i))


def test_a_taxonomy_distance_can_be_taken_from_a_hierarchy() -> None:
    import numpy as np

    from shoal.hierarchies import Hierarchy
    from shoal.schema import Provenance

    codes = [np.array([0, 1, 2], np.int32), np.array([0, 0, 1], np.int32), np.zeros(3, np.int32)]
    hierarchy = Hierarchy(
        attribute="illness",
        labels=(("flu", "asthma", "angina"), ("lung", "heart"), ("*",)),
        codes=tuple(codes),
        shares=(np.zeros(3), np.array([0.5, 0.0]), np.ones(1)),
        leaves=(np.ones(3, np.int64), np.array([2, 1]), np.array([3])),
        provenance=Provenance.DECLARED,
    )
    prior = CategoricalPrior.uniform(("flu", "asthma", "angina"))
    assert TaxonomyDistance.of(hierarchy).ranks(prior, 0).tolist() == [0, 1, 2]


def test_an_absent_record_is_answered_from_the_prior() -> None:
    made, source = Refinement(numbers([1, 3]), epsilon=5, query="individual"), QuickSource(8)
    ones = sum(made.release(None, source=source) == 1 for _ in range(4000))
    assert abs(ones - 3000) < 200


def test_an_answer_that_the_prior_does_not_know_is_answered_from_the_prior() -> None:
    prior = CategoricalPrior({"a": 1, "b": 3})
    made, source = Refinement(prior, epsilon=5, query="individual"), QuickSource(9)
    found = [made.release("c", source=source) for _ in range(4000)]
    assert abs(found.count("b") - 3000) < 200


def test_a_true_value_without_prior_mass_never_appears() -> None:
    made, source = Refinement(numbers([0, 1, 1]), epsilon=1, query="individual"), QuickSource(10)
    assert {made.release(0, source=source) for _ in range(300)} == {1, 2}


@pytest.mark.slow
def test_the_interval_holds_its_probability_for_every_answer() -> None:
    prior = NumericPrior.normal(50, 12, 0, 100, step=1)
    for query, epsilon in (("individual", 1), ("statistical", 4)):
        made = Refinement(prior, epsilon=epsilon, query=query)  # type: ignore[arg-type]
        end = made.interval(0.9)
        held = [
            sum(float(p) for i, p in enumerate(exact_probabilities(made, at)) if abs(i - at) <= end)
            for at in range(0, 101, 4)
        ]
        assert min(held) >= 0.9 - 1e-9
        narrower = [
            sum(float(p) for i, p in enumerate(exact_probabilities(made, at)) if abs(i - at) <= end - 1)
            for at in range(101)
        ]
        assert min(narrower) < 0.9


def test_certainty_is_the_smallest_probability_of_the_truth() -> None:
    made = Refinement(CategoricalPrior({"a": 5, "b": 3, "c": 2}), epsilon=1, query="individual")
    assert made.interval() is None
    assert made.certainty() == pytest.approx(min(float(exact_probabilities(made, i)[i]) for i in range(3)))


def test_numeric_answers_are_rounded_and_clamped_to_the_prior() -> None:
    prior = NumericPrior(start=10, step=5, masses=[1, 1, 1])
    assert [prior.position(x) for x in (-100, 10, 12, "12.5", 17, 1e9)] == [0, 0, 0, 1, 1, 2]
    assert [prior.value(i) for i in range(3)] == [10, 15, 20]


def test_a_cdf_gives_each_number_the_mass_of_its_interval() -> None:
    prior = NumericPrior.from_cdf(lambda x: min(max(x / 4, 0.0), 1.0), 0, 4, step=1)
    total = sum(prior.weights)
    assert [weight / total for weight in prior.weights] == pytest.approx([0.125, 0.25, 0.25, 0.25, 0.125])


def test_masses_are_exact_where_they_can_be_and_near_where_not() -> None:
    assert CategoricalPrior({"a": "0.1", "b": "0.9"}).weights == (1, 9)
    assert CategoricalPrior({"a": Fraction(1, 3), "b": Fraction(1, 6)}).weights == (2, 1)
    rough = CategoricalPrior({"a": Fraction(1, 10**30), "b": 1, "c": math.pi})
    assert sum(rough.weights) < 2**61
    assert rough.weights[2] / rough.weights[1] == pytest.approx(math.pi, rel=1e-15)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"epsilon": 0}, "`epsilon` of `Refinement` must be above 0"),
        ({"query": "group"}, "`query` of `Refinement` must be 'individual' or 'statistical'"),
        ({"delta": 1}, r"`delta` of `Refinement` must be in \[0, 1\)"),
        ({"balance": 1}, r"`balance` of `Refinement` must be in \(0, 1\)"),
    ],
)
def test_parameters_out_of_range_are_refused(changed: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Refinement(numbers([1, 1]), **{"epsilon": 1, "query": "individual", **changed})  # type: ignore[arg-type]


@pytest.mark.parametrize("masses", [[], [0, 0], [-1, 2]])
def test_masses_out_of_range_are_refused(masses: list[int]) -> None:
    with pytest.raises(ParameterError, match="`masses` of `NumericPrior`"):
        numbers(masses)


def test_a_grid_with_too_many_numbers_is_refused() -> None:
    with pytest.raises(ParameterError, match="choose a larger step"):
        NumericPrior.uniform(0, 1, step="1e-9")


def test_a_taxonomy_must_know_all_values() -> None:
    with pytest.raises(ParameterError, match="1 are absent") as refused:
        Refinement(
            CategoricalPrior.uniform(("flu", "gout")), epsilon=1, query="individual", distance=TaxonomyDistance(TREE)
        )
    assert "gout" not in str(refused.value)


@pytest.mark.parametrize("prior", [NumericPrior.uniform(0, 3, step=1), CategoricalPrior.uniform(("a", "b"))], ids=repr)
def test_a_distance_of_other_values_is_refused_before_there_is_an_answer(
    prior: NumericPrior | CategoricalPrior,
) -> None:
    with pytest.raises(ParameterError, match="`ancestors` of `TaxonomyDistance`"):
        Refinement(prior, epsilon=1, query="individual", distance=TaxonomyDistance(TREE))


def test_a_distance_that_does_not_rank_every_value_is_refused() -> None:
    class Short:
        def ranks(self, prior: Prior, position: int) -> NDArray[np.int64]:
            return np.zeros(1, dtype=np.int64)

    with pytest.raises(ParameterError, match="must rank every value"):
        Refinement(numbers([1, 1]), epsilon=1, query="individual", distance=Short())


@pytest.mark.slow
@pytest.mark.parametrize("answer", [math.nan, math.inf, -math.inf, "nan", "much", "1/0"])
@pytest.mark.parametrize("query", ["individual", "statistical"])
def test_an_answer_that_is_no_finite_number_is_answered_from_the_prior(answer: float | str, query: QueryKind) -> None:
    made, source = Refinement(numbers([1, 3]), epsilon=5, query=query, delta="0.01"), QuickSource(8)
    ones = sum(made.release(answer, source=source) == 1 for _ in range(4000))
    assert abs(ones - 3000) < 200


def test_distances_by_default_fit_the_prior() -> None:
    assert Refinement(numbers([1, 1]), epsilon=1, query="individual").distance == AbsoluteDistance()
    assert Refinement(CategoricalPrior.uniform("ab"), epsilon=1, query="individual").distance == NominalDistance()


def test_the_same_work_is_done_with_and_without_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = Counter[str]()

    def count(name: str) -> None:
        original = getattr(_refinement, name)

        def counted(*given: Any) -> Any:
            drawn[name] += 1
            return original(*given)

        monkeypatch.setattr(_refinement, name, counted)

    count("_Refined")
    count("_draw")
    mechanism = Refinement(CategoricalPrior.uniform(tuple("abcdefgh")), epsilon=1, query="individual")
    work = []
    for answer in ("a", "h", "unknown", None):
        drawn.clear()
        mechanism.release(answer)
        work.append(dict(drawn))
    assert work == [{"_Refined": 1, "_draw": 2}] * 4
