"""What logs show of a group: restart times, rebalances, silences, and how often things happen.

The source is the operator's report of an audit: of its JSON, or of logs that are audited here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.conformance.advise.known_facts import BOTH, WEEK_S, AdviceError, Form
from fencepost.conformance.simulate.member_settings import strategy_of
from fencepost.model.assignors.assignors import ASSIGNORS
from fencepost.traces.audit.audit_settings import LogOptions
from fencepost.traces.audit.log_audit import audit_log
from fencepost.traces.audit.server_log_audit import audit_server_log
from fencepost.traces.files.bounded import DocumentError, read_json
from fencepost.traces.logs.log_files import LogFileError
from fencepost.traces.logs.log_kind import LogKind, common_kind
from fencepost.traces.logs.request_log import RequestLog
from fencepost.traces.logs.server_log import ServerLog
from fencepost.traces.operations.operator_json import operator_json
from fencepost.traces.operations.operator_rows import Remedy

_FORMATS = frozenset({"fencepost-audit", "fencepost-server-log-audit"})
A_DAY_S = 24 * 3600
_MOST_VALUES = 20
_NEAR_MS = 1000

Report = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What a log shows of one group.

    `restarts_s`: how long members were away that came back, where a rebalance tells; `free`: static
    members that came back without one; `rebalances`: all rows of the group; `left_out`: whether the
    report has more rows than it tells; `session_s`: what members are set to, if it shows; `shared`:
    instance ids that several processes take from each other.
    """

    group: str
    lasted_s: float
    restarts_s: tuple[float, ...]
    free: int
    rebalances: tuple[Report, ...]
    left_out: bool
    session_s: float | None
    shared: tuple[str, ...]
    facts: Mapping[str, Any]

    def avoided(self, form: Form, session_s: float) -> list[Report]:
        """The rebalances that would not have been with these settings."""
        return [row for row in self.rebalances if _is_avoided(row, form, session_s)]


def _is_avoided(row: Report, form: Form, session_s: float) -> bool:
    away_ms = row["away_ms"]
    if away_ms is not None and away_ms >= session_s * 1000:
        return False
    return form.is_static and row["remedy"] in {Remedy.STATIC.value, Remedy.LONGER_SESSION.value}


def read_reports(files: Sequence[Path], group: str | None) -> Report:
    """The operator's report of logs, or of the one JSON of an audit.  Raises AdviceError."""
    if documents := [file for file in files if file.suffix == ".json"]:
        if len(files) > 1:
            raise AdviceError(f"{documents[0]}: give the JSON of one audit, and nothing beside it")
        return _read_json(documents[0])
    told = LogOptions()
    only = frozenset({group} if group else ())
    try:
        kind = common_kind(files)
        if kind is LogKind.SERVER:
            server_log = ServerLog(files, dates=told.dates())
            return operator_json(audit_server_log(server_log, only).report)
        if kind is LogKind.REQUESTS:
            log = RequestLog(files, dates=told.dates())
            requests = audit_log(log, told.settings(), only)
            return operator_json(requests.report)
    except LogFileError as error:
        raise AdviceError(str(error)) from None
    raise AdviceError(
        f"{files[0]} is {kind.value}: give a request log, server.log, or what audit --json printed"
    )


def _read_json(path: Path) -> Report:
    try:
        document = read_json(path)
    except DocumentError as error:
        raise AdviceError(str(error)) from None
    if not isinstance(document, dict) or document.get("format") not in _FORMATS:
        raise AdviceError(f"{path} is not the JSON of an audit: give what audit --json printed")
    report: Report = document["operator"]
    return report


