"""Turn a run of the model, or the recording of a case, into a trace file, and a trace into either.

A run is also written as lines to read.  A line has the time, the actor, request and answer, and the
rules.  Members are called by their ids, which include the instance (`A-2`: the second id given to
instance A).  Events that are no request (a process that ends, a lost connection, time, a failover)
are described in words.

A trace of a recording keeps all that the judge saw, the plan, and the verdict with its reasons.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from fencepost.model.coordinator import Answer, Provenance, Send
from fencepost.model.history.events import Answered, Disconnected, Event, Sent
from fencepost.model.history.words import answer_words, member, request_words
from fencepost.model.messages.errors import Error
from fencepost.model.plans.spelling import plan_json, read_plan
from fencepost.model.plans.steps import Plan
from fencepost.model.revision import Revision
from fencepost.model.table.table import Level
from fencepost.properties.judging.answer_diff import Recording
from fencepost.properties.judging.explain import explain
from fencepost.properties.judging.model_states import judge_again
from fencepost.properties.judging.trace_verdict import TraceVerdict, nearest_first, record_verdict
from fencepost.properties.worlds.concretise import Run, Turn
from fencepost.properties.worlds.protocol_worlds import TICK_MS
from fencepost.properties.worlds.world import Worlds
from fencepost.traces.files.trace_file import TraceFile

if TYPE_CHECKING:
    from fencepost.properties.oracle.verdict import Verdict


def trace_of(
    recording: Recording,
    verdict: Verdict | None,
    revision: Revision,
    provenance: Provenance,
    *,
    seed: int,
    tool_version: str,
    message: str = "",
) -> TraceFile:
    """Return the trace of a run.  `message`: instead of the explanation's sentence, if given."""
    return TraceFile(
        revision=revision.name,
        case=recording.case.id,
        clock=recording.clock,
        lag_ms=recording.lag_ms,
        config=dict(recording.config),
        plan=plan_json(recording.case),
        events=tuple(recording.history),
        senders=dict(recording.senders),
        names=recording.read().names,
        verdict=verdict_of(recording, verdict, revision, message),
        provenance={
            "tool": tool_version,
            "target": provenance.target,
            "implementation": provenance.implementation,
            "implementation_version": provenance.version,
            "seed": seed,
        },
    )


def verdict_of(
    recording: Recording, verdict: Verdict | None, revision: Revision, message: str = ""
) -> TraceVerdict:
    """Return a verdict in the form that a trace file holds."""
    sentence = message or explain(verdict, recording, revision).sentence
    return record_verdict(verdict, revision, sentence, nearest_first)


def recording_of(trace: TraceFile, coordinator: str = "") -> Recording:
    """Return the recording, as far as a trace holds it.  `coordinator`: that answered, if known."""
    if trace.plan is not None:
        case = read_plan(dict(trace.plan))
    else:
        case = Plan(trace.case or "", "", (), Level.MUST, ())
    return Recording(
        case=case,
        config=trace.config,
        clock=trace.clock,
        lag_ms=trace.lag_ms,
        patience_ms=trace.lag_ms,
        history=list(trace.events),
        senders=dict(trace.senders),
        names=dict(trace.names),
        coordinator=coordinator,
    )


WAITS = "waits"
LOST = "the answer is lost"
COUNTEREXAMPLE, KNOWN, DIFFERENCE = "counterexample", "expected counterexample", "difference"


@dataclass(frozen=True, slots=True)
class RunStep:
    """One turn of a run in words.

    `who`: `c2 (A)`, "" for an event without an actor; `did`: the request, or the event; `answer`:
    to that request, None if it waits or there was none; `others`: further answers, each with the
    sender of its request; `rules`: in the order in which they were used.
    """

    number: int
    at_ms: int
    who: str
    did: str
    has_request: bool
    answer: str | None
    others: tuple[str, ...]
    rules: tuple[str, ...]

    @property
    def answers(self) -> str:
        """All that was answered, in one line; "" for nothing."""
        own = (self.answer or WAITS,) if self.has_request else ()
        return "; ".join((*own, *self.others))

    @property
    def start(self) -> str:
        """Number, time, and actor."""
        return "  ".join(filter(None, (f"{self.number:3}  at {self.at_ms:,} ms", self.who)))

    @property
    def text(self) -> str:
        """The step as a line."""
        line = f"{self.start}  {self.did}"
        if self.answers:
            line += f" → {self.answers}"
        return line + (f"  [{', '.join(self.rules)}]" if self.rules else "")


