"""Clients by name, such as `java:4.3.0`, `franz-go` or `exec:COMMAND`."""

from __future__ import annotations

from fencepost.conformance.clients.programs import Client
from fencepost.traces.files.bad_input import BadInputError


class UnknownClientError(BadInputError):
    """No client has such a name.  `str()` names it and the forms that there are."""


def find_client(name: str) -> Client:
    """The client of this name, not yet built.  Raises UnknownClientError."""
    raise UnknownClientError(f"no client {name!r}")
