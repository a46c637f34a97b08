"""The verifier in one page: no honest release fails in it, and what it refuses, `shoal verify` refuses."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from forgeries import forger
from forgeries import test_closed_world as closed_world
from forgeries.test_forgeries import FORGERIES as FOLDER_FORGERIES
from forgeries.test_values import SENTENCE, relabel
from golden.artefacts import release
from golden.cases import CASES
from shoal.verification import new_key

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "src" / "shoal" / "verification" / "verify.html"
HOSPITAL = ROOT / "examples" / "hospital"
QUICK = (
    "generalize",
    "generalize, diversity",
    "mondrian",
    "specialize",
    "suppress",
    "mdav",
    "bucketize",
    "anatomy",
    "truthful",
    "truthful-tables",
)
JUDGE = """async (files) => {
    const bytes = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    const { outcome, findings } = await verifyRelease(new Map(files.map(([name, text]) => [name, bytes(text)])));
    return { outcome, failed: findings.filter((each) => each.status === "fails") };
}"""

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def page(chromium: Any) -> Iterator[Any]:
    window = chromium.new_context()
    page = window.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(PAGE.as_uri())
    yield page
    assert asked == [PAGE.as_uri()], "the page asks nobody for anything"
    window.close()


def judge(page: Any, folder: Path) -> dict[str, Any]:
    """Return the outcome of the page's own code for a release folder."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    files = [[path.relative_to(folder).as_posix(), base64.b64encode(path.read_bytes()).decode()] for path in paths]
    found: dict[str, Any] = page.evaluate(JUDGE, files)
    return found


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.deep]) for name in CASES]
)
def test_no_honest_release_fails(page: Any, name: str, tmp_path: Path) -> None:
    made, _ = release(CASES[name], tmp_path)
    verdict = judge(page, made.write(tmp_path / "release", csv=CASES[name].csv))
    assert verdict["outcome"] in ("holds", "partly"), verdict["failed"]


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = shoal.read(HOSPITAL / "discharges.csv", schema=HOSPITAL / "discharges.schema.toml")
    promises = (
        shoal.KAnonymity(5),
        shoal.DistinctLDiversity("diagnosis", 3),
        shoal.models.RecursiveLDiversity("diagnosis", c=4, l=2),
        shoal.models.EntropyLDiversity("diagnosis", 2),
        shoal.TCloseness("diagnosis", 0.6, distance="equal"),
        shoal.TCloseness("diagnosis", 0.6, distance="hierarchical"),
        shoal.TCloseness("length_of_stay", 0.5),
    )
    folder = tmp_path_factory.mktemp("hospital") / "release"
    return shoal.anonymize(table, *promises, method=shoal.methods.Mondrian()).write(folder)


def test_every_promise_of_a_release_that_shows_all_of_them_holds(page: Any, hospital: Path) -> None:
    assert judge(page, hospital) == {"outcome": "holds", "failed": []}


def _changed(column: str, change: Callable[[list[Any]], list[Any]]) -> Callable[[Path], None]:
    """Return a forgery that changes the values of a column and makes fingerprints fit."""

    def forge(folder: Path) -> None:
        path = folder / "data.parquet"
        rows = pq.read_table(path)
        values = pa.array(change(rows[column].to_pylist()), rows[column].type)
        pq.write_table(rows.set_column(rows.column_names.index(column), column, values), path, compression="zstd")
        _refit(folder)

    return forge


