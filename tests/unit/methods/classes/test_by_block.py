"""What an executor does with a block, without a cluster: against the same records in memory."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from shoal.methods.classes import Mdav, Microaggregation, Partition, VMdav, exchange, mdav, standardize, vmdav
from shoal.methods.classes._block_columns import BlockNumbers, block_columns
from shoal.methods.classes._by_block import BlockTask
from shoal.schema import Attribute, Domain, Kind, Role
from shoal.tables import ColumnMoments
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
    made = BlockTask(method=method, k=K, columns=columns)
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
    assert Partition.numbered([labels[key] for key in _clusters(made)]).same_clusters(wanted)
    sizes = Counter(_clusters(made)).values()
    assert K <= min(sizes) <= max(sizes) <= most
    assert made["record"].to_pylist() == [7 * i for i in range(90)]
    assert [field.type for field in made.schema][2:5] == [pa.float64(), pa.date32(), pa.string()]
    assert [column.type for column in _task(numbers, method).columns] == ["double", "date", "string"]


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
    drafted = Partition.numbered(both["cluster"].to_numpy())
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
