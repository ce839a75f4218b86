"""The model: a correct coordinator of Kafka's classic group protocol.  Pure, no I/O.

The decision table is data: rules whose guards test a request and a group, and whose effects are
steps from a closed list.  A revision is a set of tables; the machine performs their rules.

The names here are the public API; each is loaded at its first use.

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
    from fencepost.model.classic.cells import when
    from fencepost.model.classic.classic_work import ClassicWork
    from fencepost.model.classic.effects import Do
    from fencepost.model.classic.group import Group
    from fencepost.model.classic.vocabulary import GroupState, Membership, Mid, Role
    from fencepost.model.coordinator import (
        Answer,
        Config,
        Coordinator,
        CoordinatorFailure,
        Hello,
        Reset,
        Send,
        UnsupportedError,
    )
    from fencepost.model.machine import Machine
    from fencepost.model.messages.errors import Error
    from fencepost.model.messages.messages import (
        HeartbeatRequest,
        JoinGroupRequest,
        JoinProtocol,
        LeaveGroupRequest,
        LeavingMember,
        SyncAssignment,
        SyncGroupRequest,
    )
    from fencepost.model.revision import DropRule, Revision, SetRule, derive
    from fencepost.model.revisions.base import KAFKA_4
    from fencepost.model.revisions.release_revisions import RELEASES
    from fencepost.model.revisions.revisions import find as find_revision
    from fencepost.model.table.expr import Column, all_of, any_of, negate
    from fencepost.model.table.shared_features import Inst
    from fencepost.model.table.table import Echo, Level, OwnStep, Rule
    from fencepost.model.work import Incoming, Outcome, Span

__all__ = [
    "KAFKA_4",
    "RELEASES",
    "Answer",
    "ClassicWork",
    "Column",
    "Config",
    "Coordinator",
    "CoordinatorFailure",
    "Do",
    "DropRule",
    "Echo",
    "Error",
    "Group",
    "GroupState",
    "HeartbeatRequest",
    "Hello",
    "Incoming",
    "Inst",
    "JoinGroupRequest",
    "JoinProtocol",
    "LeaveGroupRequest",
    "LeavingMember",
    "Level",
    "Machine",
    "Membership",
    "Mid",
    "Outcome",
    "OwnStep",
    "Reset",
    "Revision",
    "Role",
    "Rule",
    "Send",
    "SetRule",
    "Span",
    "SyncAssignment",
    "SyncGroupRequest",
    "UnsupportedError",
    "all_of",
    "any_of",
    "derive",
    "find_revision",
    "negate",
    "when",
]

__getattr__, __dir__ = lazy(__name__)
