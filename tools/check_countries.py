"""Compare the list of countries with two public ones: codes with pycountry, regions with country_converter.

``pip install pycountry country_converter && python tools/check_countries.py``: neither is needed to build or use Shoal,
and nothing of them is copied. It prints every difference and fails if there is one besides those that are known.
"""

from __future__ import annotations

import csv
import sys
from importlib.metadata import distribution
from pathlib import Path

import pycountry

LIST = Path(__file__).parents[1] / "src" / "shoal" / "schema" / "rules" / "countries.txt"
#: how the list groups the United Nations' smallest regions
MERGED = {
    "Sub-Saharan Africa": ("Eastern Africa", "Middle Africa", "Southern Africa", "Western Africa"),
    "Latin America and the Caribbean": ("Caribbean", "Central America", "South America"),
    "Pacific islands": ("Melanesia", "Micronesia", "Polynesia"),
}
#: Kosovo's code is one that ISO leaves to users, and Antarctica is in no region
KNOWN = ["XK XKX is not in pycountry", "AQ ATA is missing"]


def listed() -> dict[tuple[str, str], str]:
    """Return the sub-region of every pair of codes in our list."""
    found = {}
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            place, _, countries = line.partition(": ")
            for each in countries.split("; "):
                short, long, _ = each.split(" ", 2)
                found[short, long] = place.partition(" / ")[2]
    return found


def regions() -> dict[str, str]:
    """Return the United Nations' region of every code of three letters, by the other list."""
    data = distribution("country_converter").locate_file("country_converter/country_data.tsv")
    text = Path(str(data)).read_text(encoding="utf-8")
    above = {small: large for large, each in MERGED.items() for small in each}
    rows = csv.DictReader(text.splitlines(), delimiter="\t")
    return {row["ISO3"]: above.get(row["UNregion"], row["UNregion"]) for row in rows if not row["obsolete"]}


def main() -> None:
    """Print the differences."""
    ours, theirs = listed(), regions()
    official = {(each.alpha_2, each.alpha_3) for each in pycountry.countries}
    differences = [f"{' '.join(codes)} is not in pycountry" for codes in sorted(ours.keys() - official)]
    differences += [f"{' '.join(codes)} is missing" for codes in sorted(official - ours.keys())]
    differences += [
        f"{long} is in {region}, not in {theirs.get(long)}"
        for (_, long), region in sorted(ours.items())
        if theirs.get(long) != region
    ]
    print(*differences, sep="\n")
    print(f"{len(ours)} countries, {len(differences)} differences, of which {len(KNOWN)} are known")
    sys.exit(sorted(differences) != sorted(KNOWN))


if __name__ == "__main__":
    main()
