"""What a broker answers besides the group protocol: its versions, brokers, topics and settings.

The cluster around the model is small: one broker, which coordinates every group; topics that are
names with partitions and hold nothing (`fencepost.conformance.serve.topic_log`); the group
settings, for DescribeConfigs.

Source: Kafka's message definitions; KIP-511 (ApiVersions: a version too high is answered in version
0 with the versions that there are; the name of a client's software is held to a pattern).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import Any

from fencepost.conformance.serve.topic_log import fetched, list_offsets, wait_ms
from fencepost.conformance.targets.target import NO_LIMIT
from fencepost.conformance.targets.tcp.address import Address
from fencepost.conformance.targets.tcp.wire import API_KEYS, RequestFrame
from fencepost.model.coordinator import Config

NODE_ID = 1
CLUSTER_ID = "fencepost"
PARTITIONS = 4
"""Of a topic, where nobody says how many."""

VERSIONS: Mapping[str, tuple[int, int]] = {
    "Fetch": (4, 11),
    "ListOffsets": (1, 7),
    "Metadata": (0, 9),
    "FindCoordinator": (0, 6),
    "ApiVersions": (0, 4),
    "CreateTopics": (2, 6),
    "DeleteTopics": (1, 5),
    "DescribeConfigs": (1, 4),
    "DeleteGroups": (0, 2),
}
"""All versions in which topics have names, not ids, and that the codec can write."""

_MOST_PARTITIONS = 1000
_LONGEST_NAME = 249
_GROUP, _TOPIC, _BROKER = 0, 2, 4
_STATIC_CONFIG, _INT = 4, 3
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")
_SOFTWARE_SINCE = 3
_NULL_IS_ALL_SINCE = 1
_BATCHES_SINCE = 4


class Code(IntEnum):
    """Error codes that the group protocol doesn't have, and those of it that are used here."""

    NONE = 0
    UNKNOWN_TOPIC_OR_PARTITION = 3
    COORDINATOR_NOT_AVAILABLE = 15
    INVALID_TOPIC_EXCEPTION = 17
    INVALID_GROUP_ID = 24
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REQUEST = 42
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69


