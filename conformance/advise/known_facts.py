"""Collect the facts about a group: from options, from logs, or assumed.

Each fact has an option and the sentence that is printed where it is assumed.  Logs show restart
times, rebalances, silences, and how often things happen.  The source is the operator's report of an
audit: of its JSON, or of logs that are audited here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from fencepost.conformance.simulate.deployment_scenario import (
    RESUME_S,
    Duration,
    Spread,
    longest_s,
    quantiles_s,
    strategy_of,
)
from fencepost.model.assignors.assignors import ASSIGNORS
from fencepost.model.bad_input import BadInputError
from fencepost.traces.audit.audit_settings import LogOptions
from fencepost.traces.audit.log_audit import audit_log
from fencepost.traces.audit.server_log_audit import audit_server_log
from fencepost.traces.files.bounded import DocumentError, read_json
from fencepost.traces.logs.log_files import LogFileError
from fencepost.traces.logs.request_log import RequestLog
from fencepost.traces.logs.server_log import LogKind, ServerLog, common_kind, files_in
from fencepost.traces.operations.operator_rows import GroupKind, Remedy
from fencepost.traces.operations.operator_words import operator_json

WEEK_S = 7 * 24 * 3600
BEATS = 3
"""A session must survive two heartbeats that are lost."""
SESSIONS_S = (6.0, 1800.0)
"""The shortest and the longest that brokers allow by default."""
HEARTBEAT_S = 3.0
"""The heartbeat interval of Kafka's clients where nothing is set."""
_LONGEST_MESSAGES_S = 0.03
"""Ten of a process that starts and joins, each of which takes up to 3 ms, as in the simulator."""
TODAY = frozenset({"session_s", "is_static", "strategy"})
"""Facts about today's settings; where none is given, the group is new."""


class AdviceError(BadInputError):
    """No advice can be given.  `str()` names the value and the remedy."""


@dataclass(frozen=True, slots=True)
class Form:
    """A form of members: static or dynamic, eager or cooperative."""

    is_static: bool
    strategy: str

    def __str__(self) -> str:
        return f"{'static' if self.is_static else 'dynamic'}+{self.strategy}"


FORMS = tuple(
    Form(is_static, strategy)
    for is_static in (False, True)
    for strategy in ("eager", "cooperative")
)


class KnownGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group and what happens to it.  Durations are seconds, rates are per week.

    `topics`: partitions of each.  `at_a_time`: the processes that a deployment restarts at a time.
    `gap_s`: how long a partition may go without a consumer when a host dies; None: any time.
    `pause_s`: the longest silence of a process that lives.  `processing_s`: work on what one poll
    returned, at most.  `resume_s`: from when a member is given a partition until it reads it.
    `warmup_s`: how long a member works on a partition that is new to it before
    it keeps up: caches, state.  `crashes`: processes that die and are started again; `deaths`:
    hosts that die and don't come back.  `only`: what may be advised, such as "static"; where no
    membership or no strategy is named, any.  `session_s`, `is_static`, `strategy`: set today;
    `offers_both`: eager members also offer the cooperative assignor, as Java's do by default since
    3.0.  `keeps_heartbeat`: no other interval may be advised.  `is_new`: nothing is set yet, and
    Kafka's defaults are compared with.

    Raises AdviceError for what can't be.
    """

    restart_s: Duration
    members: int = 6
    topics: tuple[int, ...] = (24,)
    at_a_time: int = 1
    gap_s: float | None = None
    pause_s: float = 10.0
    processing_s: float = 0.0
    resume_s: float = RESUME_S
    warmup_s: float = 0.0
    deployments: float = 5.0
    crashes: float = 1.0
    deaths: float = 0.1
    heartbeat_s: float = HEARTBEAT_S
    keeps_heartbeat: bool = False
    session_s: float = 45.0
    is_static: bool = False
    strategy: str = "eager"
    offers_both: bool = False
    is_new: bool = False
    only: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check what the arithmetic needs."""
        for name in _DURATIONS_AND_RATES:
            option, value = FACTS[name].option, getattr(self, name)
            if isinstance(value, int | float) and not 0 <= value < math.inf:
                raise AdviceError(f"{option} can't be {value:g}: give 0 or more")
        if self.members < 2:
            raise AdviceError(
                f"in a group of {self.members} nobody could take over: give --members 2 or more"
            )
        if not self.topics or min(self.topics) < 1:
            wrong = min(self.topics, default="none")
            raise AdviceError(f"--partitions can't be {wrong}: give 1 or more")
        if not 1 <= self.at_a_time < self.members:
            raise AdviceError(
                f"--at-a-time {self.at_a_time} of {self.members} members: give 1 or more, and "
                "fewer than all, since nobody could take over"
            )
        if not 0 < self.heartbeat_s < self.session_s:
            raise AdviceError(
                f"--session-timeout-ms {self.session_s * 1000:g} is not longer than a heartbeat "
                f"interval of {self.heartbeat_s * 1000:g} ms (--heartbeat-interval-ms, more than "
                "0): every session would end"
            )
        if self.processing_s >= 300:
            raise AdviceError(
                f"--processing-s {self.processing_s:g} is not less than max.poll.interval.ms, "
                "300 s: no member would stay in the group"
            )
        if longest_s(self.restart_s) <= 0:
            raise AdviceError("--restart-s can't be 0: give how long a restart takes")
        if self.warmup_s > WEEK_S:
            raise AdviceError(f"--warmup-s {self.warmup_s:g} is longer than a week: give less")
        if not self.deployments + self.crashes + self.deaths:
            raise AdviceError(
                "nothing happens to this group: give --deployments-per-week, --crashes-per-week "
                "or --deaths-per-week, more than 0"
            )
        times = quantiles_s(self.restart_s, _PARTS)
        rollout_s = self.waves * sum(times) / len(times)
        if self.deployments * rollout_s > WEEK_S:
            raise AdviceError(
                f"{self.deployments:g} rollouts that take {rollout_s:,.0f} s each don't fit in a "
                "week: give a lower --deployments-per-week"
            )

    @property
    def form(self) -> Form:
        """Return the form of the members today."""
        return Form(self.is_static, self.strategy)

    @property
    def partitions(self) -> int:
        """Count the partitions of all topics."""
        return sum(self.topics)

    @property
    def waves(self) -> int:
        """Count the turns in which a deployment restarts all processes; the last may be smaller."""
        return -(-self.members // self.at_a_time)

    @property
    def forms(self) -> tuple[Form, ...]:
        """List the forms that may be advised."""
        return tuple(
            form
            for form in FORMS
            if self._may_be("static" if form.is_static else "dynamic", ("static", "dynamic"))
            and self._may_be(form.strategy, ("eager", "cooperative"))
        )

    def _may_be(self, word: str, others: tuple[str, ...]) -> bool:
        named = set(self.only) & set(others)
        return not named or word in named

    @property
    def shortest_s(self) -> float:
        """Return the shortest allowed session that outlasts lost heartbeats and silences."""
        return max(BEATS * self.heartbeat_s, self.pause_s + self.heartbeat_s, SESSIONS_S[0])

    @property
    def longest_s(self) -> float:
        """Return the longest session with which a death is noticed within the tolerated gap."""
        if self.gap_s is None:
            return SESSIONS_S[1]
        left_s = self.gap_s - self.heartbeat_s - self.processing_s - self.reading_s
        return min(left_s, SESSIONS_S[1])

    @property
    def reading_s(self) -> float:
        """Return the longest time of messages, and of a member until it reads its partitions."""
        return _LONGEST_MESSAGES_S + self.resume_s

    @property
    def partition_share(self) -> float:
        """Return the mean number of partitions of a member."""
        return self.partitions / self.members


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of a group.

    `option`: of `fencepost advise`; `assumption`: the sentence where it is assumed, "" for none.
    """

    option: str
    assumption: str = ""


FACTS = {
    "restart_s": Fact("--restart-s"),
    "members": Fact("--members", "{} members"),
    "topics": Fact("--partitions", "{} partitions, of one topic"),
    "at_a_time": Fact("--at-a-time", "a deployment restarts {} process at a time"),
    "gap_s": Fact("--tolerated-gap-s"),
    "pause_s": Fact(
        "--longest-pause-s", "a process that lives is never silent for longer than {:g} s"
    ),
    "processing_s": Fact("--processing-s", "work on what one poll returned takes up to {:g} s"),
    "resume_s": Fact(
        "--resume-s",
        "a member reads a partition {:g} s after it was assigned, as in real bounces",
    ),
    "warmup_s": Fact(
        "--warmup-s", "a member needs {:g} s to warm up for a partition that is new to it"
    ),
    "deployments": Fact("--deployments-per-week", "a deployment {:g} times in a week"),
    "crashes": Fact(
        "--crashes-per-week", "a process that dies and is started again, {:g} times in a week"
    ),
    "deaths": Fact(
        "--deaths-per-week", "a host that dies and doesn't come back, {:g} times in a week"
    ),
    "heartbeat_s": Fact(
        "--heartbeat-interval-ms", "to compare with, a heartbeat interval of {:g} s"
    ),
    "session_s": Fact("--session-timeout-ms", "to compare with, a session timeout of {:g} s"),
    "is_static": Fact("--static, --dynamic", "to compare with, {} members"),
    "strategy": Fact(
        "--strategy",
        "to compare with, members that offer both assignors and rebalance eagerly, as Java's do by "
        "default since 3.0",
    ),
    "only": Fact("--only"),
}
"""All facts, in the order in which assumptions are printed."""
_DURATIONS_AND_RATES = (
    "gap_s",
    "pause_s",
    "processing_s",
    "resume_s",
    "warmup_s",
    "deployments",
    "crashes",
    "deaths",
)
BOTH = "both"
"""Value of today's strategy where eager members offer the cooperative assignor, too."""
_PARTS = 100
"""Number of parts into which restart times are divided, to know their mean."""


def known_group(facts: dict[str, Any]) -> KnownGroup:
    """Make a group of plain values; those that are None are assumed.  Raises AdviceError.

    A session no longer than Kafka's heartbeat interval comes with a shorter heartbeat interval.
    """
    values = {name: value for name, value in facts.items() if value is not None}
    values["is_new"] = not TODAY & values.keys()
    values["keeps_heartbeat"] = "heartbeat_s" in values
    values["offers_both"] = values.get("strategy", BOTH) == BOTH
    if values["offers_both"]:
        values["strategy"] = "eager"
    if 0 < values.get("session_s", math.inf) <= HEARTBEAT_S:
        values.setdefault("heartbeat_s", values["session_s"] / BEATS)
    if "restart_s" not in values:
        raise AdviceError(
            "how long does a restart take? Give --restart-s, or a log in which members restart"
        )
    if "topics" not in values:
        values["topics"] = (4 * values.get("members", 6),)
    try:
        restart_s = msgspec.convert(values["restart_s"], Duration)
    except msgspec.ValidationError as error:
        raise AdviceError(f"--restart-s: {str(error).partition(' - at')[0]}") from None
    return KnownGroup(**{**values, "restart_s": restart_s})


_ALWAYS = (
    "the next processes of a rollout are restarted when the group is balanced",
    "what fencepost simulate assumes: messages of 2 ms, a broker that never fails",
)


def assumptions(known: KnownGroup, inputs: Sequence[str]) -> list[str]:
    """Write the assumptions; `inputs`: the facts of options, or of a log."""
    sentences = []
    if not isinstance(known.restart_s, Spread):
        sentences.append(f"every restart takes {known.restart_s:g} s (--restart-p95-s)")
    for name, fact in FACTS.items():
        if name in inputs or not fact.assumption:
            continue
        value = getattr(known, name)
        if name == "is_static":
            value = "static" if value else "dynamic"
        elif name == "topics":
            value = known.partitions
        sentences.append(f"{fact.assumption.format(value)} ({fact.option})")
    return [*sentences, *_ALWAYS]


_FORMATS = frozenset({"fencepost-audit", "fencepost-server-log-audit"})
A_DAY_S = 24 * 3600
_MOST_VALUES = 20
_NEAR_MS = 1000

Report = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LogFacts:
    """The facts of one group in a log.

    `restarts_s`: how long members were away that came back, where a rebalance tells; `free`: static
    members that came back without one; `rebalances`: all rows of the group; `left_out`: true if the
    report counts more rows than it lists; `session_s`: of members, if it shows; `shared`: instance
    ids that several processes take from each other; `not_polled`: rebalances of live processes that
    did not call poll(), `poll_ms`: a max.poll.interval.ms that would have avoided them, if it
    shows; `expired`: members that expired, of which it isn't known how long they were silent.
    """

    group: str
    lasted_s: float
    restarts_s: tuple[float, ...]
    free: int
    rebalances: tuple[Report, ...]
    left_out: bool
    session_s: float | None
    shared: tuple[str, ...]
    not_polled: int
    poll_ms: int | None
    expired: int
    facts: Mapping[str, Any]

    def avoided(self, form: Form, session_s: float) -> list[Report]:
        """List the rebalances that would not have been with these settings."""
        return [row for row in self.rebalances if _is_avoided(row, form, session_s)]


def _is_avoided(row: Report, form: Form, session_s: float) -> bool:
    away_ms = row["away_ms"]
    if away_ms is not None and away_ms >= session_s * 1000:
        return False
    return form.is_static and row["remedy"] in {Remedy.STATIC.value, Remedy.LONGER_SESSION.value}


def read_reports(files: Sequence[Path], group: str | None) -> Report:
    """Read the operator's report of logs, or of the one JSON of an audit.  Raises AdviceError.

    Its `unread_lines`: the number of lines about groups that were not understood.
    """
    if documents := [file for file in files if file.suffix == ".json"]:
        if len(files) > 1:
            raise AdviceError(f"{documents[0]}: give the JSON of one audit, and nothing beside it")
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
    unread = sum(each["lines"] for each in document.get("unread", ()))
    return {**report, "unread_lines": unread}


def log_facts(report: Report, group: str | None) -> LogFacts:
    """Collect the facts of a group; without a name, of the only one.  Raises AdviceError."""
    group = group or _only_group(report)
    rows = [row for row in report["rebalances"]["rows"] if row["group"] == group]
    thrown = [row for row in report["thrown_out"]["rows"] if row["group"] == group]
    silences = thrown + [row for row in report["near_timeouts"]["rows"] if row["group"] == group]
    lines = [row for row in report["life_lines"]["rows"] if row["group"] == group]
    if not rows and not lines:
        raise AdviceError(f"the log shows nothing of a group {group!r}; it has {_groups(report)}")
    _refuse_connect(report, group)
    lasted_s = ((report["until_ms"] or 0) - (report["from_ms"] or 0)) / 1000
    restarts = _restarts(report, group, rows, thrown)
    restarts_s = tuple(sorted(max(row["away_ms"], 1) / 1000 for row in restarts))
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
    known = [*silences, *restarts] if "restarts" in report else silences
    sessions = [row["session_ms"] / 1000 for row in known if row["session_ms"]]
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
    polls = [row["remedy"] == Remedy.LONGER_POLL.value for row in rows]
    late = [
        problem["longest_ms"]
        for problem in report.get("problems", ())
        if problem["kind"] == "poll-timeout" and problem["group"] == group
        if problem.get("longest_ms")
    ]
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
        sum(polls),
        max(late, default=None),
        sum(row["away_ms"] is None and bool(row.get("expired_ms")) for row in rows),
        facts,
    )


