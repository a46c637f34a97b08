"""A stranger's folder costs little, shows nothing outside of itself, and ends in a verdict."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from forgeries import forger
from reference.limited import MEMORY, Outcome, limited_verifier
from shoal.errors import ShoalError, VerificationError
from shoal.report import board_report, public_report
from shoal.schema import Attribute, FromFile, Role, Schema

_TOWNS = {"town": ["Bonn", "Bonn", "Ulm", "Ulm"], "pain": ["a", "b", "a", "b"]}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("original")
    (place / "towns.csv").write_text("Bonn;West;*\nUlm;South;*\n", encoding="utf-8")
    schema = Schema(
        attributes=(
            Attribute(name="town", role=Role.QUASI_IDENTIFIER, hierarchy=FromFile(path="towns.csv")),
            Attribute(name="pain", role=Role.SENSITIVE),
        ),
        folder=place,
    )
    table = shoal.read(pa.table(_TOWNS), schema=schema)
    return shoal.anonymize(table, shoal.KAnonymity(k=2)).write(place / "release")


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return forger.copied(original, tmp_path / "release")


def _hierarchy(folder: Path) -> Path:
    return next((folder / "hierarchies").iterdir())


def _relisted(folder: Path) -> None:
    """Let the certificate fit the files that were changed."""
    forger.edit(folder, lambda c: None, pages=False)


def _path_of_hierarchy(folder: Path, path: str) -> None:
    plan = folder / forger.PLAN
    text = plan.read_text(encoding="utf-8")
    plan.write_text(text.replace(f"hierarchies/{_hierarchy(folder).name}", path), encoding="utf-8")
    _relisted(folder)
    assert path in plan.read_text(encoding="utf-8")


def _absolute(folder: Path) -> None:
    _path_of_hierarchy(folder, "/dev/zero")


def _above(folder: Path) -> None:
    (folder.parent / "secret.csv").write_text("Bonn;West;*\nUlm;South;*\n", encoding="utf-8")
    _path_of_hierarchy(folder, "../secret.csv")


def _pipe_as_hierarchy(folder: Path) -> None:
    place = _hierarchy(folder)
    place.unlink()
    os.mkfifo(place)


def _pipe_outside(folder: Path) -> None:
    os.mkfifo(folder.parent / "pipe")
    _path_of_hierarchy(folder, str(folder.parent / "pipe"))


def _pipe_as_certificate(folder: Path) -> None:
    (folder / "certificate.json").unlink()
    os.mkfifo(folder / "certificate.json")


def _pipe_as_signature(folder: Path) -> None:
    os.mkfifo(folder / "signature.json")


def _linked_folder(folder: Path) -> None:
    (folder / "hierarchies").rename(folder.parent / "elsewhere")
    (folder / "hierarchies").symlink_to(folder.parent / "elsewhere")


def _loop(folder: Path) -> None:
    (folder / "hierarchies" / "loop").symlink_to(folder)
    (folder / "loop").symlink_to("loop")


def _linked_device(folder: Path) -> None:
    (folder / "data.parquet").unlink()
    (folder / "data.parquet").symlink_to("/dev/zero")


def _long_key(folder: Path) -> None:
    _plan(folder, f"{'.'.join(['a'] * 50_000)} = 1")


def _long_quoted_key(folder: Path) -> None:
    _plan(folder, f"""[{" . ".join(['"a"', "''"] * 25_000)}]""")


def _deep_list(folder: Path) -> None:
    _plan(folder, f"roles = {'[' * 99_999}{']' * 99_999}")


def _deep_table(folder: Path) -> None:
    _plan(folder, f"roles = {'{a=' * 99_999}1{'}' * 99_999}")


def _huge_number(folder: Path) -> None:
    text = (folder / forger.PLAN).read_text(encoding="utf-8")
    _plan(folder, text.replace("k = 2", f"k = 0x{'f' * 900_000}"))


def _huge_k(folder: Path) -> None:
    forger.edit(folder, lambda c: c["promises"][0]["parameters"].update(k=10**4000), pages=False)


def _deep_certificate(folder: Path) -> None:
    (folder / "certificate.json").write_text(f"{'[' * 500_000}{']' * 500_000}", encoding="utf-8")


def _many_empty_objects(folder: Path) -> None:
    forger.edit(folder, lambda c: c["steps"].extend([{"step": "ordered", "x": [{}] * 300_000}]), pages=False)


def _wide_hierarchy(folder: Path) -> None:
    _hierarchy(folder).write_text(";" * 500_000 + "\n" + ";" * 400_000, encoding="utf-8")
    _relisted(folder)


def _sparse(folder: Path) -> None:
    with (folder / "data.parquet").open("r+b") as file:
        file.truncate(1 << 40)


def _large_text(folder: Path) -> None:
    with (folder / forger.SUMMARY).open("wb") as file:
        file.truncate(1 << 40)


def _plan(folder: Path, text: str) -> None:
    (folder / forger.PLAN).write_text(text, encoding="utf-8")
    _relisted(folder)


def _written(folder: Path, rows: pa.Table, records: int | None = None) -> None:
    pq.write_table(rows.replace_schema_metadata(None), folder / "data.parquet", store_schema=False, compression="zstd")
    forger.edit(folder, lambda c: c["data"].update(records=len(rows) if records is None else records), pages=False)


def _alike(number: int, text: str = "Bonn") -> pa.Table:
    codes = pa.array(np.zeros(number, dtype=np.int32))
    return pa.table({name: pa.DictionaryArray.from_arrays(codes, pa.array([text])) for name in _TOWNS})


def _millions_of_records(folder: Path) -> None:
    _written(folder, _alike(40_000_000))


def _millions_of_records_that_nobody_certified(folder: Path) -> None:
    _written(folder, _alike(40_000_000), 4)


def _one_long_label(folder: Path) -> None:
    _written(folder, _alike(1_000_000, "x" * 100_000))


def _long_pages(folder: Path) -> None:
    rows = pa.table({"town": ["x" * 200_000_000], "pain": ["a"]})
    pq.write_table(rows, folder / "data.parquet", store_schema=False, compression="zstd", use_dictionary=False)
    del rows
    forger.edit(folder, lambda c: c["data"].update(records=1), pages=False)


def _footer(folder: Path, change: Callable[[bytes], bytes]) -> None:
    path = folder / "data.parquet"
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    footer = change(content[-8 - length : -8])
    path.write_bytes(content[: -8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    _relisted(folder)


def _nested_columns(folder: Path) -> None:
    # a schema of 60,000 groups, each of which holds the next
    group = b"\x48\x01a\x15\x02\x00"
    _footer(folder, lambda _: b"\x15\x04\x19\xfc" + _number(60_000) + group * 60_000 + b"\x16\x08\x19\x0c\x00")


def _number(value: int) -> bytes:
    found = b""
    while value > 127:
        found, value = found + bytes([value & 127 | 128]), value >> 7
    return found + bytes([value])


def _endless_list(folder: Path) -> None:
    _footer(folder, lambda _: b"\x15\x04\x19\xfc" + _number(1 << 60))


def _footer_of_lists(folder: Path) -> None:
    _footer(folder, lambda _: b"\x19" + b"\x19" * 900_000)


def _footer_beyond_the_file(folder: Path) -> None:
    path = folder / "data.parquet"
    path.write_bytes(path.read_bytes()[:-8] + b"\xff\xff\xff\xffPAR1")
    _relisted(folder)


def _no_parquet_at_all(folder: Path) -> None:
    (folder / "data.parquet").write_bytes(b"")
    _relisted(folder)


def _groups_that_share_bytes(folder: Path) -> None:
    rows = _alike(1 << 20)
    pq.write_table(rows, folder / "data.parquet", store_schema=False, compression="zstd")
    forger.edit(folder, lambda c: c["data"].update(records=40 << 20), pages=False)
    content = (folder / "data.parquet").read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    footer = content[-8 - length : -8]
    place = footer.index(b"\x19\x1c\x19\x2c")  # the list of one group of two columns
    end = footer.rindex(b"\x00\x28")
    group = footer[place + 2 : end + 1]
    _footer(folder, lambda _: footer[:place] + b"\x19\xfc" + _number(40) + group * 40 + footer[end + 1 :])


HOSTILE = [
    _absolute,
    _above,
    _pipe_as_hierarchy,
    _pipe_outside,
    _pipe_as_certificate,
    _pipe_as_signature,
    _linked_folder,
    _loop,
    _linked_device,
    _long_key,
    _long_quoted_key,
    _deep_list,
    _deep_table,
    _huge_number,
    _huge_k,
    _deep_certificate,
    _many_empty_objects,
    _wide_hierarchy,
    _sparse,
    _large_text,
    _millions_of_records,
    _millions_of_records_that_nobody_certified,
    _one_long_label,
    _long_pages,
    _nested_columns,
    _endless_list,
    _footer_of_lists,
    _footer_beyond_the_file,
    _no_parquet_at_all,
    _groups_that_share_bytes,
    lambda folder: _derived_from_a_file(folder),
    lambda folder: _taxonomy_elsewhere(folder),
]


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path], Outcome]]:
    with limited_verifier(tmp_path_factory.mktemp("scratch")) as verify:
        yield verify


@pytest.mark.parametrize("attack", HOSTILE, ids=lambda attack: attack.__name__.strip("_"))
def test_a_hostile_folder_ends_in_a_verdict(
    attack: Callable[[Path], None], folder: Path, verified: Callable[[Path], Outcome]
) -> None:
    attack(folder)
    code, said, peak = verified(folder)
    assert "Traceback" not in said, said
    assert code in (1, 5), said
    assert peak < MEMORY
    assert "West" not in said


def _taxonomy_elsewhere(folder: Path) -> None:
    (folder.parent / "secret.csv").write_text("Bonn;West\nUlm;South\n", encoding="utf-8")
    plan = folder / forger.PLAN
    text = plan.read_text(encoding="utf-8")
    old = next(line for line in text.splitlines() if "hierarchies/" in line)
    plan.write_text(text.replace(old, 'hierarchy = { taxonomy = "../secret.csv" }'), encoding="utf-8")
    _relisted(folder)


def _derived_from_a_file(folder: Path) -> None:
    (folder.parent / "secret.csv").write_text("West,secret\n", encoding="utf-8")
    plan = folder / forger.PLAN
    column = '\n[columns.county]\nrole = "drop"\nderived = { from = "town", file = "../secret.csv" }\n'
    plan.write_text(plan.read_text(encoding="utf-8") + column, encoding="utf-8")
    _relisted(folder)


def _another_table(folder: Path) -> None:
    rows = pq.read_table(folder / "data.parquet")
    pq.write_table(rows.slice(0, 1), folder / "data.parquet")


READERS: dict[str, Callable[[Path], object]] = {
    "export": shoal.released,
    "report": public_report,
    "board": board_report,
    "estimate": shoal.estimate,
    "weights": shoal.estimation.weighted_records,
}
ELSEWHERE = [
    _absolute,
    _above,
    _pipe_as_hierarchy,
    _pipe_outside,
    _pipe_as_certificate,
    _linked_folder,
    _loop,
    _linked_device,
    _large_text,
    _derived_from_a_file,
    _taxonomy_elsewhere,
]


_opened: list[str] = []
# there is no way to take it away again; it costs nothing
sys.addaudithook(lambda event, values: _opened.append(str(values[0])) if event == "open" else None)


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    def late(*_: object) -> None:
        pytest.fail("it waits")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("attack", ELSEWHERE, ids=lambda attack: attack.__name__.strip("_"))
@pytest.mark.parametrize("name", READERS)
def test_no_reader_leaves_the_folder_or_waits(name: str, attack: Callable[[Path], None], folder: Path) -> None:
    attack(folder)
    _opened.clear()
    said = ""
    with _at_most(10):
        try:
            READERS[name](folder)
        except ShoalError as error:
            said = str(error)
    # a public report of a folder whose plan it does not need is no failure
    assert said or name == "report"
    assert "secret" not in said
    outside = [str(folder.parent / each) for each in ("secret.csv", "pipe", "elsewhere")]
    assert not [path for path in _opened if path.startswith(("/dev/zero", *outside))]


def test_a_table_that_nobody_certified_is_not_exported(folder: Path) -> None:
    shoal.released(folder)
    _another_table(folder)
    with pytest.raises(VerificationError, match=r"`data.parquet` is not the file that the certificate is about"):
        shoal.released(folder)
