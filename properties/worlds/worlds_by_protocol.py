"""Find what a revision's protocol gives to worlds."""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.model.bad_input import BadInputError
from fencepost.model.revision import Revision
from fencepost.properties.worlds.classic_worlds import CLASSIC_WORLDS
from fencepost.properties.worlds.consumer_worlds import CONSUMER_WORLDS
from fencepost.properties.worlds.mixed_worlds import MIXED_WORLDS
from fencepost.properties.worlds.protocol_worlds import ProtocolWorlds

WORLDS: Mapping[str, ProtocolWorlds] = {
    "classic": CLASSIC_WORLDS,
    "consumer": CONSUMER_WORLDS,
    "mixed": MIXED_WORLDS,
}
"""Name of a protocol → its part of worlds."""


class NoWorldsError(BadInputError):
    """Raised for a revision of a protocol without worlds."""


def worlds_of(revision: Revision) -> ProtocolWorlds:
    """Return the part of worlds of a revision's protocol.

    Raises NoWorldsError for a protocol that has none.
    """
    worlds = WORLDS.get(revision.protocol.name)
    if worlds is None:
        raise NoWorldsError(
            f"{revision.name} has groups of the {revision.protocol.name} protocol, which no "
            f"command explores yet; take a revision of the protocols {' or '.join(WORLDS)}"
        )
    return worlds
