"""A `server.log` of many groups that had a bad day, in the words of Kafka 4.3's coordinator.

Members are restarted, expire, are taken over; a host stands still, one group is in a loop, one
rebalance takes long.  Equal arguments give equal bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from uuid import UUID

from support.logs.coordinator_lines import CoordinatorLines

from fencepost.traces.audit.server_log_audit import audit_server_log
from fencepost.traces.logs.server_log import ServerLog
from fencepost.traces.operations.group_lines import GroupLines
from fencepost.traces.operations.operator_report import OperatorReport

START_MS = 1_795_243_200_000
SPAN_MS = 6 * 3_600_000
_NAMES = (
    *("checkout", "payments", "billing-service-eu-west-1", "search-indexer", "emails"),
    *("fraud-detection", "inventory", "shipping", "recommendations", "audit-trail"),
)
_FORMING_MS = 4_000
_STILL_MS = 62_000
"""Time for which the host stands still."""
_LONG_MS = 290_000
"""Length of the one long rebalance."""


@dataclass
class _Member:
    name: str
    instance: str | None
    member_id: str


@dataclass
class BusyLog:
    """The log of `groups` groups with `rebalances` rebalances in all, of six hours."""

    groups: int = 20
    rebalances: int = 500
    seed: int = 1
    _lines: list[tuple[int, str]] = field(default_factory=list)

    def text(self) -> str:
        random = Random(self.seed)
        self._lines = []
        names = [f"{_NAMES[n % 10]}{f'-{n // 10}' if n >= 10 else ''}" for n in range(self.groups)]
        share, rest = divmod(self.rebalances, self.groups)
        for number, name in enumerate(names):
            group = _Group(self._lines, name, number, random)
            group.live(share + (number < rest))
        self._lines.sort(key=lambda line: line[0])  # stable: lines of one ms stay in order
        return "".join(line for _, line in self._lines)


class _Group:
    """One group: its members, and its lines."""

    def __init__(self, lines: list[tuple[int, str]], name: str, number: int, rng: Random) -> None:
        self._lines, self._name, self._number, self._random = lines, name, number, rng
        self._messages = CoordinatorLines(name, is_new=True, partition=number % 50)
        self._generation = self._rebalances = 0
        self._is_static = number % 3 == 1
        self._members: list[_Member] = []
        self._now = START_MS + rng.randrange(20_000)

    def live(self, rebalances: int) -> None:
        """Go through the log's time, with this number of rebalances."""
        for _ in range(min(3 + self._number % 3, rebalances)):
            self._come(self._new_member())
            self._now += _FORMING_MS
        step_ms = (START_MS + SPAN_MS - self._now) // (rebalances - self._rebalances + 1)
        is_still = self._number % 3 == 0
        if self._number == 2:
            step_ms = 60_000  # the loop
        while (left := rebalances - self._rebalances) > 0:
            self._now += step_ms
            if is_still and left >= 2 and self._now > START_MS + SPAN_MS * 3 // 5:
                is_still = False
                self._now = START_MS + SPAN_MS * 3 // 5 + self._random.randrange(400)
                self._expire(_STILL_MS)
            elif self._number == 2:
                self._rejoin()
            elif self._is_static and self._random.random() < 0.5:
                self._take_over()
                self._rejoin()
            elif left >= 2 and self._random.random() < 0.75:
                self._now += self._random.randrange(step_ms // 4 + 1)
                if self._random.random() < 0.3:
                    self._expire(self._random.randrange(1_000, 30_000))
                else:
                    self._restart()
            else:
                self._rejoin(_LONG_MS if self._number == 4 and left % 9 == 0 else 1_200)

    def _say(self, says: str, after_ms: int = 0) -> None:
        at_ms = self._now + after_ms
        self._lines.append((at_ms, self._messages.line(at_ms, says)))

    def _new_member(self, name: str | None = None) -> _Member:
        name = name or f"{self._name}-pod-{len(self._members) + 1}"
        member_id = f"{name}-{UUID(int=self._random.getrandbits(128), version=4)}"
        return _Member(name, name if self._is_static else None, member_id)

    def _rebalance(self, reason: str, took_ms: int) -> None:
        """Rebalance, unless nobody is left."""
        self._say(self._messages.preparation(self._generation, reason))
        self._generation += 1
        generation, count = self._generation, len(self._members)
        if not count:
            self._say(self._messages.no_member(generation), 2)
            return
        self._rebalances += 1
        self._say(self._messages.generation(generation, count), took_ms - 30)
        static, leader = count if self._is_static else 0, self._members[0].member_id
        self._say(self._messages.assignment(generation, leader, count, static), took_ms)

    def _come(self, member: _Member) -> None:
        state = "Stable" if self._members else "Empty"
        self._members.append(member)
        messages, member_id = self._messages, member.member_id
        if member.instance is not None:
            self._say(messages.static_join(member_id, member.instance, state))
        else:
            self._say(messages.new_id(member_id, state))
            self._say(messages.dynamic_join(member_id, state))
        self._rebalance(
            f"{messages.join_reason(member_id, member.instance)}; client reason: not provided",
            self._random.randrange(300, 3_000),
        )

    def _restart(self) -> None:
        member = self._members.pop(self._random.randrange(len(self._members)))
        reason = "the consumer is being closed"
        self._say(self._messages.leave(member.member_id, reason))
        self._rebalance(
            self._messages.leave_reason(member.member_id, reason),
            self._random.randrange(200, 2_000),
        )
        self._now += self._random.randrange(4_000, 12_000)
        self._come(self._new_member(member.name))

    def _expire(self, away_ms: int) -> None:
        member = self._members.pop(self._random.randrange(len(self._members)))
        self._say(self._messages.expiry(member.member_id))
        self._rebalance(self._messages.expiry_reason(member.member_id), 400)
        self._now += away_ms
        self._come(self._new_member(member.name))

    def _take_over(self) -> None:
        member = self._members[self._random.randrange(len(self._members))]
        self._say(
            f"Static member with groupInstanceId={member.instance} and unknown member id joins "
            f"group {self._name} in Stable state. Replacing previously mapped member "
            f"{member.member_id} with this groupInstanceId."
        )
        member.member_id = self._new_member(member.name).member_id

    def _rejoin(self, took_ms: int = 1_200) -> None:
        self._rebalance(
            f"Leader {self._members[0].member_id} re-joining group during Stable; client reason: "
            "rebalance failed due to a change of topics",
            took_ms,
        )


def busy_report(groups: int = 20, rebalances: int = 500) -> OperatorReport:
    """Audit such a log; the report has its lines."""
    with TemporaryDirectory() as folder:
        log = Path(folder) / "server.log"
        log.write_text(BusyLog(groups, rebalances).text(), "utf-8", newline="\n")
        return audit_server_log(ServerLog([log]), lines=GroupLines()).report


OTHERS = (
    "[GroupId {group}] Member {member} joined the consumer group with epoch 1.",
    "[GroupId {group}] Member {member} left the consumer group.",
)


def consumer_protocol_lines(groups: int = 3) -> Iterator[str]:
    """Yield lines about groups of the consumer protocol, which are not judged."""
    for number in range(groups * 2):
        message = OTHERS[number % 2].format(group=f"new-{number // 2}", member=f"m-{number // 2}")
        yield CoordinatorLines("", is_new=True).line(START_MS + number, message)
