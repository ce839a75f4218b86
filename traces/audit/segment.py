"""Explain a segment of a group's log: the lines between two moments at which no request waits.

Cheap attempts come first: that nothing happened; the most likely order of the requests; more orders
and a slow broker; the previous segment again, because only its likely explanations were kept; then
requests that may be missing from the log.  A segment without explanation is not a violation yet:
`refutation` decides.

A request that was never answered has no line: the client died before the answer, or the request
still waits when the log ends.  Where the log alone has no explanation, each such request may have
been made or not, at any time in the segment.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from fencepost.model.classic.group import Group, Member
from fencepost.model.history.events import Sent
from fencepost.model.machine import Machine
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    DescribeGroupsResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    SyncGroupRequest,
    SyncGroupResponse,
)
from fencepost.properties.oracle.candidate import Candidate
from fencepost.properties.oracle.verdict import Violation, Wrong
from fencepost.traces.audit.audit_settings import AuditSettings, Gaps
from fencepost.traces.audit.ordered_search import EFFORTS, Effort, SegmentOracle, unlogged_request
from fencepost.traces.audit.stable_fast_path import StableGroup, loosened, settled
from fencepost.traces.logs.request_log import LoggedExchange

_MOST = 8
_VERSION = 5
_OLD_VERSION = 3
_SINCE_MS = 10_000
"""Time before the first line of a segment in which a request may have arrived (ms)."""
_LONG_MS = 300_000
_OTHERWISE = b"?"
"""Bytes that make a subscription differ."""


@dataclass(frozen=True, slots=True)
class UnloggedRequests:
    """Requests that may have been made; `words`: the assumption, for each.

    `cut`: True if there were more than can be tried.
    """

    requests: tuple[Sent, ...] = ()
    words: tuple[str, ...] = ()
    cut: bool = False


def find_unlogged_requests(
    exchanges: Sequence[LoggedExchange], group: Group, gaps: Gaps, *, at_end: bool
) -> UnloggedRequests:
    """Return the requests that may be missing from a segment that begins with this group."""
    if gaps is Gaps.NONE:
        return UnloggedRequests()
    at_ms = exchanges[0].at_ms - _SINCE_MS
    group_id = exchanges[0].group_ids[0]
    made = [
        *_unanswered_joins(group_id, exchanges, group, at_ms),
        *_unanswered_returns(group_id, exchanges, group, at_ms),
    ]
    if at_end or gaps is Gaps.ANY:
        made.append(_unseen_member(group_id, group, at_ms))
        made += _unasked_returns(group_id, exchanges, group, at_ms)
    if gaps is Gaps.ANY:
        made += _leaves(group_id, exchanges, group, at_ms)
    kept = made[:_MOST]
    return UnloggedRequests(
        tuple(sent for sent, _ in kept), tuple(words for _, words in kept), len(made) > _MOST
    )


def _unanswered_joins(
    group_id: str, exchanges: Sequence[LoggedExchange], group: Group, at_ms: int
) -> Iterator[tuple[Sent, str]]:
    """Yield joins of members that appear in a list, or were fenced, without a logged join."""
    handed = set(group.pending)
    fenced: dict[str, None] = {}
    for exchange in exchanges:
        request = exchange.request
        code = exchange.answer_body.get("errorCode")
        if code == Error.MEMBER_ID_REQUIRED.value:
            handed.add(exchange.answer_body.get("memberId", ""))
        instance = exchange.request_body.get("groupInstanceId")
        new = isinstance(request, JoinGroupRequest) and not request.member_id
        if isinstance(instance, str) and (new or code == Error.FENCED_INSTANCE_ID.value):
            fenced[instance] = None
    for row in _unseen(exchanges, group):
        member = group.member(row.member_id)
        has_id = member is not None or row.joined or row.member_id in handed
        body = _join(group_id, group, row.member_id if has_id else "", row.instance, row.offers)
        if member is not None:
            body |= _timeouts(member)
        version = _VERSION
        if row.instance is None and not has_id:  # an old client, which is let in at once
            version = _OLD_VERSION
            del body["groupInstanceId"]
        name = f"hidden join of {row.member_id} in {row.generation_id}"
        sent = unlogged_request(name, max(at_ms, row.since_ms), "", "JoinGroup", version, body)
        yield sent, f"a join of {row.instance or row.member_id} that was never answered"
    for instance in fenced:
        holder = group.member(group.holder(instance) or "")
        if holder is None:
            continue
        body = _join(group_id, group, "", instance, _offers(holder))
        yield (
            unlogged_request(f"hidden join of {instance}", at_ms, "", "JoinGroup", _VERSION, body),
            f"a join of {instance} that was never answered",
        )


@dataclass(frozen=True, slots=True)
class _Unseen:
    """A member that is listed in a generation, or described, and has no line of a join for it.

    `joined`: True if it has joined before in the log; `since_ms`: the time of its last line.
    """

    member_id: str
    instance: str | None
    offers: Sequence[tuple[str, bytes]]
    generation_id: int
    since_ms: int
    joined: bool


def _unseen(exchanges: Sequence[LoggedExchange], group: Group) -> Iterator[_Unseen]:
    logged: set[tuple[str, int]] = set()
    lists: dict[int, tuple[LoggedExchange, JoinGroupResponse]] = {}
    described: dict[str, str | None] = {}
    for exchange in exchanges:
        response = exchange.answer
        if isinstance(response, JoinGroupResponse) and response.error_code == 0:
            logged.add((response.member_id, response.generation_id))
            if response.members and not response.skip_assignment:
                lists.setdefault(response.generation_id, (exchange, response))
        if isinstance(response, DescribeGroupsResponse):
            for group_row in response.groups:
                described.update((m.member_id, m.group_instance_id) for m in group_row.members)
    named = {m.member_id for m in group.members} | {member_id for member_id, _ in logged}
    for generation_id, (exchange, listing) in lists.items():
        for row in listing.members:
            named.add(row.member_id)
            if (row.member_id, generation_id) in logged or generation_id <= group.generation_id:
                continue
            heard = [
                e.at_ms
                for e in exchanges
                if e.request_body.get("memberId") == row.member_id
                and e.answered_ms < exchange.answered_ms
            ]
            joined = any(m == row.member_id and g < generation_id for m, g in logged)
            offers = [(listing.protocol_name or "", row.metadata)]
            since_ms = max(heard, default=0)
            yield _Unseen(
                row.member_id, row.group_instance_id, offers, generation_id, since_ms, joined
            )
    offers = _offers(group.members[0]) if group.members else [("", b"")]
    for member_id, instance in described.items():
        if member_id not in named:
            yield _Unseen(member_id, instance, offers, -1, 0, joined=False)


def _unanswered_returns(
    group_id: str, exchanges: Sequence[LoggedExchange], group: Group, at_ms: int
) -> Iterator[tuple[Sent, str]]:
    """Yield joins of members that have to join, or got an id, and have no logged join."""
    waiting: dict[str, tuple[str | None, str, Sequence[tuple[str, bytes]], int]] = {}
    known = {m.member_id: (m.group_instance_id, m.client_id, _offers(m)) for m in group.members}
    for exchange in exchanges:
        request, response = exchange.request, exchange.answer
        code = exchange.answer_body.get("errorCode")
        if isinstance(request, JoinGroupRequest) and isinstance(response, JoinGroupResponse):
            waiting.pop(request.member_id, None)
            offers = [(p.name, p.metadata) for p in request.protocols]
            if code == 0:
                known[response.member_id] = request.group_instance_id, exchange.client_id, offers
            if code == Error.MEMBER_ID_REQUIRED.value:
                waiting[response.member_id] = (
                    None,
                    exchange.client_id,
                    offers,
                    exchange.at_ms,
                )
        elif code == Error.REBALANCE_IN_PROGRESS.value:
            member_id = getattr(request, "member_id", "")
            if member_id in known:
                waiting[member_id] = (*known[member_id], exchange.at_ms)
    for member_id, (instance, client_id, offered, since_ms) in waiting.items():
        body = _join(group_id, group, member_id, instance, offered)
        returning = group.member(member_id)
        if returning is not None:
            body |= _timeouts(returning)
        name = f"hidden return of {member_id}"
        yield (
            unlogged_request(name, max(at_ms, since_ms), client_id, "JoinGroup", _VERSION, body),
            f"a join of {instance or member_id} that was never answered",
        )


def _unasked_returns(
    group_id: str, exchanges: Sequence[LoggedExchange], group: Group, at_ms: int
) -> Iterator[tuple[Sent, str]]:
    """Yield joins after a member's last line; with another subscription they start a rebalance."""
    heard = {e.request_body.get("memberId"): e.at_ms for e in exchanges}
    for member in group.members:
        since_ms = heard.get(member.member_id, at_ms)
        offers = [(name, metadata + _OTHERWISE) for name, metadata in _offers(member)]
        body = _join(group_id, group, member.member_id, member.group_instance_id, offers)
        body |= _timeouts(member)
        name = f"hidden change of {member.member_id}"
        yield (
            unlogged_request(name, since_ms, member.client_id, "JoinGroup", _VERSION, body),
            "a join that still waits when the log ends, or whose line is missing",
        )


