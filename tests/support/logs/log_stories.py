"""What happens in the groups of a recorded request log: everyday life, and staged faults.

Decides what a recording has to show an audit.  Each story is one group; the first ones are what
healthy applications do, the `FAULTS` are what an operator is to be told.  What a fault's story
staged, and whom the report must name for it, is returned as rows of the manifest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from support.logs.log_clients import Cluster, Member, Pod, leave

Staged = dict[str, Any]
Story = Callable[["Stage"], Awaitable[list[Staged]]]


@dataclass(frozen=True)
class Stage:
    """A group's name, and a network of its own for its pods."""

    cluster: Cluster
    group: str
    number: int

    def pod(self, number: int, name: str = "") -> Pod:
        host = f"127.{1 + self.number // 250}.{1 + self.number % 250}.{number}"
        return Pod(name or f"{self.group}-pod-{number}", host)

    def member(self, number: int, **kind: Any) -> Member:
        return Member(self.cluster, self.pod(number), self.group, **kind)

    def static(self, number: int, **kind: Any) -> Member:
        return self.member(number, instance=f"{self.group}-{number}", **kind)


async def formed(*members: Member) -> None:
    """Start them, one after another, until all have an assignment of one generation."""
    for member in members:
        member.start()
        await member.wait_settled(member.settled)
    last = members[-1].settled
    await asyncio.gather(*(m.wait_settled(last - 1) for m in members))


async def live(seconds: float) -> None:
    """Let heartbeats pass."""
    await asyncio.sleep(seconds)


async def ended(*members: Member) -> None:
    await asyncio.gather(*(m.crash() for m in members))


# Everyday life


async def steady(stage: Stage) -> list[Staged]:
    """Dynamic members come, work, and leave."""
    members = [stage.member(n) for n in (1, 2, 3)]
    await formed(*members)
    await live(6)
    for member in members:
        await member.leave()
    return []


async def dynamic_deployment(stage: Stage) -> list[Staged]:
    """Each dynamic member in turn leaves, and its pod's next process joins."""
    members = [stage.member(n) for n in (1, 2, 3)]
    await formed(*members)
    await live(2)
    for number, member in enumerate(members):
        await member.leave()
        members[number] = member.again()
        members[number].start()
        await members[number].wait_settled()
    await live(2)
    await ended(*members)
    return []


async def static_deployment(stage: Stage) -> list[Staged]:
    """Each static member in turn restarts within its session: nobody else notices."""
    members = [stage.static(n, session_ms=6000) for n in (1, 2, 3)]
    await formed(*members)
    await live(2)
    for number, member in enumerate(members):
        await member.crash()
        members[number] = member.again()
        members[number].start()
        await members[number].wait_settled()
    await live(2)
    await ended(*members)
    return []


async def slow_restart(stage: Stage) -> list[Staged]:
    """A static member is away for longer than its session."""
    members = [stage.static(n, session_ms=2500) for n in (1, 2)]
    await formed(*members)
    await live(1)
    settled = members[1].settled
    await members[0].crash()
    await members[1].wait_settled(settled)
    await live(0.5)
    members[0] = members[0].again()
    members[0].start()
    await members[0].wait_settled()
    await live(1)
    await ended(*members)
    return []


async def crash(stage: Stage) -> list[Staged]:
    """A dynamic member is gone without a word, and stays away."""
    members = [stage.member(n, session_ms=2500) for n in (1, 2, 3)]
    await formed(*members)
    await live(1)
    settled = members[0].settled
    await members[2].crash()
    await members[0].wait_settled(settled)
    await live(2)
    for member in members[:2]:
        await member.leave()
    return []


async def new_subscription(stage: Stage) -> list[Staged]:
    """A follower subscribes to something else; later the leader just joins again."""
    members = [stage.member(n) for n in (1, 2)]
    await formed(*members)
    for member, topics in ((members[1], ("orders", "refunds")), (members[0], ())):
        await live(1)
        settled = member.settled
        member.rejoin(*topics)
        await asyncio.gather(*(m.wait_settled(settled) for m in members))
    await live(1)
    await ended(*members)
    return []


