"""Answer the requests beside the group protocol: for versions, nodes, topics, settings, records.

The cluster around the model is small: a node or a few, over which the partitions of each topic are
spread in turn; logs in memory (`fencepost.conformance.serve.topic_log`); the group settings, for
DescribeConfigs.  A broker can pass for an older release of Kafka: then it has the versions of APIs
of that release.

Source: Kafka's message definitions; KIP-511 (ApiVersions: a version too high is answered in version
0 with the versions that there are; the name of a client's software is held to a pattern); KIP-98
(producer ids), KIP-320 (leader epochs); kafka-python's table of what brokers advertise, which
agrees with eleven releases from 2.3.0 to 4.3.0 in all APIs that are spoken here (`tox -e clients`
asks again).
"""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

from kafka.protocol.broker_version_data import BROKER_API_VERSIONS

from fencepost.conformance.serve.group_coordinator import GroupCoordinator
from fencepost.conformance.serve.topic_log import Fetches, PartitionLog, Topic, Topics
from fencepost.conformance.serve.transaction_coordinator import TransactionCoordinator
from fencepost.conformance.targets.target import NO_LIMIT
from fencepost.conformance.targets.tcp.security import Address
from fencepost.conformance.wire.codec import API_KEYS, RequestFrame
from fencepost.conformance.wire.record_batches import LEADER_EPOCH, RecordsError
from fencepost.conformance.wire.refusal import Code
from fencepost.model.bad_input import BadInputError
from fencepost.model.coordinator import Config, named
from fencepost.model.messages.shapes import NO_UUID

Json = dict[str, Any]


class DataApis:
    """A node's answers about records.

    `leads`: whether a node leads a partition; `node`: which one was asked.
    """

    def __init__(self, topics: Topics, leads: Callable[[int, int], bool]) -> None:
        self._topics = topics
        self._leads = leads
        self._producer_ids = count(1)

    def produce(self, body: Mapping[str, Any], node: int) -> Json:
        """Append the records, batch by batch."""

        def row(topic: Mapping[str, Any], part: Mapping[str, Any]) -> Json:
            log = self._log(topic, part["index"], node)
            code, offset = Code.NONE, -1
            if isinstance(log, Code):
                code = log
            else:
                try:
                    offset = log.append(base64.b64decode(part["records"] or ""))
                except RecordsError as error:
                    code = error.code
            start = -1 if isinstance(log, Code) else log.start_offset
            return {
                "index": part["index"],
                "errorCode": code,
                "baseOffset": offset,
                "logStartOffset": start,
            }

        responses = [
            {**_named(topic), "partitionResponses": [row(topic, p) for p in topic["partitionData"]]}
            for topic in body["topicData"]
        ]
        return {"responses": responses}

    def list_offsets(self, body: Mapping[str, Any], node: int) -> Json:
        """Return the first, the last, or the offset at a time, of each partition."""

        def row(topic: Mapping[str, Any], part: Mapping[str, Any]) -> Json:
            log = self._log(topic, part["partitionIndex"], node)
            code, offset, at_ms = Code.NONE, -1, -1
            if isinstance(log, Code):
                code = log
            else:
                offset, at_ms = log.offset_at(part["timestamp"])
            return {
                "partitionIndex": part["partitionIndex"],
                "errorCode": code,
                "timestamp": at_ms,
                "offset": offset,
                "leaderEpoch": LEADER_EPOCH if offset >= 0 else -1,
            }

        return {
            "topics": [
                {"name": topic["name"], "partitions": [row(topic, p) for p in topic["partitions"]]}
                for topic in body["topics"]
            ]
        }

    def offset_for_leader_epoch(self, body: Mapping[str, Any], node: int) -> Json:
        """Return the end of an epoch: there is one only, from the beginning to the end."""

        def row(topic: Mapping[str, Any], part: Mapping[str, Any]) -> Json:
            log = self._log({"name": topic["topic"]}, part["partition"], node)
            code, epoch, end = Code.NONE, -1, -1
            if isinstance(log, Code):
                code = log
            elif part["leaderEpoch"] == LEADER_EPOCH:
                epoch, end = LEADER_EPOCH, log.end_offset
            return {
                "errorCode": code,
                "partition": part["partition"],
                "leaderEpoch": epoch,
                "endOffset": end,
            }

        return {
            "topics": [
                {
                    "topic": topic["topic"],
                    "partitions": [row(topic, p) for p in topic["partitions"]],
                }
                for topic in body["topics"]
            ]
        }

    def new_producer_id(self) -> int:
        """Return an id that no producer has."""
        return next(self._producer_ids)

    def _log(self, topic: Mapping[str, Any], partition: int, node: int) -> PartitionLog | Code:
        return self._topics.log_of(topic, partition, lambda number: self._leads(number, node))


