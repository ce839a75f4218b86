"""Add odd clients to the logs of `log_traffic`: acts that no good client does.

There are members that don't notice their removal, strangers, old protocol versions, administrators,
clients that stay away from a rebalance, and groups that become empty.  A log without them covers
few of a coordinator's possible errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any, Protocol

_NOBODY = "somebody-that-never-was"
_SAYS_LATER = frozenset({"groupInstanceId", "reason"})


@dataclass(slots=True)
class Client:
    """A client, or the ghost of one: `deaf`, it does nothing with answers."""

    group_id: str
    name: str
    instance: str | None
    topics: int = 1
    member_id: str = ""
    generation_id: int = -1
    leader: bool = False
    members: tuple[str, ...] = ()
    state: str = "down"
    run: int = 0
    connection: str = ""
    waiting: str = ""
    heard: float = 0.0
    protocol: str = ""
    kind: str = "consumer"
    deaf: bool = False
    old: bool = False


class Site(Protocol):
    """The traffic, as far as it is used here."""

    random: Random
    clients: list[Client]

    def ask(self, client: Client, api: str, body: dict[str, Any]) -> None:
        """Send a request."""
        ...

    def later(self, wait_ms: float, act: Callable[[], Any]) -> None:
        """Do something in virtual time."""
        ...

    def join(self, client: Client) -> None:
        """Join, or join again."""
        ...

    def sync(self, client: Client) -> None:
        """Request the assignment; a leader brings it."""
        ...

    def beat(self, client: Client, run: int) -> None:
        """Send a heartbeat, if still alive and at rest."""
        ...

    def commit(self, client: Client, run: int) -> None:
        """Commit an offset, if still alive and at rest."""
        ...

    def leave(self, client: Client) -> None:
        """Send a LeaveGroup."""
        ...

    def start(self, client: Client) -> None:
        """Begin a new process."""
        ...

    def end(self, client: Client) -> None:
        """End the process."""
        ...

    def describe(self, group_id: str, *, again: bool = True) -> None:
        """Describe a group."""
        ...


def in_old_words(api: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return a request in the form of clients before static members."""
    if api == "LeaveGroup":
        return {"groupId": body["groupId"], "memberId": body["members"][0]["memberId"]}
    kept = {name: value for name, value in body.items() if name not in _SAYS_LATER}
    if api == "SyncGroup":
        del kept["protocolType"], kept["protocolName"]
    if api == "OffsetCommit":
        kept["topics"] = [
            {
                **topic,
                "partitions": [
                    {k: v for k, v in part.items() if k != "committedLeaderEpoch"}
                    for part in topic["partitions"]
                ],
            }
            for topic in body["topics"]
        ]
    return kept


def dawdles(site: Site, client: Client) -> float:
    """Return the ms that a member waits before it joins a rebalance; it may commit meanwhile."""
    if site.random.random() < 0.5:
        ghost = _ghost(client)
        ghost.state = "stable"
        site.commit(ghost, ghost.run)
    if site.random.random() < 0.3:
        site.describe(client.group_id, again=False)
    if site.random.random() < 0.15:
        return site.random.uniform(4_000, 9_000)
    return site.random.uniform(5, 1_500)


def happens_oddly(site: Site, client: Client) -> None:
    """Do one odd act, to a member at rest or in its name."""
    site.random.choice(_ODD)(site, client)
    if site.random.random() < 0.5:
        wait = site.random.uniform(1, 4_000)
        site.later(wait, partial(site.describe, client.group_id, again=False))


def _ghost(client: Client, **changes: Any) -> Client:
    """Return a client that sends a member's requests, on a connection of its own."""
    ghost = replace(client, deaf=True, **changes)
    ghost.connection = client.connection + "0"
    ghost.state = "stable"
    return ghost


def _says(site: Site, ghost: Client) -> None:
    """Send any of the requests of a member."""
    site.random.choice([_beats, _beats, _commits, _syncs, _leaves, _joins])(site, ghost)


def _beats(site: Site, ghost: Client) -> None:
    site.beat(ghost, ghost.run)


def _commits(site: Site, ghost: Client) -> None:
    site.commit(ghost, ghost.run)


def _syncs(site: Site, ghost: Client) -> None:
    site.sync(ghost)


def _leaves(site: Site, ghost: Client) -> None:
    if ghost.member_id != "":
        site.leave(ghost)


