"""Find what a revision's protocol gives to worlds."""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.model.revision import Revision
from fencepost.properties.worlds.classic_worlds import CLASSIC_WORLDS
from fencepost.properties.worlds.consumer_worlds import CONSUMER_WORLDS
from fencepost.properties.worlds.protocol_worlds import ProtocolWorlds

WORLDS: Mapping[str, ProtocolWorlds] = {"classic": CLASSIC_WORLDS, "consumer": CONSUMER_WORLDS}
"""Name of a protocol → its part of worlds."""


def worlds_of(revision: Revision) -> ProtocolWorlds:
    """Return the part of worlds of a revision's protocol."""
    return WORLDS[revision.protocol.name]
