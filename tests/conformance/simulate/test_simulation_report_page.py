"""The page of a simulation: figures side by side, and timelines on one axis."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from support.page.open import Open

from fencepost.conformance.simulate.simulation_report import simulation_page

FIGURES = [("rebalances", "2"), ("balanced after", "<never>")]


def partition(number: int, *held: tuple[float, float, str]) -> dict[str, Any]:
    return {
        "topic": "sales",
        "partition": number,
        "unavailable_s": 1.0 + number,
        "longest_gap_s": 1.0,
        "twice_s": 0.0,
        "moves": 1,
        "held": [list(row) for row in held],
    }


def document(variant: str, **fields: Any) -> dict[str, Any]:
    told = {
        "scenario": "a <b>rollout</b>",
        "variant": variant,
        "members": 2,
        "partitions": 2,
        "rebalances": 1,
        "unavailable_partition_s": 3.0,
        "longest_gap_s": 2.0,
        "lasted_s": 40.0,
        "balanced_after_s": 39.0,
        "halted": [],
        "failures": [],
        "apis": {"JoinGroup": {"requests": 3, "bytes_in": 1234, "bytes_out": 5}},
        "each_rebalance": [
            {
                "at_s": 10.0,
                "cause": "leave",
                "who": "app-1",
                "note": "by hand",
                "also": ["app-2"],
                "members": None,
                "took_s": None,
                "remedy": "static membership",
            }
        ],
        "each_partition": [
            partition(0, (0, 10, "app-1"), (12, 20, "app-2"), (18, 40, "app-1")),
            partition(1, (0, 20, "app-2"), (20.001, 40, "app-2")),
        ],
    }
    return told | fields


def page_of(*documents: dict[str, Any]) -> str:
    return simulation_page("About & more.", documents, [FIGURES for _ in documents]).html()


def test_forms_stand_side_by_side_and_below_each_other(open_page: Open) -> None:
    page = open_page(page_of(document("eager"), document("static", rebalances=0)))
    heads = page.locator("table").first.locator("thead th").all_inner_texts()
    assert heads == ["figure", "eager", "static"]
    assert page.locator("tbody tr").first.inner_text().split() == ["rebalances", "2", "2"]
    assert page.locator("h2").all_inner_texts() == ["What it costs", "eager", "static"]
    expect(page.locator("header p").last).to_have_text("About & more.")


def test_of_many_forms_each_is_a_row_and_the_first_are_drawn(open_page: Open) -> None:
    many = [document(f"members={number}", members=number) for number in range(2, 22)]
    page = open_page(page_of(*many))
    heads = page.locator("table").first.locator("thead th").all_inner_texts()
    assert heads == ["form", "rebalances", "balanced after"]
    rows = page.locator("table").first.locator("tbody tr")
    assert rows.count() == 20
    assert rows.nth(3).inner_text().split() == ["members=5", "2", "<never>"]
    expect(page.locator("h1")).to_contain_text("members=2 loses least, 3.0 partition-seconds")
    expect(page.locator("header.verdict p").last).to_contain_text("About")
    assert page.locator("svg.timeline").count() == 12
    expect(page.get_by_text("the first 12 of 20 forms")).to_be_visible()


def test_a_lane_has_its_owners_gaps_and_overlaps(open_page: Open) -> None:
    page = open_page(page_of(document("eager")))
    lanes = page.locator("svg g")
    assert lanes.nth(0).locator("rect[class^=held] title").all_text_contents() == [
        "app-1, 0.0 s to 10.0 s",
        "app-2, 12.0 s to 20.0 s",
        "app-1, 18.0 s to 40.0 s",
    ]
    assert lanes.nth(0).locator("rect.twice title").all_text_contents() == [
        "two members, 18.0 s to 20.0 s"
    ]
    assert lanes.nth(1).locator("rect[class^=held]").count() == 1  # a gap of 1 ms is not drawn


def test_rebalances_and_requests_are_folded_up(open_page: Open) -> None:
    page = open_page(page_of(document("eager")))
    row = page.get_by_text("leave: app-1 (by hand), also app-2").last
    expect(row).to_be_hidden()
    page.get_by_text("1 rebalance", exact=True).click()
    expect(row).to_be_visible()
    page.get_by_text("Requests at the coordinator").click()
    expect(page.get_by_text("1,234")).to_be_visible()


def test_what_went_wrong_is_told(open_page: Open) -> None:
    failure = {"at_s": 5.0, "member": "app-1", "code": "FENCED_INSTANCE_ID", "where": "Heartbeat"}
    wrong = document(
        "static", halted=["it stopped"], failures=[failure], balanced_after_s=None, seeds=[1, 2]
    )
    page = open_page(page_of(wrong))
    assert page.locator(".points li").all_inner_texts() == [
        "static: it stopped.",
        "static: At 5.0 s app-1 got FENCED_INSTANCE_ID (Heartbeat), and its process ended.",
        "static: The group was not balanced at the end.",
    ]
    expect(page.locator("header.verdict")).to_contain_text("2 seeds")


def test_of_many_partitions_the_worst_are_drawn(open_page: Open) -> None:
    many = [partition(number, (0, 5, "app-1")) for number in range(100)]
    page = open_page(page_of(document("eager", each_partition=many)))
    names = page.locator("svg g text:first-child").all_text_contents()
    assert names == [f"sales-{number}" for number in range(60, 100)]
    expect(page.get_by_text("The chart counts all 100 partitions")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_can_be_read_by_all_and_fits(open_page: Open, theme: str, width: int) -> None:
    page = open_page(page_of(document("eager"), document("static")), theme=theme, width=width)
    for folded in page.locator("details").all():
        folded.evaluate("each => each.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