async def mixed(stage: Stage) -> list[Staged]:
    """Static and dynamic members; an administrator removes a static one that is gone."""
    gone = stage.static(1, session_ms=20_000)
    members = [stage.member(2), stage.static(3)]
    await formed(gone, *members)
    await live(1)
    settled = members[0].settled
    await gone.crash()
    await leave(stage.cluster, stage.pod(9, "admin"), stage.group, "", gone.instance)
    await members[0].wait_settled(settled)
    await live(1)
    await ended(*members)
    return [
        {
            "group": stage.group,
            "kind": "static-leave",
            "by": "admin",
            "instance": gone.instance,
            "names": ["admin"],
        }
    ]


# Faults


async def ping_pong(stage: Stage) -> list[Staged]:
    """Two pods have one instance id by mistake: each is restarted when it is fenced."""
    group = stage.group
    other = stage.static(1)
    await formed(other)
    pods = [stage.pod(3, "pod-3"), stage.pod(7, "pod-7")]
    instance = f"{group}-2"
    kind: dict[str, Any] = {"instance": instance, "commits": False, "session_ms": 6000}
    holder = Member(stage.cluster, pods[0], group, **kind)
    await formed(holder)
    for turn in range(1, 6):
        await live(0.7)
        challenger = Member(stage.cluster, pods[turn % 2], group, **kind)
        challenger.start()
        await challenger.wait_settled()
        await holder.wait_fenced()
        holder = challenger
    await live(1)
    await ended(other, holder)
    return [
        {
            "group": group,
            "kind": "ping-pong",
            "instance": instance,
            "names": ["pod-3", "pod-7"],
        }
    ]


async def static_leave(stage: Stage) -> list[Staged]:
    """A client library sends LeaveGroup when its static consumer is closed."""
    members = [stage.static(n) for n in (1, 2)]
    await formed(*members)
    await live(1)
    settled = members[0].settled
    await members[1].leave()
    await members[0].wait_settled(settled)
    await live(1)
    await ended(members[0])
    return [
        {
            "group": stage.group,
            "kind": "static-leave",
            "by": "itself",
            "instance": members[1].instance,
            "names": [members[1].pod.client_id],
        }
    ]


async def self_fencing(stage: Stage) -> list[Staged]:
    """A client gives a join up, joins anew without its id, and one join fences the other."""
    slow = stage.static(1, beat_ms=2500, session_ms=8000)
    await formed(slow)
    pod, instance = stage.pod(2), f"{stage.group}-2"
    # Parked until the slow one heartbeats; given up by its sender, who asks once more.
    first = Member(stage.cluster, pod, stage.group, instance=instance)
    await first.line.open()
    first.line.post("JoinGroup", first.join_body())
    await live(0.4)
    second = first.again()
    second.start()
    await second.wait_settled()
    await live(1)
    # A join that was given up gets there after the one that followed it.
    late = first.again()
    await late.line.ask("JoinGroup", late.join_body())
    late.line.close()
    first.line.close()
    await second.wait_fenced()
    await live(0.5)
    await ended(slow)
    return [
        {
            "group": stage.group,
            "kind": "self-fencing",
            "instance": instance,
            "names": [pod.client_id],
        }
    ]


async def short_session(stage: Stage) -> list[Staged]:
    """A session timeout that is shorter than the pauses of the process: it is thrown out, alive."""
    busy = stage.static(2, session_ms=1200, beat_ms=400)
    other = stage.static(1)
    await formed(other, busy)
    for _ in range(2):
        await live(0.7)
        settled = other.settled
        with busy.frozen():
            await other.wait_settled(settled)
            await live(0.4)
        await busy.wait_settled(settled + 1)
    await live(0.7)
    await ended(other, busy)
    return [
        {
            "group": stage.group,
            "kind": "short-session",
            "instance": busy.instance,
            "names": [busy.pod.client_id],
            "session_ms": busy.session_ms,
        }
    ]


EVERYDAY: tuple[Story, ...] = (
    steady,
    static_deployment,
    dynamic_deployment,
    slow_restart,
    crash,
    new_subscription,
    mixed,
)
DYNAMIC: tuple[Story, ...] = (steady, dynamic_deployment, crash, new_subscription)
"""Those that need no instance ids."""
FAULTS: tuple[Story, ...] = (ping_pong, static_leave, self_fencing, short_session)
NAMES = ("orders", "payments", "billing", "shipping", "search", "emails", "reports", "stock")
