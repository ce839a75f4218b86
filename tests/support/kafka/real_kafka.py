"""Apache Kafka as real clusters have it, for tests: several nodes, TLS, SASL, ACLs.

Each broker keeps its listener in plain text, for whoever sets it up; there nobody needs an ACL.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from kafka import KafkaAdminClient, TopicPartition
from support.tcp.secured import PASSWORD, Authority

from fencepost.conformance.runtime.toolchain.child import free_ports
from fencepost.conformance.targets.brokers.kafka import HOST, KafkaBroker
from fencepost.conformance.targets.brokers.kafka_jvm import new_kafka_id
from fencepost.conformance.targets.brokers.kafka_version import parse_kafka_version

VERSION = parse_kafka_version("4.3.0")
PARTITIONS = 4
"""Of the offsets topic, for each node."""
ADMIN, USER = "boss", "ann"
LISTENERS = {
    "SSL": "SSL",
    "MTLS": "SSL",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "SASL_SSL": "SASL_SSL",
}
"""Names of listeners, and what they speak."""
_LOGIN = "org.apache.kafka.common.security"


@dataclass(frozen=True)
class Listening:
    """Addresses by listener; PLAINTEXT is for setting up."""

    at: Mapping[str, str]

    def admin(self) -> KafkaAdminClient:
        return KafkaAdminClient(bootstrap_servers=self.at["PLAINTEXT"])


@asynccontextmanager
async def secured_kafka(
    folder: Path, authority: Authority, **more: str
) -> AsyncIterator[Listening]:
    """One node with all of `LISTENERS`; users `ADMIN` (may do anything) and `USER`."""
    own, controller, *others = free_ports(2 + len(LISTENERS))
    ports = {"PLAINTEXT": own, **dict(zip(LISTENERS, others, strict=True))}
    at = {name: f"{HOST}:{port}" for name, port in ports.items()}
    told = ",".join(f"{name}://{address}" for name, address in at.items())
    protocols = {"CONTROLLER": "PLAINTEXT", "PLAINTEXT": "PLAINTEXT", **LISTENERS}
    properties = {
        "listeners": f"{told},CONTROLLER://{HOST}:{controller}",
        "advertised.listeners": told,
        "listener.security.protocol.map": ",".join(f"{k}:{v}" for k, v in protocols.items()),
        "listener.name.mtls.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:ANONYMOUS;User:{ADMIN}",
        **_certificates(authority),
        **_users(),
        **more,
    }
    folder.mkdir(exist_ok=True)  # noqa: ASYNC240  (a test may wait for it)
    broker = KafkaBroker(VERSION, folder, folder / "log", properties, ports=(own, controller))
    try:
        await broker.start()
        yield Listening(at)
    finally:
        await broker.end()


def _certificates(authority: Authority) -> dict[str, str]:
    cert, key = authority.server()
    private = load_pem_private_key(key.read_bytes(), None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": cert.read_text(),
        "ssl.keystore.key": private.decode(),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": authority.ca.read_text(),
    }


def _users() -> dict[str, str]:
    plain = " ".join(f'user_{name}="{PASSWORD}"' for name in (ADMIN, USER))
    logins = {
        "plain": f"{_LOGIN}.plain.PlainLoginModule required {plain};",
        "scram-sha-256": f"{_LOGIN}.scram.ScramLoginModule required;",
        "scram-sha-512": f"{_LOGIN}.scram.ScramLoginModule required;",
    }
    return {
        f"listener.name.{listener}.{mechanism}.sasl.jaas.config": login
        for listener in ("sasl_plaintext", "sasl_ssl")
        for mechanism, login in logins.items()
    }


@asynccontextmanager
async def kafka_cluster(
    folder: Path, nodes: int = 3, **more: str
) -> AsyncIterator[list[KafkaBroker]]:
    """Nodes that are brokers and controllers at once, with groups on each of them."""
    folder.mkdir(exist_ok=True)  # noqa: ASYNC240  (a test may wait for it)
    ports = free_ports(2 * nodes)
    owns, controllers = ports[:nodes], ports[nodes:]
    voters = ",".join(f"{n}@{HOST}:{port}" for n, port in enumerate(controllers, start=1))
    cluster_id = new_kafka_id()
    async with AsyncExitStack() as stack:
        brokers = []
        for number, pair in enumerate(zip(owns, controllers, strict=True), start=1):
            home = folder / str(number)
            home.mkdir()
            properties = {
                "node.id": str(number),
                "controller.quorum.voters": voters,
                "offsets.topic.num.partitions": str(PARTITIONS * nodes),
                "offsets.topic.replication.factor": str(nodes),
                "leader.imbalance.check.interval.seconds": "1",
                "leader.imbalance.per.broker.percentage": "0",
                **more,
            }
            broker = KafkaBroker(
                VERSION, home, home / "log", properties, ports=pair, cluster_id=cluster_id
            )
            stack.push_async_callback(broker.end)
            brokers.append(broker)
        await asyncio.gather(*(broker.start() for broker in brokers))
        await asyncio.to_thread(spread, brokers[0].address, nodes)
        yield brokers


def spread(address: str, nodes: int) -> None:
    """Let each node be the first choice for its share of the groups.

    A node that was not quite up when the offsets topic was made would lead nothing.
    """
    admin = KafkaAdminClient(bootstrap_servers=address)
    wanted = {
        TopicPartition("__consumer_offsets", number): [
            (number + place) % nodes + 1 for place in range(nodes)
        ]
        for number in range(PARTITIONS * nodes)
    }
    said = admin.alter_partition_reassignments(wanted)
    admin.close()
    assert said == dict.fromkeys(wanted)
