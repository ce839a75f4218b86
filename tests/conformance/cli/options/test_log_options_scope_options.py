"""The options that bound what is explored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click
import pytest
from click.testing import CliRunner

from fencepost.conformance.cli.options.log_options import scope_options
from fencepost.properties.worlds.scope import ALL_ACTS, Scope

DEFAULT = Scope(clients=3, dynamic=1)


def called(default: Scope | None, *arguments: str) -> tuple[Scope | None, int | None]:
    """What a command with these options is called with.  Raises click.UsageError."""
    given: dict[str, Any] = {}

    @click.command()
    @scope_options(default)
    def command(**options: object) -> None:
        given.update(options)

    command.main(list(arguments), standalone_mode=False)
    return given["scope"], given["max_depth"]


def test_without_options_it_is_the_default() -> None:
    assert called(DEFAULT) == (DEFAULT, None)
    assert called(None) == (None, None)


def test_what_is_given_replaces_the_default() -> None:
    options = ("--members", "2", "--act", "join", "--act", "tick", "--max-depth", "4")

    scope, depth = called(DEFAULT, *options)

    assert scope == Scope(clients=3, dynamic=1, members=2, acts=("join", "tick"))
    assert depth == 4
    assert called(None, *options)[0] == Scope(members=2, acts=("join", "tick"))


def test_every_bound_has_its_option() -> None:
    options = "--clients 4 --instances 2 --dynamic 1 --old 2 --members 5 --offers 3 --delay-ticks 1"
    options += " --places 3"
    others = Scope(clients=4, instances=2, dynamic=1, old=2, members=5, offers=3, delay_ticks=1)
    expected = replace(others, places=3)

    assert called(None, *options.split())[0] == expected


@pytest.mark.parametrize("options", ["--clients 0", "--instances 3", "--act change", "--act jump"])
def test_what_makes_no_sense_is_usage(options: str) -> None:
    with pytest.raises(click.UsageError):
        called(None, *options.split())


def test_the_help_says_what_may_happen() -> None:
    @click.command()
    @scope_options(DEFAULT)
    def command() -> None:
        """Nothing."""

    said = CliRunner().invoke(command, ["--help"]).output
    assert "[default: 3]" in said
    assert all(act in said for act in ALL_ACTS)
