from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reference.recoding import hierarchy
from shoal.errors import Cancelled, ParameterError, RequirementError
from shoal.methods.base import Watch
from shoal.methods.recode import Generalize
from shoal.methods.recode._any_time import BranchAndBound
from shoal.methods.recode._effort import Effort
from shoal.methods.recode._judge import Limits
from shoal.methods.recode._lattice import Lattice
from shoal.models import DistinctLDiversity, EntropyLDiversity, KAnonymity
from shoal.quality import InformationLoss, Precision
from shoal.tables import Frequencies, SensitiveAttribute

AGE = hierarchy("age", [[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]])
SEX = hierarchy("sex", [[0, 1], [0, 0]])


def table(tuples: dict[tuple[int, int], int]) -> Frequencies:
    return Frequencies(
        hierarchies=(AGE, SEX),
        codes=np.asfortranarray(np.array(list(tuples), dtype=np.int32).reshape(-1, 2)),
        counts=np.array(list(tuples.values()), dtype=np.int64),
        sensitive_codes=np.zeros((len(tuples), 0), dtype=np.int32),
    )


def sensitive_table(values: list[tuple[int, int, int]]) -> Frequencies:
    rows = np.array(values, dtype=np.int32)
    return Frequencies(
        hierarchies=(AGE, SEX),
        codes=np.asfortranarray(rows[:, :2]),
        counts=np.ones(len(rows), dtype=np.int64),
        sensitive=(SensitiveAttribute(name="disease", size=3, ordered=False),),
        sensitive_codes=np.asfortranarray(rows[:, 2:]),
    )


FOUR = table({(0, 0): 2, (1, 0): 2, (2, 1): 2, (3, 1): 2})


def test_the_best_node_is_released() -> None:
    found = Generalize(suppression_limit=0).recode(FOUR, [KAnonymity(4)])
    assert found.levels == (1, 0)
    assert found.recoding.classes.tolist() == [0, 0, 1, 1]
    assert [found.recoding.labels[0][code] for code in found.recoding.codes[:, 0]] == ["1.0", "1.1"]
    assert found.recoding.unchanged == (False, True)
    assert found.recoding.depths[0].tolist() == [0.5, 0.5]
    assert found.value == pytest.approx((1 / 3 + 0) / 2)


def test_nothing_is_changed_where_nothing_has_to_be() -> None:
    found = Generalize().recode(FOUR, [KAnonymity(2)])
    assert found.levels == (0, 0)
    assert found.value == 0
    assert found.suppressed == 0


def test_one_row_and_k_1_is_released_as_it_is() -> None:
    assert Generalize().recode(table({(3, 1): 1}), [KAnonymity(1)]).levels == (0, 0)


def test_no_records_have_an_empty_release() -> None:
    found = Generalize().recode(table({}), [KAnonymity(2)])
    assert found.recoding.number == 0
    assert found.suppressed == 0


def test_k_equal_to_all_records_asks_for_one_class() -> None:
    found = Generalize(suppression_limit=0).recode(FOUR, [KAnonymity(8)])
    assert found.levels == (2, 1)
    assert found.recoding.number == 1


def test_the_suppression_limit_is_compared_exactly() -> None:
    # 3 of 60 records are 1/20; the float 0.05 is a little more than 1/20, and 0.049 is less
    frequencies = table({(0, 0): 57, (3, 1): 3})
    assert Generalize(suppression_limit=0.05).recode(frequencies, [KAnonymity(4)]).suppressed == 3
    assert Generalize(suppression_limit=Fraction(1, 20)).recode(frequencies, [KAnonymity(4)]).suppressed == 3
    assert Generalize(suppression_limit="1/20").recode(frequencies, [KAnonymity(4)]).suppressed == 3
    assert Generalize(suppression_limit=0.049).recode(frequencies, [KAnonymity(4)]).suppressed == 0


def test_ties_go_to_fewer_suppressed_records_and_lower_levels() -> None:
    # both attributes tell the same two groups apart and cost the same when generalised
    pair = hierarchy("a", [[0, 1], [0, 0]]), hierarchy("b", [[0, 1], [0, 0]])
    frequencies = Frequencies(
        hierarchies=pair,
        codes=np.asfortranarray(np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int32)),
        counts=np.ones(4, dtype=np.int64),
        sensitive_codes=np.zeros((4, 0), dtype=np.int32),
    )
    found = Generalize(suppression_limit=0).recode(frequencies, [KAnonymity(2)])
    assert [solution.levels for solution in found.solutions[:2]] == [(0, 1), (1, 0)]