def _named(row: Mapping[str, Any]) -> Json:
    return {key: row[key] for key in ("name", "topicId") if key in row}


Versions = Mapping[str, tuple[int, int]]

_FORM = re.compile(r"(\d+)\.(\d+)(?:\.\d+)?", re.ASCII)
_OLDEST = (1, 0)
_TELLS_WHICH = (2, 4)


class ReleaseError(BadInputError):
    """No such release.  `str()` says which there are."""


def parse_release(text: str) -> tuple[int, int]:
    """Parse a release such as `2.2` or `2.2.1` as major and minor.  Raises ReleaseError."""
    match = _FORM.fullmatch(text)
    number = (int(match[1]), int(match[2])) if match else (0, 0)
    if number < _OLDEST or number not in BROKER_API_VERSIONS:
        known = sorted(release for release in BROKER_API_VERSIONS if release >= _OLDEST)
        names = ", ".join(f"{major}.{minor}" for major, minor in known)
        raise ReleaseError(f"fencepost doesn't know Kafka release {text!r}; give one of {names}")
    return number


def as_of(release: tuple[int, int], spoken: Versions) -> dict[str, tuple[int, int]]:
    """Return the versions that are spoken here and were in that release, too."""
    rows = BROKER_API_VERSIONS[release]
    common = {
        api: (max(low, rows[API_KEYS[api]][0]), min(high, rows[API_KEYS[api]][1]))
        for api, (low, high) in spoken.items()
        if API_KEYS[api] in rows
    }
    return {api: (low, high) for api, (low, high) in common.items() if low <= high}


def tells_which(release: tuple[int, int] | None) -> bool:
    """Return True if ApiVersions' answer to a version too high names the valid ones (KIP-511)."""
    return release is None or release >= _TELLS_WHICH


FIRST_NODE = 1
CLUSTER_ID = "fencepost"
PARTITIONS = 4
"""Partitions of a topic, by default."""

VERSIONS: Mapping[str, tuple[int, int]] = {
    "Produce": (3, 13),
    "Fetch": (4, 18),
    "ListOffsets": (1, 11),
    "Metadata": (0, 13),
    "FindCoordinator": (0, 6),
    "ApiVersions": (0, 4),
    "CreateTopics": (2, 7),
    "DeleteTopics": (1, 6),
    "InitProducerId": (0, 5),
    "AddOffsetsToTxn": (0, 4),
    "EndTxn": (0, 4),
    "OffsetForLeaderEpoch": (2, 4),
    "DescribeConfigs": (1, 4),
    "DescribeCluster": (0, 2),
}
"""All versions that the codec can write; older ones of Produce and Fetch have older records, and
with version 5 of EndTxn each transaction has an epoch of its own (KIP-890), which isn't served."""

MOST_PARTITIONS = 1000
_LONGEST_NAME = 249
_GROUP, _TRANSACTION = 0, 1
_TOPIC, _BROKER = 2, 4
_NO_SUCH_KEY = "this broker has coordinators for groups and transactions only"
_STATIC_CONFIG, _STRING, _INT = 4, 2, 3
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")
_SOFTWARE_SINCE = 3
_NULL_IS_ALL_SINCE = 1
_BATCHES_SINCE = 4


