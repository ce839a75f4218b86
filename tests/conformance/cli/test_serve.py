"""`serve` as users have it: a process that is ready when it says so, and ends when told to."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.command import PATIENCE_S, RUN, run
from support.in_this_process import invoke

from fencepost.conformance.runtime.unavailable import EXIT_UNAVAILABLE, EXIT_USAGE
from fencepost.conformance.wire.codec import decode_message, encode_message


@contextmanager
def served(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and its first line."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, "serve", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        assert select.select([process.stdout], [], [], PATIENCE_S)[0]
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.communicate()


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_well_when_told_to(number: signal.Signals) -> None:
    with served("model") as (process, line):
        host, _, port = line.strip().removeprefix("tcp://").rpartition(":")
        with socket.create_connection((host, int(port)), PATIENCE_S) as client:
            os.kill(process.pid, number)
            out, err = process.communicate(timeout=PATIENCE_S)
            assert client.recv(1) == b""
        assert (process.returncode, out, err) == (0, "", "")


def test_what_it_is_can_be_read_by_a_program() -> None:
    port = free_port()
    given = ("--port", str(port), "--seed", "5", "--json", "--set", "group.max.size=none")
    with served("mutant:zombie-commits", *given) as (_, line):
        told = json.loads(line)
    assert told["address"] == f"tcp://127.0.0.1:{port}"
    assert told["implementation"] == "fencepost-model:mutant:zombie-commits"
    assert told["seed"] == 5
    assert told["settings"]["group.max.size"] is None
    assert told["settings"]["group.initial.rebalance.delay.ms"] == 3000


def asked(address: str, api: str, version: int, body: dict[str, Any]) -> dict[str, Any] | None:
    """What is answered; None: the connection ended."""
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    with socket.create_connection((host, int(port)), PATIENCE_S) as client:
        client.sendall(encode_message(api, "Request", version, 7, body, client_id="c"))
        with client.makefile("rb") as answers:
            size = int.from_bytes(answers.read(4))
            return decode_message(api, version, answers.read(size)).body if size else None


def test_an_old_cluster_that_is_mean_and_tells_what_happened(tmp_path: Path) -> None:
    provoked, history = tmp_path / "provocations.json", tmp_path / "history.jsonl"
    provoked.write_text('[{"api": "FindCoordinator", "who": "c", "action": "lose"}]', "utf-8")
    given = ("--nodes", "2", "--as-of", "2.2", "--topic", "t:6", "--json", "-o", str(history))
    with served("model", *given, "--provoke", str(provoked)) as (process, line):
        told = json.loads(line)
        address = told["address"]
        versions = asked(address, "ApiVersions", 0, {})
        lost = asked(address, "FindCoordinator", 2, {"key": "g"})
        found = asked(address, "FindCoordinator", 2, {"key": "g"})
        topics = asked(address, "Metadata", 7, {"topics": None})
        os.kill(process.pid, signal.SIGTERM)
        process.wait(PATIENCE_S)
    assert versions is not None
    assert {row["apiKey"]: row["maxVersion"] for row in versions["apiKeys"]}[11] == 4
    assert lost is None
    assert found is not None
    assert f"tcp://127.0.0.1:{found['port']}" in told["addresses"]
    assert topics is not None
    assert len(topics["topics"][0]["partitions"]) == 6
    lines = [json.loads(text) for text in history.read_text("utf-8").splitlines()]
    assert [row["api"] for row in lines] == [
        "ApiVersions",
        "FindCoordinator",
        "FindCoordinator",
        "Metadata",
    ]
    assert [row["answered_ms"] is None for row in lines] == [False, True, False, False]
    assert lines[1]["provocation"]["action"] == "lose"
    assert lines[2]["answer"]["port"] == found["port"]


def test_certify_finds_all_it_needs() -> None:
    settings = ("--set", "group.initial.rebalance.delay.ms=0")
    case = "HEARTBEAT-GROUP-ABSENT/no-group"
    with served("model:kafka-3.9", *settings) as (_, line):
        ran = invoke("certify", line.strip(), "--case", case, "--json")
    certificate = json.loads(ran.out)
    assert [c["outcome"] for c in certificate["cases"] if c["id"] == case] == ["pass"]
    assert certificate["config"]["group.initial.rebalance.delay.ms"] == 0


def test_a_port_in_use_is_unavailable() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = str(listening.getsockname()[1])
        ran = run("serve", "model", "--port", port)
    assert ran.code == EXIT_UNAVAILABLE
    assert f"can't listen on port {port}" in ran.err
    assert "choose another port" in ran.err
    assert ran.out == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("mock",), "no model 'mock'; there is model[:REVISION], mutant:NAME"),
        (("mutant:zombie-commit",), "did you mean zombie-commits"),
        (("model:kafka-1",), "no revision 'kafka-1'"),
        (("model", "--set", "group.max.sise=1"), "'group.max.sise=1' is not KEY=VALUE"),
        (("model", "--set", "group.max.size=0"), "from 1 to"),
        (("model", "--set", "group.initial.rebalance.delay.ms=none"), "from 0 to"),
        (("model", "--set", "group.initial.rebalance.delay.ms=-1"), "from 0 to"),
        (("model", "--set", "group.min.session.timeout.ms=9999999"), "is more than"),
        (("model", "--topic", "no topic"), "'no topic': a topic's name has"),
        (("model", "--port", "70000"), "70000"),
        (("model", "--topic", "t:0"), "'t:0': a topic has from 1 to 1000 partitions"),
        (("model", "--topic", "t:many"), "'t:many': a topic has from 1 to 1000 partitions"),
        (("model", "--nodes", "0"), "0 is not in the range"),
        (("model", "--nodes", "2", "--advertise", "9092"), "--advertise is for one node"),
        (("model", "--as-of", "2.17"), "fencepost doesn't know Kafka release '2.17'"),
        (("model", "--provoke", "nowhere.json"), "nowhere.json"),
        (("model", "-o", "no/such/folder/history"), "can't be written"),
    ],
)
def test_what_no_broker_could_be_is_a_usage_error(arguments: tuple[str, ...], said: str) -> None:
    ran = invoke("serve", *arguments)
    assert ran.code == EXIT_USAGE
    assert said in " ".join(ran.err.split())
    assert ran.out == ""
