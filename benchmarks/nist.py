"""NIST's measure of files: k-marginal, propensity, unique matches, inconsistencies, beside processor seconds.

Data: the *Diverse Communities Data Excerpts* (national, Massachusetts) in the folder ``nist`` of ``SHOAL_DATA``. Tool:
``sdnist`` in an environment of its own, since it pins old libraries; ``SHOAL_SDNIST`` names its Python. Without it, the
k-marginal alone is printed, computed here by the definition of the tool (2.4): the tables of all pairs of columns but
PUMA and INDP, by PUMA where that is there, and numbers in twenty bands of the excerpt. MST and AIM are those of
`synthetic.py`; they run where ``SHOAL_PEERS`` is set, and files that are there are measured in any case.

Settings, fixed beforehand: every domain is NIST's published schema; ages have intervals of 5, 10, 20 years; income,
its ratio to poverty and weights are cut at round numbers, closer where many people are, and released in these
intervals; `find_hierarchies` finds those of codes for k-anonymity; the rules of `impossible` are what NIST's data
dictionary says of "N" and what everybody knows; density and industry category are derived. (Their public lists are not
at hand, so they are read off the excerpt: a value for every code.) Delta is 1e-5. Everything else is the program's
default. Arguments choose rows, as in ``nist.py national demographic``. What was measured is stored in the folder
``nist`` of ``SHOAL_RESULTS`` and not measured again.
"""

from __future__ import annotations

import bisect
import csv
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import pyarrow.csv as pc

import shoal
import synthetic
from shoal.methods import Method

