"""Read the events of a group in the messages of its coordinator in `server.log`.

A coordinator writes the reason of each rebalance.  It names members by their ids: that of a dynamic
member begins with its client id, that of a static one with its instance id.  Hosts, heartbeats and
answers are not in this log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fencepost.traces.logs.coordinator_messages import MessageKind
from fencepost.traces.logs.server_log import CoordinatorEvent
from fencepost.traces.operations.group_events import (
    Assigned,
    Begun,
    Deleted,
    Emptied,
    Fenced,
    GroupEvent,
    Joined,
    Left,
    Loaded,
    MemberLoaded,
    Named,
    NameExpired,
    NameReturned,
    NameUsed,
    OffsetsDeleted,
    Prepared,
    Removed,
    Sender,
    Unloaded,
)
from fencepost.traces.operations.operator_rows import ADMINISTRATOR, Cause, End, Process

_UUID = re.compile(r"-[A-Za-z0-9_-]{22}$|-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_INSTANCE = re.compile(
    r" with group instance ?id (?:Some\((?P<some>.+?)\)|(?!None\b|null\b)(?P<plain>.+?))"
    r"\.?(?:;|$| \()"
)
"""The instance id in the reason of a rebalance: without one, None or null, by the coordinator."""
_NOT_STORED = r"^[Ee]rror (?:\S+ )?when storing group assignment"
_REASONS: tuple[tuple[re.Pattern[str], Cause], ...] = tuple(
    (re.compile(pattern), cause)
    for pattern, cause in (
        (r"^Adding new member (?P<who>.+?)(?: with group instance ?id|;|$)", Cause.NEW_MEMBER),
        (r"^[Rr]emoving member (?P<who>.*?) on LeaveGroup", Cause.LEAVE),
        (r"^explicit `?LeaveGroup`? request for \((?P<who>.*?)\) members", Cause.LEAVE),
        (r"^[Rr]emoving member (?P<who>.+?) on heartbeat expiration", Cause.EXPIRY),
        (r"^[Rr]emoving .* on pending sync request expiration", Cause.EXPIRY),
        (r"^[Ll]eader (?P<who>.+?) re-joining group during", Cause.LEADER_REJOIN),
        (r"^Updating metadata for (?:static )?member (?P<who>[^\s;]+)", Cause.MEMBER_REJOIN),
        (r"will change because static member (?P<who>\S+)", Cause.MEMBER_REJOIN),
        (r"^Freshly-loaded group", Cause.FAILOVER),
        (r"^Member (?P<who>\S+) (?:is )?joining group during", Cause.MEMBER_REJOIN),
        (rf"{_NOT_STORED}.*\(member: (?P<who>[^()]+)\)", Cause.NOT_STORED),
        (_NOT_STORED, Cause.NOT_STORED),
        (r"member:? (?P<who>\S+-[0-9a-f]{8}-[0-9a-f-]{27})", Cause.OTHER),
    )
)


def stated_cause(reason: str) -> tuple[Cause, str]:
    """Return the cause in a coordinator's reason, and the member id in it."""
    for pattern, cause in _REASONS:
        if match := pattern.search(reason):
            return cause, match.groupdict().get("who") or ""
    return (Cause.OTHER if reason.strip() else Cause.UNKNOWN), ""


def process_of(member_id: str, instance_id: str | None) -> Process:
    """Return the process of a member: a client id if the member is dynamic, else its member id."""
    return Process(name_in(member_id) if instance_id is None else member_id, "")


def name_in(member_id: str) -> str:
    """Return the client id or instance id that a member id begins with."""
    return _UUID.sub("", member_id)


def ids_in(members: str) -> list[str]:
    """Return the member ids of a printed list."""
    return re.findall(r"memberId=([^,)]+)", members) or list(filter(None, members.split(", ")))


