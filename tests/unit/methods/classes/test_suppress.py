"""Local suppression against brute force, sdcMicro's own figures and slow counting."""

from __future__ import annotations

import csv
import itertools
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from reference import suppression as reference
from shoal.errors import DataError, ParameterError, PlanError, RequirementError
from shoal.methods.classes import agreeing

KEYS = ("a", "b", "c")


def _rows(records: int, seed: int, sizes: tuple[int, ...] = (2, 3, 5)) -> list[tuple[str, ...]]:
    draw = random.Random(seed)
    return [tuple(f"v{draw.randrange(size)}" for size in sizes) for _ in range(records)]


def _table(rows: list[tuple[str, ...]], names: tuple[str, ...] = KEYS) -> shoal.Table:
    columns = {name: [row[j] for row in rows] for j, name in enumerate(names)}
    columns["ill"] = [f"i{number % 3}" for number in range(len(rows))]
    attributes = [shoal.Attribute(name=name, role="quasi-identifier") for name in names]
    schema = shoal.Schema(attributes=(*attributes, shoal.Attribute(name="ill", role="sensitive")))
    return shoal.read(pa.table(columns)).with_schema(schema)


def _released(release: Any, names: tuple[str, ...] = KEYS) -> list[tuple[Any, ...]]:
    found = release.table.to_arrow().to_pylist()
    return [tuple(None if row[name] == "*" else row[name] for name in names) for row in found]


def _cells(rows: list[tuple[Any, ...]]) -> int:
    return sum(value is None for row in rows for value in row)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("k", [2, 3, 5])
def test_every_record_looks_like_k_and_every_cell_is_as_it_was_or_suppressed(seed: int, k: int) -> None:
    rows = _rows(60, seed)
    release = shoal.anonymize(_table(rows), shoal.KAnonymity(k), method=shoal.methods.Suppress())
    found = _released(release)
    assert min(reference.alike(found)) >= k
    assert _cells(found) == release.measures["suppressed cells"] >= release.measures["suppressed cells at least"]
    # every column shows a part of the values that it had, and the rest is suppressed
    for j in range(len(KEYS)):
        shown, before = Counter(row[j] for row in found if row[j] is not None), Counter(row[j] for row in rows)
        assert all(number <= before[value] for value, number in shown.items())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [2, 3])
def test_no_way_of_suppressing_costs_less_than_the_bound(seed: int, k: int) -> None:
    rows = _rows(6, seed, (2, 3))
    ways = list(reference.masks(rows))
    strict = shoal.anonymize(_table(rows, ("a", "b")), shoal.KAnonymity(k), method=shoal.methods.Suppress()).measures
    best = min(cost for cost, shown in ways if min(reference.alike(shown)) >= k)
    assert strict["suppressed cells at least"] <= best <= strict["suppressed cells"]
    wild = shoal.anonymize(
        _table(rows, ("a", "b")), shoal.methods.classes.KWildcards(k), method=shoal.methods.Suppress()
    ).measures
    best = min(cost for cost, shown in ways if min(reference.agreeing(shown)) >= k)
    assert wild["suppressed cells at least"] <= best <= wild["suppressed cells"]


@pytest.mark.slow
@pytest.mark.parametrize(("k", "m"), [(2, None), (4, None), (3, 2), (4, 1)])
def test_what_a_record_shows_is_true_of_k_records(k: int, m: int | None, tmp_path: Path) -> None:
    rows = _rows(70, 11, (3, 4, 6))
    release = shoal.anonymize(_table(rows), shoal.methods.classes.KWildcards(k, m), method=shoal.methods.Suppress())
    found = _released(release)
    assert min(reference.agreeing(found, m)) >= k
    assert shoal.verify(release.write(tmp_path / "release")).passed
    step = release.guarantee.events[0]
    assert step.fewer == sum(number < k for number in reference.alike(found))  # type: ignore[attr-defined]
    codes = np.array([[0 if value is None else int(value[1:]) for value in row] for row in found], dtype=np.int32)
    hidden = np.array([[value is None for value in row] for row in found])
    assert agreeing(codes, hidden, np.ones(len(codes), dtype=np.int64), m).tolist() == reference.agreeing(found, m)


