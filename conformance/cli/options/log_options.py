"""Define options that several commands share: of request logs, engines, scopes, restarts.

`--engine` and `--master`: one process or Spark, for many small jobs.  Scope options bound an
exploration.  `--restart-s`: seconds, or several of which each is equally likely.  `--partitions`:
of one topic, or of several.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fencepost.conformance.cli.options.common_options import AMOUNT, WEEK_S, Whole, is_on_line
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.simulate.deployment_scenario import BY_STRATEGY, RESUME_S
from fencepost.conformance.targets.own_revision import own_parts
from fencepost.conformance.targets.target_registry import DEFAULT_REVISION, find_revision
from fencepost.model.assignors.assignors import ASSIGNORS
from fencepost.model.coordinator import CONFIG_DEFAULTS
from fencepost.model.suggestions import nearest
from fencepost.properties.worlds.consumer_client import ACTS as CONSUMER_ACTS
from fencepost.properties.worlds.consumer_worlds import CONSUMER_WORLDS
from fencepost.properties.worlds.mixed_client import ACTS as MIXED_ACTS
from fencepost.properties.worlds.mixed_worlds import MIXED_WORLDS
from fencepost.properties.worlds.scope import (
    ALL_ACTS,
    CHECK_SCOPES,
    NamedScope,
    Scope,
    ScopeError,
    find_check_scope,
)
from fencepost.properties.worlds.worlds_by_protocol import worlds_of
from fencepost.traces.audit.audit_results import UNKNOWN, VIOLATED
from fencepost.traces.audit.audit_settings import Gaps, LogOptions
from fencepost.traces.files.bounded import LINE_LIMIT, pip_install
from fencepost.traces.logs.log_dates import DEFAULT_PATTERN, DatePatternError

if TYPE_CHECKING:
    from fencepost.traces.pipeline.corpus.shard_jobs import JobEngine


EXITS = {VIOLATED: 1, UNKNOWN: 2}
"""Exit codes by the outcome of an audit; 1 wins over 2."""

_WHOLE = re.compile(r"-?[0-9]+")
_MOST_MS = 2**31 - 1
_MOST_PARTITIONS = 1_000_000
_SUCH = {
    "--skew": "broker-2=150",
    "--config": "group.initial.rebalance.delay.ms=3000",
}
_OPTIONS = (
    click.option(
        "--group",
        "groups",
        multiple=True,
        help="Only this group (may be repeated).  Without it fencepost leaves its own groups out, "
        "fencepost-….",
    ),
    click.option(
        "--revision",
        default=DEFAULT_REVISION,
        show_default=True,
        help="The revision of the protocol that judges.",
    ),
    click.option(
        "--gaps",
        type=click.Choice([g.value for g in Gaps]),
        default=Gaps.DEFAULT.value,
        show_default=True,
        help="Requests that may be missing from the log: none; default: joins and syncs that were "
        "never answered, which leave no line; any: any join or leave.",
    ),
    click.option(
        "--lag",
        "lag_ms",
        type=Whole(1),
        default=500,
        show_default=True,
        help="Longest delay of a broker that takes a request, fires a timer or writes a line, in "
        "ms.  After more than 3 s without a line it may have stood still.",
    ),
    click.option(
        "--config",
        "config",
        multiple=True,
        metavar="KEY=MS",
        help="A setting of the broker, by Kafka's name (may be repeated), such as "
        "group.initial.rebalance.delay.ms=3000: then the first rebalance of an empty group is "
        "judged.",
    ),
    click.option(
        "--skew",
        multiple=True,
        metavar="BROKER=MS",
        help="The broker's clock is this far ahead (may be repeated), such as broker-2=150.",
    ),
    click.option(
        "--date-pattern",
        default=DEFAULT_PATTERN,
        show_default=True,
        help="Pattern of the log's dates, as in log4j or strptime.  server.log may have any usual "
        "form; give it for dates without a year or with an ambiguous day.",
    ),
    click.option(
        "--timezone", default="UTC", show_default=True, help="Time zone of dates without one."
    ),
    click.option(
        "--line-limit",
        type=Whole(1),
        default=LINE_LIMIT,
        show_default=True,
        help="Skip longer lines, in bytes.",
    ),
)


def log_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add these options to a command, which is called with `log_settings`, a LogOptions."""

    @wraps(command)
    def wrapped(
        *args: Any,
        groups: tuple[str, ...],
        revision: str,
        gaps: str,
        lag_ms: int,
        config: tuple[str, ...],
        skew: tuple[str, ...],
        date_pattern: str,
        timezone: str,
        line_limit: int,
        **options: Any,
    ) -> Any:
        find_revision(revision)
        numbers = dict(_pairs("--config", config)), dict(_pairs("--skew", skew))
        _refuse_unknown(numbers[0])
        dates = date_pattern, timezone
        log_settings = LogOptions(revision, gaps, lag_ms, *numbers, *dates, groups, line_limit)
        try:
            log_settings.dates()
        except DatePatternError as error:
            raise click.UsageError(str(error)) from error
        return command(*args, log_settings=log_settings, **options)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def _refuse_unknown(config: Mapping[str, int]) -> None:
    """Raise click.UsageError for a setting that no rule depends on."""
    for key in config:
        if key not in CONFIG_DEFAULTS:
            near = nearest(key, CONFIG_DEFAULTS)
            every = f"there are {', '.join(CONFIG_DEFAULTS)}"
            raise click.UsageError(
                f"--config {key!r} is no setting that a verdict depends on; "
                + (f"did you mean {near[0]}?" if near else every)
            )


