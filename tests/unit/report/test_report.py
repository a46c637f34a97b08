"""The public report: what it says, what it leaves out, and that no value of the data can do harm in it."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import ParameterError, Undecided
from shoal.folder import REPORT
from shoal.guarantees import Event
from shoal.methods.steps import KINDS
from shoal.report import (
    Document,
    Variant,
    charts,
    column_figures,
    find_chart,
    internal_report,
    public_report,
    render_html,
    render_text,
)
from shoal.report._columns import _fewer
from shoal.report._gather import column_roles
from shoal.schema import Attribute, Domain, Flat, Intervals, Kind, Mask, Role, Schema
from shoal.tables import count_values
from shoal.utility import Bin

HOSTILE = (
    "<script>alert(1)</script>",
    "</style></svg><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    '=HYPERLINK("http://evil.example","x")',
    "long " * 2000,
    "\u202egnp.exe",
    "مرحبا بالعالم",
    "a\x00b\x1bc",
    "`code` & <b>",
    "javascript:alert(1)",
    "]]>",
    "<!-- x -->",
)


def _schema(column: str = "illness") -> Schema:
    return Schema(
        attributes=(
            Attribute(
                name="age",
                role=Role.QUASI_IDENTIFIER,
                kind=Kind.NUMERIC,
                domain=Domain(minimum=0, maximum=100),
                hierarchy=Intervals(widths=(10, 50)),
            ),
            Attribute(name="town", role=Role.QUASI_IDENTIFIER, hierarchy=Flat()),
            Attribute(name=column, role=Role.SENSITIVE),
        )
    )


def _release(folder: Path, rows: dict[str, list[object]], column: str = "illness") -> Path:
    table = shoal.read(pa.table(rows)).with_schema(_schema(column))
    return shoal.anonymize(table, shoal.KAnonymity(3), method=shoal.Generalize(suppression_limit=0.2)).write(folder)


def _crowd(outliers: list[int]) -> dict[str, list[object]]:
    """Return sixty people in two crowds, and some who stand out and are suppressed."""
    return {
        "age": [*(20 + number % 2 for number in range(60)), *outliers],
        "town": [*(["Abe", "Bree"] * 30), *(["Faraway"] * len(outliers))],
        "illness": [*(["flu", "cold", "cough"] * 20), *(["rare"] * len(outliers))],
    }


def _parsed(page: str) -> ET.Element:
    """Return the tree of a page; one that is not well-formed is an error."""
    return ET.fromstring(page.removeprefix("<!DOCTYPE html>"))  # noqa: S314 - a page that was made here


def _figures(page: str) -> str:
    """Return a page without times and fingerprints, which are of no record."""
    return re.sub(r"\d{4}-\d\d-\d\d(T[\d:]+Z)?|[0-9a-f]{64}", "", page)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _release(tmp_path_factory.mktemp("report") / "release", _crowd([70]))


@pytest.mark.slow
def test_a_release_holds_its_public_report_and_verifies_with_it(folder: Path) -> None:
    found = shoal.verify(folder)
    assert found.passed
    assert REPORT in {check.subject for check in found.checks}


def test_anybody_can_make_the_same_report_from_the_folder(folder: Path) -> None:
    assert render_html(public_report(folder)) == (folder / REPORT).read_text()


def test_the_report_agrees_with_counting_the_released_records(folder: Path) -> None:
    rows = pq.read_table(folder / "data.parquet").to_pylist()
    table = public_report(folder).tables[0]
    sizes: dict[tuple[object, ...], int] = {}
    for row in rows:
        key = (row["age"], row["town"])
        sizes[key] = sizes.get(key, 0) + 1
    assert table.risk is not None
    assert table.risk.classes == len(sizes)
    assert table.risk.smallest == min(sizes.values())
    assert table.risk.marketer == pytest.approx(len(sizes) / len(rows))
    town = next(column for column in table.columns if column.name == "town")
    assert {bar.label: bar.records for bar in town.bars} == {
        name: sum(row["town"] == name for row in rows) for name in {row["town"] for row in rows}
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", [REPORT, "summary.txt", "certificate.json"])
def test_what_is_published_is_the_same_whoever_was_suppressed(tmp_path: Path, name: str) -> None:
    texts = []
    for number, outliers in enumerate(([70, 71], [93, 5])):
        made = _release(tmp_path / str(number), _crowd(outliers))
        assert pq.read_table(made / "data.parquet").num_rows == 60
        texts.append((made / name).read_text())
    assert "Faraway" not in texts[0]
    assert "rare" not in texts[0]
    # plan.toml goes by its size here, which is the same
    assert _figures(texts[0]) == _figures(texts[1])


@pytest.mark.slow
def test_no_file_of_a_release_names_a_value_of_a_suppressed_record_alone(tmp_path: Path) -> None:
    rows = _crowd([70, 93])
    rows["illness"] = [*(["F1", "F2", "C1"] * 20), "Q7", "Q7"]
    illness = Attribute(name="illness", role=Role.SENSITIVE, hierarchy=Mask(length=2, masked=(1,)))
    schema = Schema(attributes=(*list(_schema())[:2], illness))
    made = shoal.anonymize(
        shoal.read(pa.table(rows)).with_schema(schema),
        shoal.KAnonymity(3),
        shoal.TCloseness("illness", 0.5),
        method=shoal.Generalize(suppression_limit=0.2),
    ).write(tmp_path / "release", csv=True)
    files = [path for path in made.rglob("*") if path.is_file()]
    assert (made / "hierarchies" / "sensitive-1.csv").read_text() == "C1;C*;*\nF1;F*;*\nF2;F*;*\n"
    assert [path.name for path in files if b"Q7" in path.read_bytes() or b"Faraway" in path.read_bytes()] == []
    assert shoal.verify(made).passed


def test_the_certificate_of_a_release_without_differential_privacy_states_no_measure(folder: Path) -> None:
    assert json.loads((folder / "certificate.json").read_text())["measures"] == {}


def test_risk_and_quality_against_the_original_stay_out_of_the_folder_s_texts(folder: Path) -> None:
    summary = (folder / "summary.txt").read_text()
    assert "before" not in summary
    assert "Quality" not in summary
    assert public_report(folder).before is None
    assert public_report(folder).measures == {}


@pytest.mark.parametrize(
    ("step", "done"),
    [
        (
            KINDS["cells-suppressed"](
                columns=("age", "town"), cells=(1200, 0), records=9999, touched=1200, k=0, fewer=0
            ),
            "1,200 cells suppressed",
        ),
        (
            KINDS["tables-trimmed"](
                tables=(("age",), ("age", "town")), levels=((0,), (2, 0)), m=(1, 1), variance=(1, 1), rho=1
            ),
            "in some tables",
        ),
        (
            KINDS["generalized"](method="generalize", columns=("age", "town"), levels=(2, 0), heights=(3, 1)),
            "to level 2 of 3",
        ),
        (KINDS["aggregated"](columns=("age",), functions=("mean",)), "replaced by an aggregate of the class"),
        (
            KINDS["joint-trimmed"](columns=("age",), levels=(1,), epsilon_scheme=1, m=1, variance=1, rho=1),
            "generalised in the table of all columns",
        ),
    ],
)
def test_a_column_that_a_step_changed_is_not_called_released_as_it_is(step: Event, done: str) -> None:
    age, town, _ = column_roles(SimpleNamespace(schema=_schema()), [step])  # type: ignore[arg-type]
    assert done in age.done
    assert "as it is" not in age.done
    assert town.done == "kept unchanged"


def test_a_differentially_private_release_shows_its_budget_by_step(tmp_path: Path) -> None:
    schema = Schema(
        attributes=(
            Attribute(name="town", role=Role.QUASI_IDENTIFIER, domain=Domain(values=("A", "B")), hierarchy=Flat()),
        )
    )
    table = shoal.read(pa.table({"town": ["A", "B"] * 400})).with_schema(schema)
    privacy = shoal.DifferentialPrivacy(epsilon=2, delta=1e-6)
    document = public_report(shoal.anonymize(table, privacy).write(tmp_path / "release"))
    assert document.private
    assert document.budget is not None
    assert sum(step.epsilon for step in document.steps) == pytest.approx(document.budget.epsilon)
    assert document.budget.epsilon <= 2
    page = render_html(document)
    assert "outside the privacy budget" in page
    assert "budget" in {chart.name for chart in charts(document)}
    assert _parsed(page).tag == "html"


def test_a_release_of_several_tables_shows_each(tmp_path: Path) -> None:
    rows = _crowd([])
    table = shoal.read(pa.table(rows)).with_schema(_schema())
    made = shoal.anonymize(table, shoal.DistinctLDiversity("illness", l=2), method=shoal.methods.Anatomy())
    document = public_report(made.write(tmp_path / "release"))
    assert len(document.tables) == 2
    page = render_html(document)
    for each in document.tables:
        assert each.file in page


# -- hostile text


def test_hostile_values_and_names_are_shown_as_text(tmp_path: Path) -> None:
    column = "<img src=x onerror=alert(1)>"
    rows: dict[str, list[object]] = {
        "age": [30] * 36,
        "town": ["<script>alert(2)</script>"] * 36,
        column: [value for value in HOSTILE for _ in range(3)],
    }
    page = (_release(tmp_path / "release", rows, column) / REPORT).read_text()
    tree = _parsed(page)
    tags = {each.tag.rpartition("}")[2] for each in tree.iter()}
    assert not tags & {"script", "img", "link", "iframe", "object", "embed", "form", "base", "b>"}
    links = [each.get("href", "") for each in tree.iter() if each.tag.rpartition("}")[2] == "a"]
    assert links
    assert all(link.startswith("#") for link in links)
    for each in tree.iter():
        assert not [name for name in each.attrib if name.startswith("on") or name in ("src", "style")]
    text = "".join(tree.itertext())
    assert "<script>alert(1)</script>" in text
    assert "مرحبا بالعالم" in text
    assert "\u202e" not in page
    assert "\\u202egnp.exe" in text
    assert "\x00" not in page
    assert len(page) < 100_000
    assert "long " * 100 not in page


def test_a_page_asks_for_nothing_and_its_policy_allows_nothing(folder: Path) -> None:
    page = (folder / REPORT).read_text()
    assert not re.findall(r"(?:https?:)?//(?!www\.w3\.org/2000/svg)[a-z]", page)
    assert "@import" not in page
    assert "url(" not in page
    policies = [each.get("content", "") for each in _parsed(page).iter("meta") if each.get("http-equiv")]
    assert len(policies) == 1
    assert policies[0].startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policies[0]


@pytest.mark.slow
def test_terminal_text_holds_no_sign_that_a_terminal_obeys(tmp_path: Path) -> None:
    column = "a\x1b[2Jb\u202ec"
    rows: dict[str, list[object]] = {"age": [30] * 6, "town": ["x"] * 6, column: ["y"] * 6}
    document = public_report(_release(tmp_path / "release", rows, column))
    changed = document.model_copy(update={"limitations": (f"See `{column}`.",)})
    text = render_text(changed)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\\u001b" in text


# -- columns and pictures


def test_numbers_with_many_values_become_a_histogram_that_counts_everybody() -> None:
    values = [*range(1000), 10**7, None]
    table = shoal.read(pa.table({"x": values}))
    found = column_figures(count_values(table, "x"), Role.SENSITIVE, len(values))
    assert found.distinct == 1001
    assert sum(bar.records or 0 for bar in found.bars) == len(values)
    assert found.bars[-1].kind == "missing"
    assert found.bars[-2].label.endswith("or more")
    assert found.bars[0].label == "0 to 99"
    assert found.bars[0].records == 100


@pytest.mark.parametrize(
    "values",
    [
        [*range(30), math.inf, -math.inf, math.nan],
        [number * 5e-324 for number in range(30)],
        [number * 1e307 for number in range(-17, 17)],
        [2.0**53 + 2 * number for number in range(40)],
        [7.5] * 5000 + [float(number) for number in range(30)],
    ],
    ids=["not finite", "tiny", "huge", "far", "one value"],
)
def test_a_histogram_counts_everybody_whatever_the_numbers(values: list[float]) -> None:
    column = pa.array(values, pa.float64(), from_pandas=False)
    found = column_figures(count_values(shoal.read(pa.table({"x": column})), "x"), Role.SENSITIVE, len(values))
    assert sum(bar.records or 0 for bar in found.bars) == len(values)
    assert len(found.bars) <= 25


def test_texts_with_many_values_show_the_commonest_and_the_rest_together() -> None:
    values = [f"v{number}" for number in range(100)] + ["common"] * 50
    found = column_figures(count_values(shoal.read(pa.table({"x": values})), "x"), Role.SENSITIVE, len(values))
    assert found.bars[0].label == "common"
    assert found.bars[-1].kind == "rest"
    assert sum(bar.records or 0 for bar in found.bars) == len(values)


def test_few_values_stand_in_their_natural_order() -> None:
    values = ["[10, 20)", "[5, 10)", "[100, 200)"]
    found = column_figures(count_values(shoal.read(pa.table({"x": values})), "x"), Role.QUASI_IDENTIFIER, 3)
    assert [bar.label for bar in found.bars] == ["[5, 10)", "[10, 20)", "[100, 200)"]


def test_every_chart_is_a_picture_of_its_own(folder: Path) -> None:
    document = public_report(folder)
    for chart in charts(document):
        tree = _parsed(chart.svg(alone=True))
        assert tree.tag == "{http://www.w3.org/2000/svg}svg"
        assert chart.rows
    assert find_chart(document, "column:town").title == "town"
    with pytest.raises(ParameterError, match="no chart"):
        find_chart(document, "nothing")


def test_a_folder_without_a_certificate_has_no_report(tmp_path: Path) -> None:
    with pytest.raises(Undecided):
        public_report(tmp_path)


# -- the internal report


def _internal(folder: Path, original: shoal.Table) -> Document:
    return internal_report(folder, original, shoal.Plan.load(folder / "plan.toml"))


def test_an_internal_report_compares_with_the_original_and_says_that_it_is_not_for_publication(folder: Path) -> None:
    original = shoal.read(pa.table(_crowd([70]))).with_schema(_schema())
    document = _internal(folder, original)
    assert document.variant is Variant.INTERNAL
    assert document.before is not None
    assert (document.before.records, document.before.unique) == (61, 1)
    town = next(column for column in document.tables[0].columns if column.name == "town")
    assert {bar.label: bar.original for bar in town.bars} == pytest.approx(
        {"Abe": 30 / 61, "Bree": 30 / 61, "Faraway": 1 / 61}
    )
    page = render_html(document)
    assert "not for publication" in page
    assert "outlined: original" in "".join(_parsed(page).itertext())


def test_bars_put_together_keep_every_share() -> None:
    bins = [Bin(first=str(n), last=str(n), original=n / 780, released=(39 - n) / 780) for n in range(40)]
    bins.append(Bin(first=None, last=None, original=0.0, released=0.25))
    fewer = _fewer(bins)
    assert len(fewer) <= 21
    assert sum(each.original for each in fewer) == pytest.approx(sum(each.original for each in bins))
    assert sum(each.released for each in fewer) == pytest.approx(sum(each.released for each in bins))
    assert fewer[-1].first is None


# -- notebooks


def test_a_release_in_memory_draws_its_lattice_with_the_chosen_node_ringed() -> None:
    table = shoal.read(pa.table(_crowd([70]))).with_schema(_schema())
    made = shoal.anonymize(table, shoal.KAnonymity(3), method=shoal.Generalize(suppression_limit=0.2))
    assert made.search is not None
    assert made.search.lattice is not None
    picture = _parsed(made.plot.lattice()._repr_svg_())
    circles = [each.get("class") for each in picture.iter("{http://www.w3.org/2000/svg}circle")]
    assert circles.count("ring") == 1
    assert len(circles) == 1 + len(made.search.lattice.values)
    (label,) = (float(each.get("y", 0)) for each in picture.iter("{http://www.w3.org/2000/svg}text"))
    rows = {float(each.get("cy", 0)) for each in picture.iter("{http://www.w3.org/2000/svg}circle")}
    assert min(abs(label - 5 - row) for row in rows) > 12, "no node stands where the label does"
    assert made.plot.class_sizes().header == ("class size", "original", "released")
    assert made.plot.column("town").header == ("value", "records", "share")
    beside = made.plot.column("town", table)
    assert beside.header == ("value", "original", "released")
    assert ("Faraway", "1.64%", "0%") in beside.rows
    with pytest.raises(ParameterError, match="no column `name`"):
        made.plot.column("name")


@pytest.mark.slow
def test_the_internal_report_repeats_the_search_and_draws_it(folder: Path) -> None:
    original = shoal.read(pa.table(_crowd([70]))).with_schema(_schema())
    found = _internal(folder, original)
    assert found.lattice is not None
    assert found.lattice.chosen == tuple(level.level for level in found.levels)
    assert found.measures["loss"] is not None
    assert "lattice" in [chart.name for chart in charts(found)]
    assert "Combinations of levels of age, town" in render_html(found)
    assert public_report(folder).lattice is None


def test_a_search_over_another_table_is_not_shown(folder: Path) -> None:
    other = shoal.read(pa.table(_crowd([70, 71]))).with_schema(_schema())
    assert _internal(folder, other).lattice is None


def test_without_a_lattice_to_show_the_plot_says_so() -> None:
    table = shoal.read(pa.table(_crowd([]))).with_schema(_schema())
    made = shoal.anonymize(table, shoal.DistinctLDiversity("illness", l=2), method=shoal.methods.Anatomy())
    with pytest.raises(ParameterError, match="lattice"):
        made.plot.lattice()
