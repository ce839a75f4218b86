"""Draw the next step of a plan, depending on the state of its sender in the group.

Who has no id joins, who was told a generation syncs, and who is in a stable group does anything.
Most requests are what a correct client would send; a few have one field changed, see
`boundary_values`.  Any request may be sent twice, on a second connection, too late, or by a member
whose connection drops at once.

Boundary values: for each field of a request, values that no correct client would send.

Mostly one field of a request is changed at a time, so that a failure is due to that field.  Values
stay within what the wire format can say and what a coordinator is responsible for: a topic that
doesn't exist is named `missing`, as everywhere here, and texts are long, but none is longer than
Kafka's storage of it can hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

import msgspec

from fencepost.conformance.cases.script import BOTH, RANGE, RENEWED, ROUNDROBIN, subscription
from fencepost.conformance.search.fuzz import step_drawer
from fencepost.conformance.search.fuzz.dry_run import DryRun, PlannedStep
from fencepost.conformance.search.fuzz.step_drawer import (
    AGAIN,
    INSTANCES,
    SECOND,
    About,
    BoundaryValue,
    Draw,
    Participants,
    StepDrawer,
    WeightedPauses,
    boundary_values_by_field,
    draw_boundary_value,
    same,
)
from fencepost.conformance.targets.tcp.namespacing import OWN
from fencepost.model.classic.group import Member
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.coordinator import METADATA_LIMIT, RECORD_LIMIT, Config
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.messages import (
    CommitPartition,
    CommitTopic,
    DeletablePartition,
    DeletableTopic,
    FetchGroup,
    FetchTopic,
    JoinProtocol,
    LeavingMember,
    SyncAssignment,
    TxnCommitPartition,
    TxnCommitTopic,
    carried_fields,
)
from fencepost.model.plans.plan_order import DELAY
from fencepost.model.plans.steps import (
    AssignmentsIfLeader,
    AssignmentsToAll,
    DeleteTopics,
    Disconnect,
    Failover,
    GenerationOf,
    IdOf,
    MoveCoordinator,
    Ms,
    Pause,
    PlanStep,
    ProtocolOf,
    Request,
    instance_of,
)

_INT_MAX, _INT_MIN = 2**31 - 1, -(2**31)
_LONG = "long-" + "x" * 244
_LONGER = "longer-" + "x" * 1000
_FOREIGN = "grüße ✓ 組"
_LARGE = 100_000


def _other(random: Random, about: About) -> Any:
    return IdOf(random.choice(about.others)) if about.others else "stranger"


def _setting(key: str, plus: int) -> Draw:
    def draw(random: Random, about: About) -> Any:
        del random
        return min((about.config.get(key) or 0) + plus, _INT_MAX)

    return draw


def _offers(*pairs: tuple[str, bytes]) -> Draw:
    return same(tuple(JoinProtocol(name=name, metadata=metadata) for name, metadata in pairs))


def _commit(name: str, offset: int, metadata: str | None = "") -> CommitTopic:
    row = CommitPartition(partition_index=0, committed_offset=offset, committed_metadata=metadata)
    return CommitTopic(name=name, partitions=(row,))


def _twice_to_self(random: Random, about: About) -> Any:
    del random
    own: Any = IdOf(about.who)
    return tuple(SyncAssignment(member_id=own, assignment=share) for share in (b"one", b"two"))


_MIN, _MAX = "group.min.session.timeout.ms", "group.max.session.timeout.ms"
_TOPIC_T = subscription("t")

BOUNDARY_VALUES: tuple[BoundaryValue, ...] = (
    BoundaryValue("group_id", "empty", same("")),
    BoundaryValue("group_id", "elsewhere", lambda _, about: about.elsewhere),
    BoundaryValue("group_id", "long", same(_LONG)),
    BoundaryValue("group_id", "unicode", same(_FOREIGN)),
    BoundaryValue("member_id", "empty", same("")),
    BoundaryValue("member_id", "unknown", same("stranger")),
    BoundaryValue("member_id", "other's", _other),
    BoundaryValue("member_id", "earlier", lambda _, about: IdOf(about.who, back=1)),
    BoundaryValue("member_id", "long", same(_LONGER)),
    BoundaryValue("member_id", "unicode", same(_FOREIGN)),
    BoundaryValue("group_instance_id", "none", same(None)),
    BoundaryValue("group_instance_id", "empty", same("")),
    BoundaryValue("group_instance_id", "A", same("A")),
    BoundaryValue("group_instance_id", "B", same("B")),
    BoundaryValue("group_instance_id", "nobody's", same("Z")),
    BoundaryValue("group_instance_id", "long", same(_LONG)),
    BoundaryValue("group_instance_id", "unicode", same(_FOREIGN)),
    BoundaryValue("generation_id", "next", lambda _, about: GenerationOf(about.who, plus=1)),
    BoundaryValue("generation_id", "earlier", lambda _, about: GenerationOf(about.who, plus=-1)),
    BoundaryValue("generation_id", "none", same(-1)),
    BoundaryValue("generation_id", "0", same(0)),
    BoundaryValue("generation_id", "largest", same(_INT_MAX)),
    BoundaryValue("generation_id", "least", same(_INT_MIN)),
    BoundaryValue("session_timeout_ms", "-1", same(-1)),
    BoundaryValue("session_timeout_ms", "0", same(0)),
    BoundaryValue("session_timeout_ms", "1", same(1)),
    BoundaryValue("session_timeout_ms", "below the least", _setting(_MIN, -1)),
    BoundaryValue("session_timeout_ms", "the least", _setting(_MIN, 0)),
    BoundaryValue("session_timeout_ms", "the most", _setting(_MAX, 0)),
    BoundaryValue("session_timeout_ms", "above the most", _setting(_MAX, 1)),
    BoundaryValue("session_timeout_ms", "largest", same(_INT_MAX)),
    BoundaryValue("session_timeout_ms", "least number", same(_INT_MIN)),
    BoundaryValue("rebalance_timeout_ms", "-1", same(-1), rare=True),
    BoundaryValue("rebalance_timeout_ms", "0", same(0), rare=True),
    BoundaryValue("rebalance_timeout_ms", "1", same(1), rare=True),
    BoundaryValue("rebalance_timeout_ms", "short", same(Ms("short rebalance"))),
    BoundaryValue("rebalance_timeout_ms", "largest", same(_INT_MAX)),
    BoundaryValue("protocol_type", "empty", same("")),
    BoundaryValue("protocol_type", "another", same("connect")),
    BoundaryValue("protocol_name", "another", same("sticky")),
    BoundaryValue("protocol_name", "empty", same("")),
    BoundaryValue("protocols", "none", same(())),
    BoundaryValue("protocols", "another", _offers(*ROUNDROBIN)),
    BoundaryValue("protocols", "both", _offers(*BOTH)),
    BoundaryValue("protocols", "both turned", _offers(*reversed(BOTH))),
    BoundaryValue("protocols", "renewed", _offers(*RENEWED)),
    BoundaryValue("protocols", "twice", _offers(("range", _TOPIC_T), ("range", subscription("u")))),
    BoundaryValue("protocols", "no metadata", _offers(("range", b""))),
    BoundaryValue(
        "protocols", "many", _offers(("range", _TOPIC_T), *((f"p{i}", b"") for i in range(50)))
    ),
    BoundaryValue("protocols", "large", _offers(("range", _TOPIC_T + b"\0" * _LARGE)), rare=True),
    BoundaryValue("assignments", "none", same(())),
    BoundaryValue(
        "assignments",
        "to a stranger",
        same((SyncAssignment(member_id="stranger", assignment=b"s"),)),
    ),
    BoundaryValue("assignments", "twice", _twice_to_self),
    BoundaryValue(
        "assignments",
        "large",
        lambda _, about: AssignmentsToAll(about.who, b"\0" * _LARGE),
        rare=True,
    ),
    BoundaryValue("topics", "none", same(())),
    BoundaryValue("topics", "missing", lambda r, about: (_commit(about.no_topic, r.randrange(9)),)),
    BoundaryValue(
        "topics",
        "two",
        lambda r, about: (_commit("t", r.randrange(9)), _commit(about.no_topic, 1)),
    ),
    BoundaryValue("topics", "offset 0", same((_commit("t", 0),))),
    BoundaryValue("topics", "largest offset", same((_commit("t", 2**63 - 1),))),
    BoundaryValue("topics", "metadata", same((_commit("t", 5, _FOREIGN),))),
    BoundaryValue("topics", "no metadata", same((_commit("t", 6, None),))),
    BoundaryValue("fetched", "nothing", same(())),
    BoundaryValue("fetched", "everything", same(None)),
    BoundaryValue(
        "fetched", "missing", same((FetchTopic(name="missing", partition_indexes=(0,)),))
    ),
    BoundaryValue("groups", "none", same(())),
    BoundaryValue("groups", "empty", same(("",))),
    BoundaryValue("groups", "both", lambda _, about: (about.home, about.elsewhere)),
    BoundaryValue("groups", "unknown", same(("nowhere",))),
    BoundaryValue("groups_names", "none", same(())),
    BoundaryValue("groups_names", "both", lambda _, about: (about.home, about.elsewhere)),
    BoundaryValue("groups_names", "unknown", same(("nowhere",))),
    BoundaryValue("states_filter", "Stable", same(("Stable",))),
    BoundaryValue("states_filter", "Empty", same(("Empty", "Dead"))),
    BoundaryValue("states_filter", "unknown", same(("Nonsense",))),
    BoundaryValue("types_filter", "classic", same(("classic",))),
    BoundaryValue("types_filter", "another", same(("consumer",))),
)

_BY_FIELD = boundary_values_by_field(BOUNDARY_VALUES)


def is_about_unnamed_group(ask: Request) -> bool:
    """Tell if a request is about the group with the empty name.

    That group has the same name for everybody who shares a broker, so it may hold anything.
    """
    if ask.api not in {"OffsetCommit", "OffsetFetch", "DescribeGroups"}:
        return False
    named = [ask.fields.get("group_id"), *ask.fields.get("groups", ())]
    return "" in [getattr(name, "group_id", name) for name in named]


LIMITED: Mapping[str, int | None] = {DELAY: 0, RECORD_LIMIT: 2000, METADATA_LIMIT: 3000}
"""Settings with which some of what is sent can't be stored."""

