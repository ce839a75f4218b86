"""The configuration files of a Kafka with one node.

It is the smallest broker that answers quickly: one node, one partition of the offsets topic, no
initial rebalance delay and short sessions, so that timing cases take little time.  It never removes
groups that nobody uses, as other Kafkas do every ten minutes, so that cases can show more.  What
the user sets comes last and wins.

Source: Kafka's documentation, "Broker Configs"; ZooKeeper's administrator's guide.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping
from pathlib import Path

from fencepost.conformance.targets.brokers.kafka_version import KafkaVersion

HOST = "127.0.0.1"
_NEVER_MS = 10 * 365 * 24 * 60 * 60 * 1000
_COMMON = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "offsets.retention.check.interval.ms": str(_NEVER_MS),
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "100",
    "log.cleaner.enable": "false",
    "auto.create.topics.enable": "false",
}
_PROTOCOLS = {"old": "classic", "new": "classic,consumer"}
_LOGGING = """\
log4j.rootLogger=WARN, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.logger.kafka.coordinator.group=INFO
log4j.logger.org.apache.kafka.coordinator.group=INFO
log4j.logger.kafka.coordinator.group.GroupMetadata=ERROR
log4j.logger.org.apache.kafka.coordinator.group.classic.ClassicGroup=ERROR
"""
"""At WARN the last two write a stack trace for each subscription that can't be read, when groups
are loaded: 10 GB in an hour and a half of fuzzing with failovers, which also made loading slow."""

_REQUEST_LOG = """\
log4j.logger.kafka.request.logger=DEBUG, requests
log4j.additivity.kafka.request.logger=false
log4j.appender.requests=org.apache.log4j.FileAppender
log4j.appender.requests.File={file}
log4j.appender.requests.Encoding=UTF-8
log4j.appender.requests.layout=org.apache.log4j.EnhancedPatternLayout
log4j.appender.requests.layout.ConversionPattern=[%d{{yyyy-MM-dd HH:mm:ss,SSS}}{{UTC}}] %p %m (%c)%n
"""


def logging_properties(request_log: Path | None) -> str:
    """What a broker logs to its output; to `request_log`, if there is one, each answered request.

    That file is added to, with the times in UTC, whatever the machine's zone.
    """
    if request_log is None:
        return _LOGGING
    return _LOGGING + _REQUEST_LOG.format(file=_escaped(str(request_log)))


def server_properties(
    version: KafkaVersion, data: Path, port: int, other_port: int, extra: Mapping[str, str]
) -> dict[str, str]:
    """A broker's properties.  `other_port`: the controller's, or ZooKeeper's."""
    here = f"PLAINTEXT://{HOST}:{port}"
    known: dict[str, str] = {"log.dirs": str(data), "listeners": here, "advertised.listeners": here}
    if version.has_zookeeper:
        known |= {"broker.id": "1", "zookeeper.connect": f"{HOST}:{other_port}"}
    else:
        known |= {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{HOST}:{other_port}",
            "listeners": f"{here},CONTROLLER://{HOST}:{other_port}",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        }
    if version.coordinator is not None:
        known["group.coordinator.rebalance.protocols"] = _PROTOCOLS[version.coordinator]
    return known | _COMMON | dict(extra)


def zookeeper_properties(data: Path, port: int) -> dict[str, str]:
    """The properties of a ZooKeeper beside the broker."""
    return {
        "tickTime": "500",
        "dataDir": str(data),
        "clientPort": str(port),
        "clientPortAddress": HOST,
        "admin.enableServer": "false",
    }


def write_properties(path: Path, properties: Mapping[str, str]) -> None:
    """A file in Java's format; backslashes and line ends in values are escaped."""
    lines = [f"{key}={_escaped(value)}\n" for key, value in properties.items()]
    path.write_text("".join(lines), encoding="utf-8")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def new_cluster_id() -> str:
    """An id for `format`: 16 random bytes in URL-safe base64 that don't begin with a hyphen."""
    while (text := base64.urlsafe_b64encode(secrets.token_bytes(16)).decode()[:22])[0] == "-":
        pass
    return text
