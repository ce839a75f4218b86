"""Options that bound what is explored, the same for every command that explores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar

import click

from fencepost.properties.worlds.scope import ACTS, Scope, ScopeError

Command = TypeVar("Command", bound=Callable[..., Any])

_BOUNDS = {
    "clients": "How many clients.",
    "instances": "Instance ids, shared by the static clients.",
    "dynamic": "How many clients, the last ones, are dynamic.",
    "old": "How many clients, the first ones, use old versions.",
    "zombies": "How many static clients, the last ones, begin with an unknown member id.",
    "members": "The most members and pending ids at once.",
    "offers": "Subscriptions that a client can change between.",
    "generations": "The highest generation, where a failover may restore an earlier one.",
    "delay_ticks": "group.initial.rebalance.delay.ms, in ticks of 3 s.",
}


def scope_options(default: Scope | None = None) -> Callable[[Command], Command]:
    """Adds the options; the command is called with `scope` and `max_depth`.

    What isn't given is as in `default`.  With no default `scope` is None where no option is given,
    and the rest is as in `Scope()` where one is.
    """
    base = default or Scope()

    def decorate(command: Command) -> Command:
        @wraps(command)
        def wrapped(*args: Any, act: tuple[str, ...], **options: Any) -> Any:
            given = {name: options.pop(name) for name in _BOUNDS}
            given["acts"] = act or None
            given = {name: value for name, value in given.items() if value is not None}
            try:
                scope = replace(base, **given) if given or default is not None else None
            except ScopeError as error:
                raise click.UsageError(str(error)) from error
            return command(*args, scope=scope, **options)

        for option in _options(base):
            wrapped = option(wrapped)
        return wrapped  # type: ignore[return-value]

    return decorate


def _options(base: Scope) -> list[Callable[[Any], Any]]:
    """The last one comes first in the help."""
    depth = click.option(
        "--max-depth", type=click.IntRange(min=0), metavar="N", help="The most steps."
    )
    acts = click.option(
        "--act",
        multiple=True,
        type=click.Choice(list(ACTS)),
        metavar="KIND",
        help=f"What may happen (may be repeated) [default: {', '.join(base.acts)}]: "
        f"{', '.join(ACTS)}.",
    )
    numbers = [
        click.option(
            "--" + name.replace("_", "-"),
            type=int,
            metavar="N",
            help=f"{about} [default: {getattr(base, name)}]",
        )
        for name, about in reversed(_BOUNDS.items())
    ]
    return [depth, acts, *numbers]
