"""Print the list of countries that Shoal bundles, from the table of the United Nations' OCHA in a package of theirs.

``pip install --no-deps hdx-python-country==4.2.5 && python tools/countries.py > src/shoal/schema/rules/countries.txt``.
The package is under the MIT licence, and is not needed to build or use Shoal. Codes, regions and the names that the
United Nations use are its own; the names that people use besides are ours.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from importlib.metadata import distribution
from pathlib import Path

#: the United Nations' smallest regions of the Pacific hold too few people to stand alone
MERGED = dict.fromkeys(("Melanesia", "Micronesia", "Polynesia"), "Pacific islands")
#: names in everyday use, former names, and spellings of well-known data sets
OTHER = {
    "BN": ("Brunei",),
    "BO": ("Bolivia",),
    "CC": ("Cocos Islands",),
    "CD": ("Congo, the Democratic Republic of the",),
    "CI": ("Ivory Coast",),
    "CV": ("Cape Verde",),
    "CZ": ("Czech Republic",),
    "FK": ("Falkland Islands",),
    "FM": ("Micronesia",),
    "GB": ("United Kingdom", "Great Britain", "UK", "England", "Scotland", "Wales"),
    "HK": ("Hong Kong", "Hong"),
    "IR": ("Iran",),
    "KP": ("North Korea",),
    "KR": ("South Korea", "Korea"),
    "LA": ("Laos",),
    "MD": ("Moldova",),
    "MF": ("Saint Martin",),
    "MK": ("Macedonia",),
    "MM": ("Burma",),
    "MO": ("Macao",),
    "NL": ("Netherlands", "Holland"),
    "PS": ("Palestine",),
    "RU": ("Russia",),
    "SJ": ("Svalbard and Jan Mayen",),
    "SX": ("Sint Maarten",),
    "SY": ("Syria",),
    "SZ": ("Swaziland",),
    "TR": ("Turkey",),
    "TT": ("Trinadad and Tobago",),
    "TW": ("Taiwan",),
    "TZ": ("Tanzania", "Tanzania, United Republic of"),
    "US": ("United States",),
    "VE": ("Venezuela",),
    "VN": ("Vietnam",),
    "WF": ("Wallis and Futuna",),
}
HEAD = """\
# Countries and areas by region, as the United Nations group them for statistics (M49), with their codes (ISO 3166-1).
# One line per sub-region: region / sub-region: code code name = other name; ...
# Made by tools/countries.py from hdx-python-country 4.2.5, Copyright (c) 2016 Michael Rans, under the MIT licence."""


def table() -> list[dict[str, str]]:
    """Return the rows of the package's table that are in force."""
    files = distribution("hdx-python-country").files or []
    file = next(str(each.locate()) for each in files if each.suffix == ".csv")
    with Path(file).open(encoding="utf-8") as stream:
        return [row for row in csv.DictReader(stream) if row["Deprecated"] == "N" and row["Sub-region Name"]]


def main() -> None:
    """Print the list."""
    places: dict[str, list[str]] = defaultdict(list)
    for row in table():
        # what ISO leaves to users, such as Kosovo's, stands in columns of its own
        short, long = (row[f"ISO 3166-1 Alpha {n}-Codes"] or row[f"x Alpha{n} codes"] for n in (2, 3))
        if short and long:
            names = dict.fromkeys((row["Preferred Term"], row["M49 English"] or row["Preferred Term"]))
            part = MERGED.get(row["Sub-region Name"], row["Sub-region Name"])
            named = " = ".join((*names, *OTHER.get(short, ())))
            places[f"{row['Region Name']} / {part}"].append(f"{short} {long} {named}")
    print(HEAD)
    for place in sorted(places):
        print(f"{place}: {'; '.join(sorted(places[place]))}")


if __name__ == "__main__":
    main()
