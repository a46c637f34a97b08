"""What the options of `shoal anonymize` mean."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.main import get_command

import shoal
from shoal import tables
from shoal.cli._anonymize import BESIDE_A_PLAN, _method, _models, anonymize
from shoal.cli._main import app
from shoal.errors import OutputError, ParameterError, ShoalError
from shoal.folder import PLAN, REPORT, SUMMARY
from shoal.methods.shorthand import SHORT


@pytest.mark.parametrize("method", ["generalize", "specialize", "iterate", "mondrian", "subtree"])
def test_links_can_be_kept_with_the_limit_of_time_that_the_program_sets(method: str) -> None:
    found = _method(method, (shoal.KAnonymity(2),), ["links=kept"], None)
    assert found.linked


def test_spaces_around_the_sign_of_an_option_mean_nothing() -> None:
    """As the documentation writes it."""
    found = _method("generalize", (shoal.KAnonymity(2),), ["aggregates = { age = 'mean' }", "steps =7"], None)
    assert isinstance(found, shoal.Generalize)
    assert found.aggregates == {"age": "mean"}
    assert found.steps == 7


#: no promise is asked for in short
NOTHING = dict.fromkeys(SHORT)


@pytest.mark.parametrize(("said", "name"), [("'main diagnosis'", "main diagnosis"), ("patient's", "patient's")])
def test_promises_can_be_about_columns_with_spaces_in_their_names(said: str, name: str) -> None:
    asked = [f"entropy-l-diversity attribute={said} l=3"]
    assert _models(NOTHING, {}, asked, None) == (shoal.models.EntropyLDiversity(name, 3),)


def test_a_promise_that_is_none_gets_a_hint() -> None:
    with pytest.raises(ParameterError, match="There is no model `l-diversity`") as raised:
        _models(NOTHING, {}, ["l-diversity attribute=x l=2"], None)
    assert "`entropy-l-diversity`" in str(raised.value.hint)


def test_a_folder_that_is_called_as_a_file_is_says_what_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "people.csv").write_text("town\n" + "Ulm\nBonn\n" * 2)
    output = tmp_path / "my people.csv"
    anonymize(source=str(tmp_path / "people.csv"), output=output, k=2, method="generalize")
    *_, where, what = capsys.readouterr().out.splitlines()
    assert where == f"The release is in {output}. Anyone can check it with: shoal verify '{output}'"
    assert what == f"That is a folder. To write its records to one file: shoal export '{output}' FILE.csv"


def _command() -> Any:
    """Return the command with a trial option that nothing else knows of."""
    command = get_command(app).commands["anonymize"]  # type: ignore[attr-defined]
    trial = copy(next(each for each in command.params if each.name == "t"))
    trial.name, trial.opts, trial.expose_value = "trial", ["--e"], False
    command.params.append(trial)
    return command


_OPTIONS = {each.name: each for each in _command().params if each.opts[0].startswith("-") and each.name != "help"}


def _beside_a_plan(folder: Path, name: str) -> str:
    """Return what is said to one option beside a plan, of which nothing else is there."""
    option = _OPTIONS[name]
    given = [option.opts[0]] if option.is_flag else [option.opts[0], "1"]
    with pytest.raises(ShoalError) as raised:
        _command().main(
            [str(folder / "absent.csv"), "--output", str(folder / "release"), *given, "--plan", "plan.toml"],
            standalone_mode=False,
        )
    return str(raised.value)


@pytest.mark.parametrize("name", sorted(set(_OPTIONS) - BESIDE_A_PLAN - {"plan"}))
def test_a_plan_refuses_every_option_that_it_may_decide(name: str, tmp_path: Path) -> None:
    said = _beside_a_plan(tmp_path, name)
    assert f"--plan cannot be combined with `{_OPTIONS[name].opts[0]}`" in said


def test_a_new_option_is_refused_beside_a_plan(tmp_path: Path) -> None:
    assert "`--e`" in _beside_a_plan(tmp_path, "trial")


@pytest.mark.parametrize("name", sorted(BESIDE_A_PLAN - {"source"}))
def test_a_plan_allows_the_options_that_it_does_not_decide(name: str, tmp_path: Path) -> None:
    assert "cannot be combined" not in _beside_a_plan(tmp_path, name)


def test_a_second_release_of_a_table_is_warned_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "people.csv").write_text("town\n" + "Ulm\nBonn\n" * 2)
    for name in ("first", "second"):
        anonymize(source=str(tmp_path / "people.csv"), output=tmp_path / name, k=2, method="generalize")
    first, second = capsys.readouterr().out.split("The release is in")[:2]
    assert "shoal series" not in first
    assert "holds `first`" in second
    assert "`shoal series risk`" in second


@pytest.mark.parametrize(("ending", "beside", "more"), [(".csv", None, {"data.csv"}), (".xlsx", "release.xlsx", set())])
def test_records_come_back_in_the_format_of_the_input(
    ending: str, beside: str | None, more: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = tmp_path / f"people{ending}"
    tables.write(tables.read(pa.table({"town": ["Ulm", "Bonn"] * 3})), people)
    (tmp_path / "people.schema.toml").write_text('shoal = 1\n[columns.town]\nrole = "quasi-identifier"\n')
    output = tmp_path / "release"
    anonymize(source=str(people), output=output, k=2, method="generalize")
    assert {path.name for path in output.iterdir()} - {PLAN, SUMMARY, REPORT, "certificate.json"} == {
        "data.parquet",
        *more,
    }
    assert shoal.verify(output).passed
    assert {path.name for path in tmp_path.iterdir()} == {
        people.name,
        "people.schema.toml",
        "release",
        *([beside] if beside else []),
    }
    if beside is not None:
        assert sorted(shoal.read(tmp_path / beside).to_arrow()["town"].to_pylist()) == ["Bonn"] * 3 + ["Ulm"] * 3
        assert beside in capsys.readouterr().out
        with pytest.raises(OutputError, match=r"release2\.xlsx already exists"):
            (tmp_path / "release2.xlsx").touch()
            anonymize(source=str(people), output=tmp_path / "release2", k=2, method="generalize")
        assert not (tmp_path / "release2").exists()