_SIZES = (0, 0, 0, 0, 2000, 3001)
"""Bytes that a member then sends beside what is needed."""
CLEANER = "offsets.retention.check.interval.ms"
_RETENTIONS_MS = (-1, -1, -1, 0, 1, 2000, 600_000)
_RETAINS = 4
"""The last version of OffsetCommit that carries a retention."""

_BENT, _OLD, _HURRY = 0.22, 0.45, 0.07
_DELETE, _OWN = 0.02, 0.4
"""Chance that a step deletes the topic that a plan may delete, and that a commit is for it."""
_FETCH_GROUPS_SINCE, _ROWS_SINCE = 8, 3

_PAUSES: WeightedPauses = (
    (4, Pause((Ms("short session"),))),
    (2, Pause((Ms("short session"),), minus=True)),
    (2, Pause((Ms("short session"),), parts=2)),
    (4, Pause((Ms("short rebalance"),))),
    (2, Pause((Ms("short rebalance"),), minus=True)),
    (2, Pause((Ms("delay"),))),
    (1, Pause(margins=1)),
)
_LONG_PAUSES: WeightedPauses = (
    (1, Pause((Ms("session"),))),
    (1, Pause((Ms("session"),), minus=True)),
    (1, Pause((Ms("rebalance"),))),
    (1, Pause((Ms("rebalance"),), minus=True)),
)
"""Only on a virtual clock."""


