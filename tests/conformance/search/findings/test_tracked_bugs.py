"""What is one bug, and what is new."""

from __future__ import annotations

from dataclasses import replace

from support.committed import committed
from support.night_findings import BEFORE, TONIGHT, entries_of, finding, shard_finding, statuses

from fencepost.conformance.search.findings.tracked_bugs import (
    ADOPTED,
    EACH_TIME,
    KNOWN,
    NEW,
    OPEN,
    SOMETIMES,
    UNTRIED,
    trace_texts,
)
from tools.nightly.nightly_report import day_of
from tools.nightly.nightly_search import with_cause


def test_the_same_bug_found_by_eight_shards_is_one_entry() -> None:
    eight = [shard_finding(f"shard {n}", seed=n, seen=n) for n in range(1, 9)]
    (entry,) = entries_of(eight)
    assert entry.seen == sum(range(1, 9))
    assert len(entry.shards) == 8
    other = shard_finding("shard 9", shape="another shape")
    assert len(entries_of([*eight, other])) == 2


def test_all_versions_of_kafka_are_one_implementation_and_no_other_is() -> None:
    targets = ("kafka:4.3.0", "kafka:3.9.1+old", "kfake")
    found = [shard_finding(target, target=target) for target in targets]
    kafka, kfake = entries_of(found)
    assert kafka.targets == ("kafka:3.9.1+old", "kafka:4.3.0")
    assert kfake.targets == ("kfake",)


def test_the_surest_sighting_is_told() -> None:
    text = committed("zombie-commits").text()
    found = [
        shard_finding("a", sure=UNTRIED, sentence="untried"),
        shard_finding("b", sure=EACH_TIME, sentence="without a trace"),
        shard_finding("c", sure=EACH_TIME, sentence="this", trace=text),
        shard_finding("d", sure=SOMETIMES, trace=text),
    ]
    entries = entries_of(found)
    assert [(e.sentence, e.sure) for e in entries] == [("this", EACH_TIME)]
    assert trace_texts(entries, found) == {"traces/mock-a-shape.json": text}


def test_what_is_listed_adopted_or_open_is_not_new() -> None:
    assert statuses(shard_finding()) == [NEW]
    assert statuses(shard_finding(known="a reason")) == [KNOWN]
    assert statuses(shard_finding(), corpus={("mock", "a shape"): "its-name"}) == [ADOPTED]
    assert statuses(shard_finding(), corpus={("kfake", "a shape"): "its-name"}) == [NEW]
    before = entries_of([shard_finding()], tonight=BEFORE)
    assert statuses(shard_finding(), before=before) == [OPEN]


def test_looks_of_one_known_cause_are_one_entry() -> None:
    text = finding("pending-leave")
    looks = [
        with_cause(shard_finding("a", shape="one look", target="kafka:4.3.0", trace=text)),
        with_cause(shard_finding("b", shape="another", target="kafka:4.1.1", trace=text)),
        shard_finding(
            "c", shape="another", target="kafka:4.1.1", sure=UNTRIED, cause="pending-leave"
        ),
        shard_finding("d", shape="a third", target="kafka:4.1.1", sure=UNTRIED),
    ]
    caused, other = entries_of(looks)
    assert (caused.cause, caused.shapes, caused.status) == (
        "pending-leave",
        ("another", "one look"),
        NEW,
    )
    assert (other.cause, other.shapes) == ("", ("a third",))
    assert trace_texts([caused, other], looks) == {"traces/kafka-pending-leave.json": text}
    corpus = {("kafka", "pending-leave"): "its-name"}
    assert statuses(*looks[:3], corpus=corpus) == [ADOPTED]
    # What merely looks like it, and has another cause or none, is something else.
    alike = replace(looks[2], cause="")
    assert [e.cause for e in entries_of([alike])] == [""]
    (again,) = entries_of(looks[2:3], before=[caused])
    assert (again.cause, again.status, again.sure) == ("pending-leave", OPEN, EACH_TIME)
    # A trace of that look with another cause is something else, and so it may be.
    odd = with_cause(
        shard_finding("e", shape="another", target="kafka:4.1.1", trace=finding("full-group"))
    )
    whole = entries_of([*looks[:3], odd])
    assert {entry.cause: entry.seen for entry in whole} == {"pending-leave": 3, "full-group": 1}


