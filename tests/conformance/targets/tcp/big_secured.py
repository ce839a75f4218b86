"""A real Kafka behind TLS, SASL and ACLs: who gets in, and what a certificate says then.

A minute: `tox -e brokers`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourceType,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from support.command import Ran, run
from support.kafka.real_kafka import ADMIN, USER, Listening, secured_kafka
from support.tcp.left_behind import on
from support.tcp.secured import PASSWORD, Authority

from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.tcp.namespacing import PREFIX
from fencepost.conformance.targets.tcp.security import MECHANISMS, Sasl, Security, tls_context
from fencepost.conformance.targets.tcp.tcp import TcpTarget

pytestmark = [pytest.mark.needs("java"), pytest.mark.asyncio(loop_scope="module")]

CASES = ("--case", "COMMIT-*", "--case", "LIST-*", "--skip", "*/group-of-a-refused-commit")
"""All but one that Kafka fails now and then."""
GROUPS = ("READ", "DESCRIBE", "DELETE")
NAMELESS = "COMMIT-TOPICS-UNKNOWN/missing-topic-in-every-state"
"""It also commits to a group without a name, which no right but one for all groups covers."""
TOPICS = ("CREATE", "READ", "DESCRIBE", "DELETE")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kafka(
    authority: Authority, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Listening]:
    async with secured_kafka(tmp_path_factory.mktemp("kafka"), authority) as listening:
        await asyncio.to_thread(add_users, listening)
        yield listening


def add_users(kafka: Listening) -> None:
    admin = kafka.admin()
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        rows = [UserScramCredentialUpsertion(u, mechanism, PASSWORD) for u in (ADMIN, USER)]
        said = admin.alter_user_scram_credentials(rows)
        assert set(said.values()) == {None}, said
    admin.close()


def allow(kafka: Listening, kind: ResourceType, *operations: str, name: str = PREFIX) -> None:
    """What `USER` may do, with all that begins with our prefix."""
    prefixed = ACLResourcePatternType.PREFIXED
    pattern = ResourcePattern(kind, name, prefixed)
    if kind is ResourceType.CLUSTER:
        pattern = ResourcePattern(kind, "kafka-cluster", ACLResourcePatternType.LITERAL)
    admin = kafka.admin()
    rows = [
        ACL(f"User:{USER}", "*", ACLOperation[o], ACLPermissionType.ALLOW, pattern)
        for o in operations
    ]
    said = admin.create_acls(rows)
    assert not said["failed"], said
    admin.close()


def user(mechanism: str, password: str = PASSWORD, name: str = ADMIN) -> Sasl:
    return Sasl(mechanism, name, password)


async def problem(address: str, security: Security) -> str:
    """Why it can't be reached; empty if it can."""
    try:
        async with TcpTarget(address, security=security) as target:
            assert target.broken == {}
            assert target.topic_problem is None
    except TargetUnavailableError as error:
        return str(error)
    return ""


# Listeners


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SASL_SSL"])
async def test_users_sign_in(
    kafka: Listening, authority: Authority, listener: str, mechanism: str
) -> None:
    tls = tls_context(ca=authority.ca) if listener == "SASL_SSL" else None
    at = kafka.at[listener]
    assert await problem(at, Security(tls, user(mechanism))) == ""
    assert "refused the user" in await problem(at, Security(tls, user(mechanism, "wrong")))


async def test_tls(kafka: Listening, authority: Authority) -> None:
    known = tls_context(ca=authority.ca)
    assert await problem(kafka.at["SSL"], Security(known)) == ""
    assert "--tls-ca" in await problem(kafka.at["SSL"], Security(tls_context()))
    assert "--tls-cert" in await problem(kafka.at["MTLS"], Security(known))


async def test_a_certificate_is_a_user(kafka: Listening, authority: Authority) -> None:
    cert, key = authority.client()
    ours = tls_context(ca=authority.ca, cert=cert, key=key)
    # Known, and nobody has allowed it anything.
    assert "GROUP_AUTHORIZATION_FAILED" in await problem(kafka.at["MTLS"], Security(ours))


