"""History properties: ids are handed out once, and who was fenced or replaced stays out.

They hold one thing against a coordinator without knowing its state: that it answered NONE, or an
error that only a member gets, to a client after an answer that said that it is no member.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fencepost.model.classic.rules import rule_sources as src
from fencepost.model.messages.errors import Error, error_name
from fencepost.model.messages.messages import (
    DescribeGroupsResponse,
    HeartbeatRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
)
from fencepost.properties.claims.function_property import history_property
from fencepost.properties.claims.history_index import NONE, Claim, Exchange, Reading, Told

_FENCED = Error.FENCED_INSTANCE_ID.value
_HANDS_OUT = frozenset({NONE, Error.MEMBER_ID_REQUIRED.value})
_FOR_MEMBERS = frozenset(
    {NONE, Error.ILLEGAL_GENERATION.value, Error.REBALANCE_IN_PROGRESS.value}
    | {Error.MEMBER_ID_REQUIRED.value}
)
_FAILOVER = (
    "A failover may bring back an id that was replaced before its successor was stored, that is "
    "before a SyncGroup of the successor's generation was answered NONE; so after a failover only "
    "ids count whose successor is known to be stored."
)


def _handed_out(reading: Reading) -> Iterator[tuple[str, str, Exchange]]:
    """(group, member id, exchange) of each join that was told another id than it named."""
    for e in reading.answered:
        asked = e.join
        if asked is None or not isinstance(e.answer, JoinGroupResponse):
            continue
        new = e.answer.member_id not in {"", asked.member_id}
        if new and e.answer.error_code in _HANDS_OUT:
            yield asked.group_id, e.answer.member_id, e


def _one_id_for_two(reading: Reading) -> str | None:
    first: dict[tuple[str, str], Exchange] = {}
    for group, member_id, exchange in _handed_out(reading):
        earlier = first.setdefault((group, member_id), exchange)
        if earlier is not exchange:
            return f"{earlier} and {exchange} were both given the member id {member_id!r}"
    return None


def _two_were_given_ids(reading: Reading) -> bool:
    groups = [group for group, _, _ in _handed_out(reading)]
    return len(groups) > len(set(groups))


class _Out(NamedTuple):
    """An id that is no member any more: since which exchange, and why."""

    group: str
    member_id: str
    since: Exchange
    why: str
    successor: Told | None


def _replaced(reading: Reading) -> Iterator[_Out]:
    """Ids whose instance was given a new id, to another process."""
    for n, new in enumerate(reading.told):
        if new.instance is None or new.asked.member_id:
            continue
        for old in reading.told[:n]:
            same = (old.asked.group_id, old.instance) == (new.asked.group_id, new.instance)
            other = old.answer.member_id != new.answer.member_id
            if same and other and old.exchange.before(new.exchange):
                why = f"{new.exchange} gave instance {new.instance} another id"
                yield _Out(old.asked.group_id, old.answer.member_id, new.exchange, why, new)


def _fenced(reading: Reading) -> Iterator[_Out]:
    """Ids that were answered FENCED_INSTANCE_ID: the id that was sent, or the one held before."""
    for e in reading.answered:
        for claim in reading.claims[e.send.id]:
            if claim.error != _FENCED:
                continue
            member_id = claim.member_id or getattr(e.answer, "member_id", "")
            if member_id:
                why = f"{e} was answered FENCED_INSTANCE_ID"
                yield _Out(claim.group, member_id, e, why, None)


def _stays_so(reading: Reading, out: _Out, later: Exchange) -> bool:
    """Whether an id that is out must still be out when a later request is answered."""
    if not out.since.before(later):
        return False
    between = [p for p in reading.takeovers if out.since.sent < p < later.answered]
    if not between:
        return True
    if not reading.virtual and isinstance(later.asked, HeartbeatRequest):
        return False  # a coordinator that loads answers heartbeats NONE, whoever sends them
    return out.successor is not None and _stored(reading, out.successor, between[0])


def _stored(reading: Reading, told: Told, takeover: int) -> bool:
    """Whether a sync shows that what the coordinator told was stored before a failover."""
    for e, asked, _ in reading.synced:
        same = (asked.group_id, asked.generation_id)
        if same != (told.asked.group_id, told.answer.generation_id) or e.answered > takeover:
            continue
        if e.before(told.exchange) or reading.epoch(e) == reading.epoch(told.exchange) >= 0:
            return True
    return False


def _contradicted(reading: Reading, outs: list[_Out], codes: frozenset[int]) -> str | None:
    for later in reading.answered:
        for claim in reading.claims[later.send.id]:
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
    """Whether a request named an id that was out."""
    return any(
        (out.group, out.member_id) == (claim.group, claim.member_id)
        and _stays_so(reading, out, later)
        for later in reading.answered
        for claim in reading.claims[later.send.id]
        for out in outs
    )


def _replaced_speaks(reading: Reading) -> bool:
    return _spoken_of(reading, [*_replaced(reading)])


def _fenced_speaks(reading: Reading) -> bool:
    return _spoken_of(reading, [*_fenced(reading)])


def _rosters(reading: Reading) -> Iterator[tuple[Exchange, list[tuple[str, str | None]]]]:
    """Lists of members that answers show, as (member id, instance)."""
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


def _given(reading: Reading) -> tuple[set[tuple[str, str]], set[tuple[str, str, str | None]]]:
    """Ids that clients can know, told in a join or shown in a list; and with which instance."""
    given = {(group, member_id) for group, member_id, _ in _handed_out(reading)}
    seats: set[tuple[str, str, str | None]] = set()
    for told in reading.told:
        group = told.asked.group_id
        seats.add((group, told.answer.member_id, told.instance))
        seats |= {(group, row.member_id, row.group_instance_id) for row in told.answer.members}
    return given | {(group, member_id) for group, member_id, _ in seats}, seats


def _asks(reading: Reading) -> Iterator[tuple[Exchange, Claim]]:
    """The claims of all requests other than joins."""
    for e in reading.answered:
        loading = isinstance(e.asked, HeartbeatRequest) and not reading.virtual
        if e.join is None and not (loading and reading.takeovers):
            for claim in reading.claims[e.send.id]:
                if claim.member_id:
                    yield e, claim


def _let_in(reading: Reading) -> str | None:
    given, seats = _given(reading)
    for e, claim in _asks(reading):
        if claim.error != NONE:
            continue
        if (claim.group, claim.member_id) not in given:
            return f"{e} was answered NONE under {claim.member_id!r}, which nobody was given"
        leaves = isinstance(e.asked, LeaveGroupRequest)
        if claim.instance is not None and not leaves and claim[:3] not in seats:
            return (
                f"{e} was answered NONE as instance {claim.instance}, "
                f"with {claim.member_id!r}, which that instance was never given"
            )
    return None


def _a_stranger_asks(reading: Reading) -> bool:
    given, seats = _given(reading)
    return any(
        (claim.group, claim.member_id) not in given
        or (claim.instance is not None and claim[:3] not in seats)
        for _, claim in _asks(reading)
    )


ID_PROPERTIES = (
    history_property(
        "two-clients-are-never-told-one-id",
        "A member id is handed out once: no two joins that came with another id, or none, are told "
        "the same one.",
        src.KIP_JOIN,
        "one group; joins answered NONE or MEMBER_ID_REQUIRED, over failovers too",
        _one_id_for_two,
        _two_were_given_ids,
        expected={
            "comment-table-1": "its row 6 tells the holder's own id to whoever names the instance",
        },
    ),
    history_property(
        "a-replaced-id-stays-out",
        "Once another process of its instance was given an id, or it was fenced, no later request "
        "under the old id is answered NONE.",
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
        "Who was told FENCED_INSTANCE_ID is never again told under that id what members are told: "
        "NONE, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS.",
        src.KAFKA_VALIDATE,
        "one group; FENCED_INSTANCE_ID may become UNKNOWN_MEMBER_ID once the instance is mapped to "
        "nobody, and checks that come first may answer.  " + _FAILOVER,
        _fenced_counts,
        _fenced_speaks,
        expected={
            "comment-table-2": "its row 5 lets an unknown id with an instance in as a new member",
        },
    ),
    history_property(
        "one-member-for-each-instance",
        "No list of members names an instance, or a member id, twice.",
        src.KIP_JOIN,
        "the lists in joins and in DescribeGroups, as of one moment each",
        _double,
        _static_roster,
        expected={"comment-table-2": "row 4.2 gives a known member any instance that it brings"},
    ),
    history_property(
        "only-ids-that-were-given-count",
        "Nothing but a join is answered NONE under a member id that no join was told, or under one "
        "and an instance that it was not told with.",
        src.KAFKA_VALIDATE,
        "ids that some answer showed; nobody can ask under one whose answer was lost.  A leave may "
        "name any instance beside a pending id; commits count that name a generation.  A heartbeat "
        "after a failover is left out under a real clock: a coordinator that loads answers NONE",
        _let_in,
        _a_stranger_asks,
        expected={"comment-table-2": "row 5 takes an unknown id with an instance for a member"},
    ),
)
