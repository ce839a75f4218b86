"""Draw the next step of a plan of the consumer protocol, by the state of its sender in the group.

Who is no member joins, who has not taken over its target heartbeats, and who is a member of a
stable group does anything.  Most requests are what a correct client would send: the epoch and the
partitions that the target told it last.  A few have one field changed (`BOUNDARY_VALUES`).  Any
request may be sent twice, on a second connection, or by a member whose connection drops at once.

A regular expression is never drawn: the model keeps it, and finds no topics by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from random import Random
from typing import Any

import msgspec

from fencepost.conformance.cases.script import CASE_PARTITIONS, CASE_TOPICS
from fencepost.conformance.search.fuzz import step_drawer
from fencepost.conformance.search.fuzz.dry_run import DryRun, GroupShape, PlannedStep, few_of_each
from fencepost.conformance.search.fuzz.step_drawer import (
    AGAIN,
    About,
    BoundaryValue,
    Participants,
    StepDrawer,
    WeightedPauses,
    boundary_values_by_field,
    draw_boundary_value,
    same,
)
from fencepost.model.consumer.group import ConsumerGroup, Member
from fencepost.model.consumer.settings import ASSIGNMENT_INTERVAL, MAX_SIZE, SESSION_TIMEOUT
from fencepost.model.consumer.topics import rows_of, topic_id
from fencepost.model.coordinator import Config
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.messages import (
    BY_ID_SINCE,
    CommitPartition,
    CommitTopic,
    DeletablePartition,
    DeletableTopic,
    FetchGroup,
    FetchTopic,
    LeavingMember,
    TxnCommitPartition,
    TxnCommitTopic,
    carried_fields,
)
from fencepost.model.messages.subscription import TopicPartition
from fencepost.model.plans.steps import (
    Disconnect,
    EpochOf,
    Failover,
    IdOf,
    MoveCoordinator,
    Ms,
    OwnedOf,
    Pause,
    PlanStep,
    Request,
    instance_of,
)

Settings = Mapping[str, int | None]

SETTINGS: tuple[Settings, ...] = (
    {ASSIGNMENT_INTERVAL: 0},
    {},
    {ASSIGNMENT_INTERVAL: 0, MAX_SIZE: 2},
    {ASSIGNMENT_INTERVAL: 0, MAX_SIZE: 1},
)
"""Settings that are tried on a virtual clock, where they can be chosen."""

_SHORT_MS = 12_000
REAL_SETTINGS: tuple[Settings, ...] = (
    {ASSIGNMENT_INTERVAL: 0},
    {ASSIGNMENT_INTERVAL: 0, MAX_SIZE: 2, SESSION_TIMEOUT: _SHORT_MS},
    {SESSION_TIMEOUT: _SHORT_MS},
)
"""Settings that are tried on a real clock, if brokers with these can be started."""
FAILING_OVER = 1
"""First settings for which there is one broker more, for failovers: each is a process."""

_INT_MAX, _INT_MIN = 2**31 - 1, -(2**31)
_LONG = "long-" + "x" * 244
_FOREIGN = "grüße ✓ 組"
NOBODY = "stranger"
ALL = tuple(range(CASE_PARTITIONS))
_T, _U, _BOTH = CASE_TOPICS[:1], CASE_TOPICS[1:2], CASE_TOPICS
_HEARTBEAT = "ConsumerGroupHeartbeat"


def _owned(*partitions: tuple[str, int]) -> Any:
    return rows_of(TopicPartition(topic, number) for topic, number in partitions)


def _other(kind: type[IdOf | EpochOf | OwnedOf]) -> Any:
    """Return the draw of what another member knows."""

    def draw(random: Random, about: About) -> Any:
        return kind(random.choice(about.others)) if about.others else kind(about.who)

    return draw


def _others_id(random: Random, about: About) -> Any:
    return random.choice(about.others) if about.others else NOBODY


def _commit(topic: str, *numbers: int) -> CommitTopic:
    rows = tuple(CommitPartition(partition_index=n, committed_offset=n) for n in numbers)
    return CommitTopic(name=topic, partitions=rows)


def _fetch(topic: str, *numbers: int) -> FetchTopic:
    return FetchTopic(name=topic, partition_indexes=numbers)


def _deletion(topic: str, number: int) -> DeletableTopic:
    return DeletableTopic(name=topic, partitions=(DeletablePartition(partition_index=number),))


BOUNDARY_VALUES: tuple[BoundaryValue, ...] = (
    BoundaryValue("group_id", "empty", same("")),
    BoundaryValue("group_id", "elsewhere", lambda _, about: about.elsewhere),
    BoundaryValue("group_id", "long", same(_LONG)),
    BoundaryValue("group_id", "unicode", same(_FOREIGN)),
    BoundaryValue("member_id", "empty", same("")),
    BoundaryValue("member_id", "unknown", same(NOBODY)),
    BoundaryValue("member_id", "other's", _others_id),
    BoundaryValue("member_id", "other's of the broker", _other(IdOf)),
    BoundaryValue("member_id", "long", same(_LONG)),
    BoundaryValue("member_id", "unicode", same(_FOREIGN)),
    BoundaryValue("member_epoch", "0", same(0)),
    BoundaryValue("member_epoch", "1", same(1)),
    BoundaryValue("member_epoch", "next", lambda _, about: EpochOf(about.who, plus=1)),
    BoundaryValue("member_epoch", "much newer", lambda _, about: EpochOf(about.who, plus=7)),
    BoundaryValue("member_epoch", "one less", lambda _, about: EpochOf(about.who, plus=-1)),
    BoundaryValue("member_epoch", "previous", lambda _, about: EpochOf(about.who, back=1)),
    BoundaryValue("member_epoch", "older", lambda _, about: EpochOf(about.who, back=2)),
    BoundaryValue("member_epoch", "other's", _other(EpochOf)),
    BoundaryValue("member_epoch", "leaves", same(-1)),
    BoundaryValue("member_epoch", "is released", same(-2)),
    BoundaryValue("member_epoch", "below", same(-3)),
    BoundaryValue("member_epoch", "largest", same(_INT_MAX)),
    BoundaryValue("member_epoch", "least", same(_INT_MIN)),
    BoundaryValue("instance_id", "none", same(None)),
    BoundaryValue("instance_id", "empty", same("")),
    BoundaryValue("instance_id", "A", same("A")),
    BoundaryValue("instance_id", "B", same("B")),
    BoundaryValue("instance_id", "nobody's", same("Z")),
    BoundaryValue("instance_id", "long", same(_LONG)),
    BoundaryValue("instance_id", "unicode", same(_FOREIGN)),
    BoundaryValue("rack_id", "empty", same("")),
    BoundaryValue("rack_id", "a rack", same("rack")),
    BoundaryValue("rebalance_timeout_ms", "-1", same(-1)),
    BoundaryValue("rebalance_timeout_ms", "short", same(Ms("short rebalance"))),
    BoundaryValue("rebalance_timeout_ms", "largest", same(_INT_MAX)),
    BoundaryValue("subscribed_topic_names", "null", same(None)),
    BoundaryValue("subscribed_topic_names", "none", same(())),
    BoundaryValue("subscribed_topic_names", "one", same(_T)),
    BoundaryValue("subscribed_topic_names", "another", same(_U)),
    BoundaryValue("subscribed_topic_names", "both", same(_BOTH)),
    BoundaryValue("subscribed_topic_names", "missing", same((*_T, "missing"))),
    BoundaryValue("subscribed_topic_regex", "null", same(None)),
    BoundaryValue("server_assignor", "uniform", same("uniform")),
    BoundaryValue("server_assignor", "range", same("range")),
    BoundaryValue("server_assignor", "unknown", same("sticky")),
    BoundaryValue("server_assignor", "empty", same("")),
    BoundaryValue("topic_partitions", "null", same(None)),
    BoundaryValue("topic_partitions", "none", same(())),
    BoundaryValue("topic_partitions", "one", same(_owned(("t", 0)))),
    BoundaryValue("topic_partitions", "all", same(_owned(*((t, n) for t in _BOTH for n in ALL)))),
    BoundaryValue("topic_partitions", "of before", lambda _, about: OwnedOf(about.who, back=1)),
    BoundaryValue("topic_partitions", "other's", _other(OwnedOf)),
    BoundaryValue("generation_id", "next", lambda _, about: EpochOf(about.who, plus=1)),
    BoundaryValue("generation_id", "one less", lambda _, about: EpochOf(about.who, plus=-1)),
    BoundaryValue("generation_id", "previous", lambda _, about: EpochOf(about.who, back=1)),
    BoundaryValue("generation_id", "none", same(-1)),
    BoundaryValue("generation_id", "released", same(-2)),
    BoundaryValue("generation_id", "0", same(0)),
    BoundaryValue("generation_id", "largest", same(_INT_MAX)),
    BoundaryValue("generation_id", "least", same(_INT_MIN)),
    BoundaryValue("group_instance_id", "own", lambda _, about: instance_of(about.who)),
    BoundaryValue("group_instance_id", "A", same("A")),
    BoundaryValue("group_instance_id", "nobody's", same("Z")),
    BoundaryValue("topics", "none", same(())),
    BoundaryValue("topics", "missing", lambda _, about: (_commit(about.no_topic, 0),)),
    BoundaryValue("topics", "no partition", same((_commit("t", 99),))),
    BoundaryValue("topics", "all", same((_commit("t", *ALL),))),
    BoundaryValue("topics", "two", same((_commit("t", 0), _commit("u", 0)))),
    BoundaryValue("fetched", "nothing", same(())),
    BoundaryValue(
        "fetched", "missing", lambda _, about: (_fetch(about.no_topic, 0), _fetch("t", 0))
    ),
    BoundaryValue("fetched", "everything", same(None)),
    BoundaryValue("groups", "unknown", same(("nowhere",))),
    BoundaryValue("groups", "both", lambda _, about: (about.home, about.elsewhere)),
    BoundaryValue("groups_names", "unknown", same(("nowhere",))),
    BoundaryValue("group_ids", "none", same(())),
    BoundaryValue("group_ids", "unknown", same(("nowhere",))),
    BoundaryValue("group_ids", "both", lambda _, about: (about.home, about.elsewhere)),
)
"""Values that no correct client would send there and then, by field of a request."""

_BY_FIELD = boundary_values_by_field(BOUNDARY_VALUES)

_BENT, _OLD, _HURRY = 0.2, 0.25, 0.02
_NAMELESS = 0.3
"""Chance that a member of version 0 leaves it to the broker to make its id."""
_LONGEST_PAUSE_MS = 15_000
"""The longest session timeout that a plan lets pass on a real clock."""

_PAUSES: WeightedPauses = (
    (4, Pause((Ms("short rebalance"),))),
    (2, Pause((Ms("short rebalance"),), minus=True)),
    (1, Pause(margins=1)),
)
_SESSION_PAUSES: WeightedPauses = (
    (3, Pause((Ms("group session"),))),
    (2, Pause((Ms("group session"),), minus=True)),
    (2, Pause((Ms("group session"),), parts=2)),
)
_LONG_PAUSES: WeightedPauses = (
    (1, Pause((Ms("rebalance"),))),
    (1, Pause((Ms("rebalance"),), minus=True)),
)
"""Only on a virtual clock."""

_API = {
    "join": _HEARTBEAT,
    "beat": _HEARTBEAT,
    "release": _HEARTBEAT,
    "leave": _HEARTBEAT,
    "commit": "OffsetCommit",
    "transact": "TxnOffsetCommit",
    "fetch": "OffsetFetch",
    "describe": "ConsumerGroupDescribe",
    "describe as classic": "DescribeGroups",
    "remove": "LeaveGroup",
    "delete": "DeleteGroups",
    "list": "ListGroups",
    "offsets": "OffsetDelete",
}
_BY_ID = ("OffsetCommit", "OffsetFetch")
_OF_ADMIN = frozenset({"describe", "describe as classic", "delete", "remove", "list", "offsets"})
_REGEX_SINCE, _FETCH_GROUPS_SINCE, _MEMBER_FETCHES_SINCE = 1, 8, 9


def draw_participants(random: Random, config: Config) -> Participants:
    """Draw the members of a plan."""
    return step_drawer.draw_participants(random, config, (2, 3, 4), 2, 0.15)


class ConsumerDrawer(StepDrawer):
    """Draws steps for one dry run."""

    boundaries = _BY_FIELD
    any_topic = "t"
    dutiful = 0.6

    def __init__(self, random: Random, dry_run: DryRun, participants: Participants) -> None:
        super().__init__(random, dry_run, participants)
        session_ms = participants.config.get(SESSION_TIMEOUT) or 0
        pauses = _PAUSES
        if self._virtual or session_ms <= _LONGEST_PAUSE_MS:
            pauses += _SESSION_PAUSES
        self._pauses = (*pauses, *_LONG_PAUSES) if self._virtual else pauses

    def draw(self) -> PlannedStep:
        """Draw a step; its word says what kind of request it is, and what is unusual about it."""
        who = self._somebody()
        chance = self._random.random()
        if chance < 0.05:
            return self._pause()
        if chance < 0.06:
            return PlannedStep(Disconnect(who), word="disconnect")
        if chance < 0.06 + self._failover:
            return self._takeover()
        again = self._again(who) if chance > 1 - AGAIN else None
        return again or self._request(who, self._kind(who))

    def _group(self, who: str) -> ConsumerGroup | None:
        group: ConsumerGroup | None = self._dry_run.group(self._participants.homes.get(who, "g"))
        return group

    def _id(self, who: str) -> Any:
        """Return its id: the client makes it, unless the broker told it another one."""
        ids = self._dry_run.knowledge.of_member(who).ids
        return IdOf(who) if ids and ids[-1] != who else who

    def _seat(self, who: str) -> Member | None:
        """Find the member in its group."""
        group = self._group(who)
        ids = self._dry_run.knowledge.of_member(who).ids
        return None if group is None else group.member(ids[-1] if ids else who)

    def _is_due(self, who: str) -> bool:
        group, member = self._group(who), self._seat(who)
        if group is None:
            return False
        if member is None:
            holder = group.member(group.holder(instance_of(who) or "") or "")
            return holder is not None and holder.is_released
        return not (member.is_released or group.is_reconciled(member))

    def _kind(self, who: str) -> str:
        member = self._seat(who)
        weights = {
            "join": 1.0,
            "beat": 1.0,
            "release": 0.4,
            "leave": 0.4,
            "commit": 0.8,
            "transact": 0.3,
            "fetch": 0.5,
            "describe": 1.5,
            "describe as classic": 0.15,
            "remove": 0.4,
            "delete": 0.15,
            "list": 0.15,
            "offsets": 0.3,
        }
        if member is None:
            weights["join"] = 10.0
        elif member.is_released:
            weights |= {"join": 3.0, "release": 0.3, "leave": 0.5}
        elif self._is_due(who):
            weights |= {"beat": 12.0}
        else:
            weights |= {"beat": 3.0, "release": 1.5 if member.is_static else 0.3}
        kinds = [kind for kind in weights if _API[kind] in self._dry_run.hello.apis]
        return self._random.choices(kinds, [weights[kind] for kind in kinds])[0]

    def _request(self, who: str, kind: str) -> PlannedStep:
        random, api = self._random, _API[kind]
        versions = self._dry_run.hello.versions(api)
        version = random.choice(versions) if random.random() < _OLD else versions[-1]
        fields, word = (
            self._fields(who, kind, version),
            f"{api} {kind}" if api == _HEARTBEAT else api,
        )
        if random.random() < _BENT:
            fields, boundary = self._bent(who, api, fields)
            word = api if boundary is None else f"{api} {boundary.id}"
        carried = carried_fields(ALL_APIS[api].request, version)
        if api in _BY_ID and version >= BY_ID_SINCE:
            fields = {**fields, **_by_ids(fields)}
        if "fetched" in fields:
            fields = _fetching(fields, version)
        fields = {name: value for name, value in fields.items() if name in carried}
        sender = "admin" if kind in _OF_ADMIN else who
        return PlannedStep(
            Request("", sender, api, fields, version), random.random() < _HURRY, word
        )

    def _bent(
        self, who: str, api: str, fields: dict[str, Any]
    ) -> tuple[dict[str, Any], BoundaryValue | None]:
        """Put a boundary value into a field; of a removal into a field of a row."""
        random, about = self._random, self._about(who)
        if api != "LeaveGroup":
            boundary = draw_boundary_value(random, api, fields, _BY_FIELD)
            if boundary is None:
                return fields, None
            return {**fields, boundary.field: boundary.draw(random, about)}, boundary
        names = ("member_id", "group_instance_id", "group_id")
        boundary = draw_boundary_value(random, api, names, _BY_FIELD)
        rows = fields["members"]
        if boundary is None or not rows:
            return fields, None
        value = boundary.draw(random, about)
        if boundary.field == "group_id":
            return {**fields, "group_id": value}, boundary
        at = random.randrange(len(rows))
        row = msgspec.structs.replace(rows[at], **{boundary.field: value})
        return {**fields, "members": (*rows[:at], row, *rows[at + 1 :])}, boundary

    def _fields(self, who: str, kind: str, version: int) -> dict[str, Any]:
        """Fill in the fields that a correct client sends, as far as the version has them."""
        random = self._random
        home = self._participants.homes[who]
        group: dict[str, Any] = {"group_id": home}
        heartbeat = {**group, "member_id": self._id(who), "instance_id": instance_of(who)}
        match kind:
            case "join":
                nameless = version < _REGEX_SINCE and random.random() < _NAMELESS
                return {
                    **heartbeat,
                    "member_id": "" if nameless else heartbeat["member_id"],
                    "member_epoch": 0,
                    "rebalance_timeout_ms": Ms(
                        "short rebalance" if random.random() < 0.3 else "rebalance"
                    ),
                    "subscribed_topic_names": random.choice((_T, _T, _T, _BOTH, _U)),
                    "subscribed_topic_regex": "",
                    "server_assignor": random.choice((None, None, None, "uniform", "range")),
                    "rack_id": None,
                    "topic_partitions": (),
                }
            case "beat":
                return {**heartbeat, "member_epoch": self._epoch(who), **self._statement(who)}
            case "release" | "leave":
                return {**heartbeat, "member_epoch": -2 if kind == "release" else -1}
            case "commit":
                return {**self._committer(who), "topics": (_commit(*self._place()),)}
            case "transact":
                topic, number = self._place()
                row = TxnCommitPartition(partition_index=number, committed_offset=number)
                rows = (TxnCommitTopic(name=topic, partitions=(row,)),)
                return {**self._committer(who), "transactional_id": who, "topics": rows}
            case "fetch":
                topic, number = self._place()
                by_nobody = random.random() < 0.2
                return {
                    **group,
                    "member_id": None if by_nobody else self._id(who),
                    "generation_id": -1 if by_nobody else self._epoch(who),
                    "fetched": (_fetch(topic, number),),
                    "require_stable": random.random() < 0.2,
                }
            case "describe":
                return {"group_ids": (home,)}
            case "describe as classic":
                return {"groups": (home,)}
            case "delete":
                return {"groups_names": (home,)}
            case "list":
                return {"states_filter": (), "types_filter": ()}
            case "offsets":
                topic, number = self._place()
                return {**group, "topics": (_deletion(topic, number),)}
            case _:
                return {**group, "members": self._rows(who)}

    def _epoch(self, who: str) -> EpochOf:
        """Return the member's epoch, or that before it was released."""
        epochs = self._dry_run.knowledge.of_member(who).epochs
        return EpochOf(who, back=1) if epochs and epochs[-1] < 0 else EpochOf(who)

    def _statement(self, who: str) -> dict[str, Any]:
        """Return what a heartbeat says beside its epoch: what it owns, rarely all that it is."""
        random = self._random
        chance = random.random()
        owned: Any = OwnedOf(who) if chance < 0.75 else None if chance < 0.9 else ()
        statement: dict[str, Any] = {"topic_partitions": owned}
        if random.random() < 0.1:
            topics = random.choice((_T, _BOTH, _U))
            statement |= {"subscribed_topic_names": topics, "subscribed_topic_regex": ""}
        if random.random() < 0.06:
            statement["server_assignor"] = random.choice(("uniform", "range"))
        if random.random() < 0.06:
            statement["rebalance_timeout_ms"] = Ms("rebalance")
        return statement

    def _place(self) -> tuple[str, int]:
        random = self._random
        topic = "t" if random.random() < 0.8 else "u"
        return topic, random.choice(ALL) if topic == "t" else 0

    def _committer(self, who: str) -> dict[str, Any]:
        """Return the fields that name who commits: a member, or sometimes nobody."""
        group = {"group_id": self._participants.homes[who]}
        if self._random.random() < 0.15:
            return {**group, "member_id": "", "generation_id": -1, "group_instance_id": None}
        return {
            **group,
            "member_id": self._id(who),
            "generation_id": self._epoch(who),
            "group_instance_id": None,
        }

    def _rows(self, who: str) -> tuple[LeavingMember, ...]:
        """Return the members that an administrator removes: mostly one, sometimes several."""
        random = self._random

        def row(name: str) -> LeavingMember:
            by = random.random()
            instance = instance_of(name)
            if by < 0.4 and instance is not None:
                return LeavingMember(member_id="", group_instance_id=instance)
            both = instance if by < 0.7 else None
            return LeavingMember(member_id=self._id(name), group_instance_id=both)

        if random.random() < 0.7:
            return (row(who),)
        everybody = list(self._participants.homes)
        return tuple(row(random.choice(everybody)) for _ in range(random.randint(0, 3)))


