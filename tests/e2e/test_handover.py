"""Journeys that need no shell: a signed release, a stranger's zip, a vault for an analyst, a browser that was lost.

With ``SHOAL_SCREENSHOTS=docs/images`` they draw the pictures of docs/how-to/work-in-the-app.md.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import zipfile
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import shoal

from .conftest import App, serve, sync_api
from .test_journeys import anonymise, open_example, set_role
from .test_steward import excel

expect = sync_api.expect

pytestmark = [pytest.mark.slow, pytest.mark.e2e]


def shot(page: Any, name: str) -> None:
    if folder := os.environ.get("SHOAL_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"app-{name}.png")


def open_file(page: Any, app: App, path: Path) -> str:
    page.goto(app.home)
    page.get_by_label("Open a table").set_input_files(path)
    page.get_by_role("button", name="Open", exact=True).click()
    page.wait_for_url("**/tables/*")
    return str(page.url)


def clinic(path: Path, hospital: Path, records: int = 600) -> Path:
    """Return a small part of the hospital table, in the format of a path's ending."""
    lines = tuple(islice((hospital / "discharges.csv").open(encoding="utf-8"), records + 1))
    text = path.with_suffix(".csv")
    text.write_text("".join(lines), encoding="utf-8")
    if path.suffix == ".xlsx":
        return excel(text, path, records)
    if path.suffix != ".csv":
        from shoal import tables

        tables.write(shoal.read(text), path)
    return path


def promised(page: Any, table: str) -> None:
    """Set the roles of a small table, and release it with k = 3."""
    for column, role in (("patient_id", "identifier"), ("name", "identifier"), ("diagnosis", "sensitive")):
        set_role(page, column, role)
    for column in ("zip", "admission_date", "charge", "length_of_stay"):
        set_role(page, column, "insensitive")
    for column in ("age", "sex"):
        set_role(page, column, "quasi-identifier")
    page.get_by_role("button", name="These are right").click()
    page.wait_for_url("**/risk")
    page.goto(f"{table}/promise")
    page.get_by_label("k: people who look alike").fill("3")
    page.locator("select[name=method]").select_option("generalize")
    anonymise(page)
    page.get_by_text("checked just now").wait_for()


def test_an_excel_file_becomes_a_signed_release_that_a_stranger_verifies(
    page: Any, app: App, hospital: Path, tmp_path: Path
) -> None:
    pytest.importorskip("cryptography", reason="needs the extra `sign`")
    pytest.importorskip("openpyxl", reason="needs the extra `files`")
    page.goto(app.home)
    page.get_by_label("Open a table").set_input_files(clinic(tmp_path / "clinic.xlsx", hospital))
    page.get_by_label("Sheet", exact=True).select_option("discharges")
    page.get_by_role("button", name="Open", exact=True).click()
    page.wait_for_url("**/tables/*")
    promised(page, str(page.url))
    page.get_by_label("Name", exact=True).fill("our agency")
    page.locator("#new-key").get_by_label("Passphrase").fill("correct horse")
    page.get_by_role("button", name="Make the keys").click()
    page.locator("#signing").get_by_label("Passphrase").wait_for()
    expect(page.locator("#signing [name=key]")).to_have_value("our agency")
    page.locator("#signing").get_by_label("Passphrase").fill("correct horse")
    page.get_by_role("button", name="Sign the release").click()
    expect(page.locator("#signed")).to_contain_text("Signed with the key")
    page.locator("#sign").scroll_into_view_if_needed()
    shot(page, "sign")
    for link, name in (("Everything (zip)", "release.zip"), ("Public key of our agency", "agency.pub.pem")):
        with page.expect_download() as download:
            page.get_by_role("link", name=link).click()
        download.value.save_as(tmp_path / name)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the records").click()
    assert download.value.suggested_filename == "released.xlsx", "as it came in"

    page.goto(f"{app.home}/verify")
    page.get_by_label("The zip of a release").set_input_files(tmp_path / "release.zip")
    page.get_by_label("Public key of the publisher").set_input_files(tmp_path / "agency.pub.pem")
    page.get_by_role("button", name="Verify", exact=True).first.click()
    expect(page.locator("#verification .verdict")).to_have_class("verdict good")
    shot(page, "verify")
    changed = tmp_path / "changed.zip"
    with zipfile.ZipFile(tmp_path / "release.zip") as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"generalize", b"generalise"))
    page.get_by_label("The zip of a release").set_input_files(changed)
    page.get_by_role("button", name="Verify", exact=True).first.click()
    expect(page.locator("#verification .verdict")).to_have_class("verdict bad")
    expect(page.locator("#verification li").first).to_contain_text("FAIL")
    shot(page, "verify-fails")


