"""Collect the facts about a group that logs show: restarts, rebalances, silences, settings.

The source is the operator's report of an audit: of its JSON, or of logs that are audited here.  A
log that shows no restart with its length gets no advice of a session timeout; then the error tells
what the log shows instead, in the audit's own words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.conformance.advise.known_facts import (
    BOTH,
    WEEK_S,
    AdviceError,
    Form,
    NoAdviceError,
)
from fencepost.conformance.simulate.deployment_scenario import strategy_of
from fencepost.model.assignors.assignors import ASSIGNORS
from fencepost.model.history.words import first_names, plural
from fencepost.traces.audit.audit_settings import LogOptions
from fencepost.traces.audit.log_audit import audit_log
from fencepost.traces.audit.server_log_audit import audit_server_log
from fencepost.traces.files.bounded import DocumentError, read_json
from fencepost.traces.logs.log_files import LogFileError
from fencepost.traces.logs.request_log import RequestLog
from fencepost.traces.logs.server_log import LogKind, ServerLog, common_kind, files_in
from fencepost.traces.operations.client_libraries import BY_NAME, ClientLibrary, without_static
from fencepost.traces.operations.operator_rows import OF_SESSIONS, GroupKind, Remedy
from fencepost.traces.operations.operator_words import operator_json

_FORMATS = frozenset({"fencepost-audit", "fencepost-server-log-audit"})
A_DAY_S = 24 * 3600
_MOST_VALUES = 20
_NEAR_MS = 1000
_MOST_PROBLEMS = 3
_MOST_NAMED = 12

Report = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LogFacts:
    """The facts of one group in a log.

    `restarts_s`: how long members were away that came back, where a rebalance tells; `free`: static
    members that came back without one, `free_s`: how long these were away, where the log shows it;
    `rebalances`: all rows of the group; `left_out`: true if the report counts more rows than it
    lists; `session_s`: of members, if it shows; `shared`: instance ids that several processes take
    from each other; `not_polled`: rebalances of live processes that did not call poll(); `expired`:
    members that expired, `back_s`: how long after that the last of them came back, at most; None:
    none did, or the log doesn't show it; `lost`: its last member expired, and none came since;
    `library`: of its clients, if it shows; `problems`: of the group, as the audit tells them.
    """

    group: str
    lasted_s: float
    restarts_s: tuple[float, ...]
    free: int
    free_s: tuple[float, ...]
    rebalances: tuple[Report, ...]
    left_out: bool
    session_s: float | None
    shared: tuple[str, ...]
    not_polled: int
    expired: int
    back_s: float | None
    lost: bool
    library: ClientLibrary | None
    problems: tuple[Report, ...]
    facts: Mapping[str, Any]

    def avoided(self, form: Form, session_s: float) -> list[Report]:
        """List the rebalances that would not have been with these settings."""
        return [row for row in self.rebalances if self._is_avoided(row, form, session_s)]

    def _is_avoided(self, row: Report, form: Form, session_s: float) -> bool:
        if not form.is_static or row["remedy"] not in SAVING:
            return False
        if row["away_ms"] is not None:
            return bool(row["away_ms"] < session_s * 1000)
        late_ms = row.get("expired_ms")
        if late_ms is None:
            return True
        # Its silence was as long as the session of then at least, and its absence added to that.
        return self.session_s is not None and session_s >= self.session_s + late_ms / 1000

    @property
    def saved(self) -> int:
        """Count the rebalances that the audit says static members, or a longer session, avoid."""
        return sum(row["remedy"] in SAVING for row in self.rebalances)

    @property
    def needed_ms(self) -> int | None:
        """Return the session timeout that the audit names; None where it names none."""
        named = [row.get("session_ms") for row in self.rebalances if row["remedy"] in SAVING]
        return max((ms for ms in named if ms is not None), default=None)


SAVING = frozenset(remedy.value for remedy in OF_SESSIONS)


def read_reports(files: Sequence[Path], group: str | None) -> Report:
    """Read the operator's report of logs, or of the one JSON of an audit.  Raises AdviceError.

    Its `unread_lines`: the number of lines about groups that were not understood.
    """
    if documents := [file for file in files if file.suffix == ".json"]:
        if len(files) > 1:
            raise AdviceError(f"{documents[0]}: give the JSON of one audit, and no other file")
        return _read_json(documents[0])
    log_options = LogOptions()
    only = frozenset({group} if group else ())
    try:
        files = files_in(files)
        kind = common_kind(files)
        if kind is LogKind.SERVER:
            run = audit_server_log(ServerLog(files, dates=log_options.dates()), only)
            return {**operator_json(run.report), "unread_lines": run.unread_count}
        if kind is LogKind.REQUESTS:
            log = RequestLog(files, dates=log_options.dates())
            requests = audit_log(log, log_options.settings(), only)
            return operator_json(requests.report)
    except LogFileError as error:
        raise AdviceError(str(error)) from None
    raise AdviceError(
        f"{files[0]} is {kind.value}: give a request log, server.log, or the output of audit --json"
    )


def _read_json(path: Path) -> Report:
    try:
        document = read_json(path)
    except DocumentError as error:
        raise AdviceError(str(error)) from None
    if not isinstance(document, dict) or document.get("format") not in _FORMATS:
        raise AdviceError(f"{path} is not the JSON of an audit: give the output of audit --json")
    report: Report = document["operator"]
    unread = sum(each["lines"] for each in document.get("unread", ()))
    return {**report, "unread_lines": unread}


def log_facts(report: Report, group: str | None) -> LogFacts:
    """Collect the facts of a group; without a name, of the only one.  Raises AdviceError."""
    group = group or _only_group(report)
    rows, thrown, near, lines = (
        _of_group(report, name, group)
        for name in ("rebalances", "thrown_out", "near_timeouts", "life_lines")
    )
    silences = [*thrown, *near]
    at_end = next((row for row in report.get("at_end", ()) if row["group"] == group), None)
    if not rows and not lines and at_end is None:
        raise AdviceError(f"the log shows nothing of a group {group!r}; it has {_groups(report)}")
    _refuse_connect(report, at_end)
    lasted_s = ((report["until_ms"] or 0) - (report["from_ms"] or 0)) / 1000
    restarts = _restarts(report, group, rows, thrown)
    restarts_s = _sorted_s(row["away_ms"] for row in restarts)
    free = [row for row in lines if row["end"] == "replaced" and row["fenced_ms"] is None]
    free_s = _sorted_s(row["away_ms"] for row in free if row.get("away_ms") is not None)
    expired = [row for row in _of_group(report, "expirations", group) if row["lived"] is not True]
    late = [row["back_ms"] - row["at_ms"] for row in expired if row["back_ms"] is not None]
    facts: dict[str, Any] = {}
    if sizes := [row["members_after"] for row in rows if row["members_after"]]:
        facts["members"] = max(sizes)
    if restarts_s or free_s:
        facts["restart_s"] = {"values": _thinned(sorted([*restarts_s, *free_s]))}
    if lines:
        facts["is_static"] = True
    facts |= _at_end(at_end)
    if silences:
        facts["pause_s"] = max(row["silent_ms"] for row in silences) / 1000
    known = [*silences, *restarts, *free] if "restarts" in report else silences
    sessions = [row["session_ms"] / 1000 for row in known if row.get("session_ms")]
    if sessions and "session_s" not in facts:
        facts["session_s"] = max(sessions)
    chains = [row for row in _of_group(report, "chains", group) if row["ping_pong"]]
    problems = [row for row in report.get("problems", ()) if row["group"] == group]
    taken = [row for row in problems if row["kind"] == "fenced" and row["count"] > 1]
    shared = {row["instance_id"] for row in [*chains, *taken] if row["instance_id"]}
    if lasted_s >= A_DAY_S:
        facts |= _rates(report, group, rows, thrown, lasted_s / WEEK_S)
    tables = ("rebalances", "thrown_out", "life_lines", "deployments", "near_timeouts")
    return LogFacts(
        group,
        lasted_s,
        restarts_s,
        len(free),
        free_s,
        tuple(rows),
        any(report[name]["count"] > len(report[name]["rows"]) for name in tables),
        facts.get("session_s"),
        tuple(sorted(shared)),
        sum(row["remedy"] == Remedy.LONGER_POLL.value for row in rows),
        len(expired),
        max((ms / 1000 for ms in late if ms > 0), default=None),
        at_end is not None and at_end.get("last_expired_ms") is not None,
        BY_NAME.get(facts.get("library", "")),
        tuple(problems),
        facts,
    )


def _of_group(report: Report, table: str, group: str) -> list[Report]:
    """List the rows of a group in a table, which older audits may lack."""
    return [row for row in report.get(table, {"rows": ()})["rows"] if row["group"] == group]


def _sorted_s(durations_ms: Iterable[int]) -> tuple[float, ...]:
    return tuple(sorted(max(ms, 1) / 1000 for ms in durations_ms))


def _rates(
    report: Report, group: str, rows: Sequence[Report], thrown: Sequence[Report], weeks: float
) -> dict[str, float]:
    """Return how often things happened in a week."""
    expired = [row for row in rows if row["cause"] == "expiry" and not _lived(row, thrown)]
    gone = [row for row in expired if row["remedy"] == Remedy.NOTHING.value]
    return {
        "deployments": round(len(_of_group(report, "deployments", group)) / weeks, 3),
        "crashes": round((len(expired) - len(gone)) / weeks, 3),
        "deaths": round(len(gone) / weeks, 3),
    }


def _restarts(
    report: Report, group: str, rows: Sequence[Report], thrown: Sequence[Report]
) -> Sequence[Report]:
    """List the restarts of a group, each once; older audits have them in their rebalances only."""
    if "restarts" in report:
        return _of_group(report, "restarts", group)
    return [row for row in rows if row["away_ms"] is not None and not _lived(row, thrown)]


def _refuse_connect(report: Report, at_end: Report | None) -> None:
    """Raise AdviceError for a group of Connect workers, of which no setting here is true."""
    if at_end is None or at_end.get("kind") != GroupKind.CONNECT.value:
        return
    group = at_end["group"]
    away = [(row["back_ms"] - row["at_ms"]) / 1000 for row in _of_group(report, "restarts", group)]
    longest = f", here up to {max(away):.1f} s" if away else ""
    raise AdviceError(
        f"{group} is a group of Connect workers, which can't be static members, and advise is for "
        "consumers. Set scheduled.rebalance.max.delay.ms (300000 by default) longer than a worker "
        f"is away{longest}"
    )


def facts_of(log: LogFacts | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Join the facts of options, which go first, and of a log.  Raises NoAdviceError."""
    facts = {**(log.facts if log else {}), **options}
    if log is None:
        return facts
    if limits := _limits(log, options.get("only") or ()):
        facts["only"] = limits
    if "restart_s" not in facts:
        raise NoAdviceError(" ".join(_instead_of_restarts(log)))
    return facts


