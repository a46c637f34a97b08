"""Edited releases must fail verification, whoever edits them; what verification cannot see is listed by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from forgeries import forger
from golden.artefacts import release
from golden.cases import CASES

#: one release of every method and form
FAMILIES = (
    "generalize",
    "generalize, persons",
    "generalize, links",
    "mondrian",
    "bucketize",
    "bucketize, permuted",
    "anatomy",
    "t-microaggregate",
    "stochastic-closeness",
    "slice, found",
    "mdav, groups",
    "swap, closeness",
    "ir-swap",
    "truthful",
    "truthful, filters",
    "truthful-tables",
    "dp-microaggregation",
    "dp-microaggregation, partition",
    "truthful, persons",
    "dp-microaggregation, persons",
)

#: one release of every form of folder
FORMS = ("generalize", "bucketize", "anatomy", "slice, found", "swap, closeness", "truthful", "dp-microaggregation")

#: what no file can show, with the words that say so: paths of the certificate, numbers left out
UNSEEN = {
    "created": "when the release was made",
    "software.*": "which versions made it",
    "steps.suppressed.records": "records suppressed, on the publisher's word",
    "steps.suppressed.of": "records read, on the publisher's word",
    "steps.counted.persons": "how many persons there are, on the publisher's word",
    "steps.counted.memberships": "how many persons there are in the classes, on the publisher's word",
    "steps.counted.fewest": "how few persons a class has, on the publisher's word",
    "steps.left-out.records": "records left out, on the publisher's word",
    "steps.scheme-chosen.candidates": "how many schemes there were to choose from",
    "steps.scheme-chosen.selections": "how many selections a walk made",
    "steps.blocked.*": "how the records were divided before they were clustered",
    "measures.*": "how much the release loses, on the publisher's word",
    "steps.measured.*": "how records were compared before they were clustered",
}

#: lists whose order means nothing: they are sets
SETS = (
    "domains",
    "promises",
    "further_data",
    "promises.exact.histograms",
    "promises.exact.labels",
    "steps.bucketized.sizes",
    "steps.clustered.sizes",
)


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    made: dict[str, Path] = {}

    def one(name: str) -> Path:
        if name not in made:
            folder = tmp_path_factory.mktemp("release")
            found, _ = release(CASES[name], folder)
            made[name] = found.write(folder / "release", csv=CASES[name].csv)
        return made[name]

    return one


def _names(path: tuple[str | int, ...], content: forger.Content) -> str:
    """Return a path without numbers; a step is called by its name."""
    parts = [str(part) for part in path if isinstance(part, str)]
    if path[0] == "steps" and len(path) > 1 and isinstance(path[1], int):
        parts = ["steps", str(content["steps"][path[1]]["step"]), *parts[1:]]
    return ".".join(parts)


def _unseen(name: str) -> bool:
    return any(name == known or (known.endswith("*") and name.startswith(known[:-1])) for known in UNSEEN)


def _edits(content: forger.Content) -> Iterator[tuple[str, forger.Content]]:
    """Return one set of edits for every kind of value in the certificate, not for every number of a long list."""
    tried: set[str] = set()
    for path in forger.leaves(content):
        name = _names(path, content)
        if path[0] == "files" or _unseen(name) or name in tried:
            continue
        tried.add(name)
        for label, forged in forger.changed(content, path):
            if label != "turned round" or name not in SETS:
                yield f"{name}: {label}", forged


@pytest.mark.parametrize("name", FAMILIES)
def test_every_value_of_a_certificate_that_is_changed_is_noticed(
    name: str, releases: Callable[[str], Path], tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    original = releases(name)
    passed, tried = [], 0
    work = forger.copied(original, tmp_path / "work")
    for label, forged in _edits(forger.read(original)):
        forger.write(work, forged, pages=False)
        tried += 1
        passed += [label] if _verifies(work, rendered=False) else []
    record_property("forgeries tried", tried)
    assert tried > 20
    assert not passed, f"{len(passed)} of {tried} forgeries verify: {passed}"


def _verifies(folder: Path, *, rendered: bool = True) -> bool:
    try:
        return shoal.verify(folder, rendered=rendered).passed
    except shoal.ShoalError:
        return False


def test_an_untouched_copy_verifies(releases: Callable[[str], Path], tmp_path: Path) -> None:
    for name in FAMILIES:
        work = forger.copied(releases(name), tmp_path / name.replace(", ", "-"))
        forger.write(work, forger.read(work))
        assert [str(check) for check in shoal.verify(work).checks if not check.passed] == []


# -- files and columns


def _rewrite(folder: Path, file: str, change: Callable[[pa.Table], pa.Table]) -> pa.Table:
    rows = change(pq.read_table(folder / file))
    pq.write_table(rows.replace_schema_metadata(None), folder / file, store_schema=False)
    return rows


def _data(folder: Path) -> str:
    return str(forger.read(folder)["data"]["file"])


def _column_added(folder: Path) -> None:
    rows = _rewrite(folder, _data(folder), lambda t: t.append_column("name", pa.array(["somebody"] * len(t))))
    del rows
    forger.edit(
        folder, lambda c: c["data"]["columns"].append({"name": "name", "role": "insensitive", "kind": "categorical"})
    )


def _column_dropped(folder: Path) -> None:
    first = forger.read(folder)["data"]["columns"][0]["name"]
    _rewrite(folder, _data(folder), lambda t: t.drop_columns([first]))
    forger.edit(folder, lambda c: c["data"]["columns"].pop(0))


def _column_renamed(folder: Path) -> None:
    _rewrite(folder, _data(folder), lambda t: t.rename_columns(["renamed", *t.column_names[1:]]))
    forger.edit(folder, lambda c: c["data"]["columns"][0].update(name="renamed"))


def _column_copied(folder: Path) -> None:
    _rewrite(folder, _data(folder), lambda t: t.append_column(f"{t.column_names[0]} copy", t.column(0)))

    def listed(content: forger.Content) -> None:
        columns = content["data"]["columns"]
        columns.append({**columns[0], "name": f"{columns[0]['name']} copy", "role": "insensitive"})

    forger.edit(folder, listed)


def _extra_file(folder: Path) -> None:
    pq.write_table(pa.table({"name": ["somebody"]}), folder / "original.parquet", store_schema=False)
    forger.edit(folder, lambda c: c["files"].append({"name": "original.parquet", "sha256": "0" * 64, "bytes": 1}))


def _unlisted_file(folder: Path) -> None:
    (folder / "notes.txt").write_text("somebody", encoding="utf-8")


def _hidden_folder(folder: Path) -> None:
    (folder / ".hidden").mkdir()


def _metadata(folder: Path) -> None:
    file = _data(folder)
    rows = pq.read_table(folder / file).replace_schema_metadata({"names": "somebody"})
    pq.write_table(rows, folder / file)
    forger.edit(folder, lambda c: None)


def _field_metadata(folder: Path) -> None:
    file = _data(folder)
    rows = pq.read_table(folder / file)
    fields = [field.with_metadata({"names": "somebody"}) for field in rows.schema]
    pq.write_table(rows.cast(pa.schema(fields)), folder / file)
    forger.edit(folder, lambda c: None)


def _linked_data(folder: Path) -> None:
    path = folder / _data(folder)
    elsewhere = folder.parent / "elsewhere.parquet"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def _edited_summary(folder: Path) -> None:
    path = folder / forger.SUMMARY
    path.write_text(path.read_text(encoding="utf-8") + "Nobody can learn anything.\n", encoding="utf-8")
    _relist(folder, forger.SUMMARY)


def _edited_report(folder: Path) -> None:
    path = folder / forger.REPORT
    path.write_text(
        path.read_text(encoding="utf-8").replace("</main>", "<p>Nobody learns.</p></main>"), encoding="utf-8"
    )
    _relist(folder, forger.REPORT)


def _relist(folder: Path, name: str) -> None:
    content = forger.read(folder)
    for entry in content["files"]:
        if entry["name"] == name:
            found = forger.fingerprint(folder / name, name)
            entry |= {"sha256": found.sha256, "bytes": found.bytes}
    (folder / "certificate.json").write_text(json.dumps(content, indent=2), encoding="utf-8")


def _comment_in_plan(folder: Path) -> None:
    path = folder / forger.PLAN
    path.write_text(f"# somebody lives here\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    forger.edit(folder, lambda c: None)


def _guessed_roles(folder: Path) -> None:
    forger.edit(folder, lambda c: c.update(roles="guessed" if c["roles"] == "declared" else "declared"))


def _doubled_key(folder: Path) -> None:
    path = folder / "certificate.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('{\n  "format"', '{\n  "promises": [],\n  "format"', 1), encoding="utf-8")


def _version_true(folder: Path) -> None:
    forger.edit(folder, lambda c: c.update(version=True))


def _newer_wording(folder: Path) -> None:
    forger.edit(folder, lambda c: c.update(wording=999))


def _one_promise_of_privacy_more(folder: Path) -> None:
    promise = {
        "model": "differential-privacy",
        "parameters": {"epsilon": 0.001, "delta": 1e-9, "search_share": 0.1, "definition": "standard"},
        "strength": "unconditional",
        "statement": "0.001-differentially private, unconditionally.",
        "neighbours": "add or remove one record",
        "unit": "record",
        "exact": {},
    }
    forger.edit(folder, lambda c: c["promises"].append(promise))


FORGERIES = [
    _column_added,
    _column_dropped,
    _column_renamed,
    _column_copied,
    _extra_file,
    _unlisted_file,
    _hidden_folder,
    _metadata,
    _field_metadata,
    _linked_data,
    _edited_summary,
    _edited_report,
    _comment_in_plan,
    _guessed_roles,
    _doubled_key,
    _version_true,
    _newer_wording,
    _one_promise_of_privacy_more,
]


@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda forgery: forgery.__name__.strip("_"))
def test_no_release_verifies_after(
    forgery: Callable[[Path], None], releases: Callable[[str], Path], tmp_path: Path
) -> None:
    passed = []
    for name in FORMS:
        work = forger.copied(releases(name), tmp_path / name.replace(", ", "-") / "work")
        forgery(work)
        passed += [name] if _verifies(work) else []
    assert not passed, f"{forgery.__name__} verifies for {passed}"