def _unseen_member(group_id: str, group: Group, at_ms: int) -> tuple[Sent, str]:
    """Return the join of a new member, which still waits."""
    offers = _offers(group.members[0]) if group.members else [("range", b"")]
    body = _join(group_id, group, "", "a member that the log does not name", offers)
    return (
        unlogged_request("hidden join of somebody", at_ms, "", "JoinGroup", _VERSION, body),
        "a join that still waits when the log ends, or whose line is missing",
    )


def _leaves(
    group_id: str, exchanges: Sequence[LoggedExchange], group: Group, at_ms: int
) -> Iterator[tuple[Sent, str]]:
    """Yield leaves of members that are unknown later."""
    unknown = {e.request_body.get("memberId") for e in exchanges if _is_unknown(e)}
    left = {
        row.member_id
        for e in exchanges
        if isinstance(e.request, LeaveGroupRequest)
        for row in e.request.rows(e.version)
    }
    for member in group.members:
        if member.member_id in unknown and member.member_id not in left:
            body: dict[str, object] = {"groupId": group_id, "memberId": member.member_id}
            yield (
                unlogged_request(
                    f"hidden leave of {member.member_id}", at_ms, "", "LeaveGroup", 0, body
                ),
                f"a leave of {member.member_id} whose line is missing",
            )