_CATEGORIES = ({"static", "dynamic"}, {"eager", "cooperative"})


def _limits(log: LogFacts, only: Sequence[str]) -> tuple[str, ...]:
    """Return what may be advised: by an option, else as far as the client library has it."""
    library = log.library
    own = []
    if library is not None and not library.has_static:
        own.append("dynamic")
    if library is not None and library.keeps:
        strategy = log.facts.get("strategy", library.strategy)
        own.append("eager" if strategy == BOTH else strategy)
    chosen = set(only)
    free = [word for word in own if not any(word in each and each & chosen for each in _CATEGORIES)]
    return (*only, *free)


def _instead_of_restarts(log: LogFacts) -> Iterator[str]:
    """Tell what a log shows that has no restart with its length."""
    if log.shared:
        yield (
            f"several processes of group {log.group} take {', '.join(log.shared)} from each other "
            "(fencepost audit names them), so the log shows no restart. First give each process "
            "its own group.instance.id, or give the time of a restart with --restart-s."
        )
        return
    yield (
        f"the log shows no restart of group {log.group} with its length, and the session timeout "
        "depends on that."
    )
    yield from problem_words(log)
    yield from expired_words(log)
    if log.library is not None and not log.library.has_static:
        yield without_static(log.library)
    yield "For advice on the session, give the time of a restart with --restart-s."


