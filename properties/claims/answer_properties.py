"""Define the history properties: they must hold of answers alone, whatever coordinator gave them.

They need no table and no revision, so they also apply to a coordinator without a model.

    >>> from fencepost.properties.claims.answer_properties import broken_properties
    >>> broken_properties([])
    {}

Bounds: each answer is readable in its version, and each request is answered in time.  A JoinGroup
may wait for the rebalance that it takes part in, a SyncGroup until the members that owe one are
removed; all other requests are answered at once.

Generations: all members of a generation get the same answers.  Generation numbers never fall while
one coordinator has the group.  A generation counts as stored once a SyncGroup of it was answered
NONE; a failover may bring the group back to the last stored one, and higher numbers may then be
used again, for other members.

Ids: an id is handed out once, and a fenced or replaced member stays out.  The violation is always
one kind of answer, which needs no knowledge of the coordinator's state: NONE, or an error that only
a member gets, to a client after an answer by which it is no member.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fencepost.model.classic.rules import rule_sources as src
from fencepost.model.coordinator import CONFIG_DEFAULTS
from fencepost.model.history.events import Event
from fencepost.model.messages.errors import Error, error_name
from fencepost.model.messages.messages import (
    DescribeGroupsResponse,
    HeartbeatRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from fencepost.properties.claims.answers_quiet import QUIET_PROPERTIES
from fencepost.properties.claims.function_property import history_property
from fencepost.properties.claims.history_index import (
    NEVER,
    NONE,
    Claim,
    Joined,
    PlacedExchange,
    Reading,
    read,
)
from fencepost.properties.logic.logic import Property

_DELAY_MS = CONFIG_DEFAULTS["group.initial.rebalance.delay.ms"] or 0
_BEFORE_2_8_1 = "KAFKA-12890: a leader that never syncs, but heartbeats, blocks the group"
_OLD = ("2.3", "2.4", "2.5", "2.6", "2.7", "2.8.0")


def _misshapen(reading: Reading) -> str | None:
    for e in reading.exchanges:
        if e.problem:
            return f"{e} was answered in a shape that its version doesn't have: {e.problem}"
        if e.findings and not e.closed:
            return f"{e} was answered with bytes that are not as its version says: {e.findings[0]}"
    return None


def _any_answer(reading: Reading) -> bool:
    return any(e.answer is not None or e.problem for e in reading.exchanges)


def _bound_ms(reading: Reading, e: PlacedExchange) -> int:
    """Return the ms that a request may wait for its answer."""
    if e.join is None and not isinstance(e.request, SyncGroupRequest):
        return 0
    return max(reading.longest_rebalance_ms.get(e.group, 0), _DELAY_MS)


def _due(reading: Reading) -> Iterator[tuple[PlacedExchange, int]]:
    """Yield requests whose waiting time ended within the history, each with that time."""
    if not reading.virtual:
        return
    for e in reading.exchanges:
        bound = _bound_ms(reading, e)
        end = min(reading.end_ms, _cut_ms(reading, e))
        if e.answered < NEVER or (end > e.at_ms + bound and not _superseded(reading, e)):
            yield e, bound


def _cut_ms(reading: Reading, e: PlacedExchange) -> int:
    """Return the time at which its client gave it up, or its coordinator failed over."""
    cut = min([e.dropped, *(p for p in reading.takeovers if p > e.sent)])
    return NEVER if cut == NEVER else reading[cut].at_ms


def _superseded(reading: Reading, e: PlacedExchange) -> bool:
    """Return True if the member joined again meanwhile: the earlier join may stay unanswered."""
    join = e.join
    return join is not None and any(
        e.sent < other.sent < e.answered
        and (again := other.join) is not None
        and again.group_id == join.group_id
        and (join.member_id or join.group_instance_id)
        in {again.member_id or NEVER, again.group_instance_id or NEVER}
        for other in reading.exchanges
    )


def _endless(reading: Reading) -> str | None:
    for e in reading.exchanges:
        if e.closed:
            why = f": {e.findings[0]}" if e.findings else ""
            return f"{e} was not answered: its connection was closed{why}"
    for e, bound in _due(reading):
        waited = (reading.end_ms if e.answered_ms is None else e.answered_ms) - e.at_ms
        if waited > bound:
            problem = "was answered only after" if e.answered < NEVER else "had no answer after"
            return f"{e} {problem} {waited} ms, and may wait {bound} ms"
    return None


def _anything_due(reading: Reading) -> bool:
    return any(bound for _, bound in _due(reading))


BOUND_PROPERTIES = (
    history_property(
        "no-answer-has-a-forbidden-shape",
        "Every answer has the fields of its version, and no others.",
        src.KIP_PUBLIC,
        "every answer; faults of its bytes as the transport saw them",
        _misshapen,
        _any_answer,
    ),
    history_property(
        "every-request-is-answered-in-bounded-time",
        "A JoinGroup or SyncGroup is answered within the longest rebalance timeout of its "
        "group, each other request at once; no connection is closed instead.",
        src.KAFKA_TIMERS,
        "a virtual clock (under a real one a closed connection alone counts); at least Kafka's "
        f"initial delay of {_DELAY_MS} ms is granted; a join that its own member sent anew, "
        "or whose client or coordinator is gone, is owed nothing",
        _endless,
        _anything_due,
        expected={f"kafka-{version}": _BEFORE_2_8_1 for version in _OLD},
    ),
)


_EPOCH = "answers of one generation, between two failovers"


def _fall(reading: Reading) -> str | None:
    for n, later in enumerate(reading.joined):
        for earlier in reading.joined[:n]:
            if _before(reading, earlier, later):
                was, now = earlier.answer.generation_id, later.answer.generation_id
                if now < was:
                    return (
                        f"{earlier.exchange} got generation {was}, "
                        f"and {later.exchange} after it generation {now}"
                    )
        stored, sync = _last_stored(reading, later)
        if sync is not None and later.answer.generation_id < stored:
            return (
                f"{sync} showed that generation {stored} was stored, "
                f"and {later.exchange} got generation {later.answer.generation_id} after it"
            )
    return None


def _before(reading: Reading, earlier: Joined, later: Joined) -> bool:
    """Return True if one was answered before the other was sent, by the same coordinator."""
    same = earlier.message.group_id == later.message.group_id and earlier.exchange.before(
        later.exchange
    )
    return same and reading.epoch(earlier.exchange) == reading.epoch(later.exchange) >= 0


def _last_stored(reading: Reading, join: Joined) -> tuple[int, PlacedExchange | None]:
    """Return the highest generation that was stored before a request was sent."""
    generations = [
        (request.generation_id, e)
        for e, request, _ in reading.synced
        if request.group_id == join.message.group_id and e.before(join.exchange)
    ]
    return max(generations, key=lambda pair: pair[0], default=(-1, None))


def _several_joined(reading: Reading) -> bool:
    return any(
        _before(reading, earlier, later)
        for n, later in enumerate(reading.joined)
        for earlier in reading.joined[:n]
    )


def _generations(reading: Reading) -> Iterator[list[Joined]]:
    """Yield successful joins, by generation."""
    generations: dict[tuple[str, int, int], list[Joined]] = {}
    for join in reading.joined:
        if (epoch := reading.epoch(join.exchange)) >= 0:
            key = (join.message.group_id, join.answer.generation_id, epoch)
            generations.setdefault(key, []).append(join)
    yield from generations.values()


def _shared(reading: Reading) -> bool:
    return any(len(generation) > 1 for generation in _generations(reading))


def _protocols(reading: Reading) -> str | None:
    for first, *others in _generations(reading):
        for other in others:
            if other.answer.protocol_name != first.answer.protocol_name:
                return (
                    f"in generation {first.answer.generation_id} {first.exchange} got "
                    f"protocol {first.answer.protocol_name!r} and {other.exchange} "
                    f"{other.answer.protocol_name!r}"
                )
    return None


def _leaders(reading: Reading) -> str | None:
    for generation in _generations(reading):
        seats = [(t, _leading(reading, t)) for t in generation]
        known = [(t, seat) for t, seat in seats if seat is not None]
        for join, seat in known[1:]:
            first, leads = known[0]
            if seat != leads:
                return (
                    f"in generation {join.answer.generation_id} {first.exchange} got the leader "
                    f"{leads}, and {join.exchange} the leader {seat}"
                )
    return None


def _leading(reading: Reading, join: Joined) -> str | None:
    return reading.seat(join.message.group_id, join.answer.leader)


def _assignments(reading: Reading) -> str | None:
    for first, *others in _assigned(reading):
        for other in others:
            if other[1] != first[1]:
                return (
                    f"{first[0]} and {other[0]} are of one seat and one generation, "
                    f"and were given {first[1]!r} and {other[1]!r}"
                )
    return None


def _assigned(reading: Reading) -> Iterator[list[tuple[PlacedExchange, bytes]]]:
    """Yield assignments by group, generation and seat; stored with it, so over failovers too."""
    assignments: dict[tuple[str, int, str], list[tuple[PlacedExchange, bytes]]] = {}
    for e, request, answer in reading.synced:
        if request.group_instance_id is not None:
            seat: str | None = f"instance {request.group_instance_id}"
        else:
            seat = reading.seat(request.group_id, request.member_id)
        if seat is not None:
            key = (request.group_id, request.generation_id, seat)
            assignments.setdefault(key, []).append((e, answer.assignment))
    yield from assignments.values()


def _assigned_twice(reading: Reading) -> bool:
    return any(len(answers) > 1 for answers in _assigned(reading))


def _lists(reading: Reading) -> str | None:
    for join in reading.joined:
        answer = join.answer
        leads = answer.leader == answer.member_id
        if answer.members and not leads:
            return f"{join.exchange} got the leader {answer.leader!r}, and the members"
        if leads and answer.member_id not in {row.member_id for row in answer.members}:
            return f"{join.exchange} got itself as the leader, and not the members with itself"
    for generation in _generations(reading):
        lists = [(t, _leading(reading, t)) for t in generation if t.answer.members]
        for join, seat in lists[1:]:
            if seat != lists[0][1] and None not in {seat, lists[0][1]}:
                return (
                    f"in generation {join.answer.generation_id} both {lists[0][0].exchange} and "
                    f"{join.exchange} were given the members"
                )
    return None


def _leader_and_follower(reading: Reading) -> bool:
    return any(
        len({bool(join.answer.members) for join in generation}) > 1
        for generation in _generations(reading)
    )


GENERATION_PROPERTIES = (
    history_property(
        "generations-never-fall",
        "No join gets a lower generation than an earlier join was answered.",
        src.KAFKA_JOIN,
        "one group, between two failovers; over a failover generations may fall to the highest of "
        "which a SyncGroup was answered NONE, and no further",
        _fall,
        _several_joined,
    ),
    history_property(
        "one-generation-one-protocol",
        "All answers of a generation name the same protocol.",
        src.KAFKA_JOIN,
        _EPOCH,
        _protocols,
        _shared,
    ),
    history_property(
        "one-generation-one-leader-seat",
        "All answers of a generation name the same leader.",
        src.KIP_814,
        _EPOCH + "; by seat, since ids change within a generation: below Join version 9 a leader "
        "that restarts gets its own old id as the leader's, which is still its instance",
        _leaders,
        _shared,
    ),
    history_property(
        "one-generation-one-assignment",
        "In one generation each sync of an instance or a dynamic member gets the same assignment.",
        src.KIP_JOIN,
        "one group; a seat is an instance, or a dynamic member; over failovers too, since the "
        "assignment is stored with its generation",
        _assignments,
        _assigned_twice,
    ),
    history_property(
        "exactly-one-leader-is-given-members",
        "A leader gets the members, itself among them; no other member of the generation gets "
        "them.",
        src.KAFKA_JOIN,
        _EPOCH + "; by seat; below Join version 9 a leader that restarts gets its old id as the "
        "leader's, and no members",
        _lists,
        _leader_and_follower,
    ),
)


_FENCED = Error.FENCED_INSTANCE_ID.value
_ID_REQUIRED = Error.MEMBER_ID_REQUIRED.value
_HANDS_OUT = frozenset({NONE, _ID_REQUIRED})
_FOR_MEMBERS = frozenset(
    {NONE, Error.ILLEGAL_GENERATION.value, Error.REBALANCE_IN_PROGRESS.value} | {_ID_REQUIRED}
)
_FAILOVER = (
    "A failover may bring back an id that was replaced before its successor was stored, that is "
    "before a SyncGroup of the successor's generation was answered NONE; so after a failover only "
    "ids count whose successor is known to be stored."
)


def _handed_out(reading: Reading) -> Iterator[tuple[str, str, PlacedExchange]]:
    """Yield (group, member id, exchange) of each join whose answer has another id than it named."""
    for e in reading.answered:
        join = e.join
        if join is None or not isinstance(e.answer, JoinGroupResponse):
            continue
        new = e.answer.member_id not in {"", join.member_id}
        if new and e.answer.error_code in _HANDS_OUT:
            yield join.group_id, e.answer.member_id, e


def _one_id_for_two(reading: Reading) -> str | None:
    first: dict[tuple[str, str], PlacedExchange] = {}
    for group, member_id, exchange in _handed_out(reading):
        earlier = first.setdefault((group, member_id), exchange)
        if earlier is not exchange:
            return f"{earlier} and {exchange} were both given the member id {member_id!r}"
    return None


def _two_were_given_ids(reading: Reading) -> bool:
    groups = [group for group, _, _ in _handed_out(reading)]
    return len(groups) > len(set(groups))


class _Out(NamedTuple):
    """An id that is no member any more: the exchange by which it left, and the reason."""

    group: str
    member_id: str
    since: PlacedExchange
    why: str
    successor: Joined | None


def _replaced(reading: Reading) -> Iterator[_Out]:
    """Yield ids whose instance got a new id, for another process."""
    for n, new in enumerate(reading.joined):
        if new.instance is None or not (
            new.message.member_id == "" or _is_given_first(reading, new)
        ):
            continue
        for old in reading.joined[:n]:
            same = (old.message.group_id, old.instance) == (new.message.group_id, new.instance)
            other = old.answer.member_id != new.answer.member_id
            if same and other and old.exchange.before(new.exchange):
                why = f"{new.exchange} gave instance {new.instance} another id"
                yield _Out(old.message.group_id, old.answer.member_id, new.exchange, why, new)


def _is_given_first(reading: Reading, join: Joined) -> bool:
    """Return True if a join came under an id that its process was told with MEMBER_ID_REQUIRED."""
    key = join.message.group_id, join.message.member_id
    return any(
        answer.exchange.before(join.exchange)
        and getattr(answer.exchange.answer, "error_code", NONE) == _ID_REQUIRED
        for answer in reading.id_answers.get(key, ())
    )


def _fenced(reading: Reading) -> Iterator[_Out]:
    """Yield the ids that were fenced as their instance's: the id sent, or the earlier holder."""
    for e in reading.answered:
        for claim in reading.claims[e.id]:
            if claim.error != _FENCED:
                continue
            member_id = claim.member_id or getattr(e.answer, "member_id", "")
            if member_id and not _is_still_valid(reading, claim, member_id, e):
                why = f"{e} was answered FENCED_INSTANCE_ID"
                yield _Out(claim.group, member_id, e, why, None)


