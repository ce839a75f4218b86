"""Tell a fault of the target from a fault of the network link.

A late answer or a closed connection may come from the link: a lost packet, a stall, a cut.  The
control group can't show what happens to one connection alone.  But a faulty target fails at the
same request again and again, and a bad link fails anywhere.  So such a failure counts when it came
`REQUIRED_REPEATS` times at the same request, and no attempt passed.  The same holds for unsolicited
messages, since each is attributed to the answer that comes next.  Where the control was cut off,
too, and could connect again, a failure doesn't count at all.

While a coordinator reads its groups, most APIs say so by their error code, and such a run is not
judged.  A Heartbeat is answered as if all were well then, and by some coordinators a SyncGroup as
if a rebalance were in progress.  So after a failure the coordinator is asked whether it is still
loading, and such an answer counts only when it came `REQUIRED_REPEATS` times.

A coordinator that says that it moved, or has not loaded, excuses the whole run.  But where it is
the only broker, FindCoordinator names it before and after, and the control goes on there, nothing
can have moved: then its answer is an answer, and counts when it came `REQUIRED_REPEATS` times.

The cleaner of unused groups may pass at any moment, and leaves no trace.  A failure that a pass
just after a request would explain counts when it came `REQUIRED_REPEATS` times, too: the pass has
to do with no request, so it is not there each time.

Source: protocol.md section 1; seen on Kafka 3.9.1 (old) and 4.3.0 with many groups to read.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from fencepost.conformance.run.control_group import Probe
from fencepost.conformance.runtime.lag_meter import LagMeter
from fencepost.conformance.targets.target import UNSOLICITED
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
from fencepost.properties.judging.answer_diff import Recording
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.oracle.oracle import judge
from fencepost.properties.oracle.verdict import Wrong

REQUIRED_REPEATS = 3
LINK = "the network link"
CLEANER = "a pass of the cleaner of unused groups"
UNSOLICITED_MESSAGES = "what the target sends at a time of its own"
_BACK_S = 5.0
"""Seconds without any answer after which a target is gone, which no link explains."""


def may_be_the_link(result: CaseResult) -> bool:
    """Return True if a bad link could cause this failure: a late answer or a closed connection."""
    if is_cut_off(result):
        return True
    failed = result.outcome is Outcome.FAIL
    return failed and result.violation is not None and result.violation.late


def is_cut_off(result: CaseResult) -> bool:
    """Return True if the target failed altogether, or closed a connection."""
    if result.outcome is not Outcome.FAIL:
        return False
    return result.violation is None or result.violation.wrong is Wrong.CLOSED


def is_unsolicited(result: CaseResult) -> bool:
    """Return True if the failure is an unsolicited message alone."""
    violation = result.violation
    if result.outcome is not Outcome.FAIL or violation is None:
        return False
    return violation.wrong is Wrong.DEVIATION and UNSOLICITED in violation.detail


async def excused_by_control(result: CaseResult, meter: LagMeter, began: float) -> CaseResult:
    """Return a failure as unknown if the control was cut off since `began`, too, and recovered."""
    if not meter.was_cut(began, time.monotonic()) or not await meter.recovers(_BACK_S):
        return result
    why = f"the control was cut off, too, so the network link may be the cause: {result.message}"
    return replace(result, outcome=Outcome.UNKNOWN, message=why, level=result.case.level)


def explained_by_cleaner(recording: Recording, revision: Revision) -> bool:
    """Return True if the history holds once the cleaner may remove groups just after a request."""
    oracle = judge(
        revision,
        recording.config,
        recording.history,
        lag_ms=recording.patience_ms,
        cleans_young=True,
    )
    return oracle.verdict().violation is None


@dataclass(slots=True)
class RepeatedFailures:
    """The failures of one case that may have another cause than the target.

    `attempts`: how often the case is tried in any case; it limits how often a failure must repeat.
    `cause`: the possible cause of the last one.
    """

    attempts: int
    results: list[CaseResult] = field(default_factory=list)
    cause: str = LINK

    @property
    def repeats(self) -> int:
        """Return how often a failure must come at the same request."""
        return min(REQUIRED_REPEATS, self.attempts)

    def allows(self, attempt: int) -> bool:
        """Return True if the case may be tried this once more.

        Undecided attempts and failures are counted apart, so that lag uses up no repeat.
        """
        failed = len(self.results)
        most_failures = self.attempts + self.repeats - 1
        return attempt - 1 - failed < self.attempts and failed < most_failures

    @property
    def missing(self) -> int:
        """Return how often the last failure must still come, at least."""
        where = _where(self.results[-1])
        return self.repeats - sum(_where(before) == where for before in self.results)

    def confirms(self, result: CaseResult, cause: str) -> bool:
        """Note a failure that may have a cause, and return whether it repeated often enough."""
        self.results.append(result)
        self.cause = cause
        return self.missing <= 0

    def weigh(self, result: CaseResult) -> CaseResult:
        """Return the result of the last attempt, where no failure was confirmed."""
        if not self.results:
            return result
        if result is not self.results[-1]:
            notes = (*result.notes, *(f"not seen again: {s.message}" for s in self.results))
            return replace(result, notes=notes)
        why = f"not seen at the same request each time, so {self.cause} may be the cause"
        why = f"{why}: {result.message}"
        return replace(result, outcome=Outcome.UNKNOWN, message=why, level=result.case.level)


def _where(result: CaseResult) -> tuple[object, ...]:
    """Return the kind of the violation, and the step whose answer is wrong."""
    violation = result.violation
    if violation is None or result.recording is None:
        return (result.message,)
    return (violation.wrong, result.recording.labels.get(violation.request_id))


PASSING_AT_ONCE = frozenset({LINK, CLEANER, UNSOLICITED_MESSAGES})
"""Causes that are gone within seconds: repeats may run side by side.  A coordinator that loads, or
moves, may do so for longer."""

WHILE_LOADING = "a coordinator that was loading"
WHILE_MOVING = "a coordinator that was moving"
_WAIT_S = 5.0
_LOADING = "-COORDINATOR-LOADING"


def passing_cause(result: CaseResult, revision: Revision) -> str | None:
    """Return the cause, other than a fault of the target, that a failure may have."""
    if may_be_the_link(result):
        return LINK
    if is_unsolicited(result):
        return UNSOLICITED_MESSAGES
    if result.outcome is Outcome.FAIL and result.recording and result.recording.cleaned:
        return CLEANER
    if result.outcome is Outcome.FAIL and result.recording and result.recording.sent_away:
        return WHILE_MOVING
    return WHILE_LOADING if may_be_loading(result, revision) else None


def may_be_loading(result: CaseResult, revision: Revision) -> bool:
    """Return True if the wrong answer is one that a loading coordinator gives."""
    violation, recording = result.violation, result.recording
    if result.outcome is not Outcome.FAIL or violation is None or recording is None:
        return False
    sent = (e.request for e in recording.history if isinstance(e, Sent))
    api = next((request.api for request in sent if request.id == violation.request_id), None)
    if api is None or violation.observed is None:
        return False
    codes = {
        rule.answer.value
        for table, rule in revision.rules()
        if table.name.partition(" ")[0] == api and rule.answer and rule.id.endswith(_LOADING)
    }
    return violation.observed.get("errorCode") in codes


async def is_loading(coordinator: AsyncCoordinator, hello: Hello, recording: Recording) -> bool:
    """Return True if the coordinator of a case's last group says that it loads or moved."""
    groups = [e.request.body.get("groupId") for e in recording.history if isinstance(e, Sent)]
    named = [group for group in groups if group]
    if not named or "DescribeGroups" not in hello.apis:
        return False
    version = hello.apis["DescribeGroups"][0]
    body = DescribeGroupsRequest(groups=(named[-1],)).to_body(version)
    try:
        answer = await Probe(coordinator, "loading", _WAIT_S).ask("DescribeGroups", version, body)
    except (CoordinatorFailure, UnsupportedError):
        return False
    return not MOVING.isdisjoint(codes_in(answer))
