"""Match the steps of a trace with the steps of the model.

A request took effect where it was sent, or later if something else must have happened before.  A
timer fires in the first step that lasts long enough.  The order is the model's, so the state after
a step is one that the model was in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fencepost.model.coordinator import Send
from fencepost.model.history.events import Answered, Disturbance, Sent, Takeover
from fencepost.model.history.history import History
from fencepost.model.history.step_lines import Line, show_wrong_field, step_lines
from fencepost.model.history.words import Body, wrong_field
from fencepost.model.machine import Machine
from fencepost.model.revision import Revision
from fencepost.model.table.expr import Point
from fencepost.model.table.table import Rule, Table
from fencepost.properties.oracle.verdict import Happened
from fencepost.properties.oracle.witness import ExplainedRun, run_beside
from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.pages.decisions import logged_tables

Decision = tuple[Table, Point, Rule]


@dataclass(frozen=True, slots=True)
class TraceWithModel:
    """A trace, its steps, and the model's steps by the index of the step that they belong to.

    `requests`: by id; `sent_at`, `answered_at`: request id → index of the step that sent it, and
    that answered it.
    """

    trace: TraceFile
    revision: Revision
    lines: tuple[Line, ...]
    run: ExplainedRun
    beside: tuple[tuple[Happened, ...], ...]
    requests: Mapping[str, Send]
    sent_at: Mapping[str, int]
    answered_at: Mapping[str, int]

    @property
    def wrong_at(self) -> int | None:
        """Index of the step where it goes wrong: the answer; if there is none, the request."""
        request = self.trace.verdict.request
        if request is None:
            return None
        return self.answered_at.get(request, self.sent_at.get(request))

    def answer(self, request_id: str | None) -> Body | None:
        """Return the final answer to a request."""
        index = self.answered_at.get(request_id or "")
        for number in () if index is None else self.lines[index].events:
            event = self.trace.events[number]
            if isinstance(event, Answered) and event.answer.id == request_id:
                return event.answer.body
        return None

    def decided_at(self, rule_id: str | None, request_id: str | None) -> int | None:
        """Return the index of the step in which a rule answered a request, or None."""
        for index, steps in enumerate(self.beside):
            for step in steps:
                answered = {emission.request_id for emission in step.outcome.emissions}
                if rule_id in step.outcome.rules and request_id in answered:
                    return index
        return None


def match_model(trace: TraceFile, revision: Revision) -> TraceWithModel:
    """Judge a trace by a revision and match the model's run with its steps."""
    lines = tuple(step_lines(History(trace.events, trace.senders, trace.names, trace.clock)))
    differing = [(trace.verdict.request, trace.wrong_field())]
    differing += [
        (b.request, wrong_field(b.difference, trace.names)) for b in trace.verdict.besides
    ]
    for request_id, differs in differing:
        if differs is not None:
            show_wrong_field(lines, request_id, differs)
    run = run_beside(revision, trace.config, trace.events, lag_ms=trace.lag_ms)
    requests = {e.request.id: e.request for e in trace.events if isinstance(e, Sent)}
    sent_at = {line.asks: index for index, line in enumerate(lines) if line.asks}
    answered = {line.answers: index for index, line in enumerate(lines) if line.answers}
    beside = _beside(trace, lines, sent_at, run.steps)
    return TraceWithModel(trace, revision, lines, run, beside, requests, sent_at, answered)


def _beside(
    trace: TraceFile, lines: Sequence[Line], sent_at: Mapping[str, int], steps: Sequence[Happened]
) -> tuple[tuple[Happened, ...], ...]:
    beside: list[list[Happened]] = [[] for _ in lines]
    restarts = [
        index
        for index, line in enumerate(lines)
        if any(isinstance(trace.events[e], Takeover) for e in line.events)
    ]
    done: dict[Disturbance, int] = {
        event: index
        for index, line in enumerate(lines)
        for event in map(trace.events.__getitem__, line.events)
        if isinstance(event, Disturbance)
    }
    here = 0
    for step in steps:
        if step.incoming is not None:
            here = max(here, sent_at[step.incoming.id])
        elif step.done is not None:
            here = max(here, done[step.done])
        elif step.timer is None:
            here = next((index for index in restarts if index >= here), here)
        else:
            while here + 1 < len(lines) and lines[here].until_ms < step.span.earliest:
                here += 1
        if beside:
            beside[here].append(step)
    return tuple(map(tuple, beside))


class Decider:
    """Runs the model again, step by step, to learn its decisions."""

    def __init__(self, trace: TraceFile, revision: Revision) -> None:
        self._log: list[Decision] = []
        listening = replace(revision, tables=logged_tables(revision, self._log))
        self._machine = Machine(listening, trace.config)

    def decisions(self, step: Happened) -> list[Decision]:
        """Return the decisions of a step, in the order in which its rules were used."""
        self._log.clear()
        if step.incoming is not None:
            if step.group_id or step.outcome.rules:
                self._machine.handle(step.before, step.incoming, step.span, group_id=step.group_id)
        elif step.done is not None:
            self._machine.operate(step.before, step.done, step.span)
        elif step.timer is not None:
            if step.before is not None:
                self._machine.expire(step.before, step.timer, step.span)
        else:
            self._machine.failover(step.before, step.span)
        by_rule: dict[str, list[Decision]] = {}
        for decision in self._log:
            by_rule.setdefault(decision[2].id, []).append(decision)
        return [by_rule[rule][0] for rule in step.outcome.rules if rule in by_rule]