def _is_unknown(exchange: LoggedExchange) -> bool:
    return exchange.answer_body.get("errorCode") == Error.UNKNOWN_MEMBER_ID.value


def _offers(member: Member) -> list[tuple[str, bytes]]:
    return [(p.name, p.metadata) for p in member.protocols]


def _timeouts(member: Member) -> dict[str, object]:
    """Return a member's timeouts, limited to the range of a request."""
    return {
        "sessionTimeoutMs": min(member.session_timeout_ms, _LONG_MS),
        "rebalanceTimeoutMs": min(member.rebalance_timeout_ms, _LONG_MS),
    }


def _join(
    group_id: str,
    group: Group,
    member_id: str,
    instance: str | None,
    offers: Sequence[tuple[str, bytes]],
) -> dict[str, object]:
    longest = max((m.rebalance_timeout_ms for m in group.members), default=_LONG_MS)
    return {
        "groupId": group_id,
        "sessionTimeoutMs": _LONG_MS,
        "rebalanceTimeoutMs": longest,
        "memberId": member_id,
        "groupInstanceId": instance,
        "protocolType": group.protocol_type or "consumer",
        "protocols": [
            {"name": name, "metadata": base64.b64encode(metadata).decode()}
            for name, metadata in offers
        ],
    }


Attempt = tuple[int, bool, frozenset[str]]
"""The number of an effort; True if the segment before is followed, too; the requests."""
_CALM = frozenset({"Heartbeat", "OffsetCommit", "DescribeGroups"})
"""Requests that change nothing of a stable group."""


