"""Spark with executors that are processes of their own, and are killed in every phase of a release."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import shoal

RELEASE = "spark, 1 % [ü] y=1"
pytestmark = [pytest.mark.spark, pytest.mark.deep]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Return the folder with the releases that `local_cluster.py` made, and what it told."""
    pytest.importorskip("pyspark.sql", reason="needs pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("needs a Java runtime")
    folder = tmp_path_factory.mktemp("cluster")
    # a process of its own: a process has one Spark session, which the other tests share
    script = Path(__file__).with_name("local_cluster.py")
    left = tmp_path_factory.mktemp("left")  # what killed executors leave behind is found by nobody else
    env = os.environ | {"TMPDIR": str(left)}
    done = subprocess.run([sys.executable, script, folder], capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder, json.loads((folder / "told.json").read_text(encoding="utf-8"))


def test_a_release_comes_out_whole_though_an_executor_dies_in_every_phase(
    cluster: tuple[Path, dict[str, Any]],
) -> None:
    folder, told = cluster
    assert told["deaths"] == ["encode", "sort", "write", "copy", "figures", "verify", "persons", "blocks"]
    assert told["verified"]
    assert shoal.verify(folder / RELEASE).passed  # by DuckDB, report and summary included
    spark, duckdb = (pq.read_table(folder / engine / "data.parquet") for engine in (RELEASE, "duckdb"))
    assert spark.to_pydict() == duckdb.to_pydict()
    names = [path.relative_to(folder / RELEASE).as_posix() for path in sorted((folder / RELEASE).rglob("*"))]
    assert [name for name in names if "data" in name] == [
        "data.csv",
        "data.csv/part-00000.csv",
        "data.csv/part-00001.csv",
        "data.parquet",
        "data.parquet/part-00000.parquet",
        "data.parquet/part-00001.parquet",
    ]
    text = pa.concat_tables(
        pa.csv.read_csv(folder / RELEASE / name) for name in names if "/" in name and name.endswith(".csv")
    )
    assert text["pay"].to_pylist() == duckdb["pay"].to_pylist()
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_the_release_could_not_have_passed_through_the_driver(cluster: tuple[Path, dict[str, Any]]) -> None:
    _, told = cluster
    for refused in ("through the driver", "pairs through the driver", "records through the driver"):
        assert "than spark.driver.maxResultSize allows" in told[refused]


def test_executors_that_do_not_see_the_folder_write_nothing(cluster: tuple[Path, dict[str, Any]]) -> None:
    folder, told = cluster
    assert "the Spark executors do not see the folder" in told["unshared"]
    assert not (folder / "unshared").exists()


def test_executors_count_persons_though_one_of_them_dies(cluster: tuple[Path, dict[str, Any]]) -> None:
    folder, told = cluster
    assert told["persons"]
    assert shoal.verify(folder / "persons").passed
    spark, duckdb = (pq.read_table(folder / name / "data.parquet") for name in ("persons", "persons here"))
    assert spark.to_pydict() == duckdb.to_pydict()
    certificates = [
        json.loads((folder / name / "certificate.json").read_text(encoding="utf-8"))
        for name in ("persons", "persons here")
    ]
    for part in ("promises", "steps"):
        assert certificates[0][part] == certificates[1][part]
    (counted,) = [step for step in certificates[0]["steps"] if step["step"] == "counted"]
    assert counted["fewest"] >= 100
    assert counted["persons"] == 20_000 < counted["memberships"] < counted["records"] == 40_000


def test_executors_cluster_categories_and_numbers_without_the_driver(
    cluster: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, told = cluster
    monkeypatch.setattr("shoal.methods.classes._microaggregation.LEAST_BLOCK", 1)  # as where the plan was made
    assert told["clustered"]
    assert shoal.verify(folder / "clustered").passed
    released, rows = (pq.read_table(folder / name).to_pydict() for name in ("clustered/data.parquet", "rows"))
    sizes = Counter(zip(released["town"], released["pay"], strict=True))
    assert min(sizes.values()) >= 10
    assert len(sizes) > 3_000
    assert sorted(released["share"]) == sorted(rows["share"])
    assert sum(released["pay"]) == pytest.approx(sum(rows["pay"]))
    assert set(released["town"]) <= {*rows["town"], "even", "odd", "*"}
    steps = json.loads((folder / "clustered" / "certificate.json").read_text(encoding="utf-8"))["steps"]
    (blocked,) = [step for step in steps if step["step"] == "blocked"]
    assert blocked["blocks"] > 2


def test_executors_keep_promises_about_values_block_by_block(
    cluster: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, told = cluster
    monkeypatch.setattr("shoal.methods.classes._microaggregation.LEAST_BLOCK", 1)  # as where the plan was made
    assert told["diverse"]
    assert shoal.verify(folder / "diverse").passed  # by DuckDB, what the classes achieve included
    released, rows = (pq.read_table(folder / name).to_pydict() for name in ("diverse/data.parquet", "rows"))
    classes: defaultdict[float, Counter[str]] = defaultdict(Counter)
    for pay, town in zip(released["pay"], released["town"], strict=True):
        classes[pay][town] += 1
    assert Counter(released["town"]) == Counter(rows["town"])
    assert len(classes) > 200
    assert all(len(towns) >= 2 and towns.total() >= 20 for towns in classes.values())
    steps = json.loads((folder / "diverse" / "certificate.json").read_text(encoding="utf-8"))["steps"]
    (blocked,) = [step for step in steps if step["step"] == "blocked"]
    assert blocked["blocks"] > 2
    assert not blocked["repaired"]


def test_executors_exchange_values_block_by_block(
    cluster: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, told = cluster
    monkeypatch.setattr("shoal.methods.classes._microaggregation.LEAST_BLOCK", 1)  # as where the plan was made
    assert told["exchanged"]
    assert shoal.verify(folder / "twice" / "exchanged").passed
    released, rows = (pq.read_table(folder / name).to_pydict() for name in ("twice/exchanged/data.parquet", "rows"))
    assert sorted(released["pay"]) == sorted(rows["pay"])
    assert sorted(released["note"]) == sorted(rows["note"])
    place = {pay: i for i, pay in enumerate(sorted(rows["pay"]))}
    own = dict(zip(rows["note"], rows["pay"], strict=True))
    moved = [abs(place[own[note]] - place[pay]) for note, pay in zip(released["note"], released["pay"], strict=True)]
    # inside clusters of 10 to 19 neighbours, and one record in ten where it was
    assert max(moved) < 200
    assert sorted(moved)[len(moved) // 2] < 19
    assert 0.05 < moved.count(0) / len(moved) < 0.15


def test_executors_part_tables_into_classes_that_are_like_the_whole_table(
    cluster: tuple[Path, dict[str, Any]],
) -> None:
    folder, told = cluster
    assert told["parted"]
    assert shoal.verify(folder / "parted").passed
    people, values = (
        pq.read_table(folder / f"parted/{name}.parquet") for name in ("quasi-identifiers", "confidential")
    )
    sides: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for number, side in zip(values["class"].to_pylist(), values["side"].to_pylist(), strict=True):
        sides[number][side] += 1
    assert Counter(people["class"].to_pylist()) == Counter({number: own.total() for number, own in sides.items()})
    assert sorted(sides) == list(range(1, len(sides) + 1))
    assert len(sides) > 500
    assert all(own.total() >= 20 and abs(own["rich"] / own.total() - 0.5) < 0.06 for own in sides.values())
    steps = json.loads((folder / "parted" / "certificate.json").read_text(encoding="utf-8"))["steps"]
    (blocked,) = [step for step in steps if step["step"] == "blocked"]
    assert blocked["blocks"] > 2


def test_executors_give_every_class_its_share_of_every_bucket(cluster: tuple[Path, dict[str, Any]]) -> None:
    folder, told = cluster
    assert told["bucketized"]
    assert shoal.verify(folder / "bucketized").passed
    released, rows = (pq.read_table(folder / name).to_pydict() for name in ("bucketized/data.parquet", "rows"))
    every = Counter(released["town"])
    assert len(every) > 1
    assert every["town 0"] == Counter(rows["town"])["town 0"]
    classes: defaultdict[float, Counter[str]] = defaultdict(Counter)
    for pay, town in zip(released["pay"], released["town"], strict=True):
        classes[pay][town] += 1
    assert len(classes) > 1_000
    for own in classes.values():
        assert own.total() >= 10
        shares = [own[town] * len(rows["pay"]) / (own.total() * every[town]) for town in every]
        assert 0.5 <= min(shares) <= max(shares) <= 2


def test_executors_put_all_records_of_a_person_into_one_block(
    cluster: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, told = cluster
    monkeypatch.setattr("shoal.methods.classes._microaggregation.LEAST_BLOCK", 1)  # as where the plan was made
    assert told["peopled"]
    assert shoal.verify(folder / "peopled").passed
    released, rows = (pq.read_table(folder / name).to_pydict() for name in ("peopled/data.parquet", "rows"))
    person = {note: int(pay * 4) for note, pay in zip(rows["note"], rows["pay"], strict=True)}
    classes: defaultdict[float, set[int]] = defaultdict(set)
    for pay, note in zip(released["pay"], released["note"], strict=True):
        classes[pay].add(person[note])
    assert min(len(own) for own in classes.values()) >= 10
    assert len(classes) > 500
    steps = json.loads((folder / "peopled" / "certificate.json").read_text(encoding="utf-8"))["steps"]
    (counted,) = [step for step in steps if step["step"] == "counted"]
    assert counted["persons"] == 20_000
    assert counted["memberships"] == sum(len(own) for own in classes.values())


def test_records_that_an_executor_stored_are_not_lost_with_it(cluster: tuple[Path, dict[str, Any]]) -> None:
    folder, told = cluster
    assert "blocks" in told["deaths"]
    assert told["exchanged"]
    released, rows = (pq.read_table(folder / name) for name in ("twice/exchanged/data.parquet", "rows"))
    assert sorted(released["note"].to_pylist()) == sorted(rows["note"].to_pylist())
    # where one executor alone had them, that is one error, and no release
    assert "a Spark executor died, and records that it had stored were lost with it" in told["stored once"]
    assert not (folder / "once" / "exchanged").exists()
