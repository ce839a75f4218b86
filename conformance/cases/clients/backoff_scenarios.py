"""List the scenarios of requests that are refused for long: each is sent again after a pause.

The topic has one partition, so that a library with a connection for each partition sends no more
requests than another one.
"""

from __future__ import annotations

from fencepost.conformance.cases.clients.reading_scenarios import READS
from fencepost.conformance.cases.clients.scenario import (
    Calls,
    InjectFaults,
    Read,
    Scenario,
    ScenarioStep,
    Setting,
    Until,
)
from fencepost.conformance.cases.clients.scenario_parts import A1, A, passed, settled
from fencepost.conformance.wire.provocation import Action, Provocation
from fencepost.model.plans.steps import ClearFaults, Commit, Loading, Produce, Start

_BACKOFF = "CLIENT-JOIN-BACKOFF"
_LONG_MS = 2500
_ONE_PARTITION = Setting(partitions=1)


def _refused(api: str, code: str, *, begins: bool) -> Scenario:
    """Refuse requests of an API for long: from the beginning, or of a member that has a place."""
    refuse = InjectFaults((Provocation(api, Action.ERROR, A1, last=None, code=code),))
    begin: tuple[ScenarioStep, ...] = (refuse, Start(A)) if begins else (Start(A), settled(A))
    return Scenario(
        f"refused-for-long-in-{api.lower().removesuffix('group')}",
        f"A dynamic member gets {code} in {api} for a while.",
        (_BACKOFF, *READS),
        (
            *begin,
            *(() if begins else (refuse,)),
            Until(Calls(A, api), needed=True),
            passed(_LONG_MS),
            ClearFaults(),
            settled(A, needed=False),
        ),
        needs=(),
        broker=_ONE_PARTITION,
        reads=True,
    )


BACKOFFS = (
    _refused("FindCoordinator", "COORDINATOR_NOT_AVAILABLE", begins=True),
    _refused("JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS", begins=True),
    _refused("SyncGroup", "NOT_COORDINATOR", begins=True),
    _refused("Heartbeat", "COORDINATOR_LOAD_IN_PROGRESS", begins=False),
    _refused("OffsetFetch", "COORDINATOR_LOAD_IN_PROGRESS", begins=True),
    _refused("ListOffsets", "NOT_LEADER_FOR_PARTITION", begins=True),
    _refused("Fetch", "NOT_LEADER_FOR_PARTITION", begins=False),
    Scenario(
        "commits-while-loading",
        "The user of a dynamic member commits while the coordinator loads.",
        (_BACKOFF, "CLIENT-COMMIT-REFUSED"),
        (
            Produce(),
            Start(A),
            settled(A),
            Until(Read(A), needed=True),
            Loading(_LONG_MS),
            Commit(A),
            passed(500),
        ),
        needs=("manual-commit",),
        broker=_ONE_PARTITION,
    ),
)
