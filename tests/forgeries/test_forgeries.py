"""Edited releases must fail verification, whoever edits them; what verification cannot see is listed by name."""

from __future__ import annotations

import datetime as dt
import json
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from forgeries import forger
from golden.artefacts import release
from golden.cases import CASES
from shoal.methods.steps import KINDS

#: one release of every method and form
FAMILIES = (
    "generalize",
    "generalize, aggregates",
    "generalize, persons",
    "generalize, links",
    "mondrian",
    "bucketize",
    "bucketize, permuted",
    "anatomy",
    "t-microaggregate",
    "stochastic-closeness",
    "slice, found",
    "suppress, wildcards",
    "mdav, groups",
    "swap, closeness",
    "ir-swap",
    "truthful",
    "truthful, filters",
    "truthful-tables, joint",
    "dp-microaggregation",
    "dp-microaggregation, partition",
    "dp-microaggregation, gaussian",
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
    "steps.scheme-chosen.selections": "how many selections a walk made",
    "steps.blocked.*": "how the records were divided before they were clustered",
    "steps.classed.largest": "how large classes are at most that no file shows; those that a file shows are below",
    "steps.pairs-chosen.candidates": "how many pairs of columns there were to choose from",
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
    "steps.clustered.columns",
    "steps.filtered.models",
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
            if path[0] == "steps" and "description" not in path and len(path) > 2:
                forger.let_words_fit(forged["steps"][path[1]])
            if label != "turned round" or name not in SETS:
                yield f"{name}: {label}", forged


@pytest.mark.parametrize("name", FAMILIES)
def test_every_value_of_a_certificate_that_is_changed_is_noticed(
    name: str, releases: Callable[[str], Path], tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    original = releases(name)
    passed, tried = [], 0
    work = forger.copied(original, tmp_path / "work")
    with forger.data_read_once():
        for label, forged in _edits(forger.read(original)):
            if name == "generalize, aggregates" and label.startswith("steps.generalized.levels: turned"):
                continue  # all its columns are aggregates, which show no level
            forger.write(work, forged, pages=False)
            tried += 1
            passed += [label] if _verifies(work, rendered=False) else []
        forger.write(work, forger.read(original), pages=False)
        assert _verifies(work, rendered=False), "what nobody changed is believed"
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


def _another_wording(folder: Path) -> None:
    forger.edit(folder, lambda c: c.update(wording=1))


def _another_version(folder: Path) -> None:
    forger.edit(folder, lambda c: c.update(version=2))


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


# -- where a forger might hide something, or make it look like something else


def _footer(content: bytes) -> int:
    """Return where the footer of a Parquet file begins."""
    (length,) = struct.unpack("<I", content[-8:-4])
    return len(content) - 8 - int(length)


def _bytes_before_the_footer(folder: Path) -> None:
    path = folder / _data(folder)
    content = path.read_bytes()
    place = _footer(content)
    path.write_bytes(content[:place] + b"somebody lives here" + content[place:])
    forger.edit(folder, lambda c: None)


def _value_in_a_dictionary_that_no_record_has(folder: Path) -> None:
    def extended(column: pa.ChunkedArray) -> pa.Array:
        encoded = column.combine_chunks().cast(pa.string()).dictionary_encode()
        words = pa.concat_arrays([encoded.dictionary, pa.array(["somebody"])])
        return pa.DictionaryArray.from_arrays(encoded.indices, words)

    def first_text(rows: pa.Table) -> pa.Table:
        texts = [j for j, column in enumerate(rows.columns) if pa.types.is_string(column.type)]
        if not texts:  # as good a place
            return rows.set_column(0, rows.column_names[0], extended(rows.column(0)))
        return rows.set_column(texts[0], rows.column_names[texts[0]], extended(rows.column(texts[0])))

    _rewrite(folder, _data(folder), first_text)
    assert b"somebody" in (folder / _data(folder)).read_bytes()
    forger.edit(folder, lambda c: None)


def _who_wrote_the_file(folder: Path) -> None:
    path = folder / _data(folder)
    content = path.read_bytes()
    place = _footer(content)
    written = pq.read_metadata(path).created_by.encode()
    path.write_bytes(content[:place] + content[place:].replace(written, b"somebody".ljust(len(written))))
    forger.edit(folder, lambda c: None)


def _other_words_for_versions(folder: Path) -> None:
    forger.edit(folder, lambda c: c["software"].update(shoal="somebody lives here"))


def _another_word_among_versions(folder: Path) -> None:
    forger.edit(folder, lambda c: c["software"].update({"somebody lives here": "1"}))


def _a_measure_of_that_name(folder: Path) -> None:
    forger.edit(folder, lambda c: c["measures"].update({"somebody lives here": 0.5}))


def _a_measure_that_is_no_number(folder: Path) -> None:
    forger.edit(folder, lambda c: c["measures"].update(dict.fromkeys([*c["measures"], "loss"], float("nan"))))


def _key_doubled_inside(folder: Path) -> None:
    path = folder / "certificate.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"role":', '"role": "insensitive", "role":', 1), encoding="utf-8")


def _word_in_a_step(folder: Path) -> None:
    forger.edit(folder, lambda c: c["steps"][0].update(note="somebody lives here"))


def _linked_plan(folder: Path) -> None:
    (folder / forger.PLAN).rename(folder.parent / forger.PLAN)
    (folder / forger.PLAN).symlink_to(folder.parent / forger.PLAN)


def _linked_certificate(folder: Path) -> None:
    (folder / "certificate.json").rename(folder.parent / "certificate.json")
    (folder / "certificate.json").symlink_to(folder.parent / "certificate.json")


def _letters_that_look_alike(folder: Path) -> None:
    name = str(forger.read(folder)["data"]["columns"][0]["name"])
    alike = name.translate(str.maketrans("aeo", "\u0430\u0435\u043e"))
    assert alike != name
    _rewrite(folder, _data(folder), lambda t: t.rename_columns([alike, *t.column_names[1:]]))
    forger.edit(folder, lambda c: c["data"]["columns"][0].update(name=alike))


def _more_suppressed_than_there_were(folder: Path) -> None:
    def worse(content: forger.Content) -> None:
        counted = [step for step in content["steps"] if step["step"] in ("suppressed", "left-out")]
        for step in counted:
            step["records"] = 10**12
        if not counted:
            content["data"]["records"] += 1

    forger.edit(folder, worse)


def _two_records_exchanged(folder: Path) -> None:
    def exchanged(rows: pa.Table) -> pa.Table:
        records = rows.to_pylist()
        place = max(i for i in range(len(records) - 1) if records[i] != records[i + 1])
        return rows.take([*range(place), place + 1, place, *range(place + 2, len(records))])

    _rewrite(folder, _data(folder), exchanged)
    forger.edit(folder, lambda c: None)


def _a_number_that_takes_hours_to_write_out(folder: Path) -> None:
    forger.edit(folder, lambda c: c.update(budget={"epsilon": "1e999999999", "delta": "0"}))


def _a_step_that_spends_such_a_number(folder: Path) -> None:
    forger.edit(folder, lambda c: c["steps"][0].update(epsilon_spent="1e999999999"))


def _a_pipe_that_nobody_writes_to(folder: Path) -> None:
    (folder / forger.PLAN).unlink()
    os.mkfifo(folder / forger.PLAN)


def _a_plan_that_is_too_deep(folder: Path) -> None:
    (folder / forger.PLAN).write_text(f"roles = {'[' * 9_999}{']' * 9_999}", encoding="utf-8")
    forger.edit(folder, lambda c: None)


def _a_plan_with_too_long_a_number(folder: Path) -> None:
    (folder / forger.PLAN).write_text(f"roles = {'9' * 9_999}", encoding="utf-8")
    forger.edit(folder, lambda c: None)


def _a_column_without_a_type(folder: Path) -> None:
    _rewrite(folder, _data(folder), lambda t: t.set_column(0, t.column_names[0], pa.nulls(len(t))))
    forger.edit(folder, lambda c: None)


def _an_empty_folder(folder: Path) -> None:
    (folder / "hierarchies").mkdir()


def _a_path_beside_the_first_column(folder: Path) -> None:
    forger.edit(folder, lambda c: c["data"]["columns"][0].update(hierarchy="../somebody/lives/here"))


FORGERIES = [
    _a_path_beside_the_first_column,
    _a_plan_that_is_too_deep,
    _a_plan_with_too_long_a_number,
    _a_column_without_a_type,
    _an_empty_folder,
    _a_number_that_takes_hours_to_write_out,
    _a_step_that_spends_such_a_number,
    _a_pipe_that_nobody_writes_to,
    _two_records_exchanged,
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
    _another_wording,
    _another_version,
    _one_promise_of_privacy_more,
    _bytes_before_the_footer,
    _value_in_a_dictionary_that_no_record_has,
    _who_wrote_the_file,
    _other_words_for_versions,
    _another_word_among_versions,
    _a_measure_of_that_name,
    _a_measure_that_is_no_number,
    _key_doubled_inside,
    _word_in_a_step,
    _linked_plan,
    _linked_certificate,
    _letters_that_look_alike,
    _more_suppressed_than_there_were,
]


@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda forgery: forgery.__name__.strip("_"))
def test_no_release_verifies_after(
    forgery: Callable[[Path], None],
    releases: Callable[[str], Path],
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    record_property("forgeries tried", len(FORMS))
    passed = [name for name in FORMS if _believed(forgery, releases(name), tmp_path / name.replace(", ", "-"))]
    assert not passed, f"{forgery.__name__} verifies for {passed}"


def _believed(forgery: Callable[[Path], None], original: Path, place: Path) -> bool:
    """Say whether a forgery verifies; what fails before anybody looks at its pages is not given any that fit."""
    work = forger.copied(original, place / "without" / "work")
    with forger.without_pages():
        forgery(work)
    if not _verifies(work, rendered=False):
        return False
    work = forger.copied(original, place / "with" / "work")
    forgery(work)
    return _verifies(work)


@pytest.mark.parametrize("name", ["stochastic-closeness", "truthful", "dp-microaggregation", "truthful-tables"])
def test_a_value_outside_of_its_domain_is_noticed_in_every_column_that_was_randomised(
    name: str, releases: Callable[[str], Path], tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    original = releases(name)
    tried, passed = 0, []
    for data in [forger.read(original)["data"], *forger.read(original).get("further_data", [])]:
        file = str(data["file"])
        for place, column in enumerate(pq.read_schema(original / file).names):
            if column == data.get("class_column") or data["columns"][place]["role"] == "insensitive":
                continue
            work = forger.copied(original, tmp_path / str(tried))
            _rewrite(work, file, lambda rows, j=place: _with_strange_value(rows, j))
            forger.edit(work, lambda c: None, pages=False)
            tried += 1
            passed += [column] if _verifies(work, rendered=False) else []
    record_property("forgeries tried", tried)
    assert tried > 1
    assert not passed, f"a strange value verifies in {passed}"


def _with_strange_value(rows: pa.Table, place: int) -> pa.Table:
    """Return records in the order of their values, of which one was never declared."""
    column = rows.column(place)
    values = column.to_pylist()
    last = max(i for i, value in enumerate(values) if value is not None)
    match values[last]:
        case str():
            values[last] = "zzz somebody"
        case dt.date():
            values[last] = values[last].replace(year=9999)
        case _:
            values[last] = type(values[last])(10**9)
    changed = rows.set_column(place, rows.column_names[place], pa.array(values, column.type))
    return changed.sort_by([(name, "ascending") for name in changed.column_names])


def test_a_name_that_is_said_to_be_left_out_on_a_whim_is_refused(tmp_path: Path) -> None:
    roles = {"name": "identifier", "note": "drop", "sex": "quasi-identifier"}
    schema = shoal.Schema(attributes=tuple(shoal.Attribute(name=name, role=role) for name, role in roles.items()))
    table = shoal.read(pa.table({"name": list("abcd"), "note": list("wxyz"), "sex": list("ffmm")}), schema=schema)
    original = shoal.anonymize(table, shoal.KAnonymity(2)).write(tmp_path / "release")
    for number, columns in enumerate((["name"], ["name", "note"])):
        work = forger.copied(original, tmp_path / str(number))
        forger.edit(work, lambda content, said=columns: _dropped(content, said))
        assert not _verifies(work)
    assert _verifies(original)


def _dropped(content: forger.Content, columns: list[str]) -> None:
    (step,) = (each for each in content["steps"] if each["step"] == "dropped")
    step["left_out"] = columns
    step["description"] = KINDS[str(step["step"])].from_fields(step).describe()


#: figures and words of steps that the files contradict, by release
CONTRADICTED: dict[str, dict[str, dict[str, object]]] = {
    "generalize": {
        "ordered": {"by": "chance, and nobody can ever learn anything from it"},
        "generalized": {"levels": [9, 9, 9, 9]},
    },
    "generalize, steps": {"generalized": {"levels": [1, 1], "heights": [1, 1]}},
    "generalize, cells": {
        "pseudonymized": {"algorithm": "random numbers that nobody keeps, not"},
        "generalized": {"columns": []},
    },
    "mdav, groups": {"classed": {"smallest": 5_000, "largest": 9_000}},
    "t-microaggregate": {"classed": {"largest": 50}},
    "bucketize, permuted": {"classed": {"largest": 50}},
    "stochastic-closeness": {"left-out": {"columns": ["age"]}},
    "anatomy": {"classed": {"classes": 15, "smallest": 8, "largest": 12}},
    "ir-swap": {"ranked": {"largest": 9, "smallest": 9}},
    "slice, found": {"sliced": {"groups": [["age", "class pain"], ["workclass", "diagnosis", "charge"]]}},
}


@pytest.mark.parametrize("name", CONTRADICTED)
def test_a_step_that_is_described_as_it_reads_must_be_true_of_the_files(
    name: str, releases: Callable[[str], Path], tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    original = releases(name)
    record_property("forgeries tried", len(CONTRADICTED[name]))
    for step, figures in CONTRADICTED[name].items():
        work = forger.copied(original, tmp_path / step)
        content = forger.read(work)
        forged = next(each for each in content["steps"] if each["step"] == step)
        forged |= figures
        forged["description"] = KINDS[str(forged["step"])].from_fields(forged).describe()
        forger.write(work, content, pages=False)
        failed = [check.detail for check in shoal.verify(work, rendered=False).checks if not check.passed]
        assert any(each.startswith(f"the step `{step}` ") for each in failed), failed