DATA = Path(os.environ.get("SHOAL_DATA", Path(__file__).parents[2] / "shared" / "data")) / "nist"
SDNIST = os.environ.get("SHOAL_SDNIST")
FILES = {"national": ("national2019", "NATIONAL", "national"), "ma": ("ma2019", "MA", "massachusetts")}
FEATURES = {
    "demographic": ["AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "EDU", "PINCP_DECILE", "DVET", "DEYE"],
    "family": ["PUMA", "AGEP", "SEX", "MSP", "HISP", "RAC1P", "NOC", "NPF", "OWN_RENT", "PINCP_DECILE", "POVPIP"],
    "industry": ["PUMA", "SEX", "MSP", "HISP", "RAC1P", "OWN_RENT", "INDP_CAT", "EDU", "PINCP_DECILE"],
    "all": [],
}
EPSILONS = tuple(os.environ.get("SHOAL_EPSILONS", "0.1 1 10").split())
CROWDS = tuple(map(int, os.environ.get("SHOAL_CROWDS", "6 12").split()))
#: Columns that the tool puts into bands.
NUMBERS = ("AGEP", "POVPIP", "PINCP", "PWGTP", "WGTP")
IMPOSSIBLE = (
    [f"AGEP < 15 and {name} is not missing" for name in ("MSP", "PINCP", "PINCP_DECILE", "INDP")]
    + ["AGEP < 15 and DVET is not missing", "AGEP < 15 and EDU in (8, 9, 10, 11, 12)"]
    + [f"AGEP >= 15 and {name} is missing" for name in ("MSP", "PINCP", "PINCP_DECILE")]
    + ["AGEP < 3 and EDU is not missing", "AGEP >= 3 and EDU is missing", "AGEP < 5 and EDU in (5, 6, 7)"]
    + ["MSP is missing and PINCP_DECILE is not missing", "MSP is not missing and PINCP_DECILE is missing"]
    + ["AGEP < 5 and DPHY in (1, 2)", "AGEP < 5 and DREM in (1, 2)"]
    + ["AGEP >= 5 and DPHY is missing", "AGEP >= 5 and DREM is missing"]
    + ["HOUSING_TYPE != 1 and OWN_RENT != 0", "HOUSING_TYPE = 1 and OWN_RENT = 0"]
    + ["HOUSING_TYPE != 1 and WGTP >= 1", "HOUSING_TYPE = 1 and WGTP < 1"]
    + ["HOUSING_TYPE != 1 and NPF is not missing", "HOUSING_TYPE != 1 and NOC is not missing"]
    + [
        "HOUSING_TYPE = 1 and NOC is missing",
        "OWN_RENT = 0 and NPF is not missing",
        "OWN_RENT = 0 and NOC is not missing",
    ]
)
_WEIGHTS = [
    [1, *range(10, 110, 10), 120, 140, 160, 180, 200, 250, 300, 400, 600],
    [1, 20, 50, 100, 200, 400],
    [1, 50, 100, 200],
]
CHILDREN = (0, 1, 2, 3, 4, 5, 6, 7, 9)
IMPOSSIBLE += [
    f"NPF = {size} and NOC in ({', '.join(str(number) for number in CHILDREN if number >= size)})"
    for size in range(2, 10)
]
_LARGE = (85_000, 100_000, 125_000, 150_000, 200_000, 300_000, 500_000)
#: Round numbers, closer where many people are; tables are made of these intervals, never of single numbers.
CUTS = {
    "PINCP": [
        [0, 1, *range(2_500, 15_000, 2_500), *range(15_000, 40_000, 5_000), *range(40_000, 80_000, 10_000), *_LARGE],
        [0, 1, 5_000, 10_000, 20_000, 30_000, 40_000, 60_000, 100_000, 200_000],
        [1, 20_000, 40_000, 100_000],
    ],
    # nobody needs data to know that many have an income of 0, which is a ratio of 0
    "POVPIP": [[1, *range(25, 501, 25), 501], [1, 50, 100, 150, 200, 300, 400, 501], [1, 100, 200, 400]],
    "PWGTP": _WEIGHTS,
    "WGTP": _WEIGHTS,
}
DERIVED = {"DENSITY": "PUMA", "INDP_CAT": "INDP"}
#: Peers on the national excerpt, demographic columns, as NIST published them: k-marginal, propensity, unique matches.
PUBLISHED = {
    "AIM, epsilon 1": (976, 0.002, "14.1 %", "4.4 %"),
    "MST, epsilon 1": (958, 0.005, "12.5 %", "9.2 %"),
    "sdcMicro local suppression, k = 6": (907, 0.018, "47.4 %", "0 %"),
}


def records(file: str) -> list[dict[str, str]]:
    with (DATA / f"{file}.csv").open(encoding="utf-8") as source:
        return list(csv.DictReader(source))


def schema_text(file: str, columns: list[str], rows: list[dict[str, str]]) -> str:
    described = json.loads((DATA / f"{file}.json").read_text(encoding="utf-8"))["schema"]
    derived = {name: source for name, source in DERIVED.items() if {name, source} <= {*columns}}
    rules = [rule for rule in IMPOSSIBLE if {word for word in rule.split() if word.isupper()} <= {*columns}]
    lines = [f"impossible = {json.dumps(rules)}" if rules else "", ""]
    for name in columns:
        lines += [f"[columns.{name}]"]
        if name in derived and derived[name] != "INDP":
            pairs = {row[derived[name]]: row[name] for row in rows}
            values = ", ".join(f"{json.dumps(value)} = {json.dumps(label)}" for value, label in pairs.items())
            lines += ['role = "drop"', f'derived = {{ from = "{derived[name]}", values = {{ {values} }} }}', ""]
            continue
        if name in derived:
            lines += ['role = "drop"', f'derived = {{ from = "{derived[name]}", level = 1 }}', ""]
            continue
        lines += ['role = "quasi-identifier"', 'missing_values = ["N"]']
        entry = described[name]
        if name == "AGEP":
            lines += ['kind = "numeric"', "minimum = 0", "maximum = 99", "hierarchy = { intervals = [5, 10, 20] }"]
        elif "values" in entry:
            values = [str(value) for value in entry["values"] if str(value) != "N"]
            if name in ("EDU", "PINCP_DECILE", "NOC", "NPF"):
                lines += ['kind = "ordinal"', f"values = {json.dumps(sorted(values, key=int))}"]
            else:
                lines += [f"values = {json.dumps(values)}"]
            if name in derived.values() and name == "INDP":
                groups: dict[str, set[str]] = {}
                for row in rows:
                    if row[name] != "N":
                        groups.setdefault(row["INDP_CAT"], set()).add(row[name])
                listed = ", ".join(f"{json.dumps(group)} = {json.dumps(sorted(own))}" for group, own in groups.items())
                lines += [f"hierarchy = {{ groups = [{{ {listed} }}] }}"]
        else:
            lines += ['kind = "numeric"', f"minimum = {entry['min']}", f"maximum = {entry['max']}"]
            lines += [f"hierarchy = {{ cuts = {json.dumps(CUTS[name])} }}"]
        lines += [""]
    return "\n".join(lines)


def releases(table: shoal.Table) -> Iterator[tuple[str, Callable[[Path, Path], None]]]:
    """Return the name of every release, and what makes it and writes the file of records that analysts get of it."""
    for epsilon in EPSILONS:
        yield f"truthful-tables, epsilon {epsilon}", partial(_private, table, epsilon)
    for k, method in itertools.product(CROWDS, (shoal.methods.Mdav(), shoal.methods.Specialize())):
        yield f"{method.name}, k = {k}", partial(_crowds, table, k, method)


def _private(table: shoal.Table, epsilon: str, folder: Path, path: Path) -> None:
    private = shoal.DifferentialPrivacy(epsilon=epsilon, delta="1e-5")
    release = shoal.anonymize(table, private, method=shoal.methods.TruthfulTables(levels=_levels(table))).write(folder)
    shoal.estimate(release).write_records(path, overwrite=True)


def _crowds(table: shoal.Table, k: int, method: Method, folder: Path, path: Path) -> None:
    if isinstance(method, shoal.methods.Specialize):
        table = table.with_schema(shoal.find_hierarchies(table).schema)
    release = shoal.anonymize(table, shoal.KAnonymity(k), method=method).write(folder)
    shoal.released(release).write_concrete(path, overwrite=True)


def _levels(table: shoal.Table) -> dict[str, int]:
    """Return that columns of many numbers are released in their smallest intervals."""
    return {name: 1 for name in table.columns if name in CUTS}


def peers(file: str, feature: str, folder: Path) -> Iterator[tuple[str, tuple[Path, float]]]:
    """Return the files of synthetic records that there are, or can be made, with the seconds that they took."""
    label = "NIST" if (file, feature) == ("national", "demographic") else f"{file}-{feature}"
    rows = pc.read_csv(
        folder / "excerpt.csv", convert_options=pc.ConvertOptions(strings_can_be_null=False, null_values=[])
    )
    for epsilon, name in itertools.product(EPSILONS, synthetic.NAMES):
        made = synthetic.synthetic(label, rows, name, epsilon=epsilon, delta="1e-5", seed=0)
        if made is not None:
            yield f"{name} of dpmm, epsilon {epsilon}", made


#: The tool's own classes with the arguments of its report, whose pictures and regressions take ten times as long.
MEASURES = """
import json, sys
from pathlib import Path
import sdnist.metrics.propensity
import sdnist.report
from sdnist.load import TestDatasetName
from sdnist.metrics.inconsistency import Inconsistencies
from sdnist.metrics.kmarginal import KMarginal
from sdnist.metrics.propensity import PropensityMSE
from sdnist.metrics.unique_exact_matches import unique_exact_matches
from sdnist.report.dataset import Dataset
from sdnist.utils import SimpleLogger
path, name, root, folder = sys.argv[1:5]
data = Dataset(Path(path), SimpleLogger(), TestDatasetName[name], Path(root), False)
# the histogram of the picture takes most of the time, and no figure needs it
sdnist.metrics.propensity.pd.DataFrame.iterrows = lambda self: iter(())
marginal = KMarginal(data.d_target_data, data.d_synthetic_data, data.config["k_marginal"]["group_features"])
marginal.compute_score()
propensity = PropensityMSE(data.t_target_data, data.t_synthetic_data, Path(folder), data.features)
propensity.compute_score()
found = Inconsistencies(data.c_synthetic_data, Path(folder) / "inconsistencies")
Path(folder, "inconsistencies").mkdir()
found.compute()
groups = [float(each["Percent Records Inconsistent"]) for each in found.report_data["summary"]]
unique = unique_exact_matches(data.c_target_data, data.c_synthetic_data)[1]
print(json.dumps([int(marginal.score), round(propensity.pmse_score, 4), f"{unique} %", f"{max(groups)} %"]))
"""


def scores(path: Path, file: str, columns: list[str], root: Path) -> tuple[object, ...]:
    if SDNIST is None:
        return (int(k_marginal(path, file, columns)),)
    with tempfile.TemporaryDirectory() as folder:
        arguments = [str(path), FILES[file][0], str(root), folder]
        run = subprocess.run([SDNIST, "-c", MEASURES, *arguments], capture_output=True, text=True, cwd=folder)
    if run.returncode:
        raise RuntimeError(run.stderr)
    return tuple(json.loads(run.stdout.splitlines()[-1]))


def k_marginal(path: Path, file: str, columns: list[str]) -> float:
    """Return 1,000 times the mean overlap of all tables, as the tool does; it cuts off decimals."""
    with path.open(encoding="utf-8") as source:
        made = list(csv.DictReader(source))
    truth = records(FILES[file][0])
    bands = {name: _bands(truth, name) for name in NUMBERS if name in columns}

    def shares(rows: list[dict[str, str]], names: tuple[str, ...]) -> dict[tuple[str, ...], float]:
        cells = Counter(tuple(_band(row[name], bands.get(name)) for name in names) for row in rows)
        return {cell: count / len(rows) for cell, count in cells.items()}

    of_all = ("PUMA",) if "PUMA" in columns else ()
    distances = []
    for pair in itertools.combinations([name for name in columns if name not in ("PUMA", "INDP")], 2):
        one, other = shares(truth, of_all + pair), shares(made, of_all + pair)
        distances.append(sum(abs(one.get(cell, 0) - other.get(cell, 0)) for cell in {*one, *other}))
    return 1000 * (2 - sum(distances) / len(distances)) / 2


def _bands(rows: list[dict[str, str]], name: str) -> list[float]:
    """Return the largest number of each of twenty bands of the excerpt; 501 and more of POVPIP are one value."""
    numbers = sorted(float(row[name]) for row in rows if row[name] != "N" and (name, row[name]) != ("POVPIP", "501"))
    largest: dict[int, float] = {}
    for number, group in itertools.groupby(enumerate(numbers, start=1), key=lambda pair: pair[1]):
        ranks = [rank for rank, _ in group]
        share = (ranks[0] + ranks[-1]) / 2 / len(numbers)
        largest[min(int(20 * share), 19)] = number
    return sorted(largest.values())


def _band(value: str, bands: list[float] | None) -> str:
    return value if bands is None or value == "N" else str(bisect.bisect_left(bands[:-1], float(value)))


def target_root(folder: Path) -> Path:
    """Lay the data out as the tool expects them."""
    root = folder / "diverse_communities_data_excerpts"
    for file, _, place in FILES.values():
        (root / place).mkdir(parents=True)
        for ending in ("csv", "json"):
            (root / place / f"{file}.{ending}").write_bytes((DATA / f"{file}.{ending}").read_bytes())
    dictionary = json.loads((DATA / "data_dictionary.json").read_text(encoding="utf-8"))
    labels = {
        name: {code: {"name": str(label)} for code, label in entry.get("values", {}).items()}
        for name, entry in dictionary.items()
    }
    (root / "data_dictionary.json").write_text(json.dumps(dictionary), encoding="utf-8")
    (root / "mappings.json").write_text(json.dumps(labels), encoding="utf-8")
    (root / "config.json").write_text("{}", encoding="utf-8")
    return root


def main() -> None:
    chosen = {*sys.argv[1:]}
    for file, feature in itertools.product(FILES, FEATURES):
        if (chosen & {*FILES} and file not in chosen) or (chosen & {*FEATURES} and feature not in chosen):
            continue
        rows = records(FILES[file][0])
        columns = FEATURES[feature] or list(rows[0])
        stored = synthetic.RESULTS / "nist" / f"{file}-{feature}"
        stored.mkdir(parents=True, exist_ok=True)
        print(f"{file}, {feature}: {len(rows):,} records, {len(columns)} columns")
        print("  k-marginal, propensity, unique exact matches, inconsistent (worst group), CPU s")
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            root = target_root(folder)
            with (folder / "excerpt.csv").open("w", encoding="utf-8", newline="") as target:
                writer = csv.DictWriter(target, columns, extrasaction="ignore")
                writer.writeheader()
                writer.writerows(rows)
            (folder / "schema.toml").write_text(schema_text(FILES[file][0], columns, rows), encoding="utf-8")
            table = shoal.read(folder / "excerpt.csv", schema=folder / "schema.toml")
            for name, make in releases(table):
                _show(name, _stored(stored, name, lambda path, make=make: _timed(make, path), file, columns, root))
            for name, (path, spent) in peers(file, feature, folder):
                _show(name, _stored(stored, name, lambda _, made=(path, spent): made, file, columns, root))
        if (file, feature) == ("national", "demographic"):
            for name, figures in PUBLISHED.items():
                _show(f"{name} (published by NIST)", figures)


def _stored(
    folder: Path, name: str, made: Callable[[Path], tuple[Path, float]], file: str, columns: list[str], root: Path
) -> list[object]:
    """Return the scores of a release and its processor seconds; they are measured once, and then read."""
    slug = name.replace(", ", "-").replace(" = ", "").replace(" ", "-")
    path = folder / f"{slug}.json"
    if not path.exists():
        records, spent = made(folder / f"{slug}.csv")
        found = [*scores(records, file, columns, root), f"{spent:.0f} s"]
        path.write_text(json.dumps(found), encoding="utf-8")
    return list(json.loads(path.read_text(encoding="utf-8")))


def _timed(make: Callable[[Path, Path], None], path: Path) -> tuple[Path, float]:
    before = _spent()
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder) / "release", path)
    return path, _spent() - before


def _show(name: str, figures: Iterable[object]) -> None:
    print(f"  {name:<52}", *figures, flush=True)


def _spent() -> float:
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, kinds))


if __name__ == "__main__":
    main()
