"""Estimates from many truthful tables: near the truth, with honest errors, and clear about what cannot be answered."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from reference.noise import QuickSource
from shoal.errors import InputError, ParameterError, Undecided
from shoal.fitting import Margin, Margins, RakedPool, raked
from shoal.fitting._raking import _LEAST_LOG, _agreed, _constraint

ROWS = 20_000
SIZE = 20_000


@pytest.fixture(scope="module")
def original() -> pa.Table:
    generator = np.random.default_rng(3)
    age = generator.integers(20, 60, ROWS)
    town = np.array(["Ulm", "Bonn", "Kiel", "Jena"])[generator.choice(4, ROWS, p=[0.5, 0.3, 0.15, 0.05])]
    ill = np.where(generator.random(ROWS) < age / 80, "yes", "no")
    return pa.table({"age": age, "town": town, "ill": ill})


@pytest.fixture(scope="module")
def release(original: pa.Table) -> shoal.Release:
    groups = shoal.schema.Groups(levels=((("south", ("Ulm", "Jena")), ("north", ("Bonn", "Kiel"))),))
    schema = shoal.Schema(
        attributes=(
            shoal.Attribute(
                name="age",
                role="quasi-identifier",
                kind="numeric",
                domain=shoal.Domain(minimum=0, maximum=100),
                hierarchy=shoal.schema.Intervals(widths=(5, 20)),
            ),
            shoal.Attribute(name="town", role="quasi-identifier", hierarchy=groups),
            shoal.Attribute(name="ill", role="quasi-identifier", domain=shoal.Domain(values=("yes", "no"))),
        )
    )
    wanted = shoal.DifferentialPrivacy(epsilon=2, delta="1e-6")
    return shoal.anonymize(shoal.read(original).with_schema(schema), wanted, method=shoal.methods.TruthfulTables())


@pytest.fixture(scope="module")
def estimates(release: shoal.Release, tmp_path_factory: pytest.TempPathFactory) -> shoal.estimation.Estimates:
    return shoal.estimate(release.write(tmp_path_factory.mktemp("estimates") / "release"), size=SIZE)


@pytest.mark.slow
def test_counts_and_proportions_are_near_the_truth(estimates: shoal.estimation.Estimates, original: pa.Table) -> None:
    rows = original.to_pandas()
    assert estimates.total().value == pytest.approx(ROWS, abs=200)
    for conditions, truth in (
        ({"town": "Ulm"}, (rows.town == "Ulm").sum()),
        ({"town": "south"}, rows.town.isin(["Ulm", "Jena"]).sum()),
        ({"town": ["Bonn", "Kiel"], "ill": "yes"}, (rows.town.isin(["Bonn", "Kiel"]) & (rows.ill == "yes")).sum()),
        ({"age": "[40, 60)", "ill": "yes"}, ((rows.age >= 40) & (rows.ill == "yes")).sum()),
    ):
        found = estimates.count(conditions)
        assert found.value == pytest.approx(int(truth), abs=0.03 * ROWS), conditions
        assert 0 < found.error < 0.03 * ROWS
        assert estimates.proportion(**conditions).value == pytest.approx(truth / ROWS, abs=0.03)


@pytest.mark.slow
def test_a_cross_table_has_every_combination_and_adds_up(estimates: shoal.estimation.Estimates) -> None:
    table = estimates.table("town", "ill")
    assert len(table) == 8
    assert table.column_names == ["town", "ill", "estimate", "standard error"]
    total = sum(table["estimate"].to_pylist())
    assert total == pytest.approx(estimates.total().value)


def test_errors_are_as_large_as_the_noise_of_a_released_table(estimates: shoal.estimation.Estimates) -> None:
    margin = next(each for each in estimates.margins.tables if len(each.columns) == 1 and len(each.sizes) == 2)
    name = estimates.columns[margin.columns[0]]
    assert name == "ill"
    assert 0.2 * margin.variance**0.5 < estimates.count(ill="yes").error < 2 * margin.variance**0.5


def test_the_pool_is_weighted_and_says_nothing_but_the_estimate(
    estimates: shoal.estimation.Estimates, tmp_path: Path
) -> None:
    estimates.write_pool(tmp_path / "pool.parquet")
    pool = pq.read_table(tmp_path / "pool.parquet")
    assert len(pool) == len({*zip(*pool.select(["age", "town", "ill"]).to_pydict().values(), strict=True)}) < SIZE
    inside = np.array(pool["town"].to_pylist()) == "Ulm"
    assert pool["weight"].to_numpy()[inside].sum() == pytest.approx(estimates.count(town="Ulm").value)


def test_a_release_in_memory_gives_the_same(release: shoal.Release, estimates: shoal.estimation.Estimates) -> None:
    assert release.estimate().margins.records == estimates.margins.records


def test_what_cannot_be_answered_is_said(estimates: shoal.estimation.Estimates, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no column `nose`"):
        estimates.count(nose="long")
    with pytest.raises(ParameterError, match="no value `Rome`"):
        estimates.count(town="Rome")
    with pytest.raises(InputError, match="no release folder"):
        shoal.estimate(tmp_path / "nowhere")
    with pytest.raises(Undecided):
        shoal.estimate(tmp_path)


def test_a_release_of_one_table_is_refused(tmp_path: Path) -> None:
    table = shoal.read(pa.table({"age": [1, 1, 2, 2]})).with_schema(
        shoal.Schema(attributes=(shoal.Attribute(name="age", role="quasi-identifier", kind="numeric"),))
    )
    folder = shoal.anonymize(table, shoal.KAnonymity(2)).write(tmp_path / "release")
    with pytest.raises(InputError, match="truthful-tables"):
        shoal.estimate(folder)


def test_classes_of_a_wide_table_are_told_apart_by_their_first_column() -> None:
    # 256^9 combinations: as one number of 64 bits, the first column would be worth a multiple of 2^64, which is nothing
    class Wide:
        records = 30.0

        def size(self, column: int, level: int) -> int:
            return 256

        def lift(self, column: int, level: int) -> np.ndarray:
            return np.arange(256)

    classes = np.array([[0] * 9, [1] + [0] * 8])
    table = Margin(
        columns=tuple(range(9)),
        levels=(0,) * 9,
        codes=classes,
        sizes=np.array([10.0, 20.0]),
        variance=1.0,
        total=30.0,
        classes=2,
        whole=False,
    )
    pool = np.array([[1] + [0] * 8, [0] * 9, [0] * 8 + [1]])
    assert _constraint(Wide(), table, pool).parts.tolist() == [1, 0, 2]  # type: ignore[arg-type]


def _fit_problem(epsilon: str) -> tuple[Margins, RakedPool]:
    """Return the tables of a release of columns that go together, and the pool that is fitted to them."""
    generator = np.random.default_rng(9)
    first = generator.integers(0, 30, ROWS)
    second = (first // 3 + generator.integers(0, 6, ROWS)) % 15
    third = np.where(generator.random(ROWS) < 0.8, second % 4, generator.integers(0, 4, ROWS))
    columns = {"first": first, "second": second, "third": third, "fourth": (first % 2 + third) % 3}
    schema = shoal.Schema(
        attributes=tuple(
            shoal.Attribute(
                name=name,
                role="quasi-identifier",
                domain=shoal.Domain(values=tuple(f"{value:02d}" for value in range(values.max() + 1))),
            )
            for name, values in columns.items()
        )
    )
    rows = pa.table({name: [f"{value:02d}" for value in values] for name, values in columns.items()})
    private = shoal.DifferentialPrivacy(epsilon=epsilon, delta="1e-6")
    release = shoal.anonymize(shoal.read(rows).with_schema(schema), private, method=shoal.methods.TruthfulTables())
    margins = release.estimate().margins
    return margins, raked(margins, size=SIZE, seed=0)


def _misfit(pool: RakedPool) -> float:
    """Return the mean squared distance of the pool from its tables, in variances of the noise."""
    gaps = []
    for each in pool.constraints:
        sizes = np.bincount(each.parts, pool.weights, minlength=len(each.targets))
        gaps.append((sizes - each.targets)[:-1] ** 2 / each.variances[:-1])
    return float(np.concatenate(gaps).mean())


@pytest.mark.parametrize("epsilon", ["1", "40"])
def test_the_fit_agrees_with_all_tables_within_their_noise(epsilon: str) -> None:
    _, pool = _fit_problem(epsilon)
    # with steps of Newton's method that start far away this was 10^4 at epsilon 40
    assert _misfit(pool) < 1.5


@pytest.mark.parametrize("epsilon", ["1", "40"])
def test_single_columns_are_no_worse_than_their_own_tables(epsilon: str) -> None:
    margins, pool = _fit_problem(epsilon)
    for table in margins.tables:
        if len(table.columns) == 1:
            (column,) = table.columns
            fitted = np.bincount(pool.codes[:, column], pool.weights, minlength=margins.size(column))
            measured = np.zeros(margins.size(column))
            measured[table.codes[:, 0]] = table.sizes
            # both are off from the truth; the fit may not be further from its table than the noise of that
            assert np.sqrt(np.mean((fitted - measured) ** 2)) < 1.5 * np.sqrt(table.variance)


@pytest.mark.parametrize("target", [-30.0, 0.0, 5.0, 1e5])
@pytest.mark.parametrize("log_size", [-40.0, 3.0, 130.0, 600.0])
def test_the_size_between_pool_and_target_solves_its_equation(target: float, log_size: float) -> None:
    softness = np.array([1e-3])
    found = _agreed(np.array([log_size]), np.array([target]), softness)
    asked = target + softness * log_size
    assert np.exp(found) + softness * found == pytest.approx(asked, rel=1e-9, abs=1e-9) or found == _LEAST_LOG


def _distances(rows: pa.Table, margins: Margins, pool: RakedPool) -> dict[int, float]:
    """Return the mean total variation distance of the pool from all tables of one and of two columns."""
    names = margins.names
    truth = np.stack([np.array([int(value) for value in rows[name].to_pylist()]) for name in names], axis=1)
    labels = [np.array([int(each or 0) for each in hierarchy.labels[0]]) for hierarchy in margins.hierarchies]
    drawn = np.stack([own[pool.codes[:, j]] for j, own in enumerate(labels)], axis=1)
    shares = pool.weights / pool.weights.sum()
    found: dict[int, list[float]] = {1: [], 2: []}
    for columns in [*itertools.combinations(range(len(names)), 1), *itertools.combinations(range(len(names)), 2)]:
        cells = [each[:, columns] @ np.array([1, 100])[: len(columns)] for each in (truth, drawn)]
        sizes = np.bincount(cells[0], minlength=10_000) / len(truth), np.bincount(cells[1], shares, minlength=10_000)
        found[len(columns)].append(float(np.abs(sizes[0] - sizes[1]).sum()) / 2)
    return {number: float(np.mean(each)) for number, each in found.items()}


@pytest.mark.deep
@pytest.mark.parametrize(("records", "epsilons"), [(1_000, ("2", "8", "32")), (10_000, ("1/2", "2", "8"))])
def test_errors_fall_with_epsilon_and_pairs_do_not_lose_to_single_columns(
    records: int, epsilons: tuple[str, ...]
) -> None:
    """Independent, chained and equal columns; below about 1,000 records times epsilon, pairs may lose."""
    generator = np.random.default_rng(12)
    first = generator.integers(0, 20, records)
    columns = {
        "first": first,
        "second": np.where(generator.random(records) < 0.7, first // 2, generator.integers(0, 10, records)),
        "equal": first % 5,
        "alone": generator.integers(0, 8, records),
    }
    rows = pa.table({name: [f"{value:02d}" for value in values] for name, values in columns.items()})
    attributes = tuple(
        shoal.Attribute(
            name=name,
            role="quasi-identifier",
            domain=shoal.Domain(values=tuple(f"{value:02d}" for value in range(values.max() + 1))),
        )
        for name, values in columns.items()
    )
    table = shoal.read(rows).with_schema(shoal.Schema(attributes=attributes))
    errors: dict[tuple[str, str], dict[int, float]] = {}
    for epsilon, tables in itertools.product(epsilons, ("pairs", "columns")):
        private = shoal.DifferentialPrivacy(epsilon=epsilon, delta="1e-6")
        method = shoal.methods.TruthfulTables(tables=tables)  # type: ignore[arg-type]
        plan = shoal.Plan(schema=table.schema, models=(private,), method=method)
        found = []
        for seed in range(3):
            margins = plan.run(table, source=QuickSource(seed)).estimate().margins
            found.append(_distances(rows, margins, raked(margins, size=20_000, seed=0)))
        errors[epsilon, tables] = {number: float(np.mean([each[number] for each in found])) for number in (1, 2)}
    for epsilon in epsilons:
        assert errors[epsilon, "pairs"][2] < errors[epsilon, "columns"][2], (records, epsilon, errors)
    for less, more in itertools.pairwise(epsilons):
        for number in (1, 2):
            assert errors[more, "pairs"][number] < errors[less, "pairs"][number], (records, less, errors)
