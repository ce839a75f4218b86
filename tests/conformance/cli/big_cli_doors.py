"""Hold every door of the command line to its promise: whatever comes in, no 70 and no hang.

Files (traces, certificates, logs, corpus.json, scenarios), options and the replies of adapters are
drawn and damaged by Hypothesis.  FENCEPOST_DOORS_MINUTES: how long (60).
"""

from __future__ import annotations

import faulthandler
import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from support.in_this_process import invoke
from support.places import ROOT, TESTS

from fencepost.conformance.cli.cli import Stub, fencepost
from fencepost.conformance.runtime.unavailable import EXIT_OWN_FAULT

MINUTES = float(os.environ.get("FENCEPOST_DOORS_MINUTES", "60"))
DEADLINE_S = 120
"""Seconds for one run of a command; whoever hangs ends the whole test, with a traceback."""
EXAMPLES = 50

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=6,
)
BAD_NUMBERS = st.sampled_from(
    ["nan", "inf", "-1", "0", "1e400", "9" * 30, "²", "", "x", "-0", "1_0"]
)


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all parts of a document."""
    yield path
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, part in items:
        yield from paths_of(part, (*path, key))


def changed(document: Any, path: tuple[Any, ...], to: Any, *, gone: bool) -> Any:
    """Return a document with another part, or without it."""
    if not path:
        return to
    copy = document.copy()
    if len(path) == 1 and gone:
        copy.pop(path[0])
    else:
        copy[path[0]] = changed(document[path[0]], path[1:], to, gone=gone)
    return copy


@cache
def sample(name: str) -> tuple[Any, list[tuple[Any, ...]]]:
    document = json.loads((ROOT / name).read_text("utf-8"))
    return document, list(paths_of(document))


@st.composite
def documents(draw: st.DrawFn, name: str) -> bytes:
    """Draw a document with some parts changed, or bytes of it."""
    document, paths = sample(name)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(paths))
        try:
            document = changed(document, path, draw(VALUES), gone=draw(st.booleans()))
        except (KeyError, IndexError, TypeError, AttributeError):
            continue  # a change before took that part away
    return draw(damaged(json.dumps(document).encode()))


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """Draw the bytes as they are, cut off, or with others in their midst."""
    if draw(st.integers(0, 3)):
        return data
    at = draw(st.integers(0, len(data)))
    return data[:at] + draw(st.binary(max_size=40)) + data[draw(st.integers(at, len(data))) :]


def holds(*arguments: str) -> None:
    """Run a command; whatever its verdict, it must not fail itself."""
    faulthandler.dump_traceback_later(DEADLINE_S, exit=True)
    try:
        ran = invoke(*arguments)
    finally:
        faulthandler.cancel_dump_traceback_later()
    assert ran.code != EXIT_OWN_FAULT, (arguments, ran.err[-3000:])
    assert "Traceback" not in ran.err, (arguments, ran.err[-3000:])


TRACE = "docs/findings/parked-sync.json"
CERTIFICATE = "docs/certificates/kfake.json"


def a_trace(draw: Callable[[st.SearchStrategy[Any]], Any], folder: Path) -> None:
    path = folder / "trace.json"
    path.write_bytes(draw(documents(TRACE)))
    form = draw(st.sampled_from(["itf", "mermaid", "pytest", "adapter", "csv", "trace"]))
    command = draw(
        st.sampled_from(
            [("replay",), ("audit",), ("convert", "--to", form), ("view", "-o", str(folder / "p"))]
        )
    )
    holds(*command, str(path))


def a_certificate(draw: Callable[[st.SearchStrategy[Any]], Any], folder: Path) -> None:
    path = folder / "certificate.json"
    path.write_bytes(draw(documents(CERTIFICATE)))
    command = draw(
        st.sampled_from(
            [("view", "-o", str(folder / "p")), ("site", "--report", str(folder / "s"))]
        )
    )
    holds(*command, str(path))


@cache
def log_lines(name: str) -> tuple[bytes, ...]:
    import gzip  # noqa: PLC0415

    return tuple(gzip.decompress((ROOT / name).read_bytes()).splitlines(keepends=True)[:300])


def a_log(draw: Callable[[st.SearchStrategy[Any]], Any], folder: Path) -> None:
    name = draw(
        st.sampled_from(
            [
                "examples/request-logs/kafka-request.log.gz",
                str((TESTS / "traces/server_logs/server-4.3.0.log.gz").relative_to(ROOT)),
            ]
        )
    )
    lines = list(log_lines(name))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(lines) - 1))
        lines[at] = draw(damaged(lines[at]))
    if draw(st.booleans()):
        lines = draw(st.permutations(lines[:20]))
    path = folder / "kafka-request.log"
    path.write_bytes(draw(damaged(b"".join(lines))))
    holds("audit", str(path), *draw(st.sampled_from([(), ("--json",), ("--gaps", "any")])))


def a_corpus(draw: Callable[[st.SearchStrategy[Any]], Any], folder: Path) -> None:
    recipe = {
        "format": "fencepost-corpus",
        "version": 1,
        "seed": 1,
        "traces": 3,
        "models": ["kafka-4"],
        "per_shard": 2,
        "made_by": "0",
        "part": False,
    }
    path = draw(st.sampled_from([(key,) for key in recipe]))
    text = json.dumps(changed(recipe, path, draw(VALUES), gone=draw(st.booleans())))
    (folder / "corpus.json").write_bytes(draw(damaged(text.encode())))
    command = draw(st.sampled_from(["check", "coverage", "triage"]))
    holds("corpus", command, str(folder))


SCENARIO = """
members = 3
partitions = 6
strategy = "eager"
[[steps]]
do = "restart"
"""


def a_scenario(draw: Callable[[st.SearchStrategy[Any]], Any], folder: Path) -> None:
    path = folder / "scenario.toml"
    text = SCENARIO
    for word in draw(st.lists(st.sampled_from(["3", "6", '"eager"', '"restart"']), max_size=2)):
        text = text.replace(word, draw(st.sampled_from(["nan", "-1", "0", '""', "[]", "9" * 20])))
    path.write_bytes(draw(damaged(text.encode())))
    holds("simulate", str(path))


LENGTHS = {("diff", "--max-depth")}
"""Options that say for how long a command works; a large one is no hang."""


@cache
def options() -> tuple[tuple[str, str], ...]:
    """List the options that take a value, of commands that end soon without a file."""
    found = []
    for name in ("simulate", "advise", "diff", "check", "cases", "explain", "table"):
        listed = fencepost.commands[name]
        command = listed.load() if isinstance(listed, Stub) else listed
        found += [
            (name, option.opts[0])
            for option in command.params
            if isinstance(option, click.Option)
            and not option.is_flag
            and option.opts[0] not in {"--report", "--jobs", "--engine", "--seeds", "--compare"}
            and (name, option.opts[0]) not in LENGTHS
        ]
    return tuple(found)


def an_option(draw: Callable[[st.SearchStrategy[Any]], Any], folder: Path) -> None:
    del folder
    command, option = draw(st.sampled_from(options()))
    usual = {
        "simulate": ("rolling-bounce", "--members", "3", "--partitions", "6"),
        "diff": (*("kafka-4",) * 2, "--max-depth", "3"),
    }
    value = draw(BAD_NUMBERS | st.text(max_size=12))
    holds(command, *usual.get(command, ()), f"{option}={value}")


ADAPTER = """
import json, sys
replies = json.loads(sys.argv[1])
for line in sys.stdin:
    reply = replies.get(json.loads(line)["cmd"], '{"answers": []}')
    sys.stdout.buffer.write(reply.encode("utf-8", "surrogateescape") + b"\\n")
    sys.stdout.flush()
