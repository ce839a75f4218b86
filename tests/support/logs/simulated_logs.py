"""Write the logs that a simulated deployment would have: a request log and server.log.

`server.log` has the words of the old coordinator since 3.2, which names most.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from support.logs.coordinator_lines import CoordinatorLines
from support.logs.log_clients import REASONS

from benchmarks.request_log_writer import request_log_line
from fencepost.conformance.simulate.consumption import place_of
from fencepost.conformance.simulate.deployment import (
    Performer,
    RunningDeployment,
    Script,
    all_steps,
    host_of,
    perform,
    until,
)
from fencepost.conformance.simulate.deployment_scenario import GROUP_ID, DeploymentScenario
from fencepost.conformance.simulate.simulated_events import AnyRebalance, SimulatedStory
from fencepost.conformance.simulate.simulation import Simulation
from fencepost.model.messages.errors import Error
from fencepost.model.messages.shapes import Message
from fencepost.traces.audit.audit_settings import AuditSettings
from fencepost.traces.audit.log_audit import audit_log
from fencepost.traces.audit.server_log_audit import audit_server_log
from fencepost.traces.logs.request_log import RequestLog
from fencepost.traces.logs.server_log import ServerLog
from fencepost.traces.operations import group_events as events
from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_rows import Cause, End

START_MS = 1_795_243_200_000
_MESSAGES = CoordinatorLines(GROUP_ID)


@dataclass
class ThreeStories:
    """The same simulation, read directly and from both of its logs."""

    direct: OperatorReport
    requests: OperatorReport
    server: OperatorReport


class PlayedDeployment(RunningDeployment):
    """A deployment with all its heartbeats.

    `removals`: of administrators, with time, instance id and error code; `log`: its server.log.
    """

    def __init__(self, scenario: DeploymentScenario, seed: int) -> None:
        super().__init__(scenario, seed, skips=False)
        self.removals: list[tuple[int, str, int]] = []
        self.direct, self.log = OperatorReport(), ServerLogLines()
        story = _WrittenStory(self.sim.cluster.model.groups, self.direct.add)
        story.log = self.log
        self.story = story
        self.sim.watch, self.sim.on_answer = story.watch, story.note_answer

    def remove(self, instances: Iterable[str]) -> None:
        for instance in instances:
            group = self.sim.cluster.model.groups[GROUP_ID]
            code = 0 if group.holder(instance) else Error.UNKNOWN_MEMBER_ID.value
            self.removals.append((self.now_ms, instance, code))
            super().remove([instance])

    def play(self) -> list[AnyRebalance]:
        """Run the scenario from the group's formation on; return its rebalances."""
        sim, steps = self.sim, self.scenario.step
        for host in self.hosts.values():
            self.start(host)
        self._run(until(self, self.is_balanced, 600))
        sim.run_for(90_000)
        performer = Performer(self)
        performer.add(all_steps(self, [step for step in steps if step.at_s is None]))
        for step in steps:
            if step.at_s is not None:
                performer.add(perform(self, step), round(step.at_s * 1000))
        performer.run(sim.run_for)
        self._run(until(self, self.is_balanced, self.scenario.settle_s))
        sim.run_for(1000)
        return self.story.end(sim.now_ms)

    def _run(self, script: Script) -> None:
        performer = Performer(self)
        performer.add(script)
        performer.run(self.sim.run_for)


@dataclass
class ServerLogLines:
    """The lines of a server.log, and what the next ones depend on."""

    lines: list[str] = field(default_factory=list)
    generation: int = 0
    holders: dict[str | None, str] = field(default_factory=dict)

    def write(self, event: events.GroupEvent) -> None:
        if isinstance(event, events.Begun):
            self.generation = event.generation
        if isinstance(event, events.Joined):
            self.holders[event.instance_id] = event.member_id
        for text in self._texts(event):
            self.lines.append(_MESSAGES.line(START_MS + event.done_ms, text))

    def _texts(self, event: events.GroupEvent) -> Iterator[str]:
        group = GROUP_ID
        match event:
            case events.Named(member_id=member_id):
                yield _MESSAGES.new_id(_id(member_id))
            case events.Joined(instance_id=None, member_id=member_id):
                yield _MESSAGES.dynamic_join(_id(member_id))
            case events.Joined(replaces=None):
                assert event.instance_id is not None
                yield _MESSAGES.static_join(_id(event.member_id), event.instance_id)
            case events.Joined(replaces=str(old)):
                yield (
                    f"Static member Some({event.instance_id}) of group {group} with unknown member "
                    f"id rejoins, assigning new member id {_id(event.member_id)}, while old member "
                    f"{_id(old)} will be removed."
                )
            case events.Left():
                assert event.process is not None
                yield _MESSAGES.old_leave(
                    _id(event.member_id),
                    REASONS[bool(event.itself)],
                    client_id=event.process.client_id,
                    instance=event.instance_id,
                    host="10.0.0.1",
                    session_ms=event.session_ms,
                    rebalance_ms=event.rebalance_ms,
                )
            case events.Removed(end=End.DROPPED):
                yield (
                    f"Group {group} removed members who haven't joined: Set({_id(event.member_id)})"
                )
            case events.Removed():
                yield _MESSAGES.expiry(_id(event.member_id))
            case events.NameExpired():
                yield (
                    f"Pending member {_id(event.member_id)} in group {group} has been removed "
                    "after session timeout expiration."
                )
            case events.NameReturned():
                yield (
                    f"Pending member with memberId={_id(event.member_id)} has left group {group} "
                    "through explicit `LeaveGroup` request"
                )
            case events.Fenced(instance_id=instance_id):
                yield (
                    f"Request memberId={_id(event.member_id)} for static member with "
                    f"groupInstanceId={instance_id} is fenced by current "
                    f"memberId={_id(self.holders[instance_id])} during operation {event.api}"
                )
            case events.Prepared():
                yield _MESSAGES.preparation(event.generation, _reason(event))
            case events.Begun():
                assert event.members is not None
                yield _MESSAGES.generation(event.generation, event.members)
            case events.Assigned():
                static = event.static or 0
                members = static + (event.dynamic or 0)
                yield _MESSAGES.assignment(event.generation, "somebody", members, static)
            case events.Emptied():
                yield _MESSAGES.no_member(self.generation + 1)
            case events.Loaded():
                yield f"Loading group metadata for {group} with generation {self.generation}"


