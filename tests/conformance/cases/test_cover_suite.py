"""The cover suites as cases: the model passes, liars don't, and a plan does what its walk does."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.command import program
from support.runs import KAFKA_4, LEVELS

from fencepost.conformance.cases.case_registry import Entry
from fencepost.conformance.cases.cover.cover import ControllableGraph, Walk
from fencepost.conformance.cases.cover_suite import CoverSuite, generate_suite
from fencepost.conformance.cases.suites import CATALOGUE, find_suite
from fencepost.conformance.cli.cli import main
from fencepost.conformance.run.certify import Options, certify
from fencepost.conformance.runtime.event_loop import run as run_loop
from fencepost.conformance.targets.in_process import InProcessTarget
from fencepost.model.consumer.settings import MAX_SIZE, SESSION_TIMEOUT
from fencepost.model.history.events import Answered, Sent
from fencepost.model.history.events import Event as Happened
from fencepost.model.messages.errors import Error
from fencepost.model.plans.spelling import plan_json, read_plan
from fencepost.model.plans.steps import Disconnect, EpochOf, Pause, Request
from fencepost.model.revision import Revision, SetRule, derive
from fencepost.model.revisions import revisions
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.judging.report import Overall
from fencepost.properties.mutants.mutants import find_mutant
from fencepost.properties.worlds.concretise import unfold
from fencepost.properties.worlds.scope import COVER_SCOPES
from fencepost.traces.files.known_failure_lists import drafted_list

ADAPTER = program(
    "-c", "from fencepost.conformance.cli.cli import main; main()", "adapter", "model"
)
CONSUMER_4_4 = revisions.find("consumer-4.4")
ID = re.compile(r"(cover|pairs)/[0-9a-f]{10}-[A-Z][A-Z-]+[A-Z]|cover/[0-9a-f]{10}-nothing-decided")
CHUNK = 50
EVERY = {"cover": 16, "pairs": 4}
"""Of a suite that is expected to pass, one case in so many is run here; `fencepost certify` runs
all of them in the documents' tests."""


@pytest.fixture(scope="module")
def cover() -> CoverSuite:
    return generate_suite("cover", KAFKA_4)


@pytest.fixture(scope="module")
def pairs() -> CoverSuite:
    return generate_suite("pairs", KAFKA_4)


def results(entries: Sequence[Entry], target: Revision, judge: Revision) -> list[CaseResult]:
    held = InProcessTarget(target.name, target, "0")
    return list(run_loop(certify(held, judge, entries, Options())).results)


def first_violation(
    entries: Sequence[Entry], target: Revision, judge: Revision = KAFKA_4
) -> CaseResult | None:
    """Case by case, some at a time, until one fails."""
    for begin in range(0, len(entries), CHUNK):
        for result in results(entries[begin : begin + CHUNK], target, judge):
            if result.outcome is Outcome.FAIL:
                return result
    return None


# The model holds, whoever it is.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suite", "name"),
    [("cover", "kip-345"), ("pairs", "kip-345"), ("pairs", "tuple-list-leave-draft")],
)
def test_a_revision_passes_the_suite_that_is_made_of_it(suite: str, name: str) -> None:
    revision = revisions.find(name)
    some = generate_suite(suite, revision).entries[:: EVERY[suite]]
    assert {r.outcome for r in results(some, revision, revision)} == {Outcome.PASS}


# A plan does what its walk does.


def told(history: Iterable[Happened]) -> list[tuple[str, Any, Any]]:
    """Every request in the order sent, with the error and the generation that it was answered."""
    events = list(history)
    answers = {e.answer.id: e.answer.body or {} for e in events if isinstance(e, Answered)}
    return [
        (e.request.api, body.get("errorCode"), body.get("generationId"))
        for e in events
        if isinstance(e, Sent)
        for body in [answers.get(e.request.id, {})]
    ]


def as_unfolded(graph: ControllableGraph, walk: Walk) -> list[tuple[str, Any, Any]]:
    path: list[Any] = [(None, graph.states[0])]
    path += [(stride.act, graph.states[stride.target]) for stride in walk]
    return told(unfold(graph.worlds, path).events)