def problem_words(log: LogFacts) -> Iterator[str]:
    """Yield the problems of the group that come before any setting, in the audit's words."""
    for row in log.problems[:_MOST_PROBLEMS]:
        yield f"{row['says']} {row['remedy']} [{row['place']}]"
    if (more := len(log.problems) - _MOST_PROBLEMS) > 0:
        yield f"And {plural(more, 'more problem')}: see fencepost audit."


def expired_words(log: LogFacts) -> Iterator[str]:
    """Yield what members that expired need, and what the log doesn't show of them."""
    if log.lost:
        yield (
            "Its last member expired, and none joined before the log ends: start the process again."
        )
    waited = [row for row in log.rebalances if row.get("expired_ms") == 0]
    if waited:
        yield (
            f"{plural(len(waited), 'new member')} waited for the session of a dead predecessor to "
            "end: a static member takes its place at once, with any session timeout."
        )
    if not log.expired or log.back_s is None:
        return
    session = "their silence (at least today's session timeout)"
    enough = ""
    if log.session_s is not None:
        session = f"today's {1000 * log.session_s:.0f}"
        enough = f", so above {1000 * (log.session_s + log.back_s):.0f}"
    yield (
        f"{plural(log.expired, 'member')} expired, and came back up to {log.back_s:.1f} s later. "
        "To keep the place of a static member, or of a live process, the session timeout must be "
        f"longer than {session} plus these {1000 * log.back_s:.0f} ms{enough}. The log doesn't "
        "show whether their processes were alive. If they were, check why they were silent."
    )


