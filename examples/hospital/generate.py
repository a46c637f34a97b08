"""Make a hospital-discharge table of invented people.

    python generate.py                                              # discharges.csv, 10,000 rows
    python generate.py --rows 1200000 --output discharges.parquet   # as large as you like

Every row is one stay of one invented patient. The table is drawn, not copied: `casemix.csv` says how often each
diagnosis occurs, at what age, in which sex and season, how long people stay and what it costs; `hierarchies/zip.csv`
lists the ZIP codes. Row blocks have seeds of their own, so memory is bounded and the same seed gives the same rows.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

HERE = Path(__file__).resolve().parent
ROWS, SEED, BLOCK = 10_000, 2024, 1_000_000

AGES = np.arange(100)
FIRST_DAY = np.datetime64("2024-01-01")
DAYS = 731  # 2024 and 2025
LONGEST_STAY = 120
CHARGES = (100.0, 2_000_000.0)
MISSING_ZIP, MISSING_CHARGE = 0.015, 0.003
# Multiplication modulo a prime: identifiers are unique without being a running number.
ID_FACTOR, ID_MODULUS = 387_420_489, 1_000_000_007

FEMALE = "Ada Amira Bella Clara Dora Elif Emma Fatima Grace Hana Ines Iris Julia Leila Lena Mara Maya Nadia Nora Olga "
FEMALE += "Paula Rosa Sara Sofia Tara Uma Vera Wanda Yara Zoe"
MALE = "Adam Ali Anton Ben Bruno Carl Daniel David Elias Emil Felix Hugo Ivan Jack Jonas Karim Leo Luca Marco Martin "
MALE += "Milan Noah Omar Oscar Paul Peter Ravi Samuel Tom Viktor"
SURNAMES = "Abel Adler Baker Berg Bishop Carter Castro Cole Costa Cruz Dahl Diaz Doyle Eder Ellis Evans Fischer Flores "
SURNAMES += "Ford Garcia Gray Haas Hall Hansen Hill Ito Jensen Jones Kaya Keller Khan Kim King Lang Lee Lopez Marsh "
SURNAMES += "Meyer Mills Moore Moreno Nagy Novak Olsen Ortiz Park Patel Perez Popov Price Reyes Rossi Sato Silva Stone "
SURNAMES += "Tran Vogel Wagner Weber Wood"

#: the share of each region's people, and how much older (+) or younger (-) than average they are
REGIONS = {
    "Harbour": (0.38, -0.25),
    "Valley": (0.22, 0.0),
    "Plains": (0.12, 0.35),
    "Uplands": (0.10, 0.15),
    "Lakes": (0.18, 0.25),
}
#: what the same stay costs there
PRICES = {"Harbour": 1.18, "Valley": 1.0, "Plains": 0.86, "Uplands": 0.9, "Lakes": 1.04}

Numbers = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


def main() -> None:
    """Write the table that the command line asks for."""
    parser = argparse.ArgumentParser(description="Make a hospital-discharge table of invented people.")
    parser.add_argument("--rows", type=int, default=ROWS, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=SEED, help="same seed, same rows (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=HERE / "discharges.csv", help="a .csv or .parquet file")
    arguments = parser.parse_args()
    if not 0 <= arguments.rows < ID_MODULUS or arguments.seed < 0:
        parser.error(f"--rows must be in [0, {ID_MODULUS}) and --seed at least 0")
    write(arguments.output, rows=arguments.rows, seed=arguments.seed)


def write(path: Path, *, rows: int = ROWS, seed: int = SEED) -> None:
    """Write ``rows`` rows to a CSV file, or to a Parquet file where the name ends so."""
    if path.suffix == ".parquet":
        with pyarrow.parquet.ParquetWriter(path, next(blocks(0, seed)).schema) as parquet:
            for block in blocks(rows, seed):
                parquet.write_table(block)
        return
    plain = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
    with path.open("wb") as file:
        for number, block in enumerate(blocks(rows, seed)):
            if number == 0:
                file.write(",".join(block.column_names).encode() + b"\n")
            pyarrow.csv.write_csv(_as_text(block), file, plain)


def blocks(rows: int, seed: int = SEED) -> Iterator[pa.Table]:
    """Yield the table in blocks; an empty table is one empty block."""
    hospital = Hospital()
    for number, first in enumerate(range(0, max(rows, 1), BLOCK)):
        random = np.random.default_rng((seed, number))
        yield hospital.discharges(random, first, min(BLOCK, rows - first))


class Hospital:
    """The probabilities of every attribute given those drawn before it."""

    def __init__(self) -> None:
        with (HERE / "casemix.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        with (HERE / "hierarchies" / "zip.csv").open(encoding="utf-8", newline="") as file:
            places = [(row[0], row[3]) for row in csv.reader(file, delimiter=";")]
        mix = {name: np.array([float(row[name]) for row in rows]) for name in rows[0] if name not in ("code", "title")}
        regions = list(REGIONS)

        self.codes = [row["code"] for row in rows]
        self.zips = [code for code, _ in places]
        self.stay, self.charge = mix["stay"], mix["charge"]
        self.price = np.array([PRICES[region] for region in regions])
        self.share_of_code = mix["share"][np.newaxis]
        self.age_of_code = _ages(mix)
        self.female_of_code = mix["female"]
        self.day_of_code = _days(mix["winter"])
        self.region_of_age = _regions()
        self.zip_of_region = _towns([regions.index(region) for _, region in places])

    def discharges(self, random: np.random.Generator, first: int, rows: int) -> pa.Table:
        """Draw ``rows`` stays, numbered from ``first``."""
        code = _draw(random, self.share_of_code, np.zeros(rows, dtype=np.int64))
        age = _draw(random, self.age_of_code, code)
        female = random.random(rows) < _older_women(self.female_of_code[code], age)
        day = _draw(random, self.day_of_code, code)
        region = _draw(random, self.region_of_age, age)
        town = _draw(random, self.zip_of_region, region)
        stay = self._stays(random, code, age)
        charge = self._charges(random, code, stay, region)
        identifier = (np.arange(first + 1, first + rows + 1) * ID_FACTOR) % ID_MODULUS
        return pa.table(
            {
                "patient_id": pc.binary_join_element_wise("P", _digits(identifier), ""),
                "name": _names(random, female),
                "age": pa.array(age, type=pa.int64()),
                "sex": _labels(["F", "M"], np.where(female, 0, 1)),
                "zip": _labels(self.zips, town, missing=random.random(rows) < MISSING_ZIP),
                "admission_date": pa.array(FIRST_DAY + day, type=pa.date32()),
                "diagnosis": _labels(self.codes, code),
                "length_of_stay": pa.array(stay, type=pa.int64()),
                "charge": pa.array(charge, mask=random.random(rows) < MISSING_CHARGE),
            }
        )

    def _stays(self, random: np.random.Generator, code: Codes, age: Codes) -> Codes:
        """Draw days of stay: log-normal around the diagnosis's median, 6 % longer per decade above 50."""
        slower = 0.006 * np.maximum(age - 50, 0)
        median = np.log(self.stay[code]) + slower
        days = np.exp(median + 0.5 * random.standard_normal(len(code)))
        return np.clip(np.rint(days), 1, LONGEST_STAY).astype(np.int64)

    def _charges(self, random: np.random.Generator, code: Codes, stay: Codes, region: Codes) -> Numbers:
        """Draw a charge in cents' precision: log-normal, growing with the stay against what is usual."""
        longer = 0.7 * np.log(stay / self.stay[code])
        centre = np.log(self.charge[code] * self.price[region]) + longer
        charge = np.exp(centre + 0.4 * random.standard_normal(len(code)))
        return np.round(np.clip(charge, *CHARGES), 2)


