"""Masking steps from their definitions, and risk measured against obvious answers."""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import DataError, ParameterError
from shoal.masking import (
    AddNoise,
    BottomCode,
    GlobalRecode,
    Pram,
    RankSwap,
    RecordSwap,
    RoundTo,
    Shuffle,
    TopCode,
    interval_disclosure,
    probabilistic_linkage,
)
from shoal.masking._pram import UNITS, invariant, transitions
from shoal.mechanisms import SeededSource

SOURCE = SeededSource


def _one(step: Any, values: list[Any], name: str = "x") -> list[Any]:
    found, _ = step.apply({name: pa.array(values)}, SOURCE(7))
    return found[name].to_pylist()  # type: ignore[no-any-return]


def test_values_beyond_a_limit_become_one() -> None:
    ages = ["17", "18", None, "80", "91"]
    assert _one(TopCode(column="x", limit=80), ages) == ["17", "18", None, ">=80", ">=80"]
    assert _one(TopCode(column="x", limit=57812345), [57812344, 57812345]) == ["57812344", ">=57812345"]
    assert _one(TopCode(column="x", limit=1234567.5), [1, 1234568]) == ["1", ">=1234567.5"]
    assert _one(BottomCode(column="x", limit=18, value="minor"), ages) == ["minor", "minor", None, "80", "91"]
    table = shoal.read(pa.table({"x": ages}))
    both = shoal.mask(table, BottomCode(column="x", limit=17), TopCode(column="x", limit=80))
    assert Counter(both.table["x"].to_pylist()) == Counter(["<=17", "18", None, ">=80", ">=80"])


def test_numbers_are_rounded_exactly_and_halves_go_to_the_even_multiple() -> None:
    assert _one(RoundTo(column="x", step="0.1"), ["0.25", "0.35", "-0.04", None]) == ["0.2", "0.4", "0.0", None]
    assert _one(RoundTo(column="x", step=100), ["149", "150", "1e3"]) == ["100", "200", "1000"]


def test_values_are_put_together() -> None:
    assert _one(GlobalRecode(column="x", values={"a": "c", "b": "c"}), ["a", "b", "d", None]) == ["c", "c", "d", None]


def test_a_value_stays_as_often_as_the_matrix_says_and_the_promise_is_its_greatest_ratio() -> None:
    values = ["a"] * 6000 + ["b"] * 3000 + [None]
    step = Pram(column="x", keep=0.7)
    found, _ = step.apply({"x": pa.array(values)}, SOURCE(3))
    drawn = found["x"].to_pylist()
    assert drawn[-1] is None
    assert abs(drawn[:6000].count("a") / 6000 - 0.7) < 0.03
    assert abs(drawn[6000:9000].count("b") / 3000 - 0.7) < 0.04
    epsilon = float(step.promise({"values": ["a", "b"]}).partition("e^")[2].split()[0])
    matrix = transitions(2, 0.7)
    assert matrix.sum(axis=1).tolist() == [UNITS, UNITS]
    ratio = max(column.max() / column.min() for column in matrix.T)
    assert math.log(ratio) <= epsilon <= math.log(ratio) + 2e-4


def test_the_invariant_matrix_keeps_the_expected_numbers_and_promises_nothing() -> None:
    counts = np.array([900, 90, 10])
    matrix = invariant(counts, 0.8, 0.5)
    assert matrix.sum(axis=1).tolist() == [UNITS] * 3
    assert (matrix >= 0).all()
    assert np.allclose(counts @ (matrix / UNITS), counts, rtol=0, atol=1e-5)
    step = Pram(column="x", keep=0.8, invariant=True)
    assert "Nothing is promised" in step.promise(step.detail({"x": pa.array(["a", "b", "a"])}))


def test_swapped_values_stay_within_their_window_of_ranks_and_all_values_stay() -> None:
    values = [None, *np.random.default_rng(1).permutation(400).tolist()]
    found = _one(RankSwap(column="x", share=0.05), values)
    assert found[0] is None
    assert sorted(found[1:]) == sorted(values[1:])
    moved = np.abs(np.array(found[1:]) - np.array(values[1:]))  # values are their own ranks
    assert 0 < moved.max() <= 20


