"""Options for TLS and SASL: what they mean together, and where a password may come from."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from support.command import run
from support.in_this_process import invoke
from support.tcp.secured import Authority, Guard, secured

from fencepost.conformance.runtime.toolchain.child import KEY_PASSWORD, PASSWORD

TARGET = "tcp://127.0.0.1:1"
SASL = (
    "--security-protocol",
    "SASL_PLAINTEXT",
    "--sasl-mechanism",
    "PLAIN",
    "--sasl-username",
    "a",
)


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (PASSWORD, KEY_PASSWORD):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--tls-insecure-hostname",), "--tls-… needs --security-protocol SSL or SASL_SSL"),
        (("--sasl-username", "a"), "--sasl-… needs --security-protocol SASL_PLAINTEXT or SASL_SSL"),
        (("--security-protocol", "SASL_SSL"), "needs --sasl-mechanism and --sasl-username"),
        (("--security-protocol", "TLS"), "'TLS' is not one of 'PLAINTEXT', 'SSL'"),
        (SASL, "set FENCEPOST_SASL_PASSWORD, or name a file"),
        ((*SASL, "--sasl-password-file", "nonesuch"), "'nonesuch' does not exist"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments: tuple[str, ...], says: str) -> None:
    ran = invoke("certify", TARGET, *arguments)
    assert (ran.code, ran.out) == (64, "")
    assert says in ran.err


@pytest.mark.parametrize("command", ["certify", "fuzz"])
def test_a_target_without_a_listener_takes_none(command: str) -> None:
    ran = invoke(command, "model", "--security-protocol", "SSL")
    assert ran.code == 64
    assert "SSL is for a target tcp://HOST:PORT; there is none" in ran.err


def test_a_target_that_is_no_adapter_has_no_time_of_one() -> None:
    ran = invoke("certify", "model", "--adapter-timeout", "30")
    assert ran.code == 64
    assert "--adapter-timeout 30 is for a target exec:COMMAND; there is none" in ran.err


def test_an_adapter_has_the_time_that_it_is_given() -> None:
    silent = f"exec:{sys.executable} -c 'import time; time.sleep(60)'"
    ran = invoke("certify", silent, "--adapter-timeout", "0.2")
    assert ran.code == 69
    assert "did not answer within 0.2 s" in ran.err
    assert "--adapter-timeout" in ran.err


def test_one_of_two_targets_is_enough() -> None:
    ran = invoke("compare", "model", TARGET, "--security-protocol", "SSL")
    assert ran.code == 69
    assert "can't be reached" in ran.err


def test_a_password_that_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_bytes(b"\xff\xfe secret")
    ran = invoke("certify", TARGET, *SASL, "--sasl-password-file", str(file))
    assert ran.code == 64
    assert "can't be read (UnicodeDecodeError)" in ran.err
    assert "secret" not in ran.err


@pytest.mark.parametrize("by_file", [True, False])
@pytest.mark.parametrize("password", ["open sesame", "closed"])
async def test_the_password_reaches_the_broker_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, password: str, by_file: bool
) -> None:
    more: tuple[str, ...] = ()
    if by_file:
        file = tmp_path / "password"
        await asyncio.to_thread(file.write_text, f"{password}\n")
        more = ("--sasl-password-file", str(file))
    else:
        monkeypatch.setenv(PASSWORD, password)
    authority = Authority(tmp_path)
    tls = ("--security-protocol", "SASL_SSL", "--tls-ca", str(authority.ca))
    guard = Guard(users={"a": "open sesame"})
    arguments = (*SASL[2:], *tls, *more, "--case", "LIST-*", "--json")
    async with secured(tls=authority.listener(), guard=guard) as broker:
        ran = await asyncio.to_thread(run, "certify", broker.address, *arguments)
        apis = {request.api for request in broker.requests}
    assert password not in ran.out + ran.err
    if password == "closed":
        assert (ran.code, ran.out) == (69, "")
        assert "refused the user 'a'" in ran.err
        assert "JoinGroup" not in apis
    else:
        assert "JoinGroup" in apis