def test_any_m_columns_hold_with_suppressed_cells_as_values_of_their_own() -> None:
    rows = _rows(80, 3, (4, 5, 6))
    whole = shoal.anonymize(_table(rows), shoal.KAnonymity(4), method=shoal.methods.Suppress()).measures
    release = shoal.anonymize(_table(rows), shoal.models.KMAnonymity(4, 2), method=shoal.methods.Suppress())
    found = _released(release)
    for one, other in itertools.combinations(range(3), 2):
        assert min(Counter((row[one], row[other]) for row in found).values()) >= 4
    assert release.measures["suppressed cells"] < whole["suppressed cells"]  # type: ignore[operator]


def test_models_of_sensitive_values_hold() -> None:
    rows = _rows(90, 5)
    promises = (shoal.KAnonymity(3), shoal.DistinctLDiversity("ill", 3))
    release = shoal.anonymize(_table(rows), *promises, method=shoal.methods.Suppress())
    classes: defaultdict[tuple[Any, ...], list[str]] = defaultdict(list)
    for row, other in zip(_released(release), release.table.to_arrow()["ill"].to_pylist(), strict=True):
        classes[row].append(other)
    assert min(map(len, classes.values())) >= 3
    assert min(len({*values}) for values in classes.values()) >= 3


def test_important_columns_lose_less_and_caps_and_strata_hold() -> None:
    rows = _rows(120, 8, (3, 4, 6))
    lost = {}
    for name, method in {
        "plain": shoal.methods.Suppress(),
        "important": shoal.methods.Suppress(importance={"c": 9}),
        "cap": shoal.methods.Suppress(most={"c": "1/20"}),
        "strata": shoal.methods.Suppress(strata=["c"]),
    }.items():
        found = _released(shoal.anonymize(_table(rows), shoal.KAnonymity(3), method=method))
        assert min(reference.alike(found)) >= 3
        lost[name] = sum(row[2] is None for row in found)
    assert lost["important"] < lost["plain"]
    assert lost["cap"] <= 6 < lost["plain"]
    assert lost["strata"] == 0


def test_many_columns_are_searched_by_small_sets_and_the_bound_stays_true(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.methods.classes._fewest_cells.SETS", 6)
    names = ("a", "b", "c", "d", "e")
    rows = _rows(40, 4, (2, 2, 2, 3, 3))
    for promise in (shoal.KAnonymity(3), shoal.methods.classes.KWildcards(3)):
        release = shoal.anonymize(_table(rows, names), promise, method=shoal.methods.Suppress())
        found = _released(release, names)
        counts = reference.alike(found) if promise.name == "k-anonymity" else reference.agreeing(found)
        assert min(counts) >= 3
        assert release.measures["suppressed cells at least"] <= _cells(found)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("method", "error", "said"),
    [
        ({"importance": {"a": 0}}, ParameterError, "importance of a"),
        ({"most": {"a": 2}}, ParameterError, "most of a"),
        ({"importance": 3}, ParameterError, "table of columns"),
        ({"strata": ["zzz"]}, PlanError, "`strata` of `Suppress` names `zzz`"),
        ({"strata": ["a", "b", "c"]}, PlanError, "nothing can be suppressed"),
        ({"strata": ["a", "b"]}, RequirementError, "within the limits set for `a`, `b`"),
    ],
)
def test_what_cannot_be_is_refused(method: dict[str, Any], error: type[Exception], said: str) -> None:
    rows = [*_rows(30, 2), ("once", "here", "only")]
    with pytest.raises(error, match=said):
        shoal.anonymize(_table(rows), shoal.KAnonymity(3), method=shoal.methods.Suppress(**method))


def test_a_star_in_the_data_and_mixed_promises_are_refused() -> None:
    with pytest.raises(DataError, match="column `b`"):
        shoal.anonymize(_table([("x", "*", "y")] * 3), shoal.KAnonymity(2), method=shoal.methods.Suppress())
    with pytest.raises(ParameterError, match="cannot be combined"):
        promises = (shoal.methods.classes.KWildcards(2), shoal.KAnonymity(2))
        shoal.anonymize(_table(_rows(9, 1)), *promises, method=shoal.methods.Suppress())
    with pytest.raises(PlanError, match="is kept by method `suppress`"):
        shoal.anonymize(_table(_rows(9, 1)), shoal.methods.classes.KWildcards(2), method=shoal.Generalize())


SURVEYS = {
    "testdata": ("urbrur", "roof", "walls", "water", "electcon", "relat", "sex"),
    "eusilc": ("db040", "hsize", "rb090", "age"),
}


