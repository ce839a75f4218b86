"""Parse the Kafka version in a target's name, and list what each version needs to run.

`kafka:VERSION[+old|+new][*NODES]` is a release from 2.3.0 on, with one of the two group
coordinators where a release has both (3.7 to 3.9), and a cluster of this many nodes.  One that is
newer than those that were tried is run like the newest of them, and says so.

Source: Kafka's upgrade notes (KIP-500, ZooKeeper gone in 4.0; KIP-848, the new coordinator: in 3.7
for trials, by `group.coordinator.new.enable`; by `group.coordinator.rebalance.protocols` from 3.8
on; alone from 4.0 on).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fencepost.properties.departures.known_departures import NEW, coordinator_of

FORM = "kafka:VERSION[+old|+new][*NODES]"
OLDEST, NEWEST = (2, 3, 0), (4, 4)
"""The first release with static members, and the newest minor release that was tried."""

_FORM = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:\+(old|new))?(?:\*(\d+))?", re.ASCII)
_MINOR = re.compile(r"\d+\.\d+", re.ASCII)
_BOTH = ((3, 7), (3, 8), (3, 9))
_CHOSEN_BY_PROTOCOL = (3, 8, 0)
_NODES = range(2, 6)
_PROTOCOLS = {"old": "classic", "new": "classic,consumer"}


class KafkaVersionError(ValueError):
    """No such version, or not for this project.  `str()` says which there are."""


@dataclass(frozen=True, slots=True, order=True)
class KafkaVersion:
    """A release, its coordinator where there is a choice, and the number of nodes."""

    number: tuple[int, int, int]
    coordinator: str | None = None
    nodes: int = 1

    def __str__(self) -> str:
        """Return it as in the target's name."""
        coordinator = f"+{self.coordinator}" if self.coordinator else ""
        return self.release + coordinator + (f"*{self.nodes}" if self.nodes > 1 else "")

    @property
    def release(self) -> str:
        """The release alone, as Maven knows it."""
        return ".".join(map(str, self.number))

    @property
    def has_zookeeper(self) -> bool:
        """Return True if it is run with ZooKeeper; KRaft is ready for that from 3.3 on."""
        return self.number < (3, 3, 0)

    @property
    def has_new_coordinator(self) -> bool:
        """Return True if the coordinator of KIP-848 answers for classic groups."""
        return coordinator_of(f"kafka:{self}") == NEW

    @property
    def has_consumer_protocol(self) -> bool:
        """Return True if members may use the consumer protocol without further settings."""
        return self.number >= (4, 0, 0)

    @property
    def has_streams_groups(self) -> bool:
        """Return True if members may join streams groups without further settings."""
        return self.number >= (4, 2, 0)

    @property
    def choice(self) -> dict[str, str]:
        """The setting that chooses the coordinator, where there is a choice and it was made."""
        if self.coordinator is None:
            return {}
        if self.number < _CHOSEN_BY_PROTOCOL:
            return {"group.coordinator.new.enable": str(self.coordinator == "new").lower()}
        return {"group.coordinator.rebalance.protocols": _PROTOCOLS[self.coordinator]}

    @property
    def is_untried(self) -> bool:
        """Return True if it is newer than each release that was tried."""
        return self.number[:2] > NEWEST

    @property
    def scala(self) -> str:
        """The Scala version in the name of the jar."""
        return "2.12" if self.number < (2, 4, 0) else "2.13"

    @property
    def java(self) -> int:
        """The least Java that runs it."""
        return 17 if self.number >= (4, 0, 0) else 8

    @property
    def pins(self) -> dict[str, str]:
        """Versions other than those that the release asks for: `group:artifact` to version."""
        if self.number < (2, 4, 0):  # its client fails on Java 14 and later
            return {"org.apache.zookeeper:zookeeper": "3.5.10"}
        return {}


def parse_kafka_version(text: str) -> KafkaVersion:
    """Parse a version such as `4.3.0` or `3.9.1+new`.  Raises KafkaVersionError."""
    match = _FORM.fullmatch(text)
    if match is None:
        near = f" (did you mean kafka:{text}.0?)" if _MINOR.fullmatch(text) else ""
        raise KafkaVersionError(
            f"{text!r} is no version of Kafka{near}; write {FORM}, "
            "as in kafka:4.3.0 or kafka:3.9.1+new"
        )
    number = (int(match[1]), int(match[2]), int(match[3]))
    if number < OLDEST:
        raise KafkaVersionError(f"Kafka {text} is too old: static membership came with 2.3.0")
    if match[4] and number[:2] not in _BOTH:
        raise KafkaVersionError(
            f"Kafka {text}: only 3.7 to 3.9 have a choice of coordinators, leave out +{match[4]}"
        )
    version = KafkaVersion(number, match[4], int(match[5] or 1))
    if match[5] and version.nodes not in _NODES:
        raise KafkaVersionError(f"Kafka {text}: a cluster has from 2 to {_NODES[-1]} nodes")
    if version.nodes > 1 and version.has_zookeeper:
        raise KafkaVersionError(f"Kafka {text}: several nodes are started from 3.3 on, with KRaft")
    return version
