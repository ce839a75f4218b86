"""Map the names of a case on a shared cluster: its groups get a prefix, its topics are one topic.

A case uses its own names for its own groups.  A topic whose name begins with `missing` becomes a
name that is never created; one whose name begins with `own` is the case's own, so that it can be
deleted; subscriptions name it, too.  Every other one is the topic of the run; so two topics in one
request could not be kept apart and are refused.  An empty group id stays empty, because the case is
about it.

Where a reset names the topics, each is a topic of its own on the cluster, shared with other cases
that need as many partitions.  Then all other names are missing, and ids are mapped, too.
"""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from fencepost.model.consumer.expressions import is_refused
from fencepost.model.coordinator import UnsupportedError, codes_in
from fencepost.model.messages.consumer_messages import CONSUMER_APIS
from fencepost.model.messages.errors import Error
from fencepost.model.messages.streams_messages import STREAMS_APIS
from fencepost.model.messages.subscription import encode_string, subscribed_topics
from fencepost.traces.logs.request_log import OWN_GROUPS

MISSING, OWN = "missing", "own"
_WITH_TOPICS = frozenset({*CONSUMER_APIS, *STREAMS_APIS})
"""The APIs whose answers have names and ids of topics."""
PREFIX = OWN_GROUPS
"""Each group and topic of ours on a cluster has a name that begins so."""