@pytest.mark.parametrize("cast", COVER_SCOPES, ids=lambda cast: cast.name)
def test_a_plan_is_answered_as_its_walk_says(pairs: CoverSuite, cast: Any) -> None:
    (suite,) = [made for known, made in pairs.scopes if known is cast]
    before = [len(made.walks) for known, made in pairs.scopes]
    begin = sum(before[: [known for known, _ in pairs.scopes].index(cast)])
    entries = pairs.entries[begin : begin + len(suite.walks)]

    for walk, result in zip(suite.walks, results(entries, KAFKA_4, KAFKA_4), strict=True):
        assert result.recording is not None
        assert told(result.recording.history) == as_unfolded(suite.graph, walk)


def test_a_plan_survives_being_written_down(pairs: CoverSuite) -> None:
    for entry in pairs.entries:
        case = entry.case(LEVELS, delayed=False)
        assert read_plan(json.loads(json.dumps(plan_json(case)))) == case


def test_nobody_is_named_by_an_id_in_a_plan(pairs: CoverSuite) -> None:
    strangers = {
        step.fields["member_id"]
        for entry in pairs.entries
        for step in entry.case(LEVELS, delayed=False).steps
        if isinstance(step, Request) and isinstance(step.fields.get("member_id"), str)
    }
    assert strangers == {"", "strange"}


def test_a_case_says_what_it_needs(cover: CoverSuite) -> None:
    for entry in cover.entries:
        steps = entry.case(LEVELS, delayed=False).steps
        cuts = any(isinstance(step, Disconnect) for step in steps)
        assert entry.needs.features == frozenset({"disconnect"} if cuts else ())


# The consumer protocol.


@pytest.fixture(scope="module")
def consumer() -> Mapping[str, CoverSuite]:
    return {name: generate_suite(name, CONSUMER_4_4) for name in ("cover", "pairs")}


@pytest.mark.parametrize("suite", ["cover", "pairs"])
def test_a_revision_of_the_consumer_protocol_passes_its_suite(
    consumer: Mapping[str, CoverSuite], suite: str
) -> None:
    some = consumer[suite].entries[:: 2 * EVERY[suite]]
    assert {r.outcome for r in results(some, CONSUMER_4_4, CONSUMER_4_4)} == {Outcome.PASS}


def test_a_client_that_lost_an_answer_says_what_it_knew_before(
    consumer: Mapping[str, CoverSuite],
) -> None:
    epochs = {
        step.fields["member_epoch"].back
        for entry in consumer["pairs"].entries
        for step in entry.case(LEVELS, delayed=False).steps
        if isinstance(step, Request) and isinstance(step.fields.get("member_epoch"), EpochOf)
    }
    assert {0, 1} <= epochs


def test_settings_are_those_of_the_scope(consumer: Mapping[str, CoverSuite]) -> None:
    for entry in consumer["pairs"].entries:
        steps = entry.case(LEVELS, delayed=False).steps
        has_time = any(isinstance(step, Pause) for step in steps)
        assert SESSION_TIMEOUT in entry.settings or not has_time
        assert ("room for two" in entry.about) == (entry.needs.config == {MAX_SIZE: 2})


@pytest.mark.parametrize("name", ["cg-join-takes-over", "cg-size-unchecked"])
@pytest.mark.parametrize("suite", ["cover", "pairs"])
def test_a_broken_model_of_the_consumer_protocol_is_caught(
    consumer: Mapping[str, CoverSuite], suite: str, name: str
) -> None:
    liar = find_mutant(name).revision
    assert first_violation(consumer[suite].entries, liar, CONSUMER_4_4) is not None


# Ids.


def test_ids_say_what_is_done_and_not_where_it_stands(cover: CoverSuite, pairs: CoverSuite) -> None:
    ids = [entry.id for suite in (cover, pairs) for entry in suite.entries]

    assert len(set(ids)) == len(ids)
    assert all(ID.fullmatch(name) for name in ids)
    digest = hashlib.sha256(b"zombies stranger:A1").hexdigest()[:10]
    assert f"cover/{digest}-JOIN-GROUP-ABSENT" in ids


# Liars.