SIZE = "group.max.size"

SETTINGS: tuple[Mapping[str, int | None], ...] = (
    {DELAY: 0},
    {},
    {DELAY: 0, SIZE: 2},
    {SIZE: 1},
)
"""Settings that are tried on a virtual clock, where they can be chosen."""

REAL_SETTINGS: tuple[Mapping[str, int | None], ...] = (
    {},
    {DELAY: 0, SIZE: 2},
    {DELAY: 3000, SIZE: 3},
    {DELAY: 0, CLEANER: 1000},
)
"""Settings that are tried on a real clock, if brokers with these can be started: the first are the
target's own.  What a target doesn't have is left out."""

PAIR_SETTINGS: tuple[Mapping[str, int | None], ...] = ({DELAY: 0}, {DELAY: 3000})
"""Settings under which two targets are compared that can both choose them."""

FAILING_OVER = 2
"""First settings for which there is one broker more, for failovers: each is a process."""


def draw_participants(random: Random, config: Config) -> Participants:
    """Draw the members of a plan."""
    return step_drawer.draw_participants(random, config, (2, 3, 5), 3, 0.3)


class Drawer(StepDrawer):
    """Draws steps for one dry run."""

    boundaries = _BY_FIELD
    any_topic = "u"
    dutiful = 0.7

    def __init__(self, random: Random, dry_run: DryRun, participants: Participants) -> None:
        super().__init__(random, dry_run, participants)
        self._pauses = (*_PAUSES, *_LONG_PAUSES) if self._virtual else _PAUSES
        self._deletes = _DELETE if "delete-topics" in dry_run.hello.features else 0.0

    def draw(self) -> PlannedStep:
        """Draw a step; its word says what kind of request it is, and what is unusual about it."""
        random = self._random
        who = self._somebody()
        if self._dry_run.waits(who):
            return self._of_one_who_waits(who)
        chance = random.random()
        if chance < 0.06:
            return self._pause()
        if chance < 0.08:
            return PlannedStep(Disconnect(who), word="disconnect")
        if 0.08 <= chance < 0.08 + self._failover:
            return self._takeover()
        if 0 <= chance - 0.08 - self._failover < self._deletes:
            return PlannedStep(DeleteTopics((OWN,)), word="delete-topics")
        again = self._again(who) if chance > 1 - AGAIN else None
        return again or self._request(who, self._kind(who))

    def _of_one_who_waits(self, who: str) -> PlannedStep:
        """Most likely time passes; or the member gives up; or it uses a second connection."""
        random = self._random
        chance = random.random()
        if chance < 0.3:
            return self._pause()
        if chance < 0.5:
            return PlannedStep(Disconnect(who), word="disconnect")
        if not self._virtual and chance < 0.5 + self._failover:
            return self._takeover()  # while its request is parked
        if self._dry_run.waits(who + SECOND):
            return PlannedStep(Disconnect(who + SECOND), word="disconnect")
        return self._request(who, self._kind(who), who + SECOND)

    def _is_due(self, who: str) -> bool:
        group, member = self._dry_run.group(self._participants.homes[who]), self._seat(who)
        if group is None or member is None or self._dry_run.waits(who):
            return False
        if group.state is GroupState.PREPARING:
            return member.joining is None
        return member.owes_sync

    def _seat(self, who: str) -> Member | None:
        """Find the member in its group, as far as it knows its id."""
        group = self._dry_run.group(self._participants.homes[who])
        ids = self._dry_run.knowledge.of_member(who).ids
        return group.member(ids[-1]) if group is not None and ids else None

    def _kind(self, who: str) -> str:
        group = self._dry_run.group(self._participants.homes[who])
        member = self._seat(who)
        state = GroupState.ABSENT if group is None else group.state
        weights = {
            "join": 3.0,
            "sync": 1.0,
            "beat": 1.5,
            "commit": 1.2,
            "leave": 0.8,
            "remove": 0.5,
            "batch": 0.3,
            "fetch": 0.5,
            "describe": 0.5,
            "list": 0.3,
        }
        optional = {"delete": 0.3, "transact": 0.6, "offsets": 0.3}
        weights |= {k: w for k, w in optional.items() if _API[k] in self._dry_run.hello.apis}
        if member is None:
            replaces = group is not None and group.holder(instance_of(who) or "") is not None
            weights["join"] = 4.0 if state is GroupState.STABLE and not replaces else 12.0
        elif state is GroupState.PREPARING and member.joining is None:
            weights["join"] = 16.0
        elif member.owes_sync:
            weights["sync"] = 24.0
        elif state is GroupState.STABLE:
            weights |= {"join": 1.5, "beat": 3.0}
        kinds = list(weights)
        return self._random.choices(kinds, [weights[kind] for kind in kinds])[0]

    def _request(self, who: str, kind: str, connection: str | None = None) -> PlannedStep:
        random = self._random
        api = _API[kind]
        versions = self._dry_run.hello.versions(api)
        if not versions:
            api, kind = "JoinGroup", "join"
            versions = self._dry_run.hello.versions(api)
        version = random.choice(versions) if random.random() < _OLD else versions[-1]
        sender = "admin" if kind in {"describe", "list", "delete", "offsets"} else who
        fields = self._fields(who, kind)
        word = api
        if random.random() < _BENT:
            fields, boundary = self._boundary_fields(who, kind, fields)
            word = f"{api} {boundary.id}" if boundary is not None else api
        if fields.get("retention_time_ms", -1) >= 0:
            version = min(version, max((v for v in versions if v <= _RETAINS), default=version))
        carried = carried_fields(ALL_APIS[api].request, version)
        if "fetched" in fields:
            fields = _fetching(fields, version)
        fields = {name: value for name, value in fields.items() if name in carried}
        ask = Request("", sender, api, fields, version, connection=connection)
        return PlannedStep(ask, random.random() < _HURRY, word)

    def _boundary_fields(
        self, who: str, kind: str, fields: dict[str, Any]
    ) -> tuple[dict[str, Any], BoundaryValue | None]:
        random = self._random
        if kind in {"leave", "remove", "batch"}:
            boundary = draw_boundary_value(
                random, _API[kind], ("member_id", "group_instance_id", "group_id"), _BY_FIELD
            )
            if boundary is None:
                return fields, None
            if boundary.field == "group_id":
                return {**fields, "group_id": boundary.draw(random, self._about(who))}, boundary
            value = boundary.draw(random, self._about(who))
            rows = fields["members"] or self._rows(who, "leave")
            at = random.randrange(len(rows))
            row = msgspec.structs.replace(rows[at], **{boundary.field: value})
            old = {"member_id": value} if boundary.field == "member_id" else {}
            return {**fields, **old, "members": (*rows[:at], row, *rows[at + 1 :])}, boundary
        boundary = draw_boundary_value(random, _API[kind], fields, _BY_FIELD)
        if boundary is None:
            return fields, None
        return {**fields, boundary.field: boundary.draw(random, self._about(who))}, boundary

    def _more(self) -> int:
        """Choose the bytes to send beside what is needed: sometimes more than can be stored."""
        limit = self._participants.config.get(RECORD_LIMIT)
        return self._random.choice(_SIZES) if limit == LIMITED[RECORD_LIMIT] else 0

    def _fields(self, who: str, kind: str) -> dict[str, Any]:
        """Fill in the fields that a correct client sends, whatever the version."""
        random = self._random
        home = self._participants.homes[who]
        group: dict[str, Any] = {"group_id": home}
        member = {**group, "member_id": IdOf(who), "group_instance_id": instance_of(who)}
        match kind:
            case "join":
                long = random.random() < 0.3
                return {
                    **member,
                    "session_timeout_ms": Ms("session" if long else "short session"),
                    "rebalance_timeout_ms": Ms(
                        "rebalance" if random.random() < 0.3 else "short rebalance"
                    ),
                    "protocol_type": "consumer",
                    "protocols": tuple(
                        JoinProtocol(name=n, metadata=m + bytes(self._more())) for n, m in RANGE
                    ),
                    "reason": random.choice([None, "why not"]),
                }
            case "sync":
                assigned = random.random()
                assignments = (
                    AssignmentsToAll(who, b"yours" + bytes(self._more()))
                    if assigned < 0.7
                    else AssignmentsIfLeader(who, ((IdOf(who), b"mine"),))
                )
                fit = random.random() < 0.9
                return {
                    **member,
                    "generation_id": GenerationOf(who),
                    "protocol_type": ProtocolOf(who, "type") if fit else None,
                    "protocol_name": ProtocolOf(who, "name") if fit else None,
                    "assignments": assignments,
                }
            case "beat":
                return {**member, "generation_id": GenerationOf(who)}
            case "commit":
                part = CommitPartition(**self._offset())
                topics = (CommitTopic(name=self._topic(), partitions=(part,)),)
                return {**self._committer(who), **self._retention(), "topics": topics}
            case "transact":
                row = TxnCommitPartition(**self._offset())
                rows = (TxnCommitTopic(name=self._topic(), partitions=(row,)),)
                return {**self._committer(who), "transactional_id": who, "topics": rows}
            case "fetch":
                return {
                    **group,
                    "fetched": (FetchTopic(name=self._topic(), partition_indexes=(0,)),),
                    "require_stable": random.random() < 0.2,
                }
            case "describe":
                return {"groups": (home,)}
            case "delete":
                return {"groups_names": (home,)}
            case "offsets":
                return {**group, "topics": (self._unread(who),)}
            case "list":
                return {"states_filter": (), "types_filter": ()}
            case _:
                return {**group, "member_id": IdOf(who), "members": self._rows(who, kind)}

    def _offset(self) -> dict[str, Any]:
        return {
            "partition_index": 0,
            "committed_offset": self._random.randrange(9),
            "committed_metadata": "m" * self._more(),
        }

    def _retention(self) -> dict[str, int]:
        """Return the retention that a commit asks for, in ms, where a cleaner passes by at all."""
        if self._participants.config.get(CLEANER) is None:
            return {}
        return {"retention_time_ms": self._random.choice(_RETENTIONS_MS)}

    def _committer(self, who: str) -> dict[str, Any]:
        """Return the fields that name who commits: a member, or sometimes nobody."""
        group = {"group_id": self._participants.homes[who]}
        if self._random.random() < 0.2:
            return {**group, "member_id": "", "generation_id": -1}
        member = {"member_id": IdOf(who), "group_instance_id": instance_of(who)}
        return {**group, **member, "generation_id": GenerationOf(who)}

    def _topic(self) -> str:
        return OWN if self._deletes and self._random.random() < _OWN else "t"

    def _unread(self, who: str) -> DeletableTopic:
        """Draw the topic of a deletion.

        On a shared broker the topic has another name than in subscriptions, so there only one that
        doesn't exist is asked about.
        """
        is_shared = self._dry_run.hello.clock != "virtual"
        name = self._topic()
        if is_shared or self._random.random() < _BENT:
            name = self._about(who).no_topic
        return DeletableTopic(name=name, partitions=(DeletablePartition(partition_index=0),))

    def _rows(self, who: str, kind: str) -> tuple[LeavingMember, ...]:
        random = self._random

        def row(name: str, *, by_id: bool = True) -> LeavingMember:
            member_id: Any = IdOf(name) if by_id else ""
            return LeavingMember(member_id=member_id, group_instance_id=instance_of(name))

        if kind == "leave":
            return (row(who),)
        if kind == "remove":
            return (LeavingMember(member_id="", group_instance_id=random.choice(INSTANCES)),)
        everybody = list(self._participants.homes)
        named = [random.choice(everybody) for _ in range(random.randint(0, 4))]
        return tuple(row(name, by_id=random.random() < 0.8) for name in named)