"""
REPLIES: dict[str, Any] = {
    "hello": {
        "protocol": 1,
        "implementation": "x",
        "version": "1",
        "clock": "virtual",
        "apis": {"JoinGroup": [0, 9], "SyncGroup": [0, 5], "Heartbeat": [0, 4]},
        "features": [],
    },
    "reset": {"ok": True, "config": {}, "dropped": []},
    "send": {"answers": [{"id": "r1", "at_ms": 0, "body": {"errorCode": 0}}]},
    "advance": {"answers": []},
    "bye": {"ok": True},
}


def an_adapter(draw: Callable[[st.SearchStrategy[Any]], Any], folder: Path) -> None:
    program = folder / "adapter.py"
    program.write_text(ADAPTER)
    name = draw(st.sampled_from(sorted(REPLIES)))
    path = draw(st.sampled_from(list(paths_of(REPLIES[name]))))
    document = changed(REPLIES[name], path, draw(VALUES), gone=draw(st.booleans()))
    replies = {cmd: json.dumps(reply) for cmd, reply in {**REPLIES, name: document}.items()}
    if draw(st.integers(0, 3)) == 0:
        replies[name] = draw(st.text(max_size=30)).replace("\n", " ")
    argv = [sys.executable, str(program), json.dumps(replies)]
    holds("certify", f"exec:{shlex.join(argv)}", "--case", "HEARTBEAT-*", "--adapter-timeout", "5")


DOORS = [a_trace, a_certificate, a_log, a_corpus, a_scenario, an_option, an_adapter]


@pytest.mark.parametrize("door", DOORS)
def test_a_door_never_fails_itself(
    door: Callable[[Any, Path], None], tmp_path_factory: pytest.TempPathFactory
) -> None:
    end = time.monotonic() + MINUTES * 60 / len(DOORS)
    number = 0
    while number == 0 or time.monotonic() < end:
        number += 1

        @seed(number)
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(st.data())
        def tried(data: st.DataObject) -> None:
            door(data.draw, tmp_path_factory.mktemp("door"))

        tried()
