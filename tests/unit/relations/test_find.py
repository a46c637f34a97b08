"""Planted relations are found and named; independent columns have none."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import ParameterError
from shoal.relations import Relation

RECORDS = 3_000


def _days(draws: np.random.Generator, first: str, span: int, records: int = RECORDS) -> np.ndarray:
    return np.datetime64(first) + draws.integers(0, span, records).astype("timedelta64[D]")


def _planted(draws: np.random.Generator) -> dict[str, object]:
    weight = np.round(draws.normal(75, 15, RECORDS).clip(35, 160), 1)
    height = np.round(draws.normal(170, 10, RECORDS).clip(140, 205))
    born, admitted = _days(draws, "1940-01-01", 25_000), _days(draws, "2020-01-01", 900)
    stay, city = draws.integers(1, 40, RECORDS), draws.integers(0, 120, RECORDS)
    a, b, c = draws.integers(0, 5000, RECORDS), draws.integers(1, 900, RECORDS), draws.integers(0, 100, RECORDS)
    income, tax = draws.integers(9_000, 90_000, RECORDS), draws.integers(100, 9_000, RECORDS)
    return {
        "weight": weight,
        "height": height,
        "bmi": np.round(weight / (height / 100) ** 2, 1),
        "born": born,
        "birth year": born.astype("datetime64[Y]").astype(int) + 1970,
        "age": ((np.datetime64("2023-05-01") - born).astype(int) / 365.2425).astype(int),
        "admitted": admitted,
        "discharged": admitted + stay.astype("timedelta64[D]"),
        "stay": stay,
        "weekday": np.array(["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"])[(admitted.astype(int) + 3) % 7],
        "city": city,
        "county": city * 7919 % 97 % 11,
        "city name": [f"c{(n * 7919) % 1000}" for n in city],
        "a": a,
        "b": b,
        "c": c,
        "product": a * c,
        "ratio": np.round(a / b, 2),
        "linear": 2 * a - 3 * b + 0.5 * c + 7,
        "rounded": np.round(weight),
        "logarithm": np.log(weight),
        "band": [f"{n // 1000} thousand" for n in a],
        "copy of c": c,
        "net": income - tax,
        "income": income,
        "tax": tax,
        "part 1": (one := draws.integers(0, 4000, RECORDS)),
        "part 2": (two := draws.integers(0, 4000, RECORDS)),
        "part 3": (three := draws.integers(0, 4000, RECORDS)),
        "total": np.round((one + two + three) / 10) * 10,
        "mostly zero": np.where(draws.random(RECORDS) < 0.98, 0, draws.integers(1, 50, RECORDS)),
    }


PLANTED = {
    ("bmi", "height", "weight"): "ratio-squared",
    ("birth year", "born"): "date-part",
    ("age", "born"): "age",
    ("admitted", "discharged", "stay"): "date-difference",
    ("admitted", "weekday"): "date-part",
    ("city", "city name"): "equal-codes",
    ("city", "county"): "function",
    ("a", "c", "product"): "product",
    ("a", "b", "ratio"): "ratio",
    ("a", "b", "c", "linear"): "linear",
    ("rounded", "weight"): "rounding",
    ("logarithm", "weight"): "monotone",
    ("a", "band"): "bins",
    ("c", "copy of c"): "equal",
    ("income", "net", "tax"): "sum",
    ("part 1", "part 2", "part 3", "total"): "linear",
}


def _named(relations: tuple[Relation, ...]) -> dict[tuple[str, ...], str]:
    return {tuple(sorted(relation.columns)): relation.kind for relation in relations}


@pytest.mark.parametrize("seed", range(2))
def test_every_planted_relation_is_named_and_nothing_else(seed: int) -> None:
    table = pa.table(_planted(np.random.default_rng(seed)))
    assert _named(shoal.find_relations(table)) == PLANTED


def test_relations_are_found_in_the_text_of_a_file(tmp_path) -> None:
    import pyarrow.csv

    table = pa.table(_planted(np.random.default_rng(9)))
    pyarrow.csv.write_csv(table, tmp_path / "table.csv")
    assert _named(shoal.find_relations(shoal.read(tmp_path / "table.csv"))) == PLANTED


def test_typing_errors_are_counted_and_too_many_of_them_end_a_relation() -> None:
    draws = np.random.default_rng(3)
    a, b = draws.integers(0, 900, RECORDS), draws.integers(0, 900, RECORDS)
    total = a + b
    total[:15] += draws.integers(1, 90, 15)
    (relation,) = shoal.find_relations(pa.table({"a": a, "b": b, "total": total}))
    assert (relation.kind, relation.records, relation.share) == ("sum", RECORDS, 1 - 15 / RECORDS)
    assert relation.percentage == "99.5 %"
    assert not shoal.find_relations(pa.table({"a": a, "b": b, "total": total}), exceptions=0.001)


def test_missing_values_are_not_compared() -> None:
    draws = np.random.default_rng(4)
    a, b = draws.integers(0, 900, RECORDS), draws.integers(0, 900, RECORDS)
    total = [None if n % 3 == 0 else int(x) for n, x in enumerate(a + b)]
    (relation,) = shoal.find_relations(pa.table({"a": a, "b": b, "total": total}))
    assert (relation.kind, relation.records, relation.share) == ("sum", RECORDS * 2 // 3, 1.0)


def test_columns_without_repeats_determine_nothing() -> None:
    draws = np.random.default_rng(5)
    table = pa.table({"id": draws.permutation(RECORDS), "sex": draws.integers(0, 2, RECORDS)})
    assert shoal.find_relations(table) == ()


def test_a_column_that_is_mostly_zero_is_no_part_of_a_sum() -> None:
    draws = np.random.default_rng(6)
    zero = np.where(draws.random(RECORDS) < 0.985, 0, draws.integers(1, 50, RECORDS))
    a = draws.integers(0, 900, RECORDS)
    found = shoal.find_relations(pa.table({"a": a, "mostly zero": zero, "sum": a + zero}))
    assert _named(found) == {("a", "mostly zero", "sum"): "sum"}
    other = draws.permutation(zero)
    assert not shoal.find_relations(
        pa.table({"a": a, "b": zero, "c": other, "d": draws.permutation(a)}), exceptions=0.1
    )


def _independent(seed: int) -> pa.Table:
    draws = np.random.default_rng(seed)
    records = int(draws.choice([60, 200, 1000]))
    kinds = [
        lambda: draws.integers(0, 5, records),
        lambda: draws.integers(0, 1000, records),
        lambda: np.round(draws.normal(0, 1, records), 3),
        lambda: np.where(draws.random(records) < 0.98, 0, draws.integers(1, 50, records)),
        lambda: [f"x{n}" for n in draws.integers(0, 20, records)],
        lambda: _days(draws, "2000-01-01", 9000, records),
        lambda: draws.permutation(records),
        lambda: (draws.random(records) < 0.5).astype(int),
    ]
    chosen = [*range(8), *draws.integers(0, 8, 4)]
    return pa.table({f"column {n}": kinds[kind]() for n, kind in enumerate(chosen)})


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(200))
def test_nothing_is_invented_on_independent_columns(seed: int) -> None:
    assert shoal.find_relations(_independent(seed)) == ()


@pytest.mark.parametrize("seed", range(200, 212))
def test_nothing_is_invented_on_a_few_tables_of_independent_columns(seed: int) -> None:
    assert shoal.find_relations(_independent(seed)) == ()


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"a": []},
        {"a": [None, None]},
        {"a": [1, 2, 3], "b": [2, 4, 6]},
        {"a": ["", " ", None], "b": [[1], [2], [3]]},
        {"a": ["x", "y", None, None] * 9, "b": [None, None, "x", "y"] * 9},
    ],
    ids=["no columns", "no records", "all missing", "few records", "blank and nested", "never together"],
)
def test_tables_with_next_to_nothing_have_no_relations(columns: dict[str, list[object]]) -> None:
    assert shoal.find_relations(pa.table(columns)) == ()


def test_a_share_of_exceptions_outside_its_range_is_refused() -> None:
    with pytest.raises(ParameterError, match="exceptions"):
        shoal.find_relations(pa.table({"a": [1]}), exceptions=0.5)


def test_the_same_relations_are_found_again() -> None:
    table = pa.table(_planted(np.random.default_rng(1)))
    assert shoal.find_relations(table) == shoal.find_relations(table)


def test_relations_across_two_sides_are_found_among_many_columns() -> None:
    """Codes of few values fit anything roughly: what holds must not be lost among them."""
    numbers = np.random.default_rng(8)
    columns = {f"item {i}": numbers.integers(0, 5, 3_000) for i in range(100)}
    age = numbers.integers(18, 90, 3_000)
    columns["score"] = 3 * age + 2 * columns["item 7"]
    columns["elsewhere"] = columns["item 1"] + columns["item 2"]
    columns["per year"] = columns["item 3"] * age
    relations = shoal.find_relations(pa.table({"age": age, **columns}), across=["age"])
    assert {frozenset(relation.columns) for relation in relations} == {
        frozenset({"age", "score", "item 7"}),
        frozenset({"age", "per year", "item 3"}),
    }


def test_pairs_across_two_sides_are_found() -> None:
    numbers = np.random.default_rng(9)
    age, income = numbers.integers(18, 90, 2_000), numbers.integers(0, 50_000, 2_000)
    table = pa.table({"age": age, "band": age // 10, "income": income, "copy": income, "of income": income // 1_000})
    relations = shoal.find_relations(table, across=["age", "income"])
    joined = {frozenset(relation.columns) for relation in relations}
    assert joined >= {frozenset(pair) for pair in (("age", "band"), ("income", "copy"), ("income", "of income"))}
    assert frozenset({"copy", "of income"}) not in joined


def _elapsed(draws: np.random.Generator) -> dict[str, object]:
    records = 1200
    start = np.datetime64("1950-01-01") + draws.integers(0, 20_000, records).astype("timedelta64[D]")
    end = start + draws.integers(200, 9_000, records).astype("timedelta64[D]")
    starts, ends = (np.asarray(each, dtype="datetime64[D]").astype(object) for each in (start, end))
    whole = [b.year - a.year - ((b.month, b.day) < (a.month, a.day)) for a, b in zip(starts, ends, strict=True)]
    months = [12 * (b.year - a.year) + b.month - a.month for a, b in zip(starts, ends, strict=True)]
    days = (end - start).astype(np.int64)
    return {"start": start, "end": end, "whole": whole, "months": months, "decimal": np.round(days / 365.25, 1)}


@pytest.mark.parametrize(("name", "unit"), [("whole", "years"), ("months", "months"), ("decimal", "years")])
def test_times_between_two_dates_are_named(name: str, unit: str) -> None:
    planted = _elapsed(np.random.default_rng(8))
    found = shoal.find_relations(pa.table({key: planted[key] for key in ("start", "end", name)}))
    assert [each.formula for each in found] == [f"`{name}` = {unit} from `start` to `end`"]
    planted["start"] = np.random.default_rng(9).permutation(planted["start"])
    assert not shoal.find_relations(pa.table({key: planted[key] for key in ("start", "end", name)}))


def test_amounts_with_units_and_commas_are_numbers() -> None:
    draws = np.random.default_rng(10)
    net, tax = draws.integers(500, 90_000, 900), draws.integers(1, 9_000, 900)
    gross = [f"${value:,}" for value in net + tax]
    found = shoal.find_relations(pa.table({"net": [f"{value:,}" for value in net], "tax": tax, "gross": gross}))
    assert [each.formula for each in found] == ["`gross` = `net` + `tax`"]
    mixed = pa.table({"a": net, "b": [f"{v} {'kg' if n % 2 else 'lb'}" for n, v in enumerate(net)]})
    assert not [each for each in shoal.find_relations(mixed) if each.kind == "equal"], "two units are no number"


def test_shares_and_changes_are_named() -> None:
    draws = np.random.default_rng(11)
    a, b = draws.integers(10, 4_000, 900), draws.integers(10, 4_000, 900)
    share, change = np.round(100 * a / (a + b), 1), np.round(100 * (b - a) / a, 1)
    assert [each.formula for each in shoal.find_relations(pa.table({"a": a, "b": b, "share": share}))] == [
        "`share` = 100 * `a` / (`a` + `b`)"
    ]
    assert [each.formula for each in shoal.find_relations(pa.table({"a": a, "b": b, "change": change}))] == [
        "`change` = 100 * (`b` - `a`) / `a`"
    ]
