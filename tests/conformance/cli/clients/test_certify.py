from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fencepost.conformance.cli.cli import exit_code, fencepost


def run(*arguments: str) -> int:
    return exit_code(fencepost, ["certify-client", *arguments], "fencepost")


def test_a_client_is_certified_and_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = "CLIENT-CLOSE-STATIC-STAYS/static-life"
    assert run("reference", "--case", case, "--json", "--report", str(tmp_path)) == 0
    document = json.loads(capsys.readouterr().out)
    assert [one["id"] for one in document["cases"]] == [case]
    assert document["verdict"] == "holds"
    assert not document["certified"]
    assert (tmp_path / "index.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["javva"], "no client 'javva'"),
        (["mutant:old-heartbeats"], "did you mean old-heartbeat"),
        (["reference", "--case", "static-live"], "did you mean static-life"),
        (["reference", "--broker", "model"], "give serve, kafka:VERSION or tcp://HOST:PORT"),
        (["reference", "--revision", "kafka-5"], "kafka-5"),
    ],
)
def test_a_wrong_word_is_one_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 64
    assert said in capsys.readouterr().err


def test_another_file_is_no_certificate_to_compare_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "old.json"
    file.write_text("{}", "utf-8")
    assert run("reference", "--diff", str(file)) == 64
    assert "give a certificate.json that `certify-client --report` wrote" in capsys.readouterr().err


# What a run needs, and isn't there.


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one sentence of a run that can't begin."""
    assert run(*arguments) == 69
    (line,) = capsys.readouterr().err.splitlines()
    return line


@pytest.mark.parametrize(
    ("client", "tool", "remedy"),
    [
        ("java", "javac", "install a JDK"),
        ("franz-go", "go", "install Go"),
        ("kafkajs", "npm", "install Node.js"),
    ],
)
def test_a_tool_that_is_missing_is_one_sentence(
    client: str,
    tool: str,
    remedy: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    said = refusal(capsys, client)
    assert f"the driver {client}-" in said
    assert f"can't be built: {tool} is not on the PATH: {remedy}" in said


def test_a_build_that_fails_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    liar = tmp_path / "bin" / "go"
    liar.parent.mkdir()
    liar.write_text("#!/bin/sh\necho 'no such module' >&2\nexit 3\n", "utf-8")
    liar.chmod(0o755)
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{liar.parent}{os.pathsep}{os.environ['PATH']}")
    said = refusal(capsys, "sarama")
    assert "the driver sarama-" in said
    assert "can't be built: go failed with exit code 3: no such module" in said


def test_a_driver_that_says_nothing_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    said = refusal(capsys, "exec:false")
    assert "the driver of exec:false exited with code 1" in said
    assert "can't start `/no/such/driver`" in refusal(capsys, "exec:/no/such/driver")


def test_a_broker_that_is_not_there_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    said = refusal(capsys, "reference", "--broker", f"tcp://127.0.0.1:{port}")
    assert f"127.0.0.1:{port} can't be reached" in said
    assert "start the broker, or correct the address" in said


@contextmanager
def no_kafka() -> Iterator[int]:
    """The port of a server that answers every connection in HTTP, and hangs up."""

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_a_port_that_is_no_kafka_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with no_kafka() as port:
        said = refusal(capsys, "reference", "--broker", f"tcp://127.0.0.1:{port}")
    assert f"tcp://127.0.0.1:{port}: " in said
