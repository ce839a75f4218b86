"""Numeric options of all commands, as click knows them: none takes what no run can end with."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import click
import pytest
from support.in_this_process import invoke

from fencepost.conformance.cli.cli import Stub, fencepost
from fencepost.conformance.cli.options.common_options import Real, Whole
from fencepost.conformance.runtime.unavailable import EXIT_USAGE


def commands(group: click.Group, *path: str) -> Iterator[tuple[str, click.Command]]:
    for name, listed in sorted(group.commands.items()):
        command = listed.load() if isinstance(listed, Stub) else listed
        if isinstance(command, click.Group):
            yield from commands(command, *path, name)
        else:
            yield " ".join((*path, name)), command


importlib.import_module("fencepost.conformance.cli.corpus")
COMMANDS = dict(commands(fencepost))
NUMBERS = {
    f"{name} {option.opts[0]}": option
    for name, command in COMMANDS.items()
    for option in command.params
    if isinstance(option.type, click.types.IntParamType | click.types.FloatParamType)
}


def test_there_are_some_to_try() -> None:
    assert len(NUMBERS) > 60


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_has_bounds_and_is_finite(name: str) -> None:
    option = NUMBERS[name]
    assert isinstance(option.type, Whole | Real)
    kind: click.ParamType[Any] = option.type
    least, most = option.type.min, option.type.max
    assert least is not None
    assert most is not None
    beyond = [str(int(least) - 1), str(int(most) + 1), "1" + "0" * 30, "9" * 5000, "x", ""]
    for text in ("nan", "inf", "-inf", "1e999", "-1e999", *beyond):
        with pytest.raises(click.BadParameter):
            kind.convert(text, option, None)


@pytest.mark.parametrize(
    "arguments",
    [
        ("serve", "model", "--nodes", "9", "--port", "65530"),
        ("serve", "model", "--set", "group.max.size=99999999999"),
        ("serve", "model", "--topic", "t:99999999999"),
        ("serve", "model", "--topic", "t:²"),
        ("fuzz", "model", "--minutes", "nan"),
        ("audit", __file__, "--skew", "b=²"),
        ("audit", __file__, "--skew", "b=99999999999999999999999999"),
        ("audit", __file__, "--config", "group.max.size=-" + "9" * 5000),
        ("simulate", "rolling-bounce", "--restart-s", "1e300"),
        ("simulate", "rolling-bounce", "--restart-s", "nan"),
        ("simulate", "rolling-bounce", "--partitions", "9" * 5000),
        ("simulate", "rolling-bounce", "--partitions", "48,-1"),
        ("certify", "model", "--set", "group.max.size=" + "9" * 5000),
        ("certify", "model", "--set", "group.min.session.timeout.ms=99999999999999"),
    ],
)
def test_a_number_in_a_text_has_bounds_too(arguments: tuple[str, ...]) -> None:
    ran = invoke(*arguments)
    assert (ran.code, ran.out) == (EXIT_USAGE, ""), ran
    assert "Error: " in ran.err