def _is_still_valid(reading: Reading, claim: Claim, member_id: str, fenced: PlacedExchange) -> bool:
    """Return True if a fenced id may live on: clients were given it, and not as this instance's.

    Whoever names another's instance is fenced for that: a pending id, a dynamic member, a member of
    another instance.
    """
    if claim.instance is None:
        return False
    answers = [
        g
        for g in reading.id_answers.get((claim.group, member_id), ())
        if g.exchange.answered < fenced.answered
    ]
    own = [g for g in answers if g.instance == claim.instance and g.exchange.before(fenced)]
    return bool(answers) and not own


def _stays_so(reading: Reading, out: _Out, later: PlacedExchange) -> bool:
    """Return True if a removed id must still be out when a later request is answered."""
    if not out.since.before(later):
        return False
    between = [p for p in reading.takeovers if out.since.sent < p < later.answered]
    if not between:
        return True
    if not reading.virtual and isinstance(later.request, HeartbeatRequest):
        return False  # a coordinator that loads answers heartbeats NONE, whoever sends them
    return out.successor is not None and _stored(reading, out.successor, between[0])


def _stored(reading: Reading, join: Joined, takeover: int) -> bool:
    """Return True if a sync shows that a join's answer was stored before a failover."""
    for e, request, _ in reading.synced:
        same = (request.group_id, request.generation_id)
        if same != (join.message.group_id, join.answer.generation_id) or e.answered > takeover:
            continue
        if e.before(join.exchange) or reading.epoch(e) == reading.epoch(join.exchange) >= 0:
            return True
    return False


