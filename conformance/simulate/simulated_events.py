"""Read the events of a simulated group in the states that its coordinator goes through.

The coordinator states the cause of each rebalance, as one does in `server.log`; it knows each
member and its client.  The one analysis makes rebalances of these events, as it does of a log's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from fencepost.conformance.simulate.consumption import place_of
from fencepost.conformance.simulate.deployment_scenario import GROUP_ID
from fencepost.conformance.simulate.simulation import CoordinatorEvent, SimulatedExchange
from fencepost.model.classic.group import SESSION, Group, Member
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    SyncGroupRequest,
)
from fencepost.model.messages.subscription import (
    TopicPartition,
    decode_subscription,
    subscribed_topics,
)
from fencepost.traces.operations.group_analysis import GroupAnalysis
from fencepost.traces.operations.group_events import (
    Assigned,
    Begun,
    Emptied,
    Fenced,
    GroupEvent,
    Joined,
    Left,
    Loaded,
    Named,
    NameExpired,
    NameReturned,
    Prepared,
    Removed,
    Sender,
)
from fencepost.traces.operations.operator_rows import ADMINISTRATOR, Cause, End, Process, Row
from fencepost.traces.operations.rebalances import CutOffRebalance, JudgedRebalance

HANDOVER = "joins again, since it gave partitions back"

Happening = SimulatedExchange | CoordinatorEvent
_FENCED = Error.FENCED_INSTANCE_ID.value
_OF_MEMBERS = (HeartbeatRequest, JoinGroupRequest, SyncGroupRequest)


class SimulatedEvents:
    """The events of one group."""

    def __init__(self) -> None:
        self._named: dict[str, Process] = {}
        """The processes of member ids that were handed out and are not used yet."""

    def read(
        self, now_ms: int, before: Group, after: Group, about: Happening
    ) -> Iterator[GroupEvent]:
        """Yield what happened to the group, in order."""
        at = (now_ms, now_ms, "")
        came, gone = _came_and_gone(before, after)
        if about is CoordinatorEvent.FAILOVER:
            self._named.clear()
            gone = []  # the broker that loads the group doesn't know them
            yield Loaded(*at)
        elif before.pending != after.pending:
            yield from self._pending(at, before, after, about)
        holders = {i: mid for i, mid in before.static if after.member(mid) is None}
        for member in came:
            replaces = holders.get(member.group_instance_id or "")
            gone = [each for each in gone if each.member_id != replaces]
            yield Joined(
                *at,
                member.member_id,
                member.group_instance_id,
                Sender(_process(member)),
                replaces=replaces,
                session_ms=member.session_timeout_ms,
                rebalance_ms=member.rebalance_timeout_ms,
            )
        for member in gone:
            yield _gone(at, before, member, about)
        if after.state is GroupState.EMPTY:
            if before.state is not GroupState.EMPTY:
                yield Emptied(*at)
            return
        has_ended = after.generation_id > before.generation_id
        is_on = after.state is GroupState.PREPARING
        if before.state is not GroupState.PREPARING and (is_on or has_ended):
            yield _prepared(at, before, about, came, gone)
        if has_ended:
            yield Begun(*at, after.generation_id, len(after.members), names_all=True)
        if after.state is GroupState.STABLE and before.state is not GroupState.STABLE:
            static = len(after.static)
            yield Assigned(*at, after.generation_id, static, len(after.members) - static)

    def answered(self, exchange: SimulatedExchange) -> Iterator[GroupEvent]:
        """Yield what an answer shows beside the group's states: its sender was fenced."""
        request = exchange.request
        if (
            getattr(exchange.answer, "error_code", None) != _FENCED
            or not isinstance(request, _OF_MEMBERS)
            or request.group_instance_id is None
        ):
            return
        process = Process(place_of(exchange.client_id or ""), "")
        yield Fenced(
            round(exchange.at_ms),
            round(exchange.answered_ms or exchange.at_ms),
            "",
            request.group_instance_id,
            request.member_id or getattr(exchange.answer, "member_id", ""),
            Sender(process),
            exchange.api,
            began=not request.member_id,
        )

    def _pending(
        self, at: tuple[int, int, str], before: Group, after: Group, about: Happening
    ) -> Iterator[GroupEvent]:
        """Yield what happened to ids that were handed out."""
        if not isinstance(about, CoordinatorEvent):
            process = Process(place_of(about.client_id or ""), "")
            for member_id in sorted(set(after.pending) - set(before.pending)):
                self._named[member_id] = process
                yield Named(*at, member_id, process)
        for member_id in sorted(set(before.pending) - set(after.pending)):
            process = self._named.pop(member_id, Process("", ""))
            if after.member(member_id) is not None:
                continue
            if about is CoordinatorEvent.TIMER:
                yield NameExpired(*at, member_id, process)
            else:
                yield NameReturned(*at, member_id)


