"""Make a table of the visits to an invented clinic: several visits per patient, patients in households.

    python generate.py                       # visits.csv, 2,000 patients
    python generate.py --patients 200000 --output visits.csv

Every row is one visit. The table is drawn, not copied from anywhere. Most patients come once or twice; those with a
chronic illness come every few weeks, as in real clinics, and make up most of the rows.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import random
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
PATIENTS, SEED = 2_000, 2025
FIRST_DAY, DAYS = dt.date(2025, 1, 1), 365

#: the districts around the clinic, and the share of its patients
DISTRICTS = {"Old Town": 30, "Station": 24, "Mill Hill": 16, "Riverside": 12, "Airfield": 10, "Orchard": 8}
#: what short illnesses and chronic ones bring people in, and how often
SHORT = {"infection": 40, "injury": 25, "check-up": 20, "skin": 15}
CHRONIC = {"dialysis": 2, "diabetes": 6, "asthma": 5, "depression": 4}
#: visits per year of a chronic illness, and what a visit costs
YEARLY = {"dialysis": 60, "diabetes": 12, "asthma": 8, "depression": 15}
FEES = {"infection": 60, "injury": 120, "check-up": 90, "skin": 70}
FEES |= {"dialysis": 310, "diabetes": 85, "asthma": 75, "depression": 110}

COLUMNS = ("visit", "patient", "household", "age", "sex", "district", "visited", "reason", "fee")


def households(draw: random.Random, patients: int) -> Iterator[tuple[int, str, list[int]]]:
    """Return households, each with its number, its district and the ages of its members, until there are enough."""
    made, number = 0, 0
    while made < patients:
        size = min(draw.choices((1, 2, 3, 4, 5), weights=(35, 30, 15, 14, 6))[0], patients - made)
        adults = [draw.randint(20, 92) for _ in range(min(size, 2))]
        children = [max(0, min(adults) - draw.randint(20, 40)) for _ in range(size - len(adults))]
        yield number, draw.choices(list(DISTRICTS), weights=list(DISTRICTS.values()))[0], adults + children
        made, number = made + size, number + 1


def reasons(draw: random.Random, age: int) -> list[str]:
    """Return why a patient comes, once for every visit of the year."""
    found = draw.choices(list(SHORT), weights=list(SHORT.values()), k=draw.choices((1, 2, 3), weights=(60, 28, 12))[0])
    for illness, percent in CHRONIC.items():
        if draw.random() < percent / 100 * (0.4 if age < 40 else 1.3):
            found += [illness] * max(1, round(draw.gauss(YEARLY[illness], YEARLY[illness] / 4)))
    return found


def visits(patients: int, seed: int) -> list[dict[str, object]]:
    """Return the visits of a year, by day."""
    draw = random.Random(seed)  # noqa: S311 - invented people
    keys = draw.sample(range(100_000, 100_000 + 9 * patients), patients)
    rows: list[dict[str, object]] = []
    place = 0
    for household, district, ages in households(draw, patients):
        for age in ages:
            patient, sex = f"P{keys[place]}", draw.choice("FM")
            place += 1
            for reason in reasons(draw, age):
                rows.append(
                    {
                        "patient": patient,
                        "household": f"H{household:05d}",
                        "age": age,
                        "sex": sex,
                        "district": district,
                        "visited": FIRST_DAY + dt.timedelta(days=draw.randrange(DAYS)),
                        "reason": reason,
                        "fee": FEES[reason] + 5 * draw.randint(-4, 4),
                    }
                )
    rows.sort(key=lambda row: (row["visited"], row["patient"], row["reason"]))
    return [{"visit": f"V{number:07d}", **row} for number, row in enumerate(rows, start=1)]


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patients", type=int, default=PATIENTS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--output", type=Path, default=HERE / "visits.csv")
    given = parser.parse_args()
    with given.output.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(visits(given.patients, given.seed))


if __name__ == "__main__":
    main()
