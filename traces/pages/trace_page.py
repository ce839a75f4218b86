"""Make the page of one or more traces: the minimal one, the original, one of another target.

Without the script the page shows the verdict in one sentence, its reasons, and every step as a line
with an anchor.  The script draws the rest from data that lie in the page: steps, the model's steps,
expected answers, the verdict.

Of the state only the changes of a step are kept; of an answer all its fields, each different answer
once.  So a trace of ten thousand steps is still a page.  Commands and texts to paste elsewhere are
in it, too; a text that is too long is replaced by the `fencepost convert` command that prints it.

An answer is compared with the expected one field by field.  Two fields are the same if both are a
new id that the coordinator chose, if only the order of members differs, or if only the throttle
time differs.

If runs differed, a trace may hold while its case is unknown; then the case counts.  A known failure
is marked as one, with the reason.  A right answer that is late is marked late, with the step in
which the model gives it.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.model.coordinator import named
from fencepost.model.history.events import Disturbance
from fencepost.model.history.step_lines import Line, texts
from fencepost.model.history.words import NEW_ID, Body, Names, answer_words, decoded, member, quoted
from fencepost.model.messages.errors import error_name
from fencepost.model.messages.messages import merged
from fencepost.model.messages.shapes import Message
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.model.table.table import Rule
from fencepost.properties.judging.known_failures import read_notes
from fencepost.properties.oracle.verdict import Happened, Wrong
from fencepost.traces.files.run_trace import COUNTEREXAMPLE, DIFFERENCE, KNOWN
from fencepost.traces.files.trace_file import TraceFile, TraceFileError, UnknownRevisionError
from fencepost.traces.forms.itf import to_itf_text
from fencepost.traces.forms.mermaid import to_mermaid
from fencepost.traces.forms.pytest_form import to_pytest
from fencepost.traces.pages.decisions import Decisions
from fencepost.traces.pages.group_fields import ABSENT, changes, deadline, fields, timer_name
from fencepost.traces.pages.html import Pool, page
from fencepost.traces.pages.lanes import Lanes, lanes
from fencepost.traces.pages.trace_with_model import Decider, TraceWithModel, match_model

_IDS = {"memberId", "leader"}
_BYTES = {"assignment", "metadata", "memberAssignment", "memberMetadata"}
_FREE = {"throttleTimeMs"}

Row = tuple[str, str | None, str | None, bool]
"""Field; observed and expected, None where it is missing; True if they agree."""


def rows(observed: Body | None, expected: Body | None, names: Names) -> list[Row]:
    """Return all fields of both answers, in the order of the one that came.

    Without an expectation nothing disagrees.
    """
    got, want = (dict(_flat(body, names)) for body in (observed or {}, expected or {}))
    fields = dict.fromkeys((*got, *want))
    if expected is None:
        return [(name, got[name], None, True) for name in fields]
    return [
        (name, got.get(name), want.get(name), _agree(name, got.get(name), want.get(name)))
        for name in fields
    ]


def _agree(name: str, got: str | None, want: str | None) -> bool:
    return want in {got, NEW_ID} or name in _FREE


def _flat(body: Body, names: Names, path: str = "") -> Iterator[tuple[str, str]]:
    for key, value in body.items():
        if isinstance(value, Mapping):
            yield from _flat(value, names, f"{path}{key}.")
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            for number, row in enumerate(_ordered(value, names)):
                yield from _flat(row, names, f"{path}{key}[{number}].")
        else:
            yield f"{path}{key}", _word(key, value, names)


def _ordered(listed: list[Any], names: Names) -> list[Any]:
    if all("memberId" in row for row in listed):
        return sorted(listed, key=lambda row: member(row["memberId"], names))
    return listed


def _word(key: str, value: Any, names: Names) -> str:
    if key.endswith("rrorCode"):
        return error_name(value)
    if key in _IDS:
        return member(value, names)
    if key in _BYTES and isinstance(value, str):
        return decoded(value) if value else "empty"
    if isinstance(value, str) or value is None:
        return quoted(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(str, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


_TONES = {COUNTEREXAMPLE: "violated", KNOWN: "excused", DIFFERENCE: "index"}
"""The kind of a model's run → the colour of its page; its answers are right in any case."""
_BESIDE = {"known-failure", "stale-known-failure"}


