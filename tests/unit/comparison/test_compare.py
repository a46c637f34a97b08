"""Plans side by side in worker processes."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.comparison import _compare as module
from shoal.comparison._evaluate import answer
from shoal.errors import Cancelled, OutputError, ParameterError, PlanError, SchemaError

pytestmark = pytest.mark.slow

CANARY = "Xanthippe"


def _schema(folder: Path) -> shoal.Schema:
    return shoal.Schema(
        attributes=(
            shoal.Attribute(name="name", role="identifier"),
            shoal.Attribute(
                name="age",
                role="quasi-identifier",
                kind="numeric",
                domain=shoal.Domain(minimum=0, maximum=99),
                hierarchy=shoal.schema.Intervals(widths=(10, 50)),
            ),
            shoal.Attribute(name="town", role="quasi-identifier", hierarchy=shoal.schema.FromFile(path="towns.csv")),
            shoal.Attribute(name="illness", role="sensitive"),
        ),
        folder=folder,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("compare")
    (made / "towns.csv").write_text(
        "".join(f"{town};{region};*\n" for town, region in zip("abcd", "nnss", strict=True))
    )
    generator = np.random.default_rng(1)
    table = pa.table(
        {
            "name": [f"{CANARY} {i}" for i in range(300)],
            "age": generator.integers(0, 100, 300),
            "town": generator.choice(list("abcd"), 300),
            "illness": generator.choice(["flu", "cold", "back"], 300),
        }
    )
    pq.write_table(table, made / "people.parquet")
    return made


@pytest.fixture(scope="module")
def people(folder: Path) -> shoal.Table:
    return shoal.read(folder / "people.parquet").with_schema(_schema(folder))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="module")
def found(people: shoal.Table, kept: Path) -> shoal.comparison.Comparison:
    return shoal.compare(
        people, k=(2, 10, 400), epsilon=(1,), methods=("generalize", "mondrian"), learn=False, folder=kept, processes=2
    )


@pytest.mark.slow
def test_every_point_has_figures_or_a_reason(found: shoal.comparison.Comparison) -> None:
    assert [(point.method, point.promises) for point in found.points[:3]] == [
        ("generalize", "k = 2"),
        ("generalize", "k = 10"),
        ("generalize", "k = 400"),
    ]
    made = [point for point in found.points if point.failure is None]
    assert len(made) >= 4
    for point in made:
        assert 0 < point.risk["average"] <= point.risk["highest"] <= 1
        assert 0 <= point.utility["queries"] <= 1
        assert point.utility["distinguishable"] is None
        assert point.records > 0
    impossible = found.points[2]
    assert "400" in str(impossible.failure)


def test_the_promise_is_kept_by_the_figures(found: shoal.comparison.Comparison) -> None:
    for point in found.points:
        if point.failure is None and point.promises == "k = 10":
            assert point.risk["highest"] <= 0.1


def test_a_recommendation_is_made_of_the_unbeaten_points(found: shoal.comparison.Comparison) -> None:
    assert found.recommended in found.best
    assert f"Take point {found.recommended} " in found.reasons[0]
    assert f"[{found.recommended}]" in found.text_plot()


def test_finished_points_are_not_computed_again(
    people: shoal.Table, found: shoal.comparison.Comparison, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def nothing(jobs: list[object], *_rest: object) -> list[object]:
        asked.append(len(jobs))
        return []

    monkeypatch.setattr(module, "_run_all", nothing)
    arguments = {"epsilon": (1,), "methods": ("generalize", "mondrian"), "learn": False, "folder": kept}
    again = shoal.compare(people, k=(2, 10, 400), **arguments)
    assert asked == [0]
    assert again == found
    more = shoal.compare(people, k=(2, 3), **arguments)
    assert asked == [0, 2]
    assert more.points[0].risk == found.points[0].risk
    shoal.compare(people, k=(2,), **{**arguments, "epsilon": ()}, seed=5)
    assert asked == [0, 2, 2]


def test_the_plan_of_a_point_makes_its_release_again(
    people: shoal.Table, found: shoal.comparison.Comparison, tmp_path: Path
) -> None:
    point = found.points[1]
    assert found.plan(2).run(people).records == point.records
    path = found.export(2, tmp_path / "plan.toml")
    plan = shoal.Plan.load(path)
    assert plan.models == (shoal.KAnonymity(10),)
    assert plan.run(shoal.read(people.to_arrow())).records == point.records
    with pytest.raises(OutputError, match="exists"):
        found.export(2, path)
    with pytest.raises(ParameterError, match="no point 99"):
        found.export(99, tmp_path / "x.toml")


def test_everything_is_json_and_holds_no_value_of_the_data(found: shoal.comparison.Comparison, kept: Path) -> None:
    text = json.dumps(found.to_json())
    assert json.loads(text)["recommended"] == found.recommended
    written = "".join(path.read_text() for path in kept.iterdir())
    for shown in (text, written, repr(found)):
        assert CANARY not in shown


@pytest.mark.slow
def test_the_predicted_column_adds_a_figure(people: shoal.Table) -> None:
    pytest.importorskip("sklearn")
    made = shoal.compare(
        people, k=(2,), methods=("generalize",), target="illness", utility="distributions", processes=1
    )
    point = made.points[0]
    assert point.failure is None
    assert "prediction" in point.utility
    assert point.utility["distinguishable"] is not None


def test_progress_is_told(people: shoal.Table, kept: Path, found: shoal.comparison.Comparison) -> None:
    seen: list[tuple[int, int]] = []
    shoal.compare(
        people,
        k=(2, 10),
        methods=("generalize",),
        learn=False,
        folder=kept,
        progress=lambda done, total, _text: seen.append((done, total)),
    )
    assert seen == [(2, 2)]
    assert found.points


def test_a_worker_refuses_a_wrong_plan_with_a_reason() -> None:
    with pytest.raises(PlanError, match="no columns"):
        answer({"plan": "shoal = 1", "folder": ".", "settings": {"data": ""}}, lambda *_: None)


def test_it_can_be_stopped(people: shoal.Table) -> None:
    with pytest.raises(Cancelled):
        shoal.compare(people, k=(2,), methods=("generalize",), cancelled=lambda: True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"risk": "luck"}, "`risk`"),
        ({"utility": "beauty"}, "`utility`"),
        ({"highest_risk": 2.0}, "`highest_risk`"),
        ({"target": "height"}, "`target`"),
        ({"utility": "prediction"}, "without a `target`"),
        ({"processes": 0}, "`processes`"),
    ],
)
def test_arguments_are_checked(people: shoal.Table, arguments: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        shoal.compare(people, k=(2,), **arguments)  # type: ignore[arg-type]


def test_a_schema_is_needed(people: shoal.Table) -> None:
    with pytest.raises(SchemaError):
        shoal.compare(shoal.read(people.to_arrow()), k=(2,))


def test_points_are_values(found: shoal.comparison.Comparison) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.points[0].number = 3  # type: ignore[misc]
    repeated: Callable[[], object] = found.points[0].to_json
    assert shoal.comparison.Point.from_json(repeated()) == found.points[0]


def test_a_comparison_is_read_from_what_it_wrote(found: shoal.comparison.Comparison) -> None:
    again = shoal.comparison.Comparison.from_json(json.loads(json.dumps(found.to_json())), folder=found.folder)
    assert again == found
    assert again.plan(1) == found.plan(1)
