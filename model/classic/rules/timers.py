"""Rules of events without a request: timeouts, phases, failover, deletion of topics, cleanup."""

from __future__ import annotations

from fencepost.model.classic.cells import (
    ABSENT,
    COMPLETING,
    DEAD,
    PREPARING,
    STABLE,
    WITH_MEMBERS,
    when,
)
from fencepost.model.classic.effects import Do
from fencepost.model.classic.rules import rule_sources as src
from fencepost.model.classic.vocabulary import (
    CONSUMERS,
    DELAY,
    LATE,
    LEFT,
    PARKED,
    STATE,
    STORED,
    SUBJECT,
    SUBSCRIBED,
    SYNCING_STATE,
    TRIGGER,
    Delay,
    GroupState,
    Left,
    Parked,
    Stored,
    Subject,
    Trigger,
)
from fencepost.model.table.expr import ALWAYS, all_of, negate
from fencepost.model.table.table import Level, Rule, Table

SESSION = Table(
    "session timeout",
    (STATE, SUBJECT),
    (),
    (
        Rule(
            "SESSION-PENDING",
            when(subject=Subject.PENDING),
            (Do.REMOVE_PENDING,),
            source=src.KIP_394,
            because="a pending id that isn't used within its session timeout is dropped",
        ),
        Rule(
            "SESSION-WAITING",
            when(subject=Subject.WAITING),
            source=src.KAFKA_TIMERS,
            because="a member with a parked request can't send heartbeats, and counts as alive",
        ),
        Rule(
            "SESSION-EXPIRED",
            when(subject=Subject.IDLE, state=(COMPLETING, STABLE)),
            (Do.REMOVE_MEMBER, Do.REBALANCE),
            source=src.KIP_ROLLING,
            because="a member that is silent for its session timeout is removed, static or not",
        ),
        Rule(
            "SESSION-EXPIRED-PREPARING",
            when(subject=Subject.IDLE, state=PREPARING),
            (Do.REMOVE_MEMBER,),
            source=src.KIP_ROLLING,
            because="a member that is silent for its session timeout is removed, static or not",
        ),
        Rule(
            "SESSION-EXPIRED-NEW",
            when(subject=Subject.NEW),
            (Do.REMOVE_MEMBER,),
            level=Level.MAY,
            source=src.KAFKA_TIMERS,
            because="a member whose first join is not answered within five minutes is removed",
        ),
    ),
)

_ANYBODY = (Parked.SOME, Parked.ALL)
_OVER = (Delay.NONE, Delay.LAST)
JOIN_PHASE = Table(
    "join phase",
    (TRIGGER, DELAY, PARKED, LEFT),
    (),
    (
        Rule(
            "JOIN-PHASE-WAIT",
            all_of(when(trigger=Trigger.CHECK), negate(when(delay=Delay.NONE, parked=Parked.ALL))),
            source=f"{src.KIP_BACKGROUND}; {src.KIP_134}",
            because="the join phase waits for all members, or for the initial delay",
        ),
        Rule(
            "JOIN-PHASE-ALL-JOINED",
            when(trigger=Trigger.CHECK, delay=Delay.NONE, parked=Parked.ALL, left=Left.SOMEBODY),
            (Do.COMPLETE_JOIN, Do.START_SYNC_TIMER),
            source=src.KIP_BACKGROUND,
            because="all members have joined, and no id is pending",
        ),
        Rule(
            "JOIN-PHASE-ALL-LEFT",
            when(trigger=Trigger.CHECK, delay=Delay.NONE, parked=Parked.ALL, left=Left.NOBODY),
            (Do.BECOME_EMPTY,),
            source=src.KAFKA_TIMERS,
            because="no member is left, and no id is pending",
        ),
        Rule(
            "JOIN-PHASE-DELAY-EXTENDED",
            when(trigger=Trigger.EXPIRY, delay=Delay.EXTENDABLE),
            (Do.EXTEND_DELAY,),
            level=Level.SHOULD,
            source=src.KIP_134,
            because="a new member joined during the initial delay, so more may follow",
        ),
        Rule(
            "JOIN-PHASE-DELAY-OVER",
            when(trigger=Trigger.EXPIRY, delay=Delay.LAST, left=Left.SOMEBODY, parked=_ANYBODY),
            (Do.REMOVE_ABSENT_DYNAMIC, Do.COMPLETE_JOIN, Do.START_SYNC_TIMER),
            source=src.KIP_134,
            because=(
                "no initial delay is left, and the members that joined make the first generation"
            ),
        ),
        Rule(
            "JOIN-PHASE-EXPIRED",
            when(trigger=Trigger.EXPIRY, delay=Delay.NONE, left=Left.SOMEBODY, parked=_ANYBODY),
            (Do.REMOVE_ABSENT_DYNAMIC, Do.COMPLETE_JOIN, Do.START_SYNC_TIMER),
            source=src.KIP_ROLLING,
            because="the rebalance timeout is over, and only absent dynamic members are removed",
        ),
        Rule(
            "JOIN-PHASE-POSTPONED",
            when(trigger=Trigger.EXPIRY, delay=_OVER, left=Left.SOMEBODY, parked=Parked.NOBODY),
            (Do.REMOVE_ABSENT_DYNAMIC, Do.POSTPONE),
            source=f"{src.KIP_ROLLING}; {src.KAFKA_TIMERS}",
            because="only absent static members are left, so the wait goes on",
        ),
        Rule(
            "JOIN-PHASE-NOBODY-JOINED",
            when(trigger=Trigger.EXPIRY, delay=_OVER, left=Left.NOBODY),
            (Do.REMOVE_ABSENT_DYNAMIC, Do.BECOME_EMPTY),
            source=src.KAFKA_TIMERS,
            because="no member joined within the rebalance timeout, and no static member is left",
        ),
    ),
)

