"""Define the options of all commands that take a target: suite, cases, listener, known failures.

A password comes from the environment or a file, never from the command line, which others on the
machine can read.  Options for a broker's listener are refused if no target is a broker at an
address.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from fencepost.conformance.cases.suites import CATALOGUE, NAMES
from fencepost.conformance.cli.options.common_options import (
    JOB_COUNT,
    REVISION,
    WEEK_S,
    Real,
    output_option,
)
from fencepost.conformance.runtime.toolchain.child import KEY_PASSWORD, PASSWORD
from fencepost.conformance.targets.target_registry import TargetOptions
from fencepost.conformance.targets.tcp.security import (
    MECHANISMS,
    PLAINTEXT,
    PROTOCOLS,
    Sasl,
    Security,
    SecurityOptionError,
    tls_context,
)
from fencepost.model.consumer.settings import BROKER_SETTINGS
from fencepost.model.coordinator import NAMED_VALUES, numbered
from fencepost.model.history.words import plural
from fencepost.model.table.table import Level
from fencepost.properties.judging.known_failures import KnownFailure
from fencepost.traces.files.known_failure_lists import of_no_use, read
from fencepost.traces.files.text_files import write_file

if TYPE_CHECKING:
    import ssl


Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class GivenSettings:
    """The values of `--set`: group settings, and a broker's other properties."""

    group: dict[str, int | None]
    other: dict[str, str]


