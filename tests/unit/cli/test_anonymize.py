"""What the options of `shoal anonymize` mean."""

from __future__ import annotations

from pathlib import Path

import pytest

import shoal
from shoal.cli._anonymize import _method, _models, anonymize
from shoal.errors import ParameterError


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


@pytest.mark.parametrize(("said", "name"), [("'main diagnosis'", "main diagnosis"), ("patient's", "patient's")])
def test_promises_can_be_about_columns_with_spaces_in_their_names(said: str, name: str) -> None:
    asked = [f"entropy-l-diversity attribute={said} l=3"]
    assert _models(None, [], [], asked, {"epsilon": None, "delta": None}, None) == (shoal.EntropyLDiversity(name, 3),)


def test_a_promise_that_is_none_gets_a_hint() -> None:
    with pytest.raises(ParameterError, match="There is no model `l-diversity`") as raised:
        _models(None, [], [], ["l-diversity attribute=x l=2"], {"epsilon": None, "delta": None}, None)
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
