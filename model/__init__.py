"""The model: what a correct coordinator of Kafka's classic group protocol does.  Pure, no I/O.

The decision table is data: rules whose guards ask about a request and a group, and whose effects
are steps from a closed list.  A revision is a set of tables; the machine carries their rules out.

What is named here is the public API; it is loaded when it is first used.

Examples:
    >>> from fencepost.model import Incoming, JoinGroupRequest, JoinProtocol, Machine, Span
    >>> from fencepost.model import find_revision
    >>> join = JoinGroupRequest(
    ...     group_id="orders",
    ...     session_timeout_ms=10_000,
    ...     rebalance_timeout_ms=60_000,
    ...     member_id="",
    ...     group_instance_id="instance-1",
    ...     protocol_type="consumer",
    ...     protocols=(JoinProtocol(name="range", metadata=b""),),
    ... )
    >>> request = Incoming("r-1", "client-1", "JoinGroup", 9, join, fresh_id="member-1")
    >>> [outcome] = Machine(find_revision("kafka-4")).handle(None, request, Span(0, 0))
    >>> outcome.rules
    ('JOIN-STATIC-EMPTY-NEW', 'JOIN-PHASE-WAIT')
    >>> outcome.group.state
    <GroupState.PREPARING: 'PreparingRebalance'>
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.model._door import lazy

if TYPE_CHECKING:
    from fencepost.model.assignors.assignor_input import Applicant, Assignment
    from fencepost.model.assignors.assignors import ASSIGNORS, Assignor
    from fencepost.model.classic.group import (
        Group,
        InitialDelay,
        Member,
        Offset,
        ParkedRequest,
        Timer,
    )
    from fencepost.model.classic.machine import Machine
    from fencepost.model.classic.work import Emission, Incoming, Outcome, Span
    from fencepost.model.coordinator import (
        CONFIG_DEFAULTS,
        Answer,
        AsyncCoordinator,
        Body,
        Config,
        Coordinator,
        CoordinatorFailure,
        Dropped,
        Hello,
        Reset,
        Send,
        UnsupportedError,
    )
    from fencepost.model.history.events import (
        Answered,
        Disconnected,
        Event,
        Handled,
        Passed,
        Restarted,
        Sent,
        TopicsDeleted,
    )
    from fencepost.model.messages.errors import Error, error_name
    from fencepost.model.messages.messages import (
        APIS,
        Api,
        CommitPartition,
        CommitTopic,
        DescribeGroupsRequest,
        DescribeGroupsResponse,
        FetchGroup,
        FetchTopic,
        HeartbeatRequest,
        HeartbeatResponse,
        JoinGroupRequest,
        JoinGroupResponse,
        JoinProtocol,
        LeaveGroupRequest,
        LeaveGroupResponse,
        LeavingMember,
        ListGroupsRequest,
        ListGroupsResponse,
        OffsetCommitRequest,
        OffsetCommitResponse,
        OffsetFetchRequest,
        OffsetFetchResponse,
        SyncAssignment,
        SyncGroupRequest,
        SyncGroupResponse,
    )
    from fencepost.model.messages.shapes import Message, ShapeError
    from fencepost.model.messages.subscription import Subscription, TopicPartition
    from fencepost.model.revision import (
        Difference,
        DropRule,
        Gate,
        Release,
        Revision,
        SetRule,
        derive,
    )
    from fencepost.model.revisions.base import KAFKA_4
    from fencepost.model.revisions.release_revisions import RELEASES
    from fencepost.model.revisions.revisions import NAMES as REVISION_NAMES
    from fencepost.model.revisions.revisions import find as find_revision
    from fencepost.model.table.cells import when
    from fencepost.model.table.effects import Do, Echo
    from fencepost.model.table.expr import Expr, Feature, all_of, any_of, negate
    from fencepost.model.table.table import Level, Rule, Table, TableError, UnknownNameError
    from fencepost.model.table.vocabulary import (
        Availability,
        Change,
        Delay,
        Fit,
        Generation,
        Given,
        GroupId,
        GroupState,
        Inst,
        Late,
        Left,
        Mid,
        Offer,
        Parked,
        Range,
        Record,
        Role,
        Room,
        Stored,
        Subject,
        Trigger,
    )

__all__ = [
    "APIS",
    "ASSIGNORS",
    "CONFIG_DEFAULTS",
    "KAFKA_4",
    "RELEASES",
    "REVISION_NAMES",
    "Answer",
    "Answered",
    "Api",
    "Applicant",
    "Assignment",
    "Assignor",
    "AsyncCoordinator",
    "Availability",
    "Body",
    "Change",
    "CommitPartition",
    "CommitTopic",
    "Config",
    "Coordinator",
    "CoordinatorFailure",
    "Delay",
    "DescribeGroupsRequest",
    "DescribeGroupsResponse",
    "Difference",
    "Disconnected",
    "Do",
    "DropRule",
    "Dropped",
    "Echo",
    "Emission",
    "Error",
    "Event",
    "Expr",
    "Feature",
    "FetchGroup",
    "FetchTopic",
    "Fit",
    "Gate",
    "Generation",
    "Given",
    "Group",
    "GroupId",
    "GroupState",
    "Handled",
    "HeartbeatRequest",
    "HeartbeatResponse",
    "Hello",
    "Incoming",
    "InitialDelay",
    "Inst",
    "JoinGroupRequest",
    "JoinGroupResponse",
    "JoinProtocol",
    "Late",
    "LeaveGroupRequest",
    "LeaveGroupResponse",
    "LeavingMember",
    "Left",
    "Level",
    "ListGroupsRequest",
    "ListGroupsResponse",
    "Machine",
    "Member",
    "Message",
    "Mid",
    "Offer",
    "Offset",
    "OffsetCommitRequest",
    "OffsetCommitResponse",
    "OffsetFetchRequest",
    "OffsetFetchResponse",
    "Outcome",
    "Parked",
    "ParkedRequest",
    "Passed",
    "Range",
    "Record",
    "Release",
    "Reset",
    "Restarted",
    "Revision",
    "Role",
    "Room",
    "Rule",
    "Send",
    "Sent",
    "SetRule",
    "ShapeError",
    "Span",
    "Stored",
    "Subject",
    "Subscription",
    "SyncAssignment",
    "SyncGroupRequest",
    "SyncGroupResponse",
    "Table",
    "TableError",
    "Timer",
    "TopicPartition",
    "TopicsDeleted",
    "Trigger",
    "UnknownNameError",
    "UnsupportedError",
    "all_of",
    "any_of",
    "derive",
    "error_name",
    "find_revision",
    "negate",
    "when",
]

__getattr__, __dir__ = lazy(__name__)