def test_the_measure_and_its_weights_decide() -> None:
    cheap_age = Generalize(suppression_limit=0, weights={"age": 0.1}).recode(FOUR, [KAnonymity(8)])
    assert cheap_age.value == pytest.approx(1.0)
    crossed = table({(0, 0): 2, (0, 1): 2, (3, 0): 2, (3, 1): 2})
    for measure, weight in ((InformationLoss, "loss"), (Precision, "precision")):
        of_age = Generalize(quality=weight, suppression_limit=0, weights={"age": 0.01}).recode(crossed, [KAnonymity(4)])
        of_sex = Generalize(quality=measure(weights={"sex": 0.01}), suppression_limit=0).recode(
            crossed, [KAnonymity(4)]
        )
        assert of_age.levels == (2, 0)
        assert of_sex.levels == (0, 1)


def test_the_balance_makes_suppression_cheap_or_dear() -> None:
    frequencies = table({(0, 0): 6, (3, 0): 2})
    assert Generalize(suppression_limit=1, balance=0.01).recode(frequencies, [KAnonymity(3)]).suppressed == 2
    assert Generalize(suppression_limit=1, balance=0.99).recode(frequencies, [KAnonymity(3)]).suppressed == 0


def test_what_cannot_be_kept_is_said_with_what_could() -> None:
    with pytest.raises(RequirementError) as caught:
        Generalize(suppression_limit=0.1).recode(FOUR, [KAnonymity(9)])
    text = str(caught.value)
    assert "`KAnonymity` fails even if every quasi-identifier is `*`" in text
    assert "k = 8" in text
    assert "no suppression limit helps" in text


def test_what_more_suppression_would_allow_is_said() -> None:
    # the whole table has too little entropy, the first class alone has enough
    frequencies = sensitive_table([(0, 0, 0), (0, 0, 1), *[(3, 1, 2)] * 8])
    with pytest.raises(RequirementError, match=r"`suppression_limit` of 0\.8000 is enough: 8 records"):
        Generalize(suppression_limit=0.1).recode(frequencies, [EntropyLDiversity("disease", 2)])


def test_progress_is_told_and_the_search_can_be_stopped() -> None:
    told: list[tuple[int, int, str]] = []
    Generalize(suppression_limit=0).recode(FOUR, [KAnonymity(4)], progress=lambda *args: told.append(args))
    assert told
    assert all(0 <= done <= total == 6 for done, total, _ in told)
    assert "nodes checked" in told[-1][2]
    with pytest.raises(Cancelled):
        Generalize().recode(FOUR, [KAnonymity(4)], cancelled=lambda: True)


def test_the_winner_is_explained() -> None:
    found = Generalize(suppression_limit=1).recode(FOUR, [KAnonymity(3)])
    text = found.explain()
    assert "Levels: age 1, sex 0." in text
    assert "Proved: no other node is better." in text
    assert f"Of 6 nodes {found.checked:,} were checked" in text
    assert found.checked + found.pruned == found.nodes == 6


def test_the_nodes_that_were_checked_can_be_shown() -> None:
    found = Generalize(suppression_limit=0).recode(FOUR, [KAnonymity(4)])
    shown = found.lattice
    best = shown.levels.tolist().index([1, 0])
    assert shown.values[best] == pytest.approx(found.value)
    assert len(shown.levels) == len(shown.values) == len(shown.suppressed)
    assert shown.heights == (2, 1)


def test_a_limit_on_steps_leaves_a_gap() -> None:
    found = Generalize(suppression_limit=0, steps=1).recode(FOUR, [KAnonymity(4)])
    assert found.levels == (2, 1)
    assert found.gap > 0
    assert not found.optimal
    assert "the gap is at most" in found.explain()


@pytest.mark.parametrize("limit", ["effort", "time_limit"])
def test_a_limit_is_heeded(limit: str) -> None:
    found = Generalize(suppression_limit=0, **{limit: 1e-9}).recode(FOUR, [KAnonymity(4)])
    assert found.bound <= found.value