def _joins(site: Site, ghost: Client) -> None:
    if ghost.member_id in {_NOBODY, ""} or ghost.instance is None:
        return
    site.join(ghost)


def _outdated(site: Site, client: Client) -> None:
    ghost = _ghost(client, generation_id=client.generation_id + site.random.choice([-1, 1]))
    site.random.choice([_beats, _commits, _syncs])(site, ghost)


def _unknown(site: Site, client: Client) -> None:
    ghost = _ghost(client, member_id=_NOBODY, instance=None)
    site.random.choice([_beats, _commits, _syncs, _leaves])(site, ghost)


def _stranger_joins(site: Site, client: Client) -> None:
    site.join(_ghost(client, member_id=_NOBODY, instance=None))


def _fenced(site: Site, client: Client) -> None:
    if client.instance is not None:
        _says(site, _ghost(client, member_id=_NOBODY + "-else"))


def _unheard_of(site: Site, client: Client) -> None:
    """Send requests under an instance id that nobody has, or under none."""
    instance = None if client.instance is not None else "nobody"
    ghost = _ghost(client, instance=instance, old=False)
    site.random.choice([_beats, _commits, _syncs])(site, ghost)


def _simple_commit(site: Site, client: Client) -> None:
    site.commit(_ghost(client, member_id="", generation_id=-1, instance=None), client.run)


def _again_syncs(site: Site, client: Client) -> None:
    site.sync(_ghost(client))


def _again_joins(site: Site, client: Client) -> None:
    site.join(client)


def _other_protocol(site: Site, client: Client) -> None:
    other = site.random.choice([{"protocol": "other"}, {"kind": "connect"}])
    ghost = _ghost(client, member_id="", **other)
    if client.instance is not None:
        ghost.instance = site.random.choice([client.instance, "newcomer"])
    site.join(ghost)


def _removed(site: Site, client: Client) -> None:
    """Remove members by instance id, as an administrator, and one that is not there."""
    mates = [c for c in site.clients if c.group_id == client.group_id and c.instance is not None]
    names = [c.instance for c in mates[: site.random.randint(1, 2)]]
    names.insert(site.random.randrange(len(names) + 1), "nobody")
    rows = [{"memberId": "", "groupInstanceId": name, "reason": "moved"} for name in names]
    admin = _ghost(client, name="admin", old=False)
    site.ask(admin, "LeaveGroup", {"groupId": client.group_id, "members": rows})


def _leaves_and_stays(site: Site, client: Client) -> None:
    """Leave, and go on as if it had not."""
    site.leave(_ghost(client))


def _moves_in(site: Site, client: Client) -> None:
    """Bring a static member back with another subscription, or other protocols."""
    if client.instance is None:
        return
    site.end(client)
    client.topics = 1 + client.topics % 3
    client.protocol = "" if client.protocol else "sticky"
    site.later(site.random.uniform(100, 2_000), partial(site.start, client))


def _crash_in_rebalance(site: Site, client: Client) -> None:
    """Begin a rebalance, and restart somebody in it."""
    client.topics = 1 + client.topics % 3
    site.join(client)
    mates = [c for c in site.clients if c.group_id == client.group_id and c is not client]
    if mates:
        mate = site.random.choice(mates)
        site.later(site.random.uniform(1, 3_000), partial(_restarts, site, mate))


def _restarts(site: Site, client: Client) -> None:
    if client.state != "down":
        site.end(client)
        site.later(site.random.uniform(1, 500), partial(site.start, client))


def _empties(site: Site, client: Client) -> None:
    """Let all leave; somebody commits and asks meanwhile; let all come back."""
    for mate in site.clients:
        if mate.group_id == client.group_id and mate.state == "stable":
            site.leave(mate)
            site.end(mate)
            site.later(site.random.uniform(8_000, 12_000), partial(site.start, mate))
    site.later(site.random.uniform(500, 5_000), partial(_simple_commit, site, client))
    site.later(site.random.uniform(500, 5_000), partial(_unknown, site, client))
    site.later(6_000, partial(site.describe, client.group_id, again=False))


_ODD: tuple[Callable[[Site, Client], None], ...] = (
    _outdated,
    _unknown,
    _stranger_joins,
    _fenced,
    _fenced,
    _unheard_of,
    _simple_commit,
    _again_syncs,
    _again_joins,
    _other_protocol,
    _removed,
    _leaves_and_stays,
    _moves_in,
    _crash_in_rebalance,
    _empties,
)