SYNC_PHASE = Table(
    "sync phase",
    (SYNCING_STATE, LATE),
    (),
    (
        Rule(
            "SYNC-PHASE-EXPIRED",
            ALWAYS,
            (Do.REMOVE_UNSYNCED, Do.REBALANCE),
            source=src.KAFKA_12890,
            because="a member that gets the generation and never syncs would block the group",
        ),
    ),
)

FAILOVER = Table(
    "failover",
    (STORED,),
    (),
    (
        Rule(
            "FAILOVER-LOST",
            when(stored=Stored.NOTHING),
            (Do.FORGET,),
            source=src.KIP_FAULT,
            because="a group that was never stored is lost in a failover",
        ),
        Rule(
            "FAILOVER-OFFSETS",
            when(stored=Stored.OFFSETS),
            (Do.RELOAD,),
            source=src.KAFKA_FAILOVER,
            because="offsets are stored even if no member is",
        ),
        Rule(
            "FAILOVER-EMPTY",
            when(stored=Stored.EMPTY),
            (Do.RELOAD,),
            source=src.KAFKA_FAILOVER,
            because="the new coordinator loads the group as it was stored",
        ),
        Rule(
            "FAILOVER-STABLE",
            when(stored=Stored.STABLE),
            (Do.RELOAD,),
            source=src.KIP_FAULT,
            because="the new coordinator loads members and their instances as they were stored",
        ),
    ),
)

TOPICS_DELETED = Table(
    "topics deleted",
    (),
    (),
    (
        Rule(
            "TOPICS-DELETED",
            ALWAYS,
            (Do.REMOVE_OFFSETS,),
            level=Level.SHOULD,
            source=src.KAFKA_DELETION,
            because=(
                "a new topic of the same name starts at offset 0, so an old offset would skip "
                "records"
            ),
        ),
    ),
)
"""Effect of the deletion of topics; a group that is unused then may be cleaned up."""

OPERATED_TABLES = (TOPICS_DELETED,)
"""Tables of an operator's actions."""

CLEANUP = Table(
    "cleanup",
    (),
    (),
    (
        Rule(
            "CLEANUP-UNUSED",
            ALWAYS,
            (Do.FORGET,),
            level=Level.MAY,
            source=src.KAFKA_CLEANUP,
            because="the cleaner removes an Empty group without offsets, with its pending ids",
        ),
    ),
)
"""Effect of the cleaner on an unused group: see `Machine.cleaned`."""

RETENTION = Table(
    "offset retention",
    (STATE, CONSUMERS, SUBSCRIBED),
    (
        Rule(
            "RETENTION-NO-GROUP",
            when(state=(ABSENT, DEAD)),
            level=Level.SHOULD,
            source=src.KAFKA_RETENTION,
            because="a group that doesn't exist has no offsets",
            defensive="a group that doesn't exist has no offsets",
        ),
        Rule(
            "RETENTION-TYPE",
            when(state=WITH_MEMBERS, consumers=False),
            level=Level.SHOULD,
            source=src.KAFKA_RETENTION,
            because="the coordinator can't read the subscriptions of another protocol type",
        ),
    ),
    (
        Rule(
            "RETENTION-EMPTY",
            when(state=GroupState.EMPTY),
            (Do.REMOVE_EXPIRED_OFFSETS,),
            level=Level.MAY,
            source=src.KAFKA_RETENTION,
            because="the group has no members, so offsets are removed after their retention",
        ),
        Rule(
            "RETENTION-REBALANCING",
            when(state=(PREPARING, COMPLETING), consumers=True),
            level=Level.SHOULD,
            source=f"{src.KAFKA_RETENTION}; {src.KAFKA_13636}",
            because="a rebalancing group has no known subscription, so its offsets stay",
        ),
        Rule(
            "RETENTION-SUBSCRIBED",
            when(state=STABLE, subscribed=True),
            level=Level.SHOULD,
            source=src.KAFKA_RETENTION,
            because="a member, present or absent, subscribes to the topic, so its offsets stay",
        ),
        Rule(
            "RETENTION-UNSUBSCRIBED",
            when(state=STABLE, consumers=True, subscribed=False),
            (Do.REMOVE_EXPIRED_OFFSETS,),
            level=Level.MAY,
            source=src.KAFKA_RETENTION,
            because=(
                "no member subscribes to the topic, so its offsets are removed after their "
                "retention"
            ),
        ),
    ),
)
"""Effect of the cleaner on offsets whose own retention (OffsetCommit versions 2 to 4) is over."""