def _by_ids(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the topics of a commit or fetch, named by their ids."""
    return {
        key: tuple(
            msgspec.structs.replace(topic, name="", topic_id=topic_id(topic.name))
            for topic in fields[key]
        )
        for key in ("topics", "fetched")
        if fields.get(key)
    }


def _fetching(fields: dict[str, Any], version: int) -> dict[str, Any]:
    """Write a fetch in the form of its version."""
    topics, group = fields["fetched"], fields["group_id"]
    rest = {"require_stable": fields["require_stable"]}
    if version < _FETCH_GROUPS_SINCE:
        return {**rest, "group_id": group, "topics": topics}
    member = {}
    if version >= _MEMBER_FETCHES_SINCE:
        member = {"member_id": fields["member_id"], "member_epoch": fields["generation_id"]}
    return {**rest, "groups": (FetchGroup(group_id=group, topics=topics, **member),)}


@lru_cache(maxsize=1024)
def group_shape(group: ConsumerGroup | None) -> GroupShape:
    """Describe a group without names and numbers: of each kind of member none, one or several."""
    if group is None:
        return ("absent",)
    kinds = (
        (
            member.is_static,
            member.is_released,
            member.phase.value,
            member.epoch == group.epoch,
            bool(member.assigned),
        )
        for member in group.members
    )
    ids = {member.member_id: member.instance_id for member in group.members}
    return (
        group.state.value,
        group.is_simple,
        few_of_each(kinds),
        group.epoch == group.target_epoch,
        any(ids.get(member_id) != instance for instance, member_id in group.static),
        bool(group.offsets),
    )


def is_risky(steps: Iterable[PlanStep]) -> bool:
    """Tell if a plan may kill its target: a restart, or a heartbeat on which some abort.

    The mock aborts on an empty member id, on an epoch below -2, and on a null expression (see
    `fencepost.conformance.targets.brokers.mock`).
    """
    return any(
        isinstance(step, Failover | MoveCoordinator)
        or (isinstance(step, Request) and step.api == _HEARTBEAT and _aborts_some(step.fields))
        for step in steps
    )


def _aborts_some(fields: Mapping[str, Any]) -> bool:
    epoch = fields.get("member_epoch")
    return (
        fields.get("member_id") == ""
        or (isinstance(epoch, int) and epoch < -2)
        or fields.get("subscribed_topic_regex", "") is None
    )