def parts_option(default: int) -> Callable[[Any], Any]:
    """`--parts N`, for whoever deals groups out to tasks."""
    return click.option(
        "--parts",
        type=Whole(1, 10_000),
        default=default,
        show_default=True,
        help="Number of tasks into which the groups are divided.",
    )


def _pairs(name: str, values: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """`KEY=NUMBER` options.  Raises click.UsageError."""
    for value in values:
        key, equals, number = value.rpartition("=")
        if not equals or not key or not _WHOLE.fullmatch(number):
            raise click.UsageError(f"{name} {value!r} is not KEY=NUMBER, such as {_SUCH[name]}")
        if len(number) > len(str(-_MOST_MS)) or abs(int(number)) > _MOST_MS:
            raise click.UsageError(f"{name} {value!r}: give at most {_MOST_MS} ms, some 24 days")
        yield key, int(number)


engine_option = click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    help="This machine, or Spark (extra `spark`, Java 17).",
)
master_option = click.option(
    "--master",
    metavar="URL",
    help="Spark's master [default: local[*], or that of spark-submit].",
)


def check_master(engine: str, master: str | None) -> None:
    """Raise click.UsageError for a master that the engine doesn't use."""
    if engine == "local" and master is not None:
        raise click.UsageError(f"--master {master} needs --engine spark; give both")


@contextmanager
def engine_of(
    name: str, master: str | None, *, more_floors: tuple[str, ...] = ()
) -> Iterator[JobEngine]:
    """Yield an engine while the block lasts.

    `more_floors`: the floors of fencepost that its machines need beside those of the pipeline's
    jobs.

    Raises TargetUnavailableError with what is missing.
    """
    check_master(name, master)
    try:
        from fencepost.traces.pipeline.corpus.shard_jobs import LocalEngine  # noqa: PLC0415  (an extra)
        from fencepost.traces.pipeline.spark.spark import (  # noqa: PLC0415  (an extra)
            SparkEngine,
            SparkUnavailableError,
            spark_session,
        )
    except ImportError as error:
        raise TargetUnavailableError(
            f"Arrow can't be imported ({error}): {pip_install('corpus')}"
        ) from error
    if name == "local":
        yield LocalEngine()
        return
    try:
        with spark_session(master, more_floors=more_floors) as session:
            yield SparkEngine(session)
    except SparkUnavailableError as error:
        raise TargetUnavailableError(str(error)) from error


Command = TypeVar("Command", bound=Callable[..., Any])

_BOUNDS = {
    "clients": "How many clients.",
    "instances": "Instance ids, shared by the static clients.",
    "dynamic": "How many clients, the last ones, are dynamic.",
    "old": "How many clients, the first ones, use old versions.",
    "zombies": "How many static clients, the last ones, begin with an unknown member id.",
    "members": "The most members and pending ids at once.",
    "offers": "Subscriptions that a client can change between.",
    "generations": "The highest generation, where an earlier one may come back.",
    "delay_ticks": "group.initial.rebalance.delay.ms, in ticks of 3 s.",
    "places": "group.max.size.",
}


