from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.places import ROOT
from support.runs import KAFKA_4, Lie, about, entries, entry, honest, run, two_in_generation_2
from support.tcp.over_tcp import catalogue

from fencepost.conformance.cases.case_registry import Entry, Registry
from fencepost.conformance.cases.script import Script
from fencepost.model.coordinator import Answer, Provenance, Send
from fencepost.model.history.step_lines import Line, show_wrong_field, texts
from fencepost.model.history.words import WrongField, request_words, with_names
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.properties.judging.answer_diff import Recording
from fencepost.properties.judging.explain import (
    expected_answers,
    explain,
    sentence,
    signature,
    steps_of,
)
from fencepost.properties.oracle.verdict import Allowed, Verdict, Violation, Wrong
from fencepost.traces.files.run_trace import recording_of, trace_of
from fencepost.traces.files.trace_file import TraceFile

FOLLOWER = "JOIN-STATIC-EMPTY-STABLE/follower"
PREPARING = "JOIN-STATIC-EMPTY-PREPARING/preparing"
BEATS = "HEARTBEAT-INSTANCE-FENCED/zombie"
COMMITS = "COMMIT-INSTANCE-FENCED/commits"
FENCED = 82
UNKNOWN_MEMBER_ID = 25


def silent(request: Send, answer: Answer) -> Answer | None:
    return None if request.api == "SyncGroup" and request.body["memberId"] == "A-1" else answer


def with_code(code: int) -> Lie:
    def change(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "errorCode": code}

    return about("Heartbeat", "B", change)


def without_leader(body: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key != "leader"}


def garbled(request: Send, answer: Answer) -> Answer:
    if request.api != "Heartbeat":
        return answer
    return msgspec.structs.replace(answer, findings=("2 bytes are left over",))


def other_assignment(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "assignment": "b3RoZXI="} if body["errorCode"] == 0 else body


def no_members(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "members": body["members"][:1]}


FAULTS = [
    (FOLLOWER, "comment-table-1", honest, Wrong.ANSWER),
    (BEATS, "kafka-4", with_code(0), Wrong.ANSWER),
    (BEATS, "kafka-4", with_code(UNKNOWN_MEMBER_ID), Wrong.DEVIATION),
    (PREPARING, "comment-table-1", honest, Wrong.EARLY),
    (FOLLOWER, "kafka-4", silent, Wrong.SILENCE),
    (BEATS, "kafka-4", about("Heartbeat", "B", lambda _: None), Wrong.CLOSED),
    (BEATS, "kafka-4", about("JoinGroup", "A", without_leader), Wrong.SHAPE),
    (BEATS, "kafka-4", garbled, Wrong.DEVIATION),
    (FOLLOWER, "kafka-4", about("SyncGroup", "A", other_assignment), Wrong.ANSWER),
    (FOLLOWER, "kafka-4", about("JoinGroup", "A", no_members), Wrong.ANSWER),
]
SIGNATURES = [
    "B2 JoinGroup: MEMBER_ID_REQUIRED, member id B1",
    "B1 Heartbeat: NONE",
    "B1 Heartbeat: UNKNOWN_MEMBER_ID",
    "B2 JoinGroup: MEMBER_ID_REQUIRED, member id B1",
    "A1 SyncGroup: no answer",
    "B1 Heartbeat: connection closed",
    "A1 JoinGroup: malformed answer: leader: is missing; version 9 has it",
    "B1 Heartbeat: malformed bytes: 2 bytes are left over",
    'A1 SyncGroup: NONE, assignment "other"',
    "A1 JoinGroup #2: NONE, generation 2, leads [A]",
]
SENTENCES = [
    "B2's JoinGroup v9 (step 9) should have been answered NONE, generation 2, follows A1 ",
    "B1's Heartbeat v4 (step 10) should have been answered FENCED_INSTANCE_ID ",
    "B1's Heartbeat v4 (step 10) should have been answered with errorCode FENCED_INSTANCE_ID ",
    "B2's JoinGroup v9 (step 12) should have waited for its answer until all members join, or ",
    'A1\'s SyncGroup v5 (step 2) should have been answered NONE, assignment "A1", at once ',
    "B1's Heartbeat v4 (step 10) should have been answered FENCED_INSTANCE_ID ",
    "A1's JoinGroup v9 (step 1) should have been answered NONE, generation 1, leads [a new id] ",
    "B1's Heartbeat v4 (step 10) should have been answered in the format of its version ",
    'A1\'s SyncGroup v5 (step 2) should have been answered NONE, assignment "A1" ',
    "A1's JoinGroup v9 (step 4, answered in 6) should have been answered NONE, generation 2, ",
]
INSTEAD = [
    "Instead: MEMBER_ID_REQUIRED, member id B1. Source: ",
    "Instead: NONE. ",
    "Instead: UNKNOWN_MEMBER_ID (errorCode UNKNOWN_MEMBER_ID instead of FENCED_",
    "Instead: MEMBER_ID_REQUIRED, member id B1, at once. ",
    "Instead: no answer. ",
    "Instead: the connection was closed. ",
    "Instead: a malformed answer: leader: is missing; version 9 has it. ",
    "Instead: FENCED_INSTANCE_ID (malformed bytes: 2 bytes are left over). ",
    'Instead: NONE, assignment "other" (assignment "other" instead of "A1"). ',
    "Instead: NONE, generation 2, leads [A1] (members [A1] instead of [A1, B1]). ",
]