class BrokerApis:
    """The APIs of a broker beside the group protocol.

    `nodes`: the address of each, in answers to clients; `apis`: the group APIs and their versions;
    `groups`: finds the coordinators of groups; `release`: the Kafka that it passes for.
    """

    def __init__(
        self,
        nodes: Mapping[int, Address],
        apis: Mapping[str, tuple[int, int]],
        settings: Config,
        groups: GroupCoordinator,
        topics: Topics,
        release: tuple[int, int] | None = None,
    ) -> None:
        self.topics = topics
        self.versions: Mapping[str, tuple[int, int]] = {}
        self.creates_topics = True
        """auto.create.topics.enable."""
        self._nodes = nodes
        self._spoken = {**apis, **VERSIONS}
        self._settings = settings
        self._groups = groups
        self._data = DataApis(topics, self.leads)
        self.transactions = TransactionCoordinator(
            groups,
            tuple(nodes),
            clock=time.monotonic,
            new_id=self._data.new_producer_id,
            name_of=self._name_of,
        )
        self.fetches: Mapping[int, Fetches] = {}
        self.restart(release)

    def _name_of(self, topic_id: str) -> str:
        topic = self.topics.by_id(topic_id)
        return "" if topic is None else topic.name

    def restart(self, release: tuple[int, int] | None) -> None:
        """Forget all fetch sessions; speak the versions of this release of Kafka, None: all."""
        self._release = release
        self.versions = self._spoken if release is None else as_of(release, self._spoken)
        self.fetches = {n: Fetches(self.topics, partial(self.leads, node=n)) for n in self._nodes}

    def speaks(self, api: str, version: int) -> bool:
        """Return True if the broker has this version of an API."""
        low, high = self.versions.get(api, (0, -1))
        return low <= version <= high

    def leader_of(self, partition: int) -> int:
        """Return the node that leads all partitions of this number."""
        return FIRST_NODE + partition % len(self._nodes)

    def leads(self, partition: int, node: int) -> bool:
        """Return True if a node leads the partitions of this number."""
        return self.leader_of(partition) == node

    def answer(self, request: RequestFrame, node: int) -> dict[str, Any]:
        """Answer a request of an API of `VERSIONS` but Fetch, as this node."""
        body = request.body
        match request.api:
            case "ApiVersions":
                return self._api_versions(request.version, body)
            case "Metadata":
                return self._metadata(request.version, body)
            case "FindCoordinator":
                return self._find_coordinator(request.version, body)
            case "Produce":
                return self._data.produce(body, node)
            case "ListOffsets":
                return self._data.list_offsets(body, node)
            case "OffsetForLeaderEpoch":
                return self._data.offset_for_leader_epoch(body, node)
            case "InitProducerId" if body["transactionalId"] is None:
                producer_id = self._data.new_producer_id()
                return {"errorCode": Code.NONE, "producerId": producer_id, "producerEpoch": 0}
            case "InitProducerId":
                return self.transactions.init_producer_id(request.version, body, node)
            case "AddOffsetsToTxn":
                return self.transactions.add_offsets(request.version, body, node)
            case "EndTxn":
                return self.transactions.end(request.version, body, node)
            case "DescribeCluster":
                return self._describe_cluster()
            case "CreateTopics":
                rows = [self._create(row, body["validateOnly"]) for row in body["topics"]]
                return {"topics": rows}
            case "DeleteTopics":
                rows = body.get("topics", [{"name": n} for n in body.get("topicNames", ())])
                return {"responses": [self._delete(row) for row in rows]}
            case "DescribeConfigs":
                return {"results": [self._describe(row) for row in body["resources"]]}
            case _:
                raise ValueError(f"{request.api} is no API of a broker's surroundings")

    def too_high(self) -> dict[str, Any]:
        """Return the answer, in version 0, to a version of ApiVersions that there isn't."""
        versions = (
            {"ApiVersions": self.versions["ApiVersions"]} if tells_which(self._release) else {}
        )
        return {"errorCode": Code.UNSUPPORTED_VERSION, "apiKeys": _version_rows(versions)}

    def make_topic(self, name: str, partitions: int) -> None:
        """Make a topic; one that exists stays as it is."""
        if name not in self.topics:
            self.topics.make(name, partitions)

    def delete_topic(self, name: str) -> bool:
        """Delete a topic, its records and the groups' offsets for it; False: there is none."""
        is_known = self.topics.remove(name)
        if is_known:
            self._groups.running.remove_offsets(frozenset({name}))
        return is_known

    def _api_versions(self, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
        names = (body.get("clientSoftwareName"), body.get("clientSoftwareVersion"))
        if version >= _SOFTWARE_SINCE and not all(_SOFTWARE.fullmatch(n or "") for n in names):
            return {"errorCode": Code.INVALID_REQUEST, "apiKeys": []}
        return {"errorCode": Code.NONE, "apiKeys": _version_rows(self.versions)}

    def _metadata(self, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
        topics = body["topics"]
        create = self.creates_topics and body.get("allowAutoTopicCreation", True)
        if topics is None or (not topics and version < _NULL_IS_ALL_SINCE):
            rows = [_described(topic, self._partitions(topic)) for topic in self.topics.values()]
        else:
            rows = [self._topic(row, create=create) for row in topics]
        return {
            "brokers": self._places("nodeId"),
            "clusterId": CLUSTER_ID,
            "controllerId": FIRST_NODE,
            "topics": rows,
        }

    def _places(self, key: str) -> list[dict[str, Any]]:
        return [{key: n, "host": at.host, "port": at.port} for n, at in self._nodes.items()]

    def _topic(self, row: Mapping[str, Any], *, create: bool) -> dict[str, Any]:
        """Return a topic; a new one is made if the request allows it."""
        name = row["name"]
        if name is None:
            topic, code = self.topics.by_id(row["topicId"]), Code.UNKNOWN_TOPIC_ID
        else:
            topic, code = self.topics.get(name), _fault_of(name)
            if code is Code.NONE and topic is None and create:
                topic = self.topics.make(name, PARTITIONS)
            code = code or Code.UNKNOWN_TOPIC_OR_PARTITION
        if topic is None:
            topic_id = row.get("topicId", NO_UUID)
            return {"errorCode": code, "name": name, "topicId": topic_id, "partitions": []}
        return _described(topic, self._partitions(topic))

    def _partitions(self, topic: Topic) -> list[dict[str, Any]]:
        def row(number: int) -> dict[str, Any]:
            here = [self.leader_of(number)]
            return {
                "errorCode": Code.NONE,
                "partitionIndex": number,
                "leaderId": here[0],
                "leaderEpoch": LEADER_EPOCH,
                "replicaNodes": here,
                "isrNodes": here,
                "offlineReplicas": [],
            }

        return [row(number) for number in range(len(topic.partitions))]

    def _find_coordinator(self, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
        kind = body.get("keyType", _GROUP)
        is_known = kind in {_GROUP, _TRANSACTION}

        def place(key: str) -> dict[str, Any]:
            node = None
            if kind == _GROUP:
                node = self._groups.lookup(key)
            elif kind == _TRANSACTION:
                node = self.transactions.node_of(key)
            if node is None:
                return {
                    "nodeId": -1,
                    "host": "",
                    "port": -1,
                    "errorCode": Code.COORDINATOR_NOT_AVAILABLE,
                    "errorMessage": None if is_known else _NO_SUCH_KEY,
                }
            host, port = self._nodes[node].host, self._nodes[node].port
            row = {"nodeId": node, "host": host, "port": port}
            return {**row, "errorCode": Code.NONE, "errorMessage": None}

        if version < _BATCHES_SINCE:
            return place(body["key"])
        return {"coordinators": [{"key": key, **place(key)} for key in body["coordinatorKeys"]]}

    def _describe_cluster(self) -> dict[str, Any]:
        return {
            "errorCode": Code.NONE,
            "clusterId": CLUSTER_ID,
            "controllerId": FIRST_NODE,
            "brokers": self._places("brokerId"),
        }

    def _create(self, row: Mapping[str, Any], only_validate: bool) -> dict[str, Any]:
        name, count, copies = row["name"], row["numPartitions"], row["replicationFactor"]
        if row["assignments"]:
            count = len(row["assignments"])
        count = PARTITIONS if count == -1 else count
        code = _fault_of(name)
        if name in self.topics:
            code = Code.TOPIC_ALREADY_EXISTS
        elif code is Code.NONE and not 0 < count <= MOST_PARTITIONS:
            code = Code.INVALID_PARTITIONS
        elif code is Code.NONE and copies not in {-1, 1}:
            code = Code.INVALID_REPLICATION_FACTOR
        done = {"name": name, "errorCode": code, "errorMessage": None, "configs": []}
        if code is not Code.NONE:
            return done
        topic_id = NO_UUID if only_validate else self.topics.make(name, count).id
        return {**done, "topicId": topic_id, "numPartitions": count, "replicationFactor": 1}

    def _delete(self, row: Mapping[str, Any]) -> dict[str, Any]:
        name, topic_id = row["name"], row.get("topicId", NO_UUID)
        code = Code.UNKNOWN_TOPIC_OR_PARTITION
        if name is None:
            topic = self.topics.by_id(topic_id)
            name, code = None if topic is None else topic.name, Code.UNKNOWN_TOPIC_ID
        known = name is not None and self.delete_topic(name)
        return {
            "name": name,
            "topicId": topic_id,
            "errorCode": Code.NONE if known else code,
            "errorMessage": None,
        }

    def _describe(self, resource: Mapping[str, Any]) -> dict[str, Any]:
        kind, name = resource["resourceType"], resource["resourceName"]
        code, rows = Code.NONE, []
        if kind == _BROKER and name in map(str, self._nodes):
            requested = resource["configurationKeys"]
            keys = (
                self._settings
                if requested is None
                else [k for k in self._settings if k in requested]
            )
            values = named(self._settings)
            rows = [_setting(key, values[key]) for key in keys]
        elif kind == _TOPIC and name not in self.topics:
            code = Code.UNKNOWN_TOPIC_OR_PARTITION
        elif kind != _TOPIC:
            code = Code.INVALID_REQUEST
        return {
            "errorCode": code,
            "errorMessage": None,
            "resourceType": kind,
            "resourceName": name,
            "configs": rows,
        }


def _version_rows(versions: Mapping[str, tuple[int, int]]) -> list[dict[str, Any]]:
    rows = ((API_KEYS[name], low, high) for name, (low, high) in versions.items())
    return [
        {"apiKey": key, "minVersion": low, "maxVersion": high} for key, low, high in sorted(rows)
    ]


def _setting(key: str, value: int | str | None) -> dict[str, Any]:
    return {
        "name": key,
        "value": str(NO_LIMIT if value is None else value),
        "readOnly": True,
        "configSource": _STATIC_CONFIG,
        "isSensitive": False,
        "synonyms": [],
        "configType": _STRING if isinstance(value, str) else _INT,
        "documentation": None,
    }


def _described(topic: Topic, partitions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "errorCode": Code.NONE,
        "name": topic.name,
        "topicId": topic.id,
        "partitions": partitions,
    }


def may_name_a_topic(name: str) -> bool:
    """Return True if a topic may have this name."""
    good = 0 < len(name) <= _LONGEST_NAME and name not in {".", ".."}
    return good and re.fullmatch(r"[a-zA-Z0-9._-]+", name) is not None


def _fault_of(name: str) -> Code:
    return Code.NONE if may_name_a_topic(name) else Code.INVALID_TOPIC_EXCEPTION
