"""The step function: from a group and what happens to it, to every allowed outcome.

It finds the rule in the table and performs its effects.  Pure: the same arguments give the same
outcomes, in the same order.  Time and new member ids are arguments.  Where the protocol leaves a
choice open (which member leads, say), each choice is an outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from fencepost.model.classic import answer_bodies, features
from fencepost.model.classic import perform as phases
from fencepost.model.classic import perform as storage
from fencepost.model.classic.draft_translation import translate
from fencepost.model.classic.group import CLEANUP, CREATION, JOIN, SESSION, WRITE, Group, Timer
from fencepost.model.classic.perform import effects_with
from fencepost.model.classic.work import Effect, Incoming, Outcome, Span, Work, unchanged
from fencepost.model.coordinator import CONFIG_DEFAULTS, METADATA_LIMIT, Config
from fencepost.model.messages.messages import (
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from fencepost.model.revision import Revision
from fencepost.model.table.effects import Do
from fencepost.model.table.expr import Point
from fencepost.model.table.table import Rule, TableError
from fencepost.model.table.vocabulary import Availability, GroupState, Trigger


def missing_topic(name: str) -> bool:
    """Tell whether a topic doesn't exist: the default, by names that begin with `missing`."""
    return name.startswith("missing")


class Machine:
    """Runs a revision of the protocol with a broker's settings.

    `config`: Kafka's names → values, times in ms; what is left out has Kafka's default.
    `missing`: tells whether a topic doesn't exist, by its name.  `in_two_steps`: a leader's
    assignments, and a replacement in a stable group, are written first; what a rule does from
    `Do.ASSIGN` or `Do.ANSWER_RESTARTED` on is done when a `write` timer expires.  Until then the
    group may change; where assignments are written it is CompletingRebalance.
    """

    def __init__(
        self,
        revision: Revision,
        config: Config | None = None,
        missing: Callable[[str], bool] = missing_topic,
        *,
        in_two_steps: bool = False,
    ) -> None:
        self._in_two_steps = in_two_steps
        self.revision = revision
        self._missing = missing
        self.config: dict[str, int | None] = {**CONFIG_DEFAULTS, **(config or {})}
        self._tables = revision.tables
        self._distort = revision.distort
        self._effects: dict[Do, Effect] = effects_with(self.config, revision.target_size)
        for do, twist in revision.twists.items():
            self._effects[do] = twist(self._effects[do])

    # What can happen to a group.

    def handle(
        self,
        group: Group | None,
        request: Incoming,
        span: Span,
        here: Availability = Availability.HERE,
        group_id: str = "",
    ) -> tuple[Outcome, ...]:
        """Handle a request.

        `group` None: it doesn't exist.  `group_id`: which group this is, where a request may name
        several.  Raises TypeError for a message of no API, TableError where the table is wrong.
        """
        message = request.message
        match message:
            case JoinGroupRequest():
                works = self._join(group, request, message, span, here)
            case SyncGroupRequest():
                points = features.sync_points(group, message, request.version, self.config, here)
                works = self._simple("SyncGroup", points, group, request, span)
            case HeartbeatRequest():
                point = features.member_point(group, message, here)
                works = self._simple("Heartbeat", (point,), group, request, span)
            case LeaveGroupRequest():
                works = self._leave(group, request, message, span, here)
            case OffsetCommitRequest():
                works = self._commit(group, request, message, span, here)
            case OffsetFetchRequest():
                point = (request.version, features.group_id(group_id), here, features.state(group))
                rule = self._tables["OffsetFetch"].decide(point)
                answer = answer_bodies.fetched(group, message, request.version, group_id, rule)
                return self._distorted((unchanged(group, request, answer, rule.id),))
            case DescribeGroupsRequest():
                shown = _shown(group)
                point = (request.version, here, features.state(shown))
                rule = self._tables["DescribeGroups"].decide(point)
                row = answer_bodies.described(shown, group_id, rule)
                return self._distorted((unchanged(group, request, row, rule.id),))
            case ListGroupsRequest():
                shown = _shown(group)
                point = (request.version, here, features.state(shown))
                rule = self._tables["ListGroups"].decide(point)
                rows = answer_bodies.listed(shown, message, group_id, rule)
                return self._distorted((unchanged(group, request, rows, rule.id),))
            case _:
                base, finish = translate(self, group, request)
                found = self.handle(group, base, span, here, group_id) if base else ()
                return finish(found)
        return self._distorted(tuple(work.outcome() for work in works))

    def expire(self, group: Group, timer: Timer, span: Span) -> tuple[Outcome, ...]:
        """Let a timer of the group reach its deadline."""
        work = Work(group.without_timer(timer.kind, timer.subject), span)
        if timer.kind == CREATION:
            return (work.outcome(),)
        if timer.kind == WRITE and timer.subject:
            works = [work]
            if storage.end_restart(work, timer.subject):
                works = self._effects[Do.ANSWER_RESTARTED](work) or works
            return self._distorted(tuple(w.outcome() for w in works))
        if timer.kind == SESSION:
            work.caller = timer.subject
            point = features.session_point(group, timer.subject)
            rule = self._tables["session timeout"].decide(point)
        elif timer.kind == JOIN:
            point = features.join_phase_point(group, Trigger.EXPIRY)
            rule = self._tables["join phase"].decide(point)
        elif timer.kind == CLEANUP:
            rule = self._tables["cleanup"].decide(())
        elif timer.kind == WRITE:
            rule = self._tables["SyncGroup"].decide(features.LEADERS_SYNC)
            rule = rule.but(effect=rule.effect[rule.effect.index(Do.ASSIGN) :])
        else:
            rule = self._tables["sync phase"].decide(features.sync_phase_point(group))
        works = self._perform(work, rule)
        if rule.id not in self.revision.unchecked:
            works = [w for done in works for w in self._settle(done, group)]
        return self._distorted(tuple(w.outcome() for w in works))

    def failover(self, group: Group | None, span: Span) -> tuple[Outcome, ...]:
        """Let another coordinator load what was stored; parked requests get NOT_COORDINATOR."""
        rule = self._tables["failover"].decide((features.stored(group),))
        if group is None:
            return (Outcome(None, (), (rule.id,)),)
        work = Work(group, span)
        work.rule = rule.id
        answer_bodies.send_away(work)
        return self._distorted(tuple(w.outcome() for w in self._perform(work, rule)))

    def delete_topics(
        self, group: Group | None, topics: frozenset[str], span: Span
    ) -> tuple[Outcome, ...]:
        """Let topics be deleted; whether unused groups are cleaned then is open."""
        work = Work(group, span)
        work.deleted = topics
        works = self._perform(work, self._tables["topics deleted"].decide(()))
        if group is not None and _is_unused(works[0].group):
            works += self._perform(works[0].fork(), self._tables["cleanup"].decide(()))
        return self._distorted(tuple(w.outcome() for w in works))

    def may_clean(self, group: Group) -> bool:
        """Tell whether the coordinator may let a `cleanup` timer expire for this group now.

        Where `offsets.retention.check.interval.ms` is None it never does.
        """
        if self.config["offsets.retention.check.interval.ms"] is None:
            return False
        return _is_unused(group)

    def _distorted(self, outcomes: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
        distort = self._distort
        return outcomes if distort is None else answer_bodies.distorted(outcomes, distort)

    # One API each.

    def _join(
        self,
        group: Group | None,
        request: Incoming,
        message: JoinGroupRequest,
        span: Span,
        here: Availability,
    ) -> Iterable[Work]:
        works: list[Work] = []
        if message.group_instance_id == "" and self.revision.empty_instance_is_none:
            message = replace(message, group_instance_id=None)
        for point in features.join_points(
            group,
            message,
            request.version,
            self.config,
            here,
            restart_needs_room=self.revision.restart_needs_room,
        ):
            rule = self._tables["JoinGroup"].decide(point)
            work = Work(group, span, request)
            work.caller, work.instance = message.member_id, message.group_instance_id
            for done in self._perform(work, rule):
                if rule.answer is not None:
                    done.emit(request.id, answer_bodies.join_error(message, rule, done))
                unchecked = rule.id in self.revision.unchecked
                works += [done] if unchecked else self._settle(done, group)
        return works

    def _simple(
        self,
        api: str,
        points: Sequence[Point],
        group: Group | None,
        request: Incoming,
        span: Span,
    ) -> Iterable[Work]:
        works: list[Work] = []
        for point in points:
            rule = self._tables[api].decide(point)
            work = Work(group, span, request)
            work.caller = getattr(request.message, "member_id", "")
            work.instance = getattr(request.message, "group_instance_id", None)
            for done in self._perform(work, rule):
                if rule.answer is not None:
                    done.emit(request.id, answer_bodies.simple(request, rule))
                works.append(done)
        return works

    def _commit(
        self,
        group: Group | None,
        request: Incoming,
        message: OffsetCommitRequest,
        span: Span,
        here: Availability,
    ) -> Iterable[Work]:
        most = self.config[METADATA_LIMIT]
        kept, missing = answer_bodies.split_topics(
            message, lambda name: name in request.deleted or self._missing(name), most
        )
        inner = Incoming(
            request.id, request.client_id, request.api, request.version, kept, request.fresh_id
        )
        works: list[Work] = []
        for point in features.commit_points(
            group, request.version, message, kept, self.config, here
        ):
            rule = self._tables["OffsetCommit"].decide(point)
            work = Work(group, span, inner)
            work.caller, work.instance = message.member_id, message.group_instance_id
            done = self._perform(work, rule)
            stores = Do.STORE_OFFSETS in rule.effect and any(t.partitions for t in kept.topics)
            if rule.effect and not stores and (group is None or not message.topics):
                # Whether a commit that stores nothing makes a group is open: Kafka does both.
                unseen = Work(group, span, inner)
                unseen.decided_by(rule.id)
                done = [*done, unseen]
            for one in done:
                one.emit(request.id, answer_bodies.committed(message, rule, missing, most))
            works += done
        return works

    def _leave(
        self,
        group: Group | None,
        request: Incoming,
        message: LeaveGroupRequest,
        span: Span,
        here: Availability,
    ) -> Iterable[Work]:
        point = (request.version, features.group_id(message.group_id), here, features.state(group))
        rule = self._tables["LeaveGroup"].decide(point)
        rows = message.rows(request.version)
        if group is None or Do.ANSWER_ROWS not in rule.effect:
            answer = answer_bodies.leave_refused(message, rule)
            work = Work(group, span, request)
            work.decided_by(rule.id)
            work.emit(request.id, answer)
            return [work]
        done: dict[Outcome, Work] = {}
        for at_end in (False, True) if len(rows) > 1 else (False,):
            for work in self._leave_rows(group, request, rule, span, at_end=at_end):
                done.setdefault(work.outcome(), work)
        return done.values()

    def _leave_rows(
        self, group: Group, request: Incoming, rule: Rule, span: Span, *, at_end: bool
    ) -> list[Work]:
        """Handle the rows in order; rebalance after each that asks for it, or once at the end."""
        assert isinstance(request.message, LeaveGroupRequest)
        work = Work(group, span, request)
        work.decided_by(rule.id)  # where there are no rows, the request itself decides the answer
        states: list[tuple[Work, tuple[int | str, ...]]] = [(work, ())]
        table = self._tables["LeaveGroup member"]
        wants_rebalance = False
        for row in request.message.rows(request.version):
            after: list[tuple[Work, tuple[int | str, ...]]] = []
            for before, errors in states:
                before.caller = row.member_id
                before.instance = row.group_instance_id
                row_rule = table.decide(
                    features.leaving_point(before.group, row.member_id, row.group_instance_id)
                )
                assert row_rule.answer is not None
                wants_rebalance |= Do.REBALANCE in row_rule.effect
                start = before.group
                for w in self._perform(before, row_rule, skip=Do.REBALANCE if at_end else None):
                    found = (*errors, row_rule.answer.value)
                    after += [(s, found) for s in ([w] if at_end else self._settle(w, start))]
            if len(after) > 1:  # two leaders that leave one after the other, or the other way round
                after = list({(s.outcome(), found): (s, found) for s, found in after}.values())
            states = after
        finished: list[Work] = []
        for w, errors in states:
            if at_end and wants_rebalance:
                self._effects[Do.REBALANCE](w)
            w.rule = w.rules[1] if len(errors) == 1 else rule.id
            w.emit(request.id, answer_bodies.left(request, errors))
            finished += self._settle(w, group) if at_end else [w]
        return finished

    # Carrying out a rule.

    def _perform(self, work: Work, rule: Rule, skip: Do | None = None) -> list[Work]:
        work.rule = rule.id
        work.rules.append(rule.id)
        works = [work]
        for do in rule.effect:
            if do is skip:
                continue
            if do is Do.ASSIGN and self._in_two_steps and work.request is not None:
                for w in works:
                    phases.begin_write(w)
                break
            if do is Do.ANSWER_RESTARTED and self._in_two_steps and Do.PERSIST in rule.effect:
                for w in works:
                    storage.begin_restart(w)
                break
            effect = self._effects[do]
            try:
                if len(works) == 1:
                    works = effect(works[0]) or works
                else:
                    works = [fork for w in works for fork in (effect(w) or [w])]
            except AssertionError as error:
                raise TableError(f'{rule.id}: the step "{do.value}" can\'t be done') from error
        return works

    def _settle(self, work: Work, before: Group | None) -> list[Work]:
        """Complete the join phase, if the change in PreparingRebalance ends it."""
        if work.group.state is not GroupState.PREPARING or work.group is before:
            return [work]
        rule = self._tables["join phase"].decide(
            features.join_phase_point(work.group, Trigger.CHECK)
        )
        return self._perform(work, rule)


def _shown(group: Group | None) -> Group | None:
    """Return the group as who lists or describes groups sees it."""
    return None if group is not None and group.has_timer(CREATION) else group


def _is_unused(group: Group) -> bool:
    return group.state is GroupState.EMPTY and not group.offsets
