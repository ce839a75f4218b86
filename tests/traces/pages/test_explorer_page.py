"""The page of an exploration in a real browser: the runs of `step`, keys, links, both themes."""

from __future__ import annotations

import json
import random
from functools import cache

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from support.page.open import Open, expect_place

from fencepost.model import KAFKA_4, derive
from fencepost.model.classic.effects import Do
from fencepost.model.revision import Revision, SetRule
from fencepost.model.revisions import revisions
from fencepost.model.revisions.consumer_releases import CONSUMER_4_3
from fencepost.properties.checking.stepping import JudgedWorlds, Stepper
from fencepost.properties.claims.property_registry import PROPERTIES
from fencepost.properties.worlds.consumer_scope import ConsumerScope
from fencepost.properties.worlds.scope import Scope, find_check_scope
from fencepost.traces.files.run_trace import run_steps
from fencepost.traces.pages.explorer_page import ExploredPage, page_of_exploration
from fencepost.traces.pages.situation import situation

DEFAULT = Scope(clients=2, members=2)
ZOMBIE = find_check_scope("zombie").scope
COMMAND = "fencepost step --revision kafka-4"
# Together they have each kind of name and each way in which names change.
VARIOUS = {
    "restarts": DEFAULT,
    "zombies": ZOMBIE,
    "failovers": Scope(
        clients=1, members=1, generations=2, acts=("join", "sync", "restart", "failover", "tick")
    ),
    "strangers": Scope(
        clients=2, dynamic=1, members=2, acts=("join", "stranger", "sync", "drop", "remove")
    ),
    "late": Scope(clients=2, instances=2, members=2, delay_ticks=1, acts=("join", "sync", "tick")),
}


CONSUMERS = {
    "lost answers": ConsumerScope(
        clients=2,
        members=2,
        partitions=1,
        acts=(
            "join",
            "lost-join",
            "acknowledge",
            "release",
            "restart",
            "describe",
            "failover",
            "tick",
        ),
    ),
}


@cache
def made(revision: str = "kafka-4", scope: Scope = DEFAULT, max_states: int = 160) -> ExploredPage:
    return page_of_exploration(
        revisions.find(revision), scope, PROPERTIES.values(), max_states=max_states, command=COMMAND
    )


def fields(page: Page) -> dict[str, str]:
    """Read all fields of the table but those that the step removed."""
    page.get_by_label("all fields").check()
    rows = page.locator("#state tbody tr").all()
    cells = [row.locator("td").all_inner_texts() for row in rows]
    return {name: now for name, _, now in cells if now != "gone"}


def walk(text: str, chance: random.Random, most: int = 12) -> list[int]:
    """Random choices, as far as the page knows what comes next."""
    data = text.partition('id="data">')[2].partition("</script>")[0]
    states = json.loads(data)["states"]
    state, numbers = states[0], list[int]()
    while len(numbers) < most:
        known = [n for n, choice in enumerate(state.get("e", ()), start=1) if choice[1] >= 0]
        if not known:
            break
        numbers.append(chance.choice(known))
        state = states[state["e"][numbers[-1] - 1][1]]
    return numbers


def now(page: Page) -> str:
    return page.locator("#now").inner_text()


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


@pytest.mark.parametrize("name", [*VARIOUS, *CONSUMERS])
def test_a_run_is_the_one_that_step_shows_for_the_same_choices(open_page: Open, name: str) -> None:
    revision = CONSUMER_4_3 if name in CONSUMERS else KAFKA_4
    scope, chance = {**VARIOUS, **CONSUMERS}[name], random.Random(name)
    stepper = Stepper(JudgedWorlds(revision, scope, ()))
    text = page_of_exploration(revision, scope, (), max_states=160).text
    page = open_page(text)
    for _ in range(3):
        stepper.go(walk(text, chance))
        page.goto(page.url.partition("#")[0] + "#" + ".".join(map(str, stepper.numbers)))
        expect(page.locator("#path li")).to_have_count(len(stepper.numbers))

        assert fields(page) == situation(stepper.worlds, stepper.world, stepper.names)
        for step, line in zip(
            run_steps(stepper.worlds, stepper.run()),
            page.locator("#path li").all_inner_texts(),
            strict=True,
        ):
            did = step.did.partition(", until ")[0]
            answers = f" → {step.answers}" if step.answers else ""
            words = " ".join(filter(None, (step.who, did))) + answers
            assert line == words.replace('"other-1"', "other-1")
        assert f" steps, at {stepper.names.now:,} ms: " in now(page)


def test_choices_have_the_numbers_of_step_with_answers_and_rules(open_page: Open) -> None:
    page = open_page(made().text, "#1.2.6")
    choices = page.locator("#choices button").all_inner_texts()

    assert choices[2].split("\n") == [
        "3",
        "c1 (A) Heartbeat v4 (member A-1, instance A, generation 1) → FENCED_INSTANCE_ID",
        "HEARTBEAT-INSTANCE-FENCED",
        "nothing changes",
    ]
    assert choices[-1].split("\n") == ["11", "3 s pass"]
    assert page.locator("#command").inner_text() == f"{COMMAND} --take 1,2,6 -o run.json"


def test_what_a_step_changed_is_marked_with_its_rules(open_page: Open) -> None:
    page = open_page(made().text, "#1.2.6")
    changed = page.locator("#state tr.changed").all_inner_texts()

    assert "leader\tA-1\tA-2" in changed
    assert "instance A\theld by A-1\theld by A-2" in changed
    assert "member A-1\tinstance A\tgone" in changed
    assert not [row for row in changed if row.startswith("state")]
    page.get_by_label("all fields").uncheck()
    expect(page.locator("#state tbody tr")).to_have_count(len(changed))
    expect(page.locator("#rules code")).to_have_text(["JOIN-STATIC-EMPTY-STABLE"])