def answers_otherwise(rule_id: str, error: Error) -> Revision:
    (table,) = [table for table, rule in KAFKA_4.rules() if rule.id == rule_id]
    (rule,) = [rule for _, rule in KAFKA_4.rules() if rule.id == rule_id]
    change = SetRule(table.name, rule.but(answer=error), "a lie")
    return derive(KAFKA_4, "liar", f"{rule_id} answers {error.name}", (change,))


@pytest.mark.parametrize(
    "name",
    [
        "librdkafka-mock-never-fences",  # two live members of one instance
        "kafka-9752",  # a session timer is lost
        "zombie-join-takes-over",
    ],
)
@pytest.mark.parametrize("suite", ["cover", "pairs"])
def test_a_broken_model_is_caught(suite: str, name: str) -> None:
    found = first_violation(generate_suite(suite, KAFKA_4).entries, find_mutant(name).revision)

    assert found is not None
    assert found.message


def test_a_wrong_answer_of_a_rare_rule_is_caught(cover: CoverSuite) -> None:
    rule_id = "SYNC-ILLEGAL-GENERATION"
    rare = [entry for entry in cover.entries if rule_id in entry.rules]
    liar = answers_otherwise(rule_id, Error.FENCED_INSTANCE_ID)

    assert 0 < len(rare) < len(cover.entries) / 20
    assert first_violation(rare, liar) is not None


# The command line.


Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """`fencepost` in this process, since a suite is made once for each."""

    def ran(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main([*arguments])
        return int(ended.value.code or 0), capsys.readouterr().out

    return ran


def test_the_adapter_holds(run: Run, tmp_path: Path) -> None:
    some = ("--suite", "cover", "--case", "cover/00*", "--report", str(tmp_path))
    code, out = run("certify", ADAPTER, *some)
    document = json.loads((tmp_path / "certificate.json").read_text())

    assert code == 0, out
    assert "lower bound" in out.splitlines()[0]
    assert document["verdict"] == Overall.HOLDS.value
    assert document["certified"] is False
    assert document["suite"]["name"] == "cover"
    assert document["suite"]["lower_bound"] <= document["suite"]["steps"]


def test_a_violated_suite_leaves_traces_that_can_be_played_again(run: Run, tmp_path: Path) -> None:
    target = "mutant:librdkafka-mock-never-fences"
    some = ("--suite", "pairs", "--case", "pairs/[0-3]*")
    code, out = run("certify", target, *some, "--json", "--report", str(tmp_path))
    document = json.loads(out)
    failed = [case for case in document["cases"] if case["outcome"] == "fail"]
    trace = str(tmp_path / failed[0]["trace"])

    assert code == 1
    assert document["suite"]["name"] == "pairs"
    assert 'name="pairs MUST"' in (tmp_path / "junit.xml").read_text()
    assert run("replay", trace, target)[0] == 0
    assert run("replay", trace, "model")[0] == 1


def test_a_failure_of_a_suite_can_be_known(run: Run, tmp_path: Path) -> None:
    target = "mutant:librdkafka-mock-never-fences"
    some = ("--suite", "pairs", "--case", "pairs/[0-3]*", "--json")
    document = drafted_list(json.loads(run("certify", target, *some)[1]), target)
    listed = tmp_path / "known.json"
    listed.write_text(json.dumps(document))

    assert run("certify", target, *some, "--known-failures", str(listed))[0] == 0


def test_suites_are_listed_and_explained(run: Run, pairs: CoverSuite) -> None:
    name = pairs.entries[0].id
    listed = run("cases", "--suite", "pairs", "--json")[1]
    assert [case["id"] for case in json.loads(listed)] == [e.id for e in pairs.entries]
    assert "ratio" in run("cases", "--suite", "pairs", name)[1]
    assert "JoinGroup" in run("explain", name)[1]
    assert run("cases", "--suite", "cover", "JOIN-*")[0] == 64
    assert run("certify", "model", "--suite", "no-such")[0] == 64


def test_the_catalogue_has_no_figures() -> None:
    suite = find_suite(CATALOGUE, KAFKA_4)
    assert (suite.figures, suite.heading) == ({}, ())
