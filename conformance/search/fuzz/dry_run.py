"""Run a plan on the model first, step by step, while it is drawn.

This shows which rules a step uses, in which state it leaves its group, and which requests are
answered.  So the fuzzer can choose steps that are worth running, and can wait exactly where an
answer is due.  Time is virtual and requests take none, which is close to how a quick target with a
real clock runs the same plan.

Where a target has known departures, the plan is run on the model with these, so what follows behind
one is as it will be; and a step can be asked whether it leads into one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from msgspec import structs

from fencepost.conformance.run.runner import CaseUnsupportedError, bound_request, pause_ms
from fencepost.conformance.targets.model_coordinator import RunningModel, coordinating_machine
from fencepost.model.classic.group import Group
from fencepost.model.coordinator import MOVES, Answer, Config, Hello, Send
from fencepost.model.machine import Machine
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.plans.bind import Knowledge
from fencepost.model.plans.steps import (
    Await,
    DeleteTopics,
    Disconnect,
    Failover,
    MoveCoordinator,
    Pause,
    Plan,
    PlanStep,
    Request,
    Settle,
)
from fencepost.model.plans.times import Times
from fencepost.model.revision import Revision
from fencepost.model.work import Outcome

Pair = tuple[str, str]
GroupShape = tuple[object, ...]
"""A group without names, bytes and numbers, see `group_shape`."""

_MANY = 2
_FAILOVERS_REAL = 2
"""Most failovers of a plan on a real clock, where all that fail over wait for each other."""


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step without its waits; `hurry`: the next step does not wait for it; `word`: its kind."""

    step: Request | Pause | Disconnect | Failover | MoveCoordinator | DeleteTopics
    hurry: bool = False
    word: str = ""


@dataclass(slots=True)
class PlanCoverage:
    """The coverage of a plan: rules, pairs of rules in a group, and states of groups."""

    rules: set[str] = field(default_factory=set)
    pairs: set[Pair] = field(default_factory=set)
    states: set[GroupShape] = field(default_factory=set)

    def add(self, other: PlanCoverage) -> int:
        """Add another's coverage; returns how much of it is new."""
        before = self.size
        self.rules |= other.rules
        self.pairs |= other.pairs
        self.states |= other.states
        return self.size - before

    @property
    def size(self) -> int:
        """Count rules, pairs and states."""
        return len(self.rules) + len(self.pairs) + len(self.states)


def few_of_each(kinds: Iterable[GroupShape]) -> GroupShape:
    """Return each kind with its number: one, or several."""
    return tuple(sorted((kind, min(n, _MANY)) for kind, n in Counter(kinds).items()))


@lru_cache(maxsize=1024)
def group_shape(group: Group | None) -> GroupShape:
    """Describe a group without names and numbers: of each kind of member none, one or several."""
    if group is None:
        return ("absent",)
    kinds = (
        (
            member.is_static,
            member.member_id == group.leader,
            member.joining is not None,
            member.syncing is not None,
            member.new,
            member.owes_sync,
        )
        for member in group.members
    )
    return (
        group.state.value,
        few_of_each(kinds),
        min(len(group.pending), _MANY),
        group.delay is not None,
        bool(group.offsets),
    )


class _RecordingModel(RunningModel):
    """A running model that records which rules fire in which group, and the group's state."""

    def __init__(self, machine: Machine, shape: Callable[[Any], GroupShape]) -> None:
        super().__init__(machine)
        self._shape = shape
        self.reached = PlanCoverage()
        self.last_rules: tuple[str, ...] = ()
        self._last: dict[str, str] = {}

    def fresh(self) -> _RecordingModel:
        """Return a copy that goes on from here, and has reached nothing."""
        other = _RecordingModel(self.machine, self._shape)
        other.go_on_from(self)
        return other

    def _take(self, group_id: str, outcome: Outcome) -> None:
        super()._take(group_id, outcome)
        reached, last = self.reached, self._last.get(group_id)
        for rule in outcome.rules:
            reached.rules.add(rule)
            if last is not None:
                reached.pairs.add((last, rule))
            last = rule
        if last is not None:
            self._last[group_id] = last
        self.last_rules = outcome.rules
        reached.states.add(self._shape(outcome.group))


