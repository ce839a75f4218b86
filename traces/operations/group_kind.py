"""Tell what kind of group it is, and which client library its members have."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from fencepost.traces.operations.client_libraries import BY_NAME, library_of
from fencepost.traces.operations.operator_rows import GroupKind, Process

_CONNECT = re.compile(r"connect-(?:\d+|.+:\d+)")
"""The client id of a Connect worker where none is set."""
_CONNECT_PROTOCOLS = frozenset({"sessioned", "compatible", "default"})
_STREAMS = "-StreamThread-"


@dataclass(slots=True)
class KnownKind:
    """The kind of a group: messages tell it for certain, and client ids mostly."""

    kind: GroupKind = GroupKind.CONSUMER
    _is_certain: bool = False
    _libraries: set[str] = field(default_factory=set)

    @property
    def library(self) -> str:
        """The client library of all members that show it; "" where none does, or they differ."""
        return next(iter(self._libraries)) if len(self._libraries) == 1 else ""

    @property
    def can_be_static(self) -> bool:
        """False for members that can't be static."""
        library = BY_NAME.get(self.library)
        return self.kind is not GroupKind.CONNECT and (library is None or library.has_static)

    def note(self, process: Process, protocol: str = "", protocols: str = "") -> None:
        """Note a member's client id, and the type and names of its protocols where known."""
        is_streams = _STREAMS in process.client_id or self.kind is GroupKind.STREAMS
        is_connect = self.kind is GroupKind.CONNECT
        if protocol or protocols:
            self._is_certain = True
            names = set(re.findall(r"[\w-]+", protocols)) - {"List"}
            is_connect = protocol == "connect" or (bool(names) and names <= _CONNECT_PROTOCOLS)
        elif not self._is_certain:
            is_connect = is_connect or bool(_CONNECT.fullmatch(process.client_id))
        self.kind = GroupKind.STREAMS if is_streams else GroupKind.CONSUMER
        if is_connect:
            self.kind = GroupKind.CONNECT
        self.note_library(process, protocols)

    def note_library(self, process: Process, protocols: str) -> None:
        """Note the client library, as far as a client id or the names of protocols show it."""
        library = library_of(process.client_id, protocols)
        if library is not None:
            self._libraries.add(library.name)
