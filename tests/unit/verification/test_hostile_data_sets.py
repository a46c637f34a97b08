"""Strangers' folders of several tables, and of series, cost little and end in a verdict, as those of one table do."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from forgeries import forger
from reference import releases_of_others
from reference.limited import MEMORY, Outcome, limited_verifier
from shoal import tables
from shoal.errors import ShoalError
from shoal.methods.nested import DatasetPlan, order_tables
from shoal.report import board_report, public_report

Attack = Callable[[Path], None]


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("originals")
    releases_of_others.dataset(place / "dataset").rename(place / "several")
    releases_of_others.series(place)
    return place


@pytest.fixture
def folder(originals: Path, tmp_path: Path) -> Path:
    return forger.copied(originals / "several", tmp_path / "release")


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Outcome]]:
    with limited_verifier(tmp_path_factory.mktemp("scratch")) as verify:
        yield verify


def _plan(folder: Path, change: Callable[[str], str]) -> None:
    path = folder / forger.PLAN
    text = change(path.read_text(encoding="utf-8"))
    assert text != path.read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    forger.edit(folder, lambda c: None, pages=False)


def _store(folder: Path, content: dict[str, pa.Table], parents: dict[str, np.ndarray]) -> None:
    """Write other rows, with order, keys and numbers as they would be."""
    plan = DatasetPlan.load(folder / forger.PLAN)
    ordered = order_tables(plan.schema, content, parents)
    for name, rows in ordered.items():
        for path in folder.glob(f"{name}.*"):
            path.unlink()
        tables.write(tables.reread(rows), folder / f"{name}.parquet")
    lengths = {name: len(rows) for name, rows in ordered.items()}

    def edit(content: forger.Content) -> None:
        content["files"] = [file for file in content["files"] if not re.fullmatch(r"\w+\.csv", file["name"])]
        for data in (content["data"], *content["further_data"]):
            data["records"] = lengths[data["file"].removesuffix(".parquet")]
        step = next(step for step in content["steps"] if step["step"] == "items-suppressed")
        step |= {"rows": [0] * len(lengths), "of": [*lengths.values()]}
        forger.let_words_fit(step)

    forger.edit(folder, edit, pages=False)


def _two_people(drugs: list[str]) -> tuple[dict[str, pa.Table], dict[str, np.ndarray]]:
    """Return two people with one stay and the same drugs."""
    number = len(drugs)
    content = {
        "people": pa.table({"town": ["Bonn"] * 2}),
        "stays": pa.table({"ward": ["a"] * 2, "illness": ["flu"] * 2}),
        "drugs": pa.table({"drug": drugs * 2}),
    }
    return content, {"stays": np.arange(2), "drugs": np.repeat([0, 1], number)}


def _promise(folder: Path, old: str, new: str) -> None:
    """Change a number in the promises of the plan and of the certificate."""
    _plan(folder, lambda text: text.replace(old, new))
    kinds = DatasetPlan.load(folder / forger.PLAN).promises

    def edit(content: forger.Content) -> None:
        for entry, kind in zip(content["promises"], kinds, strict=True):
            entry |= {
                "parameters": {name: str(each) if name == "c" else each for name, each in kind.parameters().items()},
                "statement": kind.statement(),
                "assumptions": list(kind.assumptions()),
            }

    forger.edit(folder, edit, pages=False)


def _patterns_of_many_items(folder: Path) -> None:
    names = [f"x{number}" for number in range(60)]
    _plan(folder, lambda text: text.replace('values = ["x", "y"]', f"values = {names}".replace("'", '"')))
    _store(folder, *_two_people(names))
    _promise(folder, "m = 2", "m = 6")


def _millions_of_rows(folder: Path) -> None:
    for path in folder.glob("drugs.*"):
        path.unlink()
    number = 9_000_000
    codes = pa.array(np.zeros(number, dtype=np.int32))
    rows = {"stay": pa.array(np.ones(number, dtype=np.int64)), "drug": pa.DictionaryArray.from_arrays(codes, ["x"])}
    plain = pa.table(rows).replace_schema_metadata(None)
    pq.write_table(plain, folder / "drugs.parquet", store_schema=False, compression="zstd")

    def edit(content: forger.Content) -> None:
        content["files"] = [file for file in content["files"] if file["name"] != "drugs.csv"]
        content["further_data"][1]["records"] = number

    forger.edit(folder, edit, pages=False)


def _hundreds_of_thousands_below_one_row(folder: Path) -> None:
    _store(folder, *_two_people(["x"] * 70_000 + ["y"] * 70_000))


def _many_tables(folder: Path) -> None:
    more = "".join(f'\n[tables.t{number}]\nparent = "people"\nparent_key = "id"\n' for number in range(15_000))
    _plan(folder, lambda text: text + more)


def _many_columns(folder: Path) -> None:
    more = "".join(f'\n[tables.drugs.columns.c{number}]\nrole = "insensitive"\n' for number in range(15_000))
    _plan(folder, lambda text: text + more)


def _many_secrets(folder: Path) -> None:
    entry = (
        '[[promises]]\nmodel = "secret-among-known-items"\ncolumn = "stays.illness"\nvalue = "v{}"\nc = 1\nm = 2\n\n'
    )
    more = "".join(entry.format(number) for number in range(8_000))
    _plan(folder, lambda text: text.replace("[method]", f"{more}[method]"))


def _keys_that_are_lists(folder: Path) -> None:
    _plan(folder, lambda text: text.replace('key = "id"', 'key = ["id"]', 1))


def _parents_that_are_tables(folder: Path) -> None:
    _plan(folder, lambda text: text.replace('parent = "people"', 'parent = { a = "people" }', 1))


def _tables_below_each_other(folder: Path) -> None:
    _plan(folder, lambda text: text.replace('parent = "people"', 'parent = "drugs"', 1))


def _absolute(folder: Path) -> None:
    _plan(folder, lambda text: re.sub(r"hierarchies/[\w.-]+", "/dev/zero", text))


def _above(folder: Path) -> None:
    (folder.parent / "secret.csv").write_text("Bonn;West;*\nUlm;South;*\n", encoding="utf-8")
    _plan(folder, lambda text: re.sub(r"hierarchies/[\w.-]+", "../secret.csv", text))


def _pipe(folder: Path) -> None:
    place = next((folder / "hierarchies").iterdir())
    place.unlink()
    os.mkfifo(place)


def _linked_table(folder: Path) -> None:
    (folder / "stays.parquet").unlink()
    (folder / "stays.parquet").symlink_to("/dev/zero")


def _wide_intervals(folder: Path) -> None:
    rule = 'kind = "numeric"\nminimum = 0\nmaximum = 1e15\nhierarchy = { intervals = [1e-9, 1] }'
    _plan(folder, lambda text: re.sub(r"hierarchy = .*", rule, text))


def _table_missing(folder: Path) -> None:
    (folder / "drugs.parquet").unlink()


ATTACKS: list[Attack] = [
    _patterns_of_many_items,
    _millions_of_rows,
    _hundreds_of_thousands_below_one_row,
    _many_tables,
    _many_columns,
    _many_secrets,
    _keys_that_are_lists,
    _parents_that_are_tables,
    _tables_below_each_other,
    _absolute,
    _above,
    _pipe,
    _linked_table,
    _wide_intervals,
    _table_missing,
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__.strip("_"))
def test_a_hostile_data_set_ends_in_a_verdict(attack: Attack, folder: Path, verified: Callable[..., Outcome]) -> None:
    attack(folder)
    code, said, peak = verified(folder)
    assert "Traceback" not in said, said
    assert code in (1, 5), said
    assert peak < MEMORY


READERS: dict[str, Callable[[Path], object]] = {
    "export": shoal.released,
    "report": public_report,
    "board": board_report,
    "estimate": shoal.estimate,
    "weights": shoal.estimation.weighted_records,
}


@pytest.mark.parametrize("attack", [_absolute, _pipe, _linked_table, _keys_that_are_lists], ids=lambda a: a.__name__)
@pytest.mark.parametrize("name", READERS)
def test_no_reader_of_a_hostile_data_set_waits_or_breaks(name: str, attack: Attack, folder: Path) -> None:
    attack(folder)
    if name == "report" and attack in (_absolute, _keys_that_are_lists):
        READERS[name](folder)  # it does not need the plan
        return
    with pytest.raises(ShoalError):
        READERS[name](folder)


def _rows_without_crowds(folder: Path) -> None:
    number = 5_000_000
    codes = pa.array(np.zeros(number, dtype=np.int32))
    rows = pq.read_table(folder / "data.parquet")
    alike = {name: pa.DictionaryArray.from_arrays(codes, rows[name].unique()[:1]) for name in rows.column_names}
    plain = pa.table(alike).replace_schema_metadata(None)
    pq.write_table(plain, folder / "data.parquet", store_schema=False, compression="zstd")
    forger.edit(folder, lambda c: c["data"].update(records=number), pages=False)


def _long_pages(folder: Path) -> None:
    names = pq.read_table(folder / "data.parquet").column_names
    rows = pa.table({name: ["x" * 100_000_000] for name in names})
    pq.write_table(rows, folder / "data.parquet", store_schema=False, compression="zstd", use_dictionary=False)
    del rows
    forger.edit(folder, lambda c: c["data"].update(records=1), pages=False)


def _crowds_as_pipe(folder: Path) -> None:
    (folder / "joint-crowds.csv").unlink()
    os.mkfifo(folder / "joint-crowds.csv")


def _huge_crowds(folder: Path) -> None:
    path = folder / "series.csv"
    path.write_text(path.read_text().replace(",3,", f",{'9' * 4000},", 1))
    forger.edit(folder, lambda c: None, pages=False)


def _many_crowds(folder: Path) -> None:
    path = folder / "series.csv"
    path.write_text("number,parent,people,state\n" + "".join(f"{number},,3,shown\n" for number in range(60_000)))
    forger.edit(folder, lambda c: None, pages=False)


@pytest.mark.parametrize("which", ["r1", "r2"])
@pytest.mark.parametrize(
    "attack",
    [_rows_without_crowds, _long_pages, _crowds_as_pipe, _huge_crowds, _many_crowds],
    ids=lambda attack: attack.__name__.strip("_"),
)
def test_a_hostile_series_ends_in_a_verdict(
    attack: Attack, which: str, originals: Path, tmp_path: Path, verified: Callable[..., Outcome]
) -> None:
    for name in ("r1", "r2"):
        forger.copied(originals / name, tmp_path / name)
    attack(tmp_path / which)
    code, said, peak = verified(tmp_path / "r2", tmp_path / "r1")
    assert "Traceback" not in said, said
    assert code in (1, 5), said
    assert peak < MEMORY
