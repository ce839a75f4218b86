"""Boundary values: for each field of a request, values that no correct client would send.

Mostly one field of a request is changed at a time, so that a failure is due to that field.  Values
stay within what the wire format can say and what a coordinator is responsible for: a topic that
doesn't exist is named `missing`, as everywhere here, and texts are long, but none is longer than
Kafka's storage of it can hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any, NamedTuple

from fencepost.conformance.cases.group_set_up import subscription
from fencepost.conformance.cases.script import BOTH, RENEWED, ROUNDROBIN
from fencepost.model.coordinator import Config
from fencepost.model.messages.messages import (
    CommitPartition,
    CommitTopic,
    FetchTopic,
    JoinProtocol,
    SyncAssignment,
)
from fencepost.model.plans.plan import AssignmentsToAll, GenerationOf, IdOf, Ms, RequestStep

_INT_MAX, _INT_MIN = 2**31 - 1, -(2**31)
_LONG = "long-" + "x" * 244
_LONGER = "longer-" + "x" * 1000
_FOREIGN = "grüße ✓ 組"
_LARGE = 100_000
_RARE = 12
"""How many times rarer than the others are values that make much work for a target or for us."""


class About(NamedTuple):
    """The sender of a request, the other members, their groups, and the target's settings.

    `no_topic`: the name of a topic that doesn't exist, or of any, where a target has all of them.
    """

    who: str
    others: tuple[str, ...]
    home: str
    elsewhere: str
    config: Config
    no_topic: str


Draw = Callable[[Random, About], Any]


class BoundaryValue(NamedTuple):
    """A boundary value: its field, its name, how it is drawn, and whether it is rare."""

    field: str
    name: str
    draw: Draw
    rare: bool = False

    @property
    def id(self) -> str:
        """A name for counting."""
        return f"{self.field} {self.name}"


def _of(value: Any) -> Draw:
    def draw(random: Random, about: About) -> Any:
        del random, about
        return value

    return draw


def _other(random: Random, about: About) -> Any:
    return IdOf(random.choice(about.others)) if about.others else "stranger"


def _setting(key: str, plus: int) -> Draw:
    def draw(random: Random, about: About) -> Any:
        del random
        return min((about.config.get(key) or 0) + plus, _INT_MAX)

    return draw


def _offers(*pairs: tuple[str, bytes]) -> Draw:
    return _of(tuple(JoinProtocol(name=name, metadata=metadata) for name, metadata in pairs))


def _commit(name: str, offset: int, metadata: str | None = "") -> CommitTopic:
    row = CommitPartition(partition_index=0, committed_offset=offset, committed_metadata=metadata)
    return CommitTopic(name=name, partitions=(row,))


def _twice_to_self(random: Random, about: About) -> Any:
    del random
    own: Any = IdOf(about.who)
    return tuple(SyncAssignment(member_id=own, assignment=said) for said in (b"one", b"two"))


_MIN, _MAX = "group.min.session.timeout.ms", "group.max.session.timeout.ms"
_ONE = subscription("t")

BOUNDARY_VALUES: tuple[BoundaryValue, ...] = (
    BoundaryValue("group_id", "empty", _of("")),
    BoundaryValue("group_id", "elsewhere", lambda _, about: about.elsewhere),
    BoundaryValue("group_id", "long", _of(_LONG)),
    BoundaryValue("group_id", "unicode", _of(_FOREIGN)),
    BoundaryValue("member_id", "empty", _of("")),
    BoundaryValue("member_id", "unknown", _of("stranger")),
    BoundaryValue("member_id", "other's", _other),
    BoundaryValue("member_id", "earlier", lambda _, about: IdOf(about.who, back=1)),
    BoundaryValue("member_id", "long", _of(_LONGER)),
    BoundaryValue("member_id", "unicode", _of(_FOREIGN)),
    BoundaryValue("group_instance_id", "none", _of(None)),
    BoundaryValue("group_instance_id", "empty", _of("")),
    BoundaryValue("group_instance_id", "A", _of("A")),
    BoundaryValue("group_instance_id", "B", _of("B")),
    BoundaryValue("group_instance_id", "nobody's", _of("Z")),
    BoundaryValue("group_instance_id", "long", _of(_LONG)),
    BoundaryValue("group_instance_id", "unicode", _of(_FOREIGN)),
    BoundaryValue("generation_id", "next", lambda _, about: GenerationOf(about.who, plus=1)),
    BoundaryValue("generation_id", "earlier", lambda _, about: GenerationOf(about.who, plus=-1)),
    BoundaryValue("generation_id", "none", _of(-1)),
    BoundaryValue("generation_id", "0", _of(0)),
    BoundaryValue("generation_id", "largest", _of(_INT_MAX)),
    BoundaryValue("generation_id", "least", _of(_INT_MIN)),
    BoundaryValue("session_timeout_ms", "-1", _of(-1)),
    BoundaryValue("session_timeout_ms", "0", _of(0)),
    BoundaryValue("session_timeout_ms", "1", _of(1)),
    BoundaryValue("session_timeout_ms", "below the least", _setting(_MIN, -1)),
    BoundaryValue("session_timeout_ms", "the least", _setting(_MIN, 0)),
    BoundaryValue("session_timeout_ms", "the most", _setting(_MAX, 0)),
    BoundaryValue("session_timeout_ms", "above the most", _setting(_MAX, 1)),
    BoundaryValue("session_timeout_ms", "largest", _of(_INT_MAX)),
    BoundaryValue("session_timeout_ms", "least number", _of(_INT_MIN)),
    BoundaryValue("rebalance_timeout_ms", "-1", _of(-1), rare=True),
    BoundaryValue("rebalance_timeout_ms", "0", _of(0), rare=True),
    BoundaryValue("rebalance_timeout_ms", "1", _of(1), rare=True),
    BoundaryValue("rebalance_timeout_ms", "short", _of(Ms("short rebalance"))),
    BoundaryValue("rebalance_timeout_ms", "largest", _of(_INT_MAX)),
    BoundaryValue("protocol_type", "empty", _of("")),
    BoundaryValue("protocol_type", "another", _of("connect")),
    BoundaryValue("protocol_name", "another", _of("sticky")),
    BoundaryValue("protocol_name", "empty", _of("")),
    BoundaryValue("protocols", "none", _of(())),
    BoundaryValue("protocols", "another", _offers(*ROUNDROBIN)),
    BoundaryValue("protocols", "both", _offers(*BOTH)),
    BoundaryValue("protocols", "both turned", _offers(*reversed(BOTH))),
    BoundaryValue("protocols", "renewed", _offers(*RENEWED)),
    BoundaryValue("protocols", "twice", _offers(("range", _ONE), ("range", subscription("u")))),
    BoundaryValue("protocols", "no metadata", _offers(("range", b""))),
    BoundaryValue(
        "protocols", "many", _offers(("range", _ONE), *((f"p{i}", b"") for i in range(50)))
    ),
    BoundaryValue("protocols", "large", _offers(("range", _ONE + b"\0" * _LARGE)), rare=True),
    BoundaryValue("assignments", "none", _of(())),
    BoundaryValue(
        "assignments",
        "to a stranger",
        _of((SyncAssignment(member_id="stranger", assignment=b"s"),)),
    ),
    BoundaryValue("assignments", "twice", _twice_to_self),
    BoundaryValue(
        "assignments",
        "large",
        lambda _, about: AssignmentsToAll(about.who, b"\0" * _LARGE),
        rare=True,
    ),
    BoundaryValue("topics", "none", _of(())),
    BoundaryValue("topics", "missing", lambda r, about: (_commit(about.no_topic, r.randrange(9)),)),
    BoundaryValue(
        "topics",
        "two",
        lambda r, about: (_commit("t", r.randrange(9)), _commit(about.no_topic, 1)),
    ),
    BoundaryValue("topics", "offset 0", _of((_commit("t", 0),))),
    BoundaryValue("topics", "largest offset", _of((_commit("t", 2**63 - 1),))),
    BoundaryValue("topics", "metadata", _of((_commit("t", 5, _FOREIGN),))),
    BoundaryValue("topics", "no metadata", _of((_commit("t", 6, None),))),
    BoundaryValue("fetched", "nothing", _of(())),
    BoundaryValue("fetched", "everything", _of(None)),
    BoundaryValue("fetched", "missing", _of((FetchTopic(name="missing", partition_indexes=(0,)),))),
    BoundaryValue("groups", "none", _of(())),
    BoundaryValue("groups", "empty", _of(("",))),
    BoundaryValue("groups", "both", lambda _, about: (about.home, about.elsewhere)),
    BoundaryValue("groups", "unknown", _of(("nowhere",))),
    BoundaryValue("states_filter", "Stable", _of(("Stable",))),
    BoundaryValue("states_filter", "Empty", _of(("Empty", "Dead"))),
    BoundaryValue("states_filter", "unknown", _of(("Nonsense",))),
    BoundaryValue("types_filter", "classic", _of(("classic",))),
    BoundaryValue("types_filter", "another", _of(("consumer",))),
)

_BY_FIELD: Mapping[str, tuple[BoundaryValue, ...]] = {
    field: tuple(boundary for boundary in BOUNDARY_VALUES if boundary.field == field)
    for field in dict.fromkeys(boundary.field for boundary in BOUNDARY_VALUES)
}


_ONLY = {"groups": "DescribeGroups", "topics": "OffsetCommit"}
"""Fields with the same name that mean something else in another API."""


def draw_boundary_value(random: Random, api: str, fields: Iterable[str]) -> BoundaryValue | None:
    """A boundary value for one of these fields of a request; None where there is none."""
    known_fields = [f for f in fields if f in _BY_FIELD and _ONLY.get(f, api) == api]
    if not known_fields:
        return None
    candidates = _BY_FIELD[random.choice(known_fields)]
    boundary = random.choice(candidates)
    if boundary.rare and random.randrange(_RARE):
        return random.choice([e for e in candidates if not e.rare])
    return boundary


def is_about_unnamed_group(ask: RequestStep) -> bool:
    """Whether a request is about the group with the empty name.

    That group has the same name for everybody who shares a broker, so it may hold anything.
    """
    if ask.api not in {"OffsetCommit", "OffsetFetch", "DescribeGroups"}:
        return False
    named = [ask.fields.get("group_id"), *ask.fields.get("groups", ())]
    return "" in [getattr(name, "group_id", name) for name in named]
