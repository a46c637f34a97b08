"""The method as a whole: parameters, fixed levels, targets, thresholds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from reference import truthful as reference
from reference.truthful import Column, Record
from shoal.errors import Cancelled, DataError, ParameterError
from shoal.mechanisms import SeededSource
from shoal.methods.truthful import DifferentialPrivacy, Drawn, Truthful
from shoal.methods.truthful._operators import Sampling, Trimming
from shoal.methods.truthful.parameters import satisfies
from shoal.schema import Attribute, Role, Schema
from shoal.tables import Frequencies

FLAT = Column(((0, 1), (0, 0)))
TALL = Column(((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0)))
RECORDS: list[Record] = [(0, 0)] * 90 + [(1, 0)] * 70 + [(2, 1)] * 60 + [(3, 1)] * 10 + [(3, 0)] * 120
WANTED = DifferentialPrivacy(epsilon=1, delta=0.01)


def draw(method: Truthful, wanted: DifferentialPrivacy = WANTED, *, seed: int = 1, **options: object) -> Drawn:
    frequencies = reference.frequencies([TALL, FLAT], RECORDS)
    return method.draw(frequencies, wanted, source=SeededSource(seed), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "parameters",
    [
        {"score": "loss"},
        {"scheme": "local"},
        {"search": "best"},
        {"steps": 0},
        {"operator": "shuffle"},
        {"levels": {"c0": -1}},
        {"weights": {"c0": -1.0}},
        {"weights": {"c0": math.nan}},
        {"score": "classification"},
        {"target": "c0"},
        {"scheme": "multi-dimensional", "search": "walk"},
        {"scheme": "multi-dimensional", "score": "discernibility"},
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match="`Truthful`"):
        Truthful(**parameters)  # type: ignore[arg-type]


def test_columns_that_are_not_released_are_refused() -> None:
    schema = Schema(attributes=(Attribute(name="id", role=Role.IDENTIFIER), Attribute(name="a")))
    method = Truthful(score="classification", target="b", levels={"id": 0}, weights={"a": 2})
    assert len(method.problems(schema, ())) == 2
    assert not Truthful(levels={"a": 1}).problems(schema, ())


def test_where_all_levels_are_fixed_the_operator_gets_the_whole_epsilon() -> None:
    drawn = draw(Truthful(levels={"c0": 1, "c1": 0}))
    assert drawn.choice.search == "fixed"
    assert drawn.choice.epsilon_spent == 0
    assert drawn.operator.epsilon == 1
    assert set(map(tuple, drawn.tuples.levels.tolist())) == {(1, 0)}
    sizes = reference.classes([TALL, FLAT], RECORDS, (1, 0))
    assert sorted(drawn.scheme.counts.tolist()) == sorted(sizes.values())


def test_a_fixed_level_is_kept_by_every_scheme() -> None:
    for scheme in ("full-domain", "multi-dimensional"):
        drawn = draw(Truthful(scheme=scheme, levels={"c1": 0}))
        assert (drawn.tuples.levels[:, 1] == 0).all()
        assert drawn.choice.candidates == 3


def test_a_level_above_the_top_is_refused() -> None:
    with pytest.raises(ParameterError, match="the highest level is 2"):
        draw(Truthful(levels={"c0": 3}))


def test_a_scheme_cannot_be_searched_for_without_a_budget() -> None:
    with pytest.raises(ParameterError, match="search_share"):
        draw(Truthful(), DifferentialPrivacy(epsilon=1, delta=0.01, search_share=0))
    assert (
        draw(
            Truthful(levels={"c0": 2, "c1": 1}), DifferentialPrivacy(epsilon=1, delta=0.01, search_share=0)
        ).choice.search
        == "fixed"
    )


@pytest.mark.parametrize("scheme", ["full-domain", "multi-dimensional"])
def test_the_target_is_never_generalised(scheme: str) -> None:
    drawn = draw(Truthful(scheme=scheme, score="classification", target="c1"))  # type: ignore[arg-type]
    assert (drawn.tuples.levels[:, 1] == 0).all()
    assert drawn.scheme.counts.sum() <= len(RECORDS)
    for levels, codes, count in zip(
        drawn.scheme.levels.tolist(), drawn.scheme.codes.tolist(), drawn.scheme.counts.tolist(), strict=True
    ):
        assert count == reference.inside([TALL, FLAT], RECORDS, tuple(zip(levels, codes, strict=True)))


def test_a_larger_k_is_kept_and_keeps_the_promise() -> None:
    drawn = draw(Truthful(operator="sampling"), k=50)
    found = drawn.operator
    assert isinstance(found, Sampling)
    assert found.k == found.least == 50
    assert (drawn.tuples.counts >= 50).all()
    assert found.exact_delta <= found.delta
    assert satisfies(k=50, beta=found.beta, epsilon=found.epsilon, delta=found.delta)
    assert draw(Truthful(operator="sampling"), k=2).operator.least > 2


def test_a_least_size_costs_nothing_with_trimming() -> None:
    drawn, bare = draw(Truthful(), k=50), draw(Truthful())
    assert (drawn.tuples.counts >= 50).all()
    assert isinstance(drawn.operator, Trimming)
    assert isinstance(bare.operator, Trimming)
    assert (drawn.operator.m, drawn.operator.least) == (bare.operator.m, 50)
    assert bare.operator.least == 1


def test_epsilon_and_candidates_are_told_exactly() -> None:
    drawn = draw(Truthful())
    assert drawn.choice.epsilon_spent == Fraction(1, 50)
    assert draw(Truthful(operator="sampling")).choice.epsilon_spent == Fraction(1, 10)
    asked = DifferentialPrivacy(epsilon=1, delta=0.01, search_share="1/3")
    assert draw(Truthful(), asked).choice.epsilon_spent == Fraction(1, 3)
    assert drawn.choice.candidates == 6
    assert drawn.levels is not None
    assert draw(Truthful(scheme="multi-dimensional")).levels is None
    assert draw(Truthful(search="walk", steps=3)).choice.search == "published walk"


def test_lattices_beyond_a_million_nodes_are_walked() -> None:
    columns = [FLAT] * 20
    records = [(0,) * 20] * 200
    frequencies = reference.frequencies(columns, records)
    drawn = Truthful(steps=5).draw(frequencies, WANTED, source=SeededSource(1))
    assert drawn.choice.search == "split walk"
    assert drawn.choice.selections == 6
    with pytest.raises(ParameterError, match="full-domain"):
        Truthful(scheme="multi-dimensional").draw(frequencies, WANTED, source=SeededSource(1))


def test_weights_steer_the_scheme() -> None:
    many = DifferentialPrivacy(epsilon=30, delta=0.5, search_share=0.95)
    first = draw(Truthful(weights={"c0": 1, "c1": 0}), many).levels
    second = draw(Truthful(weights={"c0": 0, "c1": 1}), many).levels
    assert first is not None
    assert second is not None
    assert first[0] == 0
    assert second[1] == 0
    assert Truthful().weighted({"a": 2.0, "b": 1.0}).weights == {"a": 2.0}
    assert Truthful(weights={"a": 3.0}).weighted({"a": 2.0}).weights == {"a": 3.0}


def test_the_user_can_stop_the_work() -> None:
    with pytest.raises(Cancelled):
        draw(Truthful(), cancelled=lambda: True)


def test_what_is_told_on_the_way_does_not_depend_on_the_data() -> None:
    told: list[list[object]] = []
    for records in (RECORDS, RECORDS[:-1], RECORDS[:3]):
        heard: list[object] = []
        frequencies = reference.frequencies([TALL, FLAT], records)
        Truthful(search="walk", steps=4).draw(
            frequencies, WANTED, source=SeededSource(1), progress=lambda *what, heard=heard: heard.append(what)
        )
        told.append(heard)
    assert told[0] == told[1] == told[2]


def test_tables_too_large_for_exact_scores_are_refused() -> None:
    small = reference.frequencies([FLAT], [(0,)])
    huge = Frequencies(
        hierarchies=small.hierarchies,
        codes=small.codes,
        counts=np.array([2**28]),
        sensitive_codes=small.sensitive_codes,
    )
    with pytest.raises(DataError, match="too many"):
        Truthful().draw(huge, WANTED)
