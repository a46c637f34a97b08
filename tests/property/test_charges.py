"""What the charges say is spent is never below what some person lost, and exact where one attribute tells all apart."""

from __future__ import annotations

import itertools
import json

from hypothesis import given
from hypothesis import strategies as st

from reference.queries import holds
from shoal.queries._charges import Charges
from shoal.queries._loss import Loss
from shoal.schema.conditions import FIRST, LAST, Ranges, Region, Texts, from_json, to_json

TEXTS = (*"abc", "never named", None)
NUMBERS = (-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, None)

texts = st.builds(Texts, st.frozensets(st.sampled_from("abc")), st.booleans(), st.booleans())
cuts = st.tuples(st.sampled_from([0.0, 1.0, 2.0]), st.sampled_from([0, 1])) | st.sampled_from([FIRST, LAST])


@st.composite
def ranges(draw: st.DrawFn) -> Ranges:
    ends = sorted(draw(st.sets(cuts, max_size=4)))
    return Ranges(tuple(zip(ends[::2], ends[1::2], strict=False)), draw(st.booleans()))


regions = st.fixed_dictionaries({}, optional={"sex": texts, "age": ranges(), "weight": ranges()})
losses = st.builds(Loss, st.integers(0, 5), st.integers(0, 3))


def lost(spendings: list[tuple[Loss, Region]]) -> tuple[int, int]:
    """Return the largest epsilon and the largest delta that any person lost, over all people there can be."""
    worst = (0, 0)
    for person in itertools.product(TEXTS, NUMBERS, NUMBERS):
        values = dict(zip(("sex", "age", "weight"), person, strict=True))
        own = [loss for loss, region in spendings if all(holds(held, values[name]) for name, held in region.items())]
        worst = (
            max(worst[0], sum(loss.epsilon_units for loss in own)),
            max(worst[1], sum(loss.delta_units for loss in own)),
        )
    return worst


@given(st.lists(st.tuples(losses, regions), max_size=6))
def test_nobody_lost_more_than_is_spent(spendings: list[tuple[Loss, Region]]) -> None:
    charges = Charges()
    for loss, region in spendings:
        budgets = [Loss(*units) for units in itertools.product(range(0, 31, 3), range(0, 19, 3))]
        foreseen = [charges.allows(loss, region, budget=budget) for budget in budgets]
        charges.charge(loss, region)
        assert foreseen == [charges.spent.within(budget) for budget in budgets]
    epsilon, delta = lost(spendings)
    assert charges.spent.epsilon_units >= epsilon
    assert charges.spent.delta_units >= delta
    assert charges.spent.epsilon_units <= sum(loss.epsilon_units for loss, _ in spendings)


@given(st.lists(st.tuples(losses, st.fixed_dictionaries({"sex": texts})), max_size=8))
def test_what_one_attribute_tells_apart_is_exact_for_texts(spendings: list[tuple[Loss, Region]]) -> None:
    charges = Charges()
    for loss, region in spendings:
        charges.charge(loss, region)
    assert (charges.spent.epsilon_units, charges.spent.delta_units) == lost(spendings)


@given(st.lists(st.tuples(losses, st.fixed_dictionaries({"age": ranges()})), max_size=8))
def test_what_one_attribute_tells_apart_is_exact_for_numbers(spendings: list[tuple[Loss, Region]]) -> None:
    charges = Charges()
    for loss, region in spendings:
        charges.charge(loss, region)
    assert (charges.spent.epsilon_units, charges.spent.delta_units) == lost(spendings)


@given(texts, texts)
def test_sets_of_texts_obey_logic(a: Texts, b: Texts) -> None:
    for value in TEXTS:
        assert holds(a & b, value) == (holds(a, value) and holds(b, value))
        assert holds(a | b, value) == (holds(a, value) or holds(b, value))
        assert holds(~a, value) != holds(a, value)


@given(ranges(), ranges())
def test_sets_of_numbers_obey_logic(a: Ranges, b: Ranges) -> None:
    for value in NUMBERS:
        assert holds(a & b, value) == (holds(a, value) and holds(b, value))
        assert holds(a | b, value) == (holds(a, value) or holds(b, value))
        assert holds(~a, value) != holds(a, value)


@given(regions)
def test_regions_survive_the_ledger(region: Region) -> None:
    assert from_json(json.loads(json.dumps(to_json(region)))) == region
