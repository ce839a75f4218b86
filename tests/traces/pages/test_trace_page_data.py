"""What a page tells of a trace: lanes, states, answers and the rules behind them."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, pairwise
from typing import Any

import pytest
from support.page.long import CONFIG, Group, long_trace
from support.page.pages import FINDINGS, finding

from fencepost.model.revisions.revisions import find as find_revision
from fencepost.model.table.expr import compile_closure
from fencepost.properties.departures.known_departures import DEPARTURES, departed
from fencepost.traces.pages.decisions import REACHED, Decisions, clauses
from fencepost.traces.pages.lanes import lanes
from fencepost.traces.pages.trace_page import PageTrace, forms, rows, trace_json
from fencepost.traces.pages.trace_with_model import Decider, match_model

REVISION = find_revision("kafka-4")


def data(shown: PageTrace) -> tuple[dict[str, Any], Decisions]:
    decisions = Decisions(REVISION)
    return trace_json(shown, decisions), decisions


@pytest.mark.parametrize("path", sorted(FINDINGS.glob("*.json")), ids=lambda path: path.stem)
def test_changes_add_up_to_the_state_that_the_model_is_in(path: Any) -> None:
    told, _ = data(finding(path.stem))
    state: dict[str, str] = {"state": "absent"}
    story = match_model(finding(path.stem).trace, REVISION)
    for step, beside in zip(told["steps"], story.beside, strict=True):
        update(state, step.get("was", {}))
        for name, value in step.get("ch", {}).items():
            assert state.get(name) != value, "a change that changes nothing"
        update(state, step.get("ch", {}))
        if beside:
            group, of_several = beside[-1].outcome.group, f"group {beside[-1].group_id} · state"
            shown = state.get(of_several, state["state"])
            assert shown == ("absent" if group is None else group.state.value)


def update(state: dict[str, str], changes: dict[str, str | None]) -> None:
    for name, value in changes.items():
        state.pop(name, None)
        if value is not None:
            state[name] = value


@pytest.mark.parametrize("path", sorted(FINDINGS.glob("*.json")), ids=lambda path: path.stem)
def test_a_timer_changes_only_where_a_step_sets_or_takes_it(path: Any) -> None:
    """Not where explanations are joined, after which its deadline is known less well."""
    told, _ = data(finding(path.stem))
    story = match_model(finding(path.stem).trace, REVISION)
    dots = {index for timer in told["lanes"]["timers"] for index in timer["set"]}
    for index, (step, beside) in enumerate(zip(told["steps"], story.beside, strict=True)):
        moved = any(
            (each.before.timers if each.before else ()) != each.outcome.group.timers
            for each in beside
            if each.outcome.group
        )
        set_here = {n for n, v in step.get("ch", {}).items() if " timer" in n and v is not None}
        if not moved:
            assert not set_here
            assert index not in dots


@pytest.mark.parametrize("path", sorted(FINDINGS.glob("*.json")), ids=lambda path: path.stem)
def test_time_never_goes_back(path: Any) -> None:
    """As it does in what was recorded, by a ms."""
    steps = data(finding(path.stem))[0]["steps"]
    assert all(one["at"] <= next_["at"] for one, next_ in pairwise(steps))
    assert all(step["at"] <= step["until"] for step in steps)


def test_of_each_rule_that_did_not_fire_the_first_false_clause_is_told() -> None:
    told, decisions = data(finding("restart-session"))
    assert told["steps"]
    tables = list(REVISION.tables.values())
    seen = decisions.to_json()
    assert seen["points"]
    for point in seen["points"]:
        table = tables[point["t"]]
        for number, rule in enumerate(table.rules()):
            clause = point["w"][number]
            texts = seen["tables"][point["t"]]["rules"][number]["clauses"]
            assert len(texts) == len(clauses(rule.guard))
            if number == point["r"]:
                assert clause == REACHED
            elif clause == REACHED:
                assert point["r"] < len(table.checks), "only a check hides another rule"
            else:
                asked = compile_closure(clauses(rule.guard)[clause], table.features)
                values = [
                    next(v for v in f.domain if str(getattr(v, "value", v)) == said)
                    for f, said in zip(table.features, point["v"], strict=True)
                ]
                assert not asked(tuple(values))


def test_where_it_goes_wrong_the_expected_stands_beside_the_observed() -> None:
    told, _ = data(finding("restart-session"))
    wrong = told["steps"][told["wrong"]]
    assert wrong["wrong"] is True
    assert ("errorCode", "REBALANCE_IN_PROGRESS", "NONE", False) in told["pool"][wrong["a"]]
    for step in told["steps"]:
        if step is not wrong and "a" in step and "free" not in step:
            differ = [row for row in told["pool"][step["a"]] if not row[3]]
            assert [row for row in differ if row[0] != "generationId"] == []


def test_a_made_up_id_agrees_with_any_and_a_wrong_one_does_not() -> None:
    names = {"x-1": "A1"}
    fresh = rows({"memberId": "x-1"}, {"memberId": "\x00r1"}, names)
    assert fresh == [("memberId", "A1", "a new id", True)]
    other = rows({"memberId": "x-1"}, {"memberId": "y-2"}, names)
    assert other == [("memberId", "A1", '"y-2"', False)]
    missing = rows({}, {"errorCode": 82}, names)
    assert missing == [("errorCode", None, "FENCED_INSTANCE_ID", False)]


def test_a_fencing_is_a_cut_from_row_to_row() -> None:
    drawn = lanes(match_model(finding("restart-session").trace, REVISION))
    assert [(row["lane"], row["who"]) for row in drawn.rows] == [
        ("instance A", "A1"),
        ("instance A", "A2"),
        ("dynamic a", "a"),
    ]
    cut = [bar for bar in drawn.bars if bar["ends"] == "fenced"]
    assert [(bar["label"], bar["row"]) for bar in cut] == [("A1", 0)]
    after = [bar for bar in drawn.bars if bar["from"] == cut[0]["to"]]
    assert [(bar["label"], bar["row"]) for bar in after] == [("A2", 1)]


def test_phases_follow_each_other_and_timers_fire() -> None:
    drawn = lanes(match_model(finding("absent-static-member").trace, REVISION))
    for one, other in pairwise(drawn.phases):
        assert one["to"] == other["from"]
        assert (one["state"], one["generation"]) != (other["state"], other["generation"])
    assert any(timer["fired"] for timer in drawn.timers)
    assert drawn.phases[-1]["to"] is None


def test_who_leaves_and_who_expires_is_told_apart() -> None:
    group = Group()
    group.join("A1")
    group.wait(1)
    group.sync("A1")
    group.join("B1")
    group.join("A1", group.ids["A1"])
    group.sync("A1")
    row = {"memberId": group.ids["B1"], "groupInstanceId": "B", "reason": None}
    group.ask("B1", "LeaveGroup", {"groupId": "g", "members": [row]})
    group.join("A1", group.ids["A1"])
    group.sync("A1")
    group.wait(40_000)
    drawn = lanes(match_model(group.trace(), REVISION))
    assert {bar["label"]: bar["ends"] for bar in drawn.bars} == {"A1": "expired", "B1": "left"}


def test_many_processes_of_an_instance_share_rows_and_never_with_the_one_before() -> None:
    drawn = lanes(match_model(long_trace(600), REVISION))
    bars = [b for b in drawn.bars if drawn.rows[b["row"]]["lane"] == "instance A"]
    assert len(bars) > 6
    assert len([row for row in drawn.rows if row["lane"] == "instance A"]) == 2
    assert all(one["row"] != other["row"] for one, other in pairwise(bars))
    assert all(b["ends"] == "fenced" for b in bars[:-1])


def test_a_step_of_a_long_trace_tells_what_it_changed_and_no_more() -> None:
    told, decisions = data(PageTrace(long_trace(900), "long", "long.json"))
    beats = [step for step in told["steps"] if step.get("api") == "Heartbeat"]
    sizes = [len(step.get("ch", {})) for step in beats]
    assert max(sizes) == 1, "a heartbeat restarts one timer"
    assert sum(sizes) > len(beats) / 2
    assert len(told["pool"]) < len(told["steps"]) / 2
    assert len(decisions.to_json()["points"]) < 30


def test_each_form_of_a_trace_is_there_or_the_command_for_it() -> None:
    shown = finding("full-group")
    made = {form["name"]: form["text"] for form in forms(shown.trace, "my traces/x.json")}
    target = shown.trace.provenance["target"]
    again = f"fencepost replay 'my traces/x.json' {target}\n"
    assert made["replay command"] == again
    assert made["Mermaid"].startswith("sequenceDiagram")
    assert '"#meta"' in made["ITF"]
    compile(made["pytest"], "pytest form", "exec")
    short = {form["name"]: form["text"] for form in forms(shown.trace, "x.json", longest=10)}
    assert short["ITF (command)"] == "fencepost convert x.json --to itf\n"
    there = {f["name"]: f["text"] for f in forms(shown.trace, "x.json", 10, "the folder there")}
    assert there["replay command"] == f"# in the folder there\nfencepost replay x.json {target}\n"
    planless = replace(shown.trace, plan=None)  # it can be judged again, not run again
    assert forms(planless, "x.json")[0]["text"] == "fencepost replay x.json\n"


def test_the_configuration_is_told() -> None:
    told, _ = data(PageTrace(long_trace(30), "long", "long.json"))
    facts = dict(told["facts"])
    assert set(CONFIG) <= set(facts)
    assert facts["group.max.size"] == "none"
    assert facts["clock"] == "virtual"


def test_the_decisions_shown_are_those_of_a_revision_with_a_departure() -> None:
    """What the machine decides rests on more of a revision than its tables."""
    trace = finding("full-group").trace
    departing = departed(REVISION, [DEPARTURES["full-group"]])
    decider = Decider(trace, departing)
    used: set[str] = set()
    for step in chain.from_iterable(match_model(trace, departing).beside):
        rules = tuple(rule.id for _, _, rule in decider.decisions(step))
        assert rules == step.outcome.rules
        used.update(rules)
    assert "JOIN-GROUP-FULL" in used
