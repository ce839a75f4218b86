"""Write cases of the consumer protocol: members join, heartbeat, are released and leave by name.

As in all cases a name in capitals is a process of a static member, and one in small letters is a
dynamic member.  The client makes member ids, so the id of a member is its name.  A field that a
call leaves out has the value of a correct client: the epoch and the partitions of its last answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.script import AUTO, CASE_PARTITIONS, CASE_TOPICS, Script
from fencepost.model.consumer.settings import ASSIGNMENT_INTERVAL, MAX_SIZE, SESSION_TIMEOUT
from fencepost.model.consumer.topics import rows_of, topic_id
from fencepost.model.coordinator import Config
from fencepost.model.messages.messages import (
    BY_ID_SINCE,
    CommitPartition,
    CommitTopic,
    FetchGroup,
    FetchTopic,
    TxnCommitPartition,
    TxnCommitTopic,
)
from fencepost.model.messages.subscription import TopicPartition
from fencepost.model.plans.steps import EpochOf, Ms, OwnedOf, instance_of

ALL = tuple(range(CASE_PARTITIONS))
BOTH = CASE_TOPICS
NOBODY = "nobody"
"""A member id that no member has."""

SHORT_SESSION: Mapping[str, int] = {SESSION_TIMEOUT: 6000}
"""Settings for cases that wait until sessions end."""

FULL: Mapping[str, int | None] = {MAX_SIZE: 2}


def owned(*numbers: int) -> Any:
    """Return partitions of topic t, as a heartbeat says that its sender owns them."""
    return rows_of(TopicPartition("t", number) for number in numbers)


def sender(who: str, group: str, member_id: Any, epoch: Any) -> dict[str, Any]:
    """Return the fields of a heartbeat that name its sender."""
    return {
        "group_id": group,
        "member_id": who if member_id is AUTO else member_id,
        "member_epoch": EpochOf(who) if epoch is AUTO else epoch,
    }


def _named(topics: str | Sequence[str], version: int) -> list[dict[str, str]]:
    """Return the fields that name each topic in a commit or fetch of a version."""
    names = (topics,) if isinstance(topics, str) else topics
    if version < BY_ID_SINCE:
        return [{"name": name} for name in names]
    return [{"topic_id": topic_id(name)} for name in names]


class ConsumerScript(Script):
    """The steps of one case of the consumer protocol."""

    SETTINGS: ClassVar[Config] = {ASSIGNMENT_INTERVAL: 0}
    """The settings for cases of this class: a coordinator makes new targets at once."""
    HEARTBEAT: ClassVar[str] = "ConsumerGroupHeartbeat"
    """The API of joins, heartbeats and leaves."""

    @classmethod
    def registry(cls, **settings: int) -> Registry:
        """Return a registry for cases of this class; `settings`: further ones."""
        return Registry(cls, settings={**cls.SETTINGS, **settings})

    def join(
        self,
        *who: str,
        member_id: Any = AUTO,
        instance: Any = AUTO,
        topics: Sequence[str] | None = ("t",),
        regex: Any = AUTO,
        rebalance: Any = AUTO,
        owns: Any = (),
        version: int = 1,
        group: str = "g",
        **fields: Any,
    ) -> None:
        """Send a join for each, with epoch 0.

        `regex`: by default "", as librdkafka sends it; null aborts its mock.  `fields`: of `ask`,
        and `server_assignor`, `rack_id`.
        """
        for name in who:
            says: dict[str, Any] = {
                **sender(name, group, member_id, 0),
                "subscribed_topic_names": topics,
                "topic_partitions": owns,
                "rebalance_timeout_ms": Ms("rebalance") if rebalance is AUTO else rebalance,
            }
            if version > 0:
                says["subscribed_topic_regex"] = "" if regex is AUTO else regex
            self._heartbeat(name, instance, version, {**says, **fields})

    def beat(
        self,
        *who: str,
        member_id: Any = AUTO,
        instance: Any = AUTO,
        epoch: Any = AUTO,
        owns: Any = AUTO,
        version: int = 1,
        group: str = "g",
        **fields: Any,
    ) -> None:
        """Send a heartbeat for each: it owns the partitions of its last answer.

        `fields`: of `ask`, and `server_assignor`, `subscribed_topic_names`, `rack_id`.
        """
        for name in who:
            says = {
                **sender(name, group, member_id, epoch),
                "topic_partitions": OwnedOf(name) if owns is AUTO else owns,
            }
            if "subscribed_topic_names" in fields and version > 0:
                says["subscribed_topic_regex"] = ""  # as in a join
            self._heartbeat(name, instance, version, {**says, **fields})

    def keep(self, *who: str, **fields: Any) -> None:
        """Send a heartbeat for each that says nothing of partitions; `fields`: as for `beat`."""
        self.beat(*who, owns=None, **fields)

    def release(self, *who: str, epoch: int = -2, **fields: Any) -> None:
        """Send a leave for a while for each; `fields`: as for `beat`."""
        self.beat(*who, epoch=epoch, owns=None, **fields)

    def leave(self, *who: str, **fields: Any) -> None:  # type: ignore[override]
        """Send a leave for good for each; `fields`: as for `beat`."""
        self.release(*who, epoch=-1, **fields)

    def _heartbeat(self, who: str, instance: Any, version: int, says: dict[str, Any]) -> None:
        mine = instance_of(who) if instance is AUTO else instance
        if mine is not None:
            says["instance_id"] = mine
        self.ask(who, self.HEARTBEAT, version=version, **says)

    # Groups in a state.

    def reconciled(self, *who: str) -> None:
        """Let these join one after the other, each until all have taken over their targets."""
        there: list[str] = []
        for name in who:
            self.join(name)
            if there:
                self.beat(*there)
                self.beat(*there)
                self.beat(name)
            there.append(name)

    def returned(self, *others: str) -> None:
        """Make a group of A1 and others, in which A2 has A1's place since a release."""
        self.reconciled("A1", *others)
        self.release("A1")
        self.join("A2")

    def advanced(self) -> None:
        """Make a group of A1 and B1 in which A1 has just given partitions up: its epoch grew."""
        self.join("A1", "B1")
        self.beat("A1", "A1")

    # Offsets and administrators.

    def commit(
        self,
        who: str,
        *,
        member_id: Any = AUTO,
        instance: str | None = None,
        epoch: Any = AUTO,
        parts: Sequence[int] = (0,),
        topic: str | Sequence[str] = "t",
        version: int = 9,
        **fields: Any,
    ) -> None:
        """Send OffsetCommit of an offset for each of these partitions; `fields`: of `ask`.

        `topic`: one, or several.  From version 10 on they are named by their ids.
        """
        rows = tuple(CommitPartition(partition_index=n, committed_offset=1) for n in parts)
        says = self._committing(who, member_id, instance, epoch)
        topics = tuple(CommitTopic(**named, partitions=rows) for named in _named(topic, version))
        self.ask(who, "OffsetCommit", version=version, topics=topics, **says, **fields)

    def transact(
        self,
        who: str,
        *,
        member_id: Any = AUTO,
        instance: str | None = None,
        epoch: Any = AUTO,
        parts: Sequence[int] = (0,),
        topic: str = "t",
        group: str = "g",
        **fields: Any,
    ) -> None:
        """Send TxnOffsetCommit, in a transaction that is then committed; else as `commit`."""
        rows = tuple(TxnCommitPartition(partition_index=n, committed_offset=1) for n in parts)
        says = self._committing(who, member_id, instance, epoch, group)
        topics = (TxnCommitTopic(name=topic, partitions=rows),)
        self.ask(who, "TxnOffsetCommit", transactional_id=who, topics=topics, **says, **fields)

    def _committing(
        self, who: str, member_id: Any, instance: str | None, epoch: Any, group: str = "g"
    ) -> dict[str, Any]:
        return self._member_fields(
            who,
            group=group,
            generation=EpochOf(who) if epoch is AUTO else epoch,
            member_id=who if member_id is AUTO else member_id,
            instance=instance,
        )

    def fetch(  # type: ignore[override]
        self,
        who: str,
        *,
        member_id: Any = AUTO,
        epoch: Any = AUTO,
        parts: tuple[int, ...] = (0,),
        topic: str | Sequence[str] | None = "t",
        version: int = 9,
    ) -> None:
        """Send OffsetFetch of these partitions; `topic` as for `commit`, None: of all topics."""
        bound_later: Any = EpochOf(who) if epoch is AUTO else epoch
        row = FetchGroup(
            group_id="g",
            member_id=who if member_id is AUTO else member_id,
            member_epoch=bound_later,
            topics=None
            if topic is None
            else tuple(
                FetchTopic(**named, partition_indexes=parts) for named in _named(topic, version)
            ),
        )
        self.ask(who, "OffsetFetch", version=version, groups=(row,))

    def describe(self, *groups: str, version: int | None = None) -> None:  # type: ignore[override]
        """Send ConsumerGroupDescribe from a connection of its own."""
        named = groups or ("g",)
        self.ask("admin", "ConsumerGroupDescribe", version=version, group_ids=named)

    def describe_as_classic(self, *, version: int) -> None:
        """Send DescribeGroups from a connection of its own."""
        super().describe(version=version)

    def remove(self, *rows: tuple[str, str | None], group: str = "g") -> None:
        """Send LeaveGroup as an administrator does: rows of member id and instance."""
        super().leave("admin", *rows, group=group, version=5)

    def outlast_session(self, *, beating: Sequence[str] = ()) -> None:
        """Let the group's session timeout pass and a margin more, while some heartbeat."""
        self.outlast("group session", beating=beating)
