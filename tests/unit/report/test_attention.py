from __future__ import annotations

import collections
import re

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


def test_columns_that_were_nearly_erased_are_named():
    rows = pa.table({"zip": [*(f"z{n}" for n in range(96)), *["z"] * 4], "sex": ["m", "w"] * 50})
    found = release(rows, k=2, method=shoal.methods.Specialize(), zip="quasi-identifier", sex="quasi-identifier")
    cells = found.table.to_arrow()["zip"].to_pylist().count("*")
    assert 90 < cells < 100
    assert any(each.startswith(f"`zip` is `*` in {cells:.1f}% of the records.") for each in found.attention)
    half = pa.table({"zip": [*(f"z{n}" for n in range(60)), *["z"] * 40], "sex": ["m", "w"] * 50})
    assert not release(
        half, k=2, method=shoal.methods.Specialize(), zip="quasi-identifier", sex="quasi-identifier"
    ).attention


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
    found = shoal.anonymize(rows, shoal.models.ProbabilisticKAnonymity(4), method=shoal.methods.Swap())
    found.write(tmp_path / "release")
    assert "Attention" not in (tmp_path / "release" / "summary.txt").read_text()


def test_there_is_nothing_to_say_of_a_harmless_release():
    rows = pa.table({"sex": ["m", "w"] * 20, "illness": ["flu", "flu", "cold", "cold"] * 10})
    assert release(rows, sex="quasi-identifier", illness="sensitive").attention == ()


def test_the_default_loses_least_and_ends():
    method = methods.default([shoal.KAnonymity(5)])
    assert (method.name, method.effort) == ("specialize", methods.EFFORT)
    assert methods.default([shoal.KAnonymity(5), shoal.models.DeltaPresence(0.1, 0.9)]).name == "generalize"
    assert all(methods.searches(methods.by_name(name)) for name in ("generalize", "iterate", "specialize"))
    assert not methods.searches(methods.by_name("mdav"))


def test_a_release_that_was_written_is_not_looked_at_again(tmp_path, monkeypatch):
    rows = pa.table({"zip": [f"z{n}" for n in range(40)], "sex": ["m", "w"] * 20, "pay": [*range(15), *[50] * 25]})
    found, other = (release(rows, zip="quasi-identifier", sex="quasi-identifier", pay="sensitive") for _ in range(2))
    expected = other.attention
    assert expected
    found.write(tmp_path / "release")
    monkeypatch.setattr(type(found.table.engine), "fetch", lambda *_: pytest.fail("the records were read once more"))
    assert found.attention == expected


def _two_risks(method: shoal.methods.Method, promise: shoal.Model) -> tuple[str, str]:
    attributes = (
        shoal.Attribute(name="age", role="quasi-identifier", kind="numeric"),
        shoal.Attribute(name="ill", role="sensitive"),
    )
    people = [{"age": 20 + place, "ill": "xxxyz"[place % 5]} for place in range(30)]
    release = shoal.anonymize(
        shoal.read(pa.Table.from_pylist(people), schema=shoal.Schema(attributes=attributes)), promise, method=method
    )
    return str(release), "\n".join(release.attention)


def test_finding_a_record_and_learning_a_value_are_two_risks_of_anatomy() -> None:
    text, _ = _two_risks(shoal.methods.Anatomy(), shoal.KAnonymity(3))
    finding, learning = text.split("Risk of learning a value")
    figures = finding.split("Risk of finding a record")[1]
    assert re.search(r"unique records +30 +30", figures)
    assert re.search(r"highest risk +100% +100%", figures)
    found = re.search(r"highest risk +([\d.]+)%", learning)
    assert found is not None
    assert float(found[1]) > 33.4, "three of five people have the same illness: more than one in the class"


def test_no_advice_names_a_promise_that_the_method_refuses() -> None:
    _, attention = _two_risks(shoal.methods.IndividualRankingSwap(), shoal.models.ProbabilisticKAnonymity(4))
    assert "--l" not in attention


def test_many_columns_are_told_in_one_sentence_each_the_worst_first() -> None:
    people = range(200)
    columns: dict[str, list[object]] = {"town": [f"t{n // 5}" for n in people]}
    columns |= {f"secret {c}": [str(n // (10 if c else 5)) for n in people] for c in range(9)}
    columns |= {"pay": list(people), "debt": [n * 7 for n in people]}
    secret = {name: "sensitive" for name in columns if name != "town"}
    found = release(pa.table(columns), town="quasi-identifier", **secret).attention
    (alike,) = [each for each in found if each.startswith("Classes where all have the same value")]
    assert "100% of the records" in alike
    assert "and 3 more from" in alike
    (alone,) = [each for each in found if each.startswith("Released values that no other record has")]
    assert "`pay`" in alone
    assert "`debt`" in alone
