"""The oracle follows the consumer protocol: an open target, batches, epochs, other revisions."""

from __future__ import annotations

from dataclasses import replace as with_fields
from typing import Any

import msgspec
import pytest
from support.consumer_cases import BASE, play
from support.consumer_histories import RandomRun

from fencepost.conformance.cases.consumer.consumer_script import ConsumerScript
from fencepost.model.consumer import perform
from fencepost.model.consumer.consumer_work import ConsumerWork
from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.group import ConsumerGroup
from fencepost.model.consumer.open_targets import decided, with_open_target, with_share_of
from fencepost.model.consumer.perform import caller
from fencepost.model.consumer.topics import TooManyTargetsError
from fencepost.model.history.events import TopicsDeleted
from fencepost.model.messages.consumer_messages import DescribedTopic
from fencepost.model.revisions import revisions
from fencepost.model.work import Effect
from fencepost.properties.oracle.candidate import Candidate
from fencepost.properties.oracle.fingerprint import broken_rule

MOST = 300
"""Candidates for four partitions and three members; 81 targets, and what others still have."""


@pytest.mark.parametrize("interval_ms", [0, 1000])
@pytest.mark.parametrize("seed", range(4))
def test_a_random_run_of_the_model_is_explained(seed: int, interval_ms: int) -> None:
    run = RandomRun("consumer-4.3", "consumer-4.3", seed, interval_ms=interval_ms)
    run.go(40)
    verdict = run.oracle.verdict()
    assert verdict.violation is None
    assert verdict.unknown is None
    assert 1 < run.most <= MOST


@pytest.mark.parametrize(
    ("target", "rule"),
    [
        ("consumer-4.0", "CG-JOIN-REJOIN"),
        ("consumer-4.2", "CG-DESCRIBE-GROUP"),
        ("consumer-4.4", "CG-JOIN-UNRELEASED"),
        ("pr-23542", "CG-JOIN-AGAIN-UNRELEASED"),
    ],
)
def test_another_revision_is_caught_by_a_rule_that_differs(target: str, rule: str) -> None:
    broken = (_broken(RandomRun(target, "consumer-4.3", seed)) for seed in range(12))
    assert rule in broken