@dataclass(frozen=True, slots=True)
class CaseNote:
    """A certificate's entry of a case: its subject, and its outcome.

    `why`, `link`: of a known failure; of a stale one `why` is the listed failure.
    """

    about: str = ""
    outcome: str = ""
    why: str = ""
    link: str = ""


NO_CASE = CaseNote()


def case_note(case: Mapping[str, Any]) -> CaseNote:
    """Read it from a case of a certificate."""
    known = read_notes(case.get("notes", ()))
    about, outcome = case.get("about", ""), case["outcome"]
    return CaseNote(about, outcome, known.why or known.stale, known.link)


def verdict_json(story: TraceWithModel, case: CaseNote) -> dict[str, Any]:
    """Return the recorded verdict in words."""
    verdict = story.trace.verdict
    rule = _rule(story, verdict.rule)
    request = story.requests.get(verdict.request or "")
    api = "" if request is None else request.api
    names = story.trace.names
    expected = [answer_words(api, each.body, names) for each in verdict.expected if each.body]
    wrong = verdict.wrong or ""
    if wrong in {"EARLY", "CLOSED"} and not expected:
        expected = ["no answer yet: it waits"]
    got = answer_words(api, verdict.observed, names) if verdict.observed else ""
    body = story.answer(verdict.request)
    if verdict.outcome == "violated" and not got:
        got = answer_words(api, body, names) if body else "no answer"
        if body and wrong == "SILENCE":
            got = f"{_late(story)}: {got}"
    if (field := story.trace.wrong_field()) is not None:
        expected = [f"{field.field} {field.want}"]
        got += f"; {field.field} {field.got}"
    level = verdict.level or ""
    differs = wrong == "SILENCE" and rule is not None and level != rule.level.value
    undecided = case.outcome == "unknown" and verdict.outcome == "holds"
    outcome = case.outcome if undecided else verdict.outcome
    made = story.trace.provenance
    shows = str(made.get("shows") or "") if outcome == "holds" else ""
    about = case.about or (story.trace.plan or {}).get("about", "")
    return {
        "outcome": outcome,
        "badge": shows or outcome,
        "tone": _TONES.get(shows, outcome),
        "beside": case.outcome if case.outcome in _BESIDE else "",
        "about": about or (str(made.get("shows_why") or "") if shows else ""),
        "why": case.why,
        "link": case.link,
        "sentence": verdict.message,
        "level": f"late: {level}" if differs else level,
        "wrong": wrong,
        "rule": verdict.rule,
        "decided": story.decided_at(verdict.rule, verdict.request),
        "source": "" if rule is None else rule.source,
        "because": verdict.because or ("" if rule is None else rule.because),
        "expected": list(dict.fromkeys(expected)),
        "got": got,
    }


def _late(story: TraceWithModel) -> str:
    """Describe the delay of an answer, and if it was right otherwise."""
    verdict, names = story.trace.verdict, story.trace.names
    body = story.answer(verdict.request)
    allowed = [each.body for each in verdict.expected if each.body]
    right = any(all(same for *_, same in rows(body, want, names)) for want in allowed)
    violation = story.run.verdict.violation
    delay = "too late"
    if violation is not None and violation.wrong is Wrong.SILENCE:
        answered = story.lines[story.answered_at[verdict.request or ""]].until_ms
        delay = f"{answered - violation.at_ms:,} ms too late"
    return f"the right answer, {delay}" if right else f"no answer in time; {delay}"


def _rule(story: TraceWithModel, rule_id: str | None) -> Rule | None:
    return next((rule for _, rule in story.revision.rules() if rule.id == rule_id), None)


LONGEST = 400_000
"""In characters; a longer text is not for pasting."""
_MOST_EVENTS = 1_000
"""For a longer trace no other form is made."""

