"""Promises in short are described once: the faces ask for them and spell none of them out."""

from __future__ import annotations

import inspect
from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from shoal import methods, models
from shoal.cli._anonymize import _models as asked_on_the_command_line
from shoal.cli._anonymize import anonymize
from shoal.comparison import Grid
from shoal.exact import describe_parameters
from shoal.methods import promises
from shoal.methods.shorthand import SHORT, asked_in_short, by_column, in_short, short_of

SOURCE = Path(shoal.__file__).parent
FACES = (
    "cli/_anonymize.py",
    "comparison/_grid.py",
    "web/_commands.py",
    "web/static/promise.js",
    "web/templates/promise.html",
)


def test_every_short_name_is_an_argument_of_every_face() -> None:
    for face in (anonymize, shoal.anonymize, Grid):
        assert {*SHORT} <= {*inspect.signature(face).parameters}


def test_a_short_name_that_a_face_forgets_is_an_error_and_not_a_promise_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SHORT, "beta", (models.BetaLikeness,))
    people = pa.table({"age": [31, 45, 62, 78]})
    with pytest.raises(KeyError, match="beta"):
        shoal.anonymize(people, k=2)
    with pytest.raises(KeyError, match="beta"):
        asked_on_the_command_line({"k": 2, "l": None, "t": None, "epsilon": None}, {}, [], None)


@pytest.mark.parametrize("face", FACES)
def test_no_face_names_a_promise_that_has_a_short_name(face: str) -> None:
    text = (SOURCE / face).read_text(encoding="utf-8")
    names = {f'"{kind.name}"' for kinds in SHORT.values() for kind in kinds}
    assert not [name for name in names if name in text or name.replace('"', "'") in text]


def test_what_is_asked_in_short_is_shown_in_short() -> None:
    given = {"k": 5, "l": {"illness": 3}, "t": {"illness": 0.2}, "epsilon": 1}
    for name, parameters in asked_in_short(given, more={"delta": "1e-6"}):
        promise = promises.from_parameters(name, parameters)
        shown = short_of(promise, "truthful" if promise.short == "epsilon" else "generalize")
        assert shown is not None
        first, column, value = shown[0]
        assert (first, column) == (promise.short, "illness" if by_column(first) else None)
        assert value == (given[first] if column is None else given[first][column])  # type: ignore[index]


def test_what_is_the_default_need_not_be_shown() -> None:
    shown = short_of(shoal.DifferentialPrivacy(epsilon=1, delta="1e-6", definition="probabilistic"), "truthful")
    assert shown == [("epsilon", None, 1), ("delta", None, 1e-6)]


def test_a_promise_of_which_a_short_name_says_only_a_part_is_not_shown_in_short() -> None:
    assert short_of(shoal.TCloseness("age", 0.2, distance="ordered"), "generalize") is None
    assert short_of(shoal.models.EntropyLDiversity("age", 3), "generalize") is None
    assert short_of(shoal.KAnonymity(3), "swap") is None, "k of a swap is another promise"


@pytest.mark.parametrize("method", methods.names())
def test_short_names_stand_for_promises_that_the_method_keeps(method: str) -> None:
    able = methods.by_name(method).capabilities
    if able.private_promise is not None:
        assert in_short("epsilon", method).name == able.private_promise
    assert in_short("k", method).name == able.model_for_k


def test_every_parameter_is_described() -> None:
    kinds = [methods.by_name(name) for name in methods.names()] + [promises.kind(name) for name in promises.names()]
    known = {"whole", "number", "choice", "column", "columns", "flag", "text", "structure"}
    for kind in kinds:
        for parameter in describe_parameters(kind):
            assert parameter.expected.kind in known, f"{parameter.name} of {kind.__name__}"
    (limit,) = (each for each in describe_parameters(shoal.Generalize) if each.name == "suppression_limit")
    assert limit.expected.bounds == ("0", "1")


def test_the_app_takes_no_sentence_of_an_error_apart() -> None:
    words = (SOURCE / "web" / "_words.py").read_text()
    assert "import re" not in words
    assert "problem.match" not in (SOURCE / "web" / "static" / "promise.js").read_text()