def test_a_protocol_that_most_members_name_later_is_explained() -> None:
    vote = (
        " The protocol must be the one that most members prefer, of those that all members offer."
    )
    lie = about("JoinGroup", "A", lambda body: {**body, "protocolName": "roundrobin"})
    recording, verdict = run(entry(BEATS), "kafka-4", lie)
    said = explain(verdict, recording, KAFKA_4).sentence
    assert vote in said
    assert "protocolName roundrobin instead of range" in said
    recording, verdict = run(entry(BEATS), "kafka-4", with_code(0))
    assert vote not in explain(verdict, recording, KAFKA_4).sentence


def test_a_wait_for_an_id_that_was_handed_out_is_named() -> None:
    case = catalogue()["JOIN-DYNAMIC-EMPTY/pending-id-holds-up-a-rebalance"]
    recording, verdict = run(case, "mutant:pending-does-not-block", honest)
    said = explain(verdict, recording, KAFKA_4).sentence
    assert " should have waited for its answer until all members join and no id is pending" in said


@pytest.mark.parametrize(
    ("fault", "signed", "begins", "instead"),
    list(zip(FAULTS, SIGNATURES, SENTENCES, INSTEAD, strict=True)),
)
def test_each_kind_of_fault_is_explained(
    fault: tuple[str, str, Lie, Wrong], signed: str, begins: str, instead: str
) -> None:
    case_id, revision, lie, wrong = fault
    recording, verdict = run(entry(case_id), revision, lie)
    assert verdict.violation is not None
    assert verdict.violation.wrong is wrong
    explained = explain(verdict, recording, KAFKA_4)
    assert explained.signature == signature(verdict, recording) == signed
    assert explained.sentence.startswith(begins)
    assert instead in explained.sentence
    assert explained.rule is not None
    has_reason = "in the format of its version (rule " not in explained.sentence
    assert (f" because {explained.rule.because} (rule " in explained.sentence) is has_reason
    assert f"(rule {explained.rule.id}, " in explained.sentence
    assert explained.rule.source in explained.sentence
    (marked,) = [step for step in explained.steps if step.endswith("← wrong")]
    place = re.search(r"\(step (\d+)(?:, answered in (\d+))?\)", explained.sentence)
    assert place is not None
    assert marked.startswith(f"{place[2] or place[1]}. ")


RECORDED = [
    *sorted((ROOT / "traces" / "corpus" / "mutants").glob("*.json"))[::5],
    *sorted((ROOT / "tests" / "properties" / "mutants" / "kfake").glob("*.json")),
    *sorted(Path(__file__).with_name("mock").glob("*.json")),
]
HALVES = re.compile(
    r" should have (?:been answered )?(?P<should>.*?)(?: because .*)? "
    r"\(rule [A-Z0-9-]+, [A-Z]+(?:; this failure counts as [A-Z]+)?\)\. "
    r"Instead: (?P<came>.*?)\.(?: The answer lists .*?\.)?"
    r"(?: Also wrong [\w ]+: .*?\.)?(?: Source: .*)?",
    re.DOTALL,
)