@dataclass(frozen=True, slots=True)
class Generations:
    """The generations in the answer to a join or sync; -1 for none."""

    joined: int
    synced: int

    @staticmethod
    def of(exchange: LoggedExchange) -> Generations | None:
        """Return the generations of a join or sync; None for other exchanges."""
        match exchange.request, exchange.answer:
            case _, JoinGroupResponse(error_code=0) as joined:
                return Generations(joined.generation_id, -1)
            case SyncGroupRequest() as sync, SyncGroupResponse(error_code=0):
                return Generations(-1, sync.generation_id)
        return None


@dataclass(frozen=True, slots=True)
class SegmentResult:
    """The result of following some lines with the oracle.

    `after`: the states that explain them, none where `violation` or `unknown` is set; `notes`: odd
    answers that are allowed; `deviation`: the fault of even the best explanation; `was_empty`: True
    if the group was Empty on some path.
    """

    after: tuple[Candidate, ...] = ()
    violation: Violation | None = None
    unknown: str | None = None
    notes: tuple[str, ...] = ()
    deviation: Violation | None = None
    was_empty: bool = False

    @property
    def explained(self) -> bool:
        """Return True if some state explains the lines."""
        return bool(self.after)


@dataclass(slots=True)
class Segment:
    """A segment: exchanges, and the possible states at its beginning.

    `parked`: those whose requests wait in these states; `rest`: the rest that came before; `run`:
    the one that explains it; `assumed`: the requests that it takes for made; `endless`: attempts
    that were given up when it had fewer lines, which aren't tried again.
    """

    group_id: str
    settings: AuditSettings
    before: Sequence[Candidate]
    exchanges: list[LoggedExchange]
    parked: Sequence[LoggedExchange] = ()
    rest: StableGroup | None = None
    run: SegmentResult = field(default_factory=SegmentResult)
    assumed: UnloggedRequests = field(default_factory=UnloggedRequests)
    endless: set[Attempt] = field(default_factory=set)

    @property
    def from_ms(self) -> int:
        """The time of its beginning."""
        return min((c.now for c in self.before), default=0)

    @property
    def to_ms(self) -> int:
        """The time of its last line."""
        return max(e.answered_ms for e in self.exchanges)

    def at_rest(self) -> bool:
        """Explain it without the oracle, if no line changes a stable group; return True if so."""
        rest = None
        if all(exchange.api in _CALM for exchange in self.exchanges):
            rest = settled(self.group_id, self.before)
        if rest is None:
            return False
        machine = Machine(self.settings.revision, self.settings.machine_config())
        groups = [g for c in self.before if (g := c.group(self.group_id)) is not None]
        for exchange in self.exchanges:
            if not (rest.takes(exchange) or rest.describes(exchange, machine, groups)):
                return False
        return self._explains(SegmentResult(tuple(rest.applied(c) for c in self.before)))

    def quick(self) -> bool:
        """Try the most likely order of requests; return True if it explains the segment."""
        return self._explains(self.followed(EFFORTS[0]))

    def harder(self) -> bool:
        """Try more orders of requests; return True if one explains the segment."""
        return any(self._tried(number) for number in range(1, len(EFFORTS)))

    def thorough(self, earlier: Segment | None, hidden: UnloggedRequests) -> bool:
        """Try everything; return True if it is explained.  `earlier`: the segment before."""
        if self.harder():
            return True
        if earlier is not None and any(self._tried(number, earlier) for number in (1, 3)):
            return True
        if hidden.requests and any(self._tried(n, None, hidden.requests) for n in range(3)):
            self.assumed = hidden
            return True
        return False

    def _tried(
        self, number: int, earlier: Segment | None = None, hidden: Sequence[Sent] = ()
    ) -> bool:
        """Try an effort, on this segment or also on the one before; return True if it explains."""
        lacks = frozenset(sent.request.id for sent in hidden)
        attempt = (number, earlier is not None, lacks)
        if attempt in self.endless:
            return False
        if earlier is None:
            run = self.followed(EFFORTS[number], hidden)
        else:
            chain = [earlier, self]
            run = followed_on(chain, EFFORTS[number], [earlier.assumed, UnloggedRequests()])
        if run.unknown is not None:
            self.endless.add(attempt)
        return self._explains(run)

    def hidden(self, *, at_end: bool) -> UnloggedRequests:
        """Return the requests that may have been made though the log does not show them."""
        group = next((g for c in self.before if (g := c.group(self.group_id))), None)
        if group is None:
            return UnloggedRequests()
        return find_unlogged_requests(self.exchanges, group, self.settings.gaps, at_end=at_end)

    def followed(self, effort: Effort, hidden: Sequence[Sent] = ()) -> SegmentResult:
        """Follow the segment with some effort."""
        return _followed(self, self.before, self.exchanges, effort, hidden)

    def _explains(self, run: SegmentResult) -> bool:
        if run.explained:
            self.run = run
        return run.explained


