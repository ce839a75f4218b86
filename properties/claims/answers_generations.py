"""History properties: all members of a generation are told the same.

Generation numbers never fall while one coordinator has the group.  A generation counts as stored
once a SyncGroup of it was answered NONE; a failover may bring the group back to the last stored
one, and higher numbers may then be used again, for other members.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.model.classic.rules import rule_sources as src
from fencepost.properties.claims.function_property import history_property
from fencepost.properties.claims.history_index import Exchange, Reading, Told

_EPOCH = "answers of one generation, between two failovers"


def _fall(reading: Reading) -> str | None:
    for n, later in enumerate(reading.told):
        for earlier in reading.told[:n]:
            if _before(reading, earlier, later):
                was, now = earlier.answer.generation_id, later.answer.generation_id
                if now < was:
                    return (
                        f"{earlier.exchange} was told generation {was}, "
                        f"and {later.exchange} after it generation {now}"
                    )
        stored, told_so = _last_stored(reading, later)
        if told_so is not None and later.answer.generation_id < stored:
            return (
                f"{told_so} showed that generation {stored} was stored, "
                f"and {later.exchange} was told generation {later.answer.generation_id} after it"
            )
    return None


def _before(reading: Reading, earlier: Told, later: Told) -> bool:
    """Whether one was answered before the other was sent, by the same coordinator."""
    same = earlier.asked.group_id == later.asked.group_id and earlier.exchange.before(
        later.exchange
    )
    return same and reading.epoch(earlier.exchange) == reading.epoch(later.exchange) >= 0


def _last_stored(reading: Reading, told: Told) -> tuple[int, Exchange | None]:
    """The highest generation that was stored before a request was sent."""
    found = [
        (asked.generation_id, e)
        for e, asked, _ in reading.synced
        if asked.group_id == told.asked.group_id and e.before(told.exchange)
    ]
    return max(found, key=lambda pair: pair[0], default=(-1, None))


def _several_told(reading: Reading) -> bool:
    return any(
        _before(reading, earlier, later)
        for n, later in enumerate(reading.told)
        for earlier in reading.told[:n]
    )


def _generations(reading: Reading) -> Iterator[list[Told]]:
    """Successful joins, by generation."""
    found: dict[tuple[str, int, int], list[Told]] = {}
    for told in reading.told:
        if (epoch := reading.epoch(told.exchange)) >= 0:
            key = (told.asked.group_id, told.answer.generation_id, epoch)
            found.setdefault(key, []).append(told)
    yield from found.values()


def _shared(reading: Reading) -> bool:
    return any(len(generation) > 1 for generation in _generations(reading))


def _protocols(reading: Reading) -> str | None:
    for first, *others in _generations(reading):
        for other in others:
            if other.answer.protocol_name != first.answer.protocol_name:
                return (
                    f"in generation {first.answer.generation_id} {first.exchange} was told "
                    f"protocol {first.answer.protocol_name!r} and {other.exchange} "
                    f"{other.answer.protocol_name!r}"
                )
    return None


def _leaders(reading: Reading) -> str | None:
    for generation in _generations(reading):
        seats = [(t, _leading(reading, t)) for t in generation]
        known = [(t, seat) for t, seat in seats if seat is not None]
        for told, seat in known[1:]:
            first, leads = known[0]
            if seat != leads:
                return (
                    f"in generation {told.answer.generation_id} {first.exchange} was told that "
                    f"{leads} leads, and {told.exchange} that {seat} does"
                )
    return None


def _leading(reading: Reading, told: Told) -> str | None:
    return reading.seat(told.asked.group_id, told.answer.leader)


def _assignments(reading: Reading) -> str | None:
    for first, *others in _assigned(reading):
        for other in others:
            if other[1] != first[1]:
                return (
                    f"{first[0]} and {other[0]} are of one seat and one generation, "
                    f"and were given {first[1]!r} and {other[1]!r}"
                )
    return None


def _assigned(reading: Reading) -> Iterator[list[tuple[Exchange, bytes]]]:
    """Assignments by group, generation and seat.  Stored with it, so over failovers too."""
    found: dict[tuple[str, int, str], list[tuple[Exchange, bytes]]] = {}
    for e, asked, answer in reading.synced:
        if asked.group_instance_id is not None:
            seat: str | None = f"instance {asked.group_instance_id}"
        else:
            seat = reading.seat(asked.group_id, asked.member_id)
        if seat is not None:
            key = (asked.group_id, asked.generation_id, seat)
            found.setdefault(key, []).append((e, answer.assignment))
    yield from found.values()


def _assigned_twice(reading: Reading) -> bool:
    return any(len(answers) > 1 for answers in _assigned(reading))


def _lists(reading: Reading) -> str | None:
    for told in reading.told:
        answer = told.answer
        leads = answer.leader == answer.member_id
        if answer.members and not leads:
            return f"{told.exchange} was told that {answer.leader!r} leads, and given the members"
        if leads and answer.member_id not in {row.member_id for row in answer.members}:
            return f"{told.exchange} was told that it leads, and not given the members with itself"
    for generation in _generations(reading):
        given = [(t, _leading(reading, t)) for t in generation if t.answer.members]
        for told, seat in given[1:]:
            if seat != given[0][1] and None not in {seat, given[0][1]}:
                return (
                    f"in generation {told.answer.generation_id} both {given[0][0].exchange} and "
                    f"{told.exchange} were given the members"
                )
    return None


def _leader_and_follower(reading: Reading) -> bool:
    return any(
        len({bool(told.answer.members) for told in generation}) > 1
        for generation in _generations(reading)
    )


GENERATION_PROPERTIES = (
    history_property(
        "generations-never-fall",
        "No join is told a lower generation than one that was told before it was sent.",
        src.KAFKA_JOIN,
        "one group, between two failovers; over a failover generations may fall to the highest of "
        "which a SyncGroup was answered NONE, and no further",
        _fall,
        _several_told,
    ),
    history_property(
        "one-generation-one-protocol",
        "All who are told a generation are told the same protocol.",
        src.KAFKA_JOIN,
        _EPOCH,
        _protocols,
        _shared,
    ),
    history_property(
        "one-generation-one-leader-seat",
        "All who are told a generation are told the same leader.",
        src.KIP_814,
        _EPOCH + "; by seat, since ids change within a generation: below Join version 9 a leader "
        "that restarts is told its own old id as the leader's, which is still its instance",
        _leaders,
        _shared,
    ),
    history_property(
        "one-generation-one-assignment",
        "Whenever a seat asks for its assignment in one generation, it is given the same one.",
        src.KIP_JOIN,
        "one group; a seat is an instance, or a dynamic member; over failovers too, since the "
        "assignment is stored with its generation",
        _assignments,
        _assigned_twice,
    ),
    history_property(
        "exactly-one-leader-is-given-members",
        "Who is told that it leads is given the members, itself among them, and in one generation "
        "nobody else is.",
        src.KAFKA_JOIN,
        _EPOCH + "; by seat; below Join version 9 a leader that restarts is told that its old id "
        "leads, and given nothing",
        _lists,
        _leader_and_follower,
    ),
)