_API = {
    "join": "JoinGroup",
    "sync": "SyncGroup",
    "beat": "Heartbeat",
    "commit": "OffsetCommit",
    "leave": "LeaveGroup",
    "remove": "LeaveGroup",
    "batch": "LeaveGroup",
    "fetch": "OffsetFetch",
    "describe": "DescribeGroups",
    "list": "ListGroups",
    "delete": "DeleteGroups",
    "transact": "TxnOffsetCommit",
    "offsets": "OffsetDelete",
}


def _fetching(fields: dict[str, Any], version: int) -> dict[str, Any]:
    """Write a fetch in the form of its version."""
    rest = {name: value for name, value in fields.items() if name not in {"fetched", "group_id"}}
    topics, group = fields["fetched"], fields["group_id"]
    if version >= _FETCH_GROUPS_SINCE:
        return {**rest, "groups": (FetchGroup(group_id=group, topics=topics),)}
    return {**rest, "group_id": group, "topics": topics}


def is_risky(steps: Iterable[PlanStep]) -> bool:
    """Tell if a plan may kill its target: a restart, or a join on which some coordinators abort.

    The mock aborts where members' first protocols differ (see
    `fencepost.conformance.targets.brokers.mock`), kfake where a member offers no protocol, or one
    twice.
    """
    first: dict[object, set[str]] = {}
    for step in steps:
        if isinstance(step, Failover | MoveCoordinator):
            return True
        if isinstance(step, Request) and step.api == "JoinGroup":
            offered = step.fields.get("protocols") or ()
            if not offered or len({offer.name for offer in offered}) < len(offered):
                return True
            name = offered[0].name
            first.setdefault(step.fields.get("group_id"), set()).add(name)
    return any(len(names) > 1 for names in first.values())