def _refit(folder: Path, **changes: Any) -> None:
    content = forger.read(folder) | changes
    for entry in content["files"]:
        found = shoal.guarantees.fingerprint(folder / entry["name"], entry["name"])
        entry |= {"sha256": found.sha256, "bytes": found.bytes}
    (folder / "certificate.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _with_promise(place: int, **parameters: Any) -> Callable[[Path], None]:
    def forge(folder: Path) -> None:
        promises = forger.read(folder)["promises"]
        promises[place]["parameters"] |= parameters
        _refit(folder, promises=promises)

    return forge


def _unlisted(folder: Path) -> None:
    (folder / "originals.csv").write_text("name\n", encoding="utf-8")


def _doubled_key(folder: Path) -> None:
    path = folder / "certificate.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"version": 1,', '"version": 2,\n  "version": 1,', 1), encoding="utf-8")


def _unknown_field(folder: Path) -> None:
    _refit(folder, note="trust me")


def _other_version(folder: Path) -> None:
    _refit(folder, version=2)


def _fewer_records(folder: Path) -> None:
    content = forger.read(folder)
    _refit(folder, data=content["data"] | {"records": content["data"]["records"] - 1})


def _unfingerprinted(folder: Path) -> None:
    with (folder / "data.parquet").open("ab") as file:
        file.write(b" ")


FORGERIES: dict[str, Callable[[Path], None]] = {
    "a sentence as a sex": _changed("sex", lambda values: ["M, son of Vera Hill, 3 Mill Rd", *values[1:]]),
    "an age above all": _changed("age", lambda values: ["1034", *values[1:]]),
    "a ZIP code of no hierarchy": _changed("zip", lambda values: ["99999", *values[1:]]),
    "a class of one": _changed("age", lambda values: ["*", *values[1:]]),
    "a charge out of bounds": _changed("charge", lambda values: [1e9, *values[1:]]),
    "a diagnosis of no hierarchy": _changed("diagnosis", lambda values: ["Z99.9", *values[1:]]),
    "a greater k": _with_promise(0, k=500),
    "more different values": _with_promise(1, l=70),
    "a harder diversity": _with_promise(2, c=0.001),
    "more entropy": _with_promise(3, l=60),
    "closer by equal distance": _with_promise(4, t=0.01),
    "closer in the hierarchy": _with_promise(5, t=0.01),
    "closer in order": _with_promise(6, t=0.01),
    "a file that is not listed": _unlisted,
    "a key said twice": _doubled_key,
    "a field of no version": _unknown_field,
    "another version": _other_version,
    "fewer records": _fewer_records,
    "bytes after the table": _unfingerprinted,
}


@pytest.mark.parametrize("name", FORGERIES)
def test_both_verifiers_refuse_a_forgery(page: Any, hospital: Path, name: str, tmp_path: Path) -> None:
    folder = forger.copied(hospital, tmp_path / "work")
    FORGERIES[name](folder)
    assert judge(page, folder)["outcome"] == "fails"
    with contextlib.suppress(shoal.ShoalError):  # refused before anything was checked
        assert not shoal.verify(folder).passed


def test_signatures_of_the_two_verifiers_agree(page: Any, hospital: Path, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    folder = forger.copied(hospital, tmp_path / "work")
    private, _ = new_key(tmp_path / "key")
    shoal.sign(folder, private)
    assert judge(page, folder)["outcome"] == "holds"
    signature = json.loads((folder / "signature.json").read_text(encoding="utf-8"))
    other = base64.b64encode(bytes(64)).decode()
    (folder / "signature.json").write_text(
        json.dumps(signature | {"signature": other}, indent=2) + "\n", encoding="utf-8"
    )
    assert [each["subject"] for each in judge(page, folder)["failed"]] == ["signature"]


def test_a_person_drops_a_zip_archive_and_reads_the_verdict(page: Any, hospital: Path, tmp_path: Path) -> None:
    shutil.make_archive(str(tmp_path / "release"), "zip", hospital.parent, hospital.name)
    page.set_input_files("#archive", tmp_path / "release.zip")
    page.wait_for_selector("#result h2.holds")
    assert "Every promise holds" in page.inner_text("#result h2")
    forged = forger.copied(hospital, tmp_path / "forged")
    FORGERIES["a class of one"](forged)
    shutil.make_archive(str(tmp_path / "forged-release"), "zip", forged)
    page.set_input_files("#archive", tmp_path / "forged-release.zip")
    page.wait_for_selector("#result h2.fails")
    assert page.inner_text("#result tr:first-child td").strip() == "fails", "failures stand first"


def test_an_archive_with_a_way_out_of_its_folder_is_refused(page: Any, hospital: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "release.zip", "w") as archive:
        for path in sorted(hospital.rglob("*")):
            archive.write(path, path.relative_to(hospital).as_posix())
        archive.writestr("../outside.txt", "x")
    page.set_input_files("#archive", tmp_path / "release.zip")
    page.wait_for_selector("#result h2.fails")
    assert "cannot be checked" in page.inner_text("#result h2")


def test_the_documentation_names_the_hash_of_the_page() -> None:
    told = (ROOT / "docs" / "how-to" / "verify-a-release.md").read_text(encoding="utf-8")
    assert hashlib.sha256(PAGE.read_bytes()).hexdigest() in told


@pytest.mark.parametrize(
    "command", [("node", "build.js", "--check"), ("node", "--test", "test/"), ("npx", "tsc")], ids=lambda each: each[1]
)
def test_the_page_is_what_its_typed_and_tested_sources_give(command: tuple[str, ...]) -> None:
    if shutil.which("npx") is None or not (ROOT / "verifier" / "node_modules").is_dir():
        pytest.skip("needs npm, and `npm ci` in `verifier`")
    done = subprocess.run(command, cwd=ROOT / "verifier", capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


#: forgeries that `shoal verify` refuses and the page does not see, with the reason
UNSEEN_BY_THE_PAGE = {
    "a_column_without_a_type": "types of columns without values: bytes are not checked",
    "an_empty_folder": "a browser hands out files, not folders",
    "hidden_folder": "a browser hands out files, not folders",
    "field_metadata": "metadata inside of the schema: bytes are not checked",
    "bytes_before_the_footer": "bytes are not checked",
    "value_in_a_dictionary_that_no_record_has": "bytes are not checked",
    "edited_summary": "sentences and steps are not checked",
    "edited_report": "sentences and steps are not checked",
    "comment_in_plan": "sentences and steps are not checked",
    "one_promise_of_privacy_more": "the page says that it does not decide this promise",
    "a_measure_of_that_name": "sentences and steps are not checked",
    "a_step_that_spends_such_a_number": "sentences and steps are not checked",
    "word_in_a_step": "sentences and steps are not checked",
    "more_suppressed_than_there_were": "sentences and steps are not checked",
    "a_pipe_that_nobody_writes_to": "a browser hands out files, not pipes",
    **dict.fromkeys(("linked_data", "linked_plan", "linked_certificate"), "a browser hands out what links lead to"),
}


@pytest.mark.parametrize(
    "form",
    ["generalize", pytest.param("anatomy", marks=pytest.mark.deep), pytest.param("truthful", marks=pytest.mark.deep)],
)
def test_both_verifiers_agree_on_every_forgery_but_for_what_the_page_does_not_check(
    page: Any, form: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    made, _ = release(CASES[form], tmp_path)
    honest = made.write(tmp_path / "honest")
    believed = []
    for forgery in FOLDER_FORGERIES:
        name = forgery.__name__.strip("_")
        if name in ("a_pipe_that_nobody_writes_to",):
            continue
        folder = forger.copied(honest, tmp_path / name / "release")
        with forger.without_pages():
            forgery(folder)
        with contextlib.suppress(shoal.ShoalError):
            assert not shoal.verify(folder, rendered=name in ("edited_summary", "edited_report")).passed, name
        outcome = judge(page, folder)["outcome"]
        believed += [] if outcome == "fails" or name in UNSEEN_BY_THE_PAGE else [name]
    record_property("forgeries tried", len(FOLDER_FORGERIES))
    assert not believed


#: what rides along that `shoal verify` refuses and the page does not see, with the reason
RIDES_UNSEEN = {
    **dict.fromkeys(("a blank in the summary", "a comment in the report", "a signature that is none"), "not rendered"),
    **dict.fromkeys(("a comment in the plan", "another notation in the plan"), "plans are read and not written again"),
    "a page beside the data": "a page does not know its own bytes; it says that one beside the data is not to be used",
}


@pytest.mark.deep
def test_both_verifiers_refuse_what_rides_along(
    page: Any, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    made, _ = release(CASES["generalize, files"], tmp_path)
    honest = made.write(tmp_path / "honest", csv=True)
    assert judge(page, honest)["outcome"] == "holds"
    believed = []
    for name, forge in closed_world.FORGERIES.items():
        folder = forger.copied(honest, tmp_path / name / "release")
        forge(folder)
        with contextlib.suppress(shoal.ShoalError):
            assert not shoal.verify(folder, rendered=name in closed_world.RENDERED).passed, name
        believed += [name] if judge(page, folder)["outcome"] != "fails" else []
    record_property("forgeries tried", len(closed_world.FORGERIES))
    assert sorted(believed) == sorted(RIDES_UNSEEN)


@pytest.mark.parametrize("value", [SENTENCE, "[21, 26)", "1034", "", "**", "[20, 40) (level 2)", "NaN"])
def test_both_verifiers_refuse_values_that_the_plan_does_not_allow(page: Any, value: str, tmp_path: Path) -> None:
    made, _ = release(CASES["subtree, closeness"], tmp_path)
    honest = made.write(tmp_path / "honest")
    for column in ("age", "workclass"):
        folder = forger.copied(honest, tmp_path / column / "release")
        relabel(folder, "data.parquet", column, value)
        assert not shoal.verify(folder, rendered=False).passed
        assert judge(page, folder)["outcome"] == "fails", (column, value)
