"""What an executor does with a block, without a cluster: against the same records in memory."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.methods.classes import Mdav, Microaggregation, Partition, Swap, VMdav, exchange, mdav, standardize, vmdav
from shoal.methods.classes._block_forms import Averaging, Exchanging
from shoal.methods.classes._block_task import BlockNumbers, BlockTask, block_columns
from shoal.methods.classes._blocks import cut
from shoal.methods.classes._columns import HeldRecords, fine_points, quasi_identifiers
from shoal.methods.classes._typical import Errors, middle_concept, typical_concepts
from shoal.schema import Attribute, Domain, Groups, Kind, Role, Schema
from shoal.tables import ColumnLeaves, ColumnMoments, Plane, encode_records
from shoal.tables._engine import ROW

K = 4
ATTRIBUTES = (
    Attribute(name="pay", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC, weight=2),
    Attribute(name="day", role=Role.QUASI_IDENTIFIER, kind=Kind.DATE),
    Attribute(
        name="rank", role=Role.QUASI_IDENTIFIER, kind=Kind.ORDINAL, domain=Domain(values=("low", "middle", "high"))
    ),
)


@pytest.fixture
def numbers() -> np.ndarray:
    draw = np.random.default_rng(2)
    found = np.stack([draw.exponential(900, 90), draw.integers(0, 4000, 90), draw.integers(0, 3, 90)], axis=1)
    found[draw.random(90) < 0.1, 0] = np.nan
    return found


def _moments(numbers: np.ndarray) -> list[ColumnMoments]:
    return [
        ColumnMoments(
            count=int((~np.isnan(column)).sum()),
            mean=float(np.nanmean(column)),
            deviation=float(np.nanstd(column)),
            constant=bool(np.nanmin(column) == np.nanmax(column)),
        )
        for column in numbers.T
    ]


def _task(numbers: np.ndarray, method: Microaggregation) -> BlockTask:
    moments = _moments(numbers)
    columns = block_columns(ATTRIBUTES, moments, {}, len(numbers), len(numbers))
    assert columns is not None
    made = BlockTask(method=method, k=K, form=Averaging(columns=columns, decimals=None, seed=None))
    return pickle.loads(pickle.dumps(made))  # noqa: S301 - as executors get it


def _rows(numbers: np.ndarray, block: int = 3) -> pa.Table:
    columns = {f"v{i}": pa.array(column, from_pandas=True) for i, column in enumerate(numbers.T)}
    many = len(numbers)
    return pa.table({"block": pa.array([block] * many, pa.int32()), ROW: np.arange(many) * 7, **columns})


def _places(numbers: np.ndarray) -> np.ndarray:
    """Return the points that records have in memory."""
    missing = np.isnan(numbers[:, 0])
    filled = np.where(missing, np.nanmean(numbers[:, 0]), numbers[:, 0])
    placed = standardize(np.stack([filled, missing, numbers[:, 1], numbers[:, 2]], axis=1))
    return placed * np.sqrt([2.0, 2.0, 1.0, 1.0])


def _clusters(made: pa.Table) -> list[tuple[object, ...]]:
    return list(zip(*(made[f"new{i}"].to_pylist() for i in range(3)), strict=True))


@pytest.mark.parametrize(("method", "most"), [(Mdav(), 2 * K - 1), (VMdav(), 90)])
def test_a_block_gets_the_clusters_that_its_records_have_in_memory(
    numbers: np.ndarray, method: Microaggregation, most: int
) -> None:
    made = _task(numbers, method).cluster(_rows(numbers))
    places = _places(numbers)
    wanted = exchange(places, mdav(places, K)) if isinstance(method, Mdav) else vmdav(places, K)
    labels = {key: number for number, key in enumerate(dict.fromkeys(_clusters(made)))}
    assert Partition.from_names([labels[key] for key in _clusters(made)]).same_clusters(wanted)
    sizes = Counter(_clusters(made)).values()
    assert K <= min(sizes) <= max(sizes) <= most
    assert made["record"].to_pylist() == [7 * i for i in range(90)]
    assert [field.type for field in made.schema][2:5] == [pa.float64(), pa.date32(), pa.string()]
    assert [column.type for column in _task(numbers, method).form.columns] == ["double", "date", "string"]


def test_the_records_of_a_cluster_exchange_their_values_and_no_others(numbers: np.ndarray) -> None:
    columns = _task(numbers, Mdav()).form.columns
    task = BlockTask(method=Swap(), k=K, form=Exchanging(columns=columns, decimals=None, seed=11))
    made = task.cluster(_rows(numbers))
    assert made.equals(task.cluster(_rows(numbers)))
    records, others, clusters = (made[name].to_numpy() for name in ("record", "other", "cluster"))
    assert (clusters >> 32 == 3).all()
    of_record = dict(zip(records.tolist(), clusters.tolist(), strict=True))
    assert sorted(others.tolist()) == records.tolist()
    assert [of_record[other] for other in others.tolist()] == clusters.tolist()
    assert 0 < (records == others).sum() < 60
    # what is lost is what the places say, but that a missing number is one deviation away
    known = ~np.isnan(numbers[:, 0]) & ~np.isnan(numbers[others // 7, 0])
    places = np.stack(
        [(numbers[:, i] - np.nanmean(numbers[:, i])) / np.nanstd(numbers[:, i]) for i in range(3)], axis=1
    )
    lost = np.square(places - places[others // 7]) @ [2.0, 1.0, 1.0]
    assert made["error"].to_numpy()[known] == pytest.approx(lost[known])


def test_drafted_clusters_have_numbers_of_their_block_and_are_repaired_together(numbers: np.ndarray) -> None:
    task = _task(numbers, Mdav())
    first, second = (task.draft(_rows(numbers[part], block)) for block, part in ((0, slice(0, 45)), (1, slice(45, 90))))
    assert not set(first["cluster"].to_pylist()) & set(second["cluster"].to_pylist())
    both = pa.concat_tables([first, second])
    both = both.set_column(both.column_names.index(ROW), ROW, pa.array(np.arange(90)))
    done = task.repair(both)
    sizes = Counter(_clusters(done)).values()
    assert K <= min(sizes) <= max(sizes) <= 2 * K - 1
    before = sum(dict(zip(*(both[n].to_pylist() for n in ("cluster", "width")), strict=True)).values())
    places = _places(numbers)
    drafted = Partition.from_names(both["cluster"].to_numpy())
    centres = np.array([places[drafted.labels == label].mean(axis=0) for label in drafted.labels])
    assert before == pytest.approx(np.square(places - centres).sum())
    assert np.stack([both[f"q{i}"].to_numpy() for i in range(4)], axis=1) == pytest.approx(centres)
    labels = {key: number for number, key in enumerate(dict.fromkeys(_clusters(done)))}
    after = np.array([labels[key] for key in _clusters(done)])
    centres = np.array([places[after == label].mean(axis=0) for label in after])
    assert np.square(places - centres).sum() < before


def test_numbers_whose_squares_are_none_have_no_axes() -> None:
    one = ColumnMoments(count=9, mean=0.0, deviation=1e200, constant=False)
    assert BlockNumbers.of(0, ATTRIBUTES[0], one, 9) is None
    tiny = ColumnMoments(count=9, mean=0.0, deviation=0.0, constant=False)
    assert BlockNumbers.of(0, ATTRIBUTES[0], tiny, 9) is None


def test_a_constant_has_no_axis() -> None:
    same = ColumnMoments(count=9, mean=4.0, deviation=0.0, constant=True)
    found = BlockNumbers.of(0, ATTRIBUTES[0], same, 9)
    assert found is not None
    assert found.axes == ()


# -- categories

PLACES = Groups(levels=((("south", ("Ulm", "Graz")), ("north", ("Kiel", "Emden"))),))
NAMED = Schema(
    attributes=(
        Attribute(name="town", role=Role.QUASI_IDENTIFIER, hierarchy=PLACES, weight=2),
        Attribute(name="sex", role=Role.QUASI_IDENTIFIER),
        Attribute(name="pay", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC),
    )
)


def _held(rows: pa.Table) -> HeldRecords:
    encoded = encode_records(shoal.read(rows).with_schema(NAMED), sensitive=())
    return HeldRecords(quasi_identifiers=quasi_identifiers(NAMED, encoded), sensitive=(), codes=encoded.sensitive_codes)


def _as_block(people: HeldRecords, largest: int) -> tuple[BlockTask, np.ndarray]:
    """Return what executors are told of records, and their leaves and numbers."""
    numbers, leaves = [], {}
    for each in people.quasi_identifiers:
        own = each.numbers()
        if own is None:
            own = each.leaves[each.places].astype(np.float64)
            counts = np.bincount(own.astype(np.int64), minlength=each.hierarchy.size)
            leaves[each.attribute.name] = ColumnLeaves(hierarchy=each.hierarchy, counts=counts)
        numbers.append(own)
    found = np.stack(numbers, axis=1)
    columns = block_columns(NAMED.attributes, _moments(found), leaves, len(found), largest)
    assert columns is not None
    made = BlockTask(method=Mdav(), k=K, form=Averaging(columns=columns, decimals=None, seed=None))
    return pickle.loads(pickle.dumps(made)), found  # noqa: S301


def _townspeople(towns: list[str | None]) -> pa.Table:
    draw = np.random.default_rng(8)
    sexes = [str(sex) for sex in draw.choice(["f", "m"], len(towns))]
    return pa.table({"town": pa.array(towns, pa.string()), "sex": sexes, "pay": draw.exponential(900, len(towns))})


@pytest.fixture
def townspeople() -> pa.Table:
    return _townspeople(list(np.random.default_rng(4).choice(["Ulm", "Graz", "Kiel", None], 80)))  # nobody is of Emden


def test_a_block_of_all_records_is_clustered_and_released_as_in_memory(townspeople: pa.Table) -> None:
    people = _held(townspeople)
    task, numbers = _as_block(people, len(people))
    places = fine_points(people)
    partition = exchange(places, mdav(places, K))
    made = task.cluster(_rows(numbers))
    errors = Errors()
    for i, each in enumerate(people.quasi_identifiers):
        middle = each.average(partition)
        wanted = middle.take(pa.array(partition.labels)).to_pylist()
        assert made[f"new{i}"].to_pylist() == (pytest.approx(wanted) if i == 2 else wanted)
        errors += each.errors(middle, partition).multiply(each.attribute.weight)
    assert sum(made["error"].to_pylist()) == pytest.approx(errors.sse)
    assert sum(each.attribute.weight * each.spread for each in task.form.columns) == pytest.approx(errors.sst)
    assert [each.type for each in task.form.columns] == ["string", "string", "double"]


def test_records_of_a_block_are_as_far_apart_as_in_the_whole_table(townspeople: pa.Table) -> None:
    people = _held(townspeople)
    task, numbers = _as_block(people, 20)
    some = [3, 11, 40, 77]
    placed = np.concatenate([each.places(numbers[some, i]) for i, each in enumerate(task.form.columns)], axis=1)
    wanted = fine_points(people)[some]
    apart, here = (np.square(points[:, None] - points).sum(axis=2) for points in (wanted, placed))
    assert here == pytest.approx(apart)


def test_siblings_stay_together_where_blocks_are_cut_along_the_tree() -> None:
    people = _held(_townspeople(["Kiel"] * 20 + ["Ulm"] * 20 + ["Emden"] * 20 + ["Graz"] * 20))
    task, numbers = _as_block(people, 40)
    (town,) = task.form.columns[0].axes
    line = town.places(numbers[:, 0])
    planes = cut(np.stack([line, np.linspace(0, 0.9, 80)], axis=1), 80, 40)
    assert isinstance(planes, Plane)
    names = np.array(_held_towns(people))
    assert {*names[line < planes.border]} in ({"Ulm", "Graz"}, {"Kiel", "Emden"})
    # the line is as wide as the coordinate in which the points of the towns differ most
    assert line.var() == pytest.approx(task.form.columns[0].places(numbers[:, 0]).var(axis=0).max())


def _held_towns(people: HeldRecords) -> list[str]:
    town = people.quasi_identifiers[0]
    return [str(town.hierarchy.labels[0][leaf]) for leaf in town.leaves[town.places]]


def test_people_who_are_all_alike_have_no_axes_and_one_place() -> None:
    alike = pa.table({"town": ["Ulm"] * 9, "sex": ["f"] * 9, "pay": [7.0] * 9})
    task, numbers = _as_block(_held(alike), 9)
    assert [each.axes for each in task.form.columns] == [(), (), ()]
    drafted = task.draft(_rows(numbers))
    assert [name for name in drafted.column_names if name.startswith("q")] == []
    done = task.repair(drafted)
    assert set(zip(*(done[f"new{i}"].to_pylist() for i in range(3)), strict=True)) == {("Ulm", "f", 7.0)}
    assert sum(done["error"].to_pylist()) == 0


def test_the_middle_of_all_is_the_same_from_counts(townspeople: pa.Table) -> None:
    town = _held(townspeople).quasi_identifiers[0]
    leaves = town.leaves[town.places]
    counts = np.bincount(leaves, minlength=town.hierarchy.size)
    (wanted,) = typical_concepts(town.hierarchy, leaves, Partition(np.zeros(len(leaves), dtype=np.int32)))
    assert middle_concept(town.hierarchy, counts) == wanted
    assert middle_concept(town.hierarchy, counts * 10**9) == wanted