def test_keys_choose_go_back_and_to_the_start(open_page: Open) -> None:
    page = open_page(made().text)
    press(page, "1")
    expect_place(page, "#1")
    press(page, "2", "6")
    expect_place(page, "#1.2.6")
    press(page, "1")  # there are eleven
    expect(page.locator("#typed")).to_have_text("Choice 1: Enter takes it.")
    press(page, "1")
    expect_place(page, "#1.2.6.11")
    press(page, "ArrowLeft")
    expect_place(page, "#1.2.6")
    press(page, "1", "Enter")
    expect_place(page, "#1.2.6.1")
    page.go_back()
    expect_place(page, "#1.2.6")
    press(page, "Home")
    expect(page.locator("#now")).to_have_text("0 steps, at 0 ms: no group")
    press(page, "9")
    expect(page.locator("#typed")).to_have_text("There are 2 choices.")
    expect(page.get_by_role("button", name="← Back")).to_be_disabled()


def test_tab_and_enter_choose_too_and_the_step_is_announced(open_page: Open) -> None:
    page = open_page(made().text)
    page.locator("#choices button").first.focus()
    press(page, "Enter")
    expect(page.get_by_role("status")).to_contain_text("NONE, generation 1, leads [A-1]")
    expect(page.locator("#next-title")).to_be_focused()
    press(page, "Tab")
    expect(page.locator("#choices button").first).to_be_focused()
    page.get_by_role("button", name="⇤ Start").click()
    expect(page.locator("#path")).to_have_text("nothing yet")


def test_an_address_that_leads_nowhere_goes_as_far_as_it_can(open_page: Open) -> None:
    page = open_page(made().text)
    for place, steps in (("#1.2.99.1", "2 steps"), ("#x", "0 steps"), ("#1.-3", "1 step")):
        page.goto(page.url.partition("#")[0] + place)
        expect(page.locator("#now")).to_contain_text(f"{steps}, ")


def test_a_violation_has_its_shortest_run_and_a_link_to_it(open_page: Open) -> None:
    page = open_page(made("comment-table-1", ZOMBIE).text)
    broken = page.locator(".broken details").filter(has_text="one-client-per-id")
    expect(broken.locator(".badge")).to_have_text("violated")
    broken.locator("summary").click()
    expect(broken.locator("li")).to_have_count(3)
    expect(page.locator(".broken > details > summary").last).to_have_text("6 expected violations")
    broken.get_by_role("link", name="Go there").click()

    expect(page.locator("#path li")).to_have_count(3)
    expect(page.locator("#faults .violates")).to_have_text(
        "violates one-client-per-id: clients c1 and c2 both got the id A-1"
    )
    expect(page.locator("#faults .expects").first).to_contain_text("as expected")


def test_a_right_revision_has_no_violation() -> None:
    assert '"badge is-violated"' not in made().text


def stops_midway() -> Revision:
    rule = KAFKA_4.rule("SYNC-PHASE-EXPIRED").but(effect=(Do.BECOME_EMPTY,), because="a test")
    return derive(KAFKA_4, "stops", "", (SetRule("sync phase", rule, "a test"),))


def test_where_the_machine_stops_is_said_and_not_gone_to(open_page: Open) -> None:
    scope = Scope(clients=1, acts=("join", "heartbeat", "tick"))
    page = open_page(page_of_exploration(stops_midway(), scope, (), max_states=99).text)
    for kind in ("Join", "3 s", "Heartbeat", "3 s", "Heartbeat", "3 s"):
        page.locator("#choices button").filter(has_text=kind).first.click()
    stopped = page.locator("#choices button").filter(has_text="time passes → the machine stops")
    expect(stopped).to_contain_text("session timeout: no rule")
    stopped.click(force=True)
    expect(page.locator("#typed")).to_have_text("The machine stops there.")
    expect(page.locator("#path li")).to_have_count(6)


def test_a_bounded_page_is_small_and_says_what_is_cut_off(open_page: Open) -> None:
    explored = made(max_states=40)
    assert not explored.is_complete
    assert explored.expanded < explored.states <= 40
    page = open_page(explored.text)
    expect(page.locator("header .note")).to_contain_text("The rest is cut off: of ")
    numbers = walk(explored.text, random.Random(5), most=200)
    page.goto(page.url + "#" + ".".join(map(str, numbers)))
    expect(page.locator("#choices")).to_contain_text("This page does not know what may happen")
    assert page.locator("#command").inner_text().endswith(f"{numbers[-1]} -o run.json")
    assert made(max_states=160).is_complete is False
    assert len(made(max_states=160).text) < 120_000


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_it_is_accessible_and_fits(open_page: Open, theme: str, width: int) -> None:
    page = open_page(made("comment-table-1", ZOMBIE).text, "#1.2.3", theme=theme, width=width)
    for summary in page.locator(".broken summary").all():
        summary.click()
    page.locator("#why").evaluate("(why) => { why.open = true }")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert [
        (wrong["id"], [node["html"] for node in wrong["nodes"]])
        for wrong in Axe().run(page).response["violations"]
    ] == []


def test_without_scripts_the_violations_are_there(open_page: Open) -> None:
    page = open_page(made("comment-table-1", ZOMBIE).text, scripts=False)
    expect(page.locator("#explorer")).to_be_hidden()
    expect(page.locator("noscript p")).to_contain_text(COMMAND)
    page.locator(".broken summary").first.click()
    expect(page.locator(".broken details li").first).to_contain_text("JoinGroup v9")
