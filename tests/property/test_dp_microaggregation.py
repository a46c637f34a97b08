"""Noise covers what one record can move; released cells lie in their domains; concepts are those of the hierarchy."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from unittest import mock

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import shoal
from reference.examples import examples
from shoal.mechanisms import Laplace, NoiseGrid, SeededSource
from shoal.methods.noise import Records, _centroids, centroid_noise
from shoal.methods.noise._columns import Columns, ConceptColumn, NumberColumn
from shoal.methods.noise._make import Perturbed, draw
from shoal.schema import Attribute, Domain, Groups, Kind, Missing, Role, Schema

AGE = Attribute(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC, domain=Domain(minimum=0, maximum=12))
DAY = Attribute(name="day", kind=Kind.DATE, domain=Domain(minimum=dt.date(2024, 1, 1), maximum=dt.date(2024, 1, 4)))
PAIN = Attribute(name="pain", kind=Kind.ORDINAL, domain=Domain(values=("none", "some", "much")))


# -- what one record moves


@dataclass(frozen=True)
class Silent:
    """Takes the place of the noise: remembers its sensitivity and adds nothing."""

    noise: Laplace
    seen: list[Fraction]

    @property
    def grid(self) -> NoiseGrid:
        return self.noise.grid

    @property
    def typical(self) -> float:
        return self.noise.typical

    def release_all(self, values: list[Fraction], *, source: object) -> list[float]:
        del source
        self.seen.append(self.noise.sensitivity)
        return [float(value) for value in values]


def silently(plan: shoal.Plan, values: np.ndarray) -> tuple[Perturbed, list[Fraction]]:
    """Return the means of the clusters as they are, and the sensitivities that their noise would have had."""
    columns, seen = Columns.of(plan.schema), []
    records = Records(
        numeric=values, lower=[c.lower for c in columns.numbers], upper=[c.upper for c in columns.numbers]
    )

    def silent(target, **arguments):
        return Silent(centroid_noise(target, **arguments), seen)

    with mock.patch.object(_centroids, "centroid_noise", silent):
        return draw(plan, plan.method, columns, records, source=SeededSource(1)), seen


@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3), st.integers(0, 2)), min_size=2, max_size=12),
    st.tuples(st.integers(0, 12), st.integers(0, 3), st.integers(0, 2)),
    st.sampled_from(["together", "each", (("age", "pain"), ("day",))]),
    st.data(),
)
def test_the_noise_of_original_records_covers_what_one_record_moves(rows, other, sets, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(rows)))
    changed = data.draw(st.integers(0, len(rows) - 1))
    plan = shoal.Plan(
        schema=Schema(attributes=(AGE, DAY, PAIN)),
        models=(shoal.methods.noise.EpsilonBudget(1),),
        method=shoal.methods.DPMicroaggregation(k=k, sets=sets, noise="laplace"),
    )
    start = (0.0, 19723.0, 0.0)
    first = np.array(rows) + start
    second = first.copy()
    second[changed] = np.array(other) + start
    (left, seen), (right, again) = silently(plan, first), silently(plan, second)
    assert seen == again, "the noise must not depend on the records"
    # the same random bits put the clusters into the same order, so that they correspond
    moved = [
        np.abs(one.centroids.numeric - two.centroids.numeric).sum(axis=0)
        for one, two in zip(left.release.parts, right.release.parts, strict=True)
    ]
    for distance, sensitivity in zip(np.concatenate(moved), seen, strict=True):
        assert distance <= float(sensitivity) * (1 + 1e-9)


def test_the_cover_is_needed_in_full() -> None:
    """With one column in its order, moves add up to the width over k: half the noise would not do."""
    plan = shoal.Plan(
        schema=Schema(attributes=(AGE,)),
        models=(shoal.methods.noise.EpsilonBudget(1),),
        method=shoal.methods.DPMicroaggregation(k=2),
    )
    (left, (sensitivity,)), (right, _) = (
        silently(plan, np.array(values, float)[:, None]) for values in ([0, 0, 6, 6], [0, 6, 6, 12])
    )
    moved = np.abs(left.release.parts[0].centroids.numeric - right.release.parts[0].centroids.numeric).sum()
    assert moved > 0.999 * float(sensitivity)


# -- concepts


@st.composite
def towns(draw: st.DrawFn) -> Attribute:
    """Return a column whose towns are put into regions, and these into countries."""
    number = draw(st.integers(2, 6))
    regions = draw(st.lists(st.integers(0, 3), min_size=number, max_size=number))
    lands = {region: draw(st.integers(0, 1)) for region in set(regions)}
    first = {f"r{r}": tuple(f"t{i}" for i, own in enumerate(regions) if own == r) for r in sorted(set(regions))}
    second = {
        f"l{land}": tuple(f"r{r}" for r, own in sorted(lands.items()) if own == land)
        for land in sorted(set(lands.values()))
    }
    return Attribute(
        name="town",
        hierarchy=Groups(levels=(tuple(first.items()), tuple(second.items()))),
        missing=draw(st.sampled_from([Missing.REFUSE, Missing.CATEGORY])),
    )


@given(towns())
@examples(40)
def test_the_sensitivity_of_concepts_is_the_greatest_change_of_a_marginality(town: Attribute) -> None:
    column = ConceptColumn.of(town, Schema(attributes=(town,)))
    leaves = [column.labels[code] for code in column.taxonomy.domain]
    above = ancestors(town)
    distance = {
        (a, b): math.log2(1 + len(above[a] ^ above[b]) / len(above[a] | above[b]))
        for a, b in itertools.product(above, leaves)
    }
    greatest = max(abs(distance[a, x] - distance[a, y]) for a in above for x, y in itertools.product(leaves, leaves))
    assert set(above) == set(column.labels)
    assert abs(float(column.taxonomy.sensitivity) - greatest) < 1e-9


def ancestors(town: Attribute) -> dict[str | None, set[str | None]]:
    """Return the ancestors of every label, itself included, read off the groups."""
    assert isinstance(town.hierarchy, Groups)
    up = {member: label for level in town.hierarchy.levels for label, members in level for member in members}
    labels: set[str | None] = {*up, *up.values()}
    found: dict[str | None, set[str | None]] = {"*": {"*"}}
    for label in labels:
        path, here = {label, "*"}, label
        while here in up:
            here = up[here]
            path.add(here)
        found[label] = path
    if town.missing is Missing.CATEGORY:
        found[None] = {None, "*"}
    # the last level has one label: it is the top, whatever it is called, and holds the missing value as well
    tops = {label for label in labels if label not in up}
    if len(tops) == 1:
        found = {label: path - {"*"} | tops for label, path in found.items() if label != "*"}
    return found


# -- cells


@given(
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
    st.lists(st.floats(-1e7, 1e7), min_size=1, max_size=20),
    st.one_of(st.none(), st.integers(-6, 12)),
    st.floats(1e-6, 1e6),
)
def test_released_numbers_lie_on_their_grid_inside_the_domain(lower, width, values, decimals, scale) -> None:
    upper = lower + width
    if not lower < upper:
        return
    attribute = Attribute(name="pay", kind=Kind.NUMERIC, domain=Domain(minimum=lower, maximum=upper))
    column = NumberColumn.of(attribute)
    step = column.step(scale, decimals)
    released = column.released(np.clip(np.array(values), lower, upper), step)
    assert column.strange(pa.chunked_array([released]), step) == 0
    assert all(lower <= value <= upper for value in released.to_pylist())
    if decimals is None:
        assert step * 50 <= Fraction(min(scale, float(column.width))) * (1 + Fraction(1, 10**9))
