"""The way of a newcomer: draft, assess, anonymize, verify."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from pathlib import Path

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal.guarantees
from cli.conftest import Run

K = 5


def test_the_program_names_its_version_and_kernels(shoal: Run) -> None:
    done = shoal("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("shoal 0.")
    assert "kernels" in done.stdout


@pytest.mark.parametrize("command", ["draft", "assess", "anonymize", "verify"])
def test_help_has_an_example(shoal: Run, command: str) -> None:
    done = shoal(command, "--help")
    assert done.returncode == 0
    assert f"shoal {command}" in done.stdout
    assert "Example" in done.stdout


def test_draft_writes_a_schema_that_can_be_used_as_it_is(shoal: Run, hospital: Path, tmp_path: Path) -> None:
    schema = tmp_path / "drafted.schema.toml"
    done = shoal("draft", hospital / "discharges.csv", "--output", schema)
    assert done.returncode == 0, done.stderr
    assert "quasi-identifier" in done.stdout
    again = shoal(
        "anonymize", hospital / "discharges.csv", "--schema", schema, "--k", K, "--output", tmp_path / "release"
    )
    assert again.returncode == 0, again.stderr
    assert shoal("verify", tmp_path / "release").returncode == 0


def test_draft_does_not_replace_a_schema_unasked(shoal: Run, hospital: Path, tmp_path: Path) -> None:
    schema = tmp_path / "mine.toml"
    schema.write_text("# mine\n")
    done = shoal("draft", hospital / "discharges.csv", "--output", schema)
    assert done.returncode == 2
    assert "exists" in done.stderr
    assert schema.read_text() == "# mine\n"


def test_assess_agrees_with_counting_by_hand(shoal: Run, hospital: Path) -> None:
    done = shoal("assess", hospital / "discharges.csv", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    names = [column["column"] for column in found["columns"]]
    with (hospital / "discharges.csv").open(newline="") as stream:
        classes = Counter(tuple(row[name] for name in names) for row in csv.DictReader(stream))
    risk = found["reidentification"]
    assert risk["classes"] == len(classes)
    assert risk["smallest"] == min(classes.values())
    assert risk["unique"] == sum(size == 1 for size in classes.values())
    assert risk["marketer"] == pytest.approx(len(classes) / sum(classes.values()))


def test_a_release_keeps_k_by_an_independent_count(release: Path) -> None:
    certificate = json.loads((release / "certificate.json").read_text())
    columns = certificate["data"]["columns"]
    names = [column["name"] for column in columns if column["role"] == "quasi-identifier"]
    rows = pq.read_table(release / "data.parquet").select(names).to_pylist()
    assert min(Counter(tuple(row.values()) for row in rows).values()) >= K
    assert len(rows) == certificate["data"]["records"]
    assert "identifier" not in {column["role"] for column in columns}


def test_a_certificate_fits_its_published_schema(release: Path) -> None:
    path = Path(shoal.guarantees.__file__).with_name("certificate.schema.json")
    jsonschema.validate(json.loads((release / "certificate.json").read_text()), json.loads(path.read_text()))


def test_the_csv_holds_the_same_records_as_the_parquet_file(release: Path) -> None:
    table = pq.read_table(release / "data.parquet")
    with (release / "data.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == table.num_rows
    assert list(rows[0]) == table.column_names


def test_verify_prints_a_line_per_promise(shoal: Run, release: Path) -> None:
    done = shoal("verify", release)
    assert done.returncode == 0
    assert "ok   k-anonymity k = 5: holds" in done.stdout


def test_verify_fails_when_one_cell_was_edited(shoal: Run, release: Path, tmp_path: Path) -> None:
    copy = tmp_path / "edited"
    shutil.copytree(release, copy)
    table = pq.read_table(copy / "data.parquet")
    index = table.column_names.index("sex")
    values = table.column(index).to_pylist()
    values[0] = "X"
    pq.write_table(table.set_column(index, "sex", pa.array(values)), copy / "data.parquet")
    done = shoal("verify", copy)
    assert done.returncode == 1
    assert "FAIL data.parquet" in done.stdout
    assert "FAIL k-anonymity" in done.stdout


def test_verify_fails_when_the_certificate_promises_more(shoal: Run, release: Path, tmp_path: Path) -> None:
    copy = tmp_path / "boasting"
    shutil.copytree(release, copy)
    certificate = json.loads((copy / "certificate.json").read_text())
    certificate["promises"][0]["parameters"]["k"] = 5000
    (copy / "certificate.json").write_text(json.dumps(certificate))
    assert shoal("verify", copy).returncode == 1


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"format": "shoal-certificate", "version": 99}', "\x00"])
def test_verify_fails_clearly_on_what_is_no_certificate(shoal: Run, tmp_path: Path, content: str) -> None:
    (tmp_path / "certificate.json").write_text(content)
    done = shoal("verify", tmp_path)
    assert done.returncode in (1, 5)
    assert "certificate" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_plan_makes_the_same_release_again(shoal: Run, hospital: Path, release: Path, tmp_path: Path) -> None:
    done = shoal(
        "anonymize", hospital / "discharges.csv", "--plan", release / "plan.toml", "--output", tmp_path / "again"
    )
    assert done.returncode == 0, done.stderr
    assert pq.read_table(tmp_path / "again" / "data.parquet").equals(pq.read_table(release / "data.parquet"))


def test_the_order_of_the_input_does_not_matter(shoal: Run, hospital: Path, release: Path, tmp_path: Path) -> None:
    header, *rows = (hospital / "discharges.csv").read_text().splitlines()
    (tmp_path / "reversed.csv").write_text("\n".join([header, *reversed(rows)]) + "\n")
    schema = hospital / "discharges.schema.toml"
    done = shoal("anonymize", tmp_path / "reversed.csv", "--schema", schema, "--k", K, "--output", tmp_path / "release")
    assert done.returncode == 0, done.stderr
    assert pq.read_table(tmp_path / "release" / "data.parquet").equals(pq.read_table(release / "data.parquet"))


def test_json_is_printed_everywhere(shoal: Run, hospital: Path, release: Path, tmp_path: Path) -> None:
    data = hospital / "discharges.csv"
    for arguments in (
        ("draft", data, "--output", tmp_path / "s.toml"),
        ("assess", data),
        ("anonymize", data, "--k", 3, "--output", tmp_path / "r"),
        ("verify", release),
    ):
        done = shoal(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)


def test_an_error_is_json_too(shoal: Run, tmp_path: Path) -> None:
    done = shoal("assess", tmp_path / "absent.csv", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["problems"]


def test_pseudonyms_are_keyed_and_the_key_stays_out_of_the_release(shoal: Run, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("id,age\n" + "".join(f"person-{i},{30 + i % 2}\n" for i in range(8)))
    (tmp_path / "p.schema.toml").write_text(
        '[columns.id]\nrole = "identifier"\npseudonym = true\n\n[columns.age]\nrole = "quasi-identifier"\n'
    )
    arguments = ("anonymize", tmp_path / "p.csv", "--k", 2)
    refused = shoal(*arguments, "--output", tmp_path / "r0")
    assert refused.returncode == 2
    assert "--pseudonym-key" in refused.stderr
    inside = shoal(*arguments, "--output", tmp_path / "r0", "--pseudonym-key", tmp_path / "r0" / "key")
    assert inside.returncode == 2
    for name in ("r1", "r2"):
        done = shoal(*arguments, "--output", tmp_path / name, "--pseudonym-key", tmp_path / "key")
        assert done.returncode == 0, done.stderr
    first, second = (pq.read_table(tmp_path / name / "data.parquet") for name in ("r1", "r2"))
    assert first.equals(second)
    pseudonyms = first.column("id").to_pylist()
    assert len(set(pseudonyms)) == 8
    assert not any("person" in pseudonym for pseudonym in pseudonyms)
    key = (tmp_path / "key").read_bytes()
    assert (tmp_path / "key").stat().st_mode & 0o077 == 0
    assert not any(key in path.read_bytes() for path in (tmp_path / "r1").iterdir())