@pytest.fixture(scope="module")
def survey(shared_data: Path) -> Any:
    def read(name: str) -> list[tuple[str, ...]]:
        if not (shared_data / "survey" / f"{name}.csv").exists():
            pytest.skip("needs the survey data sets")
        with (shared_data / "survey" / f"{name}.csv").open() as lines:
            return [tuple(row[key] for key in SURVEYS[name]) for row in csv.DictReader(lines)]

    return read


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "k", "cells", "theirs"), [("testdata", 2, 157, 157), ("testdata", 3, 283, 293), ("testdata", 5, 466, 500)]
)
def test_fewer_cells_than_sdcmicro_by_wildcards(survey: Any, name: str, k: int, cells: int, theirs: int) -> None:
    rows = survey(name)
    codes = np.stack([np.unique(column, return_inverse=True)[1] for column in zip(*rows, strict=True)], axis=1)
    assert int((reference.greedy(codes, k) == -1).sum()) == theirs  # the rule, implemented again
    release = shoal.anonymize(
        _table(rows, SURVEYS[name]), shoal.methods.classes.KWildcards(k), method=shoal.methods.Suppress()
    )
    found = _released(release, SURVEYS[name])
    assert _cells(found) == cells
    seen = np.stack(
        [np.unique([str(v) for v in column], return_inverse=True)[1] for column in zip(*found, strict=True)], axis=1
    )
    seen[np.array([[value is None for value in row] for row in found])] = -1
    assert reference.compatible(seen).min() >= k  # by sdcMicro's own count


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "k", "cells", "least"),
    [("testdata", 2, 203, 181), ("testdata", 3, 384, 327), ("testdata", 5, 710, 556), ("eusilc", 3, 3317, 3317)],
)
def test_strict_counting_on_surveys(survey: Any, name: str, k: int, cells: int, least: int) -> None:
    release = shoal.anonymize(_table(survey(name), SURVEYS[name]), shoal.KAnonymity(k), method=shoal.methods.Suppress())
    found = _released(release, SURVEYS[name])
    assert min(reference.alike(found)) >= k
    assert _cells(found) <= cells
    assert release.measures["suppressed cells at least"] == least


@pytest.mark.slow
def test_what_sdcmicro_calls_enough_for_any_three_columns_is_not(survey: Any) -> None:
    rows, k, m = survey("testdata"), 3, 3
    codes = np.stack([np.unique(column, return_inverse=True)[1] for column in zip(*rows, strict=True)], axis=1)
    subsets = [list(part) for part in itertools.combinations(range(codes.shape[1]), m)]
    theirs = codes.copy()
    for part in subsets:  # its rule, one set of columns after the other
        theirs[:, part] = reference.greedy(theirs[:, part], k)
    assert int((theirs == -1).sum()) == 80
    assert min(reference.compatible(theirs[:, part]).min() for part in subsets) >= k

    def fewer(table: np.ndarray) -> tuple[int, int]:
        """Count the records of which fewer than k show what they show, and look alike, in some three columns."""
        shown, own = np.full((2, len(table)), len(table))
        for part in subsets:
            kinds, place, counts = np.unique(table[:, part], axis=0, return_inverse=True, return_counts=True)
            match = np.array([counts[((kinds == row) | (row == -1)).all(axis=1)].sum() for row in kinds])
            shown, own = np.minimum(shown, match[place.ravel()]), np.minimum(own, counts[place.ravel()])
        return int((shown < k).sum()), int((own < k).sum())

    assert fewer(codes) == (126, 126)
    assert fewer(theirs) == (85, 141)
    # by its count, two records that show nothing are enough for everybody: 14 cells
    nothing = codes.copy()
    nothing[:2] = -1
    assert min(reference.compatible(nothing[:, part]).min() for part in subsets) >= k
    assert fewer(nothing) == (126, 128)
    release = shoal.anonymize(
        _table(rows, SURVEYS["testdata"]), shoal.methods.classes.KWildcards(k, m), method=shoal.methods.Suppress()
    )
    found = _released(release, SURVEYS["testdata"])
    assert _cells(found) <= 144
    seen = np.stack(
        [np.unique([str(v) for v in column], return_inverse=True)[1] for column in zip(*found, strict=True)]
    )
    seen = np.where(np.array([[value is None for value in row] for row in found]), -1, seen.T)
    assert fewer(seen) == (0, 100)
    assert release.measures["suppressed cells at least"] == 126
