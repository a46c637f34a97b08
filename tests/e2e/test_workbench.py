"""The workbench in a real browser: nothing that is changed is lost, in one window or in two."""

from __future__ import annotations

import re
from typing import Any

import pytest

from .conftest import App, sync_api
from .test_journeys import anonymise, open_column, open_example, saved, set_levels, set_role

expect = sync_api.expect

pytestmark = [pytest.mark.slow, pytest.mark.e2e]


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
    page.locator("select[name=method]").select_option("mondrian")
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
    expect(page.locator("select[name=method]")).to_have_value("mondrian")
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


def test_values_are_dragged_between_groups_and_groups_are_renamed(page: Any, app: App) -> None:
    open_example(page, app)
    panel = open_column(page, "diagnosis")
    set_levels(panel, "groups")
    values = panel.locator("#values")
    values.locator('[data-value="I50"]').drag_to(values.locator(".fresh"))
    saved(page)
    values.locator('[data-value="A41"]').drag_to(values.locator('[data-group="group 1"]'))
    saved(page)
    name = panel.get_by_label("Name of the group group 1")
    name.fill("serious")
    name.press("Tab")
    saved(page)
    group = values.locator('[data-group="serious"]')
    expect(group.locator("li")).to_have_count(2)
    expect(panel.get_by_label("The same as text")).to_have_value(re.compile("serious = I50 \\| A41"))
    panel.get_by_label("Level of groups").select_option("one more level")
    panel.get_by_label("serious", exact=True).check()
    panel.get_by_label("Z38", exact=True).check()
    panel.get_by_label("Put the ticked into").fill("all <b>of</b> = them")
    panel.get_by_role("button", name="Group as").click()
    saved(page)
    panel.get_by_role("button", name="Preview the levels").click()
    expect(panel.locator("#preview")).to_contain_text("all <b>of</b> = them")
    panel.get_by_label("Level of groups").select_option("1: groups of values")
    panel.get_by_label("Name of the group serious").fill("J18")  # a value that was in no group joins its namesake
    panel.get_by_label("Name of the group serious").press("Tab")
    saved(page)
    expect(values.locator('[data-group="J18"] li')).to_have_count(3)
    group = values.locator('[data-group="J18"]')
    group.get_by_role("button", name="Dissolve").click()
    saved(page)
    expect(values.locator('[data-group=""] li')).to_have_count(76)


def test_cut_points_are_moved_on_the_histogram(page: Any, app: App) -> None:
    open_example(page, app)
    panel = open_column(page, "age")
    panel.get_by_role("button", name="Move the borders by hand").click()
    saved(page)
    numbers = panel.locator("[name=cuts]")
    expect(numbers).to_have_value(re.compile("^5, 10, 15, .*\n10, 20, .*\n20, 40, .*\n40, 80$"))
    panel.get_by_role("slider", name="Cut point 40").focus()
    page.keyboard.press("ArrowRight")
    expect(numbers).to_have_value(re.compile("35, 41, 45.*\n.*30, 41, 50.*\n20, 41, .*\n41, 80$"))
    saved(page)
    page.keyboard.press("Delete")
    expect(numbers).to_have_value(re.compile("\n80$"))
    saved(page)
    handle = panel.get_by_role("slider", name="Cut point 80").locator("circle")
    handle.evaluate("each => each.scrollIntoView({ block: 'center' })")  # not behind the sticky bar
    box = handle.bounding_box()
    across, down = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(across, down)
    page.mouse.down()
    page.mouse.move(across - 20, down, steps=4)
    page.mouse.up()
    expect(numbers).not_to_have_value(re.compile("\n80$"))
    saved(page)
    count = panel.get_by_role("slider").count()
    panel.get_by_role("button", name="Add a cut point").click()
    expect(panel.get_by_role("slider")).to_have_count(count + 1)
    saved(page)


@pytest.mark.deep
def test_the_cost_is_tried_out_and_levels_are_picked_from_the_default_method(page: Any, app: App) -> None:
    page.goto(f"{open_example(page, app)}/promise")
    page.get_by_role("button", name="What would it cost?").click()
    expect(page.locator("#cost")).to_contain_text("of the detail gone, and 0 of 10,000 records left out")
    anonymise(page)
    page.get_by_role("button", name="Pick levels by hand").click()
    page.wait_for_url("**/explore")
    page.locator("#node-list button").nth(1).click()
    page.get_by_role("button", name="Apply: make this release").click()
    page.wait_for_url(re.compile("/runs/[^/]+$"))
    page.get_by_role("heading", name="Who is protected").wait_for()


def test_records_are_scrolled_sorted_and_filtered(page: Any, app: App) -> None:
    page.goto(f"{open_example(page, app)}/records")
    count = page.locator("#count")
    expect(count).to_have_text(re.compile(r"^1 to \d\d of 10,000 records$"))
    page.get_by_role("button", name="age", exact=True).click()
    page.get_by_role("button", name="age", exact=True).click()
    ages = page.locator("#records tbody tr:not([aria-hidden]) td:nth-child(3)")
    expect(ages.first).to_have_text("99")
    page.get_by_label("Go to record").fill("10000")
    page.get_by_label("Go to record").press("Enter")
    expect(count).to_have_text(re.compile("to 10,000 of 10,000 records$"))
    expect(ages.last).to_have_text("0")
    assert page.locator("#records tbody tr").count() < 100
    page.get_by_label("Records whose").select_option(label="diagnosis")
    page.get_by_label("contains").fill("z38")
    expect(count).to_have_text(re.compile(r"^1 to \d\d of \d{3} records"))