def test_an_spss_file_comes_back_as_one(page: Any, app: App, hospital: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyreadstat", reason="needs the extra `files`")
    table = open_file(page, app, clinic(tmp_path / "clinic.sav", hospital))
    promised(page, table)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the records").click()
    download.value.save_as(tmp_path / "back.sav")
    assert download.value.suggested_filename == "released.sav"
    assert shoal.read(tmp_path / "back.sav").count() > 500


def test_an_analyst_asks_a_vault_that_was_started_in_the_app(page: Any, window: Any, app: App) -> None:
    open_example(page, app)
    page.goto(f"{app.home}/vaults")
    assert page.locator("#new-vault [name=epsilon]").input_value() == "1"
    page.get_by_role("button", name="Make the vault").click()
    page.wait_for_url("**/vaults/*")
    page.get_by_label("Port").fill("0")
    page.get_by_role("button", name="Start answering").click()
    page.get_by_text("The vault answers at").wait_for()
    address = page.locator("#server pre").first.inner_text()
    page.locator("#admit").get_by_label("Name").fill("alice")
    page.get_by_role("button", name="Give a token").click()
    token = page.locator("#token pre").inner_text()
    page.get_by_role("button", name="I have passed it on").click()
    page.get_by_text("has one").wait_for()
    shot(page, "vault")

    problems: list[str] = []
    analyst = window.new_page()
    analyst.on("pageerror", lambda error: problems.append(str(error)))
    analyst.on("dialog", lambda dialog: dialog.accept())
    analyst.goto(address)
    analyst.get_by_label("Your token").fill(token)
    analyst.get_by_role("button", name="Enter").click()
    analyst.get_by_label("Question").select_option("mean")
    analyst.locator("[name=column]").select_option("age")
    analyst.get_by_role("button", name="Add a condition").click()
    analyst.get_by_label("Column of the condition").select_option(label="sex")
    analyst.get_by_label("F", exact=True).check()
    expect(analyst.locator("#estimate")).to_contain_text('where `sex` in ("F")')
    analyst.get_by_role("button", name="Ask and pay").click()
    answer = analyst.locator("#answers article")
    answer.wait_for()
    expect(analyst.locator("#budget")).to_contain_text("Left: epsilon 0.9")
    # the interval fills its axis, wherever zero is
    low, high = (float(answer.locator("svg line").nth(i).get_attribute(end)) for i, end in ((1, "x1"), (1, "x2")))
    assert high - low > 150
    if folder := os.environ.get("SHOAL_SCREENSHOTS"):
        analyst.screenshot(path=Path(folder) / "app-ask.png")
    with analyst.expect_download() as download:
        analyst.get_by_role("button", name="Save all answers").click()
    assert "mean of age" in Path(download.value.path()).read_text(encoding="utf-8-sig")
    analyst.close()
    page.reload()
    expect(page.locator("tr", has_text="alice").first).to_contain_text("epsilon 0.1")
    page.get_by_role("button", name="Stop answering").click()
    page.get_by_role("button", name="Start answering").wait_for()
    assert not problems


def test_a_server_that_was_killed_is_opened_again_with_its_runs(chromium: Any, hospital: Path, tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    app = serve("--state", state)
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(app.address)
    table = open_file(page, app, clinic(tmp_path / "clinic.csv", hospital)).rpartition("/")[2]
    set_role(page, "sex", "quasi-identifier")
    page.goto(f"{app.home}/tables/{table}/promise")
    page.locator("select[name=method]").select_option("generalize")
    page.get_by_role("button", name="Anonymise").click()
    page.wait_for_url("**/runs/*")
    run = page.url.rpartition("/")[2]
    app.process.send_signal(signal.SIGKILL)
    app.process.wait(20)
    context.close()

    app = serve("--state", state)
    try:
        # the browser is gone with its key: the running app gives a new one to the owner of its folder
        told = subprocess.run(
            [sys.executable, "-m", "shoal", "open", "--no-browser", "--state", state],
            capture_output=True,
            text=True,
            check=True,
        )
        address = next(word for word in told.stdout.split() if word.startswith("http"))
        context = chromium.new_context(viewport={"width": 1280, "height": 900})
        context.set_default_timeout(60_000)
        page = context.new_page()
        assert page.goto(f"{app.home}/runs/{run}").status == 401
        page.get_by_text("shoal open").wait_for()
        shot(page, "refused")
        page.goto(address)
        page.goto(f"{app.home}/runs/{run}")
        page.get_by_role("heading", name="Who is protected").wait_for()
        context.close()
    finally:
        app.stop()
        shutil.rmtree(state, ignore_errors=True)


def test_another_combination_is_found_by_sliders_kept_and_made(page: Any, app: App, hospital: Path) -> None:
    open_example(page, app)
    page.goto(f"{page.url}/promise")
    page.locator("select[name=method]").select_option("generalize")
    anonymise(page)
    page.get_by_role("link", name="Explore", exact=True).first.click()
    page.locator("#around svg").wait_for()
    shot(page, "move")
    lost = page.locator("#figures .big").inner_text()
    slider = page.get_by_label("Level of admission_date")
    slider.focus()
    slider.press("ArrowRight")
    expect(page.locator("#figures .big")).not_to_have_text(lost)
    page.locator("#keeping [name=name]").fill("coarser dates <b>")
    page.get_by_role("button", name="Keep it").click()
    expect(page.locator("#kept tbody tr")).to_have_count(1)
    expect(page.locator("#kept")).to_contain_text("coarser dates <b>")
    page.locator("#step-back").click()
    expect(page.locator("#figures .big")).to_have_text(lost)
    page.locator("#step-forward").click()
    expect(page.locator("#figures .big")).not_to_have_text(lost)
    found = page.locator("#figures .big").inner_text()
    page.locator("#make").click()
    page.wait_for_url(lambda address: "/runs/" in address and "explore" not in address)
    page.get_by_role("heading", name="Who is protected").wait_for()
    assert found in page.locator("#risk table").first.inner_text()
    bar = page.locator("#distributions figure", has_text="sex").locator("g.mark").first
    bar.click()
    page.get_by_role("link", name="Show the records with").click()
    expect(page.locator("#count")).to_contain_text("records with sex")
    page.go_back()
    page.get_by_role("link", name="The table before and after").click()
    page.locator("#linked tbody tr").first.wait_for()
    page.locator('[data-sort="size"]').click()
    page.locator("[data-group]:not([disabled])").first.click()
    page.get_by_text("records look alike").wait_for()
    page.get_by_role("button", name="Show only this group").click()
    expect(page.locator("#count")).to_contain_text("of one group")
    shot(page, "linked")


def test_two_tables_with_a_key_are_released_together(page: Any, app: App, tmp_path: Path) -> None:
    people = "".join(f"p{i},{30 + i % 3},{['Bergen', 'Oslo'][i % 2]}\n" for i in range(60))
    visits = "".join(f"p{i % 60},{'ABC'[i % 3]}\n" for i in range(150))
    (tmp_path / "patients.csv").write_text(f"patient_id,age,town\n{people}", encoding="utf-8")
    (tmp_path / "visits.csv").write_text(f"patient_id,ward\n{visits}", encoding="utf-8")
    page.goto(app.home)
    page.get_by_text("Open several tables that belong together").click()
    page.get_by_label("Files of the tables").set_input_files([tmp_path / "patients.csv", tmp_path / "visits.csv"])
    page.get_by_role("button", name="Open the tables").click()
    page.wait_for_url("**/datasets/*")
    page.get_by_text("Its rows belong to those of").wait_for()
    for table, column in (("patients", "age"), ("patients", "town"), ("visits", "ward")):
        page.get_by_label(f"Role of {column} of {table}").select_option("quasi-identifier")
    page.get_by_label("k: people who fit").fill("3")
    page.get_by_role("button", name="Confirm the roles and release the tables").click()
    page.get_by_role("heading", name="Who is protected").wait_for()
    shot(page, "dataset")
    page.get_by_role("button", name="Verify it now").click()
    expect(page.locator("#verification .verdict")).to_have_class("verdict good")
    with page.expect_download() as download:
        page.get_by_role("link", name="Everything (zip)").click()
    download.value.save_as(tmp_path / "release.zip")
    with zipfile.ZipFile(tmp_path / "release.zip") as archive:
        archive.extractall(tmp_path)
    assert shoal.verify(tmp_path / "release").passed
