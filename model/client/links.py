"""Manage connections: the versions of the broker behind each, and its one open request.

A connection is made for the first request on it.  ApiVersions comes first on each, since a broker
may be another one after a restart.  A request without an answer in time ends its connection: a late
answer must not be taken for another.

Source: Kafka's protocol guide, "Network"; KIP-35 and KIP-511 (ApiVersions, and its refusal);
KIP-219 (a throttled client pauses by itself).
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from fencepost.model.client.client_interface import Endpoint, HangUp, Outgoing, Role
from fencepost.model.client.client_state import Backoff, ClientState, ClientWork, Flight, Link
from fencepost.model.messages.cluster_messages import (
    CLUSTER_VERSIONS,
    ApiVersionsRequest,
    ApiVersionsResponse,
    ClusterRequest,
    ClusterResponse,
)
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import APIS
from fencepost.model.messages.shapes import Message

_API_VERSIONS = "ApiVersions"

INSTANCE_SINCE = {"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "OffsetCommit": 7}
"""The first version of each API that carries an instance id."""

_HIGHEST = {"TxnOffsetCommit": 4, "OffsetCommit": 9, "OffsetFetch": 9}
"""Versions that aren't used: 5 is of transactions that add the group by themselves (KIP-890)."""


def find(state: ClientState, endpoint: Endpoint) -> Link | None:
    """Return the connection to an endpoint, if one was made or tried."""
    return next((link for link in state.links if link.endpoint == endpoint), None)


def idle(work: ClientWork, endpoint: Endpoint) -> Link | None:
    """Return a connection that is free for a request; otherwise make one as soon as that may be."""
    link = find(work.state, endpoint)
    if link is None:
        link = Link(endpoint)
    elif not link.is_up:
        if work.now_ms < link.backoff.not_before_ms:
            return None
        link = replace(link, is_up=True)
    elif link.flight is not None or work.now_ms < link.quiet_until_ms:
        return None
    if link.versions is None:
        highest = CLUSTER_VERSIONS[_API_VERSIONS][1]
        _send(work, link, _API_VERSIONS, highest, ApiVersionsRequest(), _request_timeout(work))
        return None
    return link


def highest_version(work: ClientWork, link: Link, api: str) -> int | None:
    """Return the newest version of an API that both sides know; None: there is none."""
    low, high = CLUSTER_VERSIONS.get(api) or (APIS[api].lowest, APIS[api].highest)
    high = min(high, _HIGHEST.get(api, high))
    high = dict(work.conduct.highest).get(api, high)
    theirs = next((row for row in link.versions or () if row.api == api), None)
    if theirs is None or theirs.lowest > high or theirs.highest < low:
        return None
    if theirs.highest < high and work.conduct.steps_down_too_far:
        return max(low, theirs.lowest, theirs.highest - 1)
    return min(high, theirs.highest)


def lacks_instances(work: ClientWork, link: Link, api: str) -> bool:
    """Return True if the broker's newest version of an API has no room for an instance id."""
    if not work.is_static or work.conduct.downgrades_silently:
        return False
    theirs = next((row.highest for row in link.versions or () if row.api == api), -1)
    return theirs < INSTANCE_SINCE[api]


def ask(
    work: ClientWork,
    link: Link,
    api: str,
    make: Callable[[int], Message | ClusterRequest],
    timeout_ms: int | None = None,
) -> bool:
    """Send a request in the newest version that both know; `make` makes the message for it.

    Returns False where there is no such version: a fatal error, which the user gets.
    """
    version = highest_version(work, link, api)
    too_old = api in INSTANCE_SINCE and lacks_instances(work, link, api)
    if version is None or too_old:
        work.fail(Error.UNSUPPORTED_VERSION.value, api)
        return False
    timeout = timeout_ms or _request_timeout(work, link.endpoint.role)
    _send(work, link, api, version, make(version), timeout)
    return True


