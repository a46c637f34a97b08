"""What a forger might add to a release beside its values: bytes, rows, files and notations that nobody looks at."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from forgeries import forger
from forgeries import test_datasets as datasets
from forgeries import test_forgeries as folders
from forgeries import test_parts as parts
from forgeries import test_persons as persons
from forgeries import test_values as values
from golden.artefacts import release
from golden.cases import CASES
from shoal import methods
from shoal.errors import VerificationError
from shoal.folder import OUR_VERIFIER, VERIFIER

NOTE = "somebody lives here"


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    made, _ = release(CASES["generalize, files"], folder)
    return made.write(folder / "release", csv=True)


def _refit(folder: Path, *, listing: tuple[str, ...] = ()) -> None:
    """Let the fingerprints fit, in the notation of the certificate."""
    content = forger.read(folder)
    for name in listing:
        content["files"].append({"name": name, "sha256": "", "bytes": 0})
    content["files"].sort(key=lambda entry: str(entry["name"]))
    for entry in content["files"]:
        found = forger.fingerprint(folder / entry["name"], entry["name"])
        entry |= {"sha256": found.sha256, "bytes": found.bytes}
    (folder / "certificate.json").write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _text(name: str, change: Callable[[str], str]) -> Callable[[Path], None]:
    def forge(folder: Path) -> None:
        found = next(folder.glob(name))
        text = found.read_bytes().decode()
        assert change(text) != text
        found.write_bytes(change(text).encode())
        if name != "certificate.json":
            _refit(folder)

    return forge


def _added(name: str, content: str) -> Callable[[Path], None]:
    def forge(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
        _refit(folder, listing=(name,))

    return forge


def _hierarchy_of_an_identifier(folder: Path) -> None:
    (folder / "hierarchies" / "9-diagnosis.csv").write_text("cold;*\nflu;*\n", encoding="utf-8")
    path = folder / forger.PLAN
    text = path.read_text(encoding="utf-8")
    head, found, rest = text.partition("[columns.diagnosis]\n")
    assert found
    rest = rest[rest.index("\n\n") :] if "\n\n" in rest else ""
    path.write_text(
        f'{head}{found}role = "drop"\nhierarchy = {{ file = "hierarchies/9-diagnosis.csv" }}\n{rest}', encoding="utf-8"
    )
    _refit(folder, listing=("hierarchies/9-diagnosis.csv",))


def _rewritten(**options: Any) -> Callable[[Path], None]:
    """Write the table again, in a way that no release is written."""

    def forge(folder: Path) -> None:
        rows = pq.read_table(folder / "data.parquet")
        pq.write_table(rows, folder / "data.parquet", **{"store_schema": False, "compression": "zstd", **options})
        _refit(folder)

    return forge


def _bloom_filter(folder: Path) -> None:
    with duckdb.connect() as engine:
        path = folder / "data.parquet"
        engine.execute(f"CREATE TABLE a AS SELECT * FROM '{path}'")
        engine.execute(f"COPY a TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
    _refit(folder)


def _certified(change: Callable[[forger.Content], object]) -> Callable[[Path], None]:
    return lambda folder: forger.edit(folder, change, pages=False)


def _of_another_version(forge: Callable[[Path], None]) -> Callable[[Path], None]:
    """Say that another version made the release, which may write numbers otherwise, and nothing else."""

    def both(folder: Path) -> None:
        forger.edit(folder, lambda content: content["software"].update(shoal="0.0.1"), pages=False)
        forge(folder)

    return both


def _renamed_hierarchy(folder: Path) -> None:
    path = next((folder / "hierarchies").glob("*work*"))
    name = "hierarchies/vera-hill-3-mill-rd.csv"
    path.rename(folder / name)
    plan = (folder / forger.PLAN).read_text(encoding="utf-8")
    (folder / forger.PLAN).write_text(plan.replace(f"hierarchies/{path.name}", name), encoding="utf-8")
    content = forger.read(folder)
    content["files"] = [each for each in content["files"] if not each["name"].endswith(path.name)]
    forger.write(folder, content, pages=False)
    forger.edit_plan(folder, lambda text: text)
    _refit(folder, listing=(name,))


def _parquet_as_another_engine(folder: Path) -> None:
    rows = pq.read_table(folder / "data.parquet")
    pq.write_table(rows, folder / "data.parquet", store_schema=False, compression="zstd")
    _refit(folder)


FORGERIES: dict[str, Callable[[Path], None]] = {
    "a blank in the certificate": _text("certificate.json", lambda text: text.replace("{\n", "{ \n", 1)),
    "a certificate on one line": _text("certificate.json", lambda text: json.dumps(json.loads(text)) + "\n"),
    "a certificate with tabs": _text("certificate.json", lambda text: json.dumps(json.loads(text), indent="\t") + "\n"),
    "no line feed at the end": _text("certificate.json", lambda text: text.rstrip()),
    "letters spelt as codes": _text("certificate.json", lambda text: text.replace("shoal-c", "\\u0073hoal-c", 1)),
    "fields in another order": _text(
        "certificate.json", lambda text: json.dumps(dict(reversed(json.loads(text).items())), indent=2) + "\n"
    ),
    "a number with a point": _text("certificate.json", lambda text: text.replace('"version": 1,', '"version": 1.0,')),
    "a field that is null": _text("certificate.json", lambda text: text.replace("{\n", '{\n  "budget": null,\n', 1)),
    "a byte order mark": _text("certificate.json", lambda text: f"\ufeff{text}"),
    "a time zone of its own": _text("certificate.json", lambda text: text.replace('Z",', '+00:00",', 1)),
    "quotes in the CSV": _text("data.csv", lambda text: text.replace("private", '"private"', 1)),
    "numbers with points in the CSV": _text(
        "data.csv", lambda text: text.replace("\n", ".0\n", 2).replace(".0", "", 1)
    ),
    "line ends of another system in the CSV": _text("data.csv", lambda text: text.replace("\n", "\r\n")),
    "an empty line at the end of the CSV": _text("data.csv", lambda text: f"{text}\n"),
    "a note behind the CSV": _text("data.csv", lambda text: f"{text}# {NOTE}\n"),
    "quotes in a hierarchy": _text("hierarchies/*work*.csv", lambda text: text.replace("private", '"private"', 1)),
    "blank lines in a hierarchy": _text("hierarchies/*work*.csv", lambda text: f"\n\n{text}"),
    "line ends of another system in a hierarchy": _text(
        "hierarchies/*work*.csv", lambda text: text.replace("\n", "\r\n")
    ),
    "a byte order mark in a hierarchy": _text("hierarchies/*work*.csv", lambda text: f"\ufeff{text}"),
    "a row of words in a hierarchy": _text("hierarchies/*work*.csv", lambda text: f"{text}{NOTE}\n"),
    "a comment in the plan": _text("plan.toml", lambda text: f"# {NOTE}\n{text}"),
    "another notation in the plan": _text("plan.toml", lambda text: text.replace('"', "'", 2)),
    "a row twice in a hierarchy": _text(
        "hierarchies/*work*.csv", lambda text: text + text.splitlines(keepends=True)[0]
    ),
    "a hierarchy file with a name in its name": _renamed_hierarchy,
    "a time with fractions of a second": _certified(lambda c: c.update(created="2024-01-01T00:00:00.123456Z")),
    "a time in a zone of its own": _certified(lambda c: c.update(created="2024-01-01T00:00:00+13:37")),
    "a time in no zone": _certified(lambda c: c.update(created="2024-01-01T00:00:00")),
    "a package with a name": _certified(lambda c: c["software"].update({"vera-hill": "3"})),
    "an address as a version": _certified(lambda c: c["software"].update(numpy="3MillRoad")),
    "no versions": _certified(lambda c: c.update(software={})),
    "files in another order": _certified(lambda c: c["files"].reverse()),
    "domains in another order": _certified(lambda c: c["domains"].reverse()),
    **{
        f"{name}, in a CSV of another version": _of_another_version(_text("data.csv", change))
        for name, change in {
            "line ends of another system": lambda text: text.replace("\n", "\r\n"),
            "quotes": lambda text: text.replace("private", '"private"', 1),
            "quotes around names": lambda text: text.replace("age", '"age"', 1),
            "empty lines": lambda text: f"{text}\n\n",
            "a byte order mark": lambda text: f"\ufeff{text}",
        }.items()
    },
    "a blank in the summary": _text("summary.txt", lambda text: f"{text} "),
    "a comment in the report": _text("report.html", lambda text: text.replace("</body>", f"<!-- {NOTE} --></body>")),
    "a Bloom filter": _bloom_filter,
    "an index of pages": _rewritten(write_page_index=True),
    "the schema of Arrow": _rewritten(store_schema=True),
    "columns that records are said to be sorted by": _rewritten(sorting_columns=[pq.SortingColumn(0)]),
    "a compression with room for names": _rewritten(compression="gzip"),
    "another file of counts": _added("population.parquet", NOTE),
    "a view of one table": _added("joined.sql", NOTE),
    "hidden counts of no table": _added("hidden.csv", NOTE),
    "a second data file": _added("data-2.parquet", NOTE),
    "a hierarchy that no column has": _added("hierarchies/7-name.csv", f"{NOTE};*\n"),
    "a hierarchy of a sensitive column that needs none": _added("hierarchies/sensitive-1.csv", f"{NOTE};*\n"),
    "a part of a table": _added("part-00000.csv", NOTE),
    "a page beside the data": _added("verify.html", "<p>Every promise holds</p>"),
    "a page under another name": _added("index.html", "<p>Every promise holds</p>"),
    "a signature that is none": _text("summary.txt", lambda text: text.replace("Promised", "Proved", 1)),
    "the hierarchy of a column that is dropped": _hierarchy_of_an_identifier,
}


#: those that only pages show, which take long to make again
RENDERED = ("a blank in the summary", "a comment in the report", "a signature that is none")


def test_there_are_at_least_300_kinds_of_forgery(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    kinds = {*FORGERIES, *(forgery.__name__ for forgery in folders.FORGERIES)}
    kinds |= {(column, value) for column, values in BUCKETS.items() for value in values}
    kinds |= {(step, *figures) for steps in folders.CONTRADICTED.values() for step, figures in steps.items()}
    kinds |= {
        f"{kind}: {value}"
        for kind in ("NO_NUMBERS", "NO_DAYS", "NO_NAMES", "NO_RANKS")
        for value in getattr(values, kind)
    }
    kinds |= {forge.__name__ for forge in datasets.FORGERIES} | {*parts.FORGERIES}
    kinds |= {f"persons, {number}" for number in range(len(persons.FORGED))}
    for name in ("generalize", "anatomy", "ir-swap", "truthful", "dp-microaggregation"):
        made, _ = release(CASES[name], tmp_path)
        folder = made.write(tmp_path / name.replace(", ", "-"))
        kinds |= {label for label, _ in folders._edits(forger.read(folder))}
    record_property("kinds of forgery", len(kinds))
    assert len(kinds) >= 300, len(kinds)
    forged = {*folders.FAMILIES, *folders.FORMS, *folders.CONTRADICTED, *values.RELEASES}
    assert {*methods.names()} == {CASES[name].method.name for name in forged}


@pytest.mark.parametrize("name", FORGERIES)
def test_nothing_rides_along(released: Path, name: str, tmp_path: Path) -> None:
    work = forger.copied(released, tmp_path / "work")
    FORGERIES[name](work)
    try:
        found = shoal.verify(work, rendered=name in RENDERED)
    except shoal.ShoalError:
        return
    assert not found.passed, found


#: labels that nobody writes so, by column: in another order, with a value twice, or with more values than there are
BUCKETS = {
    "diagnosis": (
        "{flu, cold, measles, burn, fracture}",
        "{cold, cold, flu, measles}",
        "{cold}",
        "{missing, cold}",
        "{cold, flu, measles, burn, and 5 more}",
        "{cold, and 34 more}",
        "{cold, flu, measles, burn, fracture} or missing",
    ),
    "charge": ("[570, 100]", "[0100, 570]", "[100, 570] or nothing", "{100, 570, and 3 more}"),
}


def test_labels_of_buckets_are_written_as_shoal_writes_them(tmp_path: Path) -> None:
    made, _ = release(CASES["bucketize, several"], tmp_path)
    honest = made.write(tmp_path / "release")
    for column, labels in BUCKETS.items():
        for number, label in enumerate(labels):
            work = forger.copied(honest, tmp_path / f"{column}-{number}")
            values.relabel(work, "data.parquet", column, label)
            assert not shoal.verify(work, rendered=False).passed, label


@pytest.mark.parametrize("label", ["{self-employed, Künstler, frei}", "{private, private}", "{private}", "{}"])
def test_sets_of_values_are_written_in_order(label: str, tmp_path: Path) -> None:
    made, _ = release(CASES["generalize, aggregates"], tmp_path)
    work = made.write(tmp_path / "release")
    values.relabel(work, "data.parquet", "workclass", label)
    assert not shoal.verify(work, rendered=False).passed


def test_a_population_has_the_released_classes_and_no_others(tmp_path: Path) -> None:
    made, _ = release(CASES["generalize, k-map"], tmp_path)
    honest = made.write(tmp_path / "release")
    rows = pq.read_table(honest / "population.parquet")
    invented = pa.table({**{name: rows[name].slice(0, 1) for name in rows.column_names}, "workclass": ["Vera Hill"]})
    for name, changed in {
        "a row more": pa.concat_tables([rows, invented.cast(rows.schema)]),
        "a row twice": pa.concat_tables([rows.slice(0, 1), rows]),
        "another name": rows.rename_columns([*rows.column_names[:-1], "Vera Hill"]),
    }.items():
        work = forger.copied(honest, tmp_path / name)
        changed = changed.sort_by([(column, "ascending") for column in changed.column_names])
        pq.write_table(changed, work / "population.parquet", store_schema=False)
        _refit(work)
        assert not shoal.verify(work, rendered=False).passed, name


def test_slices_may_stand_in_any_order(tmp_path: Path) -> None:
    case = CASES["slice"]
    reversed_groups = replace(case.method, groups=case.method.groups[::-1])
    made, _ = release(replace(case, method=reversed_groups), tmp_path)
    assert shoal.verify(made.write(tmp_path / "release"), rendered=False).passed


def test_an_amount_of_the_budget_stands_in_lowest_terms(tmp_path: Path) -> None:
    made, _ = release(CASES["truthful"], tmp_path)
    honest = made.write(tmp_path / "release")
    for number, amount in enumerate(("4/2", "02", "2/1")):
        work = forger.copied(honest, tmp_path / str(number))
        forger.edit(work, lambda content, said=amount: content["budget"].update(epsilon=said), pages=False)
        with pytest.raises(VerificationError):
            shoal.verify(work, rendered=False)


def test_the_list_of_allowed_differences_is_allowed(released: Path, tmp_path: Path) -> None:
    work = forger.copied(released, tmp_path / "work")
    _parquet_as_another_engine(work)
    assert shoal.verify(work, rendered=False).passed
    _refit(work)
    assert shoal.verify(work, rendered=False).passed, "the same notation again"


def test_a_release_may_carry_the_page_of_the_second_verifier_to_the_byte(tmp_path: Path) -> None:
    made, _ = release(CASES["generalize, files"], tmp_path)
    folder = made.write(tmp_path / "release", verifier=True)
    assert (folder / VERIFIER).read_bytes() == OUR_VERIFIER.read_bytes()
    assert shoal.verify(folder).passed
    page = folder / VERIFIER
    page.write_text(page.read_text(encoding="utf-8").replace("fails", "holds"), encoding="utf-8")
    _refit(folder)
    failed = [check for check in shoal.verify(folder, rendered=False).checks if not check.passed]
    assert [check.subject for check in failed] == [VERIFIER]
    assert "forger" in failed[0].detail


def test_buckets_of_numbers_are_said_to_be_in_their_order(tmp_path: Path) -> None:
    made, _ = release(CASES["bucketize, permuted"], tmp_path)
    work = made.write(tmp_path / "release")

    def disorder(content: forger.Content) -> None:
        (charge,) = (each for each in content["data"]["columns"] if each["name"] == "charge")
        del charge["values"]
        charge["kind"] = "categorical"

    forger.edit(work, disorder, pages=False)
    failed = [check.subject for check in shoal.verify(work, rendered=False).checks if not check.passed]
    assert failed == ["tables"]