def _draw(random: np.random.Generator, weights: Numbers, given: Codes) -> Codes:
    """Draw a column of ``weights`` for every row number in ``given``.

    Row r's cumulative weights are shifted by r, so that one sorted array serves all rows.
    """
    rows, columns = weights.shape
    cumulative = np.cumsum(weights, axis=1)
    cumulative = cumulative / cumulative[:, -1:] + np.arange(rows)[:, np.newaxis]
    found = np.searchsorted(cumulative.ravel(), given + random.random(len(given)), side="right")
    return np.minimum(found - given * columns, columns - 1)


def _ages(mix: dict[str, Numbers]) -> Numbers:
    """Weigh ages per diagnosis: a bump around its usual age, within its limits, times those still alive."""
    people = 1 / (1 + np.exp((AGES - 86) / 5))
    bump = np.exp(-0.5 * ((AGES - mix["age"][:, np.newaxis]) / mix["spread"][:, np.newaxis]) ** 2)
    allowed = (mix["youngest"][:, np.newaxis] <= AGES) & (mix["oldest"][:, np.newaxis] >= AGES)
    return bump * people * allowed


def _older_women(female: Numbers, age: Codes) -> Numbers:
    """Raise the odds of women above 75, of whom more are alive; 0 and 1 stay what they are."""
    odds = np.exp(0.03 * np.maximum(age - 75, 0))
    return female * odds / (female * odds + 1 - female)


def _days(winter: Numbers) -> Numbers:
    """Weigh the days per diagnosis: a yearly wave that peaks in mid-January, or in July where negative."""
    of_year = (np.arange(DAYS) % 365.25 - 14) / 365.25
    return 1 + winter[:, np.newaxis] * np.cos(2 * np.pi * of_year)


def _regions() -> Numbers:
    """Weigh the regions per age: younger and older regions."""
    share, older = np.array(list(REGIONS.values())).T
    return share * np.exp(older * (AGES[:, np.newaxis] - 45) / 45)


def _towns(region_of_zip: list[int]) -> Numbers:
    """Weigh the ZIP codes per region: a few towns are large, many are small (Zipf with exponent 0.9)."""
    weights = np.zeros((len(REGIONS), len(region_of_zip)))
    for region in range(len(REGIONS)):
        here = np.flatnonzero(np.equal(region_of_zip, region))
        # a fixed stride through the codes: the large towns are not all in one corner
        rank = np.argsort((np.arange(len(here)) * 7 + 3) % len(here), kind="stable")
        weights[region, here] = (1.0 + rank) ** -0.9
    return weights


def _names(random: np.random.Generator, female: npt.NDArray[np.bool_]) -> pa.Array:
    given = [*FEMALE.split(), *MALE.split()]
    surnames = SURNAMES.split()
    chosen = np.where(female, 0, len(FEMALE.split())) + random.integers(0, len(MALE.split()), len(female))
    full = [f"{first} {last}" for first in given for last in surnames]
    return _labels(full, chosen * len(surnames) + random.integers(0, len(surnames), len(female)))


def _digits(numbers: Codes) -> pa.Array:
    return pc.utf8_lpad(pa.array(numbers).cast(pa.string()), 10, "0")


def _labels(labels: list[str], codes: Codes, missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    indices = pa.array(codes.astype(np.int32), mask=missing)
    return pa.DictionaryArray.from_arrays(indices, pa.array(labels)).cast(pa.string())


def _as_text(block: pa.Table) -> pa.Table:
    """Write charges with two decimals, always."""
    position = block.column_names.index("charge")
    cents = pc.cast(pc.round(block["charge"], 2), pa.decimal128(12, 2))
    return block.set_column(position, "charge", cents.cast(pa.string()))


if __name__ == "__main__":
    main()