@dataclass(frozen=True, slots=True)
class Example:
    """A run's example: COUNTEREXAMPLE, KNOWN or DIFFERENCE, and the reason, in a sentence.

    `turn`: the index of the turn that shows it; None: the last one.
    """

    kind: str
    why: str
    turn: int | None = None


def run_lines(worlds: Worlds, run: Run) -> tuple[str, ...]:
    """Return the run as lines, one for each step.  `worlds`: those that it was unfolded from."""
    return tuple(step.text for step in run_steps(worlds, run))


def run_steps(worlds: Worlds, run: Run) -> tuple[RunStep, ...]:
    """Return the run in words, step by step.  `worlds`: those that it was unfolded from."""
    names = client_names(worlds)
    sends = sent(run.events)
    ids = names_in_words(worlds, run.names)
    steps = []
    now = 0
    for number, turn in enumerate(run.turns, start=1):
        who = names[turn.act.client] if turn.act.client >= 0 else ""
        steps.append(turn_words(number, now, who, turn, sends, ids))
        now = max((event.at_ms for event in turn.events), default=now)
    return tuple(steps)


def names_in_words(worlds: Worlds, member_ids: Iterable[str]) -> dict[str, str]:
    """Return how ids are called in words: member ids as they are, topics by their names."""
    return {member_id: member_id for member_id in member_ids} | {**worlds.protocol.topic_ids}


def sent(events: Iterable[Event]) -> dict[str, Send]:
    """Return the requests of a history, by id."""
    return {event.request.id: event.request for event in events if isinstance(event, Sent)}


def client_names(worlds: Worlds) -> list[str]:
    """Return the names of the clients: `c1 (A)`, of a dynamic one `c2`."""
    return [
        f"c{n}" + (f" ({seat.instance})" if seat.instance is not None else "")
        for n, seat in enumerate(worlds.seats, start=1)
    ]


def run_trace(
    worlds: Worlds,
    run: Run,
    *,
    judged_by: Revision | None = None,
    message: str = "",
    case: str | None = None,
    provenance: Mapping[str, str | int | None] | None = None,
    repeated: int = 0,
    shows: Example | None = None,
) -> TraceFile:
    """Write the run as a trace file, judged by the oracle; a replay gives the same verdict.

    `judged_by`: a revision that has a name in `fencepost.model.revisions.revisions`; by default the
    run's own.  `message`: the trace in one sentence; `provenance`: beside the usual entries;
    `repeated`: the number of last turns that happen again and again.  `shows`: what the run is an
    example of, for its page; the verdict is about the answers alone.
    """
    revision = judged_by or worlds.revision
    config = worlds.scope.config()
    verdict = judge_again(revision, config, run.events, lag_ms=0)
    return TraceFile(
        revision=revision.name,
        case=case,
        clock="virtual",
        lag_ms=0,
        config=config,
        plan=None,
        events=run.events,
        senders=dict(run.senders),
        names=_numbered(run.names) | {**worlds.protocol.topic_ids},
        verdict=to_trace_verdict(verdict, revision, message),
        provenance={
            "tool": tool_version(),
            "target": f"model:{worlds.revision.name}",
            "implementation": "fencepost model",
            "implementation_version": tool_version(),
            "seed": None,
            **({} if shows is None else _example(run, shows)),
            **(provenance or {}),
        },
        loop=_loop(run, repeated),
    )


