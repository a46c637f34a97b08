"""Pairs of columns are chosen in rounds: later ones are explained by all tables that were released before."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import shoal
from reference.noise import QuickSource
from shoal import tables
from shoal.methods.base import Watch
from shoal.methods.truthful._sets_choice import candidates, choose, score
from shoal.methods.truthful._sets_expected import ExpectedTogether
from shoal.methods.truthful._sets_listed import LeveledColumns, ListedClasses, countable
from shoal.methods.truthful._sets_margins import ReleasedTable, margins_of
from shoal.methods.truthful._sets_split import Noise, Split

ROWS = 6_000
NOISE = Noise(30, Fraction(50))
VALUES = tuple("abcd")


def chain() -> pa.Table:
    """Return columns of which each follows the one before it, but for a tenth of the records."""
    generator = np.random.default_rng(2)
    columns = {"first": generator.integers(0, 4, ROWS)}
    for before, name in (("first", "second"), ("second", "third")):
        other = generator.integers(0, 4, ROWS)
        columns[name] = np.where(generator.random(ROWS) < 0.9, columns[before], other)
    return pa.table({name: [VALUES[code] for code in codes] for name, codes in columns.items()})


def schema(*, listed: bool) -> shoal.Schema:
    domain = shoal.Domain(values=VALUES) if listed else None
    names = ("first", "second", "third")
    return shoal.Schema(
        attributes=tuple(shoal.Attribute(name=name, role="quasi-identifier", domain=domain) for name in names)
    )


def classes(rows: pa.Table, wanted: shoal.Schema) -> ListedClasses:
    table = shoal.read(rows).with_schema(wanted)
    frequencies = tables.encode(table, quasi_identifiers=wanted.names, sensitive=()).frequencies
    return ListedClasses(frequencies, countable(wanted))


def released(rows: pa.Table, *names: str) -> ReleasedTable:
    counts = rows.group_by([*names]).aggregate([([], "count_all")])
    labels = zip(*(counts[name].to_pylist() for name in names), strict=True)
    shown = {key: count - NOISE.m for key, count in zip(labels, counts["count_all"].to_pylist(), strict=True)}
    visible = {key: count for key, count in shown.items() if count > 0}
    return ReleasedTable(
        columns=names,
        levels=(0,) * len(names),
        m=NOISE.m,
        variance=float(NOISE.variance),
        shown=visible,
        hidden={key: count + NOISE.m for key, count in shown.items() if count <= 0},
    )


@pytest.mark.parametrize("listed", [True, False])
def test_a_pair_that_others_explain_is_worth_nothing_more(*, listed: bool) -> None:
    rows, wanted = chain(), schema(listed=listed)
    records = classes(rows, wanted)
    known = [released(rows, name) for name in wanted.names]
    explained = LeveledColumns((0, 2), (0, 0))
    before = score(records, explained, ExpectedTogether.of(records, margins_of(wanted, known)), NOISE)
    known += [released(rows, "first", "second"), released(rows, "second", "third")]
    after = score(records, explained, ExpectedTogether.of(records, margins_of(wanted, known)), NOISE)
    assert before > ROWS / 2
    assert after < ROWS / 50


@pytest.mark.parametrize("listed", [True, False])
def test_a_record_changes_no_score_by_more_than_one_when_the_same_was_released(*, listed: bool) -> None:
    """Neighbours are compared with tables of one of them, among them a neighbour with a value that nobody else has."""
    rows, wanted = chain(), schema(listed=listed)
    known = [released(rows, name) for name in wanted.names] + [released(rows, "first", "second")]
    margins = margins_of(wanted, known)
    both = []
    for extra in ([], [("a", "d", "b")]) if listed else ([], [("a", "new", "b")]):
        more = pa.table({name: [row[place] for row in extra] for place, name in enumerate(wanted.names)}, rows.schema)
        records = classes(pa.concat_tables([rows, more]), wanted)
        expected = ExpectedTogether.of(records, margins)
        pairs = candidates(records.frequencies.hierarchies, (0, 0, 0))
        both.append([score(records, each, expected, NOISE) for each in pairs])
    assert both[0] != both[1], "or nothing was compared"
    assert max(abs(one - other) for one, other in zip(*both, strict=True)) == 1


def test_what_was_chosen_is_not_chosen_again_and_the_clock_is_looked_at_as_often() -> None:
    rows, wanted = chain(), schema(listed=True)
    records = classes(rows, wanted)
    expected = ExpectedTogether.of(records, margins_of(wanted, [released(rows, name) for name in wanted.names]))
    among = candidates(records.frequencies.hierarchies, (0, 0, 0))
    looks: list[int] = []
    chosen: list[LeveledColumns] = []
    for _ in range(3):
        counted: list[int] = []
        watch = Watch(lambda done, total, message, counted=counted: counted.append(done))  # type: ignore[misc]
        chosen += choose(
            records, expected, chosen, among=among, number=1, epsilon=Fraction(1), noise=NOISE, watch=watch,
            source=QuickSource(1),
        )  # fmt: skip
        looks.append(len(counted))
    assert {each.columns for each in chosen} == {(0, 1), (0, 2), (1, 2)}
    assert len({*looks}) == 1


@pytest.mark.parametrize("pairs", [1, 3, 4, 5, 22])
def test_rounds_have_all_pairs_and_what_they_cost_does_not_depend_on_what_is_chosen(pairs: int) -> None:
    split = Split.of(Fraction(1), Fraction(1, 10**5), declared=[4, 9], pairs=pairs)
    assert sum(split.rounds) == pairs
    assert max(split.rounds) - min(split.rounds) <= 1
    cheap, dear = split.with_pairs([4] * pairs), split.with_pairs([4 + 90 * (number % 3) for number in range(pairs)])
    for each in (cheap, dear):
        assert each.holds()
        assert each.rho <= split.rho
    # the noise of a round is settled before the next one is chosen
    first = split.rounds[0]
    assert dear.with_pairs([4 + 90 * (number % 3) for number in range(first)]).chosen == dear.chosen[:first]
