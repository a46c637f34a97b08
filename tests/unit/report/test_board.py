"""The report for a board: what the plan says of the release, and measured answers to what boards ask."""

from __future__ import annotations

import html
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import ParameterError, PlanError
from shoal.folder import REPORT
from shoal.report import board_report, render_html, render_text
from shoal.report._charts import _advance, _fitting, _left_edge, cross_chart
from shoal.report._gather import _MEANINGS
from shoal.schema import Attribute, Domain, Flat, Intervals, Kind, Role, Schema
from shoal.utility import CrossTable

ABOUT = shoal.About(
    title="Visits <2024>",
    purpose='research on "ageing"',
    controller="the data office",
    recipient="an institute",
    context="under a contract\nno passing on",
)


@pytest.fixture(scope="module")
def original() -> shoal.Table:
    people = range(120)
    schema = Schema(
        attributes=(
            Attribute(name="name", role=Role.IDENTIFIER, reason="a name of a person"),
            Attribute(
                name="age",
                role=Role.QUASI_IDENTIFIER,
                kind=Kind.NUMERIC,
                domain=Domain(minimum=0, maximum=100),
                hierarchy=Intervals(widths=(10, 50)),
            ),
            Attribute(name="town", role=Role.QUASI_IDENTIFIER, hierarchy=Flat()),
            Attribute(name="illness", role=Role.SENSITIVE, reason="told to the doctor"),
        )
    )
    rows = {
        "name": [f"person {n}" for n in people],
        "age": [20 + n % 30 for n in people],
        "town": [["Abe", "Bree"][n % 2] for n in people],
        "illness": [["flu", "cold", "cough", "flu"][n % 4] for n in people],
    }
    return shoal.read(pa.table(rows)).with_schema(schema)


@pytest.fixture(scope="module")
def release(original: shoal.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert original.schema is not None
    plan = shoal.Plan(
        schema=original.schema, models=(shoal.KAnonymity(3),), method=shoal.Generalize(suppression_limit=0), about=ABOUT
    )
    return plan.run(original).write(tmp_path_factory.mktemp("board") / "release")


def test_the_plan_keeps_what_is_said_of_the_release(release: Path) -> None:
    plan = shoal.Plan.load(release / "plan.toml")
    assert plan.about == ABOUT
    assert plan.schema["illness"].reason == "told to the doctor"
    assert replace(plan, about=shoal.About()).dumps().count("[release]") == 0


@pytest.mark.parametrize(
    "section", ["[release]\nowner = 'x'", "[release]\ntitle = 5", "release = 'x'", "[release]\ntitle = 'a\\u0007'"]
)
def test_a_wrong_section_is_refused(release: Path, section: str) -> None:
    text = shoal.Plan.load(release / "plan.toml").dumps()
    start, end = text.index("[release]"), text.index("[[promises]]")
    changed = section.replace("'", '"')
    moved = changed if changed.startswith("[") else ""
    text = (f"{changed}\n" if not moved else "") + text[:start] + moved + "\n\n" + text[end:]
    with pytest.raises((PlanError, ParameterError), match="release"):
        shoal.Plan.loads(text)


def test_the_report_says_it_and_verification_compares_it(release: Path, tmp_path: Path) -> None:
    page = (release / REPORT).read_text()
    assert "<title>Visits &lt;2024&gt;</title>" in page
    for said in ("the data office", "an institute", "told to the doctor", "left out"):
        assert said in page
    assert "an institute" in (release / "summary.txt").read_text()
    assert shoal.verify(release).passed
    forged = tmp_path / "forged"
    forged.mkdir()
    for path in release.iterdir():
        (forged / path.name).write_bytes(path.read_bytes())
    (forged / REPORT).write_text(page.replace("an institute", "nobody"))
    failed = [check.subject for check in shoal.verify(forged).checks if not check.passed]
    assert REPORT in failed


def test_inference_is_what_counting_by_hand_gives(release: Path) -> None:
    document = board_report(release)
    assert document.board is not None
    (found,) = document.board.disclosure
    rows = pq.read_table(release / "data.parquet").to_pylist()
    classes: dict[tuple[str, str], Counter[str]] = {}
    for row in rows:
        classes.setdefault((row["age"], row["town"]), Counter())[row["illness"]] += 1
    assert found.guess == sum(max(each.values()) for each in classes.values()) / len(rows)
    assert found.certain == sum(sum(each.values()) for each in classes.values() if len(each) == 1)
    assert found.baseline == max(Counter(row["illness"] for row in rows).values()) / len(rows)
    assert document.board.attacks == ()
    assert "Not measured: the release alone does not show it." in render_html(document)


@pytest.mark.slow
def test_with_the_original_attacks_are_measured(release: Path, original: shoal.Table) -> None:
    document = board_report(release, original, shoal.Plan.load(release / "plan.toml"))
    assert document.board is not None
    wanted = shoal.risk.attack(original, shoal.read(release / "data.parquet"))
    assert wanted.linkability is not None
    tried = {each.name: each for each in document.board.attacks}
    assert tried["singling out"].success == wanted.singling_out.success.rate
    assert tried["linkability"].risk == wanted.linkability.risk
    page = render_html(document)
    for words in ("WP216", "Safe Harbor", "ISO/IEC 27559", "not for publication", "not answered"):
        assert words in page
    assert "person 7" not in page
    assert render_text(document)


def test_every_role_has_a_meaning() -> None:
    assert set(_MEANINGS) == set(Role)


def test_a_board_reads_what_was_done_in_the_terms_of_the_standard(release: Path) -> None:
    board = board_report(release).board
    assert board is not None
    terms = [term for term, _ in board.techniques]
    assert "technique: generalization" in terms
    assert "formal privacy measurement model: K-anonymity" in terms
    answers = {question: answer for _, question, answer in board.questions}
    assert answers["Who gets the data?"] == "an institute"
    assert answers["What else can they know about the same people?"] == ""


@pytest.mark.parametrize(
    "label", ["WWWWWWWWWWWWWWWWWWWWWWW", "2024-10-19 to 2024-11-24", "東京都" * 9, "short", "i" * 80]
)
def test_a_label_is_cut_at_its_far_end_alone(label: str) -> None:
    room = _left_edge([label]) - 8
    shown = _fitting(label, room)
    assert sum(map(_advance, shown)) <= room
    assert label.startswith(shown.removesuffix("…"))
    if label.startswith("2024"):
        assert shown == label


def test_labels_of_two_columns_together_fit_beside_and_below_the_picture() -> None:
    wide, shares = ("W" * 17, "<img src=x onerror=alert(1)>"), ((0.2, 0.3), (0.4, 0.1))
    drawn = cross_chart(CrossTable(columns=("a", "b"), rows=wide, across=wide, original=shares, released=shares))
    labels = re.findall(r"<text[^>]*>([^<]*…)</text>", str(drawn.content))
    assert len(labels) == 6
    beside, below = [sum(map(_advance, html.unescape(each))) for each in labels[:2]], labels[2:]
    assert max(beside) <= 102
    assert max(sum(map(_advance, html.unescape(each))) for each in below) <= 121