def _contradicted(reading: Reading, outs: list[_Out], codes: frozenset[int]) -> str | None:
    for later in reading.answered:
        for claim in reading.claims[later.id]:
            if claim.error not in codes or not claim.member_id:
                continue
            for out in outs:
                same = (out.group, out.member_id) == (claim.group, claim.member_id)
                if same and _stays_so(reading, out, later):
                    return (
                        f"{out.why}, so {claim.member_id!r} was out; "
                        f"yet {later} under that id was answered {error_name(claim.error)}"
                    )
    return None


def _replaced_comes_back(reading: Reading) -> str | None:
    return _contradicted(reading, [*_replaced(reading), *_fenced(reading)], frozenset({NONE}))


def _fenced_counts(reading: Reading) -> str | None:
    return _contradicted(reading, [*_fenced(reading)], _FOR_MEMBERS)


def _spoken_of(reading: Reading, outs: list[_Out]) -> bool:
    """Return True if a request named an id that was out."""
    return any(
        (out.group, out.member_id) == (claim.group, claim.member_id)
        and _stays_so(reading, out, later)
        for later in reading.answered
        for claim in reading.claims[later.id]
        for out in outs
    )


def _replaced_speaks(reading: Reading) -> bool:
    return _spoken_of(reading, [*_replaced(reading)])


