from __future__ import annotations

import pyarrow as pa

from shoal.hierarchies import build
from shoal.schema import Attribute, Domain, Groups, Kind

NONE = pa.array([], pa.string())


def test_groups_of_groups():
    rule = Groups(
        levels=(
            (("school", ("primary", "secondary")), ("degree", ("bachelor", "master")), ("none", ("nothing",))),
            (("some", ("school", "degree")), ("no", ("none",))),
        )
    )
    hierarchy = build(Attribute(name="e", hierarchy=rule), NONE)
    assert hierarchy.labels == (
        ("primary", "secondary", "bachelor", "master", "nothing"),
        ("school", "degree", "none"),
        ("some", "no"),
        ("*",),
    )
    assert hierarchy.shares[1].tolist() == [0.25, 0.25, 0]
    assert hierarchy.shares[2].tolist() == [0.75, 0]


def test_groups_that_are_not_neighbours_are_put_together_in_declared_order():
    attribute = Attribute(
        name="o",
        kind=Kind.ORDINAL,
        domain=Domain(values=("a", "b", "c", "d")),
        hierarchy=Groups(levels=((("odd", ("a", "c")), ("even", ("d", "b"))),)),
    )
    assert build(attribute, NONE).labels == (("a", "c", "b", "d"), ("odd", "even"), ("*",))


def test_a_group_named_like_a_value_of_another_group_is_told_apart():
    rule = Groups(levels=((("other", ("a", "b")), ("x", ("other",))),))
    assert build(Attribute(name="g", hierarchy=rule), NONE).labels == (
        ("a", "b", "other"),
        ("other (level 1)", "x"),
        ("*",),
    )


def test_a_group_named_like_its_only_value_keeps_its_name():
    rule = Groups(levels=((("a", ("a",)), ("x", ("b",))),))
    assert build(Attribute(name="g", hierarchy=rule), NONE).labels[1] == ("a", "x")


def test_a_mark_that_is_a_value_already_is_changed():
    rule = Groups(levels=((("a", ("a", "a (level 1)")),),))
    assert build(Attribute(name="g", hierarchy=rule), NONE).labels[1] == ("a (level 1)'",)


def test_a_group_may_be_called_star():
    rule = Groups(levels=((("*", ("a", "b")), ("c", ("c",))), (("all", ("*", "c")),)))
    assert build(Attribute(name="g", hierarchy=rule), NONE).labels[1:] == (("*", "c"), ("all",), ("*",))
