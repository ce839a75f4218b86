"""The options of whoever reads and judges request logs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any

import click

from fencepost.conformance.targets.target_registry import DEFAULT_REVISION, find_revision
from fencepost.model.coordinator import CONFIG_DEFAULTS
from fencepost.model.suggestions import nearest
from fencepost.traces.audit.audit_results import UNKNOWN, VIOLATED
from fencepost.traces.audit.audit_settings import Gaps, LogOptions
from fencepost.traces.files.bounded import LINE_LIMIT
from fencepost.traces.logs.log_dates import DEFAULT_PATTERN, DatePatternError

EXITS = {VIOLATED: 1, UNKNOWN: 2}
"""Exit codes by the outcome of an audit; 1 wins over 2."""

_SUCH = {
    "--skew": "broker-2=150",
    "--config": "group.initial.rebalance.delay.ms=3000",
}
_OPTIONS = (
    click.option("--group", "groups", multiple=True, help="Only this group (may be repeated)."),
    click.option(
        "--revision", default=DEFAULT_REVISION, show_default=True, help="The revision that judges."
    ),
    click.option(
        "--gaps",
        type=click.Choice([g.value for g in Gaps]),
        default=Gaps.DEFAULT.value,
        show_default=True,
        help="Which requests may be missing: none; joins and syncs without an answer; any.",
    ),
    click.option(
        "--lag",
        "lag_ms",
        type=click.IntRange(min=1),
        default=500,
        show_default=True,
        help="How late a broker may handle a request or a timer, or date a line, in ms.",
    ),
    click.option(
        "--config",
        "config",
        multiple=True,
        metavar="KEY=MS",
        help="A setting of the broker, by Kafka's name (may be repeated).",
    ),
    click.option(
        "--skew",
        multiple=True,
        metavar="BROKER=MS",
        help="How far a broker's clock is ahead (may be repeated).",
    ),
    click.option(
        "--date-pattern",
        default=DEFAULT_PATTERN,
        show_default=True,
        help="The date pattern of the log, as of log4j or strptime.",
    ),
    click.option(
        "--timezone", default="UTC", show_default=True, help="The time zone of the log's dates."
    ),
    click.option(
        "--line-limit",
        type=click.IntRange(min=1),
        default=LINE_LIMIT,
        show_default=True,
        help="Pass over lines of more bytes.",
    ),
)


def log_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command with these options, called with `told`, a LogOptions."""

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
        told = LogOptions(revision, gaps, lag_ms, *numbers, *dates, groups, line_limit)
        try:
            told.dates()
        except DatePatternError as error:
            raise click.UsageError(str(error)) from error
        return command(*args, told=told, **options)

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
        type=click.IntRange(1, 10_000),
        default=default,
        show_default=True,
        help="Divide the groups into so many tasks.",
    )


def _pairs(name: str, values: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """`KEY=NUMBER` options.  Raises click.UsageError."""
    for value in values:
        key, equals, number = value.rpartition("=")
        if not equals or not key or not number.lstrip("-").isdigit():
            raise click.UsageError(f"{name} {value!r} is not KEY=NUMBER, such as {_SUCH[name]}")
        yield key, int(number)
