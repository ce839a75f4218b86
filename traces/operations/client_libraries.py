"""Tell the client library of a group, and what it offers: static members, assignors, settings.

A library is known by the client id that it has where none is set, or by the name of its assignor.
The library of a process with a client id of its own is not known.

Sources: the drivers of fencepost's own tests (docs/clients/drivers.md) for what a library offers;
the defaults of the libraries for client ids, timeouts and assignors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class ClientLibrary:
    """A client library.

    `client_ids`: a pattern of those that it has where none is set.  `has_static`: it has static
    members.  `strategy`, `session_ms`: where nothing is set.  `session`, `heartbeat`, `rebalance`,
    `instance`: names of its settings; `assignors`: the line that sets them, by strategy;
    `own_assignor`: the name of one that no other library has; `keeps`: why its strategy can't be
    changed, "" if it can; `beats`: the sentence about what keeps it from sending heartbeats, "" if
    nothing special does.
    """

    name: str
    client_ids: str
    has_static: bool
    strategy: str
    session_ms: int
    session: str = "session.timeout.ms={}"
    heartbeat: str = "heartbeat.interval.ms={}"
    rebalance: str = "max.poll.interval.ms"
    instance: str = "group.instance.id"
    assignors: Mapping[str, str] = field(default_factory=dict)
    own_assignor: str = ""
    keeps: str = (
        "doesn't offer an eager and a cooperative assignor together, so no rolling restart leads "
        "from one to the other"
    )
    beats: str = ""

    @property
    def session_name(self) -> str:
        """The name of its setting for the session timeout."""
        return _name_in(self.session)

    @property
    def heartbeat_name(self) -> str:
        """The name of its setting for the heartbeat interval."""
        return _name_in(self.heartbeat)


def _name_in(setting: str) -> str:
    """Return the name in the line that sets something."""
    return re.split(r"[ =:(]", setting)[0]


_PACKAGE = "org.apache.kafka.clients.consumer."
_RANGE, _STICKY = f"{_PACKAGE}RangeAssignor", f"{_PACKAGE}CooperativeStickyAssignor"
_ASSIGNMENT = "partition.assignment.strategy"

JAVA = ClientLibrary(
    "Java's consumer",
    r"consumer-(?:.+-)?\d+",
    has_static=True,
    keeps="",
    strategy="both",
    session_ms=45_000,
    assignors={
        "eager": f"{_ASSIGNMENT}={_RANGE}",
        "cooperative": f"{_ASSIGNMENT}={_STICKY}",
        "both": f"{_ASSIGNMENT}={_RANGE},{_STICKY}",
    },
)
STREAMS = ClientLibrary(
    "Kafka Streams",
    r".*-StreamThread-\d+-consumer",
    has_static=True,
    strategy="cooperative",
    session_ms=45_000,
    keeps="has an assignor of its own",
)
LIBRDKAFKA = ClientLibrary(
    "librdkafka",
    r"rdkafka",
    has_static=True,
    strategy="eager",
    session_ms=45_000,
    assignors={
        "eager": f"{_ASSIGNMENT}=range,roundrobin",
        "cooperative": f"{_ASSIGNMENT}=cooperative-sticky",
    },
)
KAFKAJS = ClientLibrary(
    "KafkaJS",
    r"kafkajs",
    has_static=False,
    strategy="eager",
    session_ms=30_000,
    session="sessionTimeout: {}",
    heartbeat="heartbeatInterval: {}",
    rebalance="rebalanceTimeout",
    own_assignor="RoundRobinAssigner",
    beats=(
        "KafkaJS sends heartbeats between messages only (heartbeatInterval is the least time "
        "between two): a handler that takes longer than sessionTimeout silences it. See how long "
        "eachMessage or eachBatch takes at these times, and call heartbeat() in it."
    ),
)
KAFKA_GO = ClientLibrary(
    "kafka-go",
    r".*\(github\.com/segmentio/kafka-go\)",
    has_static=False,
    strategy="eager",
    session_ms=30_000,
    session="ReaderConfig.SessionTimeout = {} * time.Millisecond",
    heartbeat="ReaderConfig.HeartbeatInterval = {} * time.Millisecond",
    rebalance="ReaderConfig.RebalanceTimeout",
)
SARAMA = ClientLibrary(
    "sarama",
    r"sarama",
    has_static=True,
    strategy="eager",
    session_ms=10_000,
    session="Consumer.Group.Session.Timeout = {} * time.Millisecond",
    heartbeat="Consumer.Group.Heartbeat.Interval = {} * time.Millisecond",
    rebalance="Consumer.Group.Rebalance.Timeout",
    instance="Consumer.Group.InstanceId",
)
FRANZ_GO = ClientLibrary(
    "franz-go",
    r"kgo",
    has_static=True,
    keeps="",
    strategy="cooperative",
    session_ms=45_000,
    session="kgo.SessionTimeout({} * time.Millisecond)",
    heartbeat="kgo.HeartbeatInterval({} * time.Millisecond)",
    rebalance="kgo.RebalanceTimeout",
    instance="kgo.InstanceID",
    assignors={
        "eager": "kgo.Balancers(kgo.RangeBalancer())",
        "cooperative": "kgo.Balancers(kgo.CooperativeStickyBalancer())",
        "both": "kgo.Balancers(kgo.CooperativeStickyBalancer(), kgo.RangeBalancer())",
    },
)
KAFKA_PYTHON = ClientLibrary(
    "kafka-python",
    r"kafka-python-[\d.]+\S*",
    has_static=True,
    strategy="eager",
    session_ms=45_000,
    session="session_timeout_ms={}",
    heartbeat="heartbeat_interval_ms={}",
    rebalance="max_poll_interval_ms",
    instance="group_instance_id",
)
AIOKAFKA = ClientLibrary(
    "aiokafka",
    r"aiokafka-[\d.]+\S*",
    has_static=True,
    strategy="eager",
    session_ms=10_000,
    session="session_timeout_ms={}",
    heartbeat="heartbeat_interval_ms={}",
    rebalance="max_poll_interval_ms",
    instance="group_instance_id",
)

LIBRARIES = (
    STREAMS,
    JAVA,
    LIBRDKAFKA,
    KAFKAJS,
    KAFKA_GO,
    SARAMA,
    FRANZ_GO,
    KAFKA_PYTHON,
    AIOKAFKA,
)
"""All known libraries; the first one whose pattern fits a client id is its library."""
BY_NAME = {library.name: library for library in LIBRARIES}
_PATTERNS = tuple((re.compile(library.client_ids), library) for library in LIBRARIES)


@lru_cache(maxsize=4096)
def library_of(client_id: str, protocols: str = "") -> ClientLibrary | None:
    """Return the library of a client id, or of a member's protocols, if it is known."""
    for library in LIBRARIES:
        if library.own_assignor and library.own_assignor in protocols:
            return library
    return next((each for pattern, each in _PATTERNS if pattern.fullmatch(client_id)), None)


def without_static(library: ClientLibrary) -> str:
    """Return the sentence that a library has no static members."""
    return (
        f"{library.name} has no static members (no setting like group.instance.id): static "
        "membership would need another client library."
    )