def _restarts(
    report: Report, group: str, rows: Sequence[Report], thrown: Sequence[Report]
) -> Sequence[Report]:
    """List the restarts of a group, each once; older audits have them in their rebalances only."""
    if "restarts" in report:
        return [row for row in report["restarts"]["rows"] if row["group"] == group]
    return [row for row in rows if row["away_ms"] is not None and not _lived(row, thrown)]


def _refuse_connect(report: Report, group: str) -> None:
    """Raise AdviceError for a group of Connect workers, of which no setting here is true."""
    row = next((row for row in report.get("at_end", ()) if row["group"] == group), None)
    if row is None or row.get("kind") != GroupKind.CONNECT.value:
        return
    away = [
        (row["back_ms"] - row["at_ms"]) / 1000
        for row in report["restarts"]["rows"]
        if row["group"] == group
    ]
    longest = f", here up to {max(away):.1f} s" if away else ""
    raise AdviceError(
        f"{group} is a group of Connect workers, which can't be static members: set "
        "scheduled.rebalance.max.delay.ms (300000 by default) longer than a worker is away"
        f"{longest}; advise is for consumers"
    )


def facts_of(log: LogFacts | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Join the facts of options, which go first, and of a log.  Raises AdviceError."""
    facts = {**(log.facts if log else {}), **options}
    if log is not None and "restart_s" not in facts and log.shared:
        raise AdviceError(
            f"several processes of group {log.group} take {', '.join(log.shared)} from each other "
            "(fencepost audit tells which), so the log shows no restart: give each process its own "
            "group.instance.id first, or say with --restart-s how long a restart takes"
        )
    if log is not None and "restart_s" not in facts and log.not_polled:
        enough = "" if log.poll_ms is None else f" above {log.poll_ms}"
        raise AdviceError(
            f"{log.not_polled} rebalances of group {log.group} are of live processes that did not "
            f"call poll(): set max.poll.interval.ms{enough}, or process fewer records for each "
            "poll. That is no restart; say with --restart-s how long one takes"
        )
    if log is not None and "restart_s" not in facts and log.expired:
        raise AdviceError(
            f"{log.expired} rebalances of group {log.group} are of members that expired. How long "
            "they were silent, and if they were restarted, server.log doesn't show: give "
            "--restart-s, or a request log"
        )
    return facts


def _at_end(report: Report, group: str) -> dict[str, Any]:
    """Return the form and session of members, where the log shows it; none in older audits."""
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