def scope_options(
    default: Scope | None = None, *, has_depth: bool = True
) -> Callable[[Command], Command]:
    """Return a decorator that adds the options; the command gets `scope` and `max_depth`.

    A missing option is as in `default`, or in the default scope of another protocol, if the
    revision is of that.  With no default `scope` is None where no option is set, and the rest is as
    in `Scope()` where one is.  `has_depth`: with the option `--max-depth`.
    """
    base = default or Scope()

    def decorate(command: Command) -> Command:
        @wraps(command)
        def wrapped(*args: Any, act: tuple[str, ...], **options: Any) -> Any:
            bounds = {name: options.pop(name) for name in _BOUNDS}
            bounds["acts"] = act or None
            bounds = {name: value for name, value in bounds.items() if value is not None}
            try:
                own = _base_of(options, base)
                scope = replace(own, **bounds) if bounds or default is not None else None
            except ScopeError as error:
                raise click.UsageError(str(error)) from error
            return command(*args, scope=scope, **options)

        for option in _options(base)[0 if has_depth else 1 :]:
            wrapped = option(wrapped)
        return wrapped  # type: ignore[return-value]

    return decorate


def _base_of(options: Mapping[str, Any], base: Scope) -> Scope:
    """Return the scope that options change: for another protocol than the base's, its default.

    The revision is that of `--revision` or `--explore`, or the first one of a comparison.
    """
    names = (options.get(name) for name in ("revision", "explore", "first"))
    name = next(filter(None, names), None)
    if name is None:
        return base
    revision = find_revision(name)
    same = revision.protocol.name == base.protocol
    return base if same else worlds_of(revision).default_scope


def bounds_on_line(context: click.Context) -> list[str]:
    """Return the scope options that the command line has."""
    return [
        "--" + name.replace("_", "-") for name in ("act", *_BOUNDS) if is_on_line(context, name)
    ]


question_option = click.option(
    "--question",
    metavar="NAME",
    help="Begin in this world of `check`.  One of WORLDS in your file, or: "
    f"{', '.join(named.name for named in CHECK_SCOPES)}.  Of the consumer protocol: "
    f"{', '.join(named.name for named in CONSUMER_WORLDS.check_scopes)}.  Of mixed groups: "
    f"{', '.join(named.name for named in MIXED_WORLDS.check_scopes)}.",
)


def chosen_scope(
    context: click.Context, scope: Scope, question: str | None, revision: str
) -> Scope:
    """Return the scope of a question, else the one of the options.  Raises UsageError for both."""
    if question is None:
        return scope
    if bounds := bounds_on_line(context):
        raise click.UsageError(f"--question has its own {bounds[0]}: leave one of them out")
    return find_question(question, revision).scope


def find_question(name: str, revision: str) -> NamedScope:
    """Return the world of this name, of the file's own or a shipped one.  Raises UsageError."""
    try:
        worlds = worlds_of(find_revision(revision))
        shipped = (*worlds.check_scopes, *worlds.rare_scopes)
        return find_check_scope(name, own_parts(revision).worlds, shipped)
    except KeyError as error:
        raise click.UsageError(str(error.args[0])) from None


def _options(base: Scope) -> list[Callable[[Any], Any]]:
    """Return the last one comes first in the help."""
    depth = click.option("--max-depth", type=Whole(0), metavar="N", help="The most steps.")
    acts = click.option(
        "--act",
        multiple=True,
        type=click.Choice(list(dict.fromkeys((*ALL_ACTS, *CONSUMER_ACTS, *MIXED_ACTS)))),
        metavar="KIND",
        help=f"An act that may happen (may be repeated) [default: {', '.join(base.acts)}]: "
        f"{', '.join(ALL_ACTS)}.  In the consumer protocol [default: "
        f"{', '.join(CONSUMER_WORLDS.default_scope.acts)}]: {', '.join(CONSUMER_ACTS)}.  In mixed "
        f"groups also: {', '.join(act for act in MIXED_ACTS if act not in CONSUMER_ACTS)}.",
    )
    numbers = [
        click.option(
            "--" + name.replace("_", "-"),
            type=Whole(),
            metavar="N",
            help=f"{about} [default: {_default(base, name)}]",
        )
        for name, about in reversed(_BOUNDS.items())
    ]
    return [depth, acts, *numbers]


