from __future__ import annotations

import collections

import pyarrow as pa
import pytest

import shoal
from shoal import methods


def release(rows, *, k=2, method=None, **roles):
    kinds = {name: "numeric" if pa.types.is_integer(rows[name].type) else "categorical" for name in roles}
    schema = shoal.Schema(
        attributes=tuple(shoal.Attribute(name=name, role=role, kind=kinds[name]) for name, role in roles.items())
    )
    return shoal.anonymize(shoal.read(rows, schema=schema), shoal.KAnonymity(k), method=method)


def test_columns_that_were_erased_are_named():
    rows = pa.table({"zip": [f"z{n}" for n in range(40)], "sex": ["m", "w"] * 20})
    found = release(rows, zip="quasi-identifier", sex="quasi-identifier")
    assert set(found.table.to_arrow()["zip"].to_pylist()) == {"*"}
    (sentence,) = found.attention
    assert sentence.startswith("`zip` is `*` in every record. Its hierarchy has nothing between the value and `*`")


def test_secrets_that_single_people_out_are_counted():
    pay = [*range(1000, 1015), *[5000] * 25]
    rows = pa.table({"sex": ["m", "w"] * 20, "pay": pay})
    found = release(rows, sex="quasi-identifier", pay="sensitive")
    times = collections.Counter(found.table.to_arrow()["pay"].to_pylist())
    alone = sum(1 for each in times.values() if each == 1)
    assert alone == 15
    assert any(each.startswith("37.5% of the records have a released value of the") for each in found.attention)


def test_classes_of_one_secret_are_counted():
    rows = pa.table({"sex": ["m"] * 10 + ["w"] * 30, "illness": ["flu"] * 10 + ["flu", "cold", None] * 10})
    found = release(rows, sex="quasi-identifier", illness="sensitive")
    classes = found.table.to_pandas().groupby("sex")["illness"].agg(lambda each: each.nunique(dropna=False))
    assert dict(classes) == {"m": 1, "w": 3}
    assert any(each.startswith("25.0% of the records are in a class where all have") for each in found.attention)


@pytest.mark.slow
def test_summary_and_report_say_the_same_to_everybody_without_advice(tmp_path):
    rows = pa.table({"zip": [f"z{n}" for n in range(40)], "sex": ["m", "w"] * 20, "pay": [*range(15), *[50] * 25]})
    found = release(rows, zip="quasi-identifier", sex="quasi-identifier", pay="sensitive")
    found.write(tmp_path / "release")
    summary = " ".join((tmp_path / "release" / "summary.txt").read_text().split())
    assert "Attention - `zip` is `*` in every record. - 37.5% of the records have a released value" in summary
    assert "make it a quasi-identifier" not in summary
    assert "What needs attention" in (tmp_path / "release" / "report.html").read_text()
    assert shoal.verify(tmp_path / "release").passed


def test_nothing_is_said_of_values_that_were_exchanged(tmp_path):
    schema = shoal.Schema(
        attributes=(
            shoal.Attribute(name="age", role="quasi-identifier", kind="numeric"),
            shoal.Attribute(name="pay", role="sensitive", kind="numeric"),
        )
    )
    rows = shoal.read(pa.table({"age": list(range(40)), "pay": list(range(40))}), schema=schema)
    found = shoal.anonymize(rows, shoal.ProbabilisticKAnonymity(4), method=shoal.Swap())
    found.write(tmp_path / "release")
    assert "Attention" not in (tmp_path / "release" / "summary.txt").read_text()


def test_there_is_nothing_to_say_of_a_harmless_release():
    rows = pa.table({"sex": ["m", "w"] * 20, "illness": ["flu", "flu", "cold", "cold"] * 10})
    assert release(rows, sex="quasi-identifier", illness="sensitive").attention == ()


def test_the_default_loses_least_and_ends():
    method = methods.default([shoal.KAnonymity(5)])
    assert (method.name, method.time_limit) == ("specialize", methods.SECONDS)
    assert methods.default([shoal.KAnonymity(5), shoal.DeltaPresence(0.1, 0.9)]).name == "generalize"
    assert all(methods.timed(methods.by_name(name)) for name in ("generalize", "iterate", "specialize"))
    assert not methods.timed(methods.by_name("mdav"))


def test_a_release_that_was_written_is_not_looked_at_again(tmp_path, monkeypatch):
    rows = pa.table({"zip": [f"z{n}" for n in range(40)], "sex": ["m", "w"] * 20, "pay": [*range(15), *[50] * 25]})
    found, other = (release(rows, zip="quasi-identifier", sex="quasi-identifier", pay="sensitive") for _ in range(2))
    expected = other.attention
    assert expected
    found.write(tmp_path / "release")
    monkeypatch.setattr(type(found.table.engine), "fetch", lambda *_: pytest.fail("the records were read once more"))
    assert found.attention == expected