def explained_in(revision: str, seed: int) -> list[frozenset[Candidate]]:
    """Return the candidates after each step of a random run of the model."""
    run = RandomRun(revision, revision, seed)
    after = []
    for _ in range(25):
        run.go(1)
        after.append(frozenset(run.oracle.explanations()))
    return after


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("revision", ["consumer-4.0", "consumer-4.3"])
def test_shares_that_an_answer_excludes_make_no_difference(
    revision: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All shares of a member are followed, or those alone that lead to the observed assignment."""

    bounded = explained_in(revision, seed)
    monkeypatch.setattr(perform, "_observed_assignment", lambda _: None)
    assert explained_in(revision, seed) == bounded


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("revision", ["consumer-4.0", "consumer-4.3", "consumer-4.4"])
def test_partitions_that_others_own_make_a_difference_together(
    revision: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A share is open where it matters only that the member has to wait: no target gets lost."""

    def targets() -> list[set[ConsumerGroup]]:
        steps = explained_in(revision, seed)
        groups = ([group for c in step for _, group in c.groups] for step in steps)
        return [{each.timeless() for g in step for each in decided(g, None)} for step in groups]

    together = targets()
    monkeypatch.setattr(perform, "_alike", lambda _: frozenset())
    assert targets() == together


def _broken(run: RandomRun) -> str:
    run.go(40)
    violation = run.oracle.verdict().violation
    found = None if violation is None else broken_rule(violation, run.oracle.revision)
    return "" if found is None else found.id


def test_a_lost_partition_is_caught() -> None:
    """An answer without a partition that nobody has is one that no target explains."""
    run = RandomRun("consumer-4.3", "consumer-4.3", 0)
    run.loses_partitions = True
    run.join("m1")
    assert run.oracle.violation is not None
    assert run.oracle.violation.detail == "answered what no run of the model answers"


def test_a_verdict_on_deleted_topics_is_unknown() -> None:
    run = RandomRun("consumer-4.3", "consumer-4.3", 0)
    run.join("m1")
    run.oracle.observe(TopicsDeleted(run.now, ("t",)))
    assert run.oracle.violation is None
    assert run.oracle.unknown == (
        "consumer-4.3 doesn't model deleted topics: leave delete-topics out"
    )


def _three() -> ConsumerGroup:
    run = RandomRun("consumer-4.3", "consumer-4.3", 0)
    for member_id in ("m1", "m2", "m3"):
        run.join(member_id)
    assert run.group is not None
    return run.group


def test_a_share_decides_only_what_is_its_members() -> None:
    group = with_open_target(_three(), lambda _: 2)
    shares = list(with_share_of(group, "m1"))
    assert len(shares) == 4
    assert {len(share.open) for share in shares} == {0, 1, 2}
    assert all("m1" not in ids for share in shares for _, ids in share.open)
    assert len(set(decided(group, None))) == 9
    assert len(list(decided(group, {}))) == 1


def test_a_share_of_partitions_that_are_alike_is_open_beyond_the_first() -> None:
    group = with_open_target(_three(), lambda _: 4)
    shares = list(with_share_of(group, "m1", alike=[p for p, _ in group.open]))
    assert [len(share.target_of("m1")) for share in shares] == [0, 1, 1, 1, 1]
    targets = [target for share in shares for target in decided(share, None)]
    assert len(targets) == len(set(targets)) == 81
    assert list(with_share_of(shares[1], "m1", alike=[p for p, _ in group.open])) == [shares[1]]


def test_an_open_target_has_no_more_choices_than_are_listed() -> None:
    group = with_open_target(_three(), lambda _: 13)
    with pytest.raises(TooManyTargetsError, match="13 partitions"):
        list(with_share_of(group, "m1"))
    with pytest.raises(TooManyTargetsError, match="1,594,323 possible owners"):
        list(decided(group, None))


STORIES = ConsumerScript.registry()


@STORIES.case("CG-DESCRIBE-GROUP")
def target_of_three(s: ConsumerScript) -> None:
    """Nobody has told what the target gives to two of three members."""
    s.join("a", "b")
    s.join("c", topics=("u",))
    s.describe()


@STORIES.case("CG-DELETE-EMPTY")
def group_after_a_deleted_one(s: ConsumerScript) -> None:
    """A group is deleted, and its member joins again."""
    s.join("a", "b")
    s.leave("a", "b")
    s.delete_groups("g")
    s.join("a")


@STORIES.case("CG-JOIN-DYNAMIC-NEW-IDLE")
def newcomer_without_topics(s: ConsumerScript) -> None:
    """A member that subscribes to nothing joins while a target is due."""
    s.join("a", "k")
    s.leave("k")
    s.join("m", topics=())
    s.describe()


TARGET, DELETED, IDLE = STORIES.entries


def _nameless(value: Any) -> Any:
    """Leave the names of topics out of a description."""
    if isinstance(value, DescribedTopic):
        return msgspec.structs.replace(value, topic_name="")
    if isinstance(value, tuple):
        return tuple(map(_nameless, value))
    if isinstance(value, msgspec.Struct):
        fields = {name: _nameless(getattr(value, name)) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **fields)
    return value


def test_a_description_shows_the_target_by_the_ids_of_topics() -> None:
    ran = play(TARGET, with_fields(BASE, distort=_nameless))
    assert ran.verdict is not None
    assert ran.verdict.violation is None


def test_the_epochs_of_a_group_begin_anew_after_its_deletion() -> None:
    """The first epoch of a group is 1 up to 4.2, and 2 from 4.3 on; the difference is a MAY."""
    ran = play(DELETED, revisions.find("consumer-4.2"))
    assert ran.verdict is not None
    assert ran.verdict.violation is None


def _assigns_nothing(own: Effect) -> Effect:
    """Make an empty target where the caller subscribes to nothing."""

    def effect(work: ConsumerWork) -> list[ConsumerWork]:
        works = own(work) or [work]
        for done in works:
            if not caller(done).topics:
                done.group = msgspec.structs.replace(done.group, target=())
        return works

    return effect


def test_a_newcomer_without_topics_may_take_the_target_from_all() -> None:
    ran = play(IDLE, with_fields(BASE, twists={Do.RECOMPUTE_TARGET: _assigns_nothing}))
    assert ran.verdict is not None
    assert ran.verdict.violation is None