def log_facts(report: Report, group: str | None) -> LogFacts:
    """What the report shows of a group; without a name, of the only one.  Raises AdviceError."""
    group = group or _only_group(report)
    rows = [row for row in report["rebalances"]["rows"] if row["group"] == group]
    thrown = [row for row in report["thrown_out"]["rows"] if row["group"] == group]
    silences = thrown + [row for row in report["near_timeouts"]["rows"] if row["group"] == group]
    lines = [row for row in report["life_lines"]["rows"] if row["group"] == group]
    if not rows and not lines:
        raise AdviceError(f"the log shows nothing of a group {group!r}; it has {_groups(report)}")
    lasted_s = ((report["until_ms"] or 0) - (report["from_ms"] or 0)) / 1000
    back = [row for row in rows if row["away_ms"] is not None and not _lived(row, thrown)]
    restarts_s = tuple(sorted(max(row["away_ms"], 1) / 1000 for row in back))
    facts: dict[str, Any] = {}
    if sizes := [row["members_after"] for row in rows if row["members_after"]]:
        facts["members"] = max(sizes)
    if restarts_s:
        facts["restart_s"] = {"values": _thinned(restarts_s)}
    if lines:
        facts["is_static"] = True
    facts |= _at_end(report, group)
    if silences:
        facts["pause_s"] = max(row["silent_ms"] for row in silences) / 1000
    sessions = [row["session_ms"] / 1000 for row in silences if row["session_ms"]]
    if sessions and "session_s" not in facts:
        facts["session_s"] = max(sessions)
    chains = report.get("chains", {"rows": ()})["rows"]
    shared = {row["instance_id"] for row in chains if row["group"] == group and row["ping_pong"]}
    if lasted_s >= A_DAY_S:
        weeks = lasted_s / WEEK_S
        expired = [row for row in rows if row["cause"] == "expiry" and not _lived(row, thrown)]
        gone = [row for row in expired if row["remedy"] == Remedy.NOTHING.value]
        bounces = [row for row in report["deployments"]["rows"] if row["group"] == group]
        facts |= {
            "deployments": round(len(bounces) / weeks, 3),
            "crashes": round((len(expired) - len(gone)) / weeks, 3),
            "deaths": round(len(gone) / weeks, 3),
        }
    free = sum(row["end"] == "replaced" and row["fenced_ms"] is None for row in lines)
    tables = ("rebalances", "thrown_out", "life_lines", "deployments", "near_timeouts")
    left_out = any(report[name]["count"] > len(report[name]["rows"]) for name in tables)
    return LogFacts(
        group,
        lasted_s,
        restarts_s,
        free,
        tuple(rows),
        left_out,
        facts.get("session_s"),
        tuple(sorted(shared)),
        facts,
    )


def facts_of(log: LogFacts | None, said: Mapping[str, Any]) -> dict[str, Any]:
    """What was said, which goes before what the log shows.  Raises AdviceError."""
    facts = {**(log.facts if log else {}), **said}
    if log is not None and "restart_s" not in facts and log.shared:
        raise AdviceError(
            f"several processes of group {log.group} take {', '.join(log.shared)} from each other "
            "(fencepost audit tells which), so the log shows no restart: give each process its own "
            "group.instance.id first, or say with --restart-s how long a restart takes"
        )
    return facts


def _at_end(report: Report, group: str) -> dict[str, Any]:
    """What members are and what they are set to, where the log shows it; none in older audits."""
    row = next((row for row in report.get("at_end", ()) if row["group"] == group), None)
    if row is None:
        return {}
    facts: dict[str, Any] = {}
    if (row["static"] or row["dynamic"]) and not (row["static"] and row["dynamic"]):
        facts["is_static"] = bool(row["static"])
    if row["session_ms"] is not None:
        facts["session_s"] = row["session_ms"] / 1000
    if row["assignors"] and all(name in ASSIGNORS for name in row["assignors"]):
        facts["strategy"] = _strategy(row["assignors"])
    return facts


def _strategy(assignors: Sequence[str]) -> str:
    """What the assignors allow; BOTH: they are eager, and another one could follow at once."""
    found = strategy_of(tuple(assignors))
    is_both = found == "eager" and any(ASSIGNORS[name].is_cooperative for name in assignors)
    return BOTH if is_both else found


def _lived(row: Report, thrown: Sequence[Report]) -> bool:
    """Whether a rebalance is about a process that was removed while it lived."""
    return any(
        each["at_ms"] - each["silent_ms"] - _NEAR_MS <= row["start_ms"] <= each["at_ms"] + _NEAR_MS
        for each in thrown
    )


def _thinned(restarts_s: Sequence[float]) -> list[float]:
    """At most twenty of the times, evenly taken, so that a line can name them."""
    count = len(restarts_s)
    if count <= _MOST_VALUES:
        return [round(each, 3) for each in restarts_s]
    places = [round(n * (count - 1) / (_MOST_VALUES - 1)) for n in range(_MOST_VALUES)]
    return [round(restarts_s[place], 3) for place in places]


def _only_group(report: Report) -> str:
    names = _names(report)
    if len(names) != 1:
        raise AdviceError(f"which group? Give --group; the log has {_groups(report)}")
    return names[0]


def _names(report: Report) -> list[str]:
    tables = ("rebalances", "life_lines")
    return sorted({row["group"] for name in tables for row in report[name]["rows"]})


def _groups(report: Report) -> str:
    names = _names(report)
    if not names:
        return "none that rebalances"
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(names[:12]) + more
