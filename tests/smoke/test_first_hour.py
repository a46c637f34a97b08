"""The first hour with one's own data: invented tables, as messy as real ones, from draft to report, untouched."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet
import pytest

import shoal

N = 150
Rows = list[list[object]]
WORDS = (
    "battery",
    "theft",
    "driving",
    "under",
    "influence",
    "possession",
    "of",
    "cannabis",
    "trespass",
    "fraud",
    "assault",
)


def court(draw: random.Random) -> tuple[list[str], Rows]:
    header = "id,first,last,sex,dob,race,juv_fel_count,c_offense_date,c_charge_desc,c_jail_in,decile_score,is_recid"
    return header.split(","), [
        [
            n,
            "".join(draw.choices("abcdefgh", k=6)),
            "".join(draw.choices("klmnopq", k=7)),
            draw.choice(["Male", "Female"]),
            f"{draw.randrange(1950, 1998)}-{draw.randrange(1, 13):02d}-{draw.randrange(1, 29):02d}",
            draw.choice(["Caucasian", "African-American", "Hispanic", "Other"]),
            draw.choice([0, 0, 0, 1, 2]),
            f"2013-{draw.randrange(1, 13):02d}-{draw.randrange(1, 29):02d}",
            " ".join(draw.sample(WORDS, 4)).title(),
            f"2013-{draw.randrange(1, 13):02d}-{draw.randrange(1, 29):02d} 06:{draw.randrange(60):02d}:41",
            draw.randrange(1, 11),
            draw.randrange(2),
        ]
        for n in range(N)
    ]


def labour_force(draw: random.Random) -> tuple[list[str], Rows]:
    header = ["nvivi", "edad", "sexo", "ecivil", "nac1", "prov", "relpp1", "ocup1", "horas", "factorel", "salario"]
    return header, [
        [
            10_000 + n // 3,
            draw.randrange(16, 90),
            draw.choice([1, 6]),
            draw.randrange(1, 5),
            draw.choice([1, 1, 1, 2, 3]),
            draw.randrange(1, 53),
            draw.randrange(1, 8),
            draw.randrange(1111, 9629),
            draw.choice([20, 35, 38, 40, 40, 999]),
            f"{draw.uniform(80, 900):.6f}",
            draw.randrange(600, 5000),
        ]
        for n in range(N)
    ]


def german_export(draw: random.Random) -> tuple[list[str], Rows]:
    header = ["Kundennummer", "Nachname", "Geschlecht", "Geburtsdatum", "PLZ", "Umsatz", "Umsatz", "Bemerkung", ""]
    return header, [
        [
            f"K{n:05d}",
            draw.choice(["Maier", "Schulz", "Yilmaz", "Koch", "Braun"]),
            draw.choice(["m", "w", "?"]),
            f"{draw.randrange(1, 29)}.{draw.randrange(1, 13)}.{draw.randrange(1940, 2000)}",
            f"{draw.randrange(1000, 99999):05d}",
            f"{draw.randrange(1, 9)}.{draw.randrange(100, 999)},{draw.randrange(10, 99)}",
            f"{draw.randrange(100, 999)},5",
            f"hat am {draw.randrange(1, 29)}. angerufen und wollte {draw.choice(WORDS)} {n}",
            "",
        ]
        for n in range(N)
    ]


def hospital(draw: random.Random) -> tuple[list[str], Rows]:
    header = [
        "encounter_id",
        "patient_nbr",
        "race",
        "gender",
        "age",
        "weight",
        "diag_1",
        "insulin",
        "tolbutamide",
        "hiv",
    ]
    return header, [
        [
            n,
            draw.randrange(N // 2),
            draw.choice(["Caucasian", "AfricanAmerican", "?"]),
            draw.choice(["Male", "Female"]),
            draw.choice(["[50-60)", "[60-70)", "[70-80)"]),
            "?" if draw.random() < 0.95 else "[75-100)",
            draw.choice(["250.83", "276", "648", "8", "V27", "401"]),
            draw.choice(["No", "Up", "Steady"]),
            "No",
            draw.choice(["no", "no", "no", "yes"]),
        ]
        for n in range(N)
    ]


def without_header(draw: random.Random) -> tuple[list[str], Rows]:
    _, rows = hospital(draw)
    return [str(cell) for cell in rows[0]], rows[1:]


def wide_study(draw: random.Random) -> tuple[list[str], Rows]:
    header = [f"v{n:03d}" for n in range(18)]
    return header, [
        [draw.choice([1, 2, 3, 9]) if n % 3 else f"{draw.gauss(0, 1):.5f}" for n in range(18)] for _ in range(N)
    ]


def loans(draw: random.Random) -> tuple[list[str], Rows]:
    header = [
        "email",
        "phone",
        "ip_address",
        "num_accounts",
        "annual_inc",
        "emp_title",
        "dti",
        "country",
        "loan_status",
    ]
    return header, [
        [
            f"person{n}@example.org",
            f"+49 30 {9010000 + n}",
            f"192.0.2.{n % 250}",
            draw.randrange(12),
            draw.choice([24_000, 36_000, 52_000, 75_000, 120_000, 2_400_000]),
            draw.choice(["teacher", "nurse", "driver", "clerk"]),
            f"{draw.uniform(0, 40):.4f}",
            draw.choice(["Austria", "Germany", "France", "United States", "Japan"]),
            draw.choice(["paid", "late", "default"]),
        ]
        for n in range(N)
    ]


#: the shapes, and the columns that must not leave as they are
SHAPES: list[tuple[Callable[[random.Random], tuple[list[str], Rows]], str, set[str]]] = [
    (court, ",", {"first", "last", "sex", "dob", "race", "c_offense_date", "c_jail_in", "c_charge_desc"}),
    (labour_force, ",", {"nvivi", "edad", "sexo", "ecivil", "nac1", "prov", "relpp1", "ocup1", "factorel"}),
    (german_export, ";", {"Kundennummer", "Nachname", "Geschlecht", "Geburtsdatum", "PLZ", "Bemerkung"}),
    (hospital, ",", {"encounter_id", "patient_nbr", "race", "gender", "age", "weight"}),
    (without_header, ",", {"column_1", "column_2", "column_3"}),
    (wide_study, ",", {f"v{n:03d}" for n in range(18)}),
    (loans, ",", {"email", "phone", "ip_address", "num_accounts", "emp_title", "dti", "country"}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "delimiter", "risky"), SHAPES, ids=lambda each: getattr(each, "__name__", ""))
def test_no_table_ends_in_a_dead_end(shape, delimiter: str, risky: set[str], tmp_path: Path) -> None:
    header, rows = shape(random.Random(7))
    path = tmp_path / "data.csv"
    title = "Auswertung Kunden\n\n" if shape is german_export else ""
    lines = "\n".join(delimiter.join(map(str, row)) for row in [header, *rows])
    path.write_text(f"{title}{lines}\n", encoding="utf-8-sig")
    table = shoal.read(path)
    keep = header[:6] if shape in (without_header, wide_study) else []
    drafted = shoal.draft(table, keep=[table.columns[header.index(name)] for name in keep])
    schema = drafted.schema
    assert not [name for name in risky if schema[name].role in ("sensitive", "insensitive")]
    for name in drafted.undecided:
        schema = schema.with_role(name, "drop")
    table = table.with_schema(schema)
    assert shoal.assess(table).reidentification.records == N
    release = shoal.anonymize(table, shoal.KAnonymity(3))
    folder = release.write(tmp_path / "release")
    assert (folder / "report.html").exists()
    released = pyarrow.parquet.read_table(folder / "data.parquet").to_pandas()
    quasi = list(schema.quasi_identifiers)
    assert released.groupby(quasi, dropna=False).size().min() >= 3
    assert not set(released.columns) & set(schema.identifiers)


def test_what_the_draft_knows_of_the_messy_export(tmp_path: Path) -> None:
    header, rows = german_export(random.Random(7))
    path = tmp_path / "data.csv"
    path.write_text("\n".join(";".join(map(str, row)) for row in [header, *rows]) + "\n")
    table = shoal.read(path)
    schema = shoal.draft(table).schema
    assert table.columns[-2:] == ("Bemerkung", "column_9")
    assert schema["Geburtsdatum"].reading.date_format == "dd.mm.yyyy"
    assert replace(schema["Umsatz"].reading, round_to=None) == shoal.schema.Reading(decimal=",", thousands=".")
    assert schema["Umsatz"].reading.round_to == 200
    assert schema["Geschlecht"].reading.missing_values == ("?",)
    assert (schema["Bemerkung"].role, schema["column_9"].role) == ("drop", "drop")