def _fenced_speaks(reading: Reading) -> bool:
    return _spoken_of(reading, [*_fenced(reading)])


def _rosters(reading: Reading) -> Iterator[tuple[PlacedExchange, list[tuple[str, str | None]]]]:
    """Yield the lists of members in answers, as (member id, instance)."""
    for e in reading.answered:
        match e.answer:
            case JoinGroupResponse(members=rows) if rows:
                yield e, [(r.member_id, r.group_instance_id) for r in rows]
            case DescribeGroupsResponse(groups=groups):
                for group in groups:
                    yield e, [(r.member_id, r.group_instance_id) for r in group.members]
            case _:
                pass


def _double(reading: Reading) -> str | None:
    for exchange, rows in _rosters(reading):
        ids = [member_id for member_id, _ in rows]
        instances = [instance for _, instance in rows if instance is not None]
        for kind, names in (("member id", ids), ("instance", instances)):
            if twice := sorted({name for name in names if names.count(name) > 1}):
                return f"{exchange} shows two members of {kind} {twice[0]!r}"
    return None


def _static_roster(reading: Reading) -> bool:
    return any(
        len(rows) > 1 and any(instance is not None for _, instance in rows)
        for _, rows in _rosters(reading)
    )


def _known_ids(reading: Reading) -> tuple[set[tuple[str, str]], set[tuple[str, str, str | None]]]:
    """Return the ids that clients can know, from joins or lists; and with which instance."""
    ids = {(group, member_id) for group, member_id, _ in _handed_out(reading)}
    seats: set[tuple[str, str, str | None]] = set()
    for join in reading.joined:
        group = join.message.group_id
        seats.add((group, join.answer.member_id, join.instance))
        seats |= {(group, row.member_id, row.group_instance_id) for row in join.answer.members}
    return ids | {(group, member_id) for group, member_id, _ in seats}, seats


