from fractions import Fraction
from typing import Literal

import pytest

from shoal.errors import VerificationError
from shoal.guarantees import COMMON_STEPS, Dropped, LeftOut, Ordered, Pseudonymized, Repeated
from shoal.guarantees._events import read_value
from shoal.methods.recode import Suppressed
from shoal.methods.steps import KINDS, read_steps
from shoal.methods.truthful._steps import Filtered


def test_a_sentence_has_the_fields_in_their_places() -> None:
    assert Suppressed(records=1200, of=3400).describe() == "Suppressed 1,200 of 3,400 records."
    assert Filtered(models=("k", "l")).describe() == "Left out classes that violate `k`, `l`."


def test_braces_in_a_name_are_letters_like_others() -> None:
    assert Filtered(models=("{0.__class__}", "{")).describe() == "Left out classes that violate `{0.__class__}`, `{`."


def test_an_event_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Suppressed(records=1, of=2).records = 3  # type: ignore[misc]


@pytest.mark.parametrize("name", ["", "event", "Spending", "no such step", None, []])
def test_a_step_that_no_method_takes_is_not_read(name: object) -> None:
    with pytest.raises(VerificationError, match="step 2 of the certificate is none that a method takes"):
        read_steps([Ordered().to_json(), {"step": name}])


@pytest.mark.parametrize(
    "changed",
    [
        {"records": "1"},
        {"records": True},
        {"records": 1.0},
        {"records": None},
        {"columns": "a"},
        {"columns": [1]},
        {"columns": {"a": 1}},
        {"note": "somebody lives here"},
        {"description": "Nobody was left out."},
        {"epsilon_spent": "1"},
    ],
)
def test_a_step_is_read_as_it_is_written_or_not_at_all(changed: dict[str, object]) -> None:
    step = {**LeftOut(records=1, columns=("a",)).to_json(), **changed}
    with pytest.raises(VerificationError, match="`left-out` is not as Shoal writes it"):
        read_steps([step])


@pytest.mark.parametrize("name", ["records", "columns", "description"])
def test_a_step_without_one_of_its_fields_is_not_read(name: str) -> None:
    step = LeftOut(records=1, columns=("a",)).to_json()
    del step[name]
    with pytest.raises(VerificationError):
        read_steps([step])


def test_steps_of_certificates_come_back_as_they_were() -> None:
    steps = (
        Repeated(columns=("id", "phone"), values=(3, 4), records=9),
        LeftOut(records=1, columns=("a", "b")),
        Suppressed(records=0, of=9),
        Ordered(),
    )
    assert read_steps([step.to_json() for step in steps]) == steps


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (int, "1"),
        (int, True),
        (bool, 1),
        (str, 1),
        (Fraction, 1),
        (Fraction, "1e9"),
        (Fraction, "0.5"),
        (Fraction, "1/0"),
        (Fraction, "9" * 2000),
        (int | None, "1"),
        (Literal["a", "b"], "c"),
        (tuple[int, ...], "12"),
        (tuple[int, ...], [1, None]),
        (tuple[tuple[int, int], ...], [[1, 2, 3]]),
        (tuple[tuple[int, int], ...], [[1]]),
    ],
)
def test_a_value_of_another_type_is_refused(kind: object, value: object) -> None:
    with pytest.raises((ValueError, ArithmeticError)):
        read_value(kind, value)


def test_values_are_read_as_their_types() -> None:
    assert read_value(tuple[tuple[int, int], ...], [[1, 2], [3, 4]]) == ((1, 2), (3, 4))
    assert read_value(int | None, None) is None
    assert read_value(Fraction, "-1/3") == Fraction(-1, 3)


def test_every_kind_of_step_has_a_name_of_its_own_and_can_be_read() -> None:
    assert {kind.name for kind in COMMON_STEPS} <= {*KINDS}
    assert all(
        kind.name == name and (hasattr(kind, "sentence") or "describe" in vars(kind)) for name, kind in KINDS.items()
    )


def test_columns_and_numbers_are_said_in_words() -> None:
    one, two = LeftOut(records=1, columns=("a",)), LeftOut(records=2000, columns=("a", "b"))
    assert one.describe() == "Left out 1 record with missing values in column `a`."
    assert two.describe() == "Left out 2,000 records with missing values in columns `a`, `b`."
    assert Pseudonymized(columns=("id",)).describe() == (
        "Replaced the identifying column `id` by HMAC-SHA-256 pseudonyms; anyone who holds the key can link them back."
    )


def test_a_sentence_names_some_of_many_columns_that_are_left_out() -> None:
    names = tuple(f"q{number}" for number in range(700))
    step = Dropped(columns=("id", *names), left_out=names)
    assert len(step.describe()) < 250
    assert step.describe().endswith("`q11` and 688 more.")
    assert tuple(step.to_json()["left_out"]) == names