def test_boxes_that_wait_to_be_entered_are_kept_when_time_is_over() -> None:
    objective = InformationLoss().objective(FOUR)
    lattice = Lattice(FOUR, objective.tables)
    search = BranchAndBound(lattice, objective, [KAnonymity(4)], Limits(0, effort=Effort(0)), Watch())
    search._enter(0.0, lattice.bottom, lattice.top)
    search._enter(0.25, lattice.bottom, (1, 1))
    found = search.run()
    assert found.checked == 1
    assert not found.proved
    assert found.bound <= 0.25


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"suppression_limit": 1.5}, r"`suppression_limit` of `Generalize` must be in \[0, 1\]; got 1.5"),
        ({"suppression_limit": "much"}, "`suppression_limit`"),
        ({"suppression_limit": "1/0"}, "`suppression_limit`"),
        ({"effort": 0.0}, "`effort`"),
        ({"time_limit": 0.0}, "`time_limit`"),
        ({"steps": 0}, "`steps`"),
        ({"quality": "lost"}, "no quality measure `lost`"),
        ({"quality": {"name": "loss", "speed": 1}}, "`speed`"),
        ({"balance": 2.0}, "`balance`"),
        ({"weights": {"age": -1.0}}, "`age`"),
    ],
)
def test_wrong_parameters_are_refused(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Generalize(**parameters)


def test_parameters_are_plain_values_that_make_the_method_again() -> None:
    method = Generalize(quality=InformationLoss(weights={"age": 2.0}), suppression_limit=Fraction(1, 3), steps=10)
    again = Generalize(**{name: value for name, value in method.parameters().items() if value is not None})
    assert again.recode(FOUR, [KAnonymity(4)]).value == method.recode(FOUR, [KAnonymity(4)]).value
    assert method.parameters()["suppression_limit"] == "1/3"
    assert method.parameters()["quality"] == {"name": "loss", "weights": {"age": 2.0}, "balance": 0.5}


def test_cells_are_suppressed_instead_of_records() -> None:
    # the last two differ from the others and from each other in one attribute only
    frequencies = table({(0, 0): 4, (3, 0): 4, (1, 1): 1, (3, 1): 1})
    records = Generalize(suppression_limit=0.2).recode(frequencies, [KAnonymity(2)])
    cells = Generalize(suppression_limit=0.2, cells=True).recode(frequencies, [KAnonymity(2)])
    assert records.suppressed == 2
    assert cells.suppressed == 0
    assert cells.value < records.value
    released = {
        tuple(labels[code] for labels, code in zip(cells.recoding.labels, row, strict=True))
        for row in cells.recoding.codes
    }
    assert released == {("0", "0"), ("3", "0"), ("*", "1")}
    assert "2 records are released with single values suppressed" in cells.notes[0]


SPREAD = table({(i % 4, i % 2): 1 + i % 3 for i in range(7)})


@pytest.mark.parametrize("declared", [{"age": 0}, {"age": 1}, {"age": 2}, {"sex": 0}, {"sex": 1}])
def test_declared_levels_are_kept_and_the_others_are_the_best_beside_them(declared: dict[str, int]) -> None:
    def loss(age: int, sex: int) -> float:
        method = Generalize(suppression_limit=1, levels={"age": age, "sex": sex})
        return method.recode(SPREAD, [KAnonymity(3)]).value

    found = Generalize(suppression_limit=1, levels=declared).recode(SPREAD, [KAnonymity(3)])
    allowed = [
        (age, sex)
        for age in range(3)
        for sex in range(2)
        if declared.get("age", age) == age and declared.get("sex", sex) == sex
    ]
    assert found.levels in allowed
    assert found.value == min(loss(*levels) for levels in allowed)
    assert found.nodes == len(allowed)
    assert "declared, not searched for" in found.explain()


def test_declared_levels_leave_no_trace_of_sensitive_values() -> None:
    """Two of one place share an illness, four of another do not: the two are left out, nothing else is coarser."""
    places = [(0, 0, 0), (0, 0, 0), (2, 0, 1), (2, 0, 2), (3, 0, 1), (3, 0, 2)]
    promises = [KAnonymity(2), DistinctLDiversity("disease", 2)]
    searched = Generalize(suppression_limit=0).recode(sensitive_table(places), promises)
    assert searched.levels == (2, 0)
    declared = Generalize(suppression_limit=1, levels={"age": 1, "sex": 0})
    assert declared.recode(sensitive_table(places), promises).suppressed == 2
    other = [(0, 0, 0), (0, 0, 1), *places[2:]]
    assert declared.recode(sensitive_table(other), promises).levels == (1, 0)


def test_declared_levels_are_checked() -> None:
    with pytest.raises(ParameterError, match=r"levels\[age\]"):
        Generalize(levels={"age": -1})
    with pytest.raises(ParameterError, match="the highest level is 2"):
        Generalize(levels={"age": 3}).recode(FOUR, [KAnonymity(2)])