def _households(seed: int, number: int = 120) -> dict[str, list[str]]:
    draw = np.random.default_rng(seed)
    rows: dict[str, list[str]] = {"home": [], "region": [], "town": [], "age": [], "size": []}
    for home in range(number):
        region, town, size = draw.integers(3), draw.integers(4), int(draw.integers(1, 4))
        for _ in range(size):
            ages = (f"h{home}", f"r{region}", f"r{region}t{town}", str(draw.integers(8)), str(size))
            for name, value in zip(rows, ages, strict=True):
                rows[name].append(value)
    return rows


def test_households_at_risk_move_whole_and_to_another_area_of_the_level_of_their_risk() -> None:
    rows = _households(5)
    step = RecordSwap(household="home", geography=("region", "town"), risk=("age",), similar=("size",), k=3, rate=0.1)
    found, said = step.apply({name: pa.array(values) for name, values in rows.items()}, SOURCE(9))
    before = list(zip(rows["region"], rows["town"], strict=True))
    after = list(zip(found["region"].to_pylist(), found["town"].to_pylist(), strict=True))
    # as many households of every size in every area as before, and households stay together
    homes = {home: row for row, home in enumerate(rows["home"])}
    assert all(after[row] == after[homes[home]] for row, home in enumerate(rows["home"]))
    assert Counter((rows["size"][row], after[row]) for row in homes.values()) == Counter(
        (rows["size"][row], before[row]) for row in homes.values()
    )
    regions = Counter(zip(rows["region"], rows["age"], strict=True))
    towns = Counter(zip(rows["town"], rows["age"], strict=True))
    stayed = 0
    for home, last in homes.items():
        members = [row for row, other in enumerate(rows["home"]) if other == home]
        if min(regions[rows["region"][row], rows["age"][row]] for row in members) < 3:
            stayed += after[last][0] == before[last][0]
        elif min(towns[rows["town"][row], rows["age"][row]] for row in members) < 3:
            stayed += after[last][1] == before[last][1]
    assert f"{stayed:,} of those at risk found none" in said or (stayed == 0 and "found none" not in said)
    assert "Nothing is promised" in step.promise({})


def test_members_of_one_household_in_two_areas_are_refused() -> None:
    rows = {"home": ["1", "1"], "town": ["a", "b"], "age": ["3", "4"], "size": ["2", "2"]}
    step = RecordSwap(household="home", geography=("town",), risk=("age",), similar=("size",))
    with pytest.raises(DataError, match="households of `home` have members in several areas"):
        shoal.mask(shoal.read(pa.table(rows)), step)


def test_noise_keeps_what_it_says() -> None:
    draw = np.random.default_rng(2)
    first = draw.normal(50, 10, 20_000)
    table = {"x": pa.array(first), "y": pa.array(first + draw.normal(0, 10, 20_000))}
    before = np.cov([table["x"].to_numpy(), table["y"].to_numpy()])
    for kind, factor in (("correlated", 1.2), ("kept-variance", 1.0)):
        step = AddNoise(names=("x", "y"), amount=0.2, kind=kind)  # type: ignore[arg-type]
        found, _ = step.apply(table, SOURCE(4))
        after = np.cov([[float(value) for value in found[name].to_pylist()] for name in ("x", "y")])
        assert np.allclose(after / before, factor, atol=0.06)
    assert _one(AddNoise(names=("x",), amount=0.1), [1.0, 2.0, None])[2] is None


def test_risk_of_an_unchanged_file_is_certain_and_of_a_constant_one_a_guess() -> None:
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int32)
    assert probabilistic_linkage(codes, codes) == 1.0
    assert probabilistic_linkage(codes, np.zeros_like(codes)) == 0.25
    numbers = np.arange(40.0)[:, None]
    assert interval_disclosure(numbers, numbers) == 1.0
    assert interval_disclosure(numbers, numbers + 5) == 0.0
    people = shoal.read(pa.table({"x": [str(v) for v in range(40)]}))
    masked = shoal.mask(people, RoundTo(column="x", step=1))
    assert (masked.risk.by_distance, masked.risk.within) == (1.0, 1.0)