_MAKERS: Mapping[str, tuple[str, Callable[[TraceFile], str]]] = {
    "pytest": ("pytest", to_pytest),
    "mermaid": ("Mermaid", to_mermaid),
    "itf": ("ITF", to_itf_text),
}


def forms(
    trace: TraceFile, file: str, longest: int = LONGEST, folder: str = ""
) -> list[dict[str, Any]]:
    """Return the forms of a trace, each with its name and text; `file`: as a command names it.

    `longest`: in characters; in place of a form that is longer stands the command that prints it.
    `folder`: where commands must be run, in words.
    """
    quoted = shlex.quote(file)
    target = str(trace.provenance.get("target") or "") if trace.plan is not None else ""
    again = f"fencepost replay {quoted}" + (f" {shlex.quote(target)}" if target else "")
    where = f"# in {folder}\n" if folder else ""
    forms_ = [{"name": "replay command", "text": f"{where}{again}\n"}]
    for key, (name, make) in _MAKERS.items():
        try:
            text = make(trace) if len(trace.events) <= _MOST_EVENTS else None
        except TraceFileError:
            continue  # this form can't say what was sent; the others can
        if text is not None and len(text) <= longest:
            forms_.append({"name": name, "text": text})
        else:
            command = f"{where}fencepost convert {quoted} --to {key}\n"
            forms_.append({"name": f"{name} (command)", "text": command})
    return forms_


@dataclass(frozen=True, slots=True)
class PageTrace:
    """A trace on a page: its title, and the file for commands.

    `longest`: in characters, for its other forms; `case`: its entry in a certificate; `folder`: in
    words, the folder from which `file` leads to it; "": the one in which the page was made.
    """

    trace: TraceFile
    title: str
    file: str
    longest: int = LONGEST
    case: CaseNote = NO_CASE
    folder: str = ""


def trace_json(page_trace: PageTrace, decisions: Decisions) -> dict[str, Any]:
    """Return the data of a trace for the page.  `decisions`: of the revision that it names."""
    story, verdict = match_model(page_trace.trace, decisions.revision), page_trace.trace.verdict
    pool = Pool()
    drawn = lanes(story)
    steps = _steps(story, drawn, decisions, pool)
    return {
        "title": page_trace.title,
        "file": page_trace.file,
        "revision": page_trace.trace.revision,
        "verdict": verdict_json(story, page_trace.case),
        "facts": _facts(page_trace.trace),
        "steps": steps,
        "lines": list(texts(story.lines, verdict.request, also=verdict.wrong_answers())),
        "pool": pool.items,
        "lanes": drawn.to_json(),
        "wrong": story.wrong_at,
        "shown": _example_at(story),
        "judged": _judged(story),
        "forms": forms(page_trace.trace, page_trace.file, page_trace.longest, page_trace.folder),
    }


def _example_at(story: TraceWithModel) -> int | None:
    """Return the index of the step that a run of the model is an example for.

    None for other traces.
    """
    at = story.trace.provenance.get("shows_at")
    return next(
        (n for n, line in enumerate(story.lines) if at in {e + 1 for e in line.events}), None
    )


def _judged(story: TraceWithModel) -> int:
    """Return the number of steps that the model followed: all, or up to the violation."""
    if story.run.verdict.violation is None and story.run.verdict.unknown is None:
        return len(story.lines)
    last = max((n for n, steps in enumerate(story.beside) if steps), default=0)
    return max(last, story.wrong_at or 0) + 1


def _facts(trace: TraceFile) -> list[tuple[str, str]]:
    made = trace.provenance
    target = f"{made.get('target') or 'unknown'}"
    who = " ".join(
        str(made[k]) for k in ("implementation", "implementation_version") if made.get(k)
    )
    clock = "virtual" if trace.clock == "virtual" else f"real, lag up to {trace.lag_ms:,} ms"
    facts = [
        ("target", f"{target} ({who})" if who else target),
        ("judged by", trace.revision),
        ("case", trace.case or ""),
        ("clock", clock),
        ("seed", "" if made.get("seed") is None else str(made["seed"])),
        ("tool", f"fencepost {made['tool']}" if made.get("tool") else ""),
    ]
    facts += [
        (key, "none" if value is None else f"{value:,}" if isinstance(value, int) else value)
        for key, value in sorted(named(trace.config).items())
    ]
    return [(name, value) for name, value in facts if value]


