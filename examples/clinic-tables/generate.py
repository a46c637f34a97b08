"""Make the clinic as three tables: patients, their visits, and what was prescribed in these.

    python generate.py                       # patients.csv, visits.csv, prescriptions.csv

Patients and visits are those of examples/clinic; prescriptions are drawn for every visit.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import random
from collections.abc import Iterable, Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: what is prescribed for a reason
DRUGS = {
    "infection": ("amoxicillin", "ibuprofen"),
    "injury": ("ibuprofen", "tramadol"),
    "check-up": (),
    "skin": ("cortisone",),
    "dialysis": ("epoetin", "heparin"),
    "diabetes": ("insulin", "metformin"),
    "asthma": ("salbutamol", "cortisone"),
    "depression": ("sertraline",),
}


def clinic() -> object:
    """Return the generator of the single table."""
    spec = importlib.util.spec_from_file_location("clinic", HERE.parent / "clinic" / "generate.py")
    if spec is None or spec.loader is None:
        raise SystemExit("examples/clinic is missing")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def split(rows: Iterable[Mapping[str, object]], seed: int) -> dict[str, list[dict[str, object]]]:
    """Return the three tables of the visits of one."""
    draw = random.Random(seed)  # noqa: S311 - invented people
    patients: dict[object, dict[str, object]] = {}
    visits, prescriptions = [], []
    for row in rows:
        patients.setdefault(row["patient"], {key: row[key] for key in ("patient", "age", "sex", "district")})
        visits.append({key: row[key] for key in ("visit", "patient", "visited", "reason", "fee")})
        for drug in DRUGS[str(row["reason"])]:
            if draw.random() < 0.6:
                prescriptions.append({"visit": row["visit"], "drug": drug, "days": draw.choice((5, 7, 10, 14, 30))})
    ordered = [patients[key] for key in sorted(patients, key=str)]
    return {"patients": ordered, "visits": visits, "prescriptions": prescriptions}


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patients", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=2025)
    parser.add_argument("--output", type=Path, default=HERE)
    given = parser.parse_args()
    rows = clinic().visits(given.patients, given.seed)  # type: ignore[attr-defined]
    for name, content in split(rows, given.seed).items():
        with (given.output / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, [*content[0]], lineterminator="\n")
            writer.writeheader()
            writer.writerows(content)


if __name__ == "__main__":
    main()
