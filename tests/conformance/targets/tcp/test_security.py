"""TLS and SASL: who is let in, what is said to those who aren't, and that nobody is fooled."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from support.tcp.liars import HANG_UP, Broker, raw, saying, serve
from support.tcp.liars import answer as liars_answer
from support.tcp.secured import HASHES, PASSWORD, USER, Authority, Guard, secured

from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.tcp.broker_connection import Door, Ended, Reply, ask
from fencepost.conformance.targets.tcp.cluster_admin import Deadlines
from fencepost.conformance.targets.tcp.security import (
    MECHANISMS,
    PLAINTEXT,
    PROTOCOLS,
    Address,
    Sasl,
    Security,
    SecurityError,
    SecurityOptionError,
    tls_context,
)
from fencepost.conformance.targets.tcp.tcp import TcpTarget
from fencepost.conformance.wire.codec import RequestFrame
from fencepost.model.coordinator import Send

LONG_S = 30.0
"""Never waited out: what is waited for comes."""

PATIENT = Deadlines(connect_s=30, answer_s=30, coordinator_s=30, probe_s=30, cleanup_s=30)
IMPATIENT = Deadlines(connect_s=0.2, answer_s=30, coordinator_s=0.4)
BEAT: dict[str, Any] = {"groupId": "g", "generationId": 1, "memberId": "m", "groupInstanceId": None}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


def user(mechanism: str, password: str = PASSWORD) -> Security:
    return Security(sasl=Sasl(mechanism, USER, password))


async def beat(broker: Broker, security: Security, name: str = "localhost") -> Reply | Ended:
    door = Door(Address("127.0.0.1", broker.port), name, security)
    return await ask(door, "Heartbeat", 3, BEAT, timeout_s=LONG_S)


def is_answered(event: Reply | Ended) -> bool:
    return isinstance(event, Reply) and event.decoded.body is not None


# TLS


async def test_a_certificate_of_a_known_authority_is_trusted(authority: Authority) -> None:
    async with secured(tls=authority.listener()) as broker:
        for name in ("localhost", "127.0.0.1"):
            assert is_answered(await beat(broker, Security(tls_context(ca=authority.ca)), name))


async def test_one_of_an_unknown_authority_is_not(authority: Authority, tmp_path: Path) -> None:
    other = Authority(tmp_path)
    async with secured(tls=authority.listener()) as broker:
        for context in (tls_context(), tls_context(ca=other.ca), tls_context(any_name=True)):
            with pytest.raises(SecurityError, match=r"not trusted.*--tls-ca"):
                await beat(broker, Security(context))
        assert broker.requests == []


async def test_one_for_another_host_only_if_told_so(authority: Authority) -> None:
    async with secured(tls=authority.listener("elsewhere.invalid")) as broker:
        for name in ("localhost", "127.0.0.1"):
            with pytest.raises(SecurityError, match=r"another host.*--tls-insecure-hostname"):
                await beat(broker, Security(tls_context(ca=authority.ca)), name)
        told = Security(tls_context(ca=authority.ca, any_name=True))
        assert is_answered(await beat(broker, told))


async def test_a_broker_may_want_a_certificate(authority: Authority) -> None:
    cert, key = authority.client()
    async with secured(tls=authority.listener(wants_client=True)) as broker:
        known = Security(tls_context(ca=authority.ca, cert=cert, key=key))
        assert is_answered(await beat(broker, known))
        unknown = TcpTarget(
            broker.address, security=Security(tls_context(ca=authority.ca)), deadlines=PATIENT
        )
        with pytest.raises(TargetUnavailableError, match="--tls-cert and --tls-key"):
            async with unknown:
                pass


async def test_tls_where_none_is_spoken() -> None:
    async with secured() as broker:
        with pytest.raises(SecurityError, match=r"doesn't speak TLS.*PLAINTEXT or SASL_PLAINTEXT"):
            await beat(broker, Security(tls_context()))


ALERT = bytes.fromhex("15030300020250")
"""What Kafka's TLS listeners say to plain text, before they close."""


async def test_plain_text_where_tls_is_wanted() -> None:
    async with raw(saying(ALERT)) as broker:
        event = await beat(broker, PLAINTEXT)
        assert isinstance(event, Ended)
        assert "pass --security-protocol SSL or SASL_SSL" in event.reason


async def test_sasl_where_tls_is_wanted() -> None:
    async with raw(saying(ALERT)) as broker:
        with pytest.raises(SecurityError, match="SSL or SASL_SSL"):
            await beat(broker, user("PLAIN"))


def test_files_that_are_none(authority: Authority, tmp_path: Path) -> None:
    no_pem = tmp_path / "store.jks"
    no_pem.write_bytes(b"\xfe\xed\xfe\xed")
    with pytest.raises(SecurityOptionError, match=r"--tls-ca .*store\.jks.*PEM"):
        tls_context(ca=no_pem)
    cert, key = authority.client()
    with pytest.raises(SecurityOptionError, match=r"--tls-cert .*store\.jks.*PEM"):
        tls_context(cert=no_pem, key=key)
    with pytest.raises(SecurityOptionError, match="needs --tls-cert"):
        tls_context(key=key)
    _, another = authority.server()
    with pytest.raises(SecurityOptionError, match="mismatch"):
        tls_context(cert=cert, key=another)


