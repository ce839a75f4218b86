"""Revisions are told apart where they differ, by the shortest sequence, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from support import command

from fencepost.model.classic.effects import Do
from fencepost.model.coordinator import Config
from fencepost.model.history.events import Answered
from fencepost.model.messages.errors import Error
from fencepost.model.revision import DropRule, Revision, SetRule, derive
from fencepost.model.revisions import revisions
from fencepost.properties.diff.revision_diff import Comparison, Difference, compare_revisions
from fencepost.properties.oracle.oracle import judge
from fencepost.properties.worlds.concretise import Run, unfold
from fencepost.properties.worlds.scope import DIFF_SCOPES, ActKind, NamedScope, Scope
from fencepost.properties.worlds.world import Act, World, Worlds

KAFKA_4 = revisions.find("kafka-4")
NO_DELAY: Config = {"group.initial.rebalance.delay.ms": 0}


def bounds(scope: Scope, max_depth: int | None = None) -> NamedScope:
    """For one test."""
    return NamedScope("one", "for one test", scope, max_depth)


TWO = bounds(
    Scope(clients=2, members=2, acts=("join", "stranger", "sync", "heartbeat", "leave", "restart"))
)
ALONE = bounds(Scope(clients=1, members=1, acts=("join", "sync", "heartbeat", "tick")))
FAIL_OVER = next(s for s in DIFF_SCOPES if s.name == "failover")


def answering(rule_id: str, error: Error) -> Revision:
    table = next(table.name for table, rule in KAFKA_4.rules() if rule.id == rule_id)
    rule = KAFKA_4.rule(rule_id).but(answer=error)
    return derive(KAFKA_4, f"other {rule_id}", "one answer", (SetRule(table, rule, "made up"),))


def without(rule_id: str) -> Revision:
    """A revision in which a rule does nothing to the group."""
    table = next(table.name for table, rule in KAFKA_4.rules() if rule.id == rule_id)
    rule = KAFKA_4.rule(rule_id).but(effect=())
    return derive(KAFKA_4, f"idle {rule_id}", "one effect", (SetRule(table, rule, "made up"),))


def runs(difference: Difference) -> Iterator[Run]:
    for telling in (difference.first, difference.other):
        yield unfold(telling.worlds, telling.path)


def holds(revision: Revision, run: Run) -> bool:
    verdict = judge(revision, NO_DELAY, list(run.events), lag_ms=0).verdict()
    assert verdict.unknown is None
    return verdict.violation is None


def acts(difference: Difference) -> list[tuple[str, int]]:
    return [(act.kind, act.client) for act, _ in difference.first.path if act is not None]


@pytest.mark.parametrize(
    "name", ["kafka-4", "kip-345", "comment-table-2", "tuple-list-leave-draft"]
)
def test_a_revision_is_like_itself_and_all_of_it_is_compared(name: str) -> None:
    revision = revisions.find(name)

    found = compare_revisions(revision, revision, [TWO, ALONE, FAIL_OVER])

    assert found.same
    assert found.complete
    assert (found.differing, found.differences, found.unsaid) == ((), (), ())
    assert all(e.pairs > 10 for e in found.explored)


@pytest.mark.parametrize(
    ("rule_id", "error", "steps"),
    [
        ("JOIN-GROUP-ABSENT", Error.FENCED_INSTANCE_ID, 1),
        ("JOIN-INSTANCE-FENCED", Error.UNKNOWN_MEMBER_ID, 2),
        ("HEARTBEAT-COMPLETING", Error.REBALANCE_IN_PROGRESS, 2),
        ("HEARTBEAT-STABLE", Error.REBALANCE_IN_PROGRESS, 3),
        ("HEARTBEAT-INSTANCE-FENCED", Error.UNKNOWN_MEMBER_ID, 3),
        ("SYNC-INSTANCE-FENCED", Error.UNKNOWN_MEMBER_ID, 3),
    ],
)
def test_one_other_answer_is_found_and_put_down_to_its_rule(
    rule_id: str, error: Error, steps: int
) -> None:
    found = compare_revisions(KAFKA_4, answering(rule_id, error), [TWO])

    (difference,) = found.differences
    assert difference.decided == (rule_id, rule_id)
    assert found.differing == difference.rules == (rule_id,)
    assert difference.direct
    assert difference.steps == steps
    assert rule_id in difference.first.rules
    assert rule_id in difference.other.rules


def test_an_effect_that_is_missing_shows_later_and_is_put_down_to_its_rule() -> None:
    found = compare_revisions(KAFKA_4, without("SYNC-PHASE-EXPIRED"), [ALONE])

    assert found.differences
    for difference in found.differences:
        assert not difference.direct
        assert (difference.rules, difference.after) == ((), ("SYNC-PHASE-EXPIRED",))
        assert "SYNC-PHASE-EXPIRED" not in difference.first.rules


def test_rules_that_have_nothing_to_do_with_it_are_not_named() -> None:
    """Every join differs in both, by an echo that no client sees; only the heartbeat shows."""
    joins = [
        SetRule("JoinGroup", rule.but(effect=(*rule.effect, Do.RESTART_SESSION)), "made up")
        for rule in map(KAFKA_4.rule, ("JOIN-STATIC-EMPTY-NEW", "JOIN-MEMBER-COMPLETING-SAME"))
    ]
    told = KAFKA_4.rule("HEARTBEAT-COMPLETING").but(answer=Error.REBALANCE_IN_PROGRESS)
    other = derive(KAFKA_4, "other", "both", (*joins, SetRule("Heartbeat", told, "made up")))

    found = compare_revisions(KAFKA_4, other, [bounds(Scope(clients=1, members=1))])

    decided = {d.decided: d for d in found.differences}
    heartbeat = decided["HEARTBEAT-COMPLETING", "HEARTBEAT-COMPLETING"]
    assert (heartbeat.rules, heartbeat.after) == (("HEARTBEAT-COMPLETING",), ())
    assert "JOIN-STATIC-EMPTY-NEW" in found.alike


def test_each_pair_of_rules_is_listed_once_with_its_shortest_run() -> None:
    found = compare_revisions(revisions.find("kip-345"), KAFKA_4, [ALONE])

    pairs = [d.decided for d in found.differences]
    assert len(set(pairs)) == len(pairs)
    by_rule = {d.decided: (d.steps, d.after) for d in found.differences}
    removed = ("SYNC-PHASE-STATIC", "SYNC-PHASE-EXPIRED")
    assert by_rule["HEARTBEAT-COMPLETING", "HEARTBEAT-INSTANCE-UNMAPPED"] == (7, removed)
    assert by_rule["SYNC-COMPLETING-LEADER", "SYNC-INSTANCE-UNMAPPED"] == (7, removed)


def test_what_nothing_shows_is_said() -> None:
    found = compare_revisions(KAFKA_4, answering("JOIN-INSTANCE-FENCED", Error.NONE), [ALONE])

    assert found.same
    assert found.complete
    assert found.alike == ("JOIN-INSTANCE-FENCED",)


def test_what_was_not_compared_is_said() -> None:
    found = compare_revisions(KAFKA_4, KAFKA_4, [bounds(TWO.scope, 3)])

    assert found.same
    assert not found.complete
    assert found.explored[0].depth == 3


def observed(worlds: Worlds, kinds: tuple[tuple[str, int], ...]) -> set[tuple[object, ...]]:
    """All that clients can see of a sequence of acts, ids by the order of their handing out."""
    (start,) = worlds.initial()
    paths: list[list[tuple[Act | None, World]]] = [[(None, start)]]
    for kind in kinds:
        paths = [
            [*path, (act, world)]
            for path in paths
            for act, world in worlds.successors(path[-1][1])
            if (act.kind, act.client) == kind
        ]
    found: set[tuple[object, ...]] = set()
    for path in paths:
        events = unfold(worlds, path).events
        found.add(tuple(repr(e.answer) for e in events if isinstance(e, Answered)))
    return found


@pytest.mark.parametrize("other", ["kip-345", "comment-table-1", "comment-table-2"])
def test_no_shorter_sequence_has_other_answers(other: str) -> None:
    """Every sequence of acts, one step shorter than what was found, is tried by itself."""
    kinds: tuple[ActKind, ...] = ("join", "sync", "restart")
    scope = Scope(clients=2, members=2, acts=kinds, fold=False)
    found = compare_revisions(KAFKA_4, revisions.find(other), [bounds(scope)])
    models = [Worlds(revision, scope) for revision in (found.first, found.other)]
    everything = tuple(product(kinds, (0, 1)))

    if not found.differences:
        assert found.complete
        return
    shortest = found.differences[0]
    for steps in range(shortest.steps):
        for sequence in product(everything, repeat=steps):
            assert observed(models[0], sequence) == observed(models[1], sequence), sequence
    last = tuple(acts(shortest))
    assert observed(models[0], last) != observed(models[1], last)


@pytest.fixture(scope="module")
def first_table() -> Comparison:
    return compare_revisions(revisions.find("comment-table-1"), revisions.find("kip-345"))


def test_the_first_comment_table_has_two_consumers_on_one_id(first_table: Comparison) -> None:
    """An unknown id is refused; the empty id is told the stored one; and that is accepted."""
    difference = next(d for d in first_table.differences if "JOIN-UNKNOWN-INSTANCE" in d.rules)

    assert acts(difference) == [("join", 0), ("stranger", 1)]
    assert [(act.kind, act.client) for act, _ in difference.first.sequel if act] == [
        ("join", 1),
        ("join", 1),
    ]
    assert not difference.other.sequel
    first, second = difference.first.whole[-1][1].clients
    assert first.member_id == second.member_id != ""
    assert first.generation == second.generation >= 0
    whole = unfold(difference.first.worlds, difference.first.whole)
    assert [turn.rules[0] for turn in whole.turns][1:] == [
        "JOIN-UNKNOWN-INSTANCE",
        "JOIN-STATIC-EMPTY-MAPPED",
        "JOIN-KNOWN-INSTANCE",
    ]


def test_each_run_is_its_own_revisions_and_not_the_others(first_table: Comparison) -> None:
    for difference in first_table.differences:
        one, other = runs(difference)
        assert holds(first_table.first, one)
        assert holds(first_table.other, other)
        assert not holds(first_table.other, one), difference.rules
        assert not holds(first_table.first, other), difference.rules


def test_answers_of_drafts_are_compared_by_what_they_mean() -> None:
    one, other = (revisions.find(f"{form}-list-leave-draft") for form in ("two", "tuple"))
    scope = Scope(clients=2, members=2, acts=("join", "sync", "leave", "remove"))

    found = compare_revisions(one, other, [bounds(scope)])

    assert found.same
    assert found.complete


def test_what_cannot_be_said_is_reported_once_for_each_api() -> None:
    scope = Scope(clients=2, members=2, acts=("join", "leave", "remove"))

    found = compare_revisions(
        revisions.find("kafka-2.3"),
        revisions.find("kafka-2.4"),
        [bounds(scope, 2), bounds(scope, 1)],
    )

    (loss,) = found.unsaid
    assert (loss.revision, loss.api) == ("kafka-2.3", "LeaveGroup")
    assert (loss.acts, loss.lost) == (("leave", "remove"), ("remove",))
    assert not found.same


def test_a_dropped_rule_differs() -> None:
    dropped = derive(
        KAFKA_4, "less", "one less", (DropRule("JoinGroup", "JOIN-GROUP-FULL", "made up"),)
    )

    assert compare_revisions(KAFKA_4, dropped, [bounds(ALONE.scope, 1)]).differing == (
        "JOIN-GROUP-FULL",
    )


def test_what_clients_remember_otherwise_is_not_compared_beyond() -> None:
    """A refused leave takes the id away in a draft's form, not in the rows of the shipped one."""
    one, other = (revisions.find(name) for name in ("tuple-list-leave-draft", "kip-345"))
    scope = Scope(clients=1, dynamic=1, acts=("join", "leave"))

    found = compare_revisions(one, other, [bounds(scope)])

    assert found.explored[0].cut
    assert not found.complete
    assert found.same