@pytest.mark.parametrize(
    ("listener", "tls", "sasl", "remedy"),
    [
        ("SSL", False, False, "pass --security-protocol SSL or SASL_SSL"),
        ("SSL", False, True, "pass --security-protocol SSL or SASL_SSL"),
        ("PLAINTEXT", True, False, "pass --security-protocol PLAINTEXT or SASL_PLAINTEXT"),
        ("PLAINTEXT", False, True, "wants no SASL here: pass --security-protocol PLAINTEXT"),
        ("SSL", True, True, "wants no SASL here: pass --security-protocol SSL"),
        ("SASL_PLAINTEXT", False, False, "SASL_PLAINTEXT, SASL_SSL), pass that"),
        ("SASL_PLAINTEXT", True, True, "pass --security-protocol PLAINTEXT or SASL_PLAINTEXT"),
        ("SASL_SSL", True, False, "has SASL_SSL, pass that as --security-protocol"),
    ],
)
async def test_the_wrong_protocol_is_told(
    kafka: Listening, authority: Authority, listener: str, tls: bool, sasl: bool, remedy: str
) -> None:
    context = tls_context(ca=authority.ca) if tls else None
    security = Security(context, user("PLAIN") if sasl else None)
    assert remedy in await problem(kafka.at[listener], security)


# The command line


@pytest.fixture
def as_user(
    kafka: Listening, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, ...]:
    """Arguments to certify as `USER`."""
    monkeypatch.setenv("FENCEPOST_SASL_PASSWORD", PASSWORD)
    sasl = ("--sasl-mechanism", "SCRAM-SHA-512", "--sasl-username", USER)
    tls = ("--security-protocol", "SASL_SSL", "--tls-ca", str(authority.ca))
    return ("certify", f"tcp://{kafka.at['SASL_SSL']}", *tls, *sasl)


def outcomes(ran: Ran) -> dict[str, tuple[str, str]]:
    document = json.loads(ran.out)
    return {case["id"]: (case["outcome"], case["message"]) for case in document["cases"]}


def whole(folder: Path) -> str:
    """All that a report says."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


async def test_what_a_user_may_do_grows(
    kafka: Listening, as_user: tuple[str, ...], tmp_path: Path
) -> None:
    async def certified(*more: str) -> Ran:
        return await asyncio.to_thread(run, *as_user, *CASES, "--json", *more)

    ran = await certified()
    assert (ran.code, ran.out) == (69, "")
    assert "GROUP_AUTHORIZATION_FAILED: the user needs READ, DESCRIBE and DELETE" in ran.err

    await asyncio.to_thread(allow, kafka, ResourceType.GROUP, "READ", "DESCRIBE")
    ran = await certified()
    assert (ran.code, ran.out) == (69, "")
    assert "DeleteGroups with GROUP_AUTHORIZATION_FAILED" in ran.err

    await asyncio.to_thread(allow, kafka, ResourceType.GROUP, *GROUPS)
    await asyncio.to_thread(allow, kafka, ResourceType.CLUSTER, "DESCRIBE_CONFIGS")
    ran = await certified()
    found = outcomes(ran)
    assert ran.code == 0, ran.err
    refused = {i for i, (outcome, said) in found.items() if "access: OffsetCommit" in said}
    assert refused
    assert {found[case][0] for case in refused} == {"unsupported"}
    other = {said for outcome, said in found.values() if outcome not in {"pass", "skipped"}}
    assert {said for said in other if not said.startswith("the target lacks ")} == set()

    await asyncio.to_thread(allow, kafka, ResourceType.TOPIC, *TOPICS)
    ran = await certified("--report", str(tmp_path))
    assert ran.code == 0, ran.err
    again = outcomes(ran)
    assert {case for case in refused if again[case][0] != "pass"} == {NAMELESS}
    assert "access: OffsetCommit" in again[NAMELESS][1]
    assert await on([kafka.at["PLAINTEXT"]]) == []
    assert PASSWORD not in whole(tmp_path)