def test_what_was_open_without_its_cause_is_not_open_beside_it() -> None:
    unexplained = shard_finding("a", shape="one look", target="kafka:4.3.0")
    before = entries_of([unexplained], tonight=BEFORE)
    seen = with_cause(replace(unexplained, trace=finding("pending-leave")))
    (entry,) = entries_of([seen], before=before)
    assert (entry.cause, entry.status) == ("pending-leave", NEW)


def test_a_known_cause_is_a_known_failure_where_one_look_of_it_is_listed() -> None:
    text = finding("pending-leave")
    listed = shard_finding(
        "a", shape="one look", target="kafka:4.3.0", known="a reason", trace=text
    )
    other = shard_finding("b", shape="another", target="kafka:4.3.0", trace=text)
    assert statuses(with_cause(listed), with_cause(other)) == [KNOWN]
    elsewhere = replace(other, target="kafka:3.9.1+new")
    assert statuses(with_cause(listed), with_cause(elsewhere)) == [NEW]


def test_a_bug_that_is_listed_for_one_release_is_new_in_another() -> None:
    listed = shard_finding("a", target="kafka:2.3.0", known="a reason")
    assert statuses(listed, shard_finding("b", target="kafka:4.3.0")) == [NEW]


def test_what_is_not_met_tonight_stays_open_until_it_is_adopted() -> None:
    first = day_of("2026-02-27")
    entries = entries_of([shard_finding()], tonight="2026-02-27")
    for night in ("2026-02-28", BEFORE):
        entries = entries_of([], tonight=night, before=entries)
        assert [(e.status, e.seen, e.last_run) for e in entries] == [(OPEN, 0, first)]
    (again,) = entries_of([shard_finding()], before=entries)
    assert (again.status, again.first_run, again.last_run) == (OPEN, first, day_of(TONIGHT))
    assert entries_of([], corpus={again.bug: "x"}, before=[again]) == []


def test_what_was_not_sure_is_new_once_it_is() -> None:
    before = entries_of([shard_finding(sure=UNTRIED)], tonight=BEFORE)
    assert statuses(shard_finding(sure=SOMETIMES), before=before) == [OPEN]
    (sure,) = entries_of([shard_finding()], before=before)
    assert (sure.status, sure.sure) == (NEW, EACH_TIME)
    (still,) = entries_of([shard_finding(sure=UNTRIED)], before=[sure])
    assert (still.status, still.sure) == (OPEN, EACH_TIME)


def test_only_what_was_sure_is_remembered_for_ever() -> None:
    for sure, after_a_week in ((EACH_TIME, [OPEN]), (SOMETIMES, []), (UNTRIED, [])):
        before = entries_of([shard_finding(sure=sure)], tonight="2026-02-23")
        assert statuses(tonight=BEFORE, before=before) == [OPEN]
        assert statuses(before=before) == after_a_week


def test_what_was_only_counted_tonight_is_told_as_before() -> None:
    text = committed("zombie-commits").text()
    before = entries_of([shard_finding(trace=text)], tonight=BEFORE)
    counted = shard_finding(sentence="", sure=UNTRIED, seen=9)
    (entry,) = entries_of([counted], before=before)
    assert (entry.status, entry.seen, entry.sure) == (OPEN, 9, EACH_TIME)
    assert (entry.sentence, entry.trace) == (before[0].sentence, before[0].trace)


def test_a_reason_that_is_taken_off_the_list_makes_it_new() -> None:
    before = entries_of([shard_finding(known="a reason")], tonight=BEFORE)
    assert statuses(shard_finding(), before=before) == [NEW]
