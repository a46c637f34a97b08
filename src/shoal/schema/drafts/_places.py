"""Places whose regions everybody knows: the states of the United States and of Germany."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.schema.rules import Groups

_US = {
    "Northeast": "CT Connecticut, ME Maine, MA Massachusetts, NH New Hampshire, NJ New Jersey, NY New York, "
    "PA Pennsylvania, RI Rhode Island, VT Vermont",
    "Midwest": "IA Iowa, IL Illinois, IN Indiana, KS Kansas, MI Michigan, MN Minnesota, MO Missouri, NE Nebraska, "
    "ND North Dakota, OH Ohio, SD South Dakota, WI Wisconsin",
    "South": "AL Alabama, AR Arkansas, DC District of Columbia, DE Delaware, FL Florida, GA Georgia, KY Kentucky, "
    "LA Louisiana, MD Maryland, MS Mississippi, NC North Carolina, OK Oklahoma, SC South Carolina, TN Tennessee, "
    "TX Texas, VA Virginia, WV West Virginia",
    "West": "AK Alaska, AZ Arizona, CA California, CO Colorado, HI Hawaii, ID Idaho, MT Montana, NM New Mexico, "
    "NV Nevada, OR Oregon, UT Utah, WA Washington, WY Wyoming",
    "Territories": "AS American Samoa, GU Guam, MP Northern Mariana Islands, PR Puerto Rico, VI Virgin Islands",
}
_GERMANY = {
    "Nord": "SH Schleswig-Holstein, HH Hamburg, NI Niedersachsen, HB Bremen, MV Mecklenburg-Vorpommern",
    "Ost": "BE Berlin, BB Brandenburg, SN Sachsen, ST Sachsen-Anhalt, TH Thüringen",
    "West": "NW Nordrhein-Westfalen, HE Hessen, RP Rheinland-Pfalz, SL Saarland",
    "Süd": "BY Bayern, BW Baden-Württemberg",
}
_FEWEST = 3


def _written(table: dict[str, str], *, names: bool) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple(
        (region, tuple(each.strip().split(" ", 1)[names] for each in listed.split(",")))
        for region, listed in table.items()
    )


#: By name; each as the regions with all their states, written with two letters or in full.
STATES = {
    "US states": (_written(_US, names=False), _written(_US, names=True)),
    "German states": (_written(_GERMANY, names=False), _written(_GERMANY, names=True)),
}


def states(texts: Sequence[str]) -> str:
    """Return which states texts are, by name, or an empty text; all must be written alike, and be more than a few."""
    for name, ways in STATES.items():
        for regions in ways:
            members = {state for _, group in regions for state in group}
            if len(set(texts)) >= _FEWEST and members.issuperset(texts):
                return name
    return ""


def regions_of(name: str, length: int) -> Groups:
    """Return the regions of states that are written with so many characters: two, or in full."""
    short, full = STATES[name]
    return Groups(levels=(short if length == 2 else full,))