def test_the_masked_file_forgets_the_order_and_says_that_it_is_not_anonymous() -> None:
    people = shoal.read(pa.table({"x": ["3", "1", "2"], "y": ["c", "a", "b"]}))
    masked = shoal.mask(people, RoundTo(column="x", step=1), known=["y"], source=SOURCE(1))
    assert masked.table["x"].to_pylist() == ["1", "2", "3"]
    assert "not anonymous" in str(masked)
    assert masked.risk.columns == ("y",)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Pram(column="x", keep=1), "`keep` of `Pram`"),
        (lambda: RankSwap(column="x", share=5), "`share` of `RankSwap`"),
        (lambda: RoundTo(column="x", step="ten"), "`step` of `RoundTo`"),
        (lambda: TopCode(column="x", limit=math.nan), "`limit` of `TopCode`"),
        (lambda: AddNoise(names=(), amount=1, kind="kept-variance"), "`amount` of `AddNoise`"),
        (lambda: RecordSwap(household="h", geography=("g",), risk=("g",), similar=("s",)), "cannot be a column"),
        (lambda: shoal.mask(shoal.read(pa.table({"x": ["1"]}))), "at least one step"),
    ],
)
def test_what_cannot_be_is_refused(make: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        make()


def test_messages_name_columns_and_never_values() -> None:
    people = shoal.read(pa.table({"x": ["1", "canary"], "y": ["same", "same"]}))
    for step in (RoundTo(column="x", step=1), TopCode(column="x", limit=1), RankSwap(column="x", share=1)):
        with pytest.raises(DataError, match="column `x` holds values that are not numbers") as caught:
            shoal.mask(people, step)
        assert "canary" not in str(caught.value)
    with pytest.raises(DataError, match="no column `z`"):
        shoal.mask(people, RoundTo(column="z", step=1))
    with pytest.raises(DataError, match="fewer than two values"):
        shoal.mask(people, Pram(column="y", keep=0.5))


def test_rank_swapping_moves_as_far_as_sdcmicro_does(shared_data: Path) -> None:
    file = shared_data / "survey" / "testdata.csv"
    if not file.exists():
        pytest.skip("needs the survey data sets")
    with file.open() as lines:
        spent = [float(row["expend"]) for row in csv.DictReader(lines)]
    found = _one(RankSwap(column="x", share=0.05), spent)
    assert abs(np.corrcoef(spent, found)[0, 1] - 0.9943) < 0.002  # sdcMicro 5.8.1


def test_as_many_households_are_at_risk_as_with_sdcmicro(shared_data: Path) -> None:
    file = shared_data / "survey" / "eusilc.csv"
    if not file.exists():
        pytest.skip("needs the survey data sets")
    with file.open() as lines:
        rows = list(csv.DictReader(lines))
    table = {name: pa.array([row[name] for row in rows]) for name in ("db030", "db040", "rb090", "hsize")}
    table["age"] = pa.array([str(int(float(row["age"])) // 20) for row in rows])
    step = RecordSwap(household="db030", geography=("db040",), risk=("age", "rb090", "hsize"), similar=("hsize",))
    _, said = step.apply(table, SOURCE(1))
    assert "89 were at risk (counts below 3)" in said
    assert "300 of 6,000 households changed" in said


def _people(number: int = 600) -> pa.Table:
    draw = np.random.default_rng(5)
    age = draw.integers(18, 90, number)
    income = 100 * age + draw.normal(0, 800, number)
    return pa.table(
        {
            "age": age,
            "sex": draw.choice(["f", "m"], number),
            "income": pa.array(np.round(income, 2), mask=draw.random(number) < 0.05),
            "rent": np.round(income / 5 + draw.normal(0, 100, number), 2),
        }
    )


def test_shuffling_keeps_every_value_and_the_relation_to_given_columns_and_breaks_the_link() -> None:
    from scipy.stats import spearmanr

    rows = _people(4000)
    columns = {name: rows[name].combine_chunks() for name in rows.column_names}
    step = shoal.masking.Shuffle(names=("income", "rent"), given=("age", "sex"))
    found, _ = step.apply(columns, SOURCE(2))
    assert step.promise({}).startswith("Nothing is promised")
    old, new = (
        {name: np.array([np.nan if x is None else x for x in part[name].to_pylist()], float) for name in step.names}
        for part in (columns, found)
    )
    age = rows["age"].to_numpy()
    for name in step.names:
        assert Counter(map(str, old[name])) == Counter(map(str, new[name]))
        assert (np.isnan(old[name]) == np.isnan(new[name])).all()
        there = ~np.isnan(old[name])
        before, after = (spearmanr(age[there], each[name][there]).statistic for each in (old, new))
        assert abs(before - after) < 0.05
    both = ~np.isnan(old["income"])
    before, after = (spearmanr(each["income"][both], each["rent"][both]).statistic for each in (old, new))
    assert abs(before - after) < 0.05
    # given the age, old and new incomes are nearly independent
    residual = [
        each["income"][both] - np.poly1d(np.polyfit(age[both], each["income"][both], 1))(age[both])
        for each in (old, new)
    ]
    assert abs(np.corrcoef(residual)[0, 1]) < 0.1


def test_shuffling_refuses_what_it_cannot_use() -> None:
    with pytest.raises(ParameterError, match="different columns"):
        shoal.masking.Shuffle(names=("a",), given=("a",))
    columns = {"x": pa.array([1.0] * 200), "town": pa.array([f"t{i}" for i in range(200)])}
    with pytest.raises(DataError, match="`town` has more than 50"):
        shoal.masking.Shuffle(names=("x",), given=("town",)).apply(columns, SOURCE(1))
    with pytest.raises(DataError, match="too few records"):
        shoal.masking.Shuffle(names=("x",)).apply({"x": pa.array([1.0, 2.0])}, SOURCE(1))


def test_noise_that_keeps_moments_keeps_them_to_the_last_digits() -> None:
    rows = _people().select(["age", "rent"])
    columns = {name: rows[name].combine_chunks() for name in rows.column_names}
    found, _ = AddNoise(names=("age", "rent"), amount=0.5, kind="kept-moments").apply(columns, SOURCE(4))
    old, new = (
        np.array([part[name].to_pylist() for name in ("age", "rent")], dtype=float) for part in (columns, found)
    )
    assert np.allclose(old.mean(axis=1), new.mean(axis=1), rtol=1e-9)
    assert np.allclose(np.cov(old), np.cov(new), rtol=1e-9)
    assert (np.abs(old - new) > 0).mean() > 0.99


STEPS = (
    GlobalRecode(column="sex", values={"f": "w"}),
    RoundTo(column="rent", step=10),
    TopCode(column="rent", limit=1500),
    TopCode(column="age", limit=80),
    BottomCode(column="age", limit=20),
    AddNoise(names=("income",), amount=0.1),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "steps",
    [
        STEPS,
        (Pram(column="sex", keep=0.8), RankSwap(column="rent", share=0.05)),
        (Pram(column="sex", keep=0.8, invariant=True), shoal.masking.Shuffle(names=("rent",), given=("age",))),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_masked_file_goes_with_a_record_that_verifies(tmp_path: Path, steps: tuple[Any, ...], ending: str) -> None:
    path = tmp_path / f"masked.{ending}"
    masked = shoal.mask(shoal.read(_people()), *steps, source=SOURCE(9))
    record = masked.write(path)
    for place in (path, record):
        found = shoal.verify(place)
        assert found.passed, str(found)
    assert not [check for check in found.checks if check.subject == "values" and check.shown]
    path.write_bytes(path.read_bytes() + b"\n")
    assert not shoal.verify(path).passed


@pytest.mark.slow
def test_records_that_say_something_else_are_refused(tmp_path: Path) -> None:
    import hashlib
    import json

    path = tmp_path / "masked.csv"
    record = shoal.mask(shoal.read(_people()), *STEPS, Pram(column="sex", keep=0.8), source=SOURCE(9)).write(path)
    text, data = record.read_text(), path.read_text()
    said = json.loads(text)

    def write(content: dict[str, Any]) -> bool:
        record.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
        return shoal.verify(path).passed

    assert write(said)
    for change in (
        lambda entry: entry["parameters"].update(keep=0.5),
        lambda entry: entry.update(promise="The file is anonymous."),
        lambda entry: entry.update(description="Nothing was done."),
        lambda entry: entry["detail"].update(values=["w", "m", "x"]),
        lambda entry: entry["detail"].update(values=["w", "w"]),
        lambda entry: entry.update(step="pam"),
        lambda entry: entry["parameters"].update(column="income"),
    ):
        forged = json.loads(text)
        change(forged["steps"][-1])
        assert not write(forged)
    for key, value in (("records", 5), ("columns", ["age"]), ("steps", []), ("sha256", "0"), ("file", "other.csv")):
        assert not write(json.loads(text) | {key: value})
    for key, value in (("notice", "anonymous"), ("extra", 1)):
        with pytest.raises(shoal.errors.VerificationError, match="not a record"):
            write(json.loads(text) | {key: value})
    # the data itself contradicts the steps
    for old, new in ((">=80", "95"), ("<=20", "19")):
        path.write_text(data.replace(old, new, 1))
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        assert not write(json.loads(text) | {"sha256": digest, "bytes": path.stat().st_size})
    path.write_text(data)
    assert write(said)
    record.unlink()
    with pytest.raises(shoal.errors.VerificationError, match="there is no record"):
        shoal.verify(path)


def test_all_columns_that_are_not_there_are_named_at_once() -> None:
    step = shoal.masking.Shuffle(names=("income", "nope"), given=("zzz",))
    with pytest.raises(DataError) as caught:
        shoal.mask(shoal.read(_people()), step, source=SOURCE(1))
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize(
    "step",
    [
        AddNoise(names=("age",), amount=0.5),
        Pram(column="town", keep=0.7),
        RankSwap(column="age", share=0.2),
        Shuffle(names=("age",), given=("pay",)),
        RecordSwap(household="home", geography=("town",), risk=("age",), similar=("rooms",), rate=0.3),
        TopCode(column="age", limit=60),
    ],
)
def test_the_same_records_in_another_order_are_masked_alike(step: Any) -> None:
    draw = np.random.default_rng(1)
    ages, towns = draw.integers(18, 90, 60), draw.choice(["Ulm", "Bonn", "Kiel"], 60)
    homes = np.arange(60) // 2
    people = pa.table(
        {
            "age": ages,
            "town": towns[homes],
            "pay": ages * 100 + draw.integers(0, 900, 60),
            "home": homes,
            "rooms": homes % 3,
        }
    )
    made = [
        shoal.mask(shoal.read(people.take(order)), step, source=SOURCE(4)).table
        for order in (np.arange(60), draw.permutation(60))
    ]
    assert made[0].equals(made[1])


@pytest.mark.parametrize(("values", "problem"), [([[1], [2]], "lists or structures"), ([b"\xff", b"a"], "bytes")])
def test_values_that_are_no_text_are_refused(values: list[Any], problem: str) -> None:
    table = shoal.read(pa.table({"x": values}))
    with pytest.raises(DataError, match=f"column `x` holds {problem}"):
        shoal.mask(table, Pram(column="x", keep=0.5))


def test_the_repr_of_a_masked_table_shows_no_value() -> None:
    table = shoal.read(pa.table({"town": ["Ulm", "Rome", "Ulm"]}))
    assert not {"Ulm", "Rome"} & {*re.findall(r"\w+", repr(shoal.mask(table, Pram(column="town", keep=0.5))))}


def test_columns_that_identify_somebody_are_left_out_and_the_words_say_so(tmp_path: Path) -> None:
    roles = {"name": "identifier", "note": "drop", "home": "household", "age": "quasi-identifier"}
    schema = shoal.Schema(attributes=tuple(shoal.Attribute(name=name, role=role) for name, role in roles.items()))
    rows = pa.table({"name": ["Ann", "Bob"], "note": ["x", "y"], "home": [1, 2], "age": [31, 38]})
    masked = shoal.mask(shoal.read(rows), RoundTo(column="age", step=5), schema=schema)
    assert masked.table.column_names == ["age"]
    assert masked.steps[-1] == "Left out the columns `name`, `note`, `home`, which the schema does not release."
    assert shoal.mask(shoal.read(rows).with_schema(schema), RoundTo(column="age", step=5)).table.column_names == ["age"]
    assert shoal.mask(shoal.read(rows), RoundTo(column="age", step=5)).table.column_names == [*rows.column_names]
    masked.write(tmp_path / "masked.csv")
    assert shoal.verify(tmp_path / "masked.csv").passed
