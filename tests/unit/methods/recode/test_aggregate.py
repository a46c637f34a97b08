"""Aggregates of classes, decided again with pandas from the definitions."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import shoal
from shoal.errors import InputError, ParameterError, PlanError, RequirementError
from shoal.schema import Attribute, Domain, FromFile, Intervals, Kind, Role, Schema

GRADES = ("low", "middle", "high")
QI = Role.QUASI_IDENTIFIER
SCHEMA = Schema(
    attributes=(
        Attribute(name="age", role=QI, kind=Kind.NUMERIC, hierarchy=Intervals(widths=(10, 50))),
        Attribute(name="town", role=QI),
        Attribute(name="grade", role=QI, kind=Kind.ORDINAL, domain=Domain(values=GRADES)),
        Attribute(name="day", role=QI, kind=Kind.DATE),
        Attribute(name="wage", role=QI, kind=Kind.NUMERIC),
        Attribute(name="ill", role=Role.SENSITIVE),
    )
)
#: tens of years and the town form the classes; the other columns are microaggregated inside them
LEVELS = {"age": 1, "town": 0, "grade": 1, "day": 1, "wage": 1}


def people(number: int = 400) -> pd.DataFrame:
    draw = np.random.default_rng(7)
    frame = pd.DataFrame(
        {
            "age": draw.integers(0, 60, number),
            "town": draw.choice(["A", "B"], number),
            "grade": draw.choice(GRADES, number),
            "day": pd.to_datetime("2024-01-01") + pd.to_timedelta(draw.integers(0, 90, number), "D"),
            "wage": np.where(draw.random(number) < 0.2, None, draw.integers(100, 999, number) / 4),
            "ill": draw.choice(["x", "y"], number),
        }
    )
    frame["day"] = frame["day"].dt.date
    frame["wage"] = frame["wage"].astype(object).where(frame["wage"].notna(), None)
    return frame


def rows(frame: pd.DataFrame) -> pa.Table:
    return pa.table(
        {name: pa.array(frame[name].tolist(), pa.float64() if name == "wage" else None) for name in frame.columns}
    )


def expected(values: list[Any], function: str, kind: Kind) -> str | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    if kind is Kind.ORDINAL:
        known.sort(key=GRADES.index)
    else:
        known.sort()
    shown = {value: text(value) for value in known}
    if function == "mean" and kind is Kind.DATE:
        days = Fraction(sum(value.toordinal() for value in known), len(known))
        return type(known[0]).fromordinal(round(days)).isoformat()
    if function == "mean":
        exact = sum(map(Fraction, known), Fraction(0)) / len(known)
        decimals = 4 if any(Fraction(value).denominator > 1 for value in known) else 2
        return text(float(round(exact, decimals)))
    if function == "median":
        return shown[known[(len(known) - 1) // 2]]
    if function == "mode":
        most = max(Counter(known).values())
        return shown[next(value for value in known if known.count(value) == most)]
    distinct = [*dict.fromkeys(shown[value] for value in known)]
    if len(distinct) == 1:
        return distinct[0]
    return f"[{distinct[0]}, {distinct[-1]}]" if function == "interval" else f"{{{', '.join(distinct)}}}"


def text(value: object) -> str:
    if isinstance(value, float):
        return str(int(value)) if value == int(value) else repr(value)
    return str(value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "aggregates",
    [
        {"age": "mean", "grade": "median", "day": "interval", "wage": "mean"},
        {"age": "interval", "grade": "set", "day": "mean", "wage": "interval"},
        {"age": "median", "town": "set", "grade": "mode", "day": "median", "wage": "mode"},
        {"age": "set", "town": "mode", "grade": "interval", "day": "set", "wage": "median"},
    ],
)
def test_every_class_releases_the_aggregate_of_its_original_values(aggregates: dict[str, Any]) -> None:
    frame = people()
    method = shoal.Generalize(aggregates=aggregates, levels=LEVELS, suppression_limit=0)
    release = shoal.anonymize(shoal.read(rows(frame)).with_schema(SCHEMA), shoal.KAnonymity(5), method=method)
    wanted: Counter[tuple[object, ...]] = Counter()
    for (ten, town), part in frame.groupby([frame["age"] // 10 * 10, "town"]):
        plain = {"age": f"[{ten}, {ten + 10})", "town": town, "grade": "*", "day": "*", "wage": "*"}
        labels = {
            name: expected(part[name].tolist(), function, SCHEMA[name].kind) for name, function in aggregates.items()
        }
        wanted.update((*(plain | labels).values(), ill) for ill in part["ill"])
    found = Counter(tuple(row.values()) for row in release.table.to_arrow().to_pylist())
    assert found == wanted
    assert release.after.smallest >= 5


@pytest.mark.slow
def test_classes_that_look_the_same_after_aggregation_are_one() -> None:
    table = pa.table({"age": [1, 3, 12, 12, 11, 13], "ill": list("xyxyxy")})
    described = Schema(
        attributes=(
            Attribute(name="age", role=QI, kind=Kind.NUMERIC, hierarchy=Intervals(widths=(2, 10))),
            Attribute(name="ill", role=Role.SENSITIVE),
        )
    )
    # classes [12, 14): 12, 12, 13 and [10, 12): 11 at level 1; tens at level 2
    method = shoal.Generalize(aggregates={"age": "mean"}, levels={"age": 2}, suppression_limit=0)
    release = shoal.anonymize(shoal.read(table).with_schema(described), shoal.KAnonymity(2), method=method)
    assert release.table.to_arrow()["age"].to_pylist() == ["12", "12", "12", "12", "2", "2"]
    same = pa.table({"age": [1, 3, 2, 2], "sex": list("ffff"), "ill": list("xyxy")})
    described = Schema(attributes=(*described, Attribute(name="sex", role=QI)))
    method = shoal.Generalize(aggregates={"age": "mode"}, levels={"age": 0, "sex": 0}, suppression_limit=0.5)
    release = shoal.anonymize(shoal.read(same).with_schema(described), shoal.KAnonymity(2), method=method)
    assert release.table.to_arrow()["age"].to_pylist() == ["2", "2"]


def test_classes_that_together_break_a_promise_are_not_released(tmp_path: Path) -> None:
    """One person is in both classes, with the same value: together they lean to the other one."""
    (tmp_path / "age.csv").write_text("1;odd;*\n3;odd;*\n2;even;*\n", encoding="utf-8")
    visits = pa.table({"id": ["p", "q", "p", "r"], "age": [1, 3, 2, 2], "ill": ["x", "y", "x", "y"]})
    described = Schema(
        attributes=(
            Attribute(name="id", role=Role.PERSON),
            Attribute(name="age", role=QI, kind=Kind.NUMERIC, hierarchy=FromFile(path=str(tmp_path / "age.csv"))),
            Attribute(name="ill", role=Role.SENSITIVE),
        )
    )
    table = shoal.read(visits).with_schema(described)
    promise = shoal.models.EntropyLDiversity("ill", 2)
    apart = shoal.Generalize(levels={"age": 1}, suppression_limit=0, aggregates={"age": "set"})
    released = shoal.anonymize(table, promise, method=apart).table.to_arrow()["age"].to_pylist()
    assert sorted(released) == ["2", "2", "{1, 3}", "{1, 3}"]
    with pytest.raises(RequirementError, match="look alike that together break entropy-l-diversity; nothing"):
        shoal.anonymize(table, promise, method=replace(apart, aggregates={"age": "mean"}))


def test_geometric_means_are_of_positive_numbers() -> None:
    described = Schema(attributes=(Attribute(name="pay", role=QI, kind=Kind.NUMERIC),))
    method = shoal.Generalize(aggregates={"pay": "geometric-mean"}, levels={"pay": 1}, suppression_limit=0)
    for values, wanted in (([2, 8], "4"), ([1, 2, 2], "1.59"), ([7, 7], "7"), (["0.1", "0.2"], "0.141")):
        table = shoal.read(pa.table({"pay": values})).with_schema(described)
        released = shoal.anonymize(table, shoal.KAnonymity(2), method=method).table.to_arrow()["pay"].to_pylist()
        assert set(released) == {wanted}
    table = shoal.read(pa.table({"pay": [0, 8]})).with_schema(described)
    with pytest.raises(InputError, match="`pay` has values that are not positive"):
        shoal.anonymize(table, shoal.KAnonymity(2), method=method)


def test_aggregates_that_cannot_be_are_refused_by_name() -> None:
    with pytest.raises(ParameterError, match="aggregates"):
        shoal.Generalize(aggregates={"age": "sum"})  # type: ignore[dict-item]
    with pytest.raises(ParameterError, match="cells"):
        shoal.Generalize(aggregates={"age": "mean"}, cells=True)
    method = shoal.Generalize(aggregates={"town": "mean", "ill": "mode"})
    table = shoal.read(rows(people())).with_schema(SCHEMA)
    with pytest.raises(PlanError) as caught:
        shoal.anonymize(table, shoal.KAnonymity(2), shoal.models.KMAnonymity(2, 1), method=method)
    said = str(caught.value)
    assert "`town` is categorical, which has no mean" in said
    assert "`ill`, which is not a quasi-identifier" in said
    assert "KMAnonymity" in said


@pytest.mark.slow
def test_a_forged_aggregate_and_a_forged_step_fail(tmp_path: Path) -> None:
    import hashlib

    import pyarrow.parquet as pq

    table = shoal.read(rows(people())).with_schema(SCHEMA)
    method = shoal.Generalize(aggregates={"age": "mean"}, levels=LEVELS, suppression_limit=0)
    folder = tmp_path / "release"
    shoal.anonymize(table, shoal.KAnonymity(5), method=method).write(folder)
    assert shoal.verify(folder).passed
    certificate = json.loads((folder / "certificate.json").read_text())
    (step,) = (each for each in certificate["steps"] if each["step"] == "aggregated")
    step["functions"], step["description"] = ["median"], step["description"].replace("mean", "median")
    (folder / "certificate.json").write_text(json.dumps(certificate))
    assert any(check.subject == "steps" and not check.passed for check in shoal.verify(folder).checks)
    step["functions"], step["description"] = ["mean"], step["description"].replace("median", "mean")
    data = pq.read_table(folder / "data.parquet")
    forged = pa.array([f"about {value}" for value in data["age"].to_pylist()])
    pq.write_table(data.set_column(data.column_names.index("age"), "age", forged), folder / "data.parquet")
    for file in certificate["files"]:
        file["bytes"] = (folder / file["name"]).stat().st_size
        file["sha256"] = hashlib.sha256((folder / file["name"]).read_bytes()).hexdigest()
    (folder / "certificate.json").write_text(json.dumps(certificate))
    assert any(check.subject == "step aggregated" and not check.passed for check in shoal.verify(folder).checks)