class BrokerApis:
    """The rest of a broker.

    `address`: what clients are told; `apis`: the group APIs and their versions; `delete_group`:
    deletes a group, False if it is not Empty, None if there is none.
    """

    def __init__(
        self,
        address: Address,
        apis: Mapping[str, tuple[int, int]],
        settings: Config,
        delete_group: Callable[[str], bool | None],
    ) -> None:
        self.address = address
        self.topics: dict[str, int] = {}
        """The topics that there are, and how many partitions they have."""
        self.versions = {**apis, **VERSIONS}
        self._settings = settings
        self._delete_group = delete_group

    def speaks(self, api: str, version: int) -> bool:
        """Whether the broker has this version of an API."""
        low, high = self.versions.get(api, (0, -1))
        return low <= version <= high

    def answer(self, request: RequestFrame) -> dict[str, Any]:
        """The answer's body, for an API of `VERSIONS`."""
        body = request.body
        match request.api:
            case "ApiVersions":
                return self._api_versions(request.version, body)
            case "Metadata":
                return self._metadata(request.version, body)
            case "FindCoordinator":
                return self._find_coordinator(request.version, body)
            case "ListOffsets":
                return list_offsets(body, self.topics)
            case "Fetch":
                return fetched(body, self.topics)
            case "CreateTopics":
                rows = [self._create(row, body["validateOnly"]) for row in body["topics"]]
                return {"topics": rows}
            case "DeleteTopics":
                return {"responses": [self._delete(name) for name in body["topicNames"]]}
            case "DescribeConfigs":
                return {"results": [self._describe(row) for row in body["resources"]]}
            case "DeleteGroups":
                return {"results": [self._gone(name) for name in body["groupsNames"]]}
            case _:
                raise ValueError(f"{request.api} is no API of a broker's surroundings")

    @staticmethod
    def wait_ms(request: RequestFrame, answer: Mapping[str, Any]) -> int:
        """How long to wait with an answer."""
        return wait_ms(answer, request.body) if request.api == "Fetch" else 0

    @staticmethod
    def too_high() -> dict[str, Any]:
        """The answer, in version 0, to a version of ApiVersions that there isn't."""
        rows = _version_rows({"ApiVersions": VERSIONS["ApiVersions"]})
        return {"errorCode": Code.UNSUPPORTED_VERSION, "apiKeys": rows}

    def _api_versions(self, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
        names = (body.get("clientSoftwareName"), body.get("clientSoftwareVersion"))
        if version >= _SOFTWARE_SINCE and not all(_SOFTWARE.fullmatch(n or "") for n in names):
            return {"errorCode": Code.INVALID_REQUEST, "apiKeys": []}
        return {"errorCode": Code.NONE, "apiKeys": _version_rows(self.versions)}

    def _metadata(self, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
        asked = body["topics"]
        if asked is None or (not asked and version < _NULL_IS_ALL_SINCE):
            names: Iterable[str] = list(self.topics)
        else:
            names = dict.fromkeys(row["name"] for row in asked)
        create = body.get("allowAutoTopicCreation", True)
        host, port = self.address.host, self.address.port
        return {
            "brokers": [{"nodeId": NODE_ID, "host": host, "port": port}],
            "clusterId": CLUSTER_ID,
            "controllerId": NODE_ID,
            "topics": [self._topic(name, create=create) for name in names],
        }

    def _topic(self, name: str, *, create: bool) -> dict[str, Any]:
        """A topic that there isn't is made when somebody asks about it, if they allow it."""
        code = Code.NONE
        if name not in self.topics:
            code = _fault_of(name)
            if code is Code.NONE and not create:
                code = Code.UNKNOWN_TOPIC_OR_PARTITION
            if code is Code.NONE:
                self.topics[name] = PARTITIONS
        here = [NODE_ID]
        partitions = [
            {
                "errorCode": Code.NONE,
                "partitionIndex": number,
                "leaderId": NODE_ID,
                "leaderEpoch": 0,
                "replicaNodes": here,
                "isrNodes": here,
                "offlineReplicas": [],
            }
            for number in range(self.topics.get(name, 0))
        ]
        return {"errorCode": code, "name": name, "partitions": partitions}

    def _find_coordinator(self, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
        known = body.get("keyType", _GROUP) == _GROUP
        place = {
            "nodeId": NODE_ID if known else -1,
            "host": self.address.host if known else "",
            "port": self.address.port if known else -1,
            "errorCode": Code.NONE if known else Code.COORDINATOR_NOT_AVAILABLE,
            "errorMessage": None if known else "only groups have a coordinator here",
        }
        if version < _BATCHES_SINCE:
            return place
        return {"coordinators": [{"key": key, **place} for key in body["coordinatorKeys"]]}

    def _create(self, row: Mapping[str, Any], only_validate: bool) -> dict[str, Any]:
        name, count, copies = row["name"], row["numPartitions"], row["replicationFactor"]
        if row["assignments"]:
            count = len(row["assignments"])
        count = PARTITIONS if count == -1 else count
        code = _fault_of(name)
        if name in self.topics:
            code = Code.TOPIC_ALREADY_EXISTS
        elif code is Code.NONE and not 0 < count <= _MOST_PARTITIONS:
            code = Code.INVALID_PARTITIONS
        elif code is Code.NONE and copies not in {-1, 1}:
            code = Code.INVALID_REPLICATION_FACTOR
        done = {"name": name, "errorCode": code, "errorMessage": None, "configs": []}
        if code is not Code.NONE:
            return done
        if not only_validate:
            self.topics[name] = count
        return {**done, "numPartitions": count, "replicationFactor": 1}

    def _delete(self, name: str) -> dict[str, Any]:
        known = self.topics.pop(name, None) is not None
        code = Code.NONE if known else Code.UNKNOWN_TOPIC_OR_PARTITION
        return {"name": name, "errorCode": code, "errorMessage": None}

    def _describe(self, resource: Mapping[str, Any]) -> dict[str, Any]:
        kind, name = resource["resourceType"], resource["resourceName"]
        code, rows = Code.NONE, []
        if kind == _BROKER and name == str(NODE_ID):
            wanted = resource["configurationKeys"]
            keys = self._settings if wanted is None else [k for k in self._settings if k in wanted]
            rows = [_setting(key, self._settings[key]) for key in keys]
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

    def _gone(self, group_id: str) -> dict[str, Any]:
        code = Code.INVALID_GROUP_ID
        if group_id:
            deleted = self._delete_group(group_id)
            code = Code.NONE if deleted else Code.NON_EMPTY_GROUP
            code = Code.GROUP_ID_NOT_FOUND if deleted is None else code
        return {"groupId": group_id, "errorCode": code}


def _version_rows(versions: Mapping[str, tuple[int, int]]) -> list[dict[str, Any]]:
    rows = ((API_KEYS[name], low, high) for name, (low, high) in versions.items())
    return [
        {"apiKey": key, "minVersion": low, "maxVersion": high} for key, low, high in sorted(rows)
    ]


def _setting(key: str, value: int | None) -> dict[str, Any]:
    return {
        "name": key,
        "value": str(NO_LIMIT if value is None else value),
        "readOnly": True,
        "configSource": _STATIC_CONFIG,
        "isSensitive": False,
        "synonyms": [],
        "configType": _INT,
        "documentation": None,
    }


def may_name_a_topic(name: str) -> bool:
    """Whether a topic may have this name."""
    good = 0 < len(name) <= _LONGEST_NAME and name not in {".", ".."}
    return good and re.fullmatch(r"[a-zA-Z0-9._-]+", name) is not None


def _fault_of(name: str) -> Code:
    return Code.NONE if may_name_a_topic(name) else Code.INVALID_TOPIC_EXCEPTION