class DryRun:
    """A plan that is being drawn, run on the model step by step.

    `departed`: the revision with the target's known departures, if it has any.  `shape`: describes
    a group of its protocol without names and numbers.
    """

    def __init__(
        self,
        revision: Revision,
        hello: Hello,
        config: Config,
        times: Times,
        departed: Revision | None = None,
        shape: Callable[[Any], GroupShape] = group_shape,
    ) -> None:
        self.hello = hello
        self.times = times
        self.knowledge = Knowledge(times)
        self.steps: list[PlanStep] = []
        self.acts: list[PlannedStep] = []
        self.requests = 0
        self._plain = coordinating_machine(revision, config)
        self._departs = departed is not None
        self._model = _RecordingModel(coordinating_machine(departed or revision, config), shape)
        self._requests: dict[str, tuple[Request, Mapping[str, object]]] = {}
        self._parked: dict[str, str] = {}
        self._unread: dict[str, str] = {}

    @property
    def reached(self) -> PlanCoverage:
        """Return the coverage of the plan so far."""
        return self._model.reached

    @property
    def last_rules(self) -> tuple[str, ...]:
        """The rules that the last step used."""
        return self._model.last_rules

    def group(self, group_id: str) -> Any:
        """Return a group as it is now."""
        return self._model.groups.get(group_id)

    def waits(self, connection: str) -> bool:
        """Tell if a request is parked on this connection."""
        return connection in self._parked

    def play(self, act: PlannedStep) -> bool:
        """Add a step to the plan, if it can be run now; returns whether it could."""
        step = act.step
        match step:
            case Request():
                played = self._ask(step, hurry=act.hurry)
                if played is None:
                    return False
                act = replace(act, step=played)
            case Pause():
                self._read()
                self.steps.append(step)
                self._take(self._model.advance_to(self._now + pause_ms(step, self.times)))
                self._read()
            case Disconnect():
                self._disconnect(step)
            case Failover() | MoveCoordinator():
                is_restart = isinstance(step, Failover)
                if not self._may_take_over("restart" if is_restart else MOVES):
                    return False
                self._read()
                self.steps.append(step)
                self._take(self._model.fail_over())
                if is_restart:  # connections end with it
                    self._model.open.clear()
                    self._parked.clear()
                    self._unread.clear()
            case DeleteTopics(topics=topics):
                if "delete-topics" not in self.hello.features or self._model.deleted & {*topics}:
                    return False
                self._read()
                self.steps.append(step)
                self._model.delete_topics(topics)
        self.acts.append(act)
        return True

    def departs(self, act: PlannedStep) -> bool:
        """Tell if a known departure of the target shows in this step, now or later."""
        if not self._departs:
            return False
        known, plain = (self._model.forked(m) for m in (self._model.machine, self._plain))
        answers = [self._tried(model, act.step) for model in (known, plain)]
        return answers[0] != answers[1] or known.groups != plain.groups

    def rules_of(self, act: PlannedStep) -> set[str]:
        """Return the rules that a step would use."""
        fork = self._model.fresh()
        self._tried(fork, act.step)
        return fork.reached.rules

    def _tried(self, model: RunningModel, step: object) -> list[Answer]:
        match step:
            case Request():
                try:
                    version, body = bound_request(step, self.hello, self.knowledge)
                except CaseUnsupportedError:
                    return []
                connection = step.connection or step.who
                message = ALL_APIS[step.api].request.from_body(body, version)
                request = Send("tried", connection, "fencepost", step.api, version, body)
                return [*model.handle(request, message), *model.advance_to(model.now_ms)]
            case Pause():
                return model.advance_to(self._now + pause_ms(step, self.times))
            case Failover() | MoveCoordinator():
                return model.fail_over()
            case DeleteTopics(topics=topics):
                model.delete_topics(topics)
                return []
            case _:
                return []

    def end(self) -> tuple[PlanStep, ...]:
        """Return the steps of the finished plan."""
        self._read()
        return tuple(self.steps)

    @property
    def _now(self) -> int:
        return self._model.now_ms

    def _ask(self, step: Request, *, hurry: bool) -> Request | None:
        connection = step.connection or step.who
        if connection in self._parked:
            return None
        try:
            version, body = bound_request(step, self.hello, self.knowledge)
        except CaseUnsupportedError:
            return None
        if connection in self._unread.values():
            self._read()
        self.requests += 1
        number = len(self.steps) + 1
        ask = structs.replace(step, label=f"{step.who} {step.api} {number}", version=version)
        self.steps.append(ask)
        request_id = f"r{number}"
        self._requests[request_id] = ask, body
        self._parked[connection] = ask.label
        message = ALL_APIS[step.api].request.from_body(body, version)
        request = Send(request_id, connection, "fencepost", step.api, version, body)
        self._take(self._model.handle(request, message))
        if not hurry:
            self._take(self._model.advance_to(self._now))
            self._read()
            if connection in self._parked:
                self.steps.append(Settle())
        return ask

    def _take(self, answers: list[Answer]) -> None:
        for answer in answers:
            ask, body = self._requests[answer.id]
            connection = ask.connection or ask.who
            if self._parked.get(connection) == ask.label:
                del self._parked[connection]
                self._unread[ask.label] = connection
                self.knowledge.learn(ask.who, ask.api, answer.body or {}, body)

    def _may_take_over(self, feature: str) -> bool:
        if feature not in self.hello.features:
            return False
        before = sum(isinstance(step, Failover | MoveCoordinator) for step in self.steps)
        return self.hello.clock == "virtual" or before < _FAILOVERS_REAL

    def _read(self) -> None:
        """Wait for the answers that have come by now."""
        if self._unread:
            self.steps.append(Await(tuple(self._unread)))
            self._unread.clear()

    def _disconnect(self, step: Disconnect) -> None:
        self.steps.append(step)
        self._model.drop(step.who)
        self._parked.pop(step.who, None)
        self._unread = {label: c for label, c in self._unread.items() if c != step.who}


def acts_of(case: Plan) -> list[PlannedStep]:
    """List the steps of a plan without its waits, each in a hurry where no wait follows."""
    acts = []
    for step, after in zip(case.steps, (*case.steps[1:], Settle()), strict=True):
        if not isinstance(step, Await | Settle):
            hurry = isinstance(step, Request) and not isinstance(after, Await | Settle)
            acts.append(PlannedStep(step, hurry, step.api if isinstance(step, Request) else ""))
    return acts