def _id(member_id: str) -> str:
    """Return a member id as Kafka makes them: a name and a UUID."""
    name, _, number = member_id.rpartition("-")
    return f"{name}-00000000-0000-0000-0000-{int(number):012}"


def _reason(event: events.Prepared) -> str:
    who = _id(event.member_id) if event.member_id else ""
    return {
        Cause.NEW_MEMBER: _MESSAGES.join_reason(who, event.instance_id),
        Cause.LEAVE: _MESSAGES.leave_reason(who, "closed"),
        Cause.EXPIRY: _MESSAGES.expiry_reason(who),
        Cause.LEADER_REJOIN: f"Leader {who} re-joining group during Stable",
        Cause.MEMBER_REJOIN: f"Updating metadata for member {who} during Stable",
        Cause.CHANGED_SUBSCRIPTION: f"Updating metadata for member {who} during Stable",
        Cause.FAILOVER: "Freshly-loaded group is not stable",
    }[event.cause]


class _WrittenStory(SimulatedStory):
    """A story whose events are written to server.log, too."""

    log: ServerLogLines

    def _take(self, happened: Iterator[events.GroupEvent]) -> None:
        rows = list(happened)
        for row in rows:
            self.log.write(row)
        super()._take(iter(rows))


def play(scenario: DeploymentScenario, seed: int, folder: Path) -> ThreeStories:
    """Run a scenario, and read it three times."""
    deployment = PlayedDeployment(scenario, seed)
    deployment.play()
    server, requests = folder / "server.log", folder / "kafka-request.log"
    server.write_text("".join(deployment.log.lines))
    lines = [*_request_lines(deployment.sim), *map(_removal, deployment.removals)]
    requests.write_bytes(b"".join(line for _, line in sorted(lines, key=lambda row: row[0])))
    return ThreeStories(
        deployment.direct,
        audit_log(RequestLog([requests]), AuditSettings()).report,
        audit_server_log(ServerLog([server])).report,
    )


def _removal(removed: tuple[int, str, int]) -> tuple[int, bytes]:
    """Return the line of an administrator's LeaveGroup."""
    at_ms, instance, code = removed
    row = {"memberId": "", "groupInstanceId": instance}
    times = (START_MS + at_ms, START_MS + at_ms)
    answer = {"errorCode": 0, "throttleTimeMs": 0, "members": [{**row, "errorCode": code}]}
    bodies = ({"groupId": GROUP_ID, "members": [row]}, answer)
    connection = _connection("admin", 1)
    return at_ms, request_log_line("LeaveGroup", 4, "admin", connection, *times, *bodies)


def _request_lines(sim: Simulation) -> Iterator[tuple[int, bytes]]:
    for exchange in sim.history:
        request, answer = exchange.request, exchange.answer
        if not (isinstance(request, Message) and isinstance(answer, Message)):
            continue
        name, _, node, number = (exchange.connection or "").split("/")
        answered_ms = round(exchange.answered_ms or 0)
        connection = _connection(host_of(place_of(name)), int(node), name, int(number))
        line = request_log_line(
            exchange.api,
            exchange.version,
            place_of(name),
            connection,
            START_MS + exchange.at_ms,
            START_MS + answered_ms,
            request.to_body(exchange.version),
            answer.to_body(exchange.version),
        )
        yield answered_ms, line


def _connection(host: str, node: int, process: str = "", number: int = 0) -> str:
    """Return a connection as a request log has it: of each host, process and number another."""
    address = zlib.crc32(host.encode()) % 250 + 1
    port = zlib.crc32(f"{process}/{number}".encode()) % 50_000 + 10_000
    return f"10.1.1.{node}:9092-10.0.0.{address}:{port}-{number}"