def _example(run: Run, shows: Example) -> dict[str, str | int | None]:
    """Return it as provenance; `shows_at`: the number of the file's step, from 1."""
    before = run.turns[: shows.turn] if shows.turn is not None else run.turns[:-1]
    at = 1 + sum(len(turn.events) for turn in before)
    return {"shows": shows.kind, "shows_why": shows.why, "shows_at": at}


def _loop(run: Run, repeated: int) -> int | None:
    """Return the step with which the first of the repeated turns begins."""
    if not repeated:
        return None
    return 1 + sum(len(turn.events) for turn in run.turns[:-repeated])


def tool_version() -> str:
    """Return the version of this fencepost; `none` where it isn't installed."""
    try:
        return version("fencepost")
    except PackageNotFoundError:
        return "none"


def _numbered(names: Mapping[str, str]) -> dict[str, str]:
    """Return member id → name: "c1" for the first id of c1, "c1 (id 2)" for the second."""
    count: dict[str, int] = {}
    numbered = {}
    for member_id, who in names.items():
        count[who] = count.get(who, 0) + 1
        numbered[member_id] = who if count[who] == 1 else f"{who} (id {count[who]})"
    return numbered


# The verdict.


def to_trace_verdict(verdict: Verdict, revision: Revision, message: str = "") -> TraceVerdict:
    """Convert a verdict to that of a trace.  `message`: used in place of the usual sentence."""
    violation = verdict.violation
    if violation is None:
        usual = verdict.unknown or f"Every answer is one that {revision.name} gives."
    else:
        usual = f"{violation.request_id}: {violation.detail}"
    return record_verdict(verdict, revision, message or usual)


# The words.


def turn_words(
    number: int,
    now: int,
    who: str,
    turn: Turn,
    sends: Mapping[str, Send],
    ids: Mapping[str, str],
) -> RunStep:
    """Return a turn in words.  `sends`: requests by id; `ids`: the names of member ids."""
    request = next((e.request for e in turn.events if isinstance(e, Sent)), None)
    answer: str | None = None
    others: list[str] = []
    for event in turn.events:
        if not isinstance(event, Answered):
            continue
        whose = sends[event.answer.id]
        if request is not None and whose.id == request.id:
            answer = _answer(event.answer, whose, ids)
        else:
            words = _answer(event.answer, whose, ids)
            others.append(f"{whose.client_id}'s {whose.api}: {words}")
    if request is not None and request.id in _dropped_ids(turn):
        answer = LOST
    if request is None:
        did = _happened(turn, sends)
    else:
        did = request_words(request.api, request.version, request.body, ids)
        did += {"change": ", another subscription"}.get(turn.act.kind, "")
    return RunStep(number, now, who, did, request is not None, answer, tuple(others), turn.rules)


def _happened(turn: Turn, sends: Mapping[str, Send]) -> str:
    dropped = ", ".join(_dropped(turn, sends))
    match turn.act.kind:
        case "tick":
            until_ms = max(event.at_ms for event in turn.events)
            return f"{TICK_MS / 1000:g} s pass, until {until_ms:,} ms"
        case "failover":
            return "the coordinator fails over"
        case "restart":
            lost = f" ({dropped} gets no answer)" if dropped else ""
            return f"restarts: a new process that knows no member id{lost}"
        case _:
            return f"loses its connection, and with it {dropped or 'nothing that waits'}"


def _dropped_ids(turn: Turn) -> Iterator[str]:
    for event in turn.events:
        if isinstance(event, Disconnected):
            yield from event.dropped


def _dropped(turn: Turn, sends: Mapping[str, Send]) -> Iterator[str]:
    yield from (sends[request_id].api for request_id in _dropped_ids(turn))


def _answer(answer: Answer, request: Send, ids: Mapping[str, str]) -> str:
    words = answer_words(request.api, answer.body, ids)
    body = answer.body or {}
    new_id = body.get("memberId")
    if not new_id:
        return words
    if new_id == request.body.get("memberId"):
        return words.removesuffix(f", member id {member(new_id, ids)}")
    return f"{words}, id {new_id}" if body.get("errorCode") == Error.NONE.value else words
