from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reference.models import Domain, Group, Release
from shoal.errors import ParameterError
from shoal.models import TCloseness
from shoal.schema import Attribute, Flat, Kind, Role, Schema
from shoal.schema import Domain as Values

ILLNESSES = Domain(  # two pairs of near values, far from each other
    4, parents=((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0))
)


def release(domain: Domain, *rows: dict[int, int]) -> Release:
    return Release([Group(row) for row in rows], domain, [True] * len(rows))


def charges() -> Release:
    """The example of [Bild24, A.2, Fig. 1]: charges 50, 60 in one class and 60, 60, 70 in the other."""
    return release(Domain(3, ordered=True), {0: 1, 1: 1}, {1: 2, 2: 1})


def test_the_example_of_the_thesis() -> None:
    assert TCloseness("s", "1/4").holds(charges().classes())
    assert TCloseness("s", 0.2).keep(charges().classes(), charges().mask).tolist() == [False, True]
    assert TCloseness("s", "1/6").keep(charges().classes(), charges().mask).tolist() == [False, True]
    assert TCloseness("s", "0.1666666666666666").keep(charges().classes(), charges().mask).tolist() == [False, False]
    assert TCloseness("s", 0).find_achieved(charges().classes()) == {"t": Fraction(1, 4)}


def test_the_salaries_of_the_first_paper() -> None:
    """Li, Li and Venkatasubramanian 2007, 4.2: of salaries of 3k to 11k {3, 4, 5} is at 0.375 and {6, 8, 11} at 1/6."""
    salaries = Domain(9, ordered=True)
    low = release(salaries, {0: 1, 1: 1, 2: 1}, {3: 1, 5: 1, 8: 1}, {4: 1, 6: 1, 7: 1}).classes()
    keep = [TCloseness("s", t).keep(low, np.ones(3, dtype=np.bool_)).tolist()[:2] for t in ("3/8", "1/6", "0.16")]
    assert keep == [[True, True], [False, True], [False, False]]
    assert TCloseness("s", 1).find_achieved(low) == {"t": Fraction(3, 8)}


def test_the_distance_follows_the_kind_of_the_attribute() -> None:
    rows = ({0: 2, 1: 2}, {2: 2, 3: 2}, {0: 2, 2: 2}, {1: 2, 3: 2})
    equal = release(Domain(4), *rows).classes()
    ordered = release(Domain(4, ordered=True), *rows).classes()
    tree = release(ILLNESSES, *rows).classes()
    assert TCloseness("s", 1).find_achieved(equal) == {"t": Fraction(1, 2)}
    assert TCloseness("s", 1).find_achieved(ordered) == {"t": Fraction(1, 3)}
    assert TCloseness("s", 1).find_achieved(tree) == {"t": Fraction(1, 2)}
    assert TCloseness("s", 1, "equal").find_achieved(ordered) == {"t": Fraction(1, 2)}
    # {0, 2} holds one value of each pair: near in the hierarchy, far if all values are equally different
    within = TCloseness("s", "1/4").keep(tree, np.ones(4, dtype=np.bool_))
    assert within.tolist() == [False, False, True, True]
    assert not TCloseness("s", "1/4", "equal").keep(tree, np.ones(4, dtype=np.bool_)).any()


def test_the_whole_table_is_what_is_released() -> None:
    classes = release(Domain(2), {0: 9}, {0: 1, 1: 1}, {0: 2, 1: 2}).classes()
    part = np.array([False, True, True])
    assert TCloseness("s", 0).keep(classes, part).tolist() == [False, True, True]
    assert TCloseness("s", 0).find_achieved(classes, part) == {"t": 0}
    assert not TCloseness("s", 0.1).keep(classes, np.ones(3, dtype=np.bool_)).any()


def test_values_of_the_domain_that_are_not_released_do_not_count() -> None:
    sparse = release(Domain(100, ordered=True), {3: 1, 50: 1}, {50: 2, 97: 1})
    assert TCloseness("s", 1).find_achieved(sparse.classes()) == {"t": Fraction(1, 4)}


def test_one_value_alone_tells_nothing() -> None:
    for domain in (Domain(1), Domain(3, ordered=True), Domain(1, parents=((0,), (0,)))):
        assert TCloseness("s", 0).holds(release(domain, {0: 3}, {0: 1}).classes())


@pytest.mark.parametrize("distance", ["equal", "ordered"])
@pytest.mark.parametrize("scale", [1, 10**5, 10**11])
def test_a_tie_is_found_in_64_bits_beyond_them_and_far_beyond_them(distance: str, scale: int) -> None:
    """Work that fits into 64 bits; that floats settle but for ties; and that needs Python integers at once."""
    rows = [dict.fromkeys(range(0, 4000, 2), scale), dict.fromkeys(range(1, 4000, 2), scale)]
    wide = release(Domain(4000, ordered=True), *rows, {0: 1000 * scale})
    achieved = TCloseness("s", 1, distance).find_achieved(wide.classes())["t"]  # type: ignore[arg-type]
    assert TCloseness("s", achieved, distance).holds(wide.classes())  # type: ignore[arg-type]
    closer = TCloseness("s", achieved - Fraction(1, 10**40), distance)  # type: ignore[arg-type, operator]
    assert closer.keep(wide.classes(), wide.mask).tolist() == [True, True, False]
    unscaled = release(Domain(4000, ordered=True), *({v: c // scale for v, c in g.values.items()} for g in wide.groups))
    assert TCloseness("s", 1, distance).find_achieved(unscaled.classes()) == {"t": achieved}  # type: ignore[arg-type]


def test_a_hierarchical_distance_needs_a_hierarchy() -> None:
    with pytest.raises(ParameterError, match=r"`distance` of `TCloseness` must be .* for column `s`"):
        TCloseness("s", 0.2, "hierarchical").holds(release(Domain(2), {0: 1}).classes())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("s", 1.5), r"`t` of `TCloseness` must be in \[0, 1\]; got 1.5"),
        (("s", 0.2, "semantic"), '`distance` of `TCloseness` must be one of "equal", "ordered", "hierarchical"'),
        (("", 0.2), "`attribute` of `TCloseness` must be the name of a column"),
    ],
)
def test_arguments_are_checked(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        TCloseness(*arguments)  # type: ignore[arg-type]


def schema(**given: object) -> Schema:
    return Schema(attributes=(Attribute(name="s", role=Role.SENSITIVE, **given),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "distance"),
    [
        ({"kind": Kind.NUMERIC}, "ordered"),
        ({"kind": Kind.DATE}, "ordered"),
        ({"kind": Kind.ORDINAL, "domain": Values(values=("low", "high"))}, "ordered"),
        ({"kind": Kind.CATEGORICAL}, "equal"),
        ({"kind": Kind.CATEGORICAL, "hierarchy": Flat()}, "hierarchical"),
    ],
)
def test_the_default_distance_can_be_spelt_out_for_a_certificate(given: dict[str, object], distance: str) -> None:
    resolved = TCloseness("s", 0.2).resolve(schema(**given))
    assert resolved == TCloseness("s", 0.2, distance)  # type: ignore[arg-type]
    assert resolved.problems(schema(**given)) == []


def test_a_distance_that_does_not_fit_the_column_is_a_problem() -> None:
    assert TCloseness("s", 0.2, "ordered").problems(schema()) == [
        "`TCloseness` measures column `s` by order, but its kind is categorical"
    ]
    assert TCloseness("s", 0.2, "hierarchical").problems(schema()) == [
        "`TCloseness` measures column `s` by a hierarchy, but it has none"
    ]