# SASL


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_a_user_signs_in_on_each_connection(mechanism: str, authority: Authority) -> None:
    async with secured(tls=authority.listener(), guard=Guard()) as broker:
        security = Security(tls_context(ca=authority.ca), user(mechanism).sasl)
        assert is_answered(await beat(broker, security))
        assert is_answered(await beat(broker, security))
        asked = [request.api for request in broker.requests]
    steps = ["SaslHandshake", *["SaslAuthenticate"] * (1 if mechanism == "PLAIN" else 2)]
    assert asked == [*steps, "Heartbeat"] * 2


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_a_wrong_password_is_refused(mechanism: str) -> None:
    echo = Guard(refusal="no user with password wrong one.")
    async with secured(guard=echo) as broker:
        with pytest.raises(SecurityError, match=r"refused the user .*FENCEPOST_SASL_PASSWORD") as e:
            await beat(broker, user(mechanism, "wrong one"))
        assert "wrong one" not in str(e.value)
        assert "no user with password ***" in str(e.value)


async def test_a_mechanism_that_it_lacks() -> None:
    async with secured(guard=Guard(("PLAIN", "SCRAM-SHA-512"))) as broker:
        with pytest.raises(SecurityError, match=r"only PLAIN, SCRAM-SHA-512: --sasl-mechanism"):
            await beat(broker, user("SCRAM-SHA-256"))


@pytest.mark.parametrize("mechanism", HASHES)
@pytest.mark.parametrize("lie", [b"v=AAAA", b"e=other-error", b"\xff", b"v"])
async def test_a_broker_that_does_not_know_the_password_itself(mechanism: str, lie: bytes) -> None:
    async with secured(guard=Guard(lie=lie)) as broker:
        with pytest.raises(SecurityError, match="it doesn't know the password itself"):
            await beat(broker, user(mechanism))
        assert "Heartbeat" not in {request.api for request in broker.requests}


async def test_a_listener_without_sasl() -> None:
    def script(_: Broker, request: RequestFrame) -> bytes | None:
        return HANG_UP if request.api == "SaslHandshake" else None

    async with serve(script) as broker:
        with pytest.raises(SecurityError, match=r"--security-protocol.*SASL_PLAINTEXT"):
            await beat(broker, user("PLAIN"))


async def test_a_listener_that_wants_sasl_is_told_so() -> None:
    async with secured(guard=Guard()) as broker:
        with pytest.raises(TargetUnavailableError, match=r"SASL_PLAINTEXT.*--security-protocol"):
            async with TcpTarget(broker.address, deadlines=IMPATIENT):
                pass


@pytest.mark.parametrize(
    ("answer", "says"),
    [({"errorCode": 34, "mechanisms": []}, "PLAINTEXT"), ({"errorCode": 7}, "REQUEST_TIMED_OUT")],
)
async def test_a_handshake_that_is_refused(answer: dict[str, Any], says: str) -> None:
    def script(_: Broker, request: RequestFrame) -> bytes | None:
        return liars_answer(request, answer) if request.api == "SaslHandshake" else None

    async with serve(script) as broker:
        with pytest.raises(SecurityError, match=says):
            await beat(broker, user("PLAIN"))


# A target behind them


@pytest.fixture
async def behind_all(authority: Authority) -> AsyncIterator[Broker]:
    async with secured(tls=authority.listener(), guard=Guard()) as broker:
        yield broker


def whole(authority: Authority, password: str = PASSWORD) -> Security:
    return Security(tls_context(ca=authority.ca), Sasl("SCRAM-SHA-512", USER, password))


async def test_all_of_a_target_s_connections_sign_in(
    behind_all: Broker, authority: Authority
) -> None:
    target = TcpTarget(behind_all.address, security=whole(authority), deadlines=PATIENT)
    async with target as opened, opened.scope("case") as scope:
        assert opened.broken == {}
        for name in ("c1", "c2"):
            request = Send(name, name, "app", "Heartbeat", 3, BEAT)
            answers = await scope.send(request) or await scope.advance(30_000)
            assert [a.id for a in answers] == [name]
    made = len(behind_all.writers)
    signed = sum(request.api == "SaslHandshake" for request in behind_all.requests)
    assert signed == made > 30


async def test_a_target_with_a_wrong_password_is_unavailable(
    behind_all: Broker, authority: Authority
) -> None:
    security = whole(authority, "wrong one")
    with pytest.raises(TargetUnavailableError, match="refused the user") as caught:
        async with TcpTarget(behind_all.address, security=security, deadlines=PATIENT):
            pass
    assert "wrong one" not in str(caught.value)


def test_a_password_is_never_shown(authority: Authority) -> None:
    for security in (whole(authority), user("PLAIN")):
        assert PASSWORD not in f"{security!r} {security} {security.sasl!r}"


def test_protocols_have_kafkas_names(authority: Authority) -> None:
    tls, sasl = tls_context(ca=authority.ca), Sasl("PLAIN", USER, PASSWORD)
    found = [Security(t, s).protocol for s in (None, sasl) for t in (None, tls)]
    assert tuple(found) == PROTOCOLS