def _steps(
    story: TraceWithModel, drawn: Lanes, decisions: Decisions, pool: Pool
) -> list[dict[str, Any]]:
    names, sent_at, answered = story.trace.names, story.sent_at, story.answered_at
    numbers = {request_id: index + 1 for request_id, index in sent_at.items()}
    groups = {step.group_id for steps in story.beside for step in steps}
    decider = Decider(story.trace, story.revision)
    expected = _expected(story)
    state: dict[str, dict[str, str]] = {}
    now = 0
    rows_json = []
    for index, line in enumerate(story.lines):
        narrowed: dict[str, str | None] = {}
        changed: dict[str, str | None] = {}
        for group_id in dict.fromkeys(step.group_id for step in story.beside[index]):
            own = [step for step in story.beside[index] if step.group_id == group_id]
            before = fields(own[0].before, names, numbers)
            after = _after(before, own, names, numbers)
            start = "" if len(groups) < 2 else f"group {group_id} · "
            known = state.get(group_id, ABSENT)
            narrowed |= {start + k: v for k, v in changes(known, before).items()}
            changed |= {start + k: v for k, v in changes(before, after).items()}
            state[group_id] = after
        row = _line_json(story, line, drawn)
        # When a request was sent is known to a ms or so, so it may seem to come before its reason.
        now = max(now, line.at_ms)
        row |= {"at": now, "until": max(now, line.until_ms)}
        if line.asks in answered and answered[line.asks] != index:
            row["to"] = answered[line.asks]
        if line.answers and not line.asks:
            row["of"] = sent_at.get(line.answers)
        if index == story.wrong_at:
            row["wrong"] = True
        elif line.answers in story.trace.verdict.wrong_answers():
            row["also"] = True
        if line.asks:
            request = story.requests[line.asks]
            row["q"] = pool.place(rows(request.body, None, names))
        answer = line.answers or (line.asks if row.get("wrong") else "")
        if answer:
            body, want = story.answer(answer), expected.get(answer)
            row["a"] = pool.place(rows(body, want, names))
            if want is None:
                row["free"] = True
        if story.beside[index]:
            row["m"] = [_model(s, decider, decisions, names) for s in story.beside[index]]
        if narrowed:
            row["was"] = narrowed
        if changed:
            row["ch"] = changed
        rows_json.append(row)
    return rows_json


def _after(
    before: Mapping[str, str],
    steps: Sequence[Happened],
    names: Mapping[str, str],
    numbers: Mapping[str, int],
) -> dict[str, str]:
    """Return the fields after steps of one group: those that the steps changed, and no more.

    Between two steps explanations are joined or dropped, which may move a deadline: no rule did it.
    """
    after = dict(before)
    for step in steps:
        start = fields(step.before, names, numbers)
        for name, value in changes(start, fields(step.outcome.group, names, numbers)).items():
            if value is None:
                after.pop(name, None)
            else:
                after[name] = value
    return after


def _line_json(story: TraceWithModel, line: Line, drawn: Lanes) -> dict[str, Any]:
    """Return a step, without the model's part."""
    row_json: dict[str, Any] = {}
    request = story.requests.get(line.asks or line.answers)
    if request is not None:
        row_json |= {"kind": "ask" if line.asks else "answer", "api": request.api}
        row_json["v"] = request.version
        row_json["row"] = drawn.row_of[story.trace.senders.get(request.id, request.connection)]
    elif line.passes:
        row_json["kind"] = "time"
    else:
        events = [story.trace.events[e] for e in line.events]
        row_json["kind"] = next((e.lane for e in events if isinstance(e, Disturbance)), "drop")
        done = [e for e in events if isinstance(e, Disturbance) and e.connection]
        gone = {who for e in done for who in _behind(story, e)}
        if gone:
            row_json["row"] = drawn.row_of[min(gone)]
    if line.answers:
        body = story.answer(line.answers)
        code = None if body is None else body.get("errorCode", 0)
        row_json["err"] = "closed" if code is None else error_name(code)
    if line.events:
        row_json["file"] = [e + 1 for e in line.events]
    return row_json