def alike(said: str) -> bool:
    """Whether the halves of a sentence read alike, or what it says differs reads the same."""
    found = HALVES.search(f"{said} ")
    assert found is not None, said
    should, came = found["should"], re.sub(r" \([^()]*\)$", "", found["came"])
    differs = re.search(r"\(\S+ (.*) instead of (.*)\)$", found["came"])
    if differs is not None:
        return differs[1] == differs[2]
    return came in should.split("; or ")


def test_halves_that_read_alike_are_seen() -> None:
    said = (
        "a's X v1 should have been answered NONE, h Empty because why (rule R, MUST). Instead: {}."
    )
    assert alike(said.format("NONE, h Empty"))
    assert alike(said.format("NONE, h Empty (members [A1] instead of [A1])"))
    assert not alike(said.format("NONE, h Empty (protocolType a instead of b)"))
    assert not alike(said.format("NONE, h Stable"))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_halves_of_a_sentence_differ_and_name_a_broken_rule(path: Path) -> None:
    trace = TraceFile.read(path)
    verdict, recording = trace.judge(), recording_of(trace)
    explained = explain(verdict, recording, find_revision(trace.revision))
    assert explained.rule is not None
    assert not alike(explained.sentence)
    if verdict.violation is not None and verdict.violation.wrong is Wrong.EARLY:
        assert " ms after it was sent because " in explained.sentence


@pytest.mark.parametrize(
    ("finding", "said"),
    [
        ("leader: is 7, not string", "leader: is 7, not string"),
        ("leader: is null, which version 9 doesn't allow", "leader: is null, which version 9 "),
        ("other: is 7, not string", "leader: is missing; version 9 has it"),
    ],
)
def test_a_value_of_a_wrong_type_is_told_not_that_it_is_missing(finding: str, said: str) -> None:
    def odd(request: Send, answer: Answer) -> Answer:
        body = dict(answer.body or {})
        if request.api != "JoinGroup" or body.pop("leader", None) is None:
            return answer
        return msgspec.structs.replace(answer, body=body, findings=(finding,))

    recording, verdict = run(entry(BEATS), "kafka-4", odd)
    explained = explain(verdict, recording, KAFKA_4)
    assert f"Instead: a malformed answer: {said}" in explained.sentence
    assert explained.signature.endswith("malformed answer: leader: is missing; version 9 has it")


@pytest.mark.parametrize("code", ["25", "0"])
def test_a_code_that_is_a_string_is_told(code: str) -> None:
    recording, verdict = run(
        entry(BEATS), "kafka-4", about("Heartbeat", "B", lambda body: {**body, "errorCode": code})
    )
    said = f' Its errorCode is the string "{code}"; it must be a number. '
    assert said in sentence(verdict, recording, KAFKA_4)


def test_a_difference_that_the_words_hide_is_named() -> None:
    same = {"errorCode": FENCED}
    allowed = Allowed(
        same, "HEARTBEAT-INSTANCE-FENCED", "errorCode is FENCED_INSTANCE_ID instead of 0"
    )
    said = sentence(judged(Wrong.ANSWER, allowed, observed=same), a_recording(), KAFKA_4)
    assert "(errorCode FENCED_INSTANCE_ID instead of " in said


def test_a_field_that_is_wrong_has_a_reason_of_its_own() -> None:
    """The rule that answers says why it answers, and not why one field of its answer is wrong."""

    def other_metadata(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "members": [{**row, "metadata": "b3Ro"} for row in body["members"]]}

    lie = about("JoinGroup", "A", other_metadata)
    recording, verdict = run(entry(FOLLOWER), "kafka-4", lie)
    said = sentence(verdict, recording, KAFKA_4)
    assert (
        " because the coordinator passes on the bytes of each member's last join unchanged (rule "
        in said
    )
    assert "Source: " not in said
    for got, rule, reason in (
        ("A-1", "JOIN-PHASE-ALL-JOINED", "a member id belongs to one process alone"),
        ("", "JOIN-DYNAMIC-EMPTY", "a dynamic member first gets a pending id, and then"),
    ):
        right = Allowed({"errorCode": 0}, rule, f"memberId is {got} instead of a new id")
        said = sentence(judged(Wrong.ANSWER, right, observed={}), a_recording(), KAFKA_4)
        assert f" because {reason}" in said