def answered(
    work: ClientWork, correlation_id: int, answer: Message | ClusterResponse
) -> Flight | None:
    """Return the request that an answer belongs to; None: it was given up.

    Where the broker throttles us, nothing is sent on the connection for its throttle time.
    """
    quiet_until = work.now_ms + getattr(answer, "throttle_time_ms", 0)
    for link in work.state.links:
        if link.flight is not None and link.flight.correlation_id == correlation_id:
            _put(work, replace(link, flight=None, quiet_until_ms=quiet_until))
            return link.flight
    return None


def versions_read(work: ClientWork, flight: Flight, answer: ApiVersionsResponse) -> bool:
    """Take a broker's versions, or its refusal of this version of the request.

    Returns False for any other answer.
    """
    link = find(work.state, flight.endpoint)
    assert link is not None
    if answer.error_code == Error.NONE.value:
        _put(work, replace(link, versions=answer.versions, backoff=Backoff()))
        return True
    if answer.error_code != Error.UNSUPPORTED_VERSION.value or flight.version == 0:
        return False
    highest = next((row.highest for row in answer.versions if row.api == _API_VERSIONS), 0)
    version = min(highest, flight.version - 1)
    _send(work, link, _API_VERSIONS, version, flight.message, _request_timeout(work))
    return True


def lost(work: ClientWork, endpoint: Endpoint) -> Flight | None:
    """Note a lost connection; return its open request."""
    link = find(work.state, endpoint)
    if link is None or not link.is_up:
        return None
    _put(work, replace(_down(work, link), backoff=work.failed(link.backoff)))
    return link.flight


def _down(work: ClientWork, link: Link) -> Link:
    """Return a connection that ended, without versions, as another broker may be there."""
    keeps = work.conduct.keeps_versions and link.endpoint.role is Role.COORDINATOR
    known = link.versions if keeps else None
    return Link(link.endpoint, is_up=False, versions=known)


def give_up(work: ClientWork, endpoint: Endpoint) -> Flight | None:
    """Hang up, as if the connection was lost; return its open request."""
    link = find(work.state, endpoint)
    if link is None or not link.is_up:
        return None
    work.requests.append(HangUp(endpoint))
    return lost(work, endpoint)


def hang_up(work: ClientWork, endpoint: Endpoint) -> None:
    """End a connection that isn't needed, or whose open answer doesn't matter any more."""
    link = find(work.state, endpoint)
    if link is not None and link.is_up:
        work.requests.append(HangUp(endpoint))
    others = tuple(each for each in work.state.links if each.endpoint != endpoint)
    down = None if link is None else _down(work, link)
    work.change(links=others if down is None or down.versions is None else (*others, down))


def overdue(work: ClientWork) -> Endpoint | None:
    """Return a connection whose open request has waited too long."""
    for link in work.state.links:
        if link.flight is not None and link.flight.deadline_ms <= work.now_ms:
            return link.endpoint
    return None


def _request_timeout(work: ClientWork, role: Role = Role.BOOTSTRAP) -> int:
    """Return the longest wait for an answer, in ms.

    A coordinator that doesn't answer is given up in time to reach another one: a third of the
    session is left then.
    """
    settings = work.settings
    if role is Role.COORDINATOR:
        return min(settings.request_timeout_ms, settings.session_timeout_ms * 2 // 3)
    return settings.request_timeout_ms


def _send(
    work: ClientWork,
    link: Link,
    api: str,
    version: int,
    message: Message | ClusterRequest,
    timeout_ms: int,
) -> None:
    number = work.state.next_id
    deadline = work.now_ms + timeout_ms
    flight = Flight(number, link.endpoint, api, version, message, work.now_ms, deadline)
    work.requests.append(Outgoing(number, link.endpoint, api, version, message))
    work.change(next_id=number + 1)
    _put(work, replace(link, flight=flight))


def _put(work: ClientWork, link: Link) -> None:
    links = work.state.links
    if any(each.endpoint == link.endpoint for each in links):
        links = tuple(link if each.endpoint == link.endpoint else each for each in links)
    else:
        links = (*links, link)
    work.change(links=links)