def joined_up(
    chain: Sequence[Segment], hidden: Sequence[UnloggedRequests], late_ms: int
) -> tuple[list[Segment], list[UnloggedRequests]]:
    """Return a chain whose last segment reaches back as far as a line may be dated late.

    A line that is dated after a rest may be about the time before it.
    """
    since_ms = chain[-1].from_ms - late_ms
    at = next(i for i, segment in enumerate(chain) if segment.to_ms >= since_ms)
    first, *others = chain[at:]
    before = list(first.before)
    for rest in (segment.rest for segment in others if segment.rest is not None):
        before = [rest.prolonged(candidate) for candidate in before]
    exchanges = [exchange for segment in chain[at:] for exchange in segment.exchanges]
    joined = replace(first, before=before, exchanges=exchanges)
    requests = tuple(sent for each in hidden[at:] for sent in each.requests)
    lacks = UnloggedRequests(requests, cut=any(each.cut for each in hidden[at:]))
    return [*chain[:at], joined], [*hidden[:at], lacks]


def followed_on(
    chain: Sequence[Segment], effort: Effort, hidden: Sequence[UnloggedRequests]
) -> SegmentResult:
    """Follow segments one after the other, keeping all explanations of each.

    `hidden`: the requests that the log may lack in each.
    """
    late_ms = chain[0].settings.lag_ms if effort.late else 0
    before: Sequence[Candidate] = [loosened(c, late_ms) for c in chain[0].before]
    run = SegmentResult()
    was_empty = False
    for i, segment in enumerate(chain):
        if i and segment.rest is not None:
            before = [loosened(segment.rest.applied(c), late_ms) for c in before]
        begun = i > 0
        lines = [e for e in segment.exchanges if not (begun and _is_late(e, segment))]
        last = i + 1 == len(chain)
        if not last:  # what arrived before a rest is followed where it arrived
            lines += [e for e in chain[i + 1].exchanges if _is_late(e, chain[i + 1])]
        run = _followed(segment, before, lines, effort, hidden[i].requests)
        was_empty |= run.was_empty
        if not run.explained and not last:
            return SegmentResult(unknown="the lines before have another explanation")
        before = run.after
    return SegmentResult(run.after, run.violation, run.unknown, run.notes, run.deviation, was_empty)


def _is_late(exchange: LoggedExchange, segment: Segment) -> bool:
    return exchange.at_ms < segment.from_ms


def _followed(
    segment: Segment,
    before: Sequence[Candidate],
    exchanges: Sequence[LoggedExchange],
    effort: Effort,
    hidden: Sequence[Sent],
) -> SegmentResult:
    follower = SegmentOracle(segment.settings, before, effort=effort, parked=segment.parked)
    follower.follow(exchanges, hidden)
    was_empty = follower.search.was_empty
    if not follower.open():
        return SegmentResult((), follower.violation, follower.unknown, was_empty=was_empty)
    verdict = follower.verdict()
    notes = tuple(note.difference for note in verdict.notes)
    wrong = verdict.violation
    deviation = wrong if wrong is not None and wrong.wrong is Wrong.DEVIATION else None
    return SegmentResult(tuple(follower.candidates), None, None, notes, deviation, was_empty)
