"""Write an advice as JSON, from types of which its schema is derived.

Durations are seconds, rates are per week, and figures are rounded.  Fields that older documents
lack are not required.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from fencepost.conformance.advise.advice import (
    Advice,
    Bounce,
    CurvePoint,
    SettingCost,
    Turn,
    bounce_words,
    deployment_s,
    longest_crash_s,
    longest_death_s,
    longest_restart_s,
    migration,
    restart_option,
    way_back,
    way_there,
)
from fencepost.conformance.advise.advice_report import (
    advice_verdict,
    avoided_s,
    before_words,
    head_words,
    log_words,
    point_note,
    reasons,
    settings,
)
from fencepost.conformance.advise.known_facts import FACTS, assumptions
from fencepost.conformance.advise.log_facts import LogFacts
from fencepost.traces.files.document_schema import Document, DocumentSchema, Seconds

Number = Annotated[float, Meta(ge=0)]
Words = tuple[str, ...]


def _word(*words: str) -> Meta:
    return Meta(extra_json_schema={"enum": list(words)})


Strategy = Annotated[str, _word("eager", "cooperative")]
Membership = Annotated[str, _word("static", "dynamic")]


class KnownRow(Document, frozen=True, kw_only=True):
    """All that the arithmetic takes, given or assumed: the fields of `KnownGroup`."""

    restart_s: Number | dict[str, Any]
    members: int
    topics: Annotated[tuple[Annotated[int, Meta(ge=1)], ...], Meta(min_length=1)]
    at_a_time: Annotated[int, Meta(ge=1)]
    gap_s: float | None
    pause_s: Seconds
    processing_s: Seconds
    resume_s: float
    warmup_s: Seconds
    deployments: Number
    crashes: Number
    deaths: Number
    heartbeat_s: Annotated[Seconds, Meta(description="Today's; settings have the advised one.")]
    keeps_heartbeat: bool | UnsetType = UNSET
    session_s: Seconds
    is_static: bool
    strategy: Strategy
    offers_both: bool | UnsetType = UNSET
    is_new: bool | UnsetType = UNSET
    only: tuple[Annotated[str, _word("static", "dynamic", "eager", "cooperative")], ...]
    library: str | UnsetType = UNSET
    partitions: Annotated[int, Meta(description="Those of all topics.")]


class DeploymentRow(Document, frozen=True):
    """A deployment that gives all processes other settings."""

    words: str
    rebalances: Number
    lost_partition_s: Seconds
    simulate: str


class TurnRow(Document, frozen=True):
    """From a value of an option on, another form is advised."""

    option: str
    value: Number
    direction: Annotated[str, _word("upwards", "downwards")]
    form: str
    instead_of: str


class WeeklyEvent(Document, frozen=True):
    """An event, and the costs of one.

    `simulate`: the line that simulates it, the mean of its seeds is near the figure; empty where
    brokers don't allow the session by default.
    """

    event: Annotated[str, _word("deployment", "crash", "death")]
    per_week: Number
    rebalances: Number
    partitions_moved: Number
    unavailable_partition_s: Seconds
    simulate: str


class SettingRow(Document, frozen=True, kw_only=True):
    """A form of the group at a session timeout, and the costs of a week.

    `longest_…`: how long a partition waits at most, unless rebalances overlap, after a host died, a
    process was stopped and started again, or crashed and was started again.  `deployment_lasts_s`:
    on average.  `weekly_lost_partition_s`: not consumed, or by a member that warms up.
    """

    membership: Membership
    strategy: Strategy
    session_timeout_ms: int
    heartbeat_interval_ms: int | UnsetType = UNSET
    longest_after_death_s: Seconds | UnsetType = UNSET
    longest_after_restart_s: Seconds | UnsetType = UNSET
    longest_after_crash_s: Seconds | UnsetType = UNSET
    deployment_lasts_s: Seconds | UnsetType = UNSET
    weekly_rebalances: Number
    weekly_partitions_moved: Number
    weekly_unavailable_partition_s: Seconds
    weekly_lost_partition_s: Seconds
    events: tuple[WeeklyEvent, ...]


class PointRow(Document, frozen=True):
    """A session timeout.

    `detection_s`: until the partitions of a dead host are consumed again, on average.  `why_not`:
    why it is not advised, or empty.  `note`: its note in the table.  `weekly_lost_partition_s`: by
    form, such as static+eager.
    """

    session_timeout_ms: int
    restarts_that_outlive_it: Annotated[float, Meta(ge=0, le=1)]
    detection_s: Seconds
    longest_detection_s: Seconds
    why_not: str
    note: str
    weekly_lost_partition_s: dict[str, Seconds]


class LogRow(Document, frozen=True, kw_only=True):
    """A group in a log.

    `restarts_s`: how long members were away that came back, where a rebalance shows it.
    `static_restarts_s`: the same of static members without a rebalance, where the log shows it.
    `avoided_s`: how long the avoided rebalances took, null if unknown.  `is_cut`:
    the audit keeps fewer rows than there were.  `session_s`: the session timeout in the log;
    `unused_session_s`: where an option gives another one.  `shared_instance_ids`: those that
    several processes take from each other.
    """

    group: str
    lasted_s: Seconds
    restarts_s: tuple[Seconds, ...]
    restarts_without_rebalance: int
    static_restarts_s: tuple[Seconds, ...] | UnsetType = UNSET
    rebalances: int
    rebalances_avoided: int
    avoided_s: Seconds | None
    places: Words
    is_cut: bool
    session_s: float | UnsetType | None = UNSET
    unused_session_s: float | None
    shared_instance_ids: Words | UnsetType = UNSET
    words: Words


class AdviceDocument(Document, frozen=True, kw_only=True):
    """An advice.

    `verdict`: one line with every setting that changes, and the gain.  `given`: facts that were
    given or are from the log.  `settings`: lines of a consumer's configuration.  `compared_with`:
    what `today` is.  `conflict`: wishes that no session timeout fulfils together, or empty.
    `migration`: the steps from `today` to `advised`, in words, empty where nothing changes; `way`,
    `way_back`: their deployments.  `as_good`: forms that lose as much, within a tenth.
    `static_alternative`: static members with the shortest safe session that no more than one
    restart in twenty exceeds.  `heartbeat_alternative`: the best with the other heartbeat interval,
    where that makes a difference.
    """

    schema: Literal["advice-1"] = "advice-1"
    verdict: str | UnsetType = UNSET
    known: KnownRow
    given: Words
    restart_option: str
    assumed: Words
    settings: Words
    words: Words
    compared_with: Annotated[str, _word("today", "today, session not known", "Kafka's defaults")]
    conflict: str
    migration: Words
    way: tuple[DeploymentRow, ...] | UnsetType = UNSET
    way_back: tuple[DeploymentRow, ...] | UnsetType = UNSET
    turns: tuple[TurnRow, ...]
    as_good: Words
    advised: SettingRow
    today: SettingRow
    forms: tuple[SettingRow, ...]
    static_alternative: SettingRow | UnsetType | None = UNSET
    heartbeat_alternative: SettingRow | UnsetType | None = UNSET
    curve: tuple[PointRow, ...]
    log: LogRow | None


SCHEMA = DocumentSchema(
    "advice-1",
    "What to set for a consumer group",
    "The output of fencepost advise --json. Times that end in _partition_s are summed over "
    "partitions.",
    AdviceDocument,
    {
        "KnownRow": "known",
        "DeploymentRow": "deployment",
        "TurnRow": "turn",
        "WeeklyEvent": "event",
        "SettingRow": "setting",
        "PointRow": "point",
        "LogRow": "log",
    },
)


def advice_document(advice: Advice, log: LogFacts | None, inputs: Sequence[str]) -> AdviceDocument:
    """Make the document.  `inputs`: names of facts that were given, or are from the log."""
    request, other = advice.request, advice.other_beat
    known = msgspec.to_builtins(request) | {"partitions": request.partitions}
    document = AdviceDocument(
        known=KnownRow(**known),
        given=tuple(sorted(inputs)),
        restart_option=restart_option(request.restart_s),
        assumed=tuple(assumptions(request, inputs)),
        settings=tuple(settings(advice)),
        words=(
            *head_words(advice, log),
            *reasons(advice, inputs, log),
        ),
        compared_with=before_words(inputs),
        conflict=advice.conflict,
        migration=tuple(migration(advice)),
        way=tuple(_bounce(advice, bounce) for bounce in way_there(advice)),
        way_back=tuple(_bounce(advice, bounce) for bounce in way_back(advice)),
        turns=tuple(map(_turn, advice.turns)),
        as_good=tuple(str(row.form) for row in advice.as_good),
        advised=_setting(advice.advised),
        today=_setting(advice.today),
        forms=tuple(map(_setting, advice.best)),
        static_alternative=None if advice.enough is None else _setting(advice.enough),
        heartbeat_alternative=None if other is None else _setting(other),
        curve=tuple(_point(advice, point, inputs) for point in advice.curve),
        log=None if log is None else _log(advice, log),
    )
    return msgspec.structs.replace(document, verdict=advice_verdict(document.plain()))


def _bounce(advice: Advice, bounce: Bounce) -> DeploymentRow:
    cost = bounce.cost
    lost_s = cost.lost_s(advice.request.warmup_s)
    return DeploymentRow(
        bounce_words(bounce, advice.request.client_library),
        round(cost.rebalances, 3),
        round(lost_s, 3),
        bounce.line,
    )


def _turn(turn: Turn) -> TurnRow:
    return TurnRow(
        FACTS[turn.name].option,
        round(turn.value, 3),
        "upwards" if turn.is_upwards else "downwards",
        str(turn.form),
        str(turn.instead_of),
    )


def _setting(setting: SettingCost) -> SettingRow:
    week, where = setting.week, (setting.known, setting.form, setting.session_s)
    return SettingRow(
        membership="static" if setting.form.is_static else "dynamic",
        strategy=setting.form.strategy,
        session_timeout_ms=round(setting.session_s * 1000),
        heartbeat_interval_ms=round(setting.heartbeat_s * 1000),
        longest_after_death_s=round(longest_death_s(setting.known, setting.session_s), 3),
        longest_after_restart_s=round(longest_restart_s(*where), 3),
        longest_after_crash_s=round(longest_crash_s(*where), 3),
        deployment_lasts_s=round(deployment_s(*where), 3),
        weekly_rebalances=round(week.rebalances, 3),
        weekly_partitions_moved=round(week.moved, 3),
        weekly_unavailable_partition_s=round(week.unavailable_s, 3),
        weekly_lost_partition_s=round(setting.lost_s, 3),
        events=tuple(
            WeeklyEvent(
                row.event,
                row.per_week,
                round(row.cost.rebalances, 3),
                round(row.cost.moved, 3),
                round(row.cost.unavailable_s, 3),
                row.line,
            )
            for row in setting.rows
        ),
    )


def _point(advice: Advice, point: CurvePoint, inputs: Sequence[str]) -> PointRow:
    return PointRow(
        round(point.session_s * 1000),
        round(point.outlives, 6),
        round(point.detection_s, 3),
        round(point.longest_detection_s, 3),
        point.why_not,
        point_note(advice, point, inputs),
        {str(form): round(lost, 3) for form, lost in point.weekly.items()},
    )


def _log(advice: Advice, log: LogFacts) -> LogRow:
    avoided = log.avoided(advice.advised.form, advice.advised.session_s)
    return LogRow(
        group=log.group,
        lasted_s=round(log.lasted_s, 3),
        restarts_s=log.restarts_s,
        restarts_without_rebalance=log.free,
        static_restarts_s=log.free_s,
        rebalances=len(log.rebalances),
        rebalances_avoided=len(avoided),
        avoided_s=avoided_s(avoided),
        places=tuple(row["place"] for row in avoided),
        is_cut=log.left_out,
        session_s=log.session_s,
        unused_session_s=None if log.session_s == advice.request.session_s else log.session_s,
        shared_instance_ids=log.shared,
        words=tuple(log_words(advice, log)),
    )