def test_two_live_members_of_one_instance_are_named() -> None:
    def twice(body: dict[str, Any]) -> dict[str, Any]:
        rows = body["members"]
        return {**body, "members": [*rows, {**rows[-1], "memberId": "B-9"}] if rows else rows}

    recording, verdict = run(entry(FOLLOWER), "kafka-4", about("JoinGroup", "A", twice))
    first = sentence(verdict, recording, KAFKA_4)
    assert "The answer lists two live members of instance A." in first
    honestly, held = run(entry(FOLLOWER), "comment-table-1")
    assert "two live members" not in sentence(held, honestly, KAFKA_4)


def test_rows_that_repeat_what_was_sent_are_no_members() -> None:
    def served(request: Send, answer: Answer) -> Answer:
        if request.api != "LeaveGroup":
            return answer
        rows = [{**row, "errorCode": 0} for row in (answer.body or {})["members"]]
        return msgspec.structs.replace(answer, body={**(answer.body or {}), "members": rows})

    leaving = Registry()

    @leaving.case("LEAVE-INSTANCE")
    def twice(s: Script) -> None:
        """Of two rows about an instance, the second finds nobody."""
        two_in_generation_2(s)
        s.leave("admin", ("", "B"), ("", "B"))

    recording, verdict = run(leaving.entries[0], "kafka-4", served)
    assert verdict.violation is not None
    assert len((verdict.violation.observed or {})["members"]) == 2
    assert "two live members" not in sentence(verdict, recording, KAFKA_4)


def test_an_answer_that_is_due_at_once_waits_for_nothing() -> None:
    recording, verdict = run(entry(BEATS), "mutant:static-asked-for-id")
    assert verdict.violation is not None
    assert verdict.violation.wrong is Wrong.EARLY
    said = sentence(verdict, recording, KAFKA_4)
    assert (
        "(step 1) should have been answered NONE, generation 1, leads [a new id] because " in said
    )
    assert "Instead: MEMBER_ID_REQUIRED, member id A1. " in said
    assert expected_answers(verdict, recording) == ["NONE, generation 1, leads [a new id]"]
    delayed, late = run(entry(BEATS), "mutant:static-asked-for-id", delay=3000)
    assert "waited for its answer until 3000 ms after it was sent" in sentence(
        late, delayed, KAFKA_4
    )
    assert expected_answers(late, delayed) == ["no answer yet"]


def test_the_steps_are_told_by_name() -> None:
    recording, _ = run(entry(FOLLOWER))
    assert (
        list(steps_of(recording))
        == """\
1. A1 JoinGroup v9 (member "", instance A) → NONE, generation 1, leads [A1]
2. A1 SyncGroup v5 (member A1, instance A, generation 1, assigns to A1) → NONE, assignment "A1"
3. B1 JoinGroup v9 (member "", instance B) → waits
4. A1 JoinGroup v9 (member A1, instance A) → waits
5. B1 JoinGroup of step 3 → NONE, generation 2, follows A1
6. A1 JoinGroup of step 4 → NONE, generation 2, leads [A1, B1]
7. A1 SyncGroup v5 (member A1, instance A, generation 2, assigns to A1, B1) → NONE, assignment "A1"
8. B1 SyncGroup v5 (member B1, instance B, generation 2) → NONE, assignment "B1"
9. B2 JoinGroup v9 (member "", instance B) → NONE, generation 2, follows A1
10. B2 SyncGroup v5 (member B2, instance B, generation 2) → NONE, assignment "B1"
11. A1 Heartbeat v4 (member A1, instance A, generation 2) → NONE
12. B2 Heartbeat v4 (member B2, instance B, generation 2) → NONE
""".splitlines()
    )


def test_time_that_passes_is_told() -> None:
    recording, _ = run(entry(FOLLOWER), delay=3000)
    assert "2. 3000 ms pass" in steps_of(recording)