def _default(base: Scope, name: str) -> str:
    number = getattr(base, name)
    return "no limit" if number is None else str(number)


_F = TypeVar("_F", bound=Callable[..., Any])


def restart_options(command: _F) -> _F:
    """Add --restart-s and --restart-p95-s; `restart_duration` takes their values."""
    last = click.option(
        "--restart-p95-s",
        type=AMOUNT,
        metavar="S",
        help="Time that one restart in twenty exceeds; --restart-s is then the median of a "
        "log-normal distribution.",
    )
    first = click.option(
        "--restart-s",
        callback=_seconds,
        metavar="S[,S...]",
        help="Time of a restart, from the end of a process until its successor polls; of several, "
        "each is equally likely.",
    )
    return first(last(command))


class _Strategy(click.types.StringParamType):
    """The strategy of a group, by its name or by the assignors that its members offer."""

    name = "strategy"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return eager, cooperative or both."""
        offered = frozenset(_JAVA_NAME.sub(_kafka_name, word) for word in value.split(","))
        strategy = _STRATEGIES.get(offered, "")
        if not strategy:
            remedy = "give eager, cooperative or both"
            if offered <= ASSIGNORS.keys():
                remedy += (
                    " (eager means range; a scenario file of `simulate` can name any `assignors`)"
                )
            self.fail(f"{value!r} is no strategy: {remedy}", param, ctx)
        return strategy


_JAVA_NAME = re.compile(r"(?:[\w.]+\.)?(\w+)Assignor")
_STRATEGIES = {
    frozenset(offered): name
    for name, assignors in BY_STRATEGY.items()
    for offered in ({name}, assignors)
}
STRATEGY = _Strategy()
"""The type of --strategy."""


def _kafka_name(java: re.Match[str]) -> str:
    """Return the protocol name of an assignor of Java: `cooperative-sticky`, `roundrobin`."""
    name = java[1].lower()
    return "cooperative-sticky" if name == "cooperativesticky" else name


resume_option = click.option(
    "--resume-s",
    type=AMOUNT,
    metavar="S",
    help="Time from the assignment of a partition until its member reads it; by default the median "
    f"of real deployments.  [default: {RESUME_S:g}]",
)


def restart_duration(
    restart_s: tuple[float, ...] | None, p95_s: float | None
) -> float | dict[str, object] | None:
    """Return the duration of a restart, as a scenario has it.  Raises click.UsageError."""
    if p95_s is not None:
        if restart_s is None or len(restart_s) > 1:
            raise click.UsageError("--restart-p95-s needs one --restart-s, the median")
        if p95_s < restart_s[0]:
            raise click.UsageError(
                f"--restart-p95-s {p95_s:g} is less than --restart-s {restart_s[0]:g}, the median: "
                "give what one restart in twenty exceeds"
            )
        return {"median": restart_s[0], "p95": p95_s}
    if restart_s is None or len(restart_s) == 1:
        return None if restart_s is None else restart_s[0]
    return {"values": restart_s}


def _seconds(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        seconds = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is no number of seconds; give one, or several as 4,5,9"
        ) from None
    for each in seconds:
        if not 0 <= each <= WEEK_S:
            raise click.BadParameter(
                f"{each:g} is no duration: give seconds, such as 5, at most {WEEK_S}, a week"
            )
    return seconds


def _counts(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        counts = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is no number of partitions; give one, or of several topics as 48,12"
        ) from None
    if max(counts) > _MOST_PARTITIONS:
        raise click.BadParameter(f"{max(counts)} partitions: give at most {_MOST_PARTITIONS}")
    return counts


partitions_option = click.option(
    "--partitions",
    callback=_counts,
    metavar="P[,P...]",
    help="Number of partitions of one topic, or of each of several, such as 48,12.",
)
