"""Tables as they come: sixty dirty columns full of hostile texts, Excel with several sheets, a million records."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

from .conftest import App, sync_api
from .test_journeys import anonymise, open_column, saved, set_levels, set_role

expect = sync_api.expect

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

#: what would run if any page read a text as HTML
HOSTILE = "<img src=x onerror=alert(1)>"


def dirty(path: Path) -> Path:
    """Write 400 records of 60 columns: semicolons, decimal commas, several words for missing, hostile texts."""
    draws = random.Random(7)
    names = [
        "Patient ID",
        f"Vorname {HOSTILE}",
        "geb_dat",
        "PLZ",
        "Größe (cm)",
        '"Zitat" & <b>',
        "__proto__",
        "Diagnose",
    ]
    names += [f"lab_value_with_a_rather_long_name_{i:02d}" for i in range(52)]
    lines = [";".join('"' + name.replace('"', '""') + '"' for name in names)]
    for i in range(400):
        born = f"{1 + i % 28:02d}.{1 + i % 12:02d}.{1930 + i % 80}"
        size = draws.choice([f"{150 + i % 50},{i % 10}", "n/a"])
        row = [f"P{i:05d}", draws.choice(["Anna", HOSTILE]), born, f"{10115 + i % 9:05d}", size]
        row += [
            draws.choice(["a=b | c", "constructor", ""]),
            draws.choice(["x", "y"]),
            draws.choice(["J45", "E11", "I10"]),
        ]
        row += [draws.choice(["1", "2", "3", "", "-99"]) for _ in range(52)]
        lines.append(";".join('"' + cell.replace('"', '""') + '"' for cell in row))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8-sig")
    return path


def send(page: Any, app: App, path: Path) -> str:
    page.goto(app.home)
    page.get_by_label("Open a table").set_input_files(path)
    page.get_by_role("button", name="Open", exact=True).click()
    page.wait_for_url("**/tables/*")
    return str(page.url)


@pytest.mark.deep
def test_sixty_dirty_columns_are_worked_on_and_no_text_is_read_as_html(page: Any, app: App, tmp_path: Path) -> None:
    alerts: list[str] = []
    page.on("dialog", lambda dialog: (alerts.append(dialog.message), dialog.accept()))
    table = send(page, app, dirty(tmp_path / f"{HOSTILE.replace('/', '')}.csv"))
    expect(page.locator("#columns tbody tr")).to_have_count(60)
    page.get_by_label("Find").fill("lab_value")
    page.get_by_label("Tick all columns that are shown").check()
    page.get_by_label("Set role of the ticked").select_option("insensitive")
    saved(page)
    page.get_by_label("Find").fill("")
    for column, role in (("Patient ID", "identifier"), ("geb_dat", "quasi-identifier"), ("PLZ", "quasi-identifier")):
        set_role(page, column, role)
    for column, role in (("__proto__", "quasi-identifier"), ("Größe (cm)", "insensitive"), ("Diagnose", "sensitive")):
        set_role(page, column, role)
    page.locator("tr[data-number='1'] .choice input[value='insensitive']").check()
    page.locator("tr[data-number='5'] .choice input[value='quasi-identifier']").check()
    saved(page)
    page.locator("tr[data-number='5'] .name").click()
    panel = page.locator("#panel")
    expect(panel.get_by_role("heading", name='"Zitat" & <b>')).to_be_visible()
    set_levels(panel, "groups")
    panel.locator('#values input[value="a=b | c"]').check()
    panel.get_by_label("Put the ticked into").fill(f"{HOSTILE} = | 1")
    panel.get_by_role("button", name="Group as").click()
    saved(page)
    page.get_by_role("button", name="These are right").click()
    page.wait_for_url("**/risk")
    page.goto(f"{table}/records")
    expect(page.locator("#count")).to_contain_text("of 400 records")
    assert page.locator("#records thead").bounding_box()["height"] < 80
    page.goto(f"{table}/promise")
    page.get_by_label("k: people who look alike").fill("3")
    anonymise(page)
    page.get_by_role("heading", name="Risk before and after").wait_for()
    run = page.url
    page.goto(f"{run}/explore")
    page.locator("#pair svg").wait_for()
    page.goto(f"{table}/runs")
    name = page.locator(".run-name").first
    name.fill(HOSTILE)
    with page.expect_response("**/api/runs/*"):
        name.press("Tab")
    page.goto(f"{table}/runs?run={run.rpartition('/')[2]}")
    expect(page.get_by_role("link", name=HOSTILE).first).to_be_visible()
    page.goto(run)
    expect(page.get_by_role("heading", name=HOSTILE, exact=True)).to_be_visible()
    page.goto(app.home)
    assert page.locator("img[src='x']").count() == 0
    assert not alerts


@pytest.mark.skipif("SHOAL_LARGE" not in os.environ, reason="takes minutes: `make large`")
def test_a_million_records_are_worked_on_with_a_clock_in_view(page: Any, app: App, tmp_path: Path) -> None:
    draws = random.Random(3)
    path = tmp_path / "million.csv"
    with path.open("w", encoding="utf-8") as file:
        file.write("id,age,sex,zip,income,illness\n")
        for i in range(1_000_000):
            age, place = min(99, int(draws.gauss(45, 18)) % 100), draws.randrange(10_000, 10_400)
            file.write(f"{i},{age},{'MF'[i % 2]},{place},{int(draws.lognormvariate(10, 0.6))},i{draws.randrange(6)}\n")
    page.set_default_timeout(300_000)
    page.goto(app.home)
    page.get_by_label("Open a table").set_input_files(path)
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.locator("#phase")).to_contain_text(" s")
    page.wait_for_url("**/tables/*")
    table = str(page.url)
    for step, place, sign in (
        ("records", f"{table}/records", "of 1,000,000 records"),
        ("promise", f"{table}/promise", "What to promise"),
        ("columns", table, "What the columns mean"),
    ):
        began = time.monotonic()
        page.goto(place)
        page.get_by_text(sign).first.wait_for()
        print(f"{step}: {time.monotonic() - began:.1f} s")  # noqa: T201 - for who runs it; never a reason to fail
    open_column(page, "age")
    page.goto(f"{table}/risk")
    expect(page.locator("#elapsed")).to_contain_text("s so far")
    page.get_by_text("highest risk").wait_for()
    page.goto(f"{table}/promise")
    anonymise(page)
    page.get_by_role("progressbar").wait_for()
    page.get_by_role("heading", name="Risk before and after").wait_for()
    page.goto(f"{page.url}/explore")
    page.get_by_text("random counts").wait_for()
