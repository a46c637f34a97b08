"""The workbench in a real browser: nothing that is changed is lost, in one window or in two."""

from __future__ import annotations

import re
from typing import Any

import pytest

from .conftest import App, sync_api
from .test_journeys import anonymise, open_column, open_example, saved, set_levels, set_role

expect = sync_api.expect

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.xdist_group("e2e")]


def test_a_role_that_is_changed_is_used_whatever_is_clicked_next(page: Any, app: App) -> None:
    address = open_example(page, app)
    page.locator('tr[data-name="sex"] .choice input[value="insensitive"]').check()
    page.get_by_role("navigation", name="Steps").get_by_role("link", name="Promise").click()
    page.wait_for_url("**/promise")
    expect(page.locator("[data-weight=age]")).to_be_visible()
    expect(page.locator("[data-weight=sex]")).to_have_count(0)
    page.goto(address)
    assert page.locator('tr[data-name="sex"]').get_attribute("data-role") == "insensitive"


def test_two_windows_notice_each_other(page: Any, window: Any, app: App) -> None:
    address = open_example(page, app)
    other = window.new_page()
    other.goto(f"{address}/promise")
    set_role(page, "sex", "sensitive")
    expect(other.get_by_role("alert")).to_contain_text("changed in another window")
    other.get_by_role("button", name="Anonymise").click()
    expect(other.get_by_role("alert")).to_contain_text("changed in another window")
    other.goto(address)
    set_role(other, "sex", "insensitive")
    expect(page.locator('tr[data-name="sex"]')).to_have_attribute("data-role", "insensitive")
    other.close()


def test_what_cannot_be_saved_is_said_and_keeps_the_page(page: Any, app: App) -> None:
    open_example(page, app)
    panel = open_column(page, "diagnosis")
    panel.get_by_label("Kind").select_option("numeric")
    expect(page.locator("#state")).to_have_text("Not saved: diagnosis")
    expect(panel.get_by_role("alert")).to_contain_text("not numbers")
    page.get_by_role("button", name="These are right").click()
    expect(page.locator("#problems")).to_contain_text("not numbers")
    panel.get_by_label("Kind").select_option("categorical")
    saved(page)


def test_another_promise_starts_from_all_that_was_asked(page: Any, app: App) -> None:
    page.goto(f"{open_example(page, app)}/promise")
    page.get_by_label("Method").select_option("mondrian")
    boxes = page.locator("[data-method=mondrian] [type=checkbox]")
    asked = [not boxes.nth(i).is_checked() for i in range(boxes.count())]
    for i, checked in enumerate(asked):
        boxes.nth(i).set_checked(checked)
    page.get_by_text("Other promises").click()
    page.get_by_label("Model").select_option("p-sensitive-k-anonymity")
    page.get_by_role("button", name="Add this promise").click()
    extra = page.locator("#extra")
    extra.get_by_label("Secrets").select_option(["diagnosis", "charge"])
    for name, number in (("k", "3"), ("p", "2")):
        extra.locator(f"[name={name}]").fill(number)
    anonymise(page)
    page.get_by_role("link", name=re.compile("Try another promise|Change the promise")).click()
    expect(page.get_by_label("Method")).to_have_value("mondrian")
    assert [boxes.nth(i).is_checked() for i in range(boxes.count())] == asked
    expect(page.locator("#extra").get_by_label("Secrets")).to_have_values(["diagnosis", "charge"])


def test_many_columns_are_found_ticked_and_changed_together(page: Any, app: App) -> None:
    open_example(page, app)
    page.get_by_label("Find").fill("a")
    expect(page.locator("#columns tbody tr:visible")).to_have_count(7)
    page.get_by_label("Find").fill("charge")
    page.get_by_label("Tick all columns that are shown").check()
    page.get_by_label("Set role of the ticked").select_option("insensitive")
    saved(page)
    assert page.locator('tr[data-name="charge"]').get_attribute("data-role") == "insensitive"
    expect(page.locator("#counts")).to_contain_text("1 neither")


def test_values_are_grouped_by_hand(page: Any, app: App) -> None:
    open_example(page, app)
    panel = open_column(page, "sex")
    set_levels(panel, "groups")
    panel.get_by_label("F", exact=True).check()
    panel.get_by_label("M", exact=True).check()
    panel.get_by_label("Put the ticked into").fill("anyone")
    panel.get_by_role("button", name="Group as").click()
    saved(page)
    panel.get_by_role("button", name="Preview the levels").click()
    expect(panel.locator("#preview")).to_contain_text("anyone")


def test_records_are_sorted_and_filtered(page: Any, app: App) -> None:
    page.goto(f"{open_example(page, app)}/records")
    rows = page.locator("#records tbody tr")
    expect(rows).to_have_count(100)
    page.get_by_role("button", name="age", exact=True).click()
    page.get_by_role("button", name="age", exact=True).click()
    expect(rows.first.locator("td").nth(2)).to_have_text("99")
    page.get_by_label("Records whose").select_option(label="diagnosis")
    page.get_by_label("contains").fill("z38")
    expect(page.locator("#count")).to_contain_text(re.compile(r"1 to 100 of \d{3} records"))