def _at_end(row: Report | None) -> dict[str, Any]:
    """Return the form and session of members, where the log shows it; none in older audits."""
    if row is None:
        return {}
    facts: dict[str, Any] = {}
    if (row["static"] or row["dynamic"]) and not (row["static"] and row["dynamic"]):
        facts["is_static"] = bool(row["static"])
    if row["session_ms"] is not None:
        facts["session_s"] = row["session_ms"] / 1000
    if row["assignors"] and all(name in ASSIGNORS for name in row["assignors"]):
        facts["strategy"] = _strategy(row["assignors"])
    if row.get("library"):
        facts["library"] = row["library"]
    if row.get("most_members"):
        facts["members"] = row["most_members"]
    return facts


def _strategy(assignors: Sequence[str]) -> str:
    """Return the strategy of assignors; BOTH: eager, and another could follow at once."""
    strategy = strategy_of(tuple(assignors))
    is_both = strategy == "eager" and any(ASSIGNORS[name].is_cooperative for name in assignors)
    return BOTH if is_both else strategy


def _lived(row: Report, thrown: Sequence[Report]) -> bool:
    """Tell if a rebalance is about a process that was removed while it lived."""
    return any(
        each["at_ms"] - each["silent_ms"] - _NEAR_MS <= row["start_ms"] <= each["at_ms"] + _NEAR_MS
        for each in thrown
    )


def _thinned(restarts_s: Sequence[float]) -> list[float]:
    """Take at most twenty of the times, evenly, so that a line can name them."""
    count = len(restarts_s)
    if count <= _MOST_VALUES:
        return [round(each, 3) for each in restarts_s]
    places = [round(n * (count - 1) / (_MOST_VALUES - 1)) for n in range(_MOST_VALUES)]
    return [round(restarts_s[place], 3) for place in places]


def _only_group(report: Report) -> str:
    names = _names(report)
    if len(names) != 1:
        raise AdviceError(
            f"which group? Give --group; the log has {_groups(report)}{_notable(report)}"
        )
    return names[0]


def _notable(report: Report) -> str:
    """Name the groups that have a problem, and those that have restarts, on which advice rests."""
    restarts = report.get("restarts", {"rows": ()})["rows"]
    parts = []
    for sign, rows in (
        ("a problem", report.get("problems", ())),
        ("restarts with their length", restarts),
    ):
        names = sorted({row["group"] for row in rows})
        if names:
            be = "has" if len(names) == 1 else "have"
            parts.append(f"{first_names(names, _MOST_NAMED)} {be} {sign}")
    return f" ({'; '.join(parts)})" if parts else ""


def _names(report: Report) -> list[str]:
    """List the groups to which something happened; if none has a rebalance, all."""
    tables = ("rebalances", "life_lines")
    names = {row["group"] for name in tables for row in report[name]["rows"]}
    return sorted(names or {row["group"] for row in report.get("at_end", ())})


def _groups(report: Report) -> str:
    names = _names(report)
    if not names:
        return "none that rebalances"
    return first_names(names, _MOST_NAMED)
