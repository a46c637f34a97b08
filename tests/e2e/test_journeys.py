"""The whole way in a real browser."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

import shoal

from .conftest import App, serve, sync_api

expect = sync_api.expect

pytestmark = [pytest.mark.slow, pytest.mark.e2e]


def open_example(page: Any, app: App) -> str:
    """Open the bundled table and return its address."""
    page.goto(app.home)
    page.get_by_role("button", name="Try the hospital example").click()
    page.wait_for_url("**/tables/*")
    return str(page.url)


def upload(page: Any, app: App, path: Path | dict[str, Any]) -> None:
    page.goto(app.home)
    page.get_by_label("Open a table").set_input_files(path)
    page.get_by_role("button", name="Open", exact=True).click()


def set_role(page: Any, column: str, role: str) -> None:
    page.locator(f'tr[data-name="{column}"] .choice input[value="{role}"]').check()
    saved(page)


def saved(page: Any) -> None:
    expect(page.locator("#state")).to_have_text("All changes are saved")


def open_column(page: Any, column: str) -> Any:
    """Open the panel of a column."""
    page.get_by_role("button", name=column, exact=True).click()
    panel = page.locator("#panel")
    expect(panel.get_by_role("heading", name=column, exact=True)).to_be_visible()
    return panel


def set_levels(panel: Any, rule: str) -> None:
    panel.get_by_label("How values become coarser").select_option(rule)


def anonymise(page: Any) -> None:
    page.get_by_role("button", name="Anonymise").click()
    page.wait_for_url("**/runs/*")


def test_the_hospital_table_becomes_a_release(page: Any, app: App, hospital: Path, tmp_path: Path) -> None:
    upload(page, app, hospital / "discharges.csv")
    page.wait_for_url("**/tables/*")
    assert page.get_by_text("These are guesses").is_visible()
    for column, role in (
        ("patient_id", "identifier"),
        ("name", "identifier"),
        ("age", "quasi-identifier"),
        ("sex", "quasi-identifier"),
        ("zip", "quasi-identifier"),
        ("admission_date", "quasi-identifier"),
        ("diagnosis", "sensitive"),
        ("length_of_stay", "sensitive"),
        ("charge", "sensitive"),
    ):
        set_role(page, column, role)
    age = open_column(page, "age")
    set_levels(age, "intervals")
    age.get_by_label("Widths").fill("5, 10, 20, 40")
    age.get_by_label("Widths").press("Enter")
    saved(page)
    age.get_by_role("button", name="Preview the levels").click()
    age.get_by_role("columnheader", name="Level 4").wait_for()
    age.get_by_text("[0, 5)").first.wait_for()
    place = open_column(page, "zip")
    set_levels(place, "file")
    place.get_by_label("Hierarchy file:").set_input_files(hospital / "hierarchies" / "zip.csv")
    place.get_by_text("Harbour").first.wait_for()
    page.get_by_role("button", name="These are right").click()
    page.wait_for_url("**/risk")
    assert page.get_by_text("Who stands out today").is_visible()
    page.get_by_role("link", name="Choose what to promise").click()
    page.get_by_label("Researchers").check()
    page.get_by_text("The same in Python and in a shell").click()
    page.locator("#shell").filter(has_text="--k 5").filter(has_text="--l diagnosis=2").wait_for()
    anonymise(page)
    page.get_by_role("heading", name="Risk before and after").wait_for()
    assert page.get_by_text("at least 4 other").is_visible()
    for heading in ("Distributions", "The same without the app"):
        assert page.get_by_role("heading", name=heading).is_visible()
    page.get_by_text("(checked just now)").wait_for()
    page.get_by_role("button", name="Verify it now").click()
    page.get_by_text("Verified: every promise was decided on the data and holds.").wait_for()
    with page.expect_download() as download:
        page.get_by_role("link", name="Everything (zip)").click()
    download.value.save_as(tmp_path / "release.zip")
    with zipfile.ZipFile(tmp_path / "release.zip") as archive:
        archive.extractall(tmp_path)
    assert shoal.verify(tmp_path / "release").passed
    page.goto(f"{app.home}/verify")
    page.get_by_label("The release folder").set_input_files(tmp_path / "release")
    page.get_by_role("button", name="Verify", exact=True).first.click()
    page.get_by_text("Verified: every promise was decided on the data and holds.").wait_for()
    (tmp_path / "release" / "data.csv").write_text("age\n1\n")
    page.get_by_label("The release folder").set_input_files(tmp_path / "release")
    page.get_by_role("button", name="Verify", exact=True).first.click()
    page.get_by_text(re.compile(r"NOT verified: \d of")).wait_for()


def test_columns_are_drafted_again_for_a_purpose(page: Any, app: App) -> None:
    open_example(page, app)
    page.get_by_text("What are the data for?").click()
    form = page.locator("#purpose")
    for column in ("age", "sex", "diagnosis"):
        form.get_by_label(column, exact=True).check()
    form.get_by_label("Who gets the data").select_option("public")
    form.get_by_role("button", name="Draft again").click()
    expect(form.get_by_role("alert")).to_contain_text("This replaces what a person has decided for patient_id, name")
    form.get_by_role("button", name="Keep it").click()
    expect(page.locator('tr[data-name="zip"]')).to_have_attribute("data-role", "quasi-identifier")
    form.get_by_role("button", name="Draft again").click()
    form.get_by_role("button", name="Replace it").click()
    left_out = page.locator("#left-out")
    expect(left_out).to_contain_text("Left out: zip, admission_date, length_of_stay, charge.")
    left_out.get_by_role("button", name="Show them").click()
    expect(page.locator("#columns tbody tr:visible")).to_have_count(4)
    set_role(page, "zip", "quasi-identifier")
    expect(left_out).to_contain_text("Left out: admission_date, length_of_stay, charge.")
    page.get_by_text("What are the data for?").click()
    page.get_by_text("The same in a shell and in Python").click()
    expect(page.locator("#draft-shell")).to_contain_text("--keep age,sex,diagnosis")
    page.get_by_role("navigation", name="Steps").get_by_role("link", name="Promise").click()
    expect(page.get_by_label("The public")).to_be_checked()
    expect(page.locator("#shell")).to_contain_text("--k 11")
    page.go_back()
    for _ in range(2):
        with page.expect_navigation():
            page.get_by_role("button", name="Undo").click()
    expect(page.locator('tr[data-name="charge"]')).to_have_attribute("data-role", "sensitive")


def test_a_key_that_may_name_persons_is_asked_about(page: Any, app: App) -> None:
    rows = [f"{1000 + i % 60},{'FM'[i % 2]},{1930 + i % 60}" for i in range(240)]
    content = "\n".join(["nr,sex,birth_year", *rows]).encode()
    upload(page, app, {"name": "visits.csv", "mimeType": "text/csv", "buffer": content})
    whose = page.locator("#whose")
    expect(whose).to_contain_text("May one person have several records? nr repeats")
    expect(page.locator("#counts")).not_to_be_empty()
    whose.get_by_role("button", name="Yes: it says").click()
    expect(whose).to_be_hidden()
    expect(page.locator('tr[data-name="nr"]')).to_have_attribute("data-role", "person")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="Redo")).to_be_enabled()  # the page is there again, with its script
    whose.get_by_role("button", name="No: every record").click()
    expect(whose).to_have_count(0)
    saved(page)
    page.reload()
    expect(page.get_by_label("Who gets the data")).to_be_visible()
    expect(whose).to_have_count(0)


@pytest.mark.deep
def test_adult_is_anonymised_with_arx_hierarchies(page: Any, app: App, shared_data: Path) -> None:
    upload(page, app, shared_data / "adult" / "adult.csv")
    page.wait_for_url("**/tables/*")
    for column in ("sex", "age", "race", "education"):
        set_role(page, column, "quasi-identifier")
        group = open_column(page, column)
        if column == "age":
            group.get_by_label("Kind").select_option("numeric")
            saved(page)
        set_levels(group, "file")
        group.get_by_label("Hierarchy file:").set_input_files(shared_data / "adult" / f"adult_hierarchy_{column}.csv")
        group.get_by_role("columnheader", name="Level 1").wait_for()
    for column in ("marital-status", "native-country", "workclass", "occupation", "salary-class"):
        set_role(page, column, "sensitive" if column == "occupation" else "insensitive")
    page.get_by_role("button", name="These are right").click()
    page.wait_for_url("**/risk")
    page.get_by_role("link", name="Choose what to promise").click()
    page.get_by_label("k: people who look alike").fill("5")
    page.get_by_label("t for occupation").fill("0.5")
    anonymise(page)
    page.get_by_role("heading", name="Risk before and after").wait_for()
    assert page.get_by_role("row", name=re.compile("Records 30,162")).is_visible()


def test_a_wrong_file_is_explained(page: Any, app: App) -> None:
    upload(page, app, {"name": "photo.png", "mimeType": "image/png", "buffer": b"\x89PNG"})
    alert = page.get_by_role("alert")
    alert.get_by_text("not supported").wait_for()
    assert "Shoal reads .csv" in alert.inner_text()
    upload(page, app, {"name": "broken.parquet", "mimeType": "", "buffer": b"nothing"})
    page.get_by_role("alert").get_by_text("broken.parquet is not a Parquet file").wait_for()


def test_a_rule_that_cannot_be_met_says_what_could_and_is_corrected(page: Any, app: App) -> None:
    address = open_example(page, app)
    page.goto(f"{address}/promise")
    page.get_by_label("l for diagnosis").fill("90")
    effort = page.locator("[data-method=specialize] [name=effort]")
    effort.fill("")
    expect(page.get_by_label("l for diagnosis")).to_have_attribute("aria-invalid", "true")
    page.get_by_text("at most 76").wait_for()
    page.get_by_role("button", name="Anonymise").click()
    expect(page.locator("#problems")).to_contain_text("no more different values")
    expect(effort).to_have_value("")
    page.get_by_label("l for diagnosis").fill("2")
    anonymise(page)
    page.get_by_role("heading", name="Risk before and after").wait_for()


def test_a_wrong_number_is_told_while_it_is_typed(page: Any, app: App) -> None:
    page.goto(f"{open_example(page, app)}/promise")
    expect(page.locator("#shell")).to_contain_text("--k 5")
    page.get_by_label("k: people who look alike").fill("0")
    expect(page.locator("#shell")).to_be_empty()  # commands of another choice are worse than none
    field = page.get_by_label("k: people who look alike")
    expect(field).to_have_attribute("aria-invalid", "true")
    page.get_by_text("must be a whole number, 1 or more; got 0").wait_for()


@pytest.mark.deep
def test_a_run_goes_on_when_the_page_is_loaded_again_and_can_be_stopped(page: Any, app: App) -> None:
    start_heavy(page, app)
    page.reload()
    assert page.get_by_role("progressbar").is_visible()
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("heading", name="Stopped").wait_for()
    page.goto(app.home)
    assert page.get_by_text("cancelled").first.is_visible()


@pytest.mark.deep
def test_two_tabs_work_side_by_side(page: Any, window: Any, app: App) -> None:
    address = open_example(page, app)
    other = window.new_page()
    other.goto(f"{address}/promise")
    page.goto(f"{address}/promise")
    other.get_by_label("k: people who look alike").fill("3")
    page.get_by_label("k: people who look alike").fill("7")
    anonymise(other)
    anonymise(page)
    for tab, k in ((page, "6"), (other, "2")):
        tab.get_by_role("heading", name="Risk before and after").wait_for()
        assert tab.get_by_text(f"at least {k} other").is_visible()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete this run").click()
    page.wait_for_url(f"{app.home}/")
    other.reload()
    assert other.get_by_role("heading", name="Risk before and after").is_visible()
    other.close()


@pytest.mark.deep
def test_methods_are_compared_and_a_point_is_used(page: Any, app: App, tmp_path: Path) -> None:
    page.goto(f"{open_example(page, app)}/compare")
    page.get_by_label("Values of k").fill("3, 9")
    page.get_by_label("iterate").uncheck()
    page.get_by_text("Protect what is secret, too").click()
    page.get_by_label("Values of t for diagnosis").fill("0.5")
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("heading", name="Methods side by side").wait_for()
    assert page.get_by_role("row", name=re.compile(r"generalize k = 9, t\(diagnosis\) = 0.5")).is_visible()
    assert page.get_by_role("img", name=re.compile("against average risk")).is_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Plan of point 2").click()
    download.value.save_as(tmp_path / "plan.zip")
    with zipfile.ZipFile(tmp_path / "plan.zip") as archive:
        assert "plan.toml" in archive.namelist()
    page.get_by_role("link", name=re.compile("^Use point")).first.click()
    expect(page.get_by_label("t for diagnosis")).to_have_value("0.5")
    anonymise(page)
    page.get_by_role("heading", name="Risk before and after").wait_for()


def test_the_way_can_be_gone_with_the_keyboard_alone(page: Any, app: App) -> None:
    page.goto(app.home)
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "example":
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/tables/*")
    page.get_by_role("button", name="These are right").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/risk")


@pytest.mark.deep
def test_an_ephemeral_app_leaves_nothing(chromium: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    app = serve("--ephemeral")
    context = chromium.new_context()
    page = context.new_page()
    page.goto(app.address)
    open_example(page, app)
    assert list(tmp_path.glob("shoal-*/tables/*"))
    context.close()
    app.stop()
    assert not list(tmp_path.glob("shoal-*"))


#: how a page is looked at, and by which rules: what does not depend on colours is looked at once
LOOKS = [(1280, "light", {}), (390, "dark", {"runOnly": {"type": "rule", "values": ["color-contrast"]}})]


@pytest.mark.deep
def test_no_page_has_a_serious_accessibility_problem(window: Any, chromium: Any, app: App) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()
    context = chromium.new_context(
        storage_state=window.storage_state(),
        bypass_csp=True,  # axe is put into the page as a script
    )
    context.set_default_timeout(60_000)
    page = context.new_page()
    address = open_example(page, app)
    page.goto(f"{address}/promise")
    anonymise(page)
    page.get_by_role("heading", name="Risk before and after").wait_for()
    result = page.url
    page.goto(f"{address}/compare")
    page.get_by_label("Values of k").fill("5")
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("heading", name="Methods side by side").wait_for()
    compared = page.url
    page.goto(f"{app.home}/vaults")
    page.get_by_role("button", name="Make the vault").click()
    page.wait_for_url("**/vaults/*")
    vault, problems = page.url, []

    def look(place: str) -> None:
        page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
        for width, scheme, options in LOOKS:
            page.set_viewport_size({"width": width, "height": 800})
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{place} scrolls sideways"
            found = axe.run(page, options={"resultTypes": ["violations"], **options}).response["violations"]
            problems.extend(
                (place.removeprefix(app.home), width, scheme, each["id"], each["nodes"][0]["html"][:200])
                for each in found
                if each["impact"] in ("serious", "critical")
            )
        page.set_viewport_size({"width": 1280, "height": 800})

    steps = [f"{address}/{step}" for step in ("records", "risk", "promise", "compare")]
    beside = f"{address}/runs?run={result.rpartition('/')[2]}"
    others = [f"{app.home}/{name}" for name in ("vaults", "verify")]
    for place in (app.home, address, *steps, beside, result, f"{result}/explore", compared, vault, *others):
        page.goto(place)
        look(place)
    page.goto(address)
    open_column(page, "age").get_by_role("button", name="Move the borders by hand").click()
    saved(page)
    look("cut points")
    groups = open_column(page, "sex")
    set_levels(groups, "groups")
    groups.get_by_label("F", exact=True).check()
    groups.get_by_label("Put the ticked into").fill("women")
    groups.get_by_role("button", name="Group as").click()
    saved(page)
    look("groups")
    context.close()
    assert not problems


def start_heavy(page: Any, app: App) -> None:
    """Start a run that looks through very many combinations."""
    lines = [",".join(f"c{j}" for j in range(9))]
    lines += [",".join(str((i * (7 + 2 * j) + i // (j + 1)) % 64) for j in range(9)) for i in range(20_000)]
    upload(page, app, {"name": "heavy.csv", "mimeType": "text/csv", "buffer": "\n".join(lines).encode()})
    page.wait_for_url("**/tables/*")
    page.get_by_label("Tick all columns that are shown").check()
    page.get_by_label("Set role of the ticked").select_option("quasi-identifier")
    saved(page)
    page.get_by_label("Set kind of the ticked").select_option("numeric")
    saved(page)
    for number in range(9):
        group = open_column(page, f"c{number}")
        set_levels(group, "intervals")
        group.get_by_label("Widths").fill("2, 4, 8, 16, 32")
        group.get_by_label("Widths").press("Enter")
        saved(page)
    page.get_by_role("button", name="These are right").click()
    page.wait_for_url("**/risk")
    page.get_by_role("link", name="Choose what to promise").click()
    anonymise(page)
