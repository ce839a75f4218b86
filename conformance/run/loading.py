"""Tell a fault of the target from what a coordinator says while it reads its groups.

Most APIs say so by their error code, and such a run is not judged.  A Heartbeat is answered as if
all were well then, and by some coordinators a SyncGroup as if a rebalance were in progress.  So
after a failure the coordinator is asked whether it is still loading, and such an answer counts only
once it was seen again and again.

Source: protocol.md section 1; seen on Kafka 3.9.1 (old) and 4.3.0 with many groups to read.
"""

from __future__ import annotations

from fencepost.conformance.run.link_faults import LINK, UNASKED_FOR, is_unasked, may_be_the_link
from fencepost.conformance.run.probe import Asker
from fencepost.model.coordinator import (
    AsyncCoordinator,
    CoordinatorFailure,
    Hello,
    UnsupportedError,
    codes_in,
)
from fencepost.model.history.events import Sent
from fencepost.model.messages.errors import MOVING
from fencepost.model.messages.messages import DescribeGroupsRequest
from fencepost.model.revision import Revision
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.judging.recording import Recording

WHILE_LOADING = "a coordinator that was loading"
_WAIT_S = 5.0
_LOADING = "-COORDINATOR-LOADING"


def passing_cause(result: CaseResult, revision: Revision) -> str | None:
    """What else than a fault of the target may have caused a failure, if anything."""
    if may_be_the_link(result):
        return LINK
    if is_unasked(result):
        return UNASKED_FOR
    return WHILE_LOADING if may_be_loading(result, revision) else None


def may_be_loading(result: CaseResult, revision: Revision) -> bool:
    """Whether the answer that was wrong is what a coordinator says that loads."""
    violation, recording = result.violation, result.recording
    if result.outcome is not Outcome.FAIL or violation is None or recording is None:
        return False
    sent = (e.request for e in recording.history if isinstance(e, Sent))
    api = next((request.api for request in sent if request.id == violation.request_id), None)
    if api is None or violation.observed is None:
        return False
    rules = revision.tables[api].rules()
    said = {rule.answer.value for rule in rules if rule.answer and rule.id.endswith(_LOADING)}
    return violation.observed.get("errorCode") in said


async def is_loading(coordinator: AsyncCoordinator, hello: Hello, recording: Recording) -> bool:
    """Whether the coordinator of a case's last group says that it loads, or that it moved."""
    groups = [e.request.body.get("groupId") for e in recording.history if isinstance(e, Sent)]
    named = [group for group in groups if group]
    if not named or "DescribeGroups" not in hello.apis:
        return False
    version = hello.apis["DescribeGroups"][0]
    body = DescribeGroupsRequest(groups=(named[-1],)).to_body(version)
    try:
        answer = await Asker(coordinator, "loading", _WAIT_S).ask("DescribeGroups", version, body)
    except (CoordinatorFailure, UnsupportedError):
        return False
    return not MOVING.isdisjoint(codes_in(answer))