def _settings(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> GivenSettings:
    del context, parameter
    settings = GivenSettings({}, {})
    for value in values:
        key, equals, text = value.partition("=")
        if not key or not equals:
            known = ", ".join(BROKER_SETTINGS)
            raise click.BadParameter(f"{value!r} is not KEY=VALUE; the group settings are {known}")
        if key not in BROKER_SETTINGS:
            settings.other[key] = text
            continue
        try:
            number = None if text == "none" else text if key in NAMED_VALUES else int(text)
            settings.group.update(numbered({key: number}))
        except ValueError as error:
            why = error if key in NAMED_VALUES else f"{text!r} is not a whole number"
            raise click.BadParameter(f"{value!r}: {why}") from None
    return settings


settings_option = click.option(
    "--set",
    "settings",
    multiple=True,
    callback=_settings,
    metavar="KEY=VALUE",
    help="Set a group setting, such as group.max.size=3, that a tcp:// target does not report, or "
    "any property of a kafka: or kfake that fencepost starts (may be repeated).  Other targets "
    "take none.",
)


suite_option = click.option(
    "--suite",
    type=click.Choice(NAMES),
    default=CATALOGUE,
    show_default=True,
    help="The suite of cases to run.",
)
jobs_option = click.option(
    "--jobs",
    type=JOB_COUNT,
    help="Cases to run in parallel; for exec: also the number of processes to start "
    "[default: as many as the target takes; exec: 2].",
)
revision_of_target_option = click.option(
    "--revision",
    type=REVISION,
    metavar="R",
    help="The revision that judges; `consumer` is that of the consumer protocol for the target, "
    "`mixed` that of groups with members of both protocols, `streams` that of streams groups "
    "[default: kafka-4; for kafka:V the revision of that release].",
)


def _file(name: str, help_text: str) -> Callable[[Any], Any]:
    kind = click.Path(exists=True, dir_okay=False, path_type=Path)
    return click.option(name, type=kind, metavar="FILE", help=help_text)


_OPTIONS = (
    click.option(
        "--remote",
        is_flag=True,
        help="Connect also to a broker on another machine, and to all brokers that it names.",
    ),
    settings_option,
    click.option(
        "--adapter-timeout",
        "grace_s",
        type=Real(0, WEEK_S, positive=True),
        metavar="SECONDS",
        help="Seconds in which an exec: adapter must reply to `hello`, and to other commands in "
        "addition to their `ms` [default: 10].",
    ),
    click.option(
        "--security-protocol",
        type=click.Choice(PROTOCOLS),
        default=PROTOCOLS[0],
        show_default=True,
        help="The protocol of the listener of a tcp:// target.",
    ),
    _file("--tls-ca", "Trust these authorities, a PEM file [default: those of the system]."),
    _file("--tls-cert", "The client certificate, a PEM file."),
    _file(
        "--tls-key",
        "The key of the client certificate, a PEM file [default: in --tls-cert].  If it is "
        f"encrypted, set the variable {KEY_PASSWORD}.",
    ),
    click.option(
        "--tls-insecure-hostname",
        is_flag=True,
        help="Accept a certificate that was made for another host name.",
    ),
    click.option(
        "--sasl-mechanism",
        type=click.Choice(MECHANISMS),
        help="The SASL mechanism.",
    ),
    click.option("--sasl-username", metavar="NAME", help="The SASL user."),
    _file(
        "--sasl-password-file",
        f"The file with the password [default: the variable {PASSWORD}].  No option takes the "
        "password itself, and no report contains it.",
    ),
)


def target_options(command: Command) -> Command:
    """Add `--remote`, `--set`, `--adapter-timeout` and the options for TLS and SASL.

    The command is called with `target_settings`, a TargetOptions.
    """

    @wraps(command)
    def wrapped(
        *args: Any,
        remote: bool,
        settings: GivenSettings,
        grace_s: float | None,
        security_protocol: str,
        tls_ca: Path | None,
        tls_cert: Path | None,
        tls_key: Path | None,
        tls_insecure_hostname: bool,
        sasl_mechanism: str | None,
        sasl_username: str | None,
        sasl_password_file: Path | None,
        **options: Any,
    ) -> Any:
        tls = _Tls(tls_ca, tls_cert, tls_key, tls_insecure_hostname)
        sasl = _Sasl(sasl_mechanism, sasl_username, sasl_password_file)
        security = _security(security_protocol, tls, sasl)
        if security is not PLAINTEXT:
            option = f"--security-protocol {security.protocol}"
            _used(click.get_current_context(), option, "tcp:", "tcp://HOST:PORT")
        if grace_s is not None:
            option = f"--adapter-timeout {grace_s:g}"
            _used(click.get_current_context(), option, "exec:", "exec:COMMAND")
        target_settings = TargetOptions(
            remote=remote,
            settings=settings.group,
            properties=settings.other,
            security=security,
            grace_s=grace_s,
        )
        return command(*args, target_settings=target_settings, **options)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[return-value]


class _Tls(NamedTuple):
    ca: Path | None
    cert: Path | None
    key: Path | None
    any_name: bool


class _Sasl(NamedTuple):
    mechanism: str | None
    username: str | None
    password_file: Path | None


def _security(protocol: str, tls: _Tls, sasl: _Sasl) -> Security:
    """Return the security that the options mean together.  Raises UsageError."""
    has_tls, has_sasl = protocol.endswith("SSL"), protocol.startswith("SASL_")
    if any(tls) and not has_tls:
        raise click.UsageError(
            f"--tls-… needs --security-protocol SSL or SASL_SSL; it is {protocol}"
        )
    if any(sasl) and not has_sasl:
        raise click.UsageError(
            f"--sasl-… needs --security-protocol SASL_PLAINTEXT or SASL_SSL; it is {protocol}"
        )
    if not has_tls and not has_sasl:
        return PLAINTEXT
    try:
        context = _context(tls) if has_tls else None
    except SecurityOptionError as error:
        raise click.UsageError(str(error)) from None
    return Security(context, _user(sasl) if has_sasl else None)


def _context(tls: _Tls) -> ssl.SSLContext:
    return tls_context(
        ca=tls.ca,
        cert=tls.cert,
        key=tls.key,
        key_password=os.environ.get(KEY_PASSWORD, ""),
        any_name=tls.any_name,
    )


def _user(sasl: _Sasl) -> Sasl:
    if not sasl.mechanism or not sasl.username:
        raise click.UsageError("SASL needs --sasl-mechanism and --sasl-username")
    if sasl.password_file is not None:
        try:
            password = sasl.password_file.read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise click.UsageError(
                f"--sasl-password-file {sasl.password_file} can't be read ({type(error).__name__})"
            ) from None
    else:
        password = os.environ.get(PASSWORD, "")
    if not password:
        raise click.UsageError(
            f"SASL needs a password: set {PASSWORD}, or name a file with --sasl-password-file"
        )
    return Sasl(sasl.mechanism, sasl.username, password)


def _used(context: click.Context, option: str, start: str, form: str) -> None:
    """Refuse an option that no target takes.  Raises UsageError."""
    arguments = [p.name for p in context.command.params if isinstance(p, click.Argument)]
    if not any(str(context.params.get(name or "")).startswith(start) for name in arguments):
        raise click.UsageError(f"{option} is for a target {form}; there is none")


class _List(click.Path):
    """A list of known failures that is there."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path.  Raises BadParameter that says how to make a list."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            text = (
                f"{error.message.rstrip('.')}; leave the option out to use the shipped lists "
                "alone, or write one first: `fencepost certify TARGET --write-known-failures FILE`"
            )
            raise click.BadParameter(text, ctx, param) from None


def known_failures_options(command: Command) -> Command:
    """Add `--known-failures` (as `lists`) and `--no-known-failures`; refuse both together."""

    @wraps(command)
    def wrapped(
        *args: Any, lists: tuple[Path, ...], no_known_failures: bool, **options: Any
    ) -> Any:
        if lists and no_known_failures:
            raise click.UsageError(
                f"--no-known-failures uses no list, so --known-failures {lists[0]} has no effect: "
                "drop one of the two options"
            )
        return command(*args, lists=lists, no_known_failures=no_known_failures, **options)

    beside = click.option(
        "--known-failures",
        "lists",
        multiple=True,
        type=_List(exists=True, dir_okay=False, path_type=Path),
        help="Use this list of known failures in addition to the shipped ones (may be repeated).  "
        "If it has no entry for the target at its version, stderr says so.",
    )
    none = click.option(
        "--no-known-failures",
        is_flag=True,
        help="Don't use the shipped list of known failures.  Not together with --known-failures.",
    )
    return beside(none(wrapped))  # type: ignore[return-value]


def tell_of_no_use(
    lists: Iterable[Path],
    target: str,
    version: str,
    aliases: frozenset[str] = frozenset(),
    cases: Collection[str] = (),
) -> None:
    """Report on stderr the lists without an entry for the target, and entries without a case."""
    for option in of_no_use(lists, target, version, aliases, cases):
        click.echo(option, err=True)


def kept_entries(lists: Iterable[Path], written: Path | None) -> list[KnownFailure]:
    """Return the entries that `--write-known-failures` keeps.  Raises KnownFailuresError."""
    if written is None:
        return []
    files = [*lists, *([written] if written.exists() else [])]
    return [entry for path in files for entry in read(path)]


def write_list(drafted: Mapping[str, Any], written: Path, shipped: int) -> str:
    """Write a list of known failures, and return a line about it.  Raises ReportError.

    `shipped`: failures that are known; if no entry is written, the shipped list has them.
    """
    text = json.dumps(drafted, indent=2, ensure_ascii=False) + "\n"
    write_file(written, text, "give --write-known-failures another file")
    if drafted["entries"]:
        return f"Written: {written}; enter as `why` the reason for each failure"
    if not shipped:
        return f"Written: {written}; 0 entries: no case failed"
    return (
        f"Written: {written}; 0 entries: the shipped list has the {plural(shipped, 'failure')}; "
        "--no-known-failures writes them"
    )


level_option = click.option(
    "--level",
    type=click.Choice([level.value.lower() for level in Level]),
    default="should",
    show_default=True,
    help="The lowest level that decides the exit code.",
)
older_option = click.option(
    "--diff",
    "old",
    metavar="OLD.json",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Compare with an older certificate.json: print what was fixed, what fails only now, and "
    "what changed in another way.  --report then also writes diff.html.  The exit code stays that "
    "of the verdict.",
)
written_list_option = output_option(
    "Write a list of known failures: add each failure that neither FILE, a given list nor the "
    "shipped list has, with its sentence as the reason.  Entries of FILE and of the given lists "
    "keep their reasons.  Drop entries of cases that pass now; keep those of cases that did not "
    "run.  For exec: and tcp:, a new entry is for the tested version and later ones; or for any, "
    "if the version does not begin with a number.",
    "--write-known-failures",
    "written",
)