def test_offsets_are_told() -> None:
    recording, _ = run(entry(COMMITS))
    steps = "\n".join(steps_of(recording))
    assert "t-0 offset 5) → t-0 NONE" in steps
    assert "t-0 offset 3) → t-0 FENCED_INSTANCE_ID" in steps
    assert "B2 OffsetFetch v7 → NONE, t-0 at 5" in steps


@pytest.mark.parametrize("found", list(entries()), ids=lambda e: e.id)
@pytest.mark.parametrize("revision", ["comment-table-1", "kip-345"])
def test_no_id_of_the_target_is_in_a_signature(found: Entry, revision: str) -> None:
    recording, verdict = run(found, revision)
    said = signature(verdict, recording)
    if said:
        again, verdict_again = run(found, revision)
        assert said == signature(verdict_again, again)
    assert not any(re.search(rf"\b{re.escape(i)}\b", said) for i in recording.names)
    assert "\x00" not in sentence(verdict, recording, KAFKA_4)
    assert bool(said) is (verdict.violation is not None or recording.stopped is not None)


@pytest.mark.parametrize("found", list(entries())[:40], ids=lambda e: e.id)
def test_a_recording_is_judged_the_same_from_its_trace(found: Entry) -> None:
    recording, verdict = run(found, "comment-table-1")
    at = Provenance("model:comment-table-1", "model", "1")
    trace = trace_of(recording, verdict, KAFKA_4, at, seed=1, tool_version="1")
    assert trace.judge() == verdict
    assert trace.text() == type(trace).from_json(trace.to_json()).text()


def a_recording(**changes: Any) -> Recording:
    recording, _ = run(entry(BEATS))
    for name, value in changes.items():
        setattr(recording, name, value)
    return recording


def test_a_case_that_was_stopped_says_why() -> None:
    recording = a_recording(stopped="B1 JoinGroup 7 waited for in vain")
    verdict = Verdict(None, None, frozenset(), (), 1)
    explained = explain(verdict, recording, KAFKA_4)
    assert explained.sentence == "The case was stopped: B1 JoinGroup 7 waited for in vain."
    assert explained.signature == "stopped: B1 JoinGroup 7 waited for in vain"
    assert explained.rule is None


def test_what_could_not_be_judged_says_why() -> None:
    verdict = Verdict(None, "too many states", frozenset(), (), 1)
    explained = explain(verdict, a_recording(), KAFKA_4)
    assert explained.sentence == "Undecided: too many states."
    assert explained.signature == ""


def test_no_verdict_and_no_recording_sign_nothing() -> None:
    assert signature(None, None) == ""
    assert signature(None, a_recording()) == ""


def the_beat() -> str:
    """The request id of the zombie's heartbeat, which is sent at 0 ms."""
    labels = a_recording().labels
    return next(r for r, label in labels.items() if label.startswith("B1 Heartbeat"))


def judged(wrong: Wrong, *allowed: Allowed, observed: dict[str, Any] | None = None) -> Verdict:
    rules = ("HEARTBEAT-INSTANCE-FENCED",)
    violation = Violation(
        wrong,
        KAFKA_4.rule(rules[0]).level,
        the_beat(),
        700,
        observed,
        allowed,
        rules,
        wrong.value,
    )
    return Verdict(violation, None, frozenset(), (), 1)


def test_silence_that_ended_after_all_is_lateness() -> None:
    said = signature(judged(Wrong.SILENCE), a_recording())
    assert said.endswith("Heartbeat: FENCED_INSTANCE_ID, too late")


def test_silence_that_ended_too_late_says_what_came() -> None:
    body = {"errorCode": FENCED}
    allowed = Allowed(body, "HEARTBEAT-INSTANCE-FENCED", Wrong.SILENCE.value)
    said = sentence(judged(Wrong.SILENCE, allowed), a_recording(), KAFKA_4)
    assert "no answer within 700 ms (after 0 ms: FENCED_INSTANCE_ID). " in said


def test_a_request_that_lost_its_connection_has_no_answer_where_that_is_wrong() -> None:
    lines = [Line("a JoinGroup", 0, 0, asks="r1", number=1), Line("a ends", 0, 0, drops=("r1",))]
    assert next(texts(lines, "r1")) == "1. a JoinGroup → no answer   ← wrong"
    assert next(texts(lines, "r2")) == "1. a JoinGroup → waits"