def _behind(story: TraceWithModel, event: Disturbance) -> set[str]:
    """Return the members that used a connection."""
    return {
        story.trace.senders.get(request.id, request.connection)
        for request in story.requests.values()
        if request.connection == event.connection
    }


def _expected(story: TraceWithModel) -> dict[str, Body]:
    """Return request id → the model's answer; at the violation, the nearest right answer."""
    messages: dict[str, list[Message]] = {}
    for steps in story.beside:
        for step in steps:
            for emission in step.outcome.emissions:
                if emission.message is not None:
                    messages.setdefault(emission.request_id, []).append(emission.message)
    bodies: dict[str, Body] = {}
    for request_id, answers in messages.items():
        message = answers[0] if len(answers) == 1 else merged(answers)
        bodies[request_id] = message.to_body(story.requests[request_id].version)
    verdict = story.trace.verdict
    if verdict.request and verdict.expected and verdict.expected[0].body is not None:
        bodies[verdict.request] = verdict.expected[0].body
    return bodies


def _model(
    step: Happened, decider: Decider, decisions: Decisions, names: Mapping[str, str]
) -> dict[str, Any]:
    span = step.span
    if step.incoming is not None:
        cause = step.incoming.api
    elif step.timer is not None:
        cause = f"{timer_name(step.timer, names)}, due {deadline(step.timer)}"
    elif step.done is not None:
        cause = step.done.title
    else:
        cause = "failover"
    document: dict[str, Any] = {
        "what": cause,
        "d": [decisions.point(*d) for d in decider.decisions(step)],
    }
    if step.incoming is not None:
        document["q"] = step.incoming.id
    if span.earliest != span.latest:
        document["span"] = [span.earliest, span.latest]
    return document


def trace_page(page_traces: Sequence[PageTrace]) -> str:
    """Make the page of these traces, the first one open.  Raises TraceFileError."""
    data = traces_data(page_traces)
    first = data["traces"][0]
    title = f"{first['verdict']['rule'] or first['title']}: {first['verdict']['badge']}"
    return page("trace.html", title, data, traces=data["traces"])


def traces_data(page_traces: Sequence[PageTrace]) -> dict[str, Any]:
    """Return traces, each with the key of its link, and the revisions that judge them.

    Raises TraceFileError.
    """
    revisions: dict[str, Decisions] = {}
    traces = []
    for each, key in zip(page_traces, _keys(page_traces), strict=True):
        name = each.trace.revision
        if name not in revisions:
            try:
                revisions[name] = Decisions(find_revision(name))
            except KeyError as error:
                raise UnknownRevisionError(each.file, name, error) from error
        traces.append({"key": key, **trace_json(each, revisions[name])})
    return {
        "traces": traces,
        "revisions": {name: explained.to_json() for name, explained in revisions.items()},
    }


def page_with_traces(
    template: str, heading: str, page_traces: Mapping[str, PageTrace], **values: Any
) -> str:
    """Make a page that links to traces by their names.  `values`: see `page`."""
    data = traces_data(list(page_traces.values()))
    more = {"links": _links(data, page_traces), "traces": data["traces"], **values}
    return page(template, heading, {**data, "index": True}, heading=heading, **more)


def _links(data: Mapping[str, Any], names: Iterable[str]) -> dict[str, str]:
    """Return the links of traces in their page, by these names."""
    return {name: f"#{trace['key']}" for name, trace in zip(names, data["traces"], strict=True)}


def _keys(page_traces: Iterable[PageTrace]) -> list[str]:
    """Return the key of each trace in links, made from its case, so that it is stable."""
    counts: Counter[str] = Counter()
    keys = []
    for each in page_traces:
        key = "trace-" + re.sub(r"[^A-Za-z0-9]+", "-", each.title).strip("-")
        counts[key] += 1
        keys.append(key if counts[key] == 1 else f"{key}.{counts[key]}")
    return keys