def test_a_client_may_come_with_an_id_of_old() -> None:
    """The second table lets a consumer that was removed drive out its successor."""
    scope = Scope(clients=2, zombies=1, members=1, acts=("join",))

    found = compare_revisions(KAFKA_4, revisions.find("comment-table-2"), [bounds(scope)])

    first = next(d for d in found.differences if "JOIN-UNKNOWN-MAPPED" in d.rules)
    assert acts(first) == [("join", 0), ("join", 1)]
    assert all(
        holds(r, run) for r, run in zip((found.first, found.other), runs(first), strict=True)
    )
    assert compare_revisions(KAFKA_4, KAFKA_4, [bounds(scope)]).complete


def test_many_worlds_may_explain_the_same_answers() -> None:
    """Whether a sync restarts the session is left open: what either does, the other may do."""
    maybe = KAFKA_4.rule("SYNC-STABLE")
    never = maybe.but(effect=tuple(do for do in maybe.effect if do is not Do.MAYBE_RESTART_SESSION))
    table = SetRule("SyncGroup", never, "made up")
    strict = derive(KAFKA_4, "strict", "a sync restarts nothing", (table,))

    found = compare_revisions(KAFKA_4, strict, [ALONE])

    difference = found.differences[0]
    one, other = runs(difference)
    assert {(d.after, d.direct) for d in found.differences} == {(("SYNC-STABLE",), False)}
    assert holds(KAFKA_4, one)
    assert not holds(strict, one) or not holds(KAFKA_4, other)
    assert holds(strict, other)


def printed_difference(hash_seed: int) -> str:
    """Return the runs that `diff` prints in a process with this order of sets."""
    acts = [part for act in ("join", "swap", "release") for part in ("--act", act)]
    revisions = ["consumer-4.3", "kip-848", "--instances", "2"]
    return command.run("diff", *revisions, *acts, hash_seed=hash_seed).out


def test_an_open_target_has_the_same_example_in_each_process() -> None:
    first = printed_difference(0)
    assert "CG-JOIN-TARGET-LOST" in first
    assert printed_difference(2) == first
