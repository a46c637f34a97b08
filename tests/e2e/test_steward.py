"""The task list of a steward, from an Excel file to what is handed over, with no line of code.

With ``SHOAL_SCREENSHOTS=docs/images`` it draws the pictures of docs/how-to/work-in-the-app.md.
"""

from __future__ import annotations

import csv
import os
import zipfile
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import shoal

from .conftest import App, sync_api
from .test_journeys import anonymise, open_column, saved, set_levels, set_role

expect = sync_api.expect

pytestmark = [pytest.mark.slow, pytest.mark.e2e]


def excel(source: Path, path: Path, records: int) -> Path:
    openpyxl = pytest.importorskip("openpyxl", reason="needs the extra `files`")
    book = openpyxl.Workbook()
    book.active.append(["Exported from the hospital's system"])
    book.create_sheet("discharges")
    book.active = 1
    with source.open(encoding="utf-8", newline="") as file:
        for row in islice(csv.reader(file), records + 1):
            book.active.append(row)
    book.save(path)
    return path


def shot(page: Any, name: str, place: Any = None) -> None:
    if folder := os.environ.get("SHOAL_SCREENSHOTS"):
        (place or page).screenshot(path=Path(folder) / f"task-{name}.png")


def test_a_steward_does_the_whole_task_list(page: Any, app: App, hospital: Path, tmp_path: Path) -> None:
    page.goto(app.home)
    page.get_by_label("Open a table").set_input_files(
        excel(hospital / "discharges.csv", tmp_path / "discharges.xlsx", 2000)
    )
    page.get_by_label("Sheet", exact=True).select_option("discharges")
    page.get_by_role("button", name="Open", exact=True).click()
    page.wait_for_url("**/tables/*")
    table = str(page.url)

    for column, role in (("patient_id", "identifier"), ("diagnosis", "sensitive"), ("length_of_stay", "insensitive")):
        set_role(page, column, role)
    for column in ("name", "age", "sex", "zip", "admission_date", "charge"):
        role = {"name": "identifier", "charge": "insensitive"}.get(column, "quasi-identifier")
        set_role(page, column, role)
    age = open_column(page, "age")
    age.get_by_label("Kind").select_option("numeric")
    set_levels(age, "intervals")
    age.get_by_label("Widths").fill("10, 20, 40")
    age.get_by_label("Starting at").fill("0")
    saved(page)
    shot(page, "roles")

    place = open_column(page, "zip")
    set_levels(place, "mask")
    place.get_by_label("Characters hidden").fill("2, 4")
    place.get_by_label("Length of the values").fill("5")
    saved(page)
    sex = open_column(page, "sex")
    set_levels(sex, "groups")
    for value in ("F", "M"):
        sex.locator(f'#values input[value="{value}"]').check()
    sex.get_by_label("Put the ticked into").fill("anyone")
    sex.get_by_role("button", name="Group as").click()
    saved(page)
    shot(page, "groups")
    page.get_by_role("button", name="These are right").click()
    page.wait_for_url("**/risk")

    page.goto(f"{table}/promise")
    page.get_by_label("k: people who look alike").fill("5")
    page.get_by_label("l for diagnosis").fill("2")
    page.locator("select[name=method]").select_option("generalize")
    shot(page, "promise")
    anonymise(page)
    page.get_by_role("heading", name="Who is protected").wait_for()
    page.get_by_text("checked just now").wait_for()
    shot(page, "result")
    first = page.url.rpartition("/")[2]

    page.get_by_role("link", name="Explore", exact=True).first.click()
    page.get_by_role("heading", name="Solutions").wait_for()
    page.locator("#pair svg").wait_for()
    page.get_by_text("random counts").wait_for()
    assert page.locator("#node-list tbody tr").count() >= 1
    # one step above what was released: coarser classes keep the promise too
    released = page.locator("#node-list tr.chosen .name").inner_text().split(", ")
    for level, choice in zip(
        [str(int(released[0]) + 1), *released[1:]], page.locator("#node-filter select").all(), strict=True
    ):
        choice.select_option(level)
    expect(page.locator("#node-about li").first).to_contain_text("age")
    shot(page, "nodes")
    page.get_by_role("button", name="Apply: make this release").click()
    page.wait_for_url(lambda address: "/runs/" in address and "explore" not in address)
    page.get_by_role("heading", name="Who is protected").wait_for()
    second = page.url.rpartition("/")[2]

    page.goto(f"{table}/runs?run={first}&run={second}")
    page.get_by_role("heading", name="Side by side").wait_for()
    assert page.locator(".beside > thead th").count() == 2
    shot(page, "compare")

    page.goto(f"{app.home}/runs/{second}")
    with page.expect_download() as download:
        page.get_by_role("link", name="Everything (zip)").click()
    download.value.save_as(tmp_path / "release.zip")
    with zipfile.ZipFile(tmp_path / "release.zip") as archive:
        archive.extractall(tmp_path)
    assert shoal.verify(tmp_path / "release").passed
    with (tmp_path / "release" / "data.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    classes: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        key = tuple(row[name] for name in ("age", "sex", "zip", "admission_date"))
        classes.setdefault(key, []).append(row["diagnosis"])
    assert min(map(len, classes.values())) >= 5
    assert min(len(set(each)) for each in classes.values()) >= 2