class ServerEvents:
    """The events of one group in its coordinator's messages."""

    def __init__(self) -> None:
        self._leaving: list[CoordinatorEvent] = []
        self._emptied: CoordinatorEvent | None = None
        self._named: tuple[str, ...] | None = None
        """The member ids that the LeaveGroup of the open rebalance named, or (old coordinator since
        3.2) that it removed; None: none caused it."""
        self._names_joins = False
        """True if this release logs the ids of dynamic members that join."""
        self._names_gone = False
        """True if this release logs each member that leaves."""

    def take(self, message: CoordinatorEvent) -> Iterator[GroupEvent]:
        """Take the next message; yield the events that it completes.

        A leave waits for the line that prepares its rebalance, which has more details and stands
        before or after it.  The end of a group by a leave waits for the lines of who left, which
        the old coordinator writes after it since 3.2.
        """
        if message.kind is MessageKind.LEFT:
            self._leaving.append(message)
            self._names_gone = True
            return
        is_empty = message.kind is MessageKind.EMPTY and self._named is not None
        if is_empty and self._emptied is None:
            self._emptied = message
            return
        if self._emptied is not None:
            yield from self.end()
        is_prepared = message.kind is MessageKind.PREPARING
        if is_prepared and stated_cause(message.fields["reason"])[0] is Cause.LEAVE:
            yield from self._events(message)
            yield from self.end()
        else:
            yield from self.end()
            yield from self._events(message)

    def end(self) -> Iterator[GroupEvent]:
        """Yield the events of the messages that wait."""
        leaving, self._leaving = self._leaving, []
        for message in leaving:
            yield self._left(message)
        emptied, self._emptied = self._emptied, None
        if emptied is not None:
            yield from self._events(emptied)

    def _events(self, message: CoordinatorEvent) -> Iterator[GroupEvent]:
        at = (message.at_ms, message.at_ms, message.place)
        member_id, instance_id = message.member_id, message.instance_id
        process = process_of(member_id, instance_id)
        match message.kind:
            case MessageKind.PREPARING:
                yield self._prepared(message)
            case MessageKind.STABILIZED:
                self._named = None
                members = message.fields.get("members")
                count = None if members is None else int(members)
                names_all = message.is_new or self._names_joins
                yield Begun(*at, message.generation or 0, count, names_all)
            case MessageKind.ASSIGNED:
                yield _assigned(message)
            case MessageKind.EMPTY:
                self._named = None
                yield Emptied(*at, self._names_gone)
            case MessageKind.NAMED:
                self._names_joins = True
                yield Named(*at, member_id, process)
            case MessageKind.USED:
                yield NameUsed(*at, member_id, process)
            case MessageKind.NAME_EXPIRED:
                yield NameExpired(*at, member_id, process)
            case MessageKind.NAME_RETURNED:
                yield NameReturned(*at, member_id)
            case MessageKind.JOINED:
                yield Joined(*at, member_id, instance_id, Sender(process))
            case MessageKind.REPLACED:
                old_id = message.fields["old"]
                yield Joined(*at, member_id, instance_id, Sender(process), replaces=old_id)
            case MessageKind.FENCED:
                api, holder_id = (message.fields.get(name, "") for name in ("operation", "holder"))
                who = (*at, instance_id or "", member_id, Sender(process))
                yield Fenced(*who, api, began=False, holder_id=holder_id)
            case MessageKind.FAILED:
                yield Removed(*at, member_id, process, End.EXPIRED)
            case MessageKind.DROPPED:
                for gone_id in ids_in(message.fields.get("members", "")):
                    yield Removed(*at, gone_id, process_of(gone_id, None), End.DROPPED)
            case MessageKind.DELETED:
                self._named = None
                removed, groups = message.fields["offsets"], message.fields["groups"]
                yield Deleted(*at, int(removed), groups.count(", ") + 1)
            case MessageKind.OFFSETS_DELETED:
                offsets = message.fields.get("offsets")
                yield OffsetsDeleted(*at, None if offsets is None else int(offsets))
            case MessageKind.LOADED | MessageKind.PARTITION_LOADED:
                self._named = None
                yield Loaded(*at, message.generation)
            case MessageKind.MEMBER_LOADED:
                yield MemberLoaded(*at, member_id, instance_id, process, message.generation)
            case MessageKind.UNLOADED | MessageKind.PARTITION_UNLOADED:
                self._named = None
                yield Unloaded(*at, message.generation)

    def _prepared(self, message: CoordinatorEvent) -> Prepared:
        reason = message.fields["reason"]
        cause, who = stated_cause(reason)
        self._named = tuple(ids_in(who)) if cause is Cause.LEAVE else None
        named = _INSTANCE.search(reason) if cause is Cause.NEW_MEMBER else None
        instance_id = None if named is None else named["some"] or named["plain"]
        process = process_of(who, instance_id) if who else None
        at = (message.at_ms, message.at_ms, message.place)
        client_reason = message.fields.get("statement", "")
        about = (*at, cause, who, instance_id, process, reason, client_reason)
        return Prepared(*about, message.generation or 0)

    def _left(self, message: CoordinatorEvent) -> Left:
        at = (message.at_ms, message.at_ms, message.place)
        process = process_of(message.member_id, message.instance_id)
        if "client_id" in message.fields:
            process = Process(message.fields["client_id"], message.fields["host"])
        session_ms, rebalance_ms = (
            int(message.fields[name]) if name in message.fields else None
            for name in ("session_ms", "rebalance_ms")
        )
        reason = message.fields.get("statement", "")
        protocols = message.fields.get("protocols", "")
        itself = self._left_itself(message)
        by = ADMINISTRATOR if itself is False else None
        who = (*at, message.member_id, message.instance_id)
        return Left(*who, by, itself, reason, process, session_ms, rebalance_ms, protocols)

    def _left_itself(self, message: CoordinatorEvent) -> bool | None:
        """Return True if a member sent its LeaveGroup itself; None if the log doesn't show it.

        An administrator names the instance id alone, and a member its own id.  The line that
        prepares the rebalance has the ids of the request; where the other line has the client id,
        too, it has the member's id for any sender.
        """
        named = self._named
        if named == ():
            return False
        reason = message.fields.get("statement", "")
        if "by an admin" in reason:
            return False
        is_named = "client_id" not in message.fields and message.member_id in (named or ())
        return True if is_named or "consumer" in reason else None


def _assigned(message: CoordinatorEvent) -> Assigned:
    at = (message.at_ms, message.at_ms, message.place)
    if "static" not in message.fields:
        return Assigned(*at, message.generation or 0)
    everyone, static = int(message.fields["everyone"]), int(message.fields["static"])
    return Assigned(*at, message.generation or 0, static, everyone - static)
