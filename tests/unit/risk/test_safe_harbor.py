"""The identifiers of Safe Harbor: each is found where it is, and what is coarse enough is not held against a table."""

from __future__ import annotations

import pyarrow as pa
import pytest

import shoal
from shoal.risk import IDENTIFIERS, Finding, Verdict, safe_harbor
from shoal.schema import Attribute, Kind, Role, Schema

N = 60


def _found(name: str, values: list[object], **described: object) -> Finding:
    settings = {"role": Role.QUASI_IDENTIFIER, **described}
    schema = Schema(attributes=(Attribute(name=name, **settings),))  # type: ignore[arg-type]
    (found,) = safe_harbor(shoal.read(pa.table({name: values})), schema)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "values", "letters"),
    [
        ("note", [f"someone{n % 20}@example.org" for n in range(N)], "F"),
        ("note", [f"https://example.org/{n % 20}" for n in range(N)], "N"),
        ("note", [f"10.0.0.{n % 20}" for n in range(N)], "O"),
        ("surname", [["Ada Lovelace", "Alan Turing", "Grace Hopper"][n % 3] for n in range(N)], "A"),
        ("zip", [f"0012{n % 6}" for n in range(N)], "B"),
        ("admitted", [f"2024-0{n % 9 + 1}" for n in range(N)], "C"),
        ("admitted", [f"2024-Q{n % 4 + 1}" for n in range(N)], "C"),
        ("age", [str(88 + n % 6) for n in range(N)], "C"),
        ("age", [["[90, 95)", "[95, 100)"][n % 2] for n in range(N)], "C"),
    ],
)
def test_an_identifier_is_found(name: str, values: list[object], letters: str) -> None:
    found = _found(name, values)
    assert (found.letters, found.verdict) == (letters, Verdict.FOUND)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("admitted", [str(2020 + n % 5) for n in range(N)]),
        ("admitted", ["[2020, 2030)", "*"] * (N // 2)),
        ("age", [["[80, 100)", "[0, 80)"][n % 2] for n in range(N)]),
        ("sex", ["F", "M"] * (N // 2)),
    ],
)
def test_what_is_coarse_enough_is_not_reported(name: str, values: list[object]) -> None:
    assert _found(name, values).verdict is Verdict.NOTHING


def test_what_a_program_cannot_know_is_left_to_a_person() -> None:
    assert _found("zip", [f"{n % 3:03d}**" for n in range(N)]).verdict is Verdict.DECIDE
    assert _found("age", [["90 or over", "[80, 90)"][n % 2] for n in range(N)]).verdict is Verdict.DECIDE
    assert _found("licence number", [f"{n % 20}" for n in range(N)]).verdict is Verdict.DECIDE
    alone = _found("charge", [float(n) + 0.25 for n in range(N)], role=Role.SENSITIVE, kind=Kind.NUMERIC)
    assert (alone.letters, alone.verdict) == ("R", Verdict.DECIDE)


def test_a_pseudonym_that_is_computed_from_an_identifier_is_found() -> None:
    found = _found("patient", [f"{n % 20:032x}" for n in range(N)], role=Role.IDENTIFIER, pseudonym=True)
    assert (found.letters, found.verdict) == ("R", Verdict.FOUND)


def test_there_are_eighteen() -> None:
    assert "".join(IDENTIFIERS) == "ABCDEFGHIJKLMNOPQR"


def test_no_value_of_the_data_is_told() -> None:
    found = _found("note", [f"canary{n}@example.org" for n in range(N)])
    assert "canary" not in repr(found)
