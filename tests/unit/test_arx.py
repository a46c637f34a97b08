"""Projects of ARX: an invented one with the structure that ARX writes becomes a plan that runs."""

from __future__ import annotations

import fractions
import math
import zipfile
import zlib
from pathlib import Path
from unittest.mock import Mock
from xml.sax.saxutils import escape

import pyarrow as pa
import pytest

import shoal
from shoal.arx import read_arx_project
from shoal.errors import InputError

K, L = "2-anonymity", "distinct-2-diversity for attribute 'illness'"


def _assigment(name: str, role: str, datatype: str = "String", **more: str) -> str:
    entries = {"name": name, "type": role, "datatype": datatype, **more}
    return "<assigment>" + "".join(f"<{key}>{escape(text)}</{key}>" for key, text in entries.items()) + "</assigment>"


def _project(
    path: Path, *, criteria: tuple[str, ...] = (K, L), zip_levels: tuple[str, str] = ("1", "1"), more: str = ""
) -> Path:
    quasi = "QUASI_IDENTIFYING_ATTRIBUTE"
    low, high = zip_levels
    definition = (
        _assigment("name", "IDENTIFYING_ATTRIBUTE")
        + _assigment("age", quasi, "Integer", ref="hierarchies/age.csv", min="All", max="All")
        + _assigment("zip & town", quasi, ref="hierarchies/zip & town.csv", min=low, max=high)
        + _assigment("illness", "SENSITIVE_ATTRIBUTE")
        + more
    )
    written = "".join(f"<criterion>{escape(each)}</criterion>" for each in criteria)
    config = (
        "<config><suppressTuplesInNonAnonymousOutput>true</suppressTuplesInNonAnonymousOutput>"
        "<practicalMonotonicity>false</practicalMonotonicity><relativeMaxOutliers>0.25</relativeMaxOutliers>"
        "<metric>Loss (0.5)</metric><attributeWeights><attributeWeight><attribute>age</attribute>"
        "<weight>1.0</weight></attributeWeight></attributeWeights>"
        f"<criteria>{written}</criteria></config>"
    )
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("metadata.xml", "<metadata><version>3.9.1</version><vocabulary>2.0</vocabulary></metadata>")
        file.writestr("project.xml", "<project><name>A study</name><separator>,</separator></project>")
        file.writestr("data/input.csv", "name,age,zip & town,illness\nCANARY,31,00121,flu\n")
        file.writestr("input/config.xml", config)
        file.writestr("input/definition.xml", f"<definition>{definition}</definition>")
        file.writestr("input/hierarchies/age.csv", "31,30-39,*\n34,30-39,*\n52,50-59,*\nNULL,NULL,*\n")
        file.writestr("input/hierarchies/zip & town.csv", '00121,"0012*",*\n00122,"0012*",*\n')
    return path


@pytest.mark.slow
def test_a_project_becomes_a_plan_that_runs(tmp_path: Path) -> None:
    found = read_arx_project(_project(tmp_path / "study.deid"))
    folder = found.write(tmp_path / "study")
    plan = shoal.Plan.load(folder / "plan.toml")
    assert plan.schema.quasi_identifiers == ("age", "zip & town")
    assert plan.schema["age"].weight == 2
    assert plan.models == (shoal.KAnonymity(2), shoal.DistinctLDiversity("illness", l=2))
    assert plan.method.parameters()["suppression_limit"] == 0.25
    assert plan.method.parameters()["levels"] == {"zip & town": 1}
    assert plan.schema.missing_values == ("NULL",)
    assert plan.about.title == "A study"
    rows = {
        "name": ["a", "b", "c", "d"],
        "age": ["31", "34", "31", "34"],
        "zip & town": ["00121", "00122", "00121", "00122"],
        "illness": ["flu", "cold", "cold", "flu"],
    }
    release = plan.run(shoal.read(pa.table(rows)).with_schema(plan.schema))
    assert {*release.table.to_arrow()["zip & town"].to_pylist()} == {"0012*"}
    assert shoal.verify(release.write(tmp_path / "release")).passed
    assert not any(b"CANARY" in path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("criterion", "expected"),
    [
        ("entropy-3.0-diversity for attribute 'illness'", shoal.models.EntropyLDiversity("illness", l=3)),
        ("shannon-entropy-3.0-diversity for attribute 'illness'", shoal.models.EntropyLDiversity("illness", l=3)),
        ("recursive-(4.0,3)-diversity for attribute 'illness'", shoal.models.RecursiveLDiversity("illness", c=4, l=3)),
        (
            "0.2-closeness with equal distance for attribute 'illness'",
            shoal.TCloseness("illness", t=0.2, distance="equal"),
        ),
        (
            "1.0E-4-closeness with ordered ground-distance for attribute 'stage'",
            shoal.TCloseness("stage", t=0.0001, distance="ordered"),
        ),
        ("basic-2.0-likeness for attribute 'illness'", shoal.models.BetaLikeness("illness", 2)),
        ("enhanced-2.5-likeness for attribute 'illness'", shoal.models.BetaLikeness("illness", 2.5, enhanced=True)),
        ("1.0-disclosure privacy for attribute 'illness'", shoal.models.DeltaDisclosure("illness", 0.69314718)),
        ("(0.25)-avg-reidentification-risk", shoal.models.AverageRisk(0.25)),
    ],
)
def test_every_model_with_a_counterpart_is_carried_over(tmp_path: Path, criterion: str, expected: object) -> None:
    more = _assigment("stage", "SENSITIVE_ATTRIBUTE", "Ordinal", format="I\nII\nIII", locale="EN")
    plan = read_arx_project(_project(tmp_path / "a.deid", criteria=(K, criterion), more=more)).plan
    assert plan.models[1] == expected
    assert plan.schema["stage"].domain == shoal.Domain(values=("I", "II", "III"))