def _asks(reading: Reading) -> Iterator[tuple[PlacedExchange, Claim]]:
    """Yield the claims of all requests other than joins."""
    for e in reading.answered:
        loading = isinstance(e.request, HeartbeatRequest) and not reading.virtual
        if e.join is None and not (loading and reading.takeovers):
            for claim in reading.claims[e.id]:
                if claim.member_id:
                    yield e, claim


def _let_in(reading: Reading) -> str | None:
    ids, seats = _known_ids(reading)
    for e, claim in _asks(reading):
        if claim.error != NONE:
            continue
        if (claim.group, claim.member_id) not in ids:
            return f"{e} was answered NONE under {claim.member_id!r}, which nobody was given"
        leaves = isinstance(e.request, LeaveGroupRequest)
        if claim.instance is not None and not leaves and claim[:3] not in seats:
            return (
                f"{e} was answered NONE as instance {claim.instance}, "
                f"with {claim.member_id!r}, which that instance was never given"
            )
    return None


def _a_stranger_asks(reading: Reading) -> bool:
    ids, seats = _known_ids(reading)
    return any(
        (claim.group, claim.member_id) not in ids
        or (claim.instance is not None and claim[:3] not in seats)
        for _, claim in _asks(reading)
    )


ID_PROPERTIES = (
    history_property(
        "two-clients-are-never-told-one-id",
        "A member id is handed out once: two joins that came with another id, or none, never "
        "get the same id.",
        src.KIP_JOIN,
        "one group; joins answered NONE or MEMBER_ID_REQUIRED, over failovers too",
        _one_id_for_two,
        _two_were_given_ids,
        expected={
            "comment-table-1": "row 6 returns the holder's id to any client with its instance",
        },
    ),
    history_property(
        "a-replaced-id-stays-out",
        "After another process of its instance got an id, or after it was fenced under its own "
        "instance, no later request under the old id is answered NONE.",
        src.KIP_JOIN,
        "one group; joins, syncs, heartbeats, leaves and commits that name a generation; a request "
        "is later if it was sent after the answer was read.  " + _FAILOVER,
        _replaced_comes_back,
        _replaced_speaks,
        expected={
            "comment-table-2": "its row 5 lets an unknown id with an instance in as a new member",
        },
    ),
    history_property(
        "fenced-stays-fenced",
        "A client that was answered FENCED_INSTANCE_ID under its own instance never again gets "
        "a member's answer under that id: NONE, ILLEGAL_GENERATION or REBALANCE_IN_PROGRESS.",
        src.KAFKA_VALIDATE,
        "one group; FENCED_INSTANCE_ID may become UNKNOWN_MEMBER_ID once the instance is mapped to "
        "nobody, and checks that come first may answer.  A client that names another's instance is "
        "fenced, too, and stays: a pending id, a dynamic member, a member of another instance.  "
        + _FAILOVER,
        _fenced_counts,
        _fenced_speaks,
        expected={
            "comment-table-2": "its row 5 lets an unknown id with an instance in as a new member",
        },
    ),
    history_property(
        "one-member-for-each-instance",
        "No list of members names an instance or a member id twice.",
        src.KIP_JOIN,
        "the lists in joins and in DescribeGroups, as of one moment each",
        _double,
        _static_roster,
        expected={"comment-table-2": "row 4.2 gives a known member any instance that it brings"},
    ),
    history_property(
        "only-ids-that-were-given-count",
        "Only a join is answered NONE under a member id that no join got, or under an id and an "
        "instance that didn't join together.",
        src.KAFKA_VALIDATE,
        "ids that some answer showed; nobody can ask under one whose answer was lost.  A leave may "
        "name any instance with a pending id; commits count that name a generation.  A heartbeat "
        "after a failover is left out under a real clock: a coordinator that loads answers NONE",
        _let_in,
        _a_stranger_asks,
        expected={"comment-table-2": "row 5 takes an unknown id with an instance for a member"},
    ),
)


HISTORY_PROPERTIES: tuple[Property, ...] = (
    *ID_PROPERTIES,
    *GENERATION_PROPERTIES,
    *QUIET_PROPERTIES,
    *BOUND_PROPERTIES,
)


def broken_properties(
    history: Sequence[Event], properties: Iterable[Property] = HISTORY_PROPERTIES
) -> Mapping[str, str]:
    """Return the properties that a history breaks: id → the violation in one sentence."""
    reading = read(history)
    verdicts = ((each.id, each.holds(reading)) for each in properties if each.holds is not None)
    return {name: sentence for name, sentence in verdicts if sentence is not None}