class Names:
    """The two-way mapping of one scope."""

    def __init__(self, prefix: str, topic: str) -> None:
        self.prefix = prefix
        self._topic = topic
        self._topics: dict[str, str] = {}
        self._subscriptions: dict[str, str] = {}
        self._reals: dict[str, str] = {}
        """Each topic of a reset: its name on the cluster."""
        self._ids: dict[str, str] = {}
        """Each id of such a topic: its id on the cluster."""
        self._own_ids: dict[str, str] = {}

    def know(self, name: str, topic_id: str, real: str, real_id: str) -> None:
        """Map a topic of a reset to a topic on the cluster."""
        self._reals[name], self._topics[real] = real, name
        self._ids[topic_id], self._own_ids[real_id] = real_id, topic_id

    def group(self, group_id: str) -> str:
        """Return the name on the cluster."""
        return f"{self.prefix}{group_id}" if group_id else ""

    def topic(self, name: str) -> str:
        """Return the name of a topic on the cluster."""
        if name.startswith(OWN):
            return f"{self.prefix}{name}"
        if self._reals:
            return self._reals.get(name, f"{self._topic}-{name}")
        return self._topic if _is_ours(name) else f"{self._topic}-{name}"

    def own_topics(self) -> list[str]:
        """Return the cluster's names of the case's own topics, as far as requests named them."""
        return [real for real, name in self._topics.items() if name.startswith(OWN)]

    def request(self, api: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a request with the names of the cluster.

        Raises UnsupportedError for two topics at once.
        """
        out = dict(body)
        if isinstance(out.get("groupId"), str):
            out["groupId"] = self.group(out["groupId"])
        if isinstance(out.get("transactionalId"), str):
            out["transactionalId"] = f"{self.prefix}{out['transactionalId']}"
        groups = out.get("groups")
        if api == "DescribeGroups" and isinstance(groups, list):
            out["groups"] = [self.group(g) if isinstance(g, str) else g for g in groups]
        elif isinstance(groups, list):
            out["groups"] = [self.request(api, g) if isinstance(g, dict) else g for g in groups]
        for key in ("groupsNames", "groupIds"):
            if isinstance(named := out.get(key), list):
                out[key] = [self.group(g) if isinstance(g, str) else g for g in named]
        if api == "ConsumerGroupHeartbeat":
            out |= self._beating(out)
        if isinstance(topology := out.get("topology"), dict):
            out["topology"] = self._reading(topology)
        protocols = out.get("protocols")
        if isinstance(protocols, list):
            out["protocols"] = [
                {**p, "metadata": self._subscribing(p["metadata"])}
                if isinstance(p, dict) and isinstance(p.get("metadata"), str)
                else p
                for p in protocols
            ]
        if isinstance(assignments := out.get("assignments"), list):
            out["assignments"] = self._assigning(assignments)
        topics = out.get("topics")
        if isinstance(topics, list):
            out["topics"] = list(self._to_cluster(topics))
        return out

    def _beating(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the topics of a heartbeat, with the names and ids of the cluster.

        Raises UnsupportedError for an expression, which would match topics of others, unless it is
        invalid.
        """
        out: dict[str, Any] = {}
        if (expression := body.get("subscribedTopicRegex")) and not is_refused(expression):
            raise UnsupportedError("a subscribedTopicRegex on a broker that has other topics, too")
        if (names := body.get("subscribedTopicNames")) is not None:
            reals = {name: self.topic(name) if name else name for name in names}
            self._topics |= {real: name for name, real in reals.items()}
            out["subscribedTopicNames"] = [reals[name] for name in names]
        if (rows := body.get("topicPartitions")) is not None:
            out["topicPartitions"] = [self._with_real_id(row) for row in rows]
        return out

    def _with_real_id(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row of a topic with the id that it has on the cluster."""
        return {**row, "topicId": self._ids.get(row["topicId"], row["topicId"])}

    def _reading(self, topology: Mapping[str, Any]) -> dict[str, Any]:
        """Return a topology with the cluster's names of its source topics."""
        reals = {
            name: self.topic(name)
            for part in topology["subtopologies"]
            for name in part["sourceTopics"]
        }
        self._topics |= {real: name for name, real in reals.items()}
        parts = [
            {**part, "sourceTopics": [reals[name] for name in part["sourceTopics"]]}
            for part in topology["subtopologies"]
        ]
        return {**topology, "subtopologies": parts}

    def _plain(self, value: Any, key: str = "") -> Any:
        """Return a part of an answer with the case's names and ids of topics."""
        match value:
            case dict():
                return {inner: self._plain(each, inner) for inner, each in value.items()}
            case list():
                return [self._plain(each, key) for each in value]
            case str() if key == "topicId":
                return self._own_ids.get(value, value)
            case str() if key in {"topicName", "subscribedTopicNames", "sourceTopics"}:
                return self._topics.get(value, value)
            case _:
                return value

    def _subscribing(self, metadata: str) -> str:
        """Return a subscription, in base64, with the cluster's names of the topics of the case.

        These are its own topics; where a reset names topics, all of them.
        """
        try:
            topics = subscribed_topics(base64.b64decode(metadata))
        except ValueError:
            return metadata
        own = [topic for topic in topics if self._reals or topic.startswith(OWN)]
        if not own:
            return metadata
        reals = {topic: self.topic(topic) for topic in own}
        self._topics |= {real: topic for topic, real in reals.items()}
        after = _with_names(metadata, reals)
        self._subscriptions[after] = metadata
        return after

    def _assigning(self, rows: list[Any]) -> list[Any]:
        """Return the assignments of a leader with the cluster's names of the topics of a reset."""
        return [
            {**row, "assignment": _with_names(row["assignment"], self._reals)}
            if isinstance(row, dict) and isinstance(row.get("assignment"), str)
            else row
            for row in rows
        ]

    def _to_cluster(self, rows: list[Any]) -> Iterator[Any]:
        ours = {row["name"] for row in rows if isinstance(row, dict) and _is_ours(row.get("name"))}
        if len(ours) > 1 and not self._reals:
            raise UnsupportedError(f"two topics in one request ({', '.join(sorted(ours))})")
        for row in rows:
            if isinstance(row, dict) and "topicId" in row:
                yield self._with_real_id(row)
                continue
            name = row.get("name") if isinstance(row, dict) else None
            if not isinstance(name, str) or not name:
                yield row
                continue
            real = self.topic(name)
            self._topics[real] = name
            yield {**row, "name": real}

    def answer(self, api: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return an answer as the case reads it; ListGroups without the groups of others."""
        out = dict(body)
        if "groups" in out:
            out["groups"] = [
                self._row(row)
                for row in out["groups"]
                if api != "ListGroups" or row["groupId"].startswith(self.prefix)
            ]
        if "results" in out:
            out["results"] = [self._row(row) for row in out["results"]]
        if isinstance(assignment := out.get("assignment"), str):
            out["assignment"] = self._plain_assignment(assignment)
        return self._row(self._plain(out) if api in _WITH_TOPICS else out)

    def _member(self, row: Mapping[str, Any]) -> dict[str, Any]:
        fields = ("metadata", "memberMetadata")
        out = {
            key: self._subscriptions.get(value, value) if key in fields else value
            for key, value in row.items()
        }
        if isinstance(assignment := out.get("memberAssignment"), str):
            out["memberAssignment"] = self._plain_assignment(assignment)
        return out

    def _plain_assignment(self, assignment: str) -> str:
        """Return an assignment, in base64, with the case's names of topics."""
        return _with_names(assignment, {real: name for name, real in self._reals.items()})

    def _row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        out = dict(row)
        if "groupId" in out:
            out["groupId"] = out["groupId"].removeprefix(self.prefix)
        if out.get("errorMessage"):
            out["errorMessage"] = out["errorMessage"].replace(self.prefix, "")
        if "members" in out and self._subscriptions:
            out["members"] = [self._member(row) for row in out["members"]]
        if "topics" in out:
            out["topics"] = [
                self._plain(t)
                if "topicId" in t
                else {**t, "name": self._topics.get(t["name"], t["name"])}
                for t in out["topics"]
            ]
        return out


def _with_names(data: str, names: Mapping[str, str]) -> str:
    """Return a subscription or assignment, in base64, with other names of topics."""
    renamed = base64.b64decode(data)
    for name, other in names.items():
        renamed = renamed.replace(encode_string(name), encode_string(other))
    return base64.b64encode(renamed).decode()


def _is_ours(name: object) -> bool:
    return isinstance(name, str) and bool(name) and not name.startswith((MISSING, OWN))


def lacks_topic(body: Mapping[str, Any]) -> bool:
    """Tell if an answer, as the case reads it, says that the topic that all share isn't there."""
    lacking = Error.UNKNOWN_TOPIC_OR_PARTITION.value
    return any(
        _is_ours(row.get("name")) and lacking in codes_in(row)
        for row in body.get("topics") or ()
        if isinstance(row, dict)
    )


def groups_in(body: Mapping[str, Any]) -> list[str]:
    """Return the group ids that a request names, wherever its API has them."""
    named = [body["groupId"]] if isinstance(body.get("groupId"), str) else []
    several = (body.get(key) or () for key in ("groups", "groupsNames", "groupIds"))
    for row in itertools.chain(*several):
        group_id = row.get("groupId") if isinstance(row, dict) else row
        if isinstance(group_id, str):
            named.append(group_id)
    return named