def test_an_order_that_is_not_known_here_is_named(tmp_path: Path) -> None:
    ordered = "0.2-closeness with ordered ground-distance for attribute 'illness'"
    path = _project(tmp_path / "a.deid", criteria=(K, ordered))
    with pytest.raises(InputError, match="the order of that column is not known here"):
        read_arx_project(path)
    assert read_arx_project(path, partly=True).plan.models == (shoal.KAnonymity(2),)


def test_what_newer_versions_write_is_understood(tmp_path: Path) -> None:
    """The hierarchy of a sensitive column is stored but not named; decimals have a format and a language."""
    more = _assigment("pay", "SENSITIVE_ATTRIBUTE", "Decimal", format="#,##0.00", locale="DE", responseVariable="true")
    criterion = "0.3-closeness with hierarchical ground-distance for attribute 'illness'"
    path = _project(tmp_path / "a.deid", criteria=(K, criterion), more=more)
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("input/hierarchies/illness.csv", "flu,lung,*\ncold,lung,*\nulcer,belly,*\n")
    found = read_arx_project(path)
    assert found.plan.schema["pay"].reading == shoal.schema.Reading(decimal=",", thousands=".")
    rule = found.plan.schema["illness"].hierarchy
    assert rule is not None
    assert found.hierarchies[rule.path][2] == ["ulcer", "belly", "*"]


def test_a_bound_on_binary_logarithms_never_grows_weaker(tmp_path: Path) -> None:
    for delta in ("0.1", "1.0", "3.3"):
        written = f"{delta}-disclosure privacy for attribute 'illness'"
        (_, model) = read_arx_project(_project(tmp_path / f"{delta}.deid", criteria=(K, written))).plan.models
        bound = fractions.Fraction(model.parameters()["delta"]).limit_denominator(10**12)
        assert 0 < float(delta) * math.log(2) - float(bound) < 1e-8


@pytest.mark.parametrize("raised", [zlib.error("invalid distance"), EOFError(), RuntimeError("File is encrypted")])
def test_an_archive_that_cannot_be_unpacked_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raised: Exception
) -> None:
    path = _project(tmp_path / "a.deid")
    monkeypatch.setattr(zipfile.ZipFile, "open", Mock(side_effect=raised))
    with pytest.raises(InputError, match="cannot be read as an ARX project"):
        read_arx_project(path)
    path.unlink()
    with pytest.raises(InputError, match="cannot be read: no such file"):
        read_arx_project(path)


def test_all_that_cannot_be_carried_over_is_named_and_nothing_written(tmp_path: Path) -> None:
    more = _assigment("pay", "QUASI_IDENTIFYING_ATTRIBUTE", "String", microAggregationFunction="Arithmetic mean")
    path = _project(tmp_path / "a.deid", criteria=(K, "(0.1,0.8)-presence"), zip_levels=("0", "1"), more=more)
    with pytest.raises(InputError) as caught:
        read_arx_project(path)
    assert len(caught.value.problems) == 3
    for word in ("(0.1,0.8)-presence", "`zip & town`", "`pay`"):
        assert word in str(caught.value)
    partly = read_arx_project(path, partly=True)
    assert partly.plan.models == (shoal.KAnonymity(2),)
    assert sum(note.startswith("left out: ") for note in partly.notes) == 3


def test_microaggregation_becomes_aggregates_and_the_plan_runs(tmp_path: Path) -> None:
    quasi = "QUASI_IDENTIFYING_ATTRIBUTE"
    more = _assigment("pay", quasi, "Decimal", microAggregationFunction="Geometric mean") + _assigment(
        "year", quasi, "Integer", ref="hierarchies/year.csv", min="All", max="All", microAggregationFunction="Interval"
    )
    path = _project(tmp_path / "a.deid", criteria=(K,), more=more)
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("input/hierarchies/year.csv", "1990,1990s,*\n1991,1990s,*\n")
    found = read_arx_project(path)
    assert found.plan.method.aggregates == {"pay": "geometric-mean", "year": "interval"}
    assert found.plan.method.levels == {"zip & town": 1, "pay": 1}
    assert [note for note in found.notes if "`year`" in note and "clustering" in note]
    rows = {"name": ["a", "b"], "age": ["31", "34"], "zip & town": ["00121", "00122"], "illness": ["flu", "flu"]}
    people = pa.table({**rows, "pay": ["2", "8"], "year": ["1990", "1991"]})
    plan = shoal.Plan.load(found.write(tmp_path / "study") / "plan.toml")
    released = plan.run(shoal.read(people)).table.to_arrow()
    assert released["pay"].to_pylist() == ["4", "4"]
    assert released["year"].to_pylist() == ["[1990, 1991]"] * 2


@pytest.mark.parametrize("damage", ["text", "no zip entry", "entities", "role"])
def test_what_is_no_project_is_refused_in_words(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "a.deid"
    if damage == "text":
        path.write_text("CANARY")
    else:
        _project(path, more=_assigment("x", "CANARY_ATTRIBUTE") if damage == "role" else "")
    if damage in ("no zip entry", "entities"):
        with zipfile.ZipFile(path) as file:
            kept = {name: file.read(name) for name in file.namelist() if name != "input/config.xml"}
        if damage == "entities":
            kept["input/config.xml"] = b'<!DOCTYPE c [<!ENTITY a "CANARY">]><config>&a;</config>'
        with zipfile.ZipFile(path, "w") as file:
            for name, content in kept.items():
                file.writestr(name, content)
    with pytest.raises(InputError, match=r"a\.deid") as caught:
        read_arx_project(path)
    assert "CANARY" not in str(caught.value)
