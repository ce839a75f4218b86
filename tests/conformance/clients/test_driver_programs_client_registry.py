"""Names of clients: what each means, and what is none."""

from __future__ import annotations

import sys

import pytest

from fencepost.conformance.clients import driver_programs
from fencepost.conformance.clients.driver_programs import (
    FORMS,
    LIBRARIES,
    Library,
    Program,
    UnknownClientError,
    find_client,
)

REFERENCE = (sys.executable, "-P", "-m", "fencepost.conformance.clients.reference_driver")


@pytest.mark.parametrize(
    ("name", "argv"),
    [
        ("reference", REFERENCE),
        ("mutant:leaves-on-close", (*REFERENCE, "--mutant", "leaves-on-close")),
        ("exec:my-driver --fast 'a b'", ("my-driver", "--fast", "a b")),
    ],
)
async def test_what_needs_no_build(name: str, argv: tuple[str, ...]) -> None:
    client = find_client(name)
    assert client.name == name
    assert await client.program() == Program(argv)


@pytest.mark.parametrize("kind", LIBRARIES)
def test_a_library_has_a_version_by_default(kind: str) -> None:
    assert find_client(kind).name == f"{kind}:{LIBRARIES[kind].versions[0]}"


async def test_a_library_is_built_at_the_version_that_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def build(version: str) -> Program:
        return Program(("driver", version))

    monkeypatch.setitem(driver_programs.LIBRARIES, "sarama", Library(("1.61.1",), build))
    assert await find_client("sarama").program() == Program(("driver", "1.61.1"))
    other = find_client("sarama:1.40.0")
    assert (other.name, await other.program()) == ("sarama:1.40.0", Program(("driver", "1.40.0")))


@pytest.mark.parametrize("kind", LIBRARIES)
def test_the_forms_name_every_library(kind: str) -> None:
    assert f"{kind}[:VERSION]" in FORMS


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "no client ''; give one of java"),
        ("franz", r"no client 'franz' \(did you mean franz-go"),
        ("kafka-pyton:3.0.12", r"\(did you mean kafka-python"),
        ("mutant", r"\(did you mean mutant:NAME\?\)"),
        ("mutant:", "give one of"),
        ("exec:", "give one of"),
        ("exec: ", "give one of"),
        ("reference:2", "give one of"),
        ("java:", "'' in 'java:' is not a version number; for example, give java:4.3.0"),
        ("java:../../etc", "is not a version number"),
        ("java:latest", "is not a version number"),
        ("exec:driver 'a", "can't read `driver 'a` as a command: No closing quotation"),
    ],
)
def test_what_is_no_client_is_refused(name: str, why: str) -> None:
    with pytest.raises(UnknownClientError, match=why):
        find_client(name)