def _came_and_gone(before: Group, after: Group) -> tuple[list[Member], list[Member]]:
    """Return the members that are new, and those that are no longer there, by client."""
    if before.members is after.members:
        return [], []
    old, new = ({each.member_id for each in group.members} for group in (before, after))
    if old == new:
        return [], []
    came = [member for member in after.members if member.member_id not in old]
    gone = [member for member in before.members if member.member_id not in new]
    return came, sorted(gone, key=lambda member: member.client_id)


def _process(member: Member) -> Process:
    return Process(member.client_id, "")


def _gone(at: tuple[int, int, str], before: Group, member: Member, about: Happening) -> GroupEvent:
    if about is CoordinatorEvent.TIMER:
        sessions = (t for t in before.timers if t[:2] == (SESSION, member.member_id))
        is_over = any(timer.latest <= at[0] for timer in sessions)
        end = End.EXPIRED if is_over else End.DROPPED
        return Removed(*at, member.member_id, _process(member), end)
    itself = about is not CoordinatorEvent.REMOVAL
    return Left(
        *at,
        member.member_id,
        member.group_instance_id,
        _process(member) if itself else ADMINISTRATOR,
        itself,
        process=_process(member),
        session_ms=member.session_timeout_ms,
        rebalance_ms=member.rebalance_timeout_ms,
    )


def _prepared(
    at: tuple[int, int, str],
    before: Group,
    about: Happening,
    came: list[Member],
    gone: list[Member],
) -> Prepared:
    """Return the beginning of a rebalance, with its cause."""
    cause, reason = Cause.UNKNOWN, ""
    member = next(iter([*came, *gone]), None)
    if about is CoordinatorEvent.FAILOVER:
        cause = Cause.FAILOVER
    elif about is CoordinatorEvent.TIMER:
        cause = Cause.EXPIRY
    elif about is CoordinatorEvent.REMOVAL or about.api == "LeaveGroup":
        cause = Cause.LEAVE
    elif isinstance(about.request, JoinGroupRequest):
        cause = Cause.NEW_MEMBER
        if (known := _known(before, about.request)) is not None:
            member, (cause, reason) = known, _joined_again(before, known, about.request)
    process = None if member is None else _process(member)
    member_id = "" if member is None else member.member_id
    instance_id = None if member is None else member.group_instance_id
    about_whom = (*at, cause, member_id, instance_id, process)
    return Prepared(*about_whom, reason, "", before.generation_id)


def _joined_again(before: Group, member: Member, message: JoinGroupRequest) -> tuple[Cause, str]:
    """Return the cause that a member's next join is, and the reason."""
    known, offered = member.metadata(before.protocol_name), {p.metadata for p in message.protocols}
    kept = frozenset[TopicPartition]().union(*map(_owned, offered))
    reason = HANDOVER if message.member_id and _owned(known) - kept else ""
    if _topics(known) not in map(_topics, offered):
        return Cause.CHANGED_SUBSCRIPTION, reason
    leads = member.member_id == before.leader and message.member_id
    return Cause.LEADER_REJOIN if leads else Cause.MEMBER_REJOIN, reason


def _topics(metadata: bytes) -> object:
    """Return the topics that a member subscribes to; its metadata, if it is unreadable."""
    try:
        return frozenset(subscribed_topics(metadata))
    except ValueError:
        return metadata


def _owned(metadata: bytes) -> frozenset[TopicPartition]:
    """Return the partitions that a member claims; none, if its metadata is unreadable."""
    try:
        return frozenset(decode_subscription(metadata).owned)
    except ValueError:
        return frozenset()


def _known(group: Group, message: JoinGroupRequest) -> Member | None:
    instance = message.group_instance_id
    holder = None if instance is None else group.holder(instance)
    return group.member(message.member_id or holder or "")


AnyRebalance = JudgedRebalance | CutOffRebalance


class SimulatedStory:
    """The rebalances of a deployment's group, by the one analysis of its events.

    `emit`: gets the other rows.
    """

    def __init__(
        self, groups: Mapping[str, Group], emit: Callable[[Row], None] | None = None
    ) -> None:
        self._groups = groups
        self._events = SimulatedEvents()
        self._rebalances: list[AnyRebalance] = []
        self._analysis = GroupAnalysis(
            GROUP_ID,
            emit or _ignore,
            hears=False,
            since_ms=None,
            on_rebalance=self._rebalances.append,
        )

    def watch(self, now_ms: int, groups: Mapping[str, Group], about: Happening) -> None:
        """Take what happened at the coordinator."""
        before, after = groups.get(GROUP_ID, Group()), self._groups.get(GROUP_ID, Group())
        if before is not after:
            self._take(self._events.read(now_ms, before, after, about))

    def note_answer(self, exchange: SimulatedExchange) -> None:
        """Take an answer."""
        self._take(self._events.answered(exchange))

    def _take(self, events: Iterator[GroupEvent]) -> None:
        for event in events:
            self._analysis.take(event)

    def end(self, now_ms: int) -> list[AnyRebalance]:
        """End the simulation, and return the rebalances in order."""
        self._analysis.end(now_ms)
        return sorted(self._rebalances, key=lambda each: each.start_ms)


def _ignore(row: Row) -> None:
    """Take a row that nobody reads."""