@pytest.mark.parametrize(("got", "more"), [('"x"', ""), ('"xy"', ', memberId "xy"')])
def test_a_wrong_member_id_is_named_once(got: str, more: str) -> None:
    line = Line("a JoinGroup", 0, 0, fate="MEMBER_ID_REQUIRED, member id x", answers="r1")
    show_wrong_field([line], "r1", WrongField("memberId", got, '""'))
    assert line.fate == f"MEMBER_ID_REQUIRED, member id x{more}"


def test_a_wrong_member_id_is_named_beside_a_longer_one() -> None:
    line = Line("a JoinGroup", 0, 0, fate="MEMBER_ID_REQUIRED, member id B10", answers="r1")
    show_wrong_field([line], "r1", WrongField("memberId", '"B1"', '""'))
    assert line.fate == 'MEMBER_ID_REQUIRED, member id B10, memberId "B1"'


def test_a_closed_connection_where_the_answer_is_not_due() -> None:
    verdict = judged(Wrong.CLOSED)
    assert signature(verdict, a_recording()).endswith("Heartbeat: connection closed")
    assert "should have waited" in sentence(verdict, a_recording(), KAFKA_4)


def test_the_right_answer_too_late() -> None:
    allowed = Allowed({"errorCode": FENCED}, "HEARTBEAT-INSTANCE-FENCED", Wrong.ANSWER.value)
    verdict = judged(Wrong.ANSWER, allowed, observed={"errorCode": FENCED})
    assert signature(verdict, a_recording()).endswith("Heartbeat: FENCED_INSTANCE_ID, too late")
    assert ", too late: after 700 ms" in sentence(verdict, a_recording(), KAFKA_4)


def test_several_right_answers_are_all_told() -> None:
    allowed = [
        Allowed(
            {"errorCode": code}, "HEARTBEAT-INSTANCE-FENCED", f"errorCode is NONE instead of {n}"
        )
        for code, n in ((FENCED, "FENCED_INSTANCE_ID"), (UNKNOWN_MEMBER_ID, "UNKNOWN_MEMBER_ID"))
    ]
    for order in (allowed, allowed[::-1]):
        verdict = judged(Wrong.ANSWER, *order, observed={"errorCode": 0})
        said = sentence(verdict, a_recording(), KAFKA_4)
        assert "been answered FENCED_INSTANCE_ID; or UNKNOWN_MEMBER_ID because " in said
        assert signature(verdict, a_recording()).endswith("Heartbeat: NONE")


def test_an_id_that_nobody_was_told_has_no_name() -> None:
    told = "4fd2-uuid"
    verdict = judged(Wrong.SHAPE, observed={"leader": told})
    assert verdict.violation is not None
    violation = replace(verdict.violation, detail=f"leader: is {told}")
    said = signature(replace(verdict, violation=violation), a_recording(names={"A-1": "A1"}))
    assert said.endswith("malformed answer: leader: is an unknown id")


def test_an_id_within_another_word_stays() -> None:
    names = {"A-1": "A1", "A-12": "A2"}
    assert with_names("A-12, A-1, A-123 and \x00r9", names) == "A2, A1, A-123 and a new id"


def test_the_second_id_of_a_member_is_told_apart() -> None:
    recording = a_recording(names={"one": "A1", "two": "A1", "three": "B1"})
    assert recording.read().names == {"one": "A1", "two": "A1 (id 2)", "three": "B1"}
    assert request_words("Heartbeat", 4, {"memberId": "two"}, {"two": "A1 (id 2)"}) == (
        "Heartbeat v4 (member A1 (id 2))"
    )


def test_a_leave_tells_its_rows() -> None:
    body = {
        "groupId": "other",
        "members": [{"memberId": "b", "groupInstanceId": "B"}, {"memberId": ""}],
    }
    assert request_words("LeaveGroup", 3, body, {"b": "B1"}) == (
        'LeaveGroup v3 (group "other", leaves: member B1 of instance B, leaves: member "")'
    )
